/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the policies for free space have in common; free_space.h has the terms. */
#include "pager/free_space.h"

#include "pager/mm.h"

va_t free_space_lowest(struct mm *mm, va_t from, va_t limit, uint64_t bytes)
{
    const struct vma_index_ops *ops = mm->index.ops;
    struct vma_gap gap = {.low = from, .high = limit, .bytes = bytes};

    if (limit < from || limit - from < bytes)
        return 0;
    if (ops->lowest_gap != NULL)
        return ops->lowest_gap(&mm->index, &gap);
    const struct vma *vma = vma_find(mm, from);
    va_t start = from;

    while (start <= limit && limit - start >= bytes) {
        if (vma == NULL || start + bytes <= vma->start)
            return start;
        start = max_u64(start, vma->end);
        ++*mm->index.steps;
        vma = vma_next(vma);
    }
    return 0;
}

va_t free_space_below(const struct mm *mm, const struct vma *vma)
{
    if (!(vma->flags & VMA_GROWS_DOWN) || !mm->machine->kernel->free_space->keeps_gaps)
        return vma->start;
    return vma->start > mm->stack_gap_bytes ? vma->start - mm->stack_gap_bytes : 0;
}

static bool hint_is_free(struct mm *mm, const struct free_request *request)
{
    if (request->hint == 0 || request->bytes > mm->user_end ||
        request->hint > mm->user_end - request->bytes)
        return false;
    const struct vma *next = vma_find(mm, request->hint);

    return next == NULL || request->hint + request->bytes <= free_space_below(mm, next);
}

va_t mm_find_free(struct mm *mm, const struct free_request *request)
{
    if (hint_is_free(mm, request))
        return request->hint;
    return mm->machine->kernel->free_space->find(mm, request);
}
