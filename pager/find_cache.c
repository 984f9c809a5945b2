/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all find_vma caches have in common: that they forget. */
#include "pager/find_cache.h"

#include "pager/mm.h"

void find_cache_forget(struct mm *mm)
{
    mm->find.last = NULL;
    mm->find.sequence = ++mm->machine->last_find_sequence;
}
