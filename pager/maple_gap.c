/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Free space in the B-tree of ranges: a search goes into a node only if a gap inside is large
 * enough. At the two ends of the range asked for that may turn out to be wrong, so at most two ways
 * down are in vain.
 */
#include "pager/maple_node.h"

static bool fits(va_t low, va_t high, uint64_t bytes)
{
    return high > low && high - low >= bytes;
}

/* May the request fit inside that slot? At the ends of the range it may turn out not to. */
static bool may_fit_inside(const struct maple_node *node, unsigned slot, const struct vma_gap *gap)
{
    return !node->is_leaf && node->gap[slot] >= gap->bytes && node->start[slot] < gap->high &&
           node->end[slot] > gap->low;
}

/* The end of the highest gap between the slots of a node, or inside them. */
static va_t highest_inside(const struct maple_node *node, const struct vma_gap *gap,
                           uint64_t *steps)
{
    ++*steps;
    for (unsigned i = node->count; i-- > 0;) {
        va_t found =
            may_fit_inside(node, i, gap) ? highest_inside(maple_child(node, i), gap, steps) : 0;

        if (found != 0)
            return found;
        va_t top = min_u64(node->start[i], gap->high);

        if (i > 0 && fits(max_u64(node->end[i - 1], gap->low), top, gap->bytes))
            return top;
    }
    return 0;
}

va_t maple_gap_highest(const struct maple_node *root, const struct vma_gap *gap, uint64_t *steps)
{
    if (root == NULL)
        return fits(gap->low, gap->high, gap->bytes) ? gap->high : 0;
    if (fits(max_u64(root->end[root->count - 1], gap->low), gap->high, gap->bytes))
        return gap->high;
    va_t found = highest_inside(root, gap, steps);
    va_t top = min_u64(root->start[0], gap->high);

    if (found == 0 && fits(gap->low, top, gap->bytes))
        found = top;
    return found;
}

/* The start of the lowest gap between the slots of a node, or inside them. */
static va_t lowest_inside(const struct maple_node *node, const struct vma_gap *gap, uint64_t *steps)
{
    ++*steps;
    for (unsigned i = 0; i < node->count; i++) {
        va_t found =
            may_fit_inside(node, i, gap) ? lowest_inside(maple_child(node, i), gap, steps) : 0;

        if (found != 0)
            return found;
        va_t bottom = max_u64(node->end[i], gap->low);

        if (i + 1 < node->count && fits(bottom, min_u64(node->start[i + 1], gap->high), gap->bytes))
            return bottom;
    }
    return 0;
}

va_t maple_gap_lowest(const struct maple_node *root, const struct vma_gap *gap, uint64_t *steps)
{
    if (root == NULL)
        return fits(gap->low, gap->high, gap->bytes) ? gap->low : 0;
    if (fits(gap->low, min_u64(root->start[0], gap->high), gap->bytes))
        return gap->low;
    va_t found = lowest_inside(root, gap, steps);
    va_t bottom = max_u64(root->end[root->count - 1], gap->low);

    if (found == 0 && fits(bottom, gap->high, gap->bytes))
        found = bottom;
    return found;
}
