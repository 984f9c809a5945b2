/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers and outcomes as text, for people who are told what was expected and what came. The words
 * are those of the language; data that is long or cannot be printed is told by its length.
 */
#ifndef FORKLAB_SCENARIO_RUN_TEXT_H
#define FORKLAB_SCENARIO_RUN_TEXT_H

#include "scenario/backend.h"

/* Text that grows in a buffer, cut at its end. */
struct run_text {
    char *text;
    size_t bytes;
    size_t length;
};

struct run_text run_text_in(char *buffer, size_t bytes);
void run_text_add(struct run_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "\"hello\"", "hex:00ff", "fill 0x41 4096". */
void run_text_add_data(struct run_text *text, const struct scenario_data *data);

/* The answer as it stands in the scenario. */
void run_text_add_answer(struct run_text *text, const struct scenario *scenario,
                         const struct scenario_answer *answer);

/* What came, in the words of such an answer. */
void run_text_add_outcome(struct run_text *text, const struct scenario *scenario,
                          const struct scenario_operation *operation,
                          const struct scenario_outcome *outcome);

#endif
