/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do two outcomes agree? */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scenario/fuzz_compare.h"

bool comparison_differs(struct fuzz_comparison *comparison, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(comparison->why, comparison->why_bytes, format, arguments);
    va_end(arguments);
    return false;
}

void outcome_text(const struct scenario_outcome *outcome, char text[OUTCOME_TEXT_BYTES])
{
    switch (outcome->kind) {
    case OUTCOME_DONE:
        snprintf(text, OUTCOME_TEXT_BYTES, "done, %#llx", (unsigned long long)outcome->value);
        break;
    case OUTCOME_ERROR:
        snprintf(text, OUTCOME_TEXT_BYTES, "error %d, %s", outcome->error,
                 strerrordesc_np(outcome->error));
        break;
    case OUTCOME_SIGNAL:
        snprintf(text, OUTCOME_TEXT_BYTES, "signal %d, code %d, at %#llx", outcome->signal,
                 outcome->code, (unsigned long long)outcome->address);
        break;
    case OUTCOME_DATA:
        snprintf(text, OUTCOME_TEXT_BYTES, "%zu bytes", outcome->data_bytes);
        break;
    case OUTCOME_EXITED:
        snprintf(text, OUTCOME_TEXT_BYTES, "child %u exited, %llu", outcome->child,
                 (unsigned long long)outcome->value);
        break;
    case OUTCOME_KILLED:
        snprintf(text, OUTCOME_TEXT_BYTES, "child %u killed, %d", outcome->child, outcome->signal);
        break;
    case OUTCOME_UNABLE:
    case OUTCOME_BROKEN:
        snprintf(text, OUTCOME_TEXT_BYTES, "%s: %.80s",
                 outcome->kind == OUTCOME_UNABLE ? "unable" : "broken", outcome->why);
        break;
    }
}

/* Calls that return nothing, or what is nobody's business, return 0 to the comparison. */
static uint64_t value_of(const struct scenario_operation *operation,
                         const struct scenario_outcome *outcome)
{
    switch (operation->verb) {
    case VERB_MMAP:
    case VERB_MREMAP:
    case VERB_BRK:
    case VERB_KWRITE:
    case VERB_FWRITE:
        return outcome->value;
    default:
        return 0;
    }
}

static bool data_agree(struct fuzz_comparison *comparison,
                       const struct scenario_operation *operation,
                       const struct scenario_outcome *one, const struct scenario_outcome *other)
{
    size_t i = 0;

    comparison->first_difference = min_u64(one->data_bytes, other->data_bytes);
    if (one->data_bytes != other->data_bytes)
        return comparison_differs(comparison, "%zu bytes read, and %zu", one->data_bytes,
                                  other->data_bytes);
    if ((operation->verb == VERB_MINCORE && !comparison->residency) || one->data_bytes == 0 ||
        memcmp(one->data, other->data, one->data_bytes) == 0)
        return true;
    while (one->data[i] == other->data[i])
        i++;
    comparison->first_difference = i;
    return comparison_differs(comparison, "byte %zu of %zu is %#x, and %#x", i, one->data_bytes,
                              one->data[i], other->data[i]);
}

static bool same_kind_agree(const struct scenario_operation *operation,
                            const struct scenario_outcome *one,
                            const struct scenario_outcome *other)
{
    switch (one->kind) {
    case OUTCOME_DONE:
        return value_of(operation, one) == value_of(operation, other);
    case OUTCOME_ERROR:
        return one->error == other->error;
    case OUTCOME_SIGNAL:
        return one->signal == other->signal && one->code == other->code &&
               one->address == other->address;
    case OUTCOME_EXITED:
        return one->child == other->child && one->value == other->value;
    case OUTCOME_KILLED:
        return one->child == other->child && one->signal == other->signal;
    default:
        return true;
    }
}

static bool faults_agree(struct fuzz_comparison *comparison,
                         const struct scenario_operation *operation,
                         const struct scenario_outcome *one, const struct scenario_outcome *other)
{
    if (!comparison->faults || one->kind == OUTCOME_SIGNAL || operation->verb < VERB_READ ||
        operation->verb > VERB_POKE || one->faults == other->faults)
        return true;
    return comparison_differs(comparison, "%llu faults, and %llu", (unsigned long long)one->faults,
                              (unsigned long long)other->faults);
}

bool outcomes_agree(struct fuzz_comparison *comparison, const struct scenario_operation *operation,
                    const struct scenario_outcome *one, const struct scenario_outcome *other)
{
    char one_text[OUTCOME_TEXT_BYTES];
    char other_text[OUTCOME_TEXT_BYTES];

    if (one->kind == other->kind && same_kind_agree(operation, one, other)) {
        if (one->kind == OUTCOME_DATA && !data_agree(comparison, operation, one, other))
            return false;
        return faults_agree(comparison, operation, one, other);
    }
    outcome_text(one, one_text);
    outcome_text(other, other_text);
    return comparison_differs(comparison, "%s says: %s; %s says: %s", comparison->one->ops->name,
                              one_text, comparison->other->ops->name, other_text);
}
