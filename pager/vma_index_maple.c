/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A B-tree of ranges with gaps: the maple tree's kind (Linux since 6.1, lib/maple_tree.c).
 *
 *   lookup       a few steps in each node, and no VMA is touched
 *   free space   each inner slot knows the largest gap inside, so a search goes straight down
 *   fork         node by node: a node is copied as a whole, then its VMAs are put in their places
 *
 * Leaves are linked, so that a neighbour is the next slot or the first of the next leaf. Where the
 * last VMA that was asked for stands is remembered (the cursor), until a change.
 *
 * Neighbours below one parent always hold more than MOST_JOINED slots together: where a removal
 * leaves fewer, they become one. So n VMAs need no more than about n / 6 leaves.
 *
 * The maple tree proper has 16 slots a leaf and 10 an inner node, packs its pivots otherwise, and
 * may be read without a lock; none of that shows here.
 */
#include <assert.h>
#include <string.h>

#include "pager/maple_node.h"
#include "pager/vma.h"

/* Deeper than 2^32 VMAs can make it. */
enum { MOST_LEVELS = 14, MOST_JOINED = 12, HALF = MAPLE_SLOTS / 2 };

struct maple {
    struct maple_node *root; /* NULL: empty */
    uint32_t levels;
    uint32_t node_count;
    struct maple_node *cursor; /* the leaf of the VMA asked for last, or NULL */
    uint32_t cursor_slot;
};

_Static_assert(sizeof(struct maple) <= VMA_INDEX_STATE_BYTES, "the state fits");

/* From the root (the last level) to a leaf (level 0): the nodes, and the slot taken in each. */
struct path {
    unsigned levels;
    struct maple_node *node[MOST_LEVELS];
    unsigned slot[MOST_LEVELS];
};

static struct maple *maple_of(struct vma_index *index)
{
    return (struct maple *)(void *)index->state;
}

/* --- lookup --- */

static struct vma *at_cursor(struct maple *maple, struct maple_node *leaf, unsigned slot)
{
    maple->cursor = leaf;
    maple->cursor_slot = slot;
    return leaf->slot[slot];
}

/* Does the VMA asked for last end first above `va`? Its leaf tells, but at its first slot. */
static bool cursor_answers(const struct maple *maple, va_t va)
{
    const struct maple_node *leaf = maple->cursor;
    unsigned slot = maple->cursor_slot;

    return leaf != NULL && va < leaf->end[slot] &&
           va >= (slot > 0 ? leaf->end[slot - 1] : leaf->start[slot]);
}

static struct vma *maple_find(struct vma_index *index, va_t va)
{
    struct maple *maple = maple_of(index);
    struct maple_node *node = maple->root;

    if (cursor_answers(maple, va)) {
        ++*index->steps;
        return maple->cursor->slot[maple->cursor_slot];
    }
    for (; node != NULL; ++*index->steps) {
        unsigned slot = maple_position(node, va);

        if (slot == node->count)
            return NULL; /* only the root can have none */
        if (node->is_leaf)
            return at_cursor(maple, node, slot);
        node = maple_child(node, slot);
    }
    return NULL;
}

static struct vma *maple_last(struct vma_index *index)
{
    struct maple *maple = maple_of(index);
    struct maple_node *node = maple->root;

    if (node == NULL)
        return NULL;
    while (!node->is_leaf) {
        ++*index->steps;
        node = maple_child(node, node->count - 1);
    }
    return at_cursor(maple, node, node->count - 1);
}

/* Puts the cursor on a VMA of the index. */
static void find_place(struct vma_index *index, const struct vma *vma)
{
    struct maple *maple = maple_of(index);

    if (maple->cursor != NULL && maple->cursor->slot[maple->cursor_slot] == vma)
        return;
    const struct vma *found = maple_find(index, vma->start);

    assert(found == vma);
    (void)found;
}

static struct vma *maple_next(struct vma_index *index, const struct vma *vma)
{
    struct maple *maple = maple_of(index);

