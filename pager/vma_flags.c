/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flags of a range of VMAs, for madvise and mlock: see advice.h. */
#include "pager/advice.h"
#include "pager/map.h"

struct vma *vma_part_next(struct mm *mm, va_t *start, va_t end, va_t *from)
{
    struct vma *vma = *start < end ? vma_find(mm, *start) : NULL;

    if (vma == NULL || vma->start >= end)
        return NULL;
    *from = max_u64(vma->start, *start);
    *start = min_u64(vma->end, end);
    return vma;
}

static uint32_t changed(uint32_t flags, const struct flag_change *change)
{
    return (flags & ~change->clear) | change->set;
}

int flags_reserve(struct mm *mm, va_t start, va_t end, const struct flag_change *change)
{
    int error = vma_reserve(mm, 2);
    const struct vma *vma;
    va_t from;

    while (error == 0 && (vma = vma_part_next(mm, &start, end, &from)) != NULL) {
        if (((changed(vma->flags, change) ^ vma->flags) & VMA_LAYOUT_FLAGS) != 0)
            error = map_own_tables(mm, from, start);
    }
    return error;
}

int flags_change(struct mm *mm, va_t start, va_t end, const struct flag_change *change)
{
    int error = 0;
    struct vma *vma;
    va_t from;

    while (error == 0 && (vma = vma_part_next(mm, &start, end, &from)) != NULL) {
        uint32_t flags = changed(vma->flags, change);

        if (flags != vma->flags)
            error = vma_modify(&vma, from, start, flags);
    }
    return error;
}
