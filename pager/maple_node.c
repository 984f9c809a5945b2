/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes of the B-tree of ranges; maple_node.h has the terms. */
#include "pager/maple_node.h"

#include <string.h>

void maple_node_init(struct maple_node *node, bool is_leaf)
{
    memset(node->end, 0xff, sizeof(node->end));
    node->next = NULL;
    node->previous = NULL;
    node->count = 0;
    node->is_leaf = is_leaf;
}

/* Moves slots within a node or between two. */
static void move_slots(struct maple_node *to, unsigned at, const struct maple_node *from,
                       unsigned first, unsigned count)
{
    memmove(&to->start[at], &from->start[first], count * sizeof(va_t));
    memmove(&to->end[at], &from->end[first], count * sizeof(va_t));
    memmove(&to->slot[at], &from->slot[first], count * sizeof(void *));
    if (!from->is_leaf)
        memmove(&to->gap[at], &from->gap[first], count * sizeof(uint64_t));
}

void maple_node_insert(struct maple_node *node, unsigned position, void *item)
{
    move_slots(node, position + 1, node, position, node->count - position);
    node->count++;
    node->slot[position] = item;
    if (node->is_leaf) {
        const struct vma *vma = item;

        node->start[position] = vma->start;
        node->end[position] = vma->end;
        return;
    }
    maple_node_refresh(node, position);
}

void maple_node_erase(struct maple_node *node, unsigned position)
{
    move_slots(node, position, node, position + 1, node->count - position - 1);
    node->count--;
    node->end[node->count] = UINT64_MAX;
}

void maple_node_move_tail(struct maple_node *node, unsigned position, struct maple_node *to)
{
    unsigned count = node->count - position;

    move_slots(to, count, to, 0, to->count);
    move_slots(to, 0, node, position, count);
    to->count += count;
    node->count = position;
    memset(&node->end[position], 0xff, (MAPLE_SLOTS - position) * sizeof(va_t));
}

uint64_t maple_node_largest_gap(const struct maple_node *node)
{
    uint64_t largest = node->is_leaf ? 0 : node->gap[0];

    for (unsigned i = 1; i < node->count; i++) {
        largest = max_u64(largest, node->start[i] - node->end[i - 1]);
        if (!node->is_leaf)
            largest = max_u64(largest, node->gap[i]);
    }
    return largest;
}

bool maple_node_refresh(struct maple_node *node, unsigned position)
{
    const struct maple_node *child = maple_child(node, position);
    va_t start = child->start[0];
    va_t end = child->end[child->count - 1];
    uint64_t gap = maple_node_largest_gap(child);
    bool is_news =
        node->start[position] != start || node->end[position] != end || node->gap[position] != gap;

    node->start[position] = start;
    node->end[position] = end;
    node->gap[position] = gap;
    return is_news;
}
