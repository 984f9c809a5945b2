/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a scenario from text: one statement a line, `;` between several, `#` to the end of a line.
 * docs/scenarios.md has the grammar.
 *
 * The reader judges what can be judged without running: words, numbers, names that were never
 * given, tasks that do not exist yet or have exited. Sizes and addresses may be wrong on purpose,
 * so that is left to the kernel.
 */
#ifndef FORKLAB_SCENARIO_READER_H
#define FORKLAB_SCENARIO_READER_H

#include <stdio.h>

#include "scenario/operation.h"

enum { SCENARIO_LINE_BYTES = 65536, SCENARIO_PROBLEM_BYTES = 400 };

/*
 * Reads all of the stream; `path` is for messages. On failure a negative errno (-EINVAL: the text
 * is wrong; -EIO; -ENOMEM) and in `problem` one line "path:line:column: what is wrong, what was
 * expected". The scenario is then empty.
 */
int scenario_read(struct scenario *scenario, const char *path, FILE *stream, char *problem,
                  size_t problem_bytes);

/* The same from memory, which may hold any bytes. */
int scenario_read_text(struct scenario *scenario, const char *path, const char *text,
                       size_t text_bytes, char *problem, size_t problem_bytes);

/* "6.17" or "2.5.41" as a number that can be compared, 0 if it is no version. What follows does not
 * count, so that "6.1.0-18-amd64" is 6.1.0. */
uint32_t linux_version_parse(const char *text);

#endif
