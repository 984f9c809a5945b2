/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mmap and munmap; map.h has the order of things. */
#include "pager/map.h"

#include <assert.h>
#include <errno.h>

#include "pager/advise.h"

static va_t span_end(const struct mm *mm, va_t va)
{
    return geometry_span_start(mm->tree.geometry, va) + geometry_span_bytes(mm->tree.geometry);
}

/*
 * A leaf table becomes this address space's own. Where every mapping of the span is shared, pages
 * may be written in the window; the copy's entries are clean, so the first write is to fault again.
 */
static int own_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct mm *mm = mm_of_tree(tree);
    bool was_written_through = leaf->upper_writable && table_is_shared(leaf->table);
    struct table *table;
    int error = table_for_one_at(tree, leaf, NULL, &table);

    (void)context;
    if (error == 0 && was_written_through)
        mm_write_protect(mm, geometry_span_start(tree->geometry, leaf->va), span_end(mm, leaf->va));
    return error;
}

int map_own_tables(struct mm *mm, va_t start, va_t end)
{
    static const struct pt_visitor visitor = {.leaf = own_leaf};

    return pt_walk(&mm->tree, start, end, &visitor, NULL);
}

static int own_table(struct mm *mm, va_t va)
{
    return map_own_tables(mm, page_of(va), page_of(va) + PAGE_BYTES);
}

int map_own_end_tables(struct mm *mm, va_t start, va_t end)
{
    int error = own_table(mm, start);

    return error != 0 ? error : own_table(mm, end - 1);
}

/* Does the span of `va` keep a VMA when [start, end) is unmapped? */
static bool span_keeps_vma(struct mm *mm, va_t va, va_t start, va_t end)
{
    va_t span = geometry_span_start(mm->tree.geometry, va);

    return (span < start && vma_any_in(mm, span, start)) ||
           (end < span_end(mm, va) && vma_any_in(mm, end, span_end(mm, va)));
}

/* Tables that lose a part of their entries must be one's own; those that lose all are dropped. */
static int unmap_reserve(struct mm *mm, va_t start, va_t end)
{
    int error = vma_reserve(mm, 2);

    if (error == 0 && span_keeps_vma(mm, start, start, end))
        error = own_table(mm, start);
    if (error == 0 && span_keeps_vma(mm, end - 1, start, end))
        error = own_table(mm, end - 1);
    return error;
}

/* The VMAs are gone already: a span that has none left gives up its table. */
static int unmap_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct mm *mm = mm_of_tree(tree);
    va_t span = geometry_span_start(tree->geometry, leaf->va);

    (void)context;
    if (!vma_any_in(mm, span, span_end(mm, span))) {
        table_drop(tree, leaf->parent, leaf->parent_slot);
        return 0;
    }
    struct table *table;
    int error = table_for_one_at(tree, leaf, NULL, &table);

    assert(error == 0 && table == leaf->table);
    (void)error;
    table_release(tree->ram, table, leaf->first, leaf->end);
    return 0;
}

static void unmap_commit(struct mm *mm, va_t start, va_t end)
{
    static const struct pt_visitor visitor = {.leaf = unmap_leaf, .left = tree_free_empty_upper};

    mm_revoke(mm, start, end);
    vma_remove_range(mm, start, end);
    pt_walk(&mm->tree, start, end, &visitor, NULL);
}

int munmap_locked(struct mm *mm, va_t start, uint64_t bytes)
{
    uint64_t rounded = round_up(bytes, PAGE_BYTES);

    if (start % PAGE_BYTES != 0 || rounded == 0 || start > mm->user_end ||
        rounded > mm->user_end - start)
        return -EINVAL;
    int error = unmap_reserve(mm, start, start + rounded);

    if (error == 0)
        unmap_commit(mm, start, start + rounded);
    return error;
}

int sys_munmap(struct task *task, va_t start, uint64_t bytes)
{
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    error = munmap_locked(task->mm, start, bytes);
    machine_unlock(task->machine);
    return error;
}

