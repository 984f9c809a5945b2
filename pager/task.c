/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks: made, ended, reaped; task.h has the states. fork is in fork.c, vfork in vfork.c, exec in
 * exec.c, running in run.c. */
#include "pager/task.h"

#include <errno.h>

#include "pager/run.h"

int task_allocate_locked(struct machine *machine, struct mm *mm, struct task *parent,
                         struct task **task)
{
    int error = pool_reserve(&machine->tasks, 1);

    if (error != 0)
        return error;
    struct task *made = pool_take(&machine->tasks);

    made->id = ++machine->last_task_id;
    made->machine = machine;
    made->mm = mm;
    made->parent = parent;
    made->next = machine->task_list;
    if (machine->task_list != NULL)
        machine->task_list->previous = made;
    machine->task_list = made;
    *task = made;
    return 0;
}

static int create_locked(struct machine *machine, struct task **task)
{
    struct mm *mm;
    int error = mm_create(machine, &mm);

    if (error != 0)
        return error;
    error = mm_map_stack(mm);
    if (error == 0)
        error = task_allocate_locked(machine, mm, NULL, task);
    if (error != 0)
        mm_destroy(mm);
    return error;
}

int task_create(struct machine *machine, struct task **task)
{
    machine_lock(machine);
    int error = create_locked(machine, task);

    machine_unlock(machine);
    return error;
}

/* Takes an ended task out of the machine. */
static void reap(struct task *task)
{
    struct machine *machine = task->machine;

    if (task->previous != NULL)
        task->previous->next = task->next;
    else
        machine->task_list = task->next;
    if (task->next != NULL)
        task->next->previous = task->previous;
    if (machine->current == task)
        machine->current = NULL;
    pool_give(&machine->tasks, task);
}

/* Nobody will wait for the children of a task that ends. */
static void orphan_children(struct task *parent)
{
    struct task *task = parent->machine->task_list;

    while (task != NULL) {
        struct task *next = task->next;

        if (task->parent == parent) {
            task->parent = NULL;
            if (task->state == TASK_ZOMBIE)
                reap(task);
        }
        task = next;
    }
}

void task_end_locked(struct task *task)
{
    struct machine *machine = task->machine;

    task_leave_mm_locked(task);
    task->mm = NULL;
    task->run = NULL;
    task->state = TASK_ZOMBIE;
    event_count(&machine->events, EVENT_EXIT, 1);
    orphan_children(task);
    if (task->parent == NULL)
        reap(task);
    else
        pthread_cond_broadcast(&machine->child_ended);
}

void task_end_all_locked(struct machine *machine)
{
    while (machine->task_list != NULL) {
        struct task *task = machine->task_list;

        task->parent = NULL;
        if (task->state == TASK_ZOMBIE)
            reap(task);
        else
            task_end_locked(task);
    }
}

/* Everything that task_enter_kernel() promises, but that suspended tasks come in too. */
static int enter_kernel(struct task *task)
{
    machine_lock(task->machine);
    task->machine->current = task;
    if (task->state == TASK_ZOMBIE) {
        machine_unlock(task->machine);
        return -ESRCH;
    }
    if (!task->dying || task->run == NULL || !pthread_equal(task->runner, pthread_self()))
        return 0;
    struct run *run = task->run;

    machine_unlock(task->machine);
    if (!run_is_innermost(run))
        return -EINTR; /* it ends when the run that interrupted it is over */
    run_escape(run);
}

int task_enter_kernel(struct task *task)
{
    int error = enter_kernel(task);

    if (error != 0 || task->borrower == NULL)
        return error;
    machine_unlock(task->machine);
    return -EBUSY;
}

void task_kill(struct task *task)
{
    struct machine *machine = task->machine;

    if (enter_kernel(task) != 0)
        return;
    if (!task->dying) {
        task->status = (struct task_status){.killed = true, .cause = EVENT_EXIT};
        task->dying = true;
        if (task->state == TASK_RUNNING) {
            mm_revoke(task->mm, 0, task->mm->user_end);
            pthread_cond_broadcast(&machine->child_ended); /* it may be waiting for a child */
        } else {
            task_end_locked(task);
        }
    }
    machine_unlock(machine);
}

int task_exit(struct task *task, int exit_code)
{
    struct machine *machine = task->machine;
    int error = 0;

    machine_lock(machine);
    if (task->state == TASK_RUNNING || task->borrower != NULL)
        error = -EBUSY;
    else if (task->state == TASK_ZOMBIE)
        error = -ESRCH;
    if (error == 0) {
        task->status = (struct task_status){.exit_code = exit_code};
        task_end_locked(task);
    }
    machine_unlock(machine);
    return error;
}

/* A child that can be waited for: one that has ended, else one that runs, else any. */
static struct task *find_child(const struct task *parent, const struct task *wanted)
{
    struct task *found = NULL;

    for (struct task *task = parent->machine->task_list; task != NULL; task = task->next) {
        if (task->parent != parent || (wanted != NULL && task != wanted))
            continue;
        if (task->state == TASK_ZOMBIE)
            return task;
        if (found == NULL || task->state == TASK_RUNNING)
            found = task;
    }
    return found;
}

/* A task that is killed while it waits does not wait on: it ends here, if this is its thread. */
static int interrupted_wait(struct task *parent)
{
    machine_unlock(parent->machine);
    int error = task_enter_kernel(parent);

    if (error != 0)
        return error;
    machine_unlock(parent->machine);
    return -EINTR;
}

static bool runs_elsewhere(const struct task *task)
{
    return task->state == TASK_RUNNING && !pthread_equal(task->runner, pthread_self());
}

int sys_wait(struct task *parent, struct task *child, struct task_status *status)
{
    struct machine *machine = parent->machine;

    int error = task_enter_kernel(parent);

    if (error != 0)
        return error;
    struct task *found = find_child(parent, child);

    while (found != NULL && runs_elsewhere(found)) {
        machine_wait_for_child(machine);
        found = find_child(parent, child);
        if (found != NULL && parent->dying)
            return interrupted_wait(parent);
    }
    if (found == NULL)
        error = -ECHILD;
    else if (found->state != TASK_ZOMBIE)
        error = -EDEADLK; /* nobody runs it, or this thread does */
    if (error == 0) {
        *status = found->status;
        reap(found);
    }
    machine_unlock(machine);
    return error;
}
