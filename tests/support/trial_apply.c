/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations applied to the world and to the model: first the call is made, then the model says
 * what it should have done.
 *
 * A refused request for memory may show as -ENOMEM, and then nothing may have changed, or not at
 * all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pager/fault.h"
#include "pager/map.h"
#include "tests/support/trial_call.h"

enum { COPY_MOST_BYTES = 3 * PAGE_BYTES, PIN_TEST_BYTES = 24 };

typedef bool expectation(struct trial_call *call);

/* Did the call fail for the memory that it was refused? */
static bool ran_out(const struct trial_call *call)
{
    return call->operation->fail_after != 0 && call->result == -ENOMEM;
}

static bool result_is(struct trial_call *call, int expected)
{
    trial_note(call->trial, (uint64_t)expected);
    return call->result == expected ||
           trial_differs(call->trial, "returned %d; expected %d", call->result, expected);
}

/* Is the task's address space what it was before the call? */
static bool mappings_are_unchanged(const struct trial_call *call)
{
    char unheard[WORLD_WHY_BYTES];

    return space_agrees_with_mappings(&call->task->space, call->task->real->mm, unheard,
                                      sizeof(unheard));
}

/* A stack that grew stays so, even if there was no memory for its page. */
static bool ran_out_at(struct trial_call *call, va_t va, bool write)
{
    if (ran_out(call) && !mappings_are_unchanged(call))
        (void)space_resolve(&call->task->space, va, write);
    return ran_out(call);
}

/* --- mappings --- */

static va_t end_of(const struct trial_call *call)
{
    return call->va + round_up(call->operation->bytes, PAGE_BYTES);
}

static int map_error(const struct trial_call *call, const struct model_object *object)
{
    const struct operation *operation = call->operation;
    const struct model_space *space = &call->task->space;
    bool placed = (operation->flags & (MAP_REQUEST_FIXED | MAP_REQUEST_NOREPLACE)) != 0;
    bool shared = (operation->flags & MAP_REQUEST_SHARED) != 0;
    uint64_t bytes = round_up(operation->bytes, PAGE_BYTES);

    if (bytes == 0 || (placed && call->va % PAGE_BYTES != 0) ||
        operation->offset_bytes % PAGE_BYTES != 0)
        return -EINVAL;
    if ((operation->flags & MAP_REQUEST_GROWSDOWN) && (shared || object != NULL))
        return -EINVAL;
    if (bytes > space->user_end || (placed && call->va > space->user_end - bytes))
        return -ENOMEM;
    if (object != NULL && object->read_only && shared && (operation->protection & VMA_WRITE))
        return -EACCES;
    if ((operation->flags & MAP_REQUEST_NOREPLACE) && space_any_in(space, call->va, end_of(call)))
        return -EEXIST;
    return 0;
}

