/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernels: named sets of policies, one row each in kernels.def.
 *
 * A policy is an ops struct in a file of its own, or one of the choices below; a kernel names one
 * of each. What a kernel's row still lacks is said in `missing`, which `forklab kernels` prints.
 */
#ifndef FORKLAB_PAGER_KERNEL_H
#define FORKLAB_PAGER_KERNEL_H

#include "pager/find_cache.h"
#include "pager/free_space.h"
#include "pager/rmap.h"
#include "pager/vma_merge.h"

/* May leaf tables be shared at fork? OFF runs all the code that can share, and then copies. */
enum sharing { SHARING_NONE, SHARING_OFF, SHARING_LEAF };

/*
 * Which entries does fork hand on? REFAULT leaves to faults what they can rebuild: it copies only
 * mappings with anonymous ancestry (Linux since 2.6.15, copy_page_range()). NOTHING copies none at
 * all, as UVM: the child refers to the parent's amaps, which are leaf tables here, and each of its
 * pages is a miss at first, as where a pmap holds nothing yet.
 */
enum fork_entries { FORK_COPIES_ALL, FORK_REFAULTS, FORK_COPIES_NOTHING };

/* A read of an absent entry in a shared table: filled in place for all, or split first. */
enum absent_entry { ABSENT_FILLED, ABSENT_SPLIT };

/* MAX_MAP_COUNT of 2.4 and 2.5; today's default of vm.max_map_count. */
enum { KERNEL_MAP_COUNT_2002 = 65536, KERNEL_MAP_COUNT = 65530 };

struct kernel {
    const char *name;
    /* That it follows: major * 1,000,000 + minor * 1,000 + patch; 0 where it is none. */
    uint32_t linux_version;
    const struct vma_index_ops *index;
    const struct find_cache *find_cache;
    const struct rmap_scheme *rmap;
    const struct merge_policy *merging;
    const struct free_space *free_space;
    enum fork_entries fork_entries;
    enum sharing sharing;
    enum absent_entry absent_entry;
    uint32_t most_vmas;            /* of an address space (vm.max_map_count) */
    unsigned least_shared_entries; /* a table with fewer is copied at fork, not shared */
    /* A read fault on an object maps the pages that are there already in a block of so many: a
     * power of two, or 0 for none. */
    unsigned fault_around_pages;
    bool aligns_huge;    /* anonymous memory of whole huge pages is aligned to them */
    bool write_notify;   /* the first write to a clean page of a shared host file is a fault */
    bool restores_write; /* mprotect gives the right to write back where nobody shares the page */
    const char *seed;    /* the post that its figures come from, or "-" */
    const char *missing; /* what of its row is not there yet, or "" */
};

extern const struct kernel kernels[];
extern const size_t kernel_count;

/* The kernel of that name, or NULL. */
const struct kernel *kernel_find(const char *name);

/*
 * Can one machine run both, one after the other, with the same tasks? Then their structures are the
 * same and only decisions differ: this is how columns are compared on one and the same parent.
 */
bool kernels_are_compatible(const struct kernel *one, const struct kernel *other);

#endif
