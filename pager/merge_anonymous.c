/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging of private anonymous memory: until 2.5.57 no Linux joined mappings of files.
 *
 *   2.4.9               do_mmap_pgoff() and do_brk() of mm/mmap.c lengthen the mapping that ends
 *                       where the new one begins; mprotect and mremap join nothing
 *   2.4.9-mmap-rb-4     vma_merge() of Andrea Arcangeli's patch of August 2001, which went into
 *                       2.4.10: the next mapping too, or both; mprotect and mremap as well
 *   2.6.5               a new mapping of a file joins neighbours whose pages follow; mprotect still
 *                       joins none of a file (since 2.5.57, mm/mmap.c and mm/mprotect.c)
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

static enum event judge_new_file(const struct merge_range *range, const struct vma *neighbour)
{
    enum event reason = merge_judge_flags(range, neighbour, VMA_STICKY | VMA_ACCOUNT);

    if (reason != MERGE_PERMITTED || neighbour->object == NULL)
        return reason;
    if (range->of != NULL)
        return EVENT_MERGE_REFUSED_FILE;
    return merge_pages_follow(range, neighbour) ? MERGE_PERMITTED : EVENT_MERGE_REFUSED_OFFSET;
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

const struct merge_policy merge_new_files = {
    .name = "anonymous, new files",
    .sides = MERGE_WITH_ALL,
    .on_change = true,
    .is_passing = true, /* it has changed, and is a file's */
    .judge = judge_new_file,
    .judge_both = judge_both_anonymous,
};
