/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks: forked, run, ended, waited for.
 *
 *   READY     has an address space; nobody runs it
 *   RUNNING   some thread is in task_run() with it
 *   ZOMBIE    ended; its parent has not waited for it yet. The address space is gone
 *
 * fork does not return twice: it gives a child task, which runs when some thread calls task_run()
 * on it. A task whose parent has ended is reaped at its own end.
 *
 * A task is suspended while a child of vfork has its address space: vfork.c.
 */
#ifndef FORKLAB_PAGER_TASK_H
#define FORKLAB_PAGER_TASK_H

#include <pthread.h>

#include "pager/mm.h"
#include "pager/user.h"

struct run;

enum task_state { TASK_READY, TASK_RUNNING, TASK_ZOMBIE };

/* How a task ended. */
struct task_status {
    bool killed;
    int exit_code;    /* of a task that exited */
    enum event cause; /* of one that was killed: EVENT_BAD_*; EVENT_EXIT: by task_kill() */
    va_t address;     /* of the bad access */
};

struct task {
    uint32_t id;
    enum task_state state;
    bool dying; /* its status is set; it ends at its next fault or call */
    struct machine *machine;
    struct mm *mm;
    struct task *parent;
    struct task *lender;   /* after vfork: who waits for its address space back, or NULL */
    struct task *borrower; /* the other way round: this task is suspended */
    struct run *run;       /* of the thread that runs it */
    pthread_t runner;      /* that thread, while state is TASK_RUNNING */
    struct task_status status;
    struct find_slots find_slots;
    struct task *next; /* the machine's list */
    struct task *previous;
};

typedef void user_function(struct forklab_user *user, void *argument);

/* The first task: an address space with a stack and nothing else. -ENOMEM. */
int task_create(struct machine *machine, struct task **task);

/*
 * fork: a copy of the task, READY. -ENOMEM, and then the parent is as it was but for entries that
 * may stay write-protected.
 */
int sys_fork(struct task *parent, struct task **child);

/*
 * vfork: a child in the same address space. The parent is suspended until the child execs or ends:
 * running it, and its calls, are -EBUSY meanwhile. Nothing holds back user code of the parent that
 * runs already: it should run the child, and touch its memory when the child is through with it.
 * -ENOMEM.
 */
int sys_vfork(struct task *parent, struct task **child);

/*
 * Runs user code as this task, on this thread and stack, until the function returns (0: the task
 * lives on), or the task ends (1: it is a zombie, or gone if it had no parent). A return word is
 * pushed on the emulated stack first. -EBUSY: somebody runs it, or it is suspended; -ESRCH: it has
 * ended; -ENOMEM, -ENOSPC, -EPERM: user mode cannot be entered, and machine->mmu->problem says why.
 */
int task_run(struct task *task, user_function *function, void *argument);

/* Ends the task: at once if nobody runs it, else at its next fault or call. A suspended one too. */
void task_kill(struct task *task);

/* Ends a task that nobody runs with that exit code. -EBUSY (suspended, too), -ESRCH. */
int task_exit(struct task *task, int exit_code);

/*
 * wait: reaps a child that has ended, waiting for one that runs on another thread. `child` NULL
 * means any. -ECHILD: there is no such child; -EDEADLK: nobody but this thread runs it, so waiting
 * would never end; -EINTR: the parent was killed meanwhile, and this is not the thread, or not the
 * run, in which it can end. Nobody may end a waiting parent that nobody runs.
 */
int sys_wait(struct task *parent, struct task *child, struct task_status *status);

/*
 * exec: replaces the address space by the program in an open file, with the argument words on its
 * stack. A failing exec keeps the old one: -ENOEXEC with one line in `problem` (may be NULL),
 * -EACCES (not a file), -E2BIG (more than half a page of arguments), -ENOMEM, -EIO, -EBUSY
 * (somebody runs the task), -ESRCH. The file's instructions are not executed. For a task that
 * nobody runs; user code calls user_exec().
 */
int sys_exec(struct task *task, struct object *file, const char *const arguments[], char *problem,
             size_t problem_bytes);

/* What user code calls. The task of a user handle: */
struct task *user_task(struct forklab_user *user);

/* Ends the calling task. */
_Noreturn void user_exit(struct forklab_user *user, int exit_code);

/* exec of the calling task: goes on in `function`, in the new address space; returns on failure. */
int user_exec(struct forklab_user *user, struct object *file, const char *const arguments[],
              user_function *function, void *argument);

/* With the lock held: makes the task a zombie, or reaps it if nobody will wait for it. */
void task_end_locked(struct task *task);
void task_end_all_locked(struct machine *machine);
int task_allocate_locked(struct machine *machine, struct mm *mm, struct task *parent,
                         struct task **task);

/* Gives up the task's address space, which it no longer runs in: after vfork it is the lender's. */
void task_leave_mm_locked(struct task *task);

/*
 * A call into the kernel by or for this task: 0 with the machine's lock held, or without it -ESRCH
 * when the task has ended, -EBUSY when it is suspended. A task that was killed while it ran ends
 * here, if this is the thread that runs it; -EINTR if a nested run stands in between, which has to
 * end first.
 */
int task_enter_kernel(struct task *task);

#endif