/* Where it went: at its place, at the hint if that is free, else anywhere that is free. */
static bool map_address_is_right(struct trial_call *call)
{
    const struct operation *operation = call->operation;
    const struct model_space *space = &call->task->space;
    uint64_t bytes = round_up(operation->bytes, PAGE_BYTES);
    va_t hint = page_of(call->va);
    bool placed = (operation->flags & (MAP_REQUEST_FIXED | MAP_REQUEST_NOREPLACE)) != 0;
    bool hint_is_free = call->va != 0 && hint != 0 && hint <= space->user_end - bytes &&
                        !space_any_in(space, hint, hint + bytes);

    if (placed || hint_is_free)
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
    struct vma *vma = vma_find(call->task->real->mm, call->address);

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

static bool expect_map(struct trial_call *call)
{
    const struct operation *operation = call->operation;
    struct model_object *object = call->trial->named[operation->object];
    uint64_t bytes = round_up(operation->bytes, PAGE_BYTES);
    int error = map_error(call, object);
    struct model_backing backing = {.flags = operation->protection};

    if (error != 0 || ran_out(call))
        return error != 0 ? result_is(call, error) : true;
    bool placed = (operation->flags & (MAP_REQUEST_FIXED | MAP_REQUEST_NOREPLACE)) != 0;

    if (!placed && call->result == -ENOMEM)
        return !space_has_gap(&call->task->space, bytes) ||
               trial_differs(call->trial, "-ENOMEM, though there is a gap");
    if (!result_is(call, 0) || !map_address_is_right(call))
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

static bool expect_unmap(struct trial_call *call)
{
    const struct model_space *space = &call->task->space;
    uint64_t bytes = round_up(call->operation->bytes, PAGE_BYTES);

    if (call->va % PAGE_BYTES != 0 || bytes == 0 || call->va > space->user_end ||
        bytes > space->user_end - call->va)
        return result_is(call, -EINVAL);
    if (ran_out(call))
        return true;
    space_unmap(&call->task->space, call->va, bytes);
    forget_place(call);
    return result_is(call, 0);
}

static bool expect_protect(struct trial_call *call)
{
    const struct operation *operation = call->operation;
    uint64_t bytes = round_up(operation->bytes, PAGE_BYTES);

    if (call->va % PAGE_BYTES != 0)
        return result_is(call, -EINVAL);
    if (bytes == 0)
        return result_is(call, 0);
    if (ran_out(call) && space_agrees_with_mappings(&call->task->space, call->task->real->mm,
                                                    call->trial->why, sizeof(call->trial->why)))
        return true;
    return result_is(call,
                     space_protect(&call->task->space, call->va, bytes, operation->protection));
}

static bool expect_brk(struct trial_call *call)
{
    struct model_space *space = &call->task->space;
    va_t from = round_up(space->heap_end, PAGE_BYTES);
    va_t to = round_up(call->va, PAGE_BYTES);
    struct model_backing backing = {.flags = VMA_READ | VMA_WRITE | VMA_MAY_WRITE};
    bool refused = call->va < space->heap_start || call->va > space->map_top ||
                   (to > from && space_any_in(space, from, to)) ||
                   (call->operation->fail_after != 0 && call->address == space->heap_end);

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

/* --- copies and pins --- */

/* The bytes of one page's part; what copies do to a page that can be reached. */
static void copy_part(struct trial_call *call, struct model_page *page, va_t va, size_t done,
                      size_t part, bool out, bool *same)
{
    size_t offset = (size_t)(va % PAGE_BYTES);

    if (out)
        memcpy(space_bytes_to_write(page) + offset, call->data + done, part);
    else if (memcmp(space_bytes(page) + offset, call->data + done, part) != 0)
        *same = false;
}

static bool expect_copy(struct trial_call *call)
{
    struct model_space *space = &call->task->space;
    bool out = call->operation->kind == OPERATION_COPYOUT;
    size_t bytes = (size_t)call->operation->bytes;
    bool same = true;

    for (size_t done = 0; done < bytes;) {
        va_t va = call->va + done;
        size_t part = (size_t)min_u64(bytes - done, PAGE_BYTES - va % PAGE_BYTES);

        if (ran_out_at(call, va, out))
            return true;
        if (space_resolve(space, va, out) != FAULT_PERMITTED)
            return result_is(call, -EFAULT);
        copy_part(call, space_page(space, va), va, done, part, out, &same);
        done += part;
    }
    return result_is(call, 0) && (same || trial_differs(call->trial, "copyin read other bytes"));
}

static bool expect_pin(struct trial_call *call)
{
    const struct operation *operation = call->operation;
    struct model_space *space = &call->task->space;
    struct trial_pin *pin = &call->trial->pins[operation->other];

    if (ran_out_at(call, call->va, operation->write))
        return true;
    if (space_resolve(space, call->va, operation->write) != FAULT_PERMITTED)
        return result_is(call, -EFAULT);
    struct model_page *page = space_page(space, call->va);

    if (!result_is(call, 0))
        return false;
    pin->active = true;
    pin->block = NULL;
    pin->object = page->object;
    pin->object_page = page->object_page;
    if (!(page->flags & VMA_SHARED)) {
        pin->block = space_own(page);
        pin->block->references++;
    }
    return true;
}

static uint8_t *pinned_bytes(const struct trial_pin *pin)
{
    if (pin->block != NULL)
        return pin->block->bytes;
    return pin->object->bytes + pin->object_page * PAGE_BYTES;
}

/* Reads, writes or gives up a pin; these are no calls of a task. */
static bool use_pin(struct trial *trial, const struct operation *operation)
{
    struct trial_pin *pin = &trial->pins[operation->other];
    size_t offset = (size_t)(operation->value % (PAGE_BYTES - PIN_TEST_BYTES));
    uint8_t data[PIN_TEST_BYTES];

    if (!pin->active)
        return true;
    operation_bytes(operation->value, data, sizeof(data));
    if (operation->kind == OPERATION_UNPIN) {
        unpin(&pin->real);
        block_put(pin->block);
        pin->active = false;
        return true;
    }
    if (operation->kind == OPERATION_PIN_WRITE) {
        pin_write(&pin->real, offset, data, sizeof(data));
        memcpy(pinned_bytes(pin) + offset, data, sizeof(data));
        if (pin->block == NULL)
            pin->object->written[pin->object_page] = true;
        return true;
    }
    pin_read(&pin->real, offset, data, sizeof(data));
    return memcmp(pinned_bytes(pin) + offset, data, sizeof(data)) == 0 ||
           trial_differs(trial, "the pin reads other bytes");
}

/* --- tasks --- */

static bool expect_fork(struct trial_call *call)
{
    struct trial *trial = call->trial;
    struct trial_task *child = &trial->tasks[call->operation->other];

    if (ran_out(call))
        return true;
    if (!result_is(call, 0))
        return false;
    trial_task_begins(child, call->child, (int)(call->task - trial->tasks), call->task->depth + 1);
    memcpy(child->places, call->task->places, sizeof(child->places));
    space_copy(&child->space, &call->task->space);
    bool agrees = true;

    if (!call->operation->inside || call->script.count == 0)
        return true;
    if (!trial_enter_user_mode(trial, child, true, &agrees))
        return agrees;
    return trial_expect_script(trial, child, &call->script, call->inner_result, false);
}

static bool expect_exec(struct trial_call *call)
{
    struct trial *trial = call->trial;
    bool out_of_space = trial->world.machine->ram.geometry == &geometry_tiny;
    struct task_status status = {.killed = true, .cause = EVENT_BAD_OOM};
    bool alive =
        world_has_task(&trial->world, call->task->real) && call->task->real->state != TASK_ZOMBIE;

    if (!alive && call->operation->fail_after != 0) {
        if (call->operation->inside)
            status.address = call->task->space.user_end;
        return trial_task_ended(trial, call->task, &status);
    }
    if (ran_out(call))
        return true;
    if (!result_is(call, out_of_space ? -ENOEXEC : 0) || out_of_space)
        return trial->why[0] == '\0';
    trial_expect_exec(trial, call->task);
    bool agrees = true;

    if (call->operation->inside && !trial_enter_user_mode(trial, call->task, call->done, &agrees))
        return agrees;
    return true;
}

static bool expect_end(struct trial_call *call)
{
    struct task_status status = {.exit_code = (int)call->operation->value};

    if (call->operation->kind == OPERATION_KILL)
        status = (struct task_status){.killed = true, .cause = EVENT_EXIT};
    if (call->operation->inside && call->run_result != 1)
        return trial_differs(call->trial, "a task outlived its end");
    return (call->operation->inside || result_is(call, 0)) &&
           trial_task_ended(call->trial, call->task, &status);
}

/* The zombie that was waited for is the one that is gone. */
static bool expect_wait(struct trial_call *call)
{
    struct trial *trial = call->trial;
    int parent = (int)(call->task - trial->tasks);
    bool any_child = false;
    bool any_zombie = false;

    for (unsigned i = 0; i < TRIAL_TASKS; i++) {
        struct trial_task *task = &trial->tasks[i];
        bool wanted = call->operation->other == OPERATION_NOBODY || call->operation->other == i;

        if (task->state == TRIAL_ABSENT || task->parent != parent || !wanted)
            continue;
        any_child = true;
        any_zombie |= task->state == TRIAL_ZOMBIE;
        if (task->state != TRIAL_ZOMBIE || world_has_task(&trial->world, task->real))
            continue;
        if (!trial_same_status(&task->status, &call->waited))
            return trial_differs(trial, "the parent hears another status");
        task->state = TRIAL_ABSENT;
        trial_note(trial, i);
        return result_is(call, 0);
    }
    if (any_zombie)
        return trial_differs(trial, "returned %d, though a child has ended", call->result);
    return result_is(call, any_child ? -EDEADLK : -ECHILD);
}

static bool expect_access(struct trial_call *call)
{
    struct trial *trial = call->trial;
    const struct operation *operation = call->operation;
    bool agrees = true;

    if (operation->other != OPERATION_NOBODY &&
        !trial_enter_user_mode(trial, &trial->tasks[operation->other], call->done, &agrees))
        return agrees;
    if (!trial_enter_user_mode(trial, call->task, true, &agrees))
        return agrees;
    return trial_expect_script(trial, call->task, &call->script, call->inner_result,
                               operation->fail_after != 0);
}

/* --- all of them --- */

static expectation *const expectations[OPERATION_KINDS] = {
    [OPERATION_FORK] = expect_fork,       [OPERATION_ACCESS] = expect_access,
    [OPERATION_MAP] = expect_map,         [OPERATION_UNMAP] = expect_unmap,
    [OPERATION_PROTECT] = expect_protect, [OPERATION_BRK] = expect_brk,
    [OPERATION_COPYIN] = expect_copy,     [OPERATION_COPYOUT] = expect_copy,
    [OPERATION_PIN] = expect_pin,         [OPERATION_EXEC] = expect_exec,
    [OPERATION_EXIT] = expect_end,        [OPERATION_KILL] = expect_end,
    [OPERATION_WAIT] = expect_wait};

static bool create_task(struct trial *trial, struct trial_task *task)
{
    struct task *real = NULL;

    if (sys_fork(trial->world.init, &real) != 0)
        return trial_differs(trial, "init cannot fork");
    trial_task_begins(task, real, PARENT_INIT, 0);
    space_begin(&task->space, real->mm);
    struct model_backing stack = {.flags = VMA_READ | VMA_WRITE | VMA_MAY_WRITE | VMA_GROWS_DOWN};

    space_map(&task->space, task->space.user_end - PAGE_BYTES, PAGE_BYTES, &stack);
    return true;
}

/* Does the operation mean anything now? Completes the call. */
static bool has_meaning(struct trial_call *call)
{
    struct trial *trial = call->trial;
    const struct operation *operation = call->operation;
    bool anywhere = operation->anywhere && operation->location.offset_bytes == 0;

    if (call->task->state != TRIAL_ALIVE)
        return false;
    if (!anywhere && !trial_address(trial, call->task, &operation->location, &call->va))
        return false;
    switch (operation->kind) {
    case OPERATION_FORK:
        (void)trial_script(trial, call->task, operation, &call->script);
        return trial->tasks[operation->other].state == TRIAL_ABSENT;
    case OPERATION_ACCESS:
        if (operation->other != OPERATION_NOBODY &&
            (trial->tasks[operation->other].state != TRIAL_ALIVE ||
             operation->other == operation->task))
            return false;
        return trial_script(trial, call->task, operation, &call->script);
    case OPERATION_PIN:
        return !trial->pins[operation->other].active;
    case OPERATION_EXEC:
        return trial->program != NULL;
    case OPERATION_WAIT:
        if (operation->other != OPERATION_NOBODY)
            call->child = trial->tasks[operation->other].real;
        return operation->other == OPERATION_NOBODY ||
               trial->tasks[operation->other].state != TRIAL_ABSENT;
    default:
        return true;
    }
}

static bool apply_call(struct trial_call *call)
{
    const struct operation *operation = call->operation;
    static uint8_t data[COPY_MOST_BYTES];
    bool agrees = true;

    call->data = data;
    if (operation->kind == OPERATION_COPYOUT)
        operation_bytes(operation->value, data, (size_t)operation->bytes);
    if (!trial_make_call(call))
        return trial_differs(call->trial, "user mode cannot be entered: %d %d, %s",
                             call->run_result, call->inner_result,
                             call->trial->world.machine->mmu->problem);
    bool nested = operation->kind == OPERATION_ACCESS;
    bool reached = call->done || call->run_result == 1;

    if (operation->inside && !nested &&
        !trial_enter_user_mode(call->trial, call->task, reached, &agrees))
        return agrees;
    return expectations[operation->kind](call);
}

bool trial_apply(struct trial *trial, const struct operation *operation)
{
    struct trial_task *task = &trial->tasks[operation->task];
    struct trial_call call = {.trial = trial, .task = task, .operation = operation};
    const struct trial_task *also =
        operation->other < TRIAL_TASKS ? &trial->tasks[operation->other] : NULL;

    if (operation->kind == OPERATION_CREATE) {
        if (task->state == TRIAL_ABSENT && !create_task(trial, task))
            return false;
    } else if (operation->kind == OPERATION_PIN_READ || operation->kind == OPERATION_PIN_WRITE ||
               operation->kind == OPERATION_UNPIN) {
        if (!use_pin(trial, operation))
            return false;
    } else if (has_meaning(&call) && !apply_call(&call)) {
        return false;
    }
    return trial_states_agree(trial, task, also);
}
