/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces of the model; model_space.h has the terms. */
#include "scenario/model_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_RANGES = 16 };

struct model_space *space_new(const struct model_layout *layout)
{
    struct model_space *space = calloc(1, sizeof(*space));

    if (space == NULL)
        return NULL;
    space->references = 1;
    space->layout = layout;
    space->heap_end = layout->heap_start;
    space_begin_placement(space);
    return space;
}

void space_release(struct model_space *space)
{
    if (space == NULL || --space->references > 0)
        return;
    for (size_t i = 0; i < space->count; i++)
        object_release(space->ranges[i].object);
    free(space->ranges);
    pages_free(&space->own);
    free(space);
}

static int reserve_ranges(struct model_space *space, size_t more)
{
    if (space->count + more <= space->capacity)
        return 0;
    size_t capacity = 2 * (space->count + more) + FIRST_RANGES;
    void *grown = reallocarray(space->ranges, capacity, sizeof(*space->ranges));

    if (grown == NULL)
        return -ENOMEM;
    space->ranges = grown;
    space->capacity = capacity;
    return 0;
}

/* Puts a range at a position; room was reserved. It brings its reference to the object along. */
static void insert_range(struct model_space *space, size_t position,
                         const struct model_range *range)
{
    struct model_range *place = &space->ranges[position];

    memmove(place + 1, place, (space->count - position) * sizeof(*place));
    *place = *range;
    space->count++;
}

/* --- fork --- */

/* A range as the child gets it: what was written privately comes along, or is forgotten. */
static int fork_range(struct model_space *child, const struct model_space *from,
                      const struct model_range *range)
{
    if (range->flags & RANGE_DONT_FORK)
        return 0;
    struct model_range *copy = &child->ranges[child->count++];

    *copy = *range;
    copy->flags &= ~RANGE_LOCKED;
    if (copy->object != NULL)
        copy->object->references++;
    if (range->flags & RANGE_WIPE_ON_FORK)
        return 0;
    return pages_append(&child->own, &from->own, range->start >> PAGE_SHIFT,
                        range->end >> PAGE_SHIFT);
}

struct model_space *space_fork(const struct model_space *from)
{
    struct model_space *child = space_new(from->layout);

    if (child == NULL)
        return NULL;
    int error = reserve_ranges(child, from->count);

    child->has_program = from->has_program;
    child->heap_end = from->heap_end;
    for (size_t i = 0; error == 0 && i < from->count; i++)
        error = fork_range(child, from, &from->ranges[i]);
    if (error == 0)
        return child;
    space_release(child);
    return NULL;
}

/* --- ranges --- */

size_t space_position(const struct model_space *space, va_t va)
{
    size_t low = 0;
    size_t high = space->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (space->ranges[middle].end > va)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct model_range *space_find(const struct model_space *space, va_t va)
{
    size_t position = space_position(space, va);

    if (position == space->count || space->ranges[position].start > va)
        return NULL;
    return &space->ranges[position];
}

bool space_any_in(const struct model_space *space, va_t start, va_t end)
{
    size_t position = space_position(space, start);

    return position < space->count && space->ranges[position].start < end;
}

bool space_all_in(const struct model_space *space, va_t start, va_t end)
{
    for (size_t i = space_position(space, start); start < end; i++) {
        if (i == space->count || space->ranges[i].start > start)
            return false;
        start = space->ranges[i].end;
    }
    return true;
}

struct model_range range_clipped(const struct model_range *range, va_t start, va_t end)
{
    struct model_range clipped = *range;

    clipped.start = max_u64(range->start, start);
    clipped.end = min_u64(range->end, end);
    if (range->object != NULL)
        clipped.object_page += (clipped.start - range->start) >> PAGE_SHIFT;
    return clipped;
}

bool ranges_may_be_one(const struct model_range *lower, const struct model_range *upper)
{
    uint64_t pages = (lower->end - lower->start) >> PAGE_SHIFT;

    return lower->end == upper->start && lower->flags == upper->flags &&
           lower->object == upper->object &&
           (lower->object == NULL || lower->object_page + pages == upper->object_page);
}

int space_cut(struct model_space *space, va_t va)
{
    size_t position = space_position(space, va);

    if (position == space->count || space->ranges[position].start >= va)
        return 0;
    if (reserve_ranges(space, 1) != 0)
        return -ENOMEM;
    struct model_range *lower = &space->ranges[position];
    struct model_range upper = range_clipped(lower, va, lower->end);

    if (upper.object != NULL)
        upper.object->references++;
    lower->end = va;
    insert_range(space, position + 1, &upper);
    return 0;
}

int space_map(struct model_space *space, const struct model_range *range)
{
    if (reserve_ranges(space, 1) != 0)
        return -ENOMEM;
    if (range->object != NULL)
        range->object->references++;
    insert_range(space, space_position(space, range->start), range);
    return 0;
}

int space_unmap(struct model_space *space, va_t start, va_t end)
{
    if (space_cut(space, start) != 0 || space_cut(space, end) != 0)
        return -ENOMEM;
    size_t first = space_position(space, start);
    size_t after = first;

    while (after < space->count && space->ranges[after].start < end)
        object_release(space->ranges[after++].object);
    if (after < space->count)
        memmove(&space->ranges[first], &space->ranges[after],
                (space->count - after) * sizeof(*space->ranges));
    space->count -= after - first;
    if (after > first)
        space_note_unmapped(space, end);
    pages_remove(&space->own, start >> PAGE_SHIFT, end >> PAGE_SHIFT, false);
    return 0;
}
