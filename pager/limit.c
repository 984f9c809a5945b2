/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits of an address space (setrlimit(2)): how much is mapped is computed from the VMAs when a
 * limit asks for it, and not kept. The machine's lock is held.
 */
#include "pager/mm.h"

uint64_t mm_mapped_pages(struct mm *mm, bool data_only)
{
    uint64_t pages = 0;

    for (struct vma *vma = vma_first(mm); vma != NULL; vma = vma_next(vma)) {
        if (!data_only || flags_are_data(vma->flags))
            pages += (vma->end - vma->start) >> PAGE_SHIFT;
    }
    return pages;
}

static bool is_within(struct mm *mm, uint64_t most_pages, bool data_only, uint64_t more_pages)
{
    return most_pages == UINT64_MAX || mm_mapped_pages(mm, data_only) + more_pages <= most_pages;
}

bool mm_may_expand(struct mm *mm, uint32_t flags, uint64_t pages)
{
    return is_within(mm, mm->most_pages, false, pages) &&
           (!flags_are_data(flags) || is_within(mm, mm->most_data_pages, true, pages));
}
