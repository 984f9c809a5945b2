/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mremap of the model.
 *
 * What Linux answers depends on where one VMA ends: a range that spans two may be moved whole, at
 * its size, but neither grow nor shrink on the way. Ranges that differ are two VMAs for certain,
 * and one range is never more than one; where ranges alike meet inside the old place the model
 * cannot tell, and says so.
 */
#include <errno.h>

#include "scenario/model_state.h"

#define MREMAP_FLAGS (ABI_MREMAP_MAYMOVE | ABI_MREMAP_FIXED | ABI_MREMAP_DONTUNMAP)

struct remap {
    struct model_call *call;
    struct model_space *space;
    va_t start;
    uint64_t old_bytes;
    uint64_t new_bytes;
    uint32_t flags;
    va_t target;
};

static bool implies_target(const struct remap *remap)
{
    return (remap->flags & (ABI_MREMAP_FIXED | ABI_MREMAP_DONTUNMAP)) != 0;
}

static int check_target(const struct remap *remap)
{
    va_t user_end = remap->space->layout->user_end;

    if (!implies_target(remap))
        return 0;
    if (remap->target > user_end - remap->new_bytes || remap->target % PAGE_BYTES != 0 ||
        !(remap->flags & ABI_MREMAP_MAYMOVE))
        return EINVAL;
    if ((remap->flags & ABI_MREMAP_DONTUNMAP) && remap->old_bytes != remap->new_bytes)
        return EINVAL;
    if (remap->start + remap->old_bytes > remap->target &&
        remap->target + remap->new_bytes > remap->start)
        return EINVAL;
    return 0;
}

static int check_arguments(const struct remap *remap)
{
    if ((remap->flags & ~MREMAP_FLAGS) || remap->start % PAGE_BYTES != 0 || remap->new_bytes == 0 ||
        remap->new_bytes > remap->space->layout->user_end)
        return EINVAL;
    return check_target(remap);
}

/* Does the old place, up to `bytes`, lie in one VMA? */
enum unity { UNITY_ONE, UNITY_SEVERAL, UNITY_UNKNOWN };

static enum unity unity_of(const struct remap *remap, uint64_t bytes)
{
    const struct model_space *space = remap->space;
    size_t position = space_position(space, remap->start);
    const struct model_range *range = &space->ranges[position];
    va_t end = remap->start + bytes;

    if (bytes <= range->end - remap->start)
        return UNITY_ONE;
    for (; range->end < end; range++) {
        if (++position == space->count || !ranges_may_be_one(range, range + 1))
            return UNITY_SEVERAL;
    }
    return UNITY_UNKNOWN;
}

/* --- moving --- */

/* The range as it will stand at the target. */
static struct model_range moved_range(const struct model_range *range, const struct remap *remap)
{
    struct model_range moved = *range;

    if (range->object != NULL)
        moved.object_page += (remap->start - range->start) >> PAGE_SHIFT;
    moved.start = remap->target;
    moved.end = remap->target + remap->new_bytes;
    return moved;
}

/* With DONTUNMAP the old place stays, empty, and all of its VMA is unlocked. A place of no size is
 * a second mapping of the same pages. */
static int leave_old_place(const struct remap *remap)
{
    if (remap->flags & ABI_MREMAP_DONTUNMAP)
        space_find(remap->space, remap->start)->flags &= ~RANGE_LOCKED;
    else if (remap->old_bytes > 0)
        return space_unmap(remap->space, remap->start, remap->start + remap->old_bytes);
    return 0;
}

/* One VMA's part goes to the target, which is free. */
static int move_one(const struct remap *remap)
{
    struct model_space *space = remap->space;
    struct model_range moved = moved_range(space_find(space, remap->start), remap);
    va_t old_end = remap->start + remap->old_bytes;
    int error = pages_move(&space->own, remap->start >> PAGE_SHIFT, old_end >> PAGE_SHIFT,
                           remap->target >> PAGE_SHIFT);

    /* The object may have no other range. */
    if (moved.object != NULL)
        moved.object->references++;
    if (error == 0)
        error = space_map(space, &moved);
    if (error == 0)
        error = leave_old_place(remap);
    object_release(moved.object);
    return error;
}

