/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library's kernels, and one more: 2.5.41 as it is, but for the index. */
#include "pager/kernel.h"

extern const struct vma_index_ops vma_index_array;

const struct kernel kernels[] = {
#include "pager/kernels.def"
    {
        .name = "2.5.41-array",
        .linux_version = 2005041,
        .index = &vma_index_array,
        .find_cache = &find_cache_last,
        .rmap = &rmap_chains,
        .merging = &merge_anonymous,
        .most_vmas = KERNEL_MAP_COUNT_2002,
        .free_space = &free_space_cached_up,
        .fork_entries = FORK_COPIES_ALL,
        .sharing = SHARING_NONE,
        .seed = "-",
        .missing = "",
    },
};

const size_t kernel_count = sizeof(kernels) / sizeof(kernels[0]);
