/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bringing pages in before they are touched: MAP_POPULATE, mlock, MADV_POPULATE_*. */
#include <errno.h>

#include "pager/advice.h"
#include "pager/advise.h"
#include "pager/fault.h"

static int populate_page(struct mm *mm, va_t va, enum access access)
{
    struct fault fault = {.mm = mm, .va = va, .access = access};
    enum event result = fault_resolve(&fault);

    if (result == FAULT_PERMITTED)
        return 0;
    return result == EVENT_BAD_OOM ? -ENOMEM : -EFAULT;
}

static int populate_part(struct mm *mm, va_t start, va_t end, enum access access)
{
    int error = 0;

    for (va_t va = start; error == 0 && va < end; va += PAGE_BYTES)
        error = populate_page(mm, va, access);
    return error;
}

/* Private pages are copied now, not at their first write; shared ones are not made dirty. */
static enum access usual_access(const struct vma *vma)
{
    return vma_is_private(vma) && (vma->flags & VMA_WRITE) ? ACCESS_WRITE : ACCESS_READ;
}

int populate_locked(struct mm *mm, va_t start, va_t end)
{
    int error = 0;
    va_t from;

    while (error == 0 && start < end) {
        va_t expected = start;
        const struct vma *vma = vma_part_next(mm, &start, end, &from);

        if (vma == NULL || from > expected)
            return -ENOMEM;
        error = populate_part(mm, from, start, usual_access(vma));
    }
    return error;
}

/* Reading asks for the right to read itself, though writable pages are readable. */
int populate_for_access(struct mm *mm, va_t start, va_t end, enum access access)
{
    uint32_t right = access == ACCESS_WRITE ? VMA_WRITE : VMA_READ;
    int error = 0;
    va_t from;

    while (error == 0 && start < end) {
        va_t expected = start;
        const struct vma *vma = vma_part_next(mm, &start, end, &from);

        if (vma == NULL || from > expected)
            return -ENOMEM;
        error = vma->flags & right ? populate_part(mm, from, start, access) : -EINVAL;
    }
    return error;
}
