/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Outcomes of the host backend. */
#include <errno.h>
#include <stdarg.h>

#include "scenario/host_backend.h"
#include "scenario/host_layout.h"

void host_done(struct scenario_outcome *outcome, uint64_t value)
{
    outcome->kind = OUTCOME_DONE;
    outcome->value = value;
}

void host_data(const struct host_backend *host, struct scenario_outcome *outcome, uint64_t bytes)
{
    outcome->kind = OUTCOME_DATA;
    outcome->data = host->buffer;
    outcome->data_bytes = (size_t)bytes;
}

void host_error(struct scenario_outcome *outcome, int error)
{
    outcome->kind = OUTCOME_ERROR;
    outcome->error = error;
}

void host_unable(struct scenario_outcome *outcome, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(outcome->why, sizeof(outcome->why), format, arguments);
    va_end(arguments);
    outcome->kind = OUTCOME_UNABLE;
}

void host_break(struct host_backend *host, const char *format, ...)
{
    va_list arguments;

    if (host->is_broken)
        return;
    va_start(arguments, format);
    vsnprintf(host->why, sizeof(host->why), format, arguments);
    va_end(arguments);
    host->is_broken = true;
}

void host_outcome_of_reply(const struct host_backend *host, const struct host_reply *reply,
                           struct scenario_outcome *outcome)
{
    outcome->kind = reply->kind;
    outcome->error = reply->error;
    outcome->signal = reply->signal;
    outcome->code = reply->code;
    outcome->address = reply->address;
    outcome->value = reply->value;
    outcome->faults = reply->faults;
    if (reply->address >= HOST_BIAS && reply->address < HOST_USER_TOP)
        outcome->address -= HOST_BIAS;
    if (reply->kind == OUTCOME_DATA)
        host_data(host, outcome, reply->data_bytes);
    if (reply->kind == OUTCOME_UNABLE)
        host_unable(outcome, "%.*s", HOST_WHY_BYTES - 1, reply->why);
}

const char *host_task_name(const struct host_backend *host, uint16_t task)
{
    const struct scenario_names *names = host->backend.task_names;

    return names != NULL && task < names->count ? names->names[task] : "the task";
}
