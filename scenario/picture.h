/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A picture of an emulated machine, and what two of them differ in: for `show diff`.
 *
 * It holds what scenarios make: VMAs, leaf tables, entries and frames, but not the own part of
 * address spaces (emulated_private.h). Taken only when somebody watches, since it walks everything.
 */
#ifndef FORKLAB_SCENARIO_PICTURE_H
#define FORKLAB_SCENARIO_PICTURE_H

#include <stdio.h>

struct emulated;
struct picture;

/* An empty picture; NULL when memory ends. */
struct picture *picture_create(void);
void picture_free(struct picture *picture);

/* The machine as it is now. Takes its lock. */
void picture_take(struct picture *picture, struct emulated *emulated);

/* What is different now; says so when no picture was taken (NULL). Lock held. */
void picture_show_diff(const struct picture *before, struct emulated *emulated, FILE *out);

#endif
