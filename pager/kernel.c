/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of kernels.
 *
 * Sources of the rows: 2.5.41 and -mm2 by the post of 10 October 2002 ("Fork timing numbers for
 * shared page tables") and the shared page table patches of 2.5.42-mm; `modern` by Linux 6.12's
 * mm/memory.c (vma_needs_copy, do_fault_around), mm/mprotect.c (can_change_pte_writable) and
 * mm/mmap.c, and by what was seen on 6.18 (merging, free space, how many faults).
 * In what user code can see, `modern` and `modern-shared` follow Linux 6.18.
 */
#include "pager/kernel.h"

#include <string.h>

/* MAX_MAP_COUNT of 2.5; today's default of vm.max_map_count. */
enum { MOST_VMAS_2002 = 65536, MOST_VMAS_MODERN = 65530 };

static const char simple_index[] = "VMA index: a sorted array in place of list + red-black tree";
static const char simple_avl[] = "VMA index: a sorted array in place of list + AVL tree";
static const char simple_netbsd[] = "no reverse map yet; VMA index: a sorted array, not a list";
static const char simple_2628[] = "no reverse map yet; VMA index: a sorted array, not list + tree";
static const char simple_4x[] = "no reverse map yet; VMA index: a sorted array, not list + tree";
static const char simple_modern[] = "no reverse map yet; VMA index: a sorted array, not a B-tree";

const struct kernel kernels[] = {
    {
        .name = "2.4.9",
        .linux_version = 2004009,
        .index = &vma_index_array,
        .find_cache = &find_cache_last,
        .rmap = &rmap_none,
        .merging = &merge_anonymous_previous,
        .most_vmas = MOST_VMAS_2002,
        .free_space = &free_space_first_fit,
        .fork_entries = FORK_COPIES_ALL,
        .sharing = SHARING_NONE,
        .seed = "000",
        .missing = simple_avl,
    },
    {
        .name = "2.4.9-mmap-rb-4",
        .linux_version = 2004009,
        .index = &vma_index_array,
        .find_cache = &find_cache_last,
        .rmap = &rmap_none,
        .merging = &merge_anonymous,
        .most_vmas = MOST_VMAS_2002,
        .free_space = &free_space_first_fit,
        .fork_entries = FORK_COPIES_ALL,
        .sharing = SHARING_NONE,
        .seed = "000",
        .missing = simple_index,
    },
    {
        .name = "2.5.41",
        .linux_version = 2005041,
        .index = &vma_index_array,
        .find_cache = &find_cache_last,
        .rmap = &rmap_chains,
        .merging = &merge_anonymous,
        .most_vmas = MOST_VMAS_2002,
        .free_space = &free_space_cached_up,
        .fork_entries = FORK_COPIES_ALL,
        .sharing = SHARING_NONE,
        .seed = "004",
        .missing = simple_index,
    },
    {
        .name = "2.5.41-mm2",
        .linux_version = 2005041,
        .index = &vma_index_array,
        .find_cache = &find_cache_last,
        .rmap = &rmap_chains,
        .merging = &merge_anonymous,
        .most_vmas = MOST_VMAS_2002,
        .free_space = &free_space_cached_up,
        .fork_entries = FORK_COPIES_ALL,
        .sharing = SHARING_OFF,
        .least_shared_entries = 1,
        .seed = "004",
        .missing = simple_index,
    },
    {
        .name = "2.5.41-mm2-shared",
        .linux_version = 2005041,
        .index = &vma_index_array,
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
        .missing = simple_index,
    },
    {
        .name = "netbsd-1-6",
        .linux_version = 0,
        .index = &vma_index_array,
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
        .missing = simple_netbsd,
    },
    {
        .name = "netbsd-current",
        .linux_version = 0,
        .index = &vma_index_array,
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
        .missing = simple_netbsd,
    },
    {
        .name = "2.6.28",
        .linux_version = 2006028,
        .index = &vma_index_array,
        .find_cache = &find_cache_last,
        .rmap = &rmap_none,
        .merging = &merge_anon_vma,
        .most_vmas = MOST_VMAS_MODERN,
        .free_space = &free_space_cached_down,
        .fork_entries = FORK_REFAULTS,
        .sharing = SHARING_NONE,
        .write_notify = true,
        .seed = "003",
        .missing = simple_2628,
    },
    {
        .name = "2.6.28-find_vma",
        .linux_version = 2006028,
        .index = &vma_index_array,
        .find_cache = &find_cache_neighbours,
        .rmap = &rmap_none,
        .merging = &merge_anon_vma,
        .most_vmas = MOST_VMAS_MODERN,
        .free_space = &free_space_cached_down,
        .fork_entries = FORK_REFAULTS,
        .sharing = SHARING_NONE,
        .write_notify = true,
        .seed = "003",
        .missing = simple_2628,
    },
    {
        .name = "4.x",
        .linux_version = 4020000,
        .index = &vma_index_array,
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
        .missing = simple_4x,
    },
    {
        .name = "modern",
        .linux_version = 6018000,
        .index = &vma_index_array,
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
        .missing = simple_modern,
    },
    {
        .name = "modern-shared",
        .linux_version = 6018000,
        .index = &vma_index_array,
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
        .missing = simple_modern,
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
