/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of kernels.
 *
 * Sources of the rows:
 *
 *   2.4.9, 2.4.9-mmap-rb-4      "first benchmark results of mmap-rb-4" (August 2001); mm/mmap.c and
 *                               mm/mmap_avl.c of 2.4
 *   2.5.41 and -mm2             "Fork timing numbers for shared page tables" (October 2002); the
 *                               shared page table patches of 2.5.42-mm
 *   netbsd-1-6, -current        "mmap(2) performance netbsd-1-6 vs. -current" (October 2003);
 *                               NetBSD's sys/uvm/uvm_map.c
 *   2.6.28, 2.6.28-find_vma     "[PATCH 2.6.28 1/2] memory: improve find_vma" (January 2009);
 *                               mm/mmap.c of 2.6.28
 *   4.x                         mm/mmap.c and mm/vmacache.c of 4.20
 *   modern, modern-shared       mm/memory.c (vma_needs_copy, do_fault_around), mm/mprotect.c
 *                               (can_change_pte_writable) and mm/mmap.c of 6.12, and what was seen
 *                               on 6.18 (merging, free space, how many faults)
 *
 * In what user code can see, `modern` and `modern-shared` follow Linux 6.18.
 */
#include "pager/kernel.h"

#include <string.h>

/* MAX_MAP_COUNT of 2.5; today's default of vm.max_map_count. */
enum { MOST_VMAS_2002 = 65536, MOST_VMAS_MODERN = 65530 };

static const char missing_rmap[] = "no reverse map yet";

