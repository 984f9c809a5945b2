/* SPDX-License-Identifier: GPL-2.0-or-later */
/* brk: the heap grows and shrinks by whole pages behind a break that may stand anywhere. */
#include "pager/map.h"

/* The heap is private anonymous memory that nothing else may stand in the way of. */
static int grow_heap(struct mm *mm, va_t from, va_t to)
{
    struct map_request request = {.address = from,
                                  .bytes = to - from,
                                  .protection = VMA_READ | VMA_WRITE,
                                  .flags = MAP_REQUEST_NOREPLACE};
    va_t address;

    return mmap_locked(mm, &request, &address);
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
        error = munmap_locked(mm, to, from - to);
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
