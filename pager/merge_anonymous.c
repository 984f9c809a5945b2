/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging of private anonymous memory alone: until 2.5.57 no Linux joined mappings of files.
 *
 *   2.4.9               do_mmap_pgoff() and do_brk() of mm/mmap.c lengthen the mapping that ends
 *                       where the new one begins; mprotect and mremap join nothing
 *   2.4.9-mmap-rb-4     vma_merge() of Andrea Arcangeli's patch of August 2001, which went into
 *                       2.4.10: the next mapping too, or both; mprotect and mremap as well
 *
 * Anonymous memory has no offset there, so nothing but rights and flags tells neighbours apart.
 */
#include "pager/vma_merge.h"

static enum event judge_anonymous(const struct merge_range *range, const struct vma *neighbour)
{
    if (range->shape.object != NULL || neighbour->object != NULL)
        return EVENT_MERGE_REFUSED_FILE;
    return merge_judge_flags(range, neighbour, VMA_STICKY | VMA_ACCOUNT);
}

static enum event judge_both_anonymous(const struct vma *previous, const struct vma *next)
{
    (void)previous;
    (void)next;
    return MERGE_PERMITTED;
}

const struct merge_policy merge_anonymous_previous = {
    .name = "anonymous, previous",
    .sides = MERGE_WITH_PREVIOUS,
    .judge = judge_anonymous,
    .judge_both = judge_both_anonymous,
};

const struct merge_policy merge_anonymous = {
    .name = "anonymous",
    .sides = MERGE_WITH_ALL,
    .on_change = true,
    .judge = judge_anonymous,
    .judge_both = judge_both_anonymous,
};
