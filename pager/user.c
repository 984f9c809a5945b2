/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slow path of the accessors: the soft MMU's every access, and on the host MMU what begins
 * beyond the window, which is bad.
 *
 * The copy is made with the machine's lock held, so that nothing let through can be taken away
 * between the look and the copy.
 */
#include "pager/user.h"

#include "pager/machine.h"
#include "pager/run.h"
#include "pager/task.h"

static size_t within_page(va_t va, size_t bytes)
{
    return (size_t)min_u64(bytes, PAGE_BYTES - va % PAGE_BYTES);
}

/* What is let through at `va`, or NULL. Lock held. */
static uint8_t *let_through(const struct run *run, va_t va, enum access access)
{
    const struct mmu_ops *ops = run->task->machine->mmu->ops;

    if (ops->translate == NULL || run->task->dying || va >= run->task->mm->user_end)
        return NULL;
    return ops->translate(run->space, va, access);
}

static void fault_or_die(struct run *run, va_t va, enum access access)
{
    bool direct = run->task->machine->mmu->ops->translate == NULL;
    enum run_verdict verdict =
        direct ? run_wild_access(run, va, access) : run_fault(run, va, access);

    if (verdict == RUN_KILLED)
        run_escape(run);
}

static void copy_part(uint8_t *memory, uint8_t *buffer, size_t bytes, bool write)
{
    if (write)
        memcpy(memory, buffer, bytes);
    else
        memcpy(buffer, memory, bytes);
}

/* One page's part: false when the page must be faulted in first. */
static bool try_part(struct run *run, va_t va, uint8_t *buffer, size_t bytes, bool write)
{
    struct machine *machine = run->task->machine;

    machine_lock(machine);
    uint8_t *memory = let_through(run, va, write ? ACCESS_WRITE : ACCESS_READ);

    if (memory != NULL)
        copy_part(memory, buffer, bytes, write);
    machine_unlock(machine);
    return memory != NULL;
}

/*
 * One load or store, as the processor makes it: every page is let through before a byte moves.
 * False: `missing` must be faulted in first.
 */
static bool try_word(struct run *run, va_t va, uint8_t *buffer, size_t bytes, bool write,
                     va_t *missing)
{
    struct machine *machine = run->task->machine;
    enum access access = write ? ACCESS_WRITE : ACCESS_READ;
    size_t part = within_page(va, bytes);

    machine_lock(machine);
    uint8_t *first = let_through(run, va, access);
    uint8_t *second = part < bytes ? let_through(run, va + part, access) : first;
    bool done = first != NULL && second != NULL;

    if (done) {
        copy_part(first, buffer, part, write);
        copy_part(second, buffer + part, bytes - part, write);
    }
    machine_unlock(machine);
    *missing = first == NULL ? va : va + part;
    return done;
}

static void access_word(struct run *run, va_t va, uint8_t *buffer, size_t bytes, bool write)
{
    va_t missing;

    while (!try_word(run, va, buffer, bytes, write, &missing))
        fault_or_die(run, missing, write ? ACCESS_WRITE : ACCESS_READ);
}

void forklab_access_slow(struct forklab_user *user, uint64_t va, void *buffer, size_t bytes,
                         bool write)
{
    struct run *run = run_of_user(user);
    uint8_t *place = buffer;

    /* It begins in the window and ends beyond it: first what the processor does by itself. */
    if (forklab_is_direct(user, va)) {
        size_t part = (size_t)min_u64(bytes, user->limit - va);

        copy_part((uint8_t *)(user->base + va), place, part, write);
        place += part;
        va += part;
        bytes -= part;
    }
    if (bytes <= sizeof(uint64_t)) {
        access_word(run, va, place, bytes, write);
        return;
    }
    while (bytes > 0) {
        size_t part = within_page(va, bytes);

        while (!try_part(run, va, place, part, write))
            fault_or_die(run, va, write ? ACCESS_WRITE : ACCESS_READ);
        place += part;
        va += part;
        bytes -= part;
    }
}

size_t forklab_view(struct forklab_user *user, uint64_t va, size_t bytes, bool write, void **view)
{
    struct run *run = run_of_user(user);
    enum access access = write ? ACCESS_WRITE : ACCESS_READ;
    uint8_t *memory = NULL;

    if (forklab_is_direct(user, va)) {
        *view = (void *)(user->base + va);
        return (size_t)min_u64(bytes, user->limit - va);
    }
    for (;;) {
        machine_lock(run->task->machine);
        memory = let_through(run, va, access);
        machine_unlock(run->task->machine);
        if (memory != NULL)
            break;
        fault_or_die(run, va, access);
    }
    *view = memory;
    return within_page(va, bytes);
}