/* FIXED at the same size: every VMA of the old place goes, holes stay holes. */
static int move_all(struct remap *remap)
{
    struct model_space *space = remap->space;
    va_t end = remap->start + remap->old_bytes;
    va_t shift = remap->target - remap->start;
    va_t at = remap->start;

    while (at < end && space_any_in(space, at, end)) {
        size_t position = space_position(space, at);
        struct remap part = *remap;

        part.start = max_u64(space->ranges[position].start, at);
        part.old_bytes = min_u64(space->ranges[position].end, end) - part.start;
        part.new_bytes = part.old_bytes;
        part.target = part.start + shift;
        at = part.start + part.old_bytes;
        int error = space_unmap(space, part.target, part.target + part.new_bytes);

        if (error == 0)
            error = move_one(&part);
        if (error != 0)
            return error;
    }
    return 0;
}

/* --- the ways through the call; each answers --- */

/* What is locked has its new pages brought in. */
static void populate_growth(const struct remap *remap, va_t address)
{
    const struct model_range *range = space_find(remap->space, address);

    if (remap->new_bytes > remap->old_bytes && (range->flags & RANGE_LOCKED))
        model_populate(remap->call, address + remap->old_bytes, address + remap->new_bytes);
}

static void finish(const struct remap *remap, va_t address)
{
    struct model_call *call = remap->call;
    uint16_t region = call->operation->region;

    call->outcome->value = address;
    populate_growth(remap, address);
    if (region >= SCENARIO_MOST_REGIONS)
        return;
    call->task->has_region[region] = true;
    call->task->regions[region] = address;
    if (region >= call->task->region_count)
        call->task->region_count = (uint16_t)(region + 1);
}

/* Will what DONTUNMAP moves and the old place, which it unlocks, perhaps be one VMA? */
static bool may_join_old_place(const struct remap *remap, const struct model_range *range)
{
    va_t old_end = remap->start + remap->old_bytes;

    return (remap->flags & ABI_MREMAP_DONTUNMAP) != 0 && (range->flags & RANGE_LOCKED) != 0 &&
           (remap->target == old_end || remap->target + remap->new_bytes == remap->start);
}

/* To where the kernel likes, or near the hint of DONTUNMAP. */
static void move_anywhere(struct remap *remap)
{
    const struct model_range *range = space_find(remap->space, remap->start);
    struct model_wish wish = {.hint = implies_target(remap) ? remap->target : 0,
                              .bytes = remap->new_bytes,
                              .anonymous = range->object == NULL};

    struct model_space before = *remap->space;

    remap->target = space_place(remap->space, &wish);
    if (remap->target == 0) {
        answer_error(remap->call, ENOMEM);
    } else if (remap->target == MODEL_PLACE_UNKNOWN) {
        answer_unable(remap->call, "where it goes the model does not know");
    } else if (may_join_old_place(remap, range)) {
        remap->space->cache = before.cache; /* nothing is changed */
        remap->space->hole_bytes = before.hole_bytes;
        remap->space->hole_is_known = before.hole_is_known;
        answer_unable(remap->call, "how much is unlocked the model does not know");
    } else if (answer_host_error(remap->call, move_one(remap))) {
        finish(remap, remap->target);
    }
}

static bool may_grow_in_place(const struct remap *remap)
{
    const struct model_space *space = remap->space;
    va_t end = remap->start + remap->old_bytes;
    va_t new_end = remap->start + remap->new_bytes;

    return remap->old_bytes > 0 && !space_any_in(space, end, new_end) &&
           new_end <= space->layout->user_end && space_find(space, end - 1)->end == end;
}

static void grow(struct remap *remap)
{
    if (may_grow_in_place(remap)) {
        space_find(remap->space, remap->start + remap->old_bytes - 1)->end =
            remap->start + remap->new_bytes;
        finish(remap, remap->start);
    } else if (!(remap->flags & ABI_MREMAP_MAYMOVE)) {
        answer_error(remap->call, ENOMEM);
    } else {
        move_anywhere(remap);
    }
}

static void shrink(const struct remap *remap)
{
    if (remap->old_bytes > remap->space->layout->user_end - remap->start) {
        answer_error(remap->call, EINVAL);
        return;
    }
    int error =
        space_unmap(remap->space, remap->start + remap->new_bytes, remap->start + remap->old_bytes);

    if (answer_host_error(remap->call, error))
        finish(remap, remap->start);
}

