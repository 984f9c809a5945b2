/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of the model on ranges that stay where they are: advice, locks, msync, mincore. */
#include <errno.h>
#include <string.h>

#include "scenario/model_state.h"

/* --- madvise --- */

/* What an advice does to one range, clipped to the call's: an errno, or 0. */
typedef int advise_range(struct model_call *call, const struct model_range *range);

static int accept(struct model_call *call, const struct model_range *range)
{
    (void)call;
    (void)range;
    return 0;
}

static int refuse_locked(struct model_call *call, const struct model_range *range)
{
    (void)call;
    return range->flags & RANGE_LOCKED ? EINVAL : 0;
}

/* What was written privately goes; guards stay. */
static int drop(struct model_call *call, const struct model_range *range)
{
    if (!(range->flags & RANGE_SHARED))
        pages_remove(&call->task->space->own, range->start >> PAGE_SHIFT, range->end >> PAGE_SHIFT,
                     true);
    return 0;
}

static int drop_unlocked(struct model_call *call, const struct model_range *range)
{
    return range->flags & RANGE_LOCKED ? EINVAL : drop(call, range);
}

/* Nothing is freed while memory lasts. */
static int free_later(struct model_call *call, const struct model_range *range)
{
    (void)call;
    return (range->flags & RANGE_LOCKED) || range->object != NULL ? EINVAL : 0;
}

static int punch_hole(struct model_call *call, const struct model_range *range)
{
    (void)call;
    if ((range->flags & RANGE_LOCKED) || range->object == NULL)
        return EINVAL;
    if (!(range->flags & RANGE_SHARED) || !(range->flags & RANGE_MAY_WRITE))
        return EACCES;
    pages_remove(&range->object->pages, range->object_page,
                 range->object_page + ((range->end - range->start) >> PAGE_SHIFT), false);
    return 0;
}

/* Advice that is a flag of its range. */
struct advice_flag {
    int advice;
    uint32_t set;
    uint32_t clear;
};

static const struct advice_flag advice_flags[] = {
    {ABI_MADV_NORMAL, 0, RANGE_SEQUENTIAL | RANGE_RANDOM},
    {ABI_MADV_RANDOM, RANGE_RANDOM, RANGE_SEQUENTIAL},
    {ABI_MADV_SEQUENTIAL, RANGE_SEQUENTIAL, RANGE_RANDOM},
    {ABI_MADV_DONTDUMP, RANGE_DONT_DUMP, 0},
    {ABI_MADV_DODUMP, 0, RANGE_DONT_DUMP},
    {ABI_MADV_DONTFORK, RANGE_DONT_FORK, 0},
    {ABI_MADV_DOFORK, 0, RANGE_DONT_FORK},
    {ABI_MADV_WIPEONFORK, RANGE_WIPE_ON_FORK, 0},
    {ABI_MADV_KEEPONFORK, 0, RANGE_WIPE_ON_FORK},
};

static int set_flag(struct model_call *call, const struct model_range *range)
{
    const struct advice_flag *flag = advice_flags;

    while (flag->advice != call->operation->advice)
        flag++;
    model_set_flags(call, range->start, range->end, flag->set, flag->clear);
    return 0;
}

static int wipe_on_fork(struct model_call *call, const struct model_range *range)
{
    return range->object != NULL ? EINVAL : set_flag(call, range);
}

static int install_guards(struct model_call *call, const struct model_range *range)
{
    struct model_pages *own = &call->task->space->own;

    if (range->flags & RANGE_LOCKED)
        return EINVAL;
    for (uint64_t page = range->start >> PAGE_SHIFT; page < range->end >> PAGE_SHIFT; page++) {
        if (!answer_host_error(call, pages_put(own, page, NULL)))
            return 0;
    }
    return 0;
}

static int remove_guards(struct model_call *call, const struct model_range *range)
{
    struct model_pages *own = &call->task->space->own;
    uint64_t end = range->end >> PAGE_SHIFT;
    size_t position = pages_position(own, range->start >> PAGE_SHIFT);

    while (position < own->count && own->pages[position].number < end) {
        uint64_t number = own->pages[position].number;

        if (own->pages[position].block == NULL)
            pages_remove(own, number, number + 1, false);
        else
            position++;
    }
    return 0;
}

