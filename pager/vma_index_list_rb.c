/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A list and a red-black tree: Linux with Andrea Arcangeli's mmap-rb-4 of August 2001, that is from
 * 2.4.10 on, and all of 2.5 and 2.6 (mm/mmap.c: find_vma(), find_vma_prepare(), __vma_link()).
 *
 * The list is single: who wants the mapping before another one descends. Fork hangs each copy to
 * the right of the last one, without a lookup (__vma_link_rb() in dup_mmap()).
 */
#include "pager/vma_tree.h"

const struct vma_index_ops vma_index_list_rb = {
    .name = "list+rb",
    .links_bytes = VMA_TREE_SINGLE_BYTES,
    .find = vma_tree_find,
    .last = vma_tree_last,
    .next = vma_tree_next,
    .previous = vma_tree_previous_by_descent,
    .insert = vma_tree_insert,
    .remove = vma_tree_remove,
    .append = vma_tree_append,
    .is_sound = vma_tree_is_sound,
};
