/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A picture of one span in several trees: the whole state of its tables and frames, in one text
 * that is the same in every geometry, since tables and frames are numbered as they are met.
 *
 *   "P: T1x2 r- | f1x1 r-D | zero r- | swap 1.7 | guard | none\n"
 *
 * P's leaf table is the first that was met, two entries point at it, and the one in P forbids
 * writing; its first page is the first frame met, with count 1, not writable, dirty; and so on. The
 * flags: A accessed, D dirty, X exclusive, L lazy-free; "pN" counts pins. "P: no table\n" without.
 */
#ifndef FORKLAB_TESTS_PICTURE_H
#define FORKLAB_TESTS_PICTURE_H

#include "pt/walk.h"

struct picture {
    char text[2048];
};

/*
 * Draws `pages` pages from `va` on, which lie in one span, in each tree; names[i] names trees[i].
 */
struct picture picture_of(const struct pt_tree *const trees[], const char *names, va_t va,
                          unsigned pages);

#endif