static advise_range *advice_of(int advice)
{
    switch (advice) {
    case ABI_MADV_NORMAL:
    case ABI_MADV_RANDOM:
    case ABI_MADV_SEQUENTIAL:
    case ABI_MADV_DONTDUMP:
    case ABI_MADV_DODUMP:
    case ABI_MADV_DONTFORK:
    case ABI_MADV_DOFORK:
    case ABI_MADV_KEEPONFORK:
        return set_flag;
    case ABI_MADV_WIPEONFORK:
        return wipe_on_fork;
    case ABI_MADV_WILLNEED:
        return accept;
    case ABI_MADV_COLD:
    case ABI_MADV_PAGEOUT:
        return refuse_locked;
    case ABI_MADV_DONTNEED:
        return drop_unlocked;
    case ABI_MADV_DONTNEED_LOCKED:
        return drop;
    case ABI_MADV_FREE:
        return free_later;
    case ABI_MADV_REMOVE:
        return punch_hole;
    case ABI_MADV_GUARD_INSTALL:
        return install_guards;
    case ABI_MADV_GUARD_REMOVE:
        return remove_guards;
    default:
        return NULL;
    }
}

/* Range by range; over holes it goes on, and says ENOMEM in the end. */
static int advise_all(struct model_call *call, va_t start, va_t end, advise_range *advise)
{
    struct model_space *space = call->task->space;
    int result = 0;

    while (start < end) {
        size_t position = space_position(space, start);

        if (position == space->count || space->ranges[position].start >= end)
            return ENOMEM;
        struct model_range part = range_clipped(&space->ranges[position], start, end);

        if (part.start > start)
            result = ENOMEM;
        int error = advise(call, &part);

        if (error != 0)
            return error;
        start = part.end;
    }
    return result;
}

/* Page by page, with the errors that are met on the way. */
static int populate(struct model_call *call, va_t start, va_t end, bool write)
{
    struct model_space *space = call->task->space;

    for (va_t va = start; va < end; va += PAGE_BYTES) {
        const struct model_range *range = space_find(space, va);

        if (range == NULL)
            return ENOMEM;
        if (!(range->flags & (write ? RANGE_WRITE : RANGE_READ)))
            return EINVAL;
        if (space_reach(space, va, write, false) != REACH_FINE)
            return EFAULT;
        if (write && !answer_host_error(call, space_block(space, va) == NULL ? -ENOMEM : 0))
            return 0;
    }
    return 0;
}

static int madvise(struct model_call *call, va_t start, uint64_t bytes)
{
    int advice = call->operation->advice;
    bool populates = advice == ABI_MADV_POPULATE_READ || advice == ABI_MADV_POPULATE_WRITE;
    uint64_t rounded = round_up(bytes, PAGE_BYTES);

    if ((!populates && advice_of(advice) == NULL) || start % PAGE_BYTES != 0 ||
        (bytes != 0 && rounded == 0))
        return EINVAL;
    va_t end = start + rounded;

    if (end < start)
        return EINVAL;
    if (populates)
        return populate(call, start, end, advice == ABI_MADV_POPULATE_WRITE);
    return advise_all(call, start, end, advice_of(advice));
}

void model_madvise(struct model_call *call)
{
    uint64_t bytes = call->operation->bytes;
    uint64_t rounded = round_up(bytes, PAGE_BYTES);
    bool wraps = rounded < bytes || rounded > UINT64_MAX - call->address;

    if (!wraps && model_is_blind(call, call->address, bytes)) {
        answer_unable(call, "the model does not know what is mapped there");
        return;
    }
    int error = madvise(call, call->address, bytes);

    if (error != 0 && call->outcome->kind != OUTCOME_BROKEN)
        answer_error(call, error);
}

/* --- mlock and munlock --- */

/* The rounded range: an errno, or 0. */
static int lock_range(const struct model_call *call, va_t *start, va_t *end)
{
    uint64_t bytes = round_up(call->operation->bytes + call->address % PAGE_BYTES, PAGE_BYTES);

    *start = page_of(call->address);
    *end = *start + bytes;
    return *end < *start ? EINVAL : 0;
}

