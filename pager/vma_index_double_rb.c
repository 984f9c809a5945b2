/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A double list and a red-black tree: what "[PATCH 2.6.28 1/2] memory: improve find_vma" of January
 * 2009 makes of the list. The mapping before another one is a step away, which find_vma's cache
 * then asks (find_cache_neighbours.c); each VMA is a pointer larger. Linux has it since 2.6.37.
 */
#include "pager/vma_tree.h"

static void double_init(struct vma_index *index)
{
    vma_tree_of(index)->is_double = true;
}

const struct vma_index_ops vma_index_double_rb = {
    .name = "double list+rb",
    .links_bytes = VMA_TREE_DOUBLE_BYTES,
    .init = double_init,
    .find = vma_tree_find,
    .last = vma_tree_last,
    .next = vma_tree_next,
    .previous = vma_tree_previous_by_list,
    .insert = vma_tree_insert,
    .remove = vma_tree_remove,
    .append = vma_tree_append,
    .is_sound = vma_tree_is_sound,
};
