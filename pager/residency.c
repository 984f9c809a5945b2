/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mincore: which pages would be had without reading them in.
 *
 * A page that is mapped, the zero frame's too; or one of an object that the object has in memory,
 * wherever it is mapped and under whatever guard.
 */
#include <errno.h>

#include "pager/advice.h"
#include "pager/advise.h"
#include "pager/object.h"
#include "pager/user_copy.h"

/* A buffer's worth of pages is looked at, and told, at a time. */
enum { MOST_PAGES_AT_ONCE = 512 };

static bool is_resident(struct mm *mm, const struct vma *vma, va_t va)
{
    if (entry_is_present(pt_entry(&mm->tree, va)))
        return true;
    return vma->object != NULL && object_has_page(vma->object, vma_object_page(vma, va));
}

/* Pages from `va` on, within one VMA and at most so many: how many were told, or -ENOMEM. */
static int64_t look_at_pages(struct mm *mm, va_t va, uint64_t most, uint8_t *pages)
{
    const struct vma *vma = vma_look(mm, va);

    if (vma == NULL || !vma_contains(vma, va))
        return -ENOMEM;
    uint64_t count = min_u64(most, (vma->end - va) >> PAGE_SHIFT);

    for (uint64_t i = 0; i < count; i++)
        pages[i] = is_resident(mm, vma, va + i * PAGE_BYTES);
    return (int64_t)count;
}

/*
 * Can it all be the user's? Asked of the geometry: an address space that is small for its window's
 * sake refuses the rest as it does a hole.
 */
static bool is_user_range(const struct mm *mm, va_t start, uint64_t bytes)
{
    va_t user_end = mm->tree.geometry->user_end;

    return start <= user_end && bytes <= user_end - start;
}

/* What the call is about: -EINVAL, -ENOMEM. */
static int check_range(const struct mm *mm, va_t start, uint64_t bytes)
{
    if (start % PAGE_BYTES != 0)
        return -EINVAL;
    return is_user_range(mm, start, bytes) ? 0 : -ENOMEM;
}

static uint64_t pages_of(uint64_t bytes)
{
    return (bytes >> PAGE_SHIFT) + (bytes % PAGE_BYTES != 0);
}

static int mincore_locked(struct mm *mm, va_t start, uint64_t bytes, va_t vector)
{
    uint8_t pages[MOST_PAGES_AT_ONCE];
    uint64_t left = pages_of(bytes);
    int error = check_range(mm, start, bytes);

    if (error == 0 && !is_user_range(mm, vector, left))
        error = -EFAULT;
    while (error == 0 && left > 0) {
        int64_t count = look_at_pages(mm, start, min_u64(left, MOST_PAGES_AT_ONCE), pages);

        if (count < 0)
            return (int)count;
        error = user_copy_out_locked(mm, vector, pages, (size_t)count);
        start += (uint64_t)count * PAGE_BYTES;
        vector += (uint64_t)count;
        left -= (uint64_t)count;
    }
    return error;
}

int sys_mincore(struct task *task, va_t start, uint64_t bytes, va_t vector)
{
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    error = mincore_locked(task->mm, start, bytes, vector);
    machine_unlock(task->machine);
    return error;
}

static int tell_locked(struct mm *mm, va_t start, uint64_t bytes, uint8_t *pages)
{
    uint64_t left = pages_of(bytes);
    int error = check_range(mm, start, bytes);

    while (error == 0 && left > 0) {
        int64_t count = look_at_pages(mm, start, left, pages);

        if (count < 0)
            return (int)count;
        start += (uint64_t)count * PAGE_BYTES;
        pages += count;
        left -= (uint64_t)count;
    }
    return error;
}

int sys_mincore_to(struct task *task, va_t start, uint64_t bytes, uint8_t *pages)
{
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    error = tell_locked(task->mm, start, bytes, pages);
    machine_unlock(task->machine);
    return error;
}
