/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The comparison of two backends, for its own files.
 *
 *   outcome   what each answered to an operation (fuzz_outcome.c)
 *   state     who is alive, what is mapped, and at the end the contents of every page that the
 *             scenario wrote or named (fuzz_state.c)
 *   touched   the pages that operations were about, gathered on the way
 */
#ifndef FORKLAB_SCENARIO_FUZZ_COMPARE_H
#define FORKLAB_SCENARIO_FUZZ_COMPARE_H

#include "scenario/fuzz.h"

struct touched_range {
    uint64_t first; /* page number */
    uint64_t end;
};

struct touched {
    struct touched_range *ranges;
    size_t count;
    size_t capacity;
};

/* Says what is different, like printf; returns false. */
bool comparison_differs(struct fuzz_comparison *comparison, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Do the outcomes agree, as far as is compared? */
bool outcomes_agree(struct fuzz_comparison *comparison, const struct scenario_operation *operation,
                    const struct scenario_outcome *one, const struct scenario_outcome *other);

/* A few words on an outcome, into `text`. */
enum { OUTCOME_TEXT_BYTES = 120 };
void outcome_text(const struct scenario_outcome *outcome, char text[OUTCOME_TEXT_BYTES]);

/* Are the same tasks alive, with the same mappings? */
bool states_agree(struct fuzz_comparison *comparison);

/* Do all invariants hold at both? */
bool are_sound(struct fuzz_comparison *comparison);

/* Notes the pages of an operation: -ENOMEM. */
int touched_add(struct touched *touched, struct fuzz_comparison *comparison,
                const struct scenario_operation *operation, const struct scenario_outcome *outcome);

/* Do all these pages hold the same, in every living task, read by the kernel and by the task? */
bool contents_agree(struct fuzz_comparison *comparison, struct touched *touched);

/* Performs on `one` and then, unless it was left out, on the other. True while they agree; `*ends`
 * when nothing further can be compared. */
bool perform_both(struct fuzz_comparison *comparison, const struct scenario_operation *operation,
                  struct scenario_outcome *one, bool *ends);

#endif
