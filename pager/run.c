/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Running user code, and the kernel's entries from it.
 *
 * task_run() binds a window, enters user mode, pushes a return word on the emulated stack and calls
 * the function. The function ends in one of four ways: it returns (the task lives on), the task
 * exits, the task is killed, or it execs and goes on in another function. The last three come back
 * by run_escape().
 *
 * The guard: the same access faulting three times while the machine's change counter stood still is
 * a bug of ours, for nothing that could let it through has happened. Then the tables are printed
 * and the process aborts.
 */
#include "pager/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pager/exec.h"
#include "pager/fault.h"
#include "pager/task.h"
#include "pt/format.h"

enum { MOST_REPEATS = 3, RETURN_WORD_BYTES = 8, LATEST_EVENTS = 16 };

/* One call of task_run(): the run, what comes after an exec, and how the task exits. */
struct session {
    struct run run;
    user_function *function;
    void *argument;
    bool exits;
    int exit_code;
};

static struct session *session_of(struct run *run)
{
    return (struct session *)(void *)run;
}

/* The thread's own: which of its nested runs it is in. */
static _Thread_local struct run *innermost;

bool run_is_innermost(const struct run *run)
{
    return run == innermost;
}

struct task *user_task(struct forklab_user *user)
{
    return run_of_user(user)->task;
}

_Noreturn void run_escape(struct run *run)
{
    _longjmp(run->escape, 1);
}

/* With the lock held: the task ends as soon as its thread is out of user mode. */
static void condemn(struct task *task, enum event cause, va_t address)
{
    task->status = (struct task_status){.killed = true, .cause = cause, .address = address};
    task->dying = true;
    event_record(&task->machine->events, cause, task->id, address, PFN_NONE);
}

static _Noreturn void report_repeated_fault(const struct run *run, va_t va)
{
    fprintf(stderr,
            "forklab: task %u: the same access at 0x%llx faulted %d times and nothing changed\n",
            (unsigned)run->task->id, (unsigned long long)va, MOST_REPEATS);
    event_print_latest(&run->task->machine->events, LATEST_EVENTS, stderr);
    tree_dump(&run->task->mm->tree, stderr);
    abort();
}

static void guard_against_repeats(struct run *run, va_t va, enum access access)
{
    uint64_t changes = run->task->machine->changes;
    bool same = run->fault_va == va && run->fault_access == access && run->fault_changes == changes;

    run->fault_repeats = same ? run->fault_repeats + 1 : 1;
    run->fault_va = va;
    run->fault_access = access;
    run->fault_changes = changes;
    if (run->fault_repeats >= MOST_REPEATS)
        report_repeated_fault(run, va);
}

/* Lets the page through that a resolved fault is about. */
static enum event install(struct run *run, const struct fault *fault)
{
    struct machine *machine = fault->mm->machine;
    struct mmu_install install = {.va = page_of(fault->va),
                                  .table = fault->leaf.table,
                                  .slot = fault->leaf.first,
                                  .upper_writable = fault->leaf.upper_writable,
                                  .most_pages = machine->map_ahead_pages};

    return machine->mmu->ops->install(run->space, &install) == 0 ? FAULT_PERMITTED : EVENT_BAD_OOM;
}

static enum run_verdict fault_locked(struct run *run, va_t va, enum access access)
{
    struct task *task = run->task;
    struct machine *machine = task->machine;
    struct fault fault = {.mm = task->mm, .va = va, .access = access, .task_id = task->id};

    machine->current = task;
    if (task->dying)
        return RUN_KILLED;
    guard_against_repeats(run, va, access);
    enum event result = fault_resolve(&fault);

    bool is_refill = result == FAULT_PERMITTED && fault.steps == 0;

    event_count(&machine->events, is_refill ? EVENT_REFILL : EVENT_FAULT, 1);
    if (result == FAULT_PERMITTED)
        result = install(run, &fault);
    if (result == FAULT_PERMITTED)
        return RUN_RETRY;
    condemn(task, result, va);
    return RUN_KILLED;
}

enum run_verdict run_fault(struct run *run, va_t va, enum access access)
{
    machine_lock(run->task->machine);
    enum run_verdict verdict = fault_locked(run, va, access);

    machine_unlock(run->task->machine);
    return verdict;
}

