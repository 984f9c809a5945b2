/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * brk: the heap grows and shrinks by whole pages behind a break that may stand anywhere.
 *
 * It is private anonymous memory, which joins with what lies below it alone, in today's Linux only
 * with what reaches beyond the heap's start; a page is kept free above it. What of it was unmapped
 * by other calls stays so, and then it cannot shrink.
 */
#include <errno.h>

#include "pager/map.h"

/* The first mapping above must leave a page, and its guard gap if it grows down. */
static bool is_in_the_way(const struct mm *mm, const struct vma *next, va_t to)
{
    uint64_t gap = next->flags & VMA_GROWS_DOWN ? mm->stack_gap_bytes : 0;

    return to + PAGE_BYTES + gap > next->start;
}

static int grow_heap(struct mm *mm, va_t from, va_t to)
{
    struct vma_shape shape = {.start = from,
                              .end = to,
                              .flags = VMA_READ | VMA_WRITE | VMA_MAY_WRITE | VMA_ACCOUNT,
                              .object_page = from >> PAGE_SHIFT};
    struct vma *next = vma_find(mm, from);

    if (next != NULL && is_in_the_way(mm, next, to))
        return -ENOMEM;
    if (!mm_may_expand(mm, shape.flags, (to - from) >> PAGE_SHIFT))
        return -ENOMEM;
    int error = vma_room(mm, 0);

    if (error == 0)
        error = vma_reserve(mm, 1);
    if (error == 0)
        error = map_own_end_tables(mm, from, to);
    if (error != 0)
        return error;
    struct vma *previous = next != NULL ? vma_previous(next) : vma_last_below(mm, from);
    bool joins = previous != NULL &&
                 (previous->end > mm->heap_start || !mm->machine->kernel->merging->parts_heap);

    vma_map_behind(mm, &shape, joins ? previous : NULL);
    return 0;
}

static int shrink_heap(struct mm *mm, va_t from, va_t to)
{
    if (!vma_any_in(mm, to, from))
        return -EINVAL;
    return munmap_locked(mm, to, from - to);
}

static va_t brk_locked(struct mm *mm, va_t heap_end)
{
    va_t from = round_up(mm->heap_end, PAGE_BYTES);
    va_t to = round_up(heap_end, PAGE_BYTES);
    int error = 0;

    if (mm->heap_start == 0 || heap_end < mm->heap_start || heap_end > mm->map_top)
        return mm->heap_end;
    if (to > from)
        error = grow_heap(mm, from, to);
    else if (to < from)
        error = shrink_heap(mm, from, to);
    if (error == 0)
        mm->heap_end = heap_end;
    return mm->heap_end;
}

va_t sys_brk(struct task *task, va_t heap_end)
{
    if (task_enter_kernel(task) != 0)
        return 0;
    va_t now = brk_locked(task->mm, heap_end);

    machine_unlock(task->machine);
    return now;
}
