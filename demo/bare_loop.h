/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The least that copying a page-table entry can cost: the loop that a copied fork is held against.
 */
#ifndef FORKLAB_DEMO_BARE_LOOP_H
#define FORKLAB_DEMO_BARE_LOOP_H

#include <stddef.h>

/* Nanoseconds an entry, the median of some passes over that many entries; 0 when memory ends. */
double bare_loop_entry_ns(size_t entries);

#endif