/* Marks up to the first hole, which is ENOMEM. */
static int mark_locked(struct model_call *call, va_t start, va_t end, bool locked)
{
    struct model_space *space = call->task->space;
    va_t reach = start;

    for (size_t i = space_position(space, start);
         reach < end && i < space->count && space->ranges[i].start <= reach; i++)
        reach = min_u64(space->ranges[i].end, end);
    model_set_flags(call, start, reach, locked ? RANGE_LOCKED : 0, RANGE_LOCKED);
    return reach < end ? ENOMEM : 0;
}

static void lock(struct model_call *call, bool locked)
{
    va_t start;
    va_t end;
    int error = lock_range(call, &start, &end);

    if (error == 0 && model_is_blind(call, start, 1)) {
        answer_unable(call, "the model does not know what is mapped there");
        return;
    }
    if (error == 0)
        error = mark_locked(call, start, end, locked);
    if (error == 0 && locked && !model_populate(call, start, end))
        error = ENOMEM;
    if (error != 0 && call->outcome->kind != OUTCOME_BROKEN)
        answer_error(call, error);
}

void model_mlock(struct model_call *call)
{
    lock(call, true);
}

void model_munlock(struct model_call *call)
{
    lock(call, false);
}

/* --- msync --- */

static int msync_ranges(const struct model_space *space, va_t start, va_t end, bool invalidate)
{
    int result = 0;

    for (size_t i = space_position(space, start); start < end; i++) {
        if (i == space->count || space->ranges[i].start >= end)
            return ENOMEM;
        if (space->ranges[i].start > start)
            result = ENOMEM;
        if (invalidate && (space->ranges[i].flags & RANGE_LOCKED))
            return EBUSY;
        start = space->ranges[i].end;
    }
    return result;
}

void model_msync(struct model_call *call)
{
    const struct scenario_operation *operation = call->operation;
    uint64_t bytes = round_up(operation->bytes, PAGE_BYTES);
    va_t start = call->address;
    bool both = (operation->flags & ABI_MS_ASYNC) && (operation->flags & ABI_MS_SYNC);
    int error;

    if ((operation->flags & ~(ABI_MS_ASYNC | ABI_MS_INVALIDATE | ABI_MS_SYNC)) ||
        start % PAGE_BYTES != 0 || both)
        error = EINVAL;
    else if (start + bytes < start)
        error = ENOMEM;
    else
        error = msync_ranges(call->task->space, start, start + bytes,
                             (operation->flags & ABI_MS_INVALIDATE) != 0);
    if (error == 0 || error == EINVAL || !model_is_blind(call, start, bytes)) {
        if (error != 0)
            answer_error(call, error);
        return;
    }
    answer_unable(call, "the model does not know what is mapped there");
}

/* --- mincore --- */

/* Is the place for the answer no place at all? */
static bool vector_is_bad(const struct model_call *call, uint64_t pages)
{
    va_t end = call->model->layout.geometry_end;

    return pages > end || call->target > end - pages;
}

/* Into the user's memory: what is resident the model does not know, only what is refused. */
static void mincore_into(struct model_call *call, uint64_t pages)
{
    const struct model_space *space = call->task->space;

    if (vector_is_bad(call, pages))
        answer_error(call, EFAULT);
    else if (pages > 0 && space_find(space, call->address) == NULL)
        answer_error(call, ENOMEM);
    else if (pages > 0)
        answer_unable(call, "what is resident the model does not know");
}

void model_mincore(struct model_call *call)
{
    uint64_t bytes = call->operation->bytes;
    va_t start = call->address;
    uint64_t pages = (bytes >> PAGE_SHIFT) + (bytes % PAGE_BYTES != 0);
    va_t end = call->model->layout.geometry_end;
    uint8_t *data;

    if (start % PAGE_BYTES != 0) {
        answer_error(call, EINVAL);
        return;
    }
    bool is_outside = bytes > end || start > end - bytes;

    if (!is_outside && model_is_blind(call, start, bytes)) {
        answer_unable(call, "the model does not know what is mapped there");
        return;
    }
    if (!is_outside && call->operation->has_target)
        mincore_into(call, pages);
    else if (is_outside || !space_all_in(call->task->space, start, start + pages * PAGE_BYTES))
        answer_error(call, ENOMEM);
    else if ((data = answer_data(call, pages)) != NULL)
        memset(data, 0, pages);
}
