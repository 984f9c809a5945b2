/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own access to user memory: through the tables and the direct map, never through a
 * window. It faults pages in and breaks COW as user code would, and answers -EFAULT where user code
 * would be killed. Bytes before the bad page may have been copied.
 */
#ifndef FORKLAB_PAGER_USER_COPY_H
#define FORKLAB_PAGER_USER_COPY_H

#include "pager/task.h"

/* To and from a task's memory. -EFAULT, -ENOMEM, -ESRCH. */
int copyout(struct task *task, va_t va, const void *data, size_t bytes);
int copyin(struct task *task, void *data, va_t va, size_t bytes);

/* Length of the string at `va`, at most `most`; -EFAULT when it runs into what is not readable. */
int strnlen_user(struct task *task, va_t va, size_t most, size_t *length);

/* The same with the lock held. */
int user_copy_out_locked(struct mm *mm, va_t va, const void *data, size_t bytes);
int user_copy_in_locked(struct mm *mm, void *data, va_t va, size_t bytes);
int user_clear_locked(struct mm *mm, va_t va, size_t bytes);

#endif
