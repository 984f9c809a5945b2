/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a mapping without an address goes.
 *
 *   up     first fit from the end of the last search, then once more from the base (Linux 2.5's
 *          free_area_cache)
 *   down   the highest gap below the stack (Linux since 2.6.7, arch_get_unmapped_area_topdown). A
 *          mapping that grows down keeps a guard gap below it free, of hints too. Anonymous memory
 *          of whole huge pages is aligned to them (since 6.7), whether there are any or not
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

/* Up to where the space below a VMA is free for others. */
static va_t free_below(const struct mm *mm, const struct vma *vma)
{
    if (!(vma->flags & VMA_GROWS_DOWN) || mm->machine->kernel->free_space != FREE_SPACE_DOWN)
        return vma->start;
    return vma->start > mm->stack_gap_bytes ? vma->start - mm->stack_gap_bytes : 0;
}

/* The end of the highest free range of that many bytes below the limit, or 0; `*next`: the VMA
 * above it. */
static va_t highest_gap(struct mm *mm, va_t limit, uint64_t bytes, const struct vma **next)
{
    const struct vma *below = vma_last_below(mm, limit);
    va_t end = limit;

    *next = below != NULL ? vma_next(below) : vma_look(mm, limit);
    while (end > mm->map_base && end - mm->map_base >= bytes) {
        if (below == NULL || (below->end <= end && end - below->end >= bytes))
            return end;
        end = below->start;
        *next = below;
        below = vma_previous(below);
    }
    return 0;
}

/*
 * As Linux searches: when the range found touches a guard gap, it goes on below that gap, and what
 * lies between is not looked at again.
 */
static va_t find_down(struct mm *mm, uint64_t bytes)
{
    va_t limit = mm->map_top;

    while (limit > mm->map_base) {
        const struct vma *next;
        va_t end = highest_gap(mm, limit, bytes, &next);

        if (end == 0)
            return 0;
        if (next == NULL || free_below(mm, next) >= end)
            return end - bytes;
        limit = free_below(mm, next);
    }
    return 0;
}

/* A range at a multiple of `alignment`: the lowest in one that is longer by as much. */
static va_t find_down_aligned(struct mm *mm, uint64_t bytes, uint64_t alignment)
{
    va_t found = bytes + alignment > bytes ? find_down(mm, bytes + alignment) : 0;

    if (found == 0)
        return 0;
    return found % alignment == 0 ? found + alignment : round_up(found, alignment);
}

static bool hint_is_free(struct mm *mm, const struct free_request *request)
{
    const struct vma *next = vma_find(mm, request->hint);

    if (request->hint == 0 || request->bytes > mm->user_end ||
        request->hint > mm->user_end - request->bytes)
        return false;
    return next == NULL || request->hint + request->bytes <= free_below(mm, next);
}

va_t mm_find_free(struct mm *mm, const struct free_request *request)
{
    uint64_t bytes = request->bytes;
    va_t found = 0;

    if (hint_is_free(mm, request))
        return request->hint;
    if (mm->machine->kernel->free_space != FREE_SPACE_DOWN)
        return find_up(mm, bytes);
    if (mm->huge_bytes != 0 && request->is_anonymous && request->hint == 0 &&
        bytes % mm->huge_bytes == 0)
        found = find_down_aligned(mm, bytes, mm->huge_bytes);
    return found != 0 ? found : find_down(mm, bytes);
}
