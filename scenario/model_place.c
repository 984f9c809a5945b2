/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the model puts a mapping that has no fixed address, as the kernel would.
 *
 *   down   the highest gap below map_top; below what grows downwards a gap stays free; anonymous
 *          memory in multiples of a huge page, asked for without a hint, is aligned to one
 *   up     the kernels of 2002: first fit from the end of the last search, then from map_base
 */
#include "scenario/model_space.h"

va_t range_start_with_gap(const struct model_space *space, const struct model_range *range)
{
    uint64_t gap = space->layout->stack_gap_bytes;

    if (!(range->flags & RANGE_GROWS_DOWN))
        return range->start;
    return range->start > gap ? range->start - gap : 0;
}

/* The end of the highest gap below the limit, or 0; `*above`: the range that follows it. */
static va_t highest_gap_end(const struct model_space *space, va_t limit, uint64_t bytes,
                            size_t *above)
{
    *above = space_position(space, limit - 1);
    if (*above < space->count && space->ranges[*above].start < limit)
        ++*above;
    for (;;) {
        va_t floor = space->layout->map_base;

        if (*above > 0)
            floor = max_u64(space->ranges[*above - 1].end, floor);
        if (limit >= floor && limit - floor >= bytes)
            return limit;
        if (*above == 0 || limit <= space->layout->map_base)
            return 0;
        limit = space->ranges[--*above].start;
    }
}

/* A gap that reaches into what must stay free is passed over, with all that lies above. */
static va_t highest_gap(const struct model_space *space, uint64_t bytes)
{
    va_t limit = space->layout->map_top;

    while (limit > space->layout->map_base) {
        size_t above;
        va_t end = highest_gap_end(space, limit, bytes, &above);

        if (end == 0)
            return 0;
        if (above == space->count || range_start_with_gap(space, &space->ranges[above]) >= end)
            return end - bytes;
        limit = range_start_with_gap(space, &space->ranges[above]);
    }
    return 0;
}

/* A gap that holds the range wherever it must begin. */
static va_t highest_aligned_gap(const struct model_space *space, uint64_t bytes)
{
    uint64_t unit = space->layout->huge_bytes;
    va_t found = highest_gap(space, bytes + unit);

    if (found == 0)
        return 0;
    return found % unit == 0 ? found + unit : round_up(found, unit);
}

static va_t first_fit(const struct model_space *space, va_t from, uint64_t bytes)
{
    va_t limit = space->layout->map_top;

    for (size_t i = space_position(space, from); from <= limit && limit - from >= bytes; i++) {
        if (i == space->count || from + bytes <= space->ranges[i].start)
            return from;
        from = max_u64(from, space->ranges[i].end);
    }
    return 0;
}

static va_t lowest_gap(struct model_space *space, uint64_t bytes)
{
    va_t found = first_fit(space, space->free_hint, bytes);

    if (found == 0)
        found = first_fit(space, space->layout->map_base, bytes);
    if (found != 0)
        space->free_hint = found + bytes;
    return found;
}

/* The kernels of 2002 keep no gap for a hint. */
static bool hint_is_free(const struct model_space *space, va_t hint, uint64_t bytes)
{
    size_t next = space_position(space, hint);

    if (hint > space->layout->user_end - bytes)
        return false;
    if (next == space->count)
        return true;
    return hint + bytes <= (space->layout->places_upwards
                                ? space->ranges[next].start
                                : range_start_with_gap(space, &space->ranges[next]));
}

va_t space_place(struct model_space *space, const struct model_wish *wish)
{
    const struct model_layout *layout = space->layout;
    va_t hint = page_of(wish->hint);

    if (hint != 0 && hint_is_free(space, hint, wish->bytes))
        return hint;
    if (layout->places_upwards)
        return lowest_gap(space, wish->bytes);
    va_t found = 0;

    if (hint == 0 && wish->anonymous && layout->huge_bytes != 0 &&
        wish->bytes % layout->huge_bytes == 0)
        found = highest_aligned_gap(space, wish->bytes);
    return found != 0 ? found : highest_gap(space, wish->bytes);
}
