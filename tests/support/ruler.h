/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ruler over the mappings of a range: one letter a page, 'a' for the first VMA, 'b' for the next,
 * '.' where nothing is mapped, and then what each of them is.
 *
 *   "aab..c a:rw-p b:r--p* c:rw-s@2"
 *
 * The rights; p private or s shared; '*' written privately (VMA_ANCESTRY), 'v' grows down, '!' may
 * never be written, '@' and the page of the object at the start of the VMA, which may lie before
 * the range.
 */
#ifndef FORKLAB_TESTS_RULER_H
#define FORKLAB_TESTS_RULER_H

#include "pager/mm.h"

struct ruler {
    char text[512];
};

struct ruler ruler_of(struct mm *mm, va_t start, unsigned pages);

#endif
