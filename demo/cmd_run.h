/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of `forklab run` share: cmd_run.c runs, cmd_run_text.c and cmd_run_json.c
 * report. */
#ifndef FORKLAB_DEMO_CMD_RUN_H
#define FORKLAB_DEMO_CMD_RUN_H

#include "demo/options.h"
#include "scenario/emulated.h"
#include "scenario/run.h"

enum { EXIT_STATUS_SKIPPED = 77 };

enum run_format { RUN_PLAIN, RUN_QUIET, RUN_TRACE, RUN_JSON };

struct run_options {
    struct command_line line; /* first */
    const char *path;         /* "-": standard input */
    struct machine_options machine;
    uint64_t seed;
    bool seed_given;
    bool host;          /* on the real kernel below */
    bool emulated_only; /* something was given that only an emulated machine has */
    enum run_format format;
    bool format_given;
    bool step;
    bool no_checks;
    bool grammar;
};

/* One run, for its reporters. */
struct run_session {
    const struct run_options *options;
    const struct scenario *scenario;
    struct backend *backend;
    char place[100]; /* "modern-shared, host MMU, x86-64" */
};

/* Runs and reports as text: the result, when the backend still is. */
void run_as_text(const struct run_session *session, struct scenario_result *result);

/* The last line; `lost`: what was left over at the end, or "". */
void run_conclude_text(const struct run_session *session, const struct scenario_result *result,
                       const char *lost);

/*
 * The same as one JSON object, which is made while the scenario runs and written when it is over.
 * -ENOMEM.
 */
struct run_json;
int run_as_json(const struct run_session *session, struct run_json **json,
                struct scenario_result *result);
int run_conclude_json(const struct run_session *session, struct run_json *json,
                      const struct scenario_result *result, const char *lost);

/*
 * Where the last operation's fault steps stand in the ring,
 * as many as it still holds: [first, end).
 * None where the kernel is real.
 */
void run_find_steps(const struct run_session *session, uint64_t *first, uint64_t *end);
const struct event_record *run_step(const struct run_session *session, uint64_t sequence);

/* Is it about a task as a whole, and no address? */
bool run_step_is_whole(const struct event_record *step);

#endif