    find_place(index, vma);
    if (maple->cursor_slot + 1 < maple->cursor->count)
        return at_cursor(maple, maple->cursor, maple->cursor_slot + 1);
    struct maple_node *next = maple->cursor->next;

    return next != NULL ? at_cursor(maple, next, 0) : NULL;
}

static struct vma *maple_previous(struct vma_index *index, const struct vma *vma)
{
    struct maple *maple = maple_of(index);

    find_place(index, vma);
    if (maple->cursor_slot > 0)
        return at_cursor(maple, maple->cursor, maple->cursor_slot - 1);
    struct maple_node *previous = maple->cursor->previous;

    return previous != NULL ? at_cursor(maple, previous, previous->count - 1) : NULL;
}

/* --- changes --- */

/* The way to the leaf where a VMA at `va` is or belongs; a leaf slot behind the last is possible.
 * What changes next, the cursor does not survive. */
static void descend(struct vma_index *index, va_t va, struct path *path)
{
    struct maple *maple = maple_of(index);
    struct maple_node *node = maple->root;

    maple->cursor = NULL;
    path->levels = maple->levels;
    path->node[0] = node;
    path->slot[0] = 0;
    for (unsigned level = maple->levels; level-- > 0;) {
        unsigned slot = maple_position(node, va);

        ++*index->steps;
        if (level > 0 && slot == node->count)
            slot--;
        path->node[level] = node;
        path->slot[level] = slot;
        if (level > 0)
            node = maple_child(node, slot);
    }
}

/* Tells the nodes above a level what has changed, as far as it is news to them. */
static void refresh_above(const struct path *path, unsigned level)
{
    while (++level < path->levels) {
        if (!maple_node_refresh(path->node[level], path->slot[level]))
            return;
    }
}

static struct maple_node *take_node(struct vma_index *index)
{
    maple_of(index)->node_count++;
    return pool_take_uncleared(index->nodes);
}

static void give_node(struct vma_index *index, struct maple_node *node)
{
    maple_of(index)->node_count--;
    pool_give(index->nodes, node);
}

static struct maple_node *new_node(struct vma_index *index, bool is_leaf)
{
    struct maple_node *node = take_node(index);

    maple_node_init(node, is_leaf);
    return node;
}

static void link_leaf_after(struct maple_node *leaf, struct maple_node *previous)
{
    leaf->previous = previous;
    leaf->next = previous->next;
    if (leaf->next != NULL)
        leaf->next->previous = leaf;
    previous->next = leaf;
}

static void unlink_leaf(const struct maple_node *leaf)
{
    if (leaf->previous != NULL)
        leaf->previous->next = leaf->next;
    if (leaf->next != NULL)
        leaf->next->previous = leaf->previous;
}

/* A root above the old one, which was split. */
static void grow_root(struct vma_index *index, struct maple_node *right)
{
    struct maple *maple = maple_of(index);
    struct maple_node *root = new_node(index, false);

    maple_node_insert(root, 0, maple->root);
    maple_node_insert(root, 1, right);
    maple->root = root;
    maple->levels++;
    assert(maple->levels <= MOST_LEVELS);
}

/*
 * Puts the item into the node at a level; a full node is split, and what leaves it returned. A node
 * that is only ever appended to stays full, so that fork and a row of mappings pack the tree.
 */
static struct maple_node *insert_at(struct vma_index *index, struct maple_node *node, unsigned slot,
                                    void *item)
{
    if (node->count < MAPLE_SLOTS) {
        maple_node_insert(node, slot, item);
        return NULL;
    }
    struct maple_node *right = new_node(index, node->is_leaf);

    if (node->is_leaf)
        link_leaf_after(right, node);
    if (slot < MAPLE_SLOTS)
        maple_node_move_tail(node, HALF, right);
    if (slot <= node->count && slot < MAPLE_SLOTS)
        maple_node_insert(node, slot, item);
    else
        maple_node_insert(right, slot - node->count, item);
    return right;
}

