/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What calls that change mappings do to the model, and how any call's result is judged. */
#include <errno.h>

#include "pager/fault.h"
#include "pager/map.h"
#include "tests/support/trial_call.h"

/* Did the call fail for the memory that it was refused? */
bool trial_ran_out(const struct trial_call *call)
{
    return call->operation->fail_after != 0 && call->result == -ENOMEM;
}

bool trial_result_is(struct trial_call *call, int expected)
{
    trial_note(call->trial, (uint64_t)expected);
    return call->result == expected ||
           trial_differs(call->trial, "returned %d; expected %d", call->result, expected);
}

/* Is the task's address space what it was before the call? */
bool trial_mappings_are_unchanged(const struct trial_call *call)
{
    char unheard[WORLD_WHY_BYTES];

    return space_agrees_with_mappings(&call->task->space, call->task->real->mm, unheard,
                                      sizeof(unheard));
}

/* A stack that grew stays so, even if there was no memory for its page. */
bool trial_ran_out_at(struct trial_call *call, va_t va, bool write)
{
    if (trial_ran_out(call) && !trial_mappings_are_unchanged(call))
        (void)space_resolve(&call->task->space, va, write);
    return trial_ran_out(call);
}

static va_t end_of(const struct trial_call *call)
{
    return call->va + round_up(call->operation->bytes, PAGE_BYTES);
}

static bool is_placed(const struct trial_call *call)
{
    return (call->operation->flags & (MAP_REQUEST_FIXED | MAP_REQUEST_NOREPLACE)) != 0;
}

/* What is wrong with the size or the place. */
static int place_error(const struct trial_call *call)
{
    const struct operation *operation = call->operation;
    const struct model_space *space = &call->task->space;
    uint64_t bytes = round_up(operation->bytes, PAGE_BYTES);

    if (bytes == 0 || operation->offset_bytes % PAGE_BYTES != 0)
        return -EINVAL;
    if (bytes > space->user_end || (is_placed(call) && call->va > space->user_end - bytes))
        return -ENOMEM;
    if (!is_placed(call)) /* a hint may be good where no gap is large enough */
        return call->result == -ENOMEM && !space_has_gap(space, bytes) ? -ENOMEM : 0;
    if (call->va % PAGE_BYTES != 0)
        return -EINVAL;
    if ((operation->flags & MAP_REQUEST_NOREPLACE) && space_any_in(space, call->va, end_of(call)))
        return -EEXIST;
    return 0;
}

static int map_error(const struct trial_call *call, const struct model_object *object)
{
    const struct operation *operation = call->operation;
    bool shared = (operation->flags & MAP_REQUEST_SHARED) != 0;
    int error = place_error(call);

    if (error != 0)
        return error;
    if (object != NULL && object->read_only && shared && (operation->protection & VMA_WRITE))
        return -EACCES;
    if ((operation->flags & MAP_REQUEST_GROWSDOWN) && (shared || object != NULL))
        return -EINVAL;
    return 0;
}

/* Is the hint free, and away from what grows down to it? */
static bool hint_is_free(const struct model_space *space, va_t hint, uint64_t bytes)
{
    size_t next = space_position(space, hint);

    if (hint == 0 || hint > space->user_end - bytes)
        return false;
    return next == space->count || hint + bytes <= space_free_below(space, next);
}

/* Where it went: at its place, at the hint if that is free, else anywhere that is free. */
static bool map_address_is_right(struct trial_call *call)
{
    const struct operation *operation = call->operation;
    const struct model_space *space = &call->task->space;
    uint64_t bytes = round_up(operation->bytes, PAGE_BYTES);
    va_t hint = page_of(call->va);

    if (is_placed(call) || hint_is_free(space, hint, bytes))
        return call->address == hint ||
               trial_differs(call->trial, "mapped at 0x%llx; expected 0x%llx",
                             (unsigned long long)call->address, (unsigned long long)hint);
    if (call->address % PAGE_BYTES == 0 && call->address >= space->map_base &&
        call->address <= space->map_top - bytes &&
        !space_any_in(space, call->address, call->address + bytes))
        return true;
    return trial_differs(call->trial, "mapped at 0x%llx, which is not free",
                         (unsigned long long)call->address);
}

/* Shared anonymous memory is an object that only its mappings know. */
static struct model_object *object_of_mapping(struct trial_call *call)
{
    const struct operation *operation = call->operation;
    struct trial *trial = call->trial;
    struct model_object *object = trial->named[operation->object];

    if (object != NULL || !(operation->flags & MAP_REQUEST_SHARED))
        return object;
    struct vma *vma = vma_look(call->task->real->mm, call->address);

    object = model_object_new(vma != NULL ? vma->object : NULL,
                              round_up(operation->bytes, PAGE_BYTES) >> PAGE_SHIFT, NULL);
    object->next = trial->objects;
    trial->objects = object;
    return object;
}

