/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blocks of docs/scenarios.md that begin with ```scenario: each is a scenario of its own. */
#ifndef FORKLAB_TESTS_SUPPORT_DOCUMENTED_H
#define FORKLAB_TESTS_SUPPORT_DOCUMENTED_H

#include <stdbool.h>
#include <stdio.h>

/* The document, from where FORKLAB_SOURCE_DIR says; NULL without it. */
FILE *documented_open(void);

/* The text of the next block, which the caller frees; NULL after the last. */
char *documented_next(FILE *document);

#endif