static void maple_insert(struct vma_index *index, struct vma *vma)
{
    struct maple *maple = maple_of(index);
    struct path path;

    if (maple->root == NULL) {
        maple->root = new_node(index, true);
        maple->levels = 1;
    }
    descend(index, vma->start, &path);
    index->count++;
    void *item = vma;

    for (unsigned level = 0; level < maple->levels; level++) {
        item = insert_at(index, path.node[level], path.slot[level] + (level > 0), item);
        if (item == NULL) {
            refresh_above(&path, level);
            return;
        }
        if (level + 1 < maple->levels)
            maple_node_refresh(path.node[level + 1], path.slot[level + 1]);
    }
    grow_root(index, item);
}

/* Two neighbours below one parent become one, if there is room to spare. */
static bool join_slots(struct vma_index *index, struct maple_node *parent, unsigned left)
{
    if (left + 1 >= parent->count)
        return false;
    struct maple_node *to = maple_child(parent, left);
    struct maple_node *from = maple_child(parent, left + 1);

    if (to->count + from->count > MOST_JOINED)
        return false;
    maple_node_move_tail(to, 0, from); /* the left ones stand before the right ones */
    if (to->is_leaf)
        unlink_leaf(to);
    give_node(index, to);
    maple_node_erase(parent, left);
    maple_node_refresh(parent, left);
    return true;
}

/* A node that has lost a slot: it goes when it is empty, or joins a neighbour. */
static void settle(struct vma_index *index, struct maple_node *parent, unsigned slot)
{
    struct maple_node *node = maple_child(parent, slot);

    if (node->count == 0) {
        if (node->is_leaf)
            unlink_leaf(node);
        give_node(index, node);
        maple_node_erase(parent, slot);
        return;
    }
    maple_node_refresh(parent, slot);
    if (!join_slots(index, parent, slot) && slot > 0)
        join_slots(index, parent, slot - 1);
}

/* A root with one child is none, and one without any neither. */
static void shrink_root(struct vma_index *index)
{
    struct maple *maple = maple_of(index);

    while (maple->root != NULL && maple->root->count < 2 - maple->root->is_leaf) {
        struct maple_node *root = maple->root;

        maple->root = root->count > 0 ? maple_child(root, 0) : NULL;
        maple->levels = maple->root != NULL ? maple->levels - 1 : 0;
        give_node(index, root);
    }
}

static void maple_remove(struct vma_index *index, struct vma *vma)
{
    struct maple *maple = maple_of(index);
    struct path path;

    descend(index, vma->start, &path);
    assert(path.node[0]->slot[path.slot[0]] == vma);
    maple_node_erase(path.node[0], path.slot[0]);
    index->count--;
    for (unsigned level = 1; level < maple->levels; level++)
        settle(index, path.node[level], path.slot[level]);
    shrink_root(index);
}

static void maple_set_range(struct vma_index *index, struct vma *vma, va_t start, va_t end)
{
    struct path path;

    descend(index, vma->start, &path);
    assert(path.node[0]->slot[path.slot[0]] == vma);
    path.node[0]->start[path.slot[0]] = start;
    path.node[0]->end[path.slot[0]] = end;
    vma->start = start;
    vma->end = end;
    refresh_above(&path, 0);
    (void)at_cursor(maple_of(index), path.node[0], path.slot[0]);
}

/* --- as a whole --- */

/* What so many insertions can need. An empty index fills its leaves as it grows. */
static int maple_reserve(struct vma_index *index, uint32_t more)
{
    const struct maple *maple = maple_of(index);
    size_t nodes =
        index->count == 0 ? (size_t)more / 5 + MOST_LEVELS : (size_t)more * (maple->levels + 1);

    return pool_reserve(index->nodes, nodes);
}

/* A copy takes as many nodes as there are. */
static int maple_reserve_copy(struct vma_index *index, const struct vma_index *from)
{
    const struct maple *maple = (const struct maple *)(const void *)from->state;

    return pool_reserve(index->nodes, maple->node_count);
}