/* To populate a private mapping that may be written is to write to each page, but for the bytes. */
static void populate(const struct trial_call *call, uint32_t flags, uint64_t bytes)
{
    struct model_space *space = &call->task->space;

    if (!(call->operation->flags & MAP_REQUEST_POPULATE) || !(flags & VMA_WRITE) ||
        (flags & VMA_SHARED))
        return;
    for (va_t va = call->address; va < call->address + bytes; va += PAGE_BYTES) {
        if (space_resolve(space, va, true) != FAULT_PERMITTED)
            return;
        (void)space_own(space_page(space, va));
    }
}

bool trial_expect_map(struct trial_call *call)
{
    const struct operation *operation = call->operation;
    struct model_object *object = call->trial->named[operation->object];
    uint64_t bytes = round_up(operation->bytes, PAGE_BYTES);
    int error = map_error(call, object);
    struct model_backing backing = {.flags = operation->protection};

    if (error != 0 || trial_ran_out(call))
        return error != 0 ? trial_result_is(call, error) : true;
    if (!trial_result_is(call, 0) || !map_address_is_right(call))
        return false;
    if (operation->flags & MAP_REQUEST_SHARED)
        backing.flags |= VMA_SHARED;
    if (!(operation->flags & MAP_REQUEST_SHARED) || object == NULL || !object->read_only)
        backing.flags |= VMA_MAY_WRITE;
    if (operation->flags & MAP_REQUEST_GROWSDOWN)
        backing.flags |= VMA_GROWS_DOWN;
    backing.object = object_of_mapping(call);
    backing.object_page = object != NULL ? operation->offset_bytes >> PAGE_SHIFT : 0;
    space_map(&call->task->space, call->address, bytes, &backing);
    populate(call, backing.flags, bytes);
    if (operation->anywhere)
        call->task->places[operation->location.place] =
            (struct trial_place){.start = call->address, .bytes = bytes};
    return true;
}

static void forget_place(struct trial_call *call)
{
    const struct location *location = &call->operation->location;

    if (location->region == REGION_PLACE)
        call->task->places[location->place] = (struct trial_place){0};
}

bool trial_expect_unmap(struct trial_call *call)
{
    const struct model_space *space = &call->task->space;
    uint64_t bytes = round_up(call->operation->bytes, PAGE_BYTES);

    if (call->va % PAGE_BYTES != 0 || bytes == 0 || call->va > space->user_end ||
        bytes > space->user_end - call->va)
        return trial_result_is(call, -EINVAL);
    if (trial_ran_out(call))
        return true;
    space_unmap(&call->task->space, call->va, bytes);
    forget_place(call);
    return trial_result_is(call, 0);
}

bool trial_expect_protect(struct trial_call *call)
{
    const struct operation *operation = call->operation;
    uint64_t bytes = round_up(operation->bytes, PAGE_BYTES);

    if (call->va % PAGE_BYTES != 0)
        return trial_result_is(call, -EINVAL);
    if (bytes == 0)
        return trial_result_is(call, 0);
    if (trial_ran_out(call) &&
        space_agrees_with_mappings(&call->task->space, call->task->real->mm, call->trial->why,
                                   sizeof(call->trial->why)))
        return true;
    return trial_result_is(
        call, space_protect(&call->task->space, call->va, bytes, operation->protection));
}

/* Can the heap not grow so far, for what is mapped above? */
static bool heap_is_blocked(const struct model_space *space, va_t from, va_t to)
{
    size_t next = space_position(space, from);

    if (next == space->count)
        return false;
    const struct model_page *page = &space->pages[next];
    uint64_t gap = page->flags & VMA_GROWS_DOWN ? space->stack_gap_bytes : 0;

    return to + PAGE_BYTES + gap > page->number << PAGE_SHIFT;
}

static bool brk_is_refused(const struct trial_call *call, va_t from, va_t to)
{
    const struct model_space *space = &call->task->space;

    if (call->va < space->heap_start || call->va > space->map_top)
        return true;
    if (to > from && heap_is_blocked(space, from, to))
        return true;
    if (to < from && !space_any_in(space, to, from))
        return true;
    return call->operation->fail_after != 0 && call->address == space->heap_end;
}

bool trial_expect_brk(struct trial_call *call)
{
    struct model_space *space = &call->task->space;
    va_t from = round_up(space->heap_end, PAGE_BYTES);
    va_t to = round_up(call->va, PAGE_BYTES);
    struct model_backing backing = {.flags = VMA_READ | VMA_WRITE | VMA_MAY_WRITE};
    bool refused = brk_is_refused(call, from, to);

    if (!refused && to > from)
        space_map(space, from, to - from, &backing);
    else if (!refused && to < from)
        space_unmap(space, to, from - to);
    if (!refused)
        space->heap_end = call->va;
    trial_note(call->trial, space->heap_end);
    return call->address == space->heap_end ||
           trial_differs(call->trial, "the break is 0x%llx; expected 0x%llx",
                         (unsigned long long)call->address, (unsigned long long)space->heap_end);
}
