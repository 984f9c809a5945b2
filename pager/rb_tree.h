/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Red-black trees of nodes that lie in what they order.
 *
 * The caller descends by itself, since it knows the order; it hands over the place that it came to
 * (parent and link). An augmented tree keeps in each node something that follows from the node and
 * its two subtrees, such as the largest gap: `update` computes it for one node and tells whether it
 * is news to the node above. It is called where that may be, children before parents.
 *
 * Rules: a red node has no red child; every way down from a node passes equally many black ones.
 * After Guibas and Sedgewick; insertion and removal as Cormen, Leiserson, Rivest and Stein give
 * them, with NULL for leaves.
 */
#ifndef FORKLAB_PAGER_RB_TREE_H
#define FORKLAB_PAGER_RB_TREE_H

#include <stdbool.h>
#include <stddef.h>

struct rb_node {
    struct rb_node *parent;
    struct rb_node *left;
    struct rb_node *right;
    bool is_red;
};

struct rb_tree {
    struct rb_node *root;
    bool (*update)(struct rb_node *node); /* NULL: it is not augmented */
};

/* Hangs a node into the empty link below `parent` (NULL: the root) and balances. */
void rb_insert(struct rb_tree *tree, struct rb_node *node, struct rb_node *parent,
               struct rb_node **link);

/* Takes a node out and balances. */
void rb_remove(struct rb_tree *tree, struct rb_node *node);

/* What follows from a node may have changed: updates it, and above it as far as that is news. */
void rb_update_above(const struct rb_tree *tree, struct rb_node *node);

/* The same up to the root, whether it seems news or not: a rotation may have updated a node whose
 * own part had changed before the nodes above were told. */
void rb_update_to_root(const struct rb_tree *tree, struct rb_node *node);

/* Neighbours in order, or NULL; each step up or down is counted. */
struct rb_node *rb_next(const struct rb_node *node);
struct rb_node *rb_previous(const struct rb_node *node);

/* Do colours and parents obey the rules, below this node and with this parent? */
bool rb_is_sound(const struct rb_tree *tree);

#endif
