/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes scenarios as text that the reader reads back as the same scenario.
 */
#ifndef FORKLAB_SCENARIO_WRITER_H
#define FORKLAB_SCENARIO_WRITER_H

#include <stdio.h>

#include "scenario/backend.h"

/* One statement, without a newline. */
void operation_write(const struct scenario *scenario, const struct scenario_operation *operation,
                     FILE *stream);

/* The part after "=" that would expect just this outcome of the operation; nothing where there is
 * nothing to expect. */
void outcome_write(const struct scenario *scenario, const struct scenario_operation *operation,
                   const struct scenario_outcome *outcome, FILE *stream);

/* All statements, a line each. */
void scenario_write(const struct scenario *scenario, FILE *stream);

/* Words for numbers: "EINVAL", "SIGSEGV"; NULL for one without a name. And back: 0 if unknown. */
const char *errno_word(int error);
int errno_from_word(const char *word);
const char *signal_word(int signal);
int signal_from_word(const char *word);
const char *advice_word(int advice);
int advice_from_word(const char *word); /* -1 if unknown */

#endif
