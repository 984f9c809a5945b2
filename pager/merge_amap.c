/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging of map entries as NetBSD's UVM did it: what is mapped lengthens an entry that it touches,
 * if rights, object and offset agree and the entry's amap (what holds its anonymous pages) is its
 * own. A family stands for the amap here, and its links for the references to it.
 *
 *   netbsd-1-6       uvm_map() of sys/uvm/uvm_map.c extends the entry below
 *   netbsd-current   with Andrew Brown's change of November 2002 also the entry above, or both:
 *                    two entries that have an amap each never become one
 *
 * Entries that change stay cut. A split leaves two references to one amap, and so does fork until
 * one of the two sides writes.
 */
#include "pager/anon_family.h"
#include "pager/vma_merge.h"

static bool amap_is_shared(const struct vma *entry)
{
    return entry->family != NULL && entry->family->links != 1;
}

static enum event judge_amap(const struct merge_range *range, const struct vma *neighbour)
{
    enum event reason =
        merge_judge_flags(range, neighbour, VMA_STICKY | VMA_ACCOUNT | VMA_NEEDS_COPY);

    if (reason != MERGE_PERMITTED)
        return reason;
    if (range->shape.object != NULL && !merge_pages_follow(range, neighbour))
        return EVENT_MERGE_REFUSED_OFFSET;
    if (amap_is_shared(neighbour) || (merge_family_of(range) != NULL && neighbour->family != NULL))
        return EVENT_MERGE_REFUSED_AMAP;
    return MERGE_PERMITTED;
}

static enum event judge_both_amaps(const struct vma *previous, const struct vma *next)
{
    return previous->family != NULL && next->family != NULL ? EVENT_MERGE_REFUSED_AMAP
                                                            : MERGE_PERMITTED;
}

const struct merge_policy merge_amap_previous = {
    .name = "amap, previous",
    .families = FAMILIES_AMAP,
    .sides = MERGE_WITH_PREVIOUS,
    .is_passing = true, /* the amap is nobody else's any more */
    .judge = judge_amap,
    .judge_both = judge_both_amaps,
};

const struct merge_policy merge_amap = {
    .name = "amap",
    .families = FAMILIES_AMAP,
    .sides = MERGE_WITH_ALL,
    .is_passing = true, /* the amap is nobody else's any more */
    .judge = judge_amap,
    .judge_both = judge_both_amaps,
};
