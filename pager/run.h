/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run: one task in user mode on one host thread, from task_run() until the task ends.
 *
 * The run lives on the stack of the thread that called task_run(). Runs nest on a thread: user code
 * of a parent may run its child.
 *
 * The host layer finds the run of a faulting thread, turns the host address into an emulated one
 * and calls run_fault(), which is the kernel's entry for faults. If that says KILLED, the layer
 * leaves its handler and calls run_escape(), which jumps back into task_run().
 */
#ifndef FORKLAB_PAGER_RUN_H
#define FORKLAB_PAGER_RUN_H

#include <setjmp.h>

#include "pager/mmu.h"
#include "pager/user.h"

struct task;

enum run_verdict {
    RUN_RETRY,  /* the access may be tried again */
    RUN_KILLED, /* the task is dead: run_escape() */
};

struct run {
    struct forklab_user user; /* first: user code's handle is the run's address */
    struct task *task;
    struct mmu_space *space;
    struct run *outer; /* the run that this one interrupted on the thread; the MMU's to keep */
    jmp_buf escape;
    /* the last fault, for the guard against faults that change nothing */
    va_t fault_va;
    uint64_t fault_changes;
    unsigned fault_repeats;
    enum access fault_access;
};

static inline struct run *run_of_user(struct forklab_user *user)
{
    return (struct run *)(void *)user;
}

/*
 * The kernel's entry for a fault of user code at an emulated address. Takes and releases the
 * machine's lock. Signal-safe because user code holds no lock when it faults.
 */
enum run_verdict run_fault(struct run *run, va_t va, enum access access);

/* The kernel's entry for an access outside the window: always a bad access. */
enum run_verdict run_wild_access(struct run *run, va_t va, enum access access);

/*
 * Is this the run that its thread is in now, rather than one that a nested run interrupted? Only
 * that one can be escaped from.
 */
bool run_is_innermost(const struct run *run);

/* Back to task_run() of the innermost run of this thread, whose task has ended. */
_Noreturn void run_escape(struct run *run);

#endif
