/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VMAs; vma.h has the terms. Everything here is done with the machine's lock held. */
#include "pager/vma.h"

#include <assert.h>

#include "pager/anon_family.h"
#include "pager/machine.h"
#include "pager/mm.h"
#include "pager/object.h"

int vma_reserve(struct mm *mm, uint32_t more)
{
    struct machine *machine = mm->machine;
    int error = pool_reserve(&machine->vmas, more);

    if (error == 0)
        error = mm->index.ops->reserve(&mm->index, more);
    if (error == 0) /* each may be linked as often as any, and so may one that takes over another */
        error = pool_reserve(&machine->anon_links, (size_t)(more + 1) * mm->most_links);
    return error;
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
    anon_family_leave(vma);
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
    struct vma *made = vma_insert(vma->mm, &upper);

    anon_family_copy(made, vma);
    return made;
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

struct vma *vma_last_below(struct mm *mm, va_t va)
{
    struct vma *vma = va > 0 ? vma_find(mm, va - 1) : NULL;

    if (va == 0)
        return NULL;
    if (vma != NULL)
        return vma->start < va ? vma : vma_previous(vma);
    vma = vma_find(mm, 0);
    while (vma != NULL && vma_next(vma) != NULL)
        vma = vma_next(vma);
    return vma;
}

bool vma_any_in(struct mm *mm, va_t start, va_t end)
{
    const struct vma *vma = vma_find(mm, start);

    return vma != NULL && vma->start < end;
}
