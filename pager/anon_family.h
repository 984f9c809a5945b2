/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Anonymous families: which VMAs may hold one and the same anonymous page (Linux: anon_vma).
 *
 *   family   the VMA that first wrote a private page founds a root family; fork gives the child's
 *            VMA a family of its own below its parent's, or hands it one that nobody uses any more
 *   link     one VMA in the chain of one family: a VMA is linked with its own family and with all
 *            that it descends from, oldest first, since it may hold pages of each of them
 *   active   VMAs whose own family it is
 *
 * User code sees families by what they keep apart: two VMAs of different families never become one
 * VMA (vma_merge.h), and one that fork handed down does not join with memory that is new. For a
 * way from a page to its mappings, a family would be the place to look.
 *
 * The rules are those of Linux 6.18's mm/rmap.c: anon_vma_prepare(), anon_vma_clone(),
 * anon_vma_fork(), unlink_anon_vmas(). A family is found again only through its VMAs, and goes with
 * its last link; whoever is linked with a family is linked with its parent too, so parents go last.
 *
 * Kernels whose merging asks for no families keep none; there VMA_ANCESTRY alone says that a VMA
 * was written privately. Where they are kept, that flag says that the VMA has a family.
 */
#ifndef FORKLAB_PAGER_ANON_FAMILY_H
#define FORKLAB_PAGER_ANON_FAMILY_H

#include "pager/amap.h"
#include "pager/vma.h"

struct machine;

/* Which families does a kernel keep? That is a matter of its merging. */
enum family_rule {
    FAMILIES_NONE,
    FAMILIES_SHARED, /* fork's mappings are of the parent's families (2.6.28) */
    FAMILIES_FORKED, /* each fork makes families of its own below the parent's (since 3.0) */
    FAMILIES_AMAP    /* each mapping has its own, a fork's after the next write (UVM) */
};

struct anon_family {
    struct anon_family *parent; /* a root is its own */
    uint32_t links;
    uint32_t children; /* families whose parent it is; a root counts itself */
    uint32_t active;
    struct amap amap; /* where a family is one (FAMILIES_AMAP) */
};

struct anon_link {
    struct anon_family *family;
    struct anon_link *next; /* the next younger one of the VMA */
};

/*
 * The VMA gets its first anonymous page, or a mark that fork has to hand on: it founds a family, or
 * adopts that of a neighbour it might be one with but for its rights. After a reserve of 0 the join
 * cannot fail. Both do nothing for a VMA that has a family.
 */
int anon_family_reserve(struct vma *vma);
void anon_family_join(struct vma *vma);

/* Enough for every VMA that reaches into the range: -ENOMEM. */
int anon_family_reserve_range(struct mm *mm, va_t start, va_t end);

/* `to`, which has no family, becomes a further member of the other's family, if there is one: what
 * a split, a merge and a move do. vma_reserve() saw to the links. */
void anon_family_copy(struct vma *to, const struct vma *from);

/* The VMA, which may have a family, has come to have these pages, too: an amap grows with it. */
void anon_family_grow(const struct vma *vma, uint64_t first_page, uint64_t pages);

/* It no longer has them: an amap is cut first, as UVM does, and keeps its size. */
void anon_family_shrink(const struct vma *vma, uint64_t first_page, uint64_t pages);

/* Enough for a fork of all VMAs of an address space: -ENOMEM. */
int anon_family_reserve_fork(struct mm *parent);

/* The child's family, for a VMA that has just been duplicated; reserved. */
void anon_family_fork(struct vma *child, struct vma *parent);

/* The VMA has nothing to do with any family any more: it ends, or its pages have moved away. */
void anon_family_leave(struct vma *vma);

/* Does the VMA descend from another address space's? */
bool anon_family_is_forked(const struct vma *vma);

#endif
