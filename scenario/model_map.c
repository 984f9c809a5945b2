/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mmap, munmap, mprotect and brk of the model, with Linux's checks in Linux's order. */
#include <errno.h>

#include "scenario/model_state.h"

/* Private anonymous pages that a fault may drop again; the model has none of that. */
#define MAP_TYPE_DROPPABLE 0x08u

/* Flags that mmap knew before MAP_SHARED_VALIDATE. */
#define MAP_LEGACY_FLAGS 0x7c07f9f3u

/* PROT_SEM, which is allowed and means nothing. */
#define PROT_SEM 0x8u

#define MOST_FILE_BYTES ((uint64_t)INT64_MAX)

/* --- mmap --- */

/* The open file that the call names; NULL: there is none. */
static const struct model_file *file_of(const struct model_call *call)
{
    uint16_t number = call->operation->file;

    if (number >= SCENARIO_MOST_FILES || !call->model->files[number].is_open)
        return NULL;
    return &call->model->files[number];
}

/* The descriptor's part in what mmap refuses. */
static int check_file(const struct scenario_operation *operation, const struct model_file *file,
                      uint64_t bytes)
{
    uint32_t type = operation->flags & ABI_MAP_TYPE;

    if (file->object != NULL &&
        operation->offset_bytes >> PAGE_SHIFT > (MOST_FILE_BYTES - bytes) >> PAGE_SHIFT)
        return EOVERFLOW;
    if (type == 0 || type > ABI_MAP_SHARED_VALIDATE)
        return EINVAL;
    if (type == ABI_MAP_SHARED_VALIDATE && (operation->flags & ~MAP_LEGACY_FLAGS))
        return EOPNOTSUPP;
    if (type != ABI_MAP_PRIVATE && (operation->protection & ABI_PROT_WRITE) && !file->writable)
        return EACCES;
    if (!file->readable)
        return EACCES;
    if (file->object == NULL)
        return ENODEV;
    return operation->flags & ABI_MAP_GROWSDOWN ? EINVAL : 0;
}

static int check_anonymous(const struct scenario_operation *operation)
{
    uint32_t type = operation->flags & ABI_MAP_TYPE;

    if (type == ABI_MAP_SHARED)
        return operation->flags & ABI_MAP_GROWSDOWN ? EINVAL : 0;
    return type == ABI_MAP_PRIVATE ? 0 : EINVAL;
}

/* Where it goes: an errno, or 0. */
static int choose_place(const struct model_call *call, uint64_t bytes, va_t *start)
{
    const struct scenario_operation *operation = call->operation;
    struct model_space *space = call->task->space;
    va_t user_end = call->model->layout.user_end;
    bool fixed = (operation->flags & (ABI_MAP_FIXED | ABI_MAP_FIXED_NOREPLACE)) != 0;

    *start = operation->has_target ? call->target : 0;
    if (bytes > user_end || (fixed && *start > user_end - bytes))
        return ENOMEM;
    if (fixed && *start % PAGE_BYTES != 0)
        return EINVAL;
    if (operation->flags & ABI_MAP_FIXED_NOREPLACE)
        return space_any_in(space, *start, *start + bytes) ? EEXIST : 0;
    if (fixed)
        return 0;
    struct model_wish wish = {.hint = *start,
                              .bytes = bytes,
                              .anonymous = (operation->flags & ABI_MAP_ANONYMOUS) != 0 &&
                                           (operation->flags & ABI_MAP_TYPE) == ABI_MAP_PRIVATE};

    *start = space_place(space, &wish);
    return *start == 0 ? ENOMEM : 0;
}

static int check_mmap(const struct model_call *call, uint64_t bytes, va_t *start)
{
    const struct scenario_operation *operation = call->operation;
    bool anonymous = (operation->flags & ABI_MAP_ANONYMOUS) != 0;
    const struct model_file *file = file_of(call);

    if (operation->offset_bytes % PAGE_BYTES != 0)
        return EINVAL;
    if (!anonymous && file == NULL)
        return EBADF;
    if (operation->bytes == 0)
        return EINVAL;
    if (bytes == 0)
        return ENOMEM;
    int error = choose_place(call, bytes, start);

    if (error != 0)
        return error;
    return anonymous ? check_anonymous(operation) : check_file(operation, file, bytes);
}

static struct model_range range_to_map(const struct model_call *call, va_t start, uint64_t bytes)
{
    const struct scenario_operation *operation = call->operation;
    bool anonymous = (operation->flags & ABI_MAP_ANONYMOUS) != 0;
    bool shared = (operation->flags & ABI_MAP_TYPE) != ABI_MAP_PRIVATE;
    struct model_range range = {
        .start = start, .end = start + bytes, .flags = operation->protection & RANGE_PROTECTION};