static int check_object(const struct map_request *request, uint64_t bytes)
{
    const struct object *object = request->object;
    bool shared = (request->flags & MAP_REQUEST_SHARED) != 0;
    bool writes = shared && (request->protection & VMA_WRITE);

    if (request->offset_bytes % PAGE_BYTES != 0)
        return -EINVAL;
    /* Only private anonymous memory grows, as in Linux. */
    if ((request->flags & MAP_REQUEST_GROWSDOWN) && (shared || object != NULL))
        return -EINVAL;
    if (object == NULL)
        return 0;
    if (request->offset_bytes > UINT64_MAX - bytes)
        return -EOVERFLOW;
    return writes && object->read_only ? -EACCES : 0;
}

static int check_place(const struct mm *mm, const struct map_request *request, uint64_t bytes)
{
    bool fixed = (request->flags & (MAP_REQUEST_FIXED | MAP_REQUEST_NOREPLACE)) != 0;

    if (request->bytes == 0)
        return -EINVAL;
    if (bytes == 0 || bytes > mm->user_end)
        return -ENOMEM;
    if (!fixed)
        return 0;
    if (request->address % PAGE_BYTES != 0)
        return -EINVAL;
    return request->address > mm->user_end - bytes ? -ENOMEM : 0;
}

/* Where the mapping goes: -EEXIST, -ENOMEM. */
static int choose_place(struct mm *mm, const struct map_request *request, uint64_t bytes,
                        va_t *start)
{
    va_t hint = page_of(request->address);

    *start = request->address;
    if (request->flags & MAP_REQUEST_NOREPLACE)
        return vma_any_in(mm, *start, *start + bytes) ? -EEXIST : 0;
    if (request->flags & MAP_REQUEST_FIXED)
        return 0;
    *start = hint;
    if (hint != 0 && hint <= mm->user_end - bytes && !vma_any_in(mm, hint, hint + bytes))
        return 0;
    *start = mm_find_free(mm, bytes);
    return *start == 0 ? -ENOMEM : 0;
}

static uint32_t vma_flags_of(const struct map_request *request)
{
    uint32_t flags = request->protection & VMA_PROTECTION;

    if (request->flags & MAP_REQUEST_SHARED)
        flags |= VMA_SHARED;
    if (!(request->flags & MAP_REQUEST_SHARED) || request->object == NULL ||
        !request->object->read_only)
        flags |= VMA_MAY_WRITE;
    if (request->flags & MAP_REQUEST_GROWSDOWN)
        flags |= VMA_GROWS_DOWN;
    return flags;
}

/* Everything that can fail, for the range as it will be. */
static int map_reserve(struct mm *mm, va_t start, va_t end)
{
    int error = vma_reserve(mm, 3);

    if (error == 0 && vma_any_in(mm, start, end))
        error = unmap_reserve(mm, start, end);
    return error != 0 ? error : map_own_end_tables(mm, start, end);
}

static int map_at(struct mm *mm, const struct map_request *request, va_t start, uint64_t bytes)
{
    struct object *object = request->object;
    bool makes_object = object == NULL && (request->flags & MAP_REQUEST_SHARED);
    int error = map_reserve(mm, start, start + bytes);

    if (error == 0 && makes_object)
        error = shm_create_locked(mm->machine, bytes, &object);
    if (error != 0)
        return error;
    struct vma_shape shape = {
        .start = start, .end = start + bytes, .flags = vma_flags_of(request), .object = object};

    if (request->object != NULL) /* the offset of anonymous memory means nothing */
        shape.object_page = request->offset_bytes >> PAGE_SHIFT;
    if (vma_any_in(mm, start, start + bytes))
        unmap_commit(mm, start, start + bytes);
    vma_merge(vma_insert(mm, &shape));
    if (makes_object)
        object_put_locked(mm->machine, object);
    return 0;
}

int mmap_locked(struct mm *mm, const struct map_request *request, va_t *address)
{
    uint64_t bytes = round_up(request->bytes, PAGE_BYTES);
    va_t start = 0;
    int error = check_place(mm, request, bytes);

    if (error == 0)
        error = check_object(request, bytes);
    if (error == 0)
        error = choose_place(mm, request, bytes, &start);
    if (error == 0)
        error = map_at(mm, request, start, bytes);
    if (error != 0)
        return error;
    if (request->flags & MAP_REQUEST_POPULATE) /* what cannot be had is left for faults */
        (void)populate_locked(mm, start, start + bytes);
    *address = start;
    return 0;
}

int sys_mmap(struct task *task, const struct map_request *request, va_t *address)
{
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    error = mmap_locked(task->mm, request, address);
    machine_unlock(task->machine);
    return error;
}
