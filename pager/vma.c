/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VMAs; vma.h has the terms. Everything here is done with the machine's lock held. */
#include "pager/vma.h"

#include <assert.h>

#include "pager/machine.h"
#include "pager/mm.h"
#include "pager/object.h"

int vma_reserve(struct mm *mm, uint32_t more)
{
    int error = pool_reserve(&mm->machine->vmas, more);

    return error != 0 ? error : mm->index.ops->reserve(&mm->index, more);
}

static struct vma *vma_make(struct mm *mm, const struct vma_shape *shape)
{
    struct vma *vma = pool_take(&mm->machine->vmas);

    vma->start = shape->start;
    vma->end = shape->end;
    vma->flags = shape->flags;
    vma->mm = mm;
    vma->object_page = shape->object_page;
    if (shape->object != NULL)
        object_add_vma(shape->object, vma);
    return vma;
}

struct vma *vma_insert(struct mm *mm, const struct vma_shape *shape)
{
    struct vma *vma = vma_make(mm, shape);

    mm->index.ops->insert(&mm->index, vma);
    return vma;
}

struct vma *vma_append(struct mm *mm, const struct vma_shape *shape)
{
    struct vma *vma = vma_make(mm, shape);

    mm->index.ops->append(&mm->index, vma);
    return vma;
}

static void vma_give(struct vma *vma)
{
    struct machine *machine = vma->mm->machine;

    if (vma->object != NULL)
        object_remove_vma(machine, vma);
    pool_give(&machine->vmas, vma);
}

void vma_remove(struct vma *vma)
{
    vma->mm->index.ops->remove(&vma->mm->index, vma);
    vma_give(vma);
}

void vma_remove_all(struct mm *mm)
{
    struct vma *vma = vma_find(mm, 0);

    while (vma != NULL) {
        struct vma *next = vma_next(vma);

        vma_give(vma);
        vma = next;
    }
    mm->index.ops->destroy(&mm->index);
}

struct vma *vma_split(struct vma *vma, va_t at)
{
    assert(vma->start < at && at < vma->end);
    struct vma_shape upper = {.start = at,
                              .end = vma->end,
                              .flags = vma->flags,
                              .object = vma->object,
                              .object_page = vma_object_page(vma, at)};

    vma->end = at;
    return vma_insert(vma->mm, &upper);
}

bool vma_continues(const struct vma *lower, const struct vma *upper)
{
    if (lower->end != upper->start || lower->object != upper->object)
        return false;
    if (((lower->flags ^ upper->flags) & ~VMA_ANCESTRY) != 0)
        return false;
    return lower->object == NULL || vma_object_page(lower, lower->end) == upper->object_page;
}

/* Joins two neighbours into the lower one. */
static struct vma *vma_join(struct vma *lower, struct vma *upper)
{
    va_t end = upper->end;
    uint32_t ancestry = upper->flags & VMA_ANCESTRY;

    vma_remove(upper);
    lower->end = end;
    lower->flags |= ancestry;
    return lower;
}

struct vma *vma_merge(struct vma *vma)
{
    struct vma *next = vma_next(vma);

    if (next != NULL && vma_continues(vma, next))
        vma = vma_join(vma, next);
    struct vma *previous = vma_previous(vma);

    if (previous != NULL && vma_continues(previous, vma))
        vma = vma_join(previous, vma);
    return vma;
}

void vma_remove_range(struct mm *mm, va_t start, va_t end)
{
    struct vma *vma = vma_find(mm, start);

    if (vma != NULL && vma->start < start)
        vma = vma_split(vma, start);
    while (vma != NULL && vma->start < end) {
        if (vma->end > end)
            vma_split(vma, end);
        struct vma *next = vma_next(vma);

        vma_remove(vma);
        vma = next;
    }
}

struct vma *vma_find(struct mm *mm, va_t va)
{
    return mm->index.ops->find(&mm->index, va);
}

struct vma *vma_next(const struct vma *vma)
{
    return vma->mm->index.ops->next(&vma->mm->index, vma);
}

struct vma *vma_previous(const struct vma *vma)
{
    return vma->mm->index.ops->previous(&vma->mm->index, vma);
}

bool vma_any_in(struct mm *mm, va_t start, va_t end)
{
    const struct vma *vma = vma_find(mm, start);

    return vma != NULL && vma->start < end;
}