const struct kernel kernels[] = {
    {
        .name = "2.4.9",
        .linux_version = 2004009,
        .index = &vma_index_list_avl,
        .find_cache = &find_cache_last,
        .rmap = &rmap_none,
        .merging = &merge_anonymous_previous,
        .most_vmas = MOST_VMAS_2002,
        .free_space = &free_space_first_fit,
        .fork_entries = FORK_COPIES_ALL,
        .sharing = SHARING_NONE,
        .seed = "000",
        .missing = "",
    },
    {
        .name = "2.4.9-mmap-rb-4",
        .linux_version = 2004009,
        .index = &vma_index_list_rb,
        .find_cache = &find_cache_last,
        .rmap = &rmap_none,
        .merging = &merge_anonymous,
        .most_vmas = MOST_VMAS_2002,
        .free_space = &free_space_first_fit,
        .fork_entries = FORK_COPIES_ALL,
        .sharing = SHARING_NONE,
        .seed = "000",
        .missing = "",
    },
    {
        .name = "2.5.41",
        .linux_version = 2005041,
        .index = &vma_index_list_rb,
        .find_cache = &find_cache_last,
        .rmap = &rmap_chains,
        .merging = &merge_anonymous,
        .most_vmas = MOST_VMAS_2002,
        .free_space = &free_space_cached_up,
        .fork_entries = FORK_COPIES_ALL,
        .sharing = SHARING_NONE,
        .seed = "004",
        .missing = "",
    },
    {
        .name = "2.5.41-mm2",
        .linux_version = 2005041,
        .index = &vma_index_list_rb,
        .find_cache = &find_cache_last,
        .rmap = &rmap_chains,
        .merging = &merge_anonymous,
        .most_vmas = MOST_VMAS_2002,
        .free_space = &free_space_cached_up,
        .fork_entries = FORK_COPIES_ALL,
        .sharing = SHARING_OFF,
        .least_shared_entries = 1,
        .seed = "004",
        .missing = "",
    },
    {
        .name = "2.5.41-mm2-shared",
        .linux_version = 2005041,
        .index = &vma_index_list_rb,
        .find_cache = &find_cache_last,
        .rmap = &rmap_chains,
        .merging = &merge_anonymous,
        .most_vmas = MOST_VMAS_2002,
        .free_space = &free_space_cached_up,
        .fork_entries = FORK_COPIES_ALL,
        .sharing = SHARING_LEAF,
        .absent_entry = ABSENT_FILLED,
        .least_shared_entries = 1,
        .seed = "004",
        .missing = "",
    },
    {
        .name = "netbsd-1-6",
        .linux_version = 0,
        .index = &vma_index_hint_list,
        .find_cache = &find_cache_none,
        .rmap = &rmap_none,
        .merging = &merge_amap_previous,
        .most_vmas = MOST_VMAS_2002,
        .free_space = &free_space_first_fit,
        .fork_entries = FORK_COPIES_NOTHING,
        .sharing = SHARING_LEAF,
        .absent_entry = ABSENT_SPLIT,
        .least_shared_entries = 1,
        .seed = "002",
        .missing = missing_rmap,
    },
    {
        .name = "netbsd-current",
        .linux_version = 0,
        .index = &vma_index_hint_list,
        .find_cache = &find_cache_none,
        .rmap = &rmap_none,
        .merging = &merge_amap,
        .most_vmas = MOST_VMAS_2002,
        .free_space = &free_space_first_fit,
        .fork_entries = FORK_COPIES_NOTHING,
        .sharing = SHARING_LEAF,
        .absent_entry = ABSENT_SPLIT,
        .least_shared_entries = 1,
        .seed = "002",
        .missing = missing_rmap,
    },
    {
        .name = "2.6.28",
        .linux_version = 2006028,
        .index = &vma_index_list_rb,
        .find_cache = &find_cache_last,
        .rmap = &rmap_none,
        .merging = &merge_anon_vma,
        .most_vmas = MOST_VMAS_MODERN,
        .free_space = &free_space_cached_down,
        .fork_entries = FORK_REFAULTS,
        .sharing = SHARING_NONE,
        .write_notify = true,
        .seed = "003",
        .missing = missing_rmap,
    },
    {
        .name = "2.6.28-find_vma",
        .linux_version = 2006028,
        .index = &vma_index_double_rb,
        .find_cache = &find_cache_neighbours,
        .rmap = &rmap_none,
        .merging = &merge_anon_vma,
        .most_vmas = MOST_VMAS_MODERN,
        .free_space = &free_space_cached_down,
        .fork_entries = FORK_REFAULTS,
        .sharing = SHARING_NONE,
        .write_notify = true,
        .seed = "003",
        .missing = missing_rmap,
    },
    {
        .name = "4.x",
        .linux_version = 4020000,
        .index = &vma_index_gap_rb,
        .find_cache = &find_cache_slots,
        .rmap = &rmap_none,
        .merging = &merge_anon_vma_forked,
        .most_vmas = MOST_VMAS_MODERN,
        .free_space = &free_space_gaps,
        .fork_entries = FORK_REFAULTS,
        .sharing = SHARING_NONE,
        .fault_around_pages = 16,
        .write_notify = true,
        .seed = "-",
        .missing = missing_rmap,
    },
    {
        .name = "modern",
        .linux_version = 6018000,
        .index = &vma_index_maple,
        .find_cache = &find_cache_none,
        .rmap = &rmap_none,
        .merging = &merge_family,
        .most_vmas = MOST_VMAS_MODERN,
        .free_space = &free_space_gaps,
        .fork_entries = FORK_REFAULTS,
        .sharing = SHARING_NONE,
        .fault_around_pages = 16,
        .aligns_huge = true,
        .write_notify = true,
        .restores_write = true,
        .seed = "-",
        .missing = missing_rmap,
    },
    {
        .name = "modern-shared",
        .linux_version = 6018000,
        .index = &vma_index_maple,
        .find_cache = &find_cache_none,
        .rmap = &rmap_none,
        .merging = &merge_family,
        .most_vmas = MOST_VMAS_MODERN,
        .free_space = &free_space_gaps,
        .fork_entries = FORK_REFAULTS,
        .sharing = SHARING_LEAF,
        .absent_entry = ABSENT_SPLIT,
        .least_shared_entries = 16,
        .fault_around_pages = 16,
        .aligns_huge = true,
        .write_notify = true,
        .restores_write = true,
        .seed = "-",
        .missing = missing_rmap,
    },
};

const size_t kernel_count = sizeof(kernels) / sizeof(kernels[0]);

const struct kernel *kernel_find(const char *name)
{
    for (size_t i = 0; i < kernel_count; i++) {
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    }
    return NULL;
}

bool kernels_are_compatible(const struct kernel *one, const struct kernel *other)
{
    return one->index == other->index && one->find_cache == other->find_cache &&
           one->rmap == other->rmap && one->merging == other->merging &&
           one->free_space == other->free_space;
}
