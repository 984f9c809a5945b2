/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The highest gap below the top (vm_unmapped_area() of Linux since 3.7). Where the index knows gaps
 * it is asked, else the mappings are gone through.
 *
 * A mapping that grows down keeps a guard gap below it free. Anonymous memory of whole huge pages
 * is aligned to them (since 6.7), whether there are any or not.
 */
#include "pager/free_space.h"
#include "pager/mm.h"

/* The end of the highest free range of that many bytes between the base and the limit, or 0. */
static va_t highest_gap(struct mm *mm, va_t limit, uint64_t bytes)
{
    const struct vma_index_ops *ops = mm->index.ops;
    struct vma_gap gap = {.low = mm->map_base, .high = limit, .bytes = bytes};

    if (limit < mm->map_base || limit - mm->map_base < bytes)
        return 0;
    if (ops->highest_gap != NULL)
        return ops->highest_gap(&mm->index, &gap);
    const struct vma *below = vma_last_below(mm, limit);
    va_t end = limit;

    while (end > mm->map_base && end - mm->map_base >= bytes) {
        if (below == NULL || (below->end <= end && end - below->end >= bytes))
            return end;
        ++*mm->index.steps;
        end = below->start;
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
        va_t end = highest_gap(mm, limit, bytes);

        if (end == 0)
            return 0;
        const struct vma *next = vma_look(mm, end);

        if (next == NULL || free_space_below(mm, next) >= end)
            return end - bytes;
        limit = free_space_below(mm, next);
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

static va_t find_in_gaps(struct mm *mm, const struct free_request *request)
{
    uint64_t bytes = request->bytes;
    va_t found = 0;

    if (mm->huge_bytes != 0 && request->is_anonymous && request->hint == 0 &&
        bytes % mm->huge_bytes == 0)
        found = find_down_aligned(mm, bytes, mm->huge_bytes);
    return found != 0 ? found : find_down(mm, bytes);
}

const struct free_space free_space_gaps = {
    .name = "gaps, down",
    .keeps_gaps = true,
    .find = find_in_gaps,
};