enum run_verdict run_wild_access(struct run *run, va_t va, enum access access)
{
    (void)access;
    machine_lock(run->task->machine);
    if (!run->task->dying) {
        event_count(&run->task->machine->events, EVENT_FAULT, 1);
        condemn(run->task, EVENT_BAD_MAPERR, va);
    }
    machine_unlock(run->task->machine);
    return RUN_KILLED;
}

/*
 * Gets a window for the task's address space, if it has none, and enters user mode in it. One lock
 * over both: between them the MMU could give the window to another address space.
 */
static int enter_locked(struct run *run)
{
    struct machine *machine = run->task->machine;
    struct mm *mm = run->task->mm;
    int error = 0;

    if (mm->space == NULL)
        error = machine->mmu->ops->bind(machine->mmu, &mm->tree, &mm->space);
    return error != 0 ? error : machine->mmu->ops->enter(mm->space, run);
}

static int enter_user_mode(struct run *run)
{
    machine_lock(run->task->machine);
    int error = enter_locked(run);

    machine_unlock(run->task->machine);
    return error;
}

static void leave_user_mode(struct run *run)
{
    run->task->machine->mmu->ops->leave(run->space, run);
    run->space = NULL;
    /* What the outer run had let through may have gone for the sake of this one. */
    if (run->outer != NULL)
        run->outer->fault_repeats = 0;
}

static int claim_locked(struct task *task, struct run *run)
{
    if (task->state == TASK_ZOMBIE)
        return -ESRCH;
    if (task->state == TASK_RUNNING || task->borrower != NULL)
        return -EBUSY;
    int error = enter_locked(run);

    if (error != 0)
        return error;
    task->state = TASK_RUNNING;
    task->run = run;
    task->runner = pthread_self();
    return 0;
}

/* Makes this thread the task's, in user mode. */
static int claim(struct task *task, struct run *run)
{
    machine_lock(task->machine);
    int error = claim_locked(task, run);

    machine_unlock(task->machine);
    return error;
}

/* Back from user mode for good: 0 if the task lives on, 1 if it has ended. */
static int release(const struct session *session)
{
    struct task *task = session->run.task;
    struct machine *machine = task->machine;

    machine_lock(machine);
    if (session->exits && !task->dying) {
        task->status = (struct task_status){.exit_code = session->exit_code};
        task->dying = true;
    }
    bool ended = task->dying;

    task->run = NULL;
    task->state = TASK_READY;
    if (ended)
        task_end_locked(task);
    machine_unlock(machine);
    return ended ? 1 : 0;
}

/* Calls user code until it returns or escapes. */
static void call_user(struct session *session)
{
    struct run *run = &session->run;
    user_function *function = session->function;
    void *argument = session->argument;

    session->function = NULL;
    if (_setjmp(run->escape) != 0)
        return;
    va_t stack = run->task->mm->stack_pointer - RETURN_WORD_BYTES;

    forklab_store64(&run->user, stack, (uintptr_t)argument);
    function(&run->user, argument);
}

int task_run(struct task *task, user_function *function, void *argument)
{
    struct session session = {.run = {.task = task}, .function = function, .argument = argument};
    int error = claim(task, &session.run);

    if (error != 0)
        return error;
    struct run *interrupted = innermost;

    innermost = &session.run;
    for (;;) {
        call_user(&session);
        if (session.run.space != NULL)
            leave_user_mode(&session.run);
        if (session.function == NULL)
            break;
        error = enter_user_mode(&session.run);
        if (error != 0)
            break;
    }
    innermost = interrupted;
    int ended = release(&session);

    return error != 0 ? error : ended;
}

_Noreturn void user_exit(struct forklab_user *user, int exit_code)
{
    struct session *session = session_of(run_of_user(user));

    session->exits = true;
    session->exit_code = exit_code;
    run_escape(&session->run);
}

int user_exec(struct forklab_user *user, struct object *file, const char *const arguments[],
              user_function *function, void *argument)
{
    struct run *run = run_of_user(user);
    struct task *task = run->task;
    struct exec_plan plan;
    char problem[1];
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    error = exec_prepare_locked(task->machine, file, arguments, &plan, problem, sizeof(problem));
    if (error != 0) {
        machine_unlock(task->machine);
        return error;
    }
    leave_user_mode(run);
    error = exec_commit_locked(task, &plan);
    if (error != 0)
        condemn(task, EVENT_BAD_OOM, task->mm->user_end);
    machine_unlock(task->machine);
    session_of(run)->function = error == 0 ? function : NULL;
    session_of(run)->argument = argument;
    run_escape(run);
}
