/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exec in two halves, so that a failing one keeps the old program.
 *
 *   prepare   makes a new address space with the program's segments mapped from their file; can
 *             fail
 *   commit    the point of no return: the old address space goes, its frames and its window become
 *             free for the new one (after vfork it stays with the parent), and the arguments are
 *             put on the new stack
 */
#ifndef FORKLAB_PAGER_EXEC_H
#define FORKLAB_PAGER_EXEC_H

#include "pager/object.h"
#include "pager/task.h"

/* The argument words as they will lie at the top of the stack. */
struct exec_arguments {
    size_t bytes; /* a multiple of 16 */
    size_t count;
    char data[PAGE_BYTES / 2];
};

struct exec_plan {
    struct mm *mm;
    struct exec_arguments arguments;
};

/*
 * -ENOEXEC, -EACCES (not a file), -E2BIG (the arguments take more than half a page), -ENOMEM, -EIO,
 * with nothing changed. The lock is held from here to the end of exec_commit_locked(), so that what
 * was reserved for the new stack stays there.
 */
int exec_prepare_locked(struct machine *machine, struct object *file, const char *const arguments[],
                        struct exec_plan *plan, char *problem, size_t problem_bytes);

/*
 * The task does not run in the old address space now. Memory for this was reserved; should a
 * request for it be refused all the same (tests do that), -ENOMEM, and the task cannot go on.
 */
int exec_commit_locked(struct task *task, struct exec_plan *plan);

#endif
