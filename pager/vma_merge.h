/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging: when one VMA can stand for several. The calls that join VMAs are in vma.h.
 *
 * A policy judges a range against a neighbour that touches it, and the two neighbours of a range
 * against each other. What is done then is the same under every policy: the lower neighbour grows,
 * else the upper one; where both can, they become one.
 *
 *   alike     rights and flags, object and its pages: the kernels of 2002, as far as they are here
 *   family    and the anonymous families must agree (anon_family.h); the offset of anonymous memory
 *             counts too, which mremap keeps: Linux since 6.16
 *
 * A kernel may leave neighbours apart that could be one: a fork that drops a lock from one of them,
 * a stack that grows down to another, a call that fails half-way. Then the upper one is marked
 * (left_apart), and the invariant vmas-merged asks nothing of the pair.
 */
#ifndef FORKLAB_PAGER_VMA_MERGE_H
#define FORKLAB_PAGER_VMA_MERGE_H

#include "pager/vma.h"

/* A range as it shall be. */
struct merge_range {
    struct vma_shape shape;
    const struct vma *of; /* the VMA that it is a part of, or is moved from; NULL: it is new */
};

struct merge_policy {
    const char *name;
    bool keeps_families;
    bool parts_heap; /* a heap never joins what lies below its start */
    /* Can one VMA stand for the range and the neighbour, which touches it? */
    bool (*joins)(const struct merge_range *range, const struct vma *neighbour);
    /* Can one stand for both neighbours, each of which can stand for the range? */
    bool (*joins_both)(const struct vma *previous, const struct vma *next);
};

extern const struct merge_policy merge_alike;
extern const struct merge_policy merge_family;

#endif
