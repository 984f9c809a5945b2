/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Is a B-tree of ranges what it says it is? Every node is looked at. */
#include "pager/maple_node.h"

/* A check on the way through: the last leaf met, VMAs so far, and where the last of them ended. */
struct census {
    const struct maple_node *last_leaf;
    uint32_t count;
    va_t floor;
};

static bool leaf_is_sound(struct census *census, const struct maple_node *leaf)
{
    for (unsigned i = 0; i < leaf->count; i++) {
        const struct vma *vma = leaf->slot[i];

        if (leaf->start[i] != vma->start || leaf->end[i] != vma->end || vma->start < census->floor)
            return false;
        census->floor = vma->end;
    }
    const struct maple_node *last = census->last_leaf;

    census->last_leaf = leaf;
    census->count += leaf->count;
    return leaf->previous == last && (last == NULL || last->next == leaf);
}

static bool node_is_sound(struct census *census, const struct maple_node *node, unsigned level)
{
    if (node->count == 0 || node->count > MAPLE_SLOTS || node->is_leaf != (level == 0))
        return false;
    for (unsigned i = node->count; i < MAPLE_SLOTS; i++) {
        if (node->end[i] != UINT64_MAX)
            return false;
    }
    if (node->is_leaf)
        return leaf_is_sound(census, node);
    for (unsigned i = 0; i < node->count; i++) {
        const struct maple_node *child = maple_child(node, i);

        if (!node_is_sound(census, child, level - 1) || node->start[i] != child->start[0] ||
            node->end[i] != child->end[child->count - 1] ||
            node->gap[i] != maple_node_largest_gap(child))
            return false;
    }
    return true;
}

bool maple_nodes_are_sound(const struct maple_node *root, unsigned levels, uint32_t count)
{
    struct census census = {0};

    if (root == NULL)
        return levels == 0 && count == 0;
    return node_is_sound(&census, root, levels - 1) && census.last_leaf->next == NULL &&
           census.count == count;
}
