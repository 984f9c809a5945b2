/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a load or store of the model finds at a page. */
#include <errno.h>

#include "scenario/model_space.h"

/* Linux lets nothing grow below this. */
#define LEAST_GROWN_ADDRESS PAGE_BYTES

/*
 * Where the mapping ends that the range is the lowest part of: as far as one VMA may stand for it.
 */
static va_t mapping_end(const struct model_space *space, size_t position)
{
    while (position + 1 < space->count &&
           ranges_may_be_one(&space->ranges[position], &space->ranges[position + 1]))
        position++;
    return space->ranges[position].end;
}

/*
 * May the range grow down to the page? Below it a gap stays free, but for a neighbour that grows
 * itself or that nobody can reach.
 */
static bool may_grow_to(const struct model_space *space, size_t position, va_t page)
{
    const struct model_range *range = &space->ranges[position];
    const struct model_range *below = position > 0 ? range - 1 : NULL;
    const struct model_layout *layout = space->layout;

    if (!(range->flags & RANGE_GROWS_DOWN) || page < LEAST_GROWN_ADDRESS)
        return false;
    if (below != NULL && !(below->flags & RANGE_GROWS_DOWN) &&
        (below->flags & RANGE_PROTECTION) != 0 && page - below->end < layout->stack_gap_bytes)
        return false;
    return mapping_end(space, position) - page <= layout->stack_limit_bytes;
}

bool space_growth_is_unclear(const struct model_space *space, va_t start, va_t end)
{
    uint64_t limit_bytes = space->layout->stack_limit_bytes;

    for (size_t i = space_position(space, start); i < space->count; i++) {
        const struct model_range *range = &space->ranges[i];
        va_t lowest = max_u64(page_of(start), i > 0 ? range[-1].end : 0);

        if (lowest >= end)
            return false;
        if ((range->flags & RANGE_GROWS_DOWN) && lowest < range->start &&
            range->start + PAGE_BYTES - lowest <= limit_bytes &&
            mapping_end(space, i) - lowest > limit_bytes)
            return true;
    }
    return false;
}

/* The range that holds the page, grown to it if need be; NULL when there is none. */
static const struct model_range *range_at(struct model_space *space, va_t va, bool may_grow)
{
    size_t position = space_position(space, va);

    if (va >= space->layout->user_end || position == space->count)
        return NULL;
    struct model_range *range = &space->ranges[position];

    if (range->start <= va)
        return range;
    if (!may_grow || !may_grow_to(space, position, page_of(va)))
        return NULL;
    range->start = page_of(va);
    return range;
}

static uint64_t object_page_at(const struct model_range *range, va_t va)
{
    return range->object_page + ((va - range->start) >> PAGE_SHIFT);
}

enum reach space_reach(struct model_space *space, va_t va, bool write, bool may_grow)
{
    const struct model_range *range = range_at(space, va, may_grow);

    if (range == NULL)
        return REACH_NOTHING;
    if ((range->flags & (write ? RANGE_WRITE : RANGE_PROTECTION)) == 0)
        return REACH_FORBIDDEN;
    const struct model_page *own = pages_find(&space->own, va >> PAGE_SHIFT);

    if (own != NULL)
        return own->block == NULL ? REACH_NOTHING : REACH_FINE;
    if (range->object != NULL && object_ends_before(range->object, object_page_at(range, va)))
        return REACH_PAST_END;
    return REACH_FINE;
}

const uint8_t *space_bytes(const struct model_space *space, va_t va)
{
    const struct model_page *own = pages_find(&space->own, va >> PAGE_SHIFT);
    const struct model_range *range = space_find(space, va);

    if (own != NULL)
        return own->block->bytes;
    return range->object != NULL ? object_bytes(range->object, object_page_at(range, va))
                                 : model_zeros;
}

struct model_block *space_block(struct model_space *space, va_t va)
{
    const struct model_range *range = space_find(space, va);

    if (range->flags & RANGE_SHARED)
        return pages_own(&range->object->pages, object_page_at(range, va), NULL);
    const struct model_page *own = pages_find(&space->own, va >> PAGE_SHIFT);

    return pages_own(&space->own, va >> PAGE_SHIFT, own != NULL ? NULL : space_bytes(space, va));
}

enum reach space_populate(struct model_space *space, va_t start, va_t end)
{
    for (va_t va = start; va < end; va += PAGE_BYTES) {
        const struct model_range *range = space_find(space, va);
        bool write = range != NULL && (range->flags & (RANGE_WRITE | RANGE_SHARED)) == RANGE_WRITE;
        enum reach reach = space_reach(space, va, write, false);

        if (reach != REACH_FINE)
            return reach;
        if (write && range->object != NULL && space_block(space, va) == NULL)
            return REACH_NO_MEMORY;
    }
    return REACH_FINE;
}