/* FIXED with another size: the target is unmapped, a tail is cut off, then it moves. */
static void move_fixed(struct remap *remap)
{
    int error = space_unmap(remap->space, remap->target, remap->target + remap->new_bytes);

    if (error == 0 && remap->new_bytes < remap->old_bytes) {
        error = space_unmap(remap->space, remap->start + remap->new_bytes,
                            remap->start + remap->old_bytes);
        remap->old_bytes = remap->new_bytes;
    }
    if (error == 0 && space_find(remap->space, remap->start) == NULL) {
        answer_error(remap->call, EFAULT); /* the target lay over it */
        return;
    }
    if (error == 0)
        error = move_one(remap);
    if (answer_host_error(remap->call, error))
        finish(remap, remap->target);
}

/* The VMA at the old place, which is mapped, is asked to move or to grow. */
static void move_or_grow(struct remap *remap)
{
    const struct model_range *range = space_find(remap->space, remap->start);
    enum unity unity = unity_of(remap, min_u64(remap->old_bytes, remap->new_bytes));

    if (remap->old_bytes == 0 && !(range->flags & RANGE_SHARED))
        answer_error(remap->call, EINVAL);
    else if (unity == UNITY_UNKNOWN)
        answer_unable(remap->call, "one VMA or two: the model does not know");
    else if (unity == UNITY_SEVERAL)
        answer_error(remap->call, EFAULT);
    else if (remap->flags & ABI_MREMAP_FIXED)
        move_fixed(remap);
    else if (remap->flags & ABI_MREMAP_DONTUNMAP)
        move_anywhere(remap);
    else
        grow(remap);
}

/* Where DONTUNMAP unlocks all of a VMA, it must be clear how much that is. */
static bool unlocks_unknown(const struct remap *remap)
{
    const struct model_space *space = remap->space;
    va_t end = remap->start + remap->old_bytes;

    if (!(remap->flags & ABI_MREMAP_DONTUNMAP))
        return false;
    for (size_t i = space_position(space, remap->start);
         i < space->count && space->ranges[i].start < end; i++) {
        const struct model_range *range = &space->ranges[i];

        if ((range->flags & RANGE_LOCKED) &&
            (((remap->flags & ABI_MREMAP_FIXED) && may_join_old_place(remap, range)) ||
             (i > 0 && ranges_may_be_one(range - 1, range)) ||
             (i + 1 < space->count && ranges_may_be_one(range, range + 1))))
            return true;
    }
    return false;
}

static void perform_remap(struct remap *remap)
{
    struct model_call *call = remap->call;
    bool same_size = remap->old_bytes == remap->new_bytes;

    if (space_find(remap->space, remap->start) == NULL) {
        answer_error(call, EFAULT);
    } else if (unlocks_unknown(remap)) {
        answer_unable(call, "how much is unlocked the model does not know");
    } else if ((remap->flags & ABI_MREMAP_FIXED) && same_size) {
        if (answer_host_error(call, move_all(remap)))
            finish(remap, remap->target);
    } else if (remap->new_bytes > remap->old_bytes || implies_target(remap)) {
        move_or_grow(remap);
    } else if (same_size) {
        finish(remap, remap->start);
    } else {
        shrink(remap);
    }
}

/* Into what the model does not know? A place of absurd size may only shrink, which is refused. */
static bool reaches_too_far(const struct remap *remap)
{
    const struct model_call *call = remap->call;
    const struct model_layout *layout = remap->space->layout;
    bool is_absurd = remap->old_bytes > layout->user_end - remap->start;

    if (remap->start >= layout->user_end)
        return false;
    if (is_absurd && !implies_target(remap))
        return model_is_blind(call, remap->start, 1);
    /* Growing in place may meet the stack; the gap below it is free. */
    if (!implies_target(remap) &&
        remap->new_bytes > layout->user_end - layout->stack_limit_bytes - remap->start)
        return true;
    return model_is_blind(call, remap->start, remap->old_bytes) ||
           (implies_target(remap) && remap->target != 0 &&
            model_is_blind(call, remap->target, remap->new_bytes));
}

void model_mremap(struct model_call *call)
{
    const struct scenario_operation *operation = call->operation;
    struct remap remap = {.call = call,
                          .space = call->task->space,
                          .start = call->address,
                          .old_bytes = round_up(operation->bytes, PAGE_BYTES),
                          .new_bytes = round_up(operation->new_bytes, PAGE_BYTES),
                          .flags = operation->flags,
                          .target = operation->has_target ? call->target : 0};
    int error = check_arguments(&remap);

    if (error != 0)
        answer_error(call, error);
    else if (reaches_too_far(&remap))
        answer_unable(call, "the model does not know what is mapped there");
    else
        perform_remap(&remap);
}
