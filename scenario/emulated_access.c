/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses: loads and stores of the task itself, in user mode, and the kernel's own to its memory.
 *
 * User code goes from low to high, a page at a time. Of each page it first touches the lowest byte
 * of the range alone, so that a bad access is told with the address of the first bad byte: a
 * copying function of the C library may well begin at the other end.
 *
 * Entering user mode pushes a word on the emulated stack, which may fault. Those events are none of
 * the scenario's: they are noted apart, and neither `faults` nor the steps of the operation have
 * them.
 */
#include <errno.h>
#include <string.h>

#include "pager/user_copy.h"
#include "scenario/emulated_private.h"

/* One operation in user mode. */
struct access_plan {
    struct emulated *emulated;
    const struct scenario_operation *operation;
    user_function *function;
    va_t va;
    uint64_t counts[EVENT_COUNT]; /* of all events, before user mode was entered */
    bool began;
    uint64_t faults; /* counted when the accesses began */
};

static size_t within_page(va_t va, uint64_t bytes)
{
    return (size_t)min_u64(bytes, PAGE_BYTES - va % PAGE_BYTES);
}

/* Pages that a range meets; it may be as long as it likes. */
static uint64_t pages_met(va_t va, uint64_t bytes)
{
    if (bytes == 0)
        return 0;
    uint64_t last = bytes - 1;

    return (last >> PAGE_SHIFT) + 1 + ((last % PAGE_BYTES) + va % PAGE_BYTES >= PAGE_BYTES);
}

/* The first byte of the range in its page number `i`. */
static va_t page_place(va_t va, uint64_t i)
{
    return i == 0 ? va : page_of(va) + (i << PAGE_SHIFT);
}

/* What is written, from `done` on: at most `bytes` of it. */
static const uint8_t *data_part(const struct emulated *emulated, const struct scenario_data *data,
                                uint64_t done)
{
    return data->kind == DATA_FILL ? emulated->fill : data->content + done;
}

/* --- user code --- */

static void read_pages(struct forklab_user *user, void *argument)
{
    struct access_plan *plan = argument;
    uint8_t *buffer = plan->emulated->buffer;
    uint64_t bytes = plan->operation->bytes;
    va_t va = plan->va;

    while (bytes > 0) {
        size_t part = within_page(va, bytes);

        if (forklab_is_direct(user, va))
            (void)forklab_load8(user, va);
        forklab_read(user, buffer, va, part);
        buffer += part;
        va += part;
        bytes -= part;
    }
}

static void write_pages(struct forklab_user *user, void *argument)
{
    struct access_plan *plan = argument;
    const struct scenario_data *data = &plan->operation->data;
    uint64_t done = 0;

    while (done < data->bytes) {
        va_t va = plan->va + done;
        size_t part = within_page(va, data->bytes - done);
        const uint8_t *bytes = data_part(plan->emulated, data, done);

        if (forklab_is_direct(user, va))
            forklab_store8(user, va, bytes[0]);
        forklab_write(user, va, bytes, part);
        done += part;
    }
}

static void peek_pages(struct forklab_user *user, void *argument)
{
    struct access_plan *plan = argument;
    uint64_t pages = pages_met(plan->va, plan->operation->bytes);

    for (uint64_t i = 0; i < pages; i++)
        plan->emulated->buffer[i] = forklab_load8(user, page_place(plan->va, i));
}

static void poke_pages(struct forklab_user *user, void *argument)
{
    struct access_plan *plan = argument;
    uint64_t pages = pages_met(plan->va, plan->operation->bytes);

    for (uint64_t i = 0; i < pages; i++)
        forklab_store8(user, page_place(plan->va, i), (uint8_t)plan->operation->value);
}

/* In user mode: what it took to come here is none of the scenario's. */
static void begin(struct access_plan *plan)
{
    struct emulated *emulated = plan->emulated;
    const struct event_log *events = &emulated->machine->events;

    for (unsigned i = 0; i < EVENT_COUNT; i++)
        emulated->others[i] += events->counts[i] - plan->counts[i];
    emulated->first_step = events->recorded;
    plan->faults = events->counts[EVENT_FAULT];
    plan->began = true;
    emulated_arm(emulated, plan->operation);
}

static void run_plan(struct forklab_user *user, void *argument)
{
    struct access_plan *plan = argument;

    begin(plan);
    plan->function(user, plan);
}

