/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the model puts a mapping that has no fixed address, as the kernel would.
 *
 *   down   the highest gap below map_top; below what grows downwards a gap stays free; anonymous
 *          memory in multiples of a huge page, asked for without a hint, is aligned to one
 *   up     first fit from map_base, or from the end of the last search and then from map_base
 *   cached, down   right below the last range; from the top again if a hole was passed by that is
 *          large enough, or if the range does not fit there
 */
#include "scenario/model_space.h"
#include "scenario/model_state.h"

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

static va_t cached_up(struct model_space *space, uint64_t bytes)
{
    va_t found = first_fit(space, space->cache, bytes);

    if (found == 0)
        found = first_fit(space, space->layout->map_base, bytes);
    if (found != 0)
        space->cache = found + bytes;
    return found;
}

/* The range that ends at `end`: is it free? If not, which range ends first above its start? */
static bool is_free_below(const struct model_space *space, va_t end, uint64_t bytes,
                          size_t *position)
{
    *position = space_position(space, end - bytes);
    return *position == space->count || space->ranges[*position].start >= end;
}

/* Is it unknown where the VMA that the range belongs to begins or ends? */
static bool has_unknown_ends(const struct model_space *space, size_t position)
{
    const struct model_range *range = &space->ranges[position];

    return (position > 0 && ranges_may_be_one(range - 1, range)) ||
           (position + 1 < space->count && ranges_may_be_one(range, range + 1));
}

/* From the top down, each try right below the VMA that was in the way of the last. Where it goes
 * does not depend on which ranges are one VMA, but which holes are noted does. */
static va_t down_from_top(struct model_space *space, uint64_t bytes)
{
    va_t end = space->layout->map_top;
    size_t position;

    while (end > bytes && !is_free_below(space, end, bytes, &position)) {
        va_t blocked = space->ranges[position].start;

        space->hole_is_known &= !has_unknown_ends(space, position);
        if (blocked > end - bytes)
            space->hole_bytes = max_u64(space->hole_bytes, blocked - (end - bytes));
        end = blocked;
    }
    return end > bytes ? end - bytes : 0;
}

/* The place, if the hole is large enough for it or not; the cache as it then is. */
static va_t down_from_cache(struct model_space *space, uint64_t bytes, bool from_hole)
{
    size_t position;

    if (from_hole) {
        space->hole_bytes = 0;
        space->hole_is_known = true;
        space->cache = space->layout->map_top;
    }
    va_t found = 0;

    if (space->cache > bytes && is_free_below(space, space->cache, bytes, &position))
        found = space->cache - bytes;
    if (found == 0)
        found = down_from_top(space, bytes);
    space->cache = found;
    if (found != 0)
        return found;
    space_begin_placement(space);
    return first_fit(space, space->layout->map_base, bytes);
}

/* Where it is not known how large the hole is, both ways must come to the same. */
static va_t cached_down_either_way(struct model_space *space, uint64_t bytes)
{
    struct model_space other = *space;

    if (space->hole_is_known)
        return down_from_cache(space, bytes, bytes <= space->hole_bytes);
    va_t found = down_from_cache(space, bytes, false);

    space->hole_is_known = false;
    return down_from_cache(&other, bytes, true) == found && other.cache == space->cache
               ? found
               : MODEL_PLACE_UNKNOWN;
}

/* Nor is it known where a program lies, which is searched down to. */
static va_t cached_down(struct model_space *space, uint64_t bytes)
{
    const struct model_space before = *space;
    va_t found = cached_down_either_way(space, bytes);

    if (found == MODEL_PLACE_UNKNOWN || (space->has_program && found < MODEL_PROGRAM_END)) {
        *space = before;
        return MODEL_PLACE_UNKNOWN;
    }
    return found;
}

void space_begin_placement(struct model_space *space)
{
    bool down = space->layout->placement == MODEL_CACHED_DOWN;

    space->cache = down ? space->layout->map_top : space->layout->map_base;
    space->hole_bytes = down ? UINT64_MAX : 0;
    space->hole_is_known = true;
}

void space_note_unmapped(struct model_space *space, va_t end)
{
    va_t top = space->layout->map_top;
    size_t next = space_position(space, end);

    if (space->layout->placement != MODEL_CACHED_DOWN)
        return;
    if (next < space->count && space->ranges[next].start < top)
        top = space->ranges[next].start;
    space->cache = max_u64(space->cache, top);
}

static bool hint_is_free(const struct model_space *space, va_t hint, uint64_t bytes)
{
    size_t next = space_position(space, hint);

    if (hint > space->layout->user_end - bytes)
        return false;
    if (next == space->count)
        return true;
    return hint + bytes <= (space->layout->keeps_gaps
                                ? range_start_with_gap(space, &space->ranges[next])
                                : space->ranges[next].start);
}

static va_t in_gaps(const struct model_space *space, const struct model_wish *wish, va_t hint)
{
    const struct model_layout *layout = space->layout;
    va_t found = 0;

    if (hint == 0 && wish->anonymous && layout->huge_bytes != 0 &&
        wish->bytes % layout->huge_bytes == 0)
        found = highest_aligned_gap(space, wish->bytes);
    return found != 0 ? found : highest_gap(space, wish->bytes);
}

va_t space_place(struct model_space *space, const struct model_wish *wish)
{
    va_t hint = page_of(wish->hint);

    if (hint != 0 && hint_is_free(space, hint, wish->bytes))
        return hint;
    switch (space->layout->placement) {
    case MODEL_FIRST_FIT:
        return first_fit(space, space->layout->map_base, wish->bytes);
    case MODEL_CACHED_UP:
        return cached_up(space, wish->bytes);
    case MODEL_CACHED_DOWN:
        return cached_down(space, wish->bytes);
    default:
        return in_gaps(space, wish, hint);
    }
}