    if (shared)
        range.flags |= RANGE_SHARED;
    if (!shared || anonymous || file_of(call)->writable)
        range.flags |= RANGE_MAY_WRITE;
    if (operation->flags & ABI_MAP_GROWSDOWN)
        range.flags |= RANGE_GROWS_DOWN;
    if (operation->flags & ABI_MAP_LOCKED)
        range.flags |= RANGE_LOCKED;
    if (!anonymous) {
        range.object = file_of(call)->object;
        range.object_page = operation->offset_bytes >> PAGE_SHIFT;
    }
    return range;
}

static int map_range(struct model_call *call, struct model_range *range)
{
    struct model_space *space = call->task->space;
    bool makes_object = range->object == NULL && (range->flags & RANGE_SHARED);

    if (makes_object && (range->object = object_new(range->end - range->start)) == NULL)
        return -ENOMEM;
    int error = space_unmap(space, range->start, range->end);

    if (error == 0)
        error = space_map(space, range);
    if (makes_object)
        object_release(range->object);
    return error;
}

/* A wish that may lie near what the model does not know. */
static bool place_is_blind(const struct model_call *call, uint64_t bytes)
{
    va_t wish = call->operation->has_target ? call->target : 0;
    bool fixed = (call->operation->flags & (ABI_MAP_FIXED | ABI_MAP_FIXED_NOREPLACE)) != 0;

    return (fixed || page_of(wish) != 0) && wish < call->model->layout.user_end &&
           bytes <= call->model->layout.user_end - wish && model_is_blind(call, wish, bytes);
}

bool model_populate(struct model_call *call, va_t start, va_t end)
{
    enum reach reach = space_populate(call->task->space, start, end);

    return answer_host_error(call, reach == REACH_NO_MEMORY ? -ENOMEM : 0) && reach == REACH_FINE;
}

/* Pages are brought in at once; what cannot be had is left to faults. */
static void populate_mapping(struct model_call *call, const struct model_range *range)
{
    uint32_t flags = call->operation->flags;
    bool populates = (flags & (ABI_MAP_POPULATE | ABI_MAP_NONBLOCK)) == ABI_MAP_POPULATE;

    if (populates || (range->flags & RANGE_LOCKED))
        model_populate(call, range->start, range->end);
}

void model_mmap(struct model_call *call)
{
    const struct scenario_operation *operation = call->operation;
    uint64_t bytes = round_up(operation->bytes, PAGE_BYTES);
    va_t start = 0;

    if ((operation->flags & ABI_MAP_TYPE) == MAP_TYPE_DROPPABLE || place_is_blind(call, bytes)) {
        answer_unable(call, "the model cannot map that");
        return;
    }
    int error = check_mmap(call, bytes, &start);

    if (start == MODEL_PLACE_UNKNOWN) {
        answer_unable(call, "where it goes the model does not know");
        return;
    }
    if (error != 0) {
        answer_error(call, error);
        return;
    }
    struct model_range range = range_to_map(call, start, bytes);

    if (!answer_host_error(call, map_range(call, &range)))
        return;
    populate_mapping(call, &range);
    call->outcome->value = start;
    if (operation->region < SCENARIO_MOST_REGIONS) {
        struct model_task *task = call->task;

        task->has_region[operation->region] = true;
        task->regions[operation->region] = start;
        if (operation->region >= task->region_count)
            task->region_count = (uint16_t)(operation->region + 1);
    }
}

/* --- munmap --- */

void model_munmap(struct model_call *call)
{
    uint64_t bytes = round_up(call->operation->bytes, PAGE_BYTES);
    va_t start = call->address;
    va_t user_end = call->model->layout.user_end;

    if (start % PAGE_BYTES != 0 || bytes == 0 || start > user_end || bytes > user_end - start)
        answer_error(call, EINVAL);
    else if (model_is_blind(call, start, bytes))
        answer_unable(call, "the model does not know what is mapped there");
    else
        answer_host_error(call, space_unmap(call->task->space, start, start + bytes));
}

/* --- mprotect --- */

bool model_set_flags(struct model_call *call, va_t start, va_t end, uint32_t set, uint32_t clear)
{
    struct model_space *space = call->task->space;
    int error = 0;

    if (start < end && (space_cut(space, start) != 0 || space_cut(space, end) != 0))
        error = -ENOMEM;
    if (!answer_host_error(call, error))
        return false;
    size_t i = space_position(space, start);

    for (; start < end && i < space->count && space->ranges[i].start < end; i++)
        space->ranges[i].flags = (space->ranges[i].flags & ~clear) | set;
    return true;
}

