/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a scenario on a backend: performs each operation, judges its outcome by the scenario's
 * answers, and reports.
 */
#ifndef FORKLAB_SCENARIO_RUN_H
#define FORKLAB_SCENARIO_RUN_H

#include "scenario/backend.h"

enum run_end {
    SCENARIO_HELD,    /* every expectation held */
    SCENARIO_FAILED,  /* one did not */
    SCENARIO_SKIPPED, /* it says that it cannot run here */
    SCENARIO_BROKEN,  /* the backend failed */
};

struct scenario_result {
    enum run_end end;
    size_t done;     /* operations performed */
    size_t failures; /* expectations that did not hold */
    size_t skipped;  /* expectations that only the emulator can judge, on the host */
    bool stopped;    /* goes_on() ended it early */
    char why[SCENARIO_WHY_BYTES];
};

/* What the report is made of: each may be NULL. */
struct scenario_report {
    /* Before each statement: false ends the run there. */
    bool (*goes_on)(void *context, const struct scenario_operation *operation);
    /* Before a statement and after an operation. */
    void (*before)(void *context, const struct scenario_operation *operation);
    void (*after)(void *context, const struct scenario_operation *operation,
                  const struct scenario_outcome *outcome);
    /* An expectation that did not hold: one line, with its place. */
    void (*failed)(void *context, const struct scenario_operation *operation, const char *what);
    void *context;
    FILE *shows; /* where SHOW prints */
    bool checks; /* run every invariant after every operation */
};

void scenario_run(const struct scenario *scenario, struct backend *backend,
                  const struct scenario_report *report, struct scenario_result *result);

/*
 * Does the outcome match the answers? The one that holds at this backend is judged; true where
 * there is none and the outcome is no surprise (it worked). `what` says what was expected and what
 * came.
 */
bool answers_match(const struct scenario *scenario, struct backend *backend,
                   const struct scenario_operation *operation,
                   const struct scenario_outcome *outcome, char *what, size_t what_bytes);

/* Writes what the backend has of an EXPECT's quantity of mappings (before QUANTITY_TABLES), as the
 * answer would stand; false, and nothing written, when it cannot tell. */
bool quantity_write(struct backend *backend, const struct scenario_operation *operation,
                    FILE *stream);

#endif
