/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mapping found last answers if it holds the address, else a neighbour of it: where the address
 * lies in a neighbour, or in the gap before one, the answer is certain without the tree. It wants
 * an index in which both neighbours are one step away.
 *
 * After "[PATCH 2.6.28 1/2] memory: improve find_vma" (Daniel Lowengrub, January 2009).
 */
#include "pager/find_cache.h"
#include "pager/mm.h"

/* Above the mapping: the next one answers, if the address is not above that, too. */
static bool ask_next(const struct vma *last, va_t va, struct vma **found)
{
    struct vma *next = vma_next(last);

    *found = next;
    return next == NULL || va < next->end;
}

/* Below it: the one before, or the mapping itself where the address lies between the two. */
static bool ask_previous(struct vma *last, va_t va, struct vma **found)
{
    struct vma *previous = vma_previous(last);

    if (previous == NULL || va >= previous->end) {
        *found = last;
        return true;
    }
    *found = previous;
    return va >= previous->start;
}

static bool ask_neighbours(struct mm *mm, va_t va, struct vma **found)
{
    struct vma *last = mm->find.last;
    bool holds = last != NULL && vma_contains(last, va);

    if (last == NULL)
        return false;
    *found = last;
    if (!holds && !(va >= last->end ? ask_next(last, va, found) : ask_previous(last, va, found)))
        return false;
    event_count(&mm->machine->events, holds ? EVENT_LOOKUP_LAST : EVENT_LOOKUP_NEIGHBOUR, 1);
    if (*found != NULL)
        mm->find.last = *found;
    return true;
}

static void note_found(struct mm *mm, va_t va, struct vma *found)
{
    (void)va;
    mm->find.last = found;
}

const struct find_cache find_cache_neighbours = {
    .name = "neighbours",
    .ask = ask_neighbours,
    .note = note_found,
};
