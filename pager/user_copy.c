/* SPDX-License-Identifier: GPL-2.0-or-later */
/* copyin, copyout and their kin; user_copy.h says what they promise. */
#include "pager/user_copy.h"

#include <errno.h>
#include <string.h>

#include "pager/fault.h"

/* Where the byte lies in the direct map once the access is permitted. */
static int reach(struct mm *mm, va_t va, enum access access, bool force, uint8_t **bytes)
{
    struct fault fault = {.mm = mm, .va = va, .access = access};
    enum event result = force ? fault_resolve_exclusive(&fault) : fault_resolve(&fault);

    if (result != FAULT_PERMITTED)
        return result == EVENT_BAD_OOM ? -ENOMEM : -EFAULT;
    *bytes = frame_data(mm->tree.ram, entry_pfn(fault.entry)) + va % PAGE_BYTES;
    return 0;
}

static size_t within_page(va_t va, size_t bytes)
{
    return (size_t)min_u64(bytes, PAGE_BYTES - va % PAGE_BYTES);
}

int user_copy_out_locked(struct mm *mm, va_t va, const void *data, size_t bytes)
{
    const uint8_t *from = data;

    while (bytes > 0) {
        size_t part = within_page(va, bytes);
        uint8_t *to;
        int error = reach(mm, va, ACCESS_WRITE, false, &to);

        if (error != 0)
            return error;
        memcpy(to, from, part);
        from += part;
        va += part;
        bytes -= part;
    }
    return 0;
}

int user_copy_in_locked(struct mm *mm, void *data, va_t va, size_t bytes)
{
    uint8_t *to = data;

    while (bytes > 0) {
        size_t part = within_page(va, bytes);
        uint8_t *from;
        int error = reach(mm, va, ACCESS_READ, false, &from);

        if (error != 0)
            return error;
        memcpy(to, from, part);
        to += part;
        va += part;
        bytes -= part;
    }
    return 0;
}

/* Zeros within one page, whatever the mapping's rights: the tail of a program's data. */
int user_clear_locked(struct mm *mm, va_t va, size_t bytes)
{
    uint8_t *to;
    int error = reach(mm, va, ACCESS_READ, true, &to);

    if (error == 0)
        memset(to, 0, within_page(va, bytes));
    return error;
}

int copyout(struct task *task, va_t va, const void *data, size_t bytes)
{
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    error = user_copy_out_locked(task->mm, va, data, bytes);
    machine_unlock(task->machine);
    return error;
}

int copyin(struct task *task, void *data, va_t va, size_t bytes)
{
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    error = user_copy_in_locked(task->mm, data, va, bytes);
    machine_unlock(task->machine);
    return error;
}

static int strnlen_locked(struct mm *mm, va_t va, size_t most, size_t *length)
{
    *length = 0;
    while (*length < most) {
        size_t part = within_page(va + *length, most - *length);
        uint8_t *from;
        int error = reach(mm, va + *length, ACCESS_READ, false, &from);

        if (error != 0)
            return error;
        size_t found = strnlen((const char *)from, part);

        *length += found;
        if (found < part)
            return 0;
    }
    return 0;
}

int strnlen_user(struct task *task, va_t va, size_t most, size_t *length)
{
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    error = strnlen_locked(task->mm, va, most, length);
    machine_unlock(task->machine);
    return error;
}
