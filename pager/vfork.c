/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vfork: a child that borrows its parent's address space instead of copying it.
 *
 *   lender     the parent, suspended: running it, and its calls, are -EBUSY
 *   borrower   the child, until it execs or ends, in whatever way; then the lender goes on
 *
 * The address space counts its users and ends with the last one. A borrower may vfork in turn and
 * be suspended itself. A suspended task can be killed, as in Linux: then the borrower keeps the
 * address space and owes it to nobody; and whoever lent it to the task that was killed goes on
 * beside that borrower, in the same address space.
 *
 * Limits: nobody keeps user code of a lender that is in task_run() from touching its memory. The
 * borrower's runs push their return word where the lender's stand.
 */
#include <errno.h>

#include "pager/task.h"

static int vfork_locked(struct task *parent, struct task **child)
{
    int error = task_allocate_locked(parent->machine, parent->mm, parent, child);

    if (error != 0)
        return error;
    parent->mm->users++;
    parent->borrower = *child;
    (*child)->lender = parent;
    event_record(&parent->machine->events, EVENT_FORK, parent->id, 0, PFN_NONE);
    return 0;
}

int sys_vfork(struct task *parent, struct task **child)
{
    int error = task_enter_kernel(parent);

    if (error != 0)
        return error;
    error = vfork_locked(parent, child);
    machine_unlock(parent->machine);
    return error;
}

void task_leave_mm_locked(struct task *task)
{
    if (task->lender != NULL)
        task->lender->borrower = NULL;
    if (task->borrower != NULL)
        task->borrower->lender = NULL;
    task->lender = NULL;
    task->borrower = NULL;
    mm_put(task->mm);
}
