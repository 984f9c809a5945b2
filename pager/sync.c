/* SPDX-License-Identifier: GPL-2.0-or-later */
/* msync: shared mappings of files are written back. */
#include <errno.h>

#include "pager/abi.h"
#include "pager/advice.h"
#include "pager/advise.h"
#include "pager/file.h"

static int write_back(struct mm *mm, const struct vma *vma, va_t start, va_t end)
{
    uint64_t first = vma_object_page(vma, start);

    return object_write_back_locked(mm->machine, vma->object, first,
                                    first + ((end - start) >> PAGE_SHIFT));
}

static int sync_part(struct mm *mm, const struct vma *vma, va_t start, va_t end, uint32_t flags)
{
    if ((flags & ABI_MS_INVALIDATE) && (vma->flags & VMA_LOCKED))
        return -EBUSY;
    if ((flags & ABI_MS_SYNC) && vma->object != NULL && !vma_is_private(vma))
        return write_back(mm, vma, start, end);
    return 0;
}

/* Holes are passed over, and then it is -ENOMEM; with MS_ASYNC alone, which does nothing, at once.
 */
static int sync_range(struct mm *mm, va_t start, va_t end, uint32_t flags)
{
    int result = 0;
    va_t from;

    while (start < end) {
        va_t expected = start;
        const struct vma *vma = vma_part_next(mm, &start, end, &from);

        if (vma == NULL)
            return -ENOMEM;
        if (from > expected)
            result = -ENOMEM;
        if (result != 0 && flags == ABI_MS_ASYNC)
            return result;
        int error = sync_part(mm, vma, from, start, flags);

        if (error != 0)
            return error;
    }
    return result;
}

static bool flags_are_good(uint32_t flags)
{
    uint32_t both = ABI_MS_ASYNC | ABI_MS_SYNC;

    return (flags & ~(both | ABI_MS_INVALIDATE)) == 0 && (flags & both) != both;
}

int sys_msync(struct task *task, va_t start, uint64_t bytes, uint32_t flags)
{
    uint64_t rounded = round_up(bytes, PAGE_BYTES); /* to nothing if it wraps, as in Linux */

    if (!flags_are_good(flags) || start % PAGE_BYTES != 0)
        return -EINVAL;
    if (start + rounded < start)
        return -ENOMEM;
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    error = sync_range(task->mm, start, start + rounded, flags);
    machine_unlock(task->machine);
    return error;
}
