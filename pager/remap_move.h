/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moving the entries of a range of addresses to another one of the same address space, in two
 * halves: everything that may fail, then the move, which may not. No page is copied and no count of
 * a frame changes; entries keep all their bits.
 */
#ifndef FORKLAB_PAGER_REMAP_MOVE_H
#define FORKLAB_PAGER_REMAP_MOVE_H

#include "pager/mm.h"

/* From where, to where; the two ranges have no page in common. */
struct entry_move {
    va_t from;
    va_t to;
    uint64_t bytes;
};

/*
 * Makes every table of the source this address space's own and reserves the tables that the entries
 * may need at their new place. -ENOMEM. Tables that exist there must be its own by the time of the
 * move; nothing may be allocated in between, but tables may go.
 */
int entries_move_reserve(struct mm *mm, const struct entry_move *move);

/* Revokes the source and moves its entries to the new place, where there are none. */
void entries_move(struct mm *mm, const struct entry_move *move);

#endif
