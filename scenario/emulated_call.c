/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls on mappings, made for a task from outside; their numbers are Linux's. */
#include <errno.h>

#include "pager/abi_call.h"
#include "pager/advise.h"
#include "pager/map.h"
#include "pager/remap.h"
#include "scenario/emulated_private.h"

static struct emulated_slot *slot_of(struct emulated *emulated,
                                     const struct scenario_operation *operation)
{
    return &emulated->slots[operation->task];
}

/* A call on a range. */
struct range_call {
    struct task *task;
    va_t start;
    uint64_t bytes;
};

/* Where the operation's range is; false when the outcome says why there is none. */
static bool begin_call(struct emulated *emulated, const struct scenario_operation *operation,
                       struct range_call *call, struct scenario_outcome *outcome)
{
    call->task = slot_of(emulated, operation)->task;
    call->bytes = operation->bytes;
    return emulated_place(emulated, operation, &operation->address, &call->start, outcome);
}

/* The descriptor that the operation names: NULL where it names none, or one that was closed. */
static const struct open_file *descriptor(const struct emulated *emulated, uint16_t file)
{
    if (file >= SCENARIO_MOST_FILES || !emulated->files[file].is_open)
        return NULL;
    return &emulated->files[file].open;
}

void emulated_mmap(struct emulated *emulated, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    struct abi_mmap call = {.bytes = operation->bytes,
                            .protection = operation->protection,
                            .flags = operation->flags,
                            .file = descriptor(emulated, operation->file),
                            .offset_bytes = operation->offset_bytes};
    va_t address = 0;

    if (operation->has_target &&
        !emulated_place(emulated, operation, &operation->target, &call.address, outcome))
        return;
    int error = abi_mmap(slot_of(emulated, operation)->task, &call, &address);

    if (error == 0)
        emulated_name_region(slot_of(emulated, operation), operation->region, address);
    outcome_of_call(emulated, operation, error, address, outcome);
}

void emulated_munmap(struct emulated *emulated, const struct scenario_operation *operation,
                     struct scenario_outcome *outcome)
{
    struct range_call call;

    if (begin_call(emulated, operation, &call, outcome))
        outcome_of_call(emulated, operation, sys_munmap(call.task, call.start, call.bytes), 0,
                        outcome);
}

void emulated_mprotect(struct emulated *emulated, const struct scenario_operation *operation,
                       struct scenario_outcome *outcome)
{
    struct range_call call;

    if (!begin_call(emulated, operation, &call, outcome))
        return;
    int error = abi_mprotect(call.task, call.start, call.bytes, operation->protection);

    outcome_of_call(emulated, operation, error, 0, outcome);
}

void emulated_mremap(struct emulated *emulated, const struct scenario_operation *operation,
                     struct scenario_outcome *outcome)
{
    struct remap_request request = {.old_bytes = operation->bytes,
                                    .new_bytes = operation->new_bytes,
                                    .flags = operation->flags};
    va_t address = 0;

    if (!emulated_place(emulated, operation, &operation->address, &request.address, outcome))
        return;
    if (operation->has_target &&
        !emulated_place(emulated, operation, &operation->target, &request.new_address, outcome))
        return;
    int error = sys_mremap(slot_of(emulated, operation)->task, &request, &address);

    if (error == 0)
        emulated_name_region(slot_of(emulated, operation), operation->region, address);
    outcome_of_call(emulated, operation, error, address, outcome);
}

void emulated_brk(struct emulated *emulated, const struct scenario_operation *operation,
                  struct scenario_outcome *outcome)
{
    struct range_call call;

    if (!begin_call(emulated, operation, &call, outcome))
        return;
    va_t now = sys_brk(call.task, call.start);

    /* A task with a heap has no break at 0; it has one that is alive. */
    outcome_of_call(emulated, operation, now == 0 ? -EBUSY : 0, now, outcome);
}

void emulated_madvise(struct emulated *emulated, const struct scenario_operation *operation,
                      struct scenario_outcome *outcome)
{
    struct range_call call;

