/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A double list and a red-black tree whose nodes know the largest gap of their subtree: Linux 3.8
 * to 6.0 (rb_subtree_gap, vma_compute_subtree_gap() and unmapped_area_topdown() of mm/mmap.c).
 *
 * A gap belongs to the VMA that it lies in front of. A change of a VMA's end, or of who stands
 * before it, is one of the next VMA's gap too.
 */
#include "pager/vma_tree.h"

static uint64_t gap_of(const struct rb_node *node)
{
    return node != NULL ? vma_tree_links(vma_of_node(node))->gap : 0;
}

static va_t gap_start(const struct vma *vma)
{
    const struct vma *previous = vma_tree_links(vma)->previous;

    return previous != NULL ? previous->end : 0;
}

static uint64_t largest_gap(const struct rb_node *node)
{
    const struct vma *vma = vma_of_node(node);
    uint64_t own = vma->start - gap_start(vma);

    return max_u64(own, max_u64(gap_of(node->left), gap_of(node->right)));
}

static bool update_gap(struct rb_node *node)
{
    struct vma_tree_links *links = vma_tree_links(vma_of_node(node));
    uint64_t before = links->gap;

    links->gap = largest_gap(node);
    return links->gap != before;
}

static void gap_init(struct vma_index *index)
{
    vma_tree_of(index)->is_double = true;
    vma_tree_of(index)->tree.update = update_gap;
}

/* The gap in front of the VMA, if there is one, has changed. */
static void update_from(struct vma_index *index, const struct vma *vma)
{
    if (vma != NULL)
        rb_update_to_root(&vma_tree_of(index)->tree, &vma_tree_links(vma)->node);
}

static void gap_insert(struct vma_index *index, struct vma *vma)
{
    vma_tree_insert(index, vma);
    update_from(index, vma_tree_links(vma)->next);
}

static void gap_remove(struct vma_index *index, struct vma *vma)
{
    const struct vma *next = vma_tree_links(vma)->next;

    vma_tree_remove(index, vma);
    update_from(index, next);
}

static void gap_set_range(struct vma_index *index, struct vma *vma, va_t start, va_t end)
{
    vma->start = start;
    vma->end = end;
    update_from(index, vma);
    update_from(index, vma_tree_links(vma)->next);
}

/* --- searches --- */

static bool fits(va_t low, va_t high, uint64_t bytes)
{
    return high > low && high - low >= bytes;
}

/* The end of the highest gap in front of a VMA of the subtree, or 0. */
static va_t highest_below(struct vma_index *index, const struct rb_node *node,
                          const struct vma_gap *gap)
{
    if (node == NULL || gap_of(node) < gap->bytes)
        return 0;
    const struct vma *vma = vma_of_node(node);
    va_t top = min_u64(vma->start, gap->high);
    va_t found = vma->end < gap->high ? highest_below(index, node->right, gap) : 0;

    ++*index->steps;
    if (found != 0)
        return found;
    if (fits(max_u64(gap_start(vma), gap->low), top, gap->bytes))
        return top;
    return vma->start > gap->low ? highest_below(index, node->left, gap) : 0;
}

static va_t gap_highest(struct vma_index *index, const struct vma_gap *gap)
{
    const struct vma_tree *tree = vma_tree_of(index);
    va_t floor = tree->last != NULL ? tree->last->end : 0;

    if (fits(max_u64(floor, gap->low), gap->high, gap->bytes))
        return gap->high;
    return highest_below(index, tree->tree.root, gap);
}

/* The start of the lowest gap in front of a VMA of the subtree, or 0. */
static va_t lowest_below(struct vma_index *index, const struct rb_node *node,
                         const struct vma_gap *gap)
{
    if (node == NULL || gap_of(node) < gap->bytes)
        return 0;
    const struct vma *vma = vma_of_node(node);
    va_t bottom = max_u64(gap_start(vma), gap->low);
    va_t found = vma->start > gap->low ? lowest_below(index, node->left, gap) : 0;

    ++*index->steps;
    if (found != 0)
        return found;
    if (fits(bottom, min_u64(vma->start, gap->high), gap->bytes))
        return bottom;
    return vma->end < gap->high ? lowest_below(index, node->right, gap) : 0;
}

static va_t gap_lowest(struct vma_index *index, const struct vma_gap *gap)
{
    const struct vma_tree *tree = vma_tree_of(index);
    va_t floor = tree->last != NULL ? tree->last->end : 0;
    va_t found = lowest_below(index, tree->tree.root, gap);

    if (found == 0 && fits(max_u64(floor, gap->low), gap->high, gap->bytes))
        found = max_u64(floor, gap->low);
    return found;
}

static bool gap_is_sound(struct vma_index *index)
{
    for (const struct vma *vma = vma_tree_of(index)->first; vma != NULL;
         vma = vma_tree_links(vma)->next) {
        if (vma_tree_links(vma)->gap != largest_gap(&vma_tree_links(vma)->node))
            return false;
    }
    return vma_tree_is_sound(index);
}

const struct vma_index_ops vma_index_gap_rb = {
    .name = "double list+rb+gaps",
    .links_bytes = VMA_TREE_GAP_BYTES,
    .init = gap_init,
    .find = vma_tree_find,
    .last = vma_tree_last,
    .next = vma_tree_next,
    .previous = vma_tree_previous_by_list,
    .insert = gap_insert,
    .remove = gap_remove,
    .append = vma_tree_append,
    .set_range = gap_set_range,
    .highest_gap = gap_highest,
    .lowest_gap = gap_lowest,
    .is_sound = gap_is_sound,
};
