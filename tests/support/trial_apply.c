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
#include "tests/support/trial_call.h"

enum { COPY_MOST_BYTES = 3 * PAGE_BYTES, PIN_TEST_BYTES = 24 };

typedef bool expectation(struct trial_call *call);

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

        if (trial_ran_out_at(call, va, out))
            return true;
        if (space_resolve(space, va, out) != FAULT_PERMITTED)
            return trial_result_is(call, -EFAULT);
        copy_part(call, space_page(space, va), va, done, part, out, &same);
        done += part;
    }
    return trial_result_is(call, 0) &&
           (same || trial_differs(call->trial, "copyin read other bytes"));
}

static bool expect_pin(struct trial_call *call)
{
    const struct operation *operation = call->operation;
    struct model_space *space = &call->task->space;
    struct trial_pin *pin = &call->trial->pins[operation->other];

    if (space_page(space, call->va) == NULL) /* no stack grows for a pin */
        return trial_result_is(call, -EFAULT);
    if (trial_ran_out_at(call, call->va, operation->write))
        return true;
    if (space_resolve(space, call->va, operation->write) != FAULT_PERMITTED)
        return trial_result_is(call, -EFAULT);
    struct model_page *page = space_page(space, call->va);

    if (!trial_result_is(call, 0))
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

    if (trial_ran_out(call))
        return true;
    if (!trial_result_is(call, 0))
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
    if (trial_ran_out(call))
        return true;
    if (!trial_result_is(call, out_of_space ? -ENOEXEC : 0) || out_of_space)
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
    return (call->operation->inside || trial_result_is(call, 0)) &&
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
        return trial_result_is(call, 0);
    }
    if (any_zombie)
        return trial_differs(trial, "returned %d, though a child has ended", call->result);
    return trial_result_is(call, any_child ? -EDEADLK : -ECHILD);
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

static expectation *const expectations[OPERATION_KINDS] = {[OPERATION_FORK] = expect_fork,
                                                           [OPERATION_ACCESS] = expect_access,
                                                           [OPERATION_MAP] = trial_expect_map,
                                                           [OPERATION_UNMAP] = trial_expect_unmap,
                                                           [OPERATION_PROTECT] =
                                                               trial_expect_protect,
                                                           [OPERATION_BRK] = trial_expect_brk,
                                                           [OPERATION_COPYIN] = expect_copy,
                                                           [OPERATION_COPYOUT] = expect_copy,
                                                           [OPERATION_PIN] = expect_pin,
                                                           [OPERATION_EXEC] = expect_exec,
                                                           [OPERATION_EXIT] = expect_end,
                                                           [OPERATION_KILL] = expect_end,
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
