/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging by anonymous families (anon_family.h), as Linux has it since 2.6.7: rights, flags, object
 * and offset must agree (the offset of anonymous memory counts, which mremap keeps), and the
 * families must be equal or missing.
 *
 *   2.6.28   can_vma_merge_before() and is_mergeable_anon_vma() of mm/mmap.c: one missing is enough
 *   4.x      since 3.0 not where the neighbour's came through a fork; and a range that was written
 *            does not join a neighbour that was not, which nobody meant (mended in 6.16)
 *   modern   is_mergeable_anon_vma() of 6.16's mm/vma.c: either may be missing, if the other came
 *            through no fork
 *
 * In 2.6.28 all mappings of a fork are of the family of the first: so nothing came through one.
 */
#include "pager/anon_family.h"
#include "pager/vma_merge.h"

/* What all of them ask; the heap's own rule is its caller's. */
static enum event judge_mapping(const struct merge_range *range, const struct vma *neighbour)
{
    enum event reason = merge_judge_flags(range, neighbour, VMA_STICKY);

    if (reason == MERGE_PERMITTED && !merge_pages_follow(range, neighbour))
        reason = EVENT_MERGE_REFUSED_OFFSET;
    return reason;
}

static enum event judge_both(const struct vma *previous, const struct vma *next)
{
    bool agree =
        previous->family == NULL || next->family == NULL || previous->family == next->family;

    return agree ? MERGE_PERMITTED : EVENT_MERGE_REFUSED_FAMILY;
}

static enum event judge_anon_vma(const struct merge_range *range, const struct vma *neighbour)
{
    enum event reason = judge_mapping(range, neighbour);
    const struct anon_family *family = merge_family_of(range);

    if (reason != MERGE_PERMITTED)
        return reason;
    if (family == NULL || neighbour->family == NULL || family == neighbour->family)
        return MERGE_PERMITTED;
    return EVENT_MERGE_REFUSED_FAMILY;
}

/* A family against none: not if it came through a fork. */
static enum event judge_lone_family(const struct vma *vma)
{
    return anon_family_is_forked(vma) ? EVENT_MERGE_REFUSED_FORK : MERGE_PERMITTED;
}

static enum event judge_forked(const struct merge_range *range, const struct vma *neighbour)
{
    enum event reason = judge_mapping(range, neighbour);
    const struct anon_family *family = merge_family_of(range);

    if (reason != MERGE_PERMITTED || family == neighbour->family)
        return reason;
    return family == NULL ? judge_lone_family(neighbour) : EVENT_MERGE_REFUSED_FAMILY;
}

static enum event judge_family(const struct merge_range *range, const struct vma *neighbour)
{
    enum event reason = judge_mapping(range, neighbour);
    const struct anon_family *family = merge_family_of(range);

    if (reason != MERGE_PERMITTED || family == neighbour->family)
        return reason;
    if (family == NULL)
        return judge_lone_family(neighbour);
    return neighbour->family == NULL ? judge_lone_family(range->of) : EVENT_MERGE_REFUSED_FAMILY;
}

const struct merge_policy merge_anon_vma = {
    .name = "anon_vma",
    .families = FAMILIES_SHARED,
    .sides = MERGE_WITH_ALL,
    .on_change = true,
    .judge = judge_anon_vma,
    .judge_both = judge_both,
};

const struct merge_policy merge_anon_vma_forked = {
    .name = "anon_vma, forked",
    .families = FAMILIES_FORKED,
    .sides = MERGE_WITH_ALL,
    .on_change = true,
    .is_passing = true, /* the neighbour is written after all */
    .judge = judge_forked,
    .judge_both = judge_both,
};

const struct merge_policy merge_family = {
    .name = "family",
    .families = FAMILIES_FORKED,
    .sides = MERGE_WITH_ALL,
    .on_change = true,
    .parts_heap = true,
    .judge = judge_family,
    .judge_both = judge_both,
};
