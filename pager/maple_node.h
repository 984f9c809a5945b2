/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Nodes of the B-tree of ranges (vma_index_maple.c): what a node holds, and what can be done to one
 * without its tree.
 *
 * A leaf's slots are VMAs, an inner node's are nodes. A slot knows where its part of the space
 * begins and ends, and for an inner node the largest gap inside, so that neither a lookup nor a
 * search for free space touches what it does not need. Slots are in order; behind the last of them
 * `end` is UINT64_MAX, so that a search takes the same few steps in any node.
 */
#ifndef FORKLAB_PAGER_MAPLE_NODE_H
#define FORKLAB_PAGER_MAPLE_NODE_H

#include "pager/vma.h"

/* Both at a power of two, for maple_position(). */
enum { MAPLE_SLOTS = 16 };

struct maple_node {
    va_t start[MAPLE_SLOTS];
    va_t end[MAPLE_SLOTS];
    void *slot[MAPLE_SLOTS]; /* VMAs, or nodes one level below */
    struct maple_node *next; /* the leaf's neighbours; NULL at the ends */
    struct maple_node *previous;
    uint32_t count;
    uint32_t is_leaf;
    uint64_t gap[MAPLE_SLOTS]; /* the largest gap inside; leaves have none */
};

/* What a leaf is without its last field: all that has to be copied. */
#define MAPLE_LEAF_BYTES offsetof(struct maple_node, gap)

/* The first slot that ends above `va`; `count` if there is none. */
static inline unsigned maple_position(const struct maple_node *node, va_t va)
{
    unsigned position = node->end[7] <= va ? 8 : 0;

    position += node->end[position + 3] <= va ? 4 : 0;
    position += node->end[position + 1] <= va ? 2 : 0;
    position += node->end[position] <= va ? 1 : 0;
    position += node->end[position] <= va ? 1 : 0;
    return position < node->count ? position : node->count;
}

static inline struct maple_node *maple_child(const struct maple_node *node, unsigned slot)
{
    return node->slot[slot];
}

/* A node without slots in memory that may hold anything. */
void maple_node_init(struct maple_node *node, bool is_leaf);

/* Puts a VMA or a node into a new slot at that position; there is room. */
void maple_node_insert(struct maple_node *node, unsigned position, void *item);

/* Takes a slot out. */
void maple_node_erase(struct maple_node *node, unsigned position);

/* Moves the slots from `position` on to the head of another node of the same kind, with room. */
void maple_node_move_tail(struct maple_node *node, unsigned position, struct maple_node *to);

/* Brings what an inner node knows of a child up to date: false if it was. */
bool maple_node_refresh(struct maple_node *node, unsigned position);

/* The largest gap between the slots of the node or inside them. */
uint64_t maple_node_largest_gap(const struct maple_node *node);

/* Searches for free space below a root, which is NULL where nothing is mapped: as the operations of
 * an index (vma_index.h). */
va_t maple_gap_highest(const struct maple_node *root, const struct vma_gap *gap, uint64_t *steps);
va_t maple_gap_lowest(const struct maple_node *root, const struct vma_gap *gap, uint64_t *steps);

/* Do all nodes below the root agree with their children and VMAs, leaves with their neighbours, and
 * the whole with that many levels and VMAs? */
bool maple_nodes_are_sound(const struct maple_node *root, unsigned levels, uint32_t count);

#endif
