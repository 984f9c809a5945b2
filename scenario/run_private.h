/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the runner share: run.c goes through a scenario, run_judge.c judges outcomes,
 * run_expect.c quantities. */
#ifndef FORKLAB_SCENARIO_RUN_PRIVATE_H
#define FORKLAB_SCENARIO_RUN_PRIVATE_H

#include "scenario/run.h"
#include "scenario/run_text.h"

/* The answer that holds at this backend, or NULL. */
const struct scenario_answer *answer_that_holds(struct backend *backend,
                                                const struct scenario_operation *operation);

enum expect_verdict {
    EXPECT_HOLDS,
    EXPECT_FAILS,
    EXPECT_UNKNOWN, /* this backend cannot judge it */
};

/* Judges an EXPECT; `what` says what was expected and what came, or what is in the way. */
enum expect_verdict expect_judge(const struct scenario *scenario, struct backend *backend,
                                 const struct scenario_operation *operation, char *what,
                                 size_t what_bytes);

#endif
