/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VMAs; vma.h has the terms. Everything here is done with the machine's lock held. */
#include "pager/vma.h"

#include <assert.h>

#include "pager/anon_family.h"
#include "pager/machine.h"
#include "pager/mm.h"
#include "pager/object.h"

static int reserve_in_index(struct vma_index *index, uint32_t more)
{
    return index->ops->reserve != NULL ? index->ops->reserve(index, more) : 0;
}

int vma_reserve(struct mm *mm, uint32_t more)
{
    struct machine *machine = mm->machine;
    int error = pool_reserve(&machine->vmas, more);

    if (error == 0)
        error = reserve_in_index(&mm->index, more);
    if (error == 0) /* each may be linked as often as any, and so may one that takes over another */
        error = pool_reserve(&machine->anon_links, (size_t)(more + 1) * mm->most_links);
    return error;
}

int vma_reserve_copy(struct mm *mm, const struct mm *from)
{
    const struct vma_index_ops *ops = mm->index.ops;
    int error = pool_reserve(&mm->machine->vmas, from->index.count);

    if (error != 0)
        return error;
    return ops->reserve_copy != NULL ? ops->reserve_copy(&mm->index, &from->index)
                                     : reserve_in_index(&mm->index, from->index.count);
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

struct vma *vma_make_like(struct mm *mm, const struct vma *vma)
{
    struct vma *made = pool_take_uncleared(&mm->machine->vmas);

    *made = *vma;
    made->mm = mm;
    made->family = NULL;
    made->links = NULL;
    if (vma->object != NULL)
        object_add_vma(vma->object, made);
    return made;
}

void vma_duplicate_all(struct mm *mm, struct mm *from, vma_copier *copy, void *context)
{
    const struct vma_index_ops *ops = mm->index.ops;

    if (ops->duplicate != NULL) {
        ops->duplicate(&mm->index, &from->index, copy, context);
        return;
    }
    for (struct vma *vma = vma_first(from); vma != NULL; vma = vma_next(vma)) {
        struct vma *made = copy(context, vma);

        if (made != NULL)
            ops->append(&mm->index, made);
    }
}

void vma_set_range(struct vma *vma, va_t start, va_t end)
{
    struct vma_index *index = &vma->mm->index;

    if (index->ops->set_range != NULL) {
        index->ops->set_range(index, vma, start, end);
        return;
    }
    vma->start = start;
    vma->end = end;
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
    find_cache_forget(vma->mm);
    vma_give(vma);
}

void vma_remove_all(struct mm *mm)
{
    struct vma *vma = vma_first(mm);

    while (vma != NULL) {
        struct vma *next = vma_next(vma);

        vma_give(vma);
        vma = next;
    }
    if (mm->index.ops->destroy != NULL)
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

    vma_set_range(vma, vma->start, at);
    struct vma *made = vma_insert(vma->mm, &upper);

    anon_family_copy(made, vma);
    return made;
}

/* The VMA loses its part from `at` on. */
static void cut_tail(struct vma *vma, va_t at)
{
    anon_family_shrink(vma, vma_object_page(vma, at), (vma->end - at) >> PAGE_SHIFT);
    vma_set_range(vma, vma->start, at);
}

/* The VMA loses its part up to `at`. */
static void cut_head(struct vma *vma, va_t at)
{
    uint64_t pages = (at - vma->start) >> PAGE_SHIFT;

    anon_family_shrink(vma, vma->object_page, pages);
    vma->object_page += pages;
    vma->left_apart = false;
    vma_set_range(vma, at, vma->end);
}

/* Removes what of the VMA lies in the range; returns the next one. */
static struct vma *remove_part(struct vma *vma, va_t start, va_t end)
{
    if (vma->start < start && vma->end > end)
        vma_split(vma, end);
    struct vma *next = vma_next(vma);

    if (vma->start < start)
        cut_tail(vma, start);
    else if (vma->end > end)
        cut_head(vma, end);
    else
        vma_remove(vma);
    return next;
}

void vma_remove_range(struct mm *mm, va_t start, va_t end)
{
    const struct free_space *free_space = mm->machine->kernel->free_space;
    struct vma *vma = vma_look(mm, start);

    if (vma == NULL || vma->start >= end)
        return;
    while (vma != NULL && vma->start < end)
        vma = remove_part(vma, start, end);
    find_cache_forget(mm);
    if (free_space->unmapped != NULL)
        free_space->unmapped(mm, start, end);
}

struct vma *vma_find(struct mm *mm, va_t va)
{
    const struct find_cache *cache = mm->machine->kernel->find_cache;
    struct vma *found;

    event_count(&mm->machine->events, EVENT_VMA_LOOKUP, 1);
    if (cache->ask != NULL && cache->ask(mm, va, &found))
        return found;
    found = mm->index.ops->find(&mm->index, va);
    if (found != NULL && cache->note != NULL)
        cache->note(mm, va, found);
    return found;
}

struct vma *vma_look(const struct mm *mm, va_t va)
{
    struct vma_index *index = (struct vma_index *)(uintptr_t)&mm->index;
    uint64_t steps = *index->steps;
    struct vma *found = index->ops->find(index, va);

    *index->steps = steps;
    return found;
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
    struct vma *vma = va > 0 ? vma_look(mm, va - 1) : NULL;

    if (va == 0)
        return NULL;
    if (vma == NULL)
        return mm->index.ops->last(&mm->index);
    return vma->start < va ? vma : vma_previous(vma);
}

bool vma_any_in(struct mm *mm, va_t start, va_t end)
{
    const struct vma *vma = vma_look(mm, start);

    return vma != NULL && vma->start < end;
}
