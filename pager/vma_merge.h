/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging: when one VMA can stand for several. The calls that join VMAs are in vma.h.
 *
 * A policy judges a range against a neighbour that touches it, and the two neighbours of a range
 * against each other. What is done then is the same under every policy: the lower neighbour grows,
 * else the upper one; where both can, they become one. A refusal has a reason, which is counted
 * (EVENT_MERGE_REFUSED_*).
 *
 *   anonymous, previous   private anonymous memory that is mapped grows the mapping below (2.4.9)
 *   anonymous             both neighbours, and mappings that change too (2.4.9-mmap-rb-4, 2.5)
 *   anonymous, new files  and files that are mapped, where the pages follow (2.6.5)
 *   anon_vma              files as well, where the pages follow; equal anonymous families or none;
 *                         a fork's mappings are of one family (2.6.28)
 *   anon_vma, forked      a family for each fork, and not through one (since 3.0)
 *   family                a written range may join an unwritten neighbour, too (since 6.16)
 *   amap, previous        what is mapped grows the entry below unless its amap is shared
 *                         (netbsd-1-6); amap: both neighbours (netbsd-current)
 *
 * A kernel may leave neighbours apart that could be one: a fork that drops a lock from one of them,
 * a stack that grows down to another, a call that fails half-way, a side that the policy does not
 * know. Then the upper one is marked (left_apart), and the invariant vmas-merged asks nothing of
 * the pair.
 */
#ifndef FORKLAB_PAGER_VMA_MERGE_H
#define FORKLAB_PAGER_VMA_MERGE_H

#include "pager/anon_family.h"
#include "pt/event.h"

/* A range as it shall be. */
struct merge_range {
    struct vma_shape shape;
    const struct vma *of; /* the VMA that it is a part of, or is moved from; NULL: it is new */
};

/* What a judge says when it has nothing against it. */
#define MERGE_PERMITTED EVENT_COUNT

#define MERGE_WITH_PREVIOUS 1u
#define MERGE_WITH_NEXT 2u
#define MERGE_WITH_BOTH 4u
#define MERGE_WITH_ALL (MERGE_WITH_PREVIOUS | MERGE_WITH_NEXT | MERGE_WITH_BOTH)

struct merge_policy {
    const char *name;
    enum family_rule families;
    unsigned sides;  /* MERGE_WITH_* */
    bool on_change;  /* mappings that change or move merge too, not only new ones */
    bool is_passing; /* what keeps neighbours apart may end while nobody looks */
    bool parts_heap; /* a heap never joins what lies below its start */
    /* Can one VMA stand for the range and the neighbour, which touches it? Else the reason. */
    enum event (*judge)(const struct merge_range *range, const struct vma *neighbour);
    /* Can one stand for both neighbours, each of which can stand for the range? */
    enum event (*judge_both)(const struct vma *previous, const struct vma *next);
};

extern const struct merge_policy merge_anonymous_previous;
extern const struct merge_policy merge_anonymous;
extern const struct merge_policy merge_new_files;
extern const struct merge_policy merge_anon_vma;
extern const struct merge_policy merge_anon_vma_forked;
extern const struct merge_policy merge_family;
extern const struct merge_policy merge_amap_previous;
extern const struct merge_policy merge_amap;

/* --- for policies --- */

/* Rights and flags but for those ignored, and the object: MERGE_PERMITTED or the reason. */
enum event merge_judge_flags(const struct merge_range *range, const struct vma *neighbour,
                             uint32_t ignored);

/* Do the pages that back the two follow each other as their addresses do? */
bool merge_pages_follow(const struct merge_range *range, const struct vma *neighbour);

/* The family of what the range is a part of, or NULL. */
const struct anon_family *merge_family_of(const struct merge_range *range);

#endif
