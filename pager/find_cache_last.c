/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mapping found last answers if it holds the address (mm->mmap_cache of Linux, find_vma() in
 * mm/mmap.c of 2.4 and 2.6).
 */
#include "pager/find_cache.h"
#include "pager/mm.h"

static bool ask_last(struct mm *mm, va_t va, struct vma **found)
{
    struct vma *last = mm->find.last;

    if (last == NULL || !vma_contains(last, va))
        return false;
    event_count(&mm->machine->events, EVENT_LOOKUP_LAST, 1);
    *found = last;
    return true;
}

static void note_last(struct mm *mm, va_t va, struct vma *found)
{
    (void)va;
    mm->find.last = found;
}

const struct find_cache find_cache_last = {.name = "last", .ask = ask_last, .note = note_last};
