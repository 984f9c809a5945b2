/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the red-black VMA indexes have in common: a list of the VMAs in order and a tree of them.
 *
 *   list+rb            each VMA knows the next one (vma_index_list_rb.c)
 *   double list+rb     and the one before (vma_index_double_rb.c)
 *   double list+rb+gaps   and each node the largest gap of its subtree (vma_index_gap_rb.c)
 *
 * Each index keeps as much of the links as it knows, and no more memory for them.
 */
#ifndef FORKLAB_PAGER_VMA_TREE_H
#define FORKLAB_PAGER_VMA_TREE_H

#include "pager/rb_tree.h"
#include "pager/vma.h"

struct vma_tree_links {
    struct rb_node node; /* first */
    struct vma *next;
    struct vma *previous; /* double lists */
    uint64_t gap;         /* the largest of the subtree, each in front of its VMA */
};

enum {
    VMA_TREE_SINGLE_BYTES = offsetof(struct vma_tree_links, previous),
    VMA_TREE_DOUBLE_BYTES = offsetof(struct vma_tree_links, gap),
    VMA_TREE_GAP_BYTES = sizeof(struct vma_tree_links)
};

/* The state of such an index. */
struct vma_tree {
    struct rb_tree tree;
    struct vma *first;
    struct vma *last;
    bool is_double;
};

_Static_assert(sizeof(struct vma_tree) <= VMA_INDEX_STATE_BYTES, "the state fits");

static inline struct vma_tree *vma_tree_of(struct vma_index *index)
{
    return (struct vma_tree *)(void *)index->state;
}

static inline struct vma_tree_links *vma_tree_links(const struct vma *vma)
{
    return vma_links(vma);
}

static inline struct vma *vma_of_node(const struct rb_node *node)
{
    return node != NULL ? (struct vma *)(uintptr_t)node - 1 : NULL;
}

/* Operations of an index (vma_index.h), for those that know nothing further. */
struct vma *vma_tree_find(struct vma_index *index, va_t va);
struct vma *vma_tree_last(struct vma_index *index);
struct vma *vma_tree_next(struct vma_index *index, const struct vma *vma);
struct vma *vma_tree_previous_by_list(struct vma_index *index, const struct vma *vma);
struct vma *vma_tree_previous_by_descent(struct vma_index *index, const struct vma *vma);
void vma_tree_insert(struct vma_index *index, struct vma *vma);
void vma_tree_remove(struct vma_index *index, struct vma *vma);
void vma_tree_append(struct vma_index *index, struct vma *vma);
bool vma_tree_is_sound(struct vma_index *index);

#endif
