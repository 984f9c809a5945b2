/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fault-around: a read fault on a page of an object also maps its neighbours that the object has in
 * memory already, so that a child that reads what fork did not hand on takes few faults.
 *
 * The pages are those of do_fault_around() in Linux 6.18: from the start of the aligned block of
 * `fault_around_pages` pages, or from the start of the mapping if that lies in the block, so many
 * pages further, but not beyond the leaf table, the mapping or the object. Where the mapping starts
 * within a block, the pages therefore reach into the next one. Only absent entries are filled.
 */
#ifndef FORKLAB_PAGER_FAULT_AROUND_H
#define FORKLAB_PAGER_FAULT_AROUND_H

#include "pager/fault.h"

/* Slots of the leaf table: [first, end). */
struct fault_around {
    unsigned first;
    unsigned end;
};

/* What this fault may map around its page: nothing, unless it reads an object's page. */
struct fault_around fault_around_of(const struct fault *fault);

/* Is any of them absent here and in the object's memory? */
bool fault_around_finds(const struct fault *fault, const struct fault_around *around);

/*
 * Maps those that the object has, with the rights of an unwritten page. Reserved: a mapping for
 * each slot. The table is one's own, or everybody's where the fault may fill for all.
 */
void fault_around_fill(const struct fault *fault, const struct fault_around *around,
                       struct table *table);

#endif