/* --- their outcomes --- */

/* The fault of the bad access itself counts no more than it does in Linux. */
static uint64_t faults_of(const struct access_plan *plan, bool killed)
{
    uint64_t now = plan->emulated->machine->events.counts[EVENT_FAULT];

    return plan->began ? now - plan->faults - killed : 0;
}

static void outcome_of_death(struct access_plan *plan, struct scenario_outcome *outcome)
{
    struct emulated *emulated = plan->emulated;
    const struct task *task = emulated->slots[plan->operation->task].task;

    outcome->kind = OUTCOME_SIGNAL;
    outcome->signal = emulated_signal(emulated, &task->status, &outcome->code, &outcome->address);
    outcome->faults = faults_of(plan, true);
    emulated_look_at_tasks(emulated);
}

/* True when all accesses were made. */
static bool run(struct emulated *emulated, const struct scenario_operation *operation,
                user_function *function, struct scenario_outcome *outcome)
{
    struct access_plan plan = {.emulated = emulated, .operation = operation, .function = function};

    if (!emulated_place(emulated, operation, &operation->address, &plan.va, outcome))
        return false;
    memcpy(plan.counts, emulated->machine->events.counts, sizeof(plan.counts));
    int result = task_run(emulated->slots[operation->task].task, run_plan, &plan);

    if (result == 0)
        outcome->faults = faults_of(&plan, false);
    else if (result == 1)
        outcome_of_death(&plan, outcome);
    else if (result == -ENOMEM || result == -ENOSPC || result == -EPERM)
        outcome_broken(outcome, emulated->machine->mmu->problem);
    else
        outcome_of_call(emulated, operation, result, 0, outcome);
    return result == 0;
}

void emulated_read(struct emulated *emulated, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    if (emulated_reserve(emulated, operation->bytes, outcome) &&
        run(emulated, operation, read_pages, outcome))
        outcome_data(outcome, emulated->buffer, (size_t)operation->bytes);
}

void emulated_write(struct emulated *emulated, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    emulated_fill(emulated, &operation->data);
    if (run(emulated, operation, write_pages, outcome))
        outcome_done(outcome, 0);
}

void emulated_peek(struct emulated *emulated, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    uint64_t most = (operation->bytes >> PAGE_SHIFT) + 2;
    va_t va;

    if (!emulated_reserve(emulated, most, outcome) ||
        !emulated_place(emulated, operation, &operation->address, &va, outcome))
        return;
    if (run(emulated, operation, peek_pages, outcome))
        outcome_data(outcome, emulated->buffer, (size_t)pages_met(va, operation->bytes));
}

void emulated_poke(struct emulated *emulated, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    if (run(emulated, operation, poke_pages, outcome))
        outcome_done(outcome, 0);
}

/* --- the kernel's own --- */

/*
 * Bytes before the first bad one; an error where there are none. A page at a time, since a failing
 * copy does not tell how far it came.
 */
void emulated_kread(struct emulated *emulated, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    struct task *task = emulated->slots[operation->task].task;
    uint64_t done = 0;
    int error = 0;
    va_t va;

    if (!emulated_reserve(emulated, operation->bytes, outcome) ||
        !emulated_place(emulated, operation, &operation->address, &va, outcome))
        return;
    while (error == 0 && done < operation->bytes) {
        size_t part = within_page(va + done, operation->bytes - done);

        error = copyin(task, emulated->buffer + done, va + done, part);
        done += error == 0 ? part : 0;
    }
    if (error == 0 || done > 0)
        outcome_data(outcome, emulated->buffer, (size_t)done);
    else
        outcome_of_call(emulated, operation, error, 0, outcome);
}

void emulated_kwrite(struct emulated *emulated, const struct scenario_operation *operation,
                     struct scenario_outcome *outcome)
{
    struct task *task = emulated->slots[operation->task].task;
    const struct scenario_data *data = &operation->data;
    uint64_t done = 0;
    int error = 0;
    va_t va;

    if (!emulated_place(emulated, operation, &operation->address, &va, outcome))
        return;
    emulated_fill(emulated, data);
    while (error == 0 && done < data->bytes) {
        size_t part = within_page(va + done, data->bytes - done);

        error = copyout(task, va + done, data_part(emulated, data, done), part);
        done += error == 0 ? part : 0;
    }
    outcome_of_call(emulated, operation, done > 0 ? 0 : error, done, outcome);
}