/* How far it may go: to the first hole, or to what may never be written. */
static int protect_reach(const struct model_space *space, va_t end, uint32_t protection,
                         va_t *reach)
{
    for (size_t i = space_position(space, *reach); *reach < end; i++) {
        if (i == space->count || space->ranges[i].start > *reach)
            return ENOMEM;
        const struct model_range *range = &space->ranges[i];

        if ((protection & ABI_PROT_WRITE) && !(range->flags & RANGE_MAY_WRITE))
            return EACCES;
        *reach = min_u64(range->end, end);
    }
    return 0;
}

/* Locked memory that becomes writable is copied at once, where it is private. */
static void protect_ranges(struct model_call *call, va_t start, va_t end, uint32_t protection)
{
    struct model_space *space = call->task->space;

    while (start < end) {
        struct model_range range = *space_find(space, start);
        va_t part_end = min_u64(range.end, end);
        bool copies = (range.flags & (RANGE_WRITE | RANGE_SHARED | RANGE_LOCKED)) == RANGE_LOCKED &&
                      (protection & RANGE_WRITE);

        if (!model_set_flags(call, start, part_end, protection, RANGE_PROTECTION))
            return;
        if (copies)
            model_populate(call, start, part_end);
        start = part_end;
    }
}

int model_protect(struct model_call *call, va_t start, uint64_t bytes, uint32_t protection)
{
    uint64_t rounded = round_up(bytes, PAGE_BYTES);
    va_t reach = start;

    if (start % PAGE_BYTES != 0)
        return EINVAL;
    if (bytes == 0)
        return 0;
    if (rounded == 0 || rounded > UINT64_MAX - start)
        return ENOMEM;
    if (protection & ~(RANGE_PROTECTION | PROT_SEM))
        return EINVAL;
    int error = protect_reach(call->task->space, start + rounded, protection, &reach);

    protect_ranges(call, start, reach, protection & RANGE_PROTECTION);
    return error;
}

void model_mprotect(struct model_call *call)
{
    const struct scenario_operation *operation = call->operation;

    if (model_is_blind(call, call->address, 1)) {
        answer_unable(call, "the model does not know what is mapped there");
        return;
    }
    int error = model_protect(call, call->address, operation->bytes, operation->protection);

    if (error != 0 && call->outcome->kind != OUTCOME_BROKEN)
        answer_error(call, error);
}

void model_stripe(struct model_call *call)
{
    const struct scenario_operation *operation = call->operation;
    int error = 0;

    if (model_is_blind(call, call->address, operation->bytes)) {
        answer_unable(call, "the model does not know what is mapped there");
        return;
    }
    for (uint64_t done = 0; error == 0 && done < operation->bytes; done += 2 * PAGE_BYTES)
        error = model_protect(call, call->address + done, PAGE_BYTES, operation->protection);
    if (error != 0 && call->outcome->kind != OUTCOME_BROKEN)
        answer_error(call, error);
}

/* --- brk --- */

static int shrink_heap(struct model_space *space, va_t wish)
{
    va_t from = round_up(wish, PAGE_BYTES);
    va_t to = round_up(space->heap_end, PAGE_BYTES);

    /* Linux refuses when nothing at all is left there to unmap. */
    if (from < to && !space_any_in(space, from, to))
        return 0;
    space->heap_end = wish;
    return from < to ? space_unmap(space, from, to) : 0;
}

/* One page above the heap stays free, and the gap of what grows downwards. */
static bool heap_has_room(const struct model_space *space, va_t from, va_t to)
{
    size_t next = space_position(space, from);

    return next == space->count ||
           to + PAGE_BYTES <= range_start_with_gap(space, &space->ranges[next]);
}

static int grow_heap(struct model_space *space, va_t wish)
{
    struct model_range heap = {.start = round_up(space->heap_end, PAGE_BYTES),
                               .end = round_up(wish, PAGE_BYTES),
                               .flags = RANGE_READ | RANGE_WRITE | RANGE_MAY_WRITE};

    if (heap.start < heap.end && !heap_has_room(space, heap.start, heap.end))
        return 0;
    space->heap_end = wish;
    return heap.start < heap.end ? space_map(space, &heap) : 0;
}

void model_brk(struct model_call *call)
{
    struct model_space *space = call->task->space;
    va_t wish = call->address;
    int error = 0;

    if (space->has_program || space->layout->heap_start == 0) {
        answer_unable(call, "the model does not know where the heap is");
        return;
    }
    if (wish >= space->layout->heap_start && wish <= space->heap_end)
        error = shrink_heap(space, wish);
    else if (wish > space->heap_end && wish < space->layout->map_top)
        error = grow_heap(space, wish);
    if (answer_host_error(call, error))
        call->outcome->value = space->heap_end;
}
