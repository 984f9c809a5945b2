/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlock and munlock: a flag of VMAs, and pages brought in at once.
 *
 * A table with a locked VMA in its span is copied at fork, never shared, and the child's VMAs are
 * not locked. The range need not be aligned; one that wraps to nothing is nothing, as in Linux.
 */
#include <errno.h>

#include "pager/advice.h"
#include "pager/advise.h"

/* Up to the first hole, which is -ENOMEM: what lies before it is marked all the same. */
static int lock_reach(struct mm *mm, va_t start, va_t end, va_t *reach)
{
    va_t from;

    for (*reach = start; *reach < end;) {
        va_t expected = *reach;

        if (vma_part_next(mm, reach, end, &from) == NULL || from > expected) {
            *reach = expected;
            return -ENOMEM;
        }
    }
    return 0;
}

/*
 * The whole pages that the bytes touch; `end` == `start` where there are none. -EINVAL: it wraps.
 */
static int lock_range(va_t *start, uint64_t bytes, va_t *end)
{
    uint64_t rounded = round_up(bytes + *start % PAGE_BYTES, PAGE_BYTES);

    *start = page_of(*start);
    *end = *start + rounded;
    return *end < *start ? -EINVAL : 0;
}

static int change_locked(struct mm *mm, va_t start, va_t end, const struct flag_change *change)
{
    va_t reach;
    int result = lock_reach(mm, start, end, &reach);
    int error = reach > start ? flags_reserve(mm, start, reach, change) : 0;

    if (error == 0)
        error = flags_change(mm, start, reach, change);
    return error != 0 ? error : result;
}

static int lock_locked(struct mm *mm, va_t start, va_t end)
{
    static const struct flag_change lock = {.set = VMA_LOCKED};
    int error = change_locked(mm, start, end, &lock);

    if (error != 0)
        return error;
    error = populate_locked(mm, start, end);
    if (error == -EFAULT)
        return -ENOMEM; /* what POSIX has for a page that cannot be had */
    return error == -ENOMEM ? -EAGAIN : error;
}

int sys_mlock(struct task *task, va_t start, uint64_t bytes)
{
    va_t end;
    int error = lock_range(&start, bytes, &end);

    if (error == 0)
        error = task_enter_kernel(task);
    if (error != 0)
        return error;
    error = lock_locked(task->mm, start, end);
    machine_unlock(task->machine);
    return error;
}

int sys_munlock(struct task *task, va_t start, uint64_t bytes)
{
    static const struct flag_change unlock = {.clear = VMA_LOCKED};
    va_t end;
    int error = lock_range(&start, bytes, &end);

    if (error == 0)
        error = task_enter_kernel(task);
    if (error != 0)
        return error;
    error = change_locked(task->mm, start, end, &unlock);
    machine_unlock(task->machine);
    return error;
}
