/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a mapping without an address goes.
 *
 *   up     first fit from the end of the last search, then once more from the base (Linux 2.5's
 *          free_area_cache)
 *   down   the highest gap below the stack (Linux since 2.6.7, arch_get_unmapped_area_topdown)
 */
#include "pager/mm.h"

/* The lowest free range in [from, limit), or 0. */
static va_t first_fit(struct mm *mm, va_t from, va_t limit, uint64_t bytes)
{
    const struct vma *vma = vma_find(mm, from);
    va_t start = from;

    while (start <= limit && limit - start >= bytes) {
        if (vma == NULL || start + bytes <= vma->start)
            return start;
        start = max_u64(start, vma->end);
        vma = vma_next(vma);
    }
    return 0;
}

static va_t find_up(struct mm *mm, uint64_t bytes)
{
    va_t found = first_fit(mm, mm->free_hint, mm->map_top, bytes);

    if (found == 0)
        found = first_fit(mm, mm->map_base, mm->map_top, bytes);
    if (found != 0)
        mm->free_hint = found + bytes;
    return found;
}

/* The last VMA that starts below `va`, or NULL. */
static const struct vma *last_below(struct mm *mm, va_t va)
{
    const struct vma *vma = vma_find(mm, va - 1);

    if (vma != NULL && vma->start < va)
        return vma;
    if (vma != NULL)
        return vma_previous(vma);
    vma = vma_find(mm, 0);
    while (vma != NULL && vma_next(vma) != NULL)
        vma = vma_next(vma);
    return vma;
}

static va_t find_down(struct mm *mm, uint64_t bytes)
{
    va_t end = mm->map_top;
    const struct vma *below = last_below(mm, end);

    while (end > mm->map_base && end - mm->map_base >= bytes) {
        if (below == NULL || (below->end <= end && end - below->end >= bytes))
            return end - bytes;
        end = below->start < end ? below->start : end;
        below = vma_previous(below);
    }
    return 0;
}

va_t mm_find_free(struct mm *mm, uint64_t bytes)
{
    if (mm->machine->kernel->free_space == FREE_SPACE_DOWN)
        return find_down(mm, bytes);
    return find_up(mm, bytes);
}
