/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of page tables: the paging structure of one address space.
 *
 * The root exists from the start; everything below it comes when it is needed. Upper tables belong
 * to one tree; leaf tables may hang in several at once, always at the same address (share.h).
 */
#ifndef FORKLAB_PT_TREE_H
#define FORKLAB_PT_TREE_H

#include "pt/table.h"

struct pt_tree {
    struct ram *ram;
    const struct geometry *geometry;
    struct table *root;
    void *owner;           /* the address space, for whoever comes up from a table */
    uint32_t leaf_tables;  /* in this tree, shared ones too */
    uint32_t upper_tables; /* the root included */
};

/* An empty tree. Needs one upper table, which was reserved. */
void tree_init(struct pt_tree *tree, struct ram *ram, void *owner);

/* Upper tables, beside the root, that one more leaf table may need. */
static inline uint32_t tree_upper_need(const struct geometry *geometry)
{
    return geometry->levels - 2;
}

/* Hangs a table into the empty slot of an upper table of this tree: one store. */
void tree_hook(struct pt_tree *tree, const struct table *parent, unsigned slot, struct table *child,
               bool writable);

/*
 * Hangs the leaf tables in used slots of [first, end) of `from`, a table of another tree, into the
 * same slots of `to` as well, up to the first table that has fewer than `least_used` entries or may
 * hold a pinned frame: returns its slot, or `end`. In both parents the entries become read-only
 * unless `writable`.
 */
unsigned tree_hook_shared(struct pt_tree *tree, const struct table *from, const struct table *to,
                          unsigned first, unsigned end, unsigned least_used, bool writable);

/* Empties the slot above a table. Whose the table then is, the caller knows. */
void tree_unhook(struct pt_tree *tree, const struct table *parent, unsigned slot);

/* Points a slot at another leaf table, in one store: the attachment moves with it. */
void tree_switch(struct pt_tree *tree, const struct table *parent, unsigned slot,
                 struct table *child);

/* Lets writes through the entry above a leaf table, or not. */
void tree_set_writable(struct pt_tree *tree, const struct table *parent, unsigned slot,
                       bool writable);

/* Is the entry above, in this parent, writable? */
static inline bool parent_is_writable(const struct ram *ram, const struct table *parent,
                                      unsigned slot)
{
    return entry_is_writable(table_entry(ram, parent, slot));
}

/* The tree that a parent of a leaf table belongs to. */
struct pt_tree *tree_of_parent(const struct ram *ram, pfn_t parent);

/* Calls `visit` for each tree that the leaf table hangs in, the oldest attachment first. */
void table_for_each_tree(const struct ram *ram, const struct table *table,
                         void (*visit)(void *context, struct pt_tree *tree), void *context);

#endif