static void give_below(struct vma_index *index, struct maple_node *node)
{
    for (unsigned i = 0; !node->is_leaf && i < node->count; i++)
        give_below(index, maple_child(node, i));
    give_node(index, node);
}

static void maple_destroy(struct vma_index *index)
{
    if (maple_of(index)->root != NULL)
        give_below(index, maple_of(index)->root);
}

/* One duplication: what makes the VMAs, and the last leaf so far. */
struct duplication {
    struct vma_index *index;
    vma_copier *copy;
    void *context;
    struct maple_node *last_leaf;
    bool left_out; /* some VMA was not copied: what is known of its node is no longer right */
};

static struct maple_node *copy_leaf(struct duplication *duplication, const struct maple_node *leaf)
{
    struct maple_node *made = take_node(duplication->index);
    unsigned slot = 0;

    memcpy(made, leaf, MAPLE_LEAF_BYTES);
    for (unsigned i = 0; i < leaf->count; i++) {
        struct vma *vma = duplication->copy(duplication->context, leaf->slot[i]);

        if (vma != NULL)
            made->slot[slot++] = vma;
        else
            maple_node_erase(made, slot);
    }
    duplication->left_out |= made->count < leaf->count;
    duplication->index->count += made->count;
    made->next = NULL;
    made->previous = duplication->last_leaf;
    if (made->count == 0) {
        give_node(duplication->index, made);
        return NULL;
    }
    if (made->previous != NULL)
        made->previous->next = made;
    duplication->last_leaf = made;
    return made;
}

static struct maple_node *copy_node(struct duplication *duplication, const struct maple_node *node)
{
    if (node->is_leaf)
        return copy_leaf(duplication, node);
    struct maple_node *made = take_node(duplication->index);
    unsigned slot = 0;

    memcpy(made, node, sizeof(*made));
    for (unsigned i = 0; i < node->count; i++) {
        struct maple_node *child = copy_node(duplication, maple_child(node, i));

        if (child == NULL) {
            maple_node_erase(made, slot);
            continue;
        }
        made->slot[slot] = child;
        if (duplication->left_out)
            maple_node_refresh(made, slot);
        slot++;
    }
    if (made->count > 0)
        return made;
    give_node(duplication->index, made);
    return NULL;
}

static void maple_duplicate(struct vma_index *index, struct vma_index *from, vma_copier *copy,
                            void *context)
{
    struct duplication duplication = {.index = index, .copy = copy, .context = context};
    struct maple *maple = maple_of(index);

    if (maple_of(from)->root == NULL)
        return;
    maple->root = copy_node(&duplication, maple_of(from)->root);
    maple->levels = maple->root != NULL ? maple_of(from)->levels : 0;
    shrink_root(index);
}

/* --- gaps and soundness --- */

static va_t maple_highest_gap(struct vma_index *index, const struct vma_gap *gap)
{
    return maple_gap_highest(maple_of(index)->root, gap, index->steps);
}

static va_t maple_lowest_gap(struct vma_index *index, const struct vma_gap *gap)
{
    return maple_gap_lowest(maple_of(index)->root, gap, index->steps);
}

static bool maple_is_sound(struct vma_index *index)
{
    const struct maple *maple = maple_of(index);

    return maple_nodes_are_sound(maple->root, maple->levels, index->count);
}

const struct vma_index_ops vma_index_maple = {
    .name = "B-tree",
    .node_bytes = sizeof(struct maple_node),
    .destroy = maple_destroy,
    .reserve = maple_reserve,
    .reserve_copy = maple_reserve_copy,
    .find = maple_find,
    .last = maple_last,
    .next = maple_next,
    .previous = maple_previous,
    .insert = maple_insert,
    .remove = maple_remove,
    .append = maple_insert,
    .set_range = maple_set_range,
    .duplicate = maple_duplicate,
    .highest_gap = maple_highest_gap,
    .lowest_gap = maple_lowest_gap,
    .is_sound = maple_is_sound,
};