    if (!begin_call(emulated, operation, &call, outcome))
        return;
    int error = sys_madvise(call.task, call.start, call.bytes, operation->advice);

    outcome_of_call(emulated, operation, error, 0, outcome);
}

void emulated_mlock(struct emulated *emulated, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    struct range_call call;

    if (begin_call(emulated, operation, &call, outcome))
        outcome_of_call(emulated, operation, sys_mlock(call.task, call.start, call.bytes), 0,
                        outcome);
}

void emulated_munlock(struct emulated *emulated, const struct scenario_operation *operation,
                      struct scenario_outcome *outcome)
{
    struct range_call call;

    if (begin_call(emulated, operation, &call, outcome))
        outcome_of_call(emulated, operation, sys_munlock(call.task, call.start, call.bytes), 0,
                        outcome);
}

void emulated_msync(struct emulated *emulated, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    struct range_call call;

    if (!begin_call(emulated, operation, &call, outcome))
        return;
    int error = sys_msync(call.task, call.start, call.bytes, operation->flags);

    outcome_of_call(emulated, operation, error, 0, outcome);
}

/*
 * Pages from `start` on without a hole: mincore() gives a byte for no more than these, however long
 * the range that it is asked about.
 */
static uint64_t mapped_pages(const struct range_call *call)
{
    struct machine *machine = call->task->machine;
    va_t end = page_of(call->start);

    machine_lock(machine);
    for (struct vma *vma = vma_look(call->task->mm, end); vma != NULL && vma->start <= end;
         vma = vma_next(vma))
        end = vma->end;
    machine_unlock(machine);
    return (end - page_of(call->start)) >> PAGE_SHIFT;
}

static void mincore_to_buffer(struct emulated *emulated, const struct scenario_operation *operation,
                              const struct range_call *call, struct scenario_outcome *outcome)
{
    uint64_t pages = (call->bytes >> PAGE_SHIFT) + ((call->bytes & PAGE_OFFSET_MASK) != 0);

    if (!emulated_reserve(emulated, min_u64(pages, mapped_pages(call)), outcome))
        return;
    int error = sys_mincore_to(call->task, call->start, call->bytes, emulated->buffer);

    if (error == 0)
        outcome_data(outcome, emulated->buffer, (size_t)pages);
    else
        outcome_of_call(emulated, operation, error, 0, outcome);
}

void emulated_mincore(struct emulated *emulated, const struct scenario_operation *operation,
                      struct scenario_outcome *outcome)
{
    struct range_call call;
    va_t vector;

    if (!begin_call(emulated, operation, &call, outcome))
        return;
    if (!operation->has_target) {
        mincore_to_buffer(emulated, operation, &call, outcome);
        return;
    }
    if (!emulated_place(emulated, operation, &operation->target, &vector, outcome))
        return;
    int error = sys_mincore(call.task, call.start, call.bytes, vector);

    outcome_of_call(emulated, operation, error, 0, outcome);
}

void emulated_stripe(struct emulated *emulated, const struct scenario_operation *operation,
                     struct scenario_outcome *outcome)
{
    struct range_call call;
    int error = 0;

    if (!begin_call(emulated, operation, &call, outcome))
        return;
    for (uint64_t done = 0; error == 0 && done < call.bytes; done += 2 * PAGE_BYTES) {
        error = abi_mprotect(call.task, call.start + done, PAGE_BYTES, operation->protection);
        if (call.bytes - done <= 2 * PAGE_BYTES)
            break;
    }
    outcome_of_call(emulated, operation, error, 0, outcome);
}

void emulated_limit(struct emulated *emulated, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    enum limit limit = operation->value == 0 ? LIMIT_ADDRESS_SPACE : LIMIT_DATA;
    int error = task_limit(slot_of(emulated, operation)->task, limit, operation->bytes);

    outcome_of_call(emulated, operation, error, 0, outcome);
}
