/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mmap and munmap; map.h has the order of things. */
#include "pager/map.h"

#include <assert.h>
#include <errno.h>

#include "pager/advise.h"

/* As long as a file can be. */
#define MOST_FILE_BYTES ((uint64_t)INT64_MAX)

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

    if (!mm->machine->may_share_tables)
        return 0; /* all are */
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

int unmap_reserve(struct mm *mm, va_t start, va_t end)
{
    int error = vma_reserve(mm, 2);

    if (!mm->machine->may_share_tables)
        return error;
    if (error == 0 && span_keeps_vma(mm, start, start, end))
        error = own_table(mm, start);
    if (error == 0 && span_keeps_vma(mm, end - 1, start, end))
        error = own_table(mm, end - 1);
    return error;
}

/* What is being unmapped. */
struct unmapping {
    va_t start;
    va_t end;
};

/* A span that has no VMA left gives up its table. */
static int unmap_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    const struct unmapping *range = context;

    if (!span_keeps_vma(mm_of_tree(tree), leaf->va, range->start, range->end)) {
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

/* Entries go before VMAs: with its last VMA an object may go, and entries know what is dirty. */
void unmap_commit(struct mm *mm, va_t start, va_t end)
{
    static const struct pt_visitor visitor = {.leaf = unmap_leaf, .left = tree_free_empty_upper};
    struct unmapping range = {.start = start, .end = end};

    mm_revoke(mm, start, end);
    pt_walk(&mm->tree, start, end, &visitor, &range);
    vma_remove_range(mm, start, end);
}

/* A hole in the middle of a VMA makes two of it. */
static int room_for_hole(struct mm *mm, va_t start, va_t end)
{
    const struct vma *vma = vma_find(mm, start);

    return vma != NULL && vma->start < start && end < vma->end ? vma_room(mm, 1) : 0;
}

int munmap_locked(struct mm *mm, va_t start, uint64_t bytes)
{
    uint64_t rounded = round_up(bytes, PAGE_BYTES);

    if (start % PAGE_BYTES != 0 || rounded == 0 || start > mm->user_end ||
        rounded > mm->user_end - start)
        return -EINVAL;
    int error = room_for_hole(mm, start, start + rounded);

    if (error == 0)
        error = unmap_reserve(mm, start, start + rounded);
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

    if (object != NULL &&
        request->offset_bytes / PAGE_BYTES > (MOST_FILE_BYTES - bytes) / PAGE_BYTES)
        return -EOVERFLOW;
    if (request->refusal != 0)
        return request->refusal;
    if (object != NULL && writes && object->read_only)
        return -EACCES;
    /* Only private anonymous memory grows, as in Linux. */
    if ((request->flags & MAP_REQUEST_GROWSDOWN) && (shared || object != NULL))
        return -EINVAL;
    return 0;
}

static int check_size(const struct mm *mm, const struct map_request *request, uint64_t bytes)
{
    if (request->bytes == 0 || request->offset_bytes % PAGE_BYTES != 0)
        return -EINVAL;
    if (bytes == 0 || bytes > mm->user_end)
        return -ENOMEM;
    return vma_room(mm, 0);
}

/* Where a mapping that says so goes: -ENOMEM, -EINVAL, -EEXIST. */
static int check_fixed_place(struct mm *mm, const struct map_request *request, uint64_t bytes)
{
    va_t start = request->address;

    if (start > mm->user_end - bytes)
        return -ENOMEM;
    if (start % PAGE_BYTES != 0)
        return -EINVAL;
    if ((request->flags & MAP_REQUEST_NOREPLACE) && vma_any_in(mm, start, start + bytes))
        return -EEXIST;
    return 0;
}

static bool is_fixed(const struct map_request *request)
{
    return (request->flags & (MAP_REQUEST_FIXED | MAP_REQUEST_NOREPLACE)) != 0;
}

static int choose_place(struct mm *mm, const struct map_request *request, uint64_t bytes,
                        va_t *start)
{
    struct free_request wish = {.bytes = bytes,
                                .hint = page_of(request->address),
                                .is_anonymous = request->object == NULL &&
                                                !(request->flags & MAP_REQUEST_SHARED)};

    *start = request->address;
    if (is_fixed(request))
        return check_fixed_place(mm, request, bytes);
    *start = mm_find_free(mm, &wish);
    return *start == 0 ? -ENOMEM : 0;
}

static bool may_be_written(const struct map_request *request)
{
    if (!(request->flags & MAP_REQUEST_SHARED))
        return true;
    return !(request->flags & MAP_REQUEST_READ_ONLY) &&
           (request->object == NULL || !request->object->read_only);
}

static uint32_t vma_flags_of(const struct map_request *request)
{
    static const struct {
        uint32_t request;
        uint32_t vma;
    } pairs[] = {
        {MAP_REQUEST_SHARED, VMA_SHARED},      {MAP_REQUEST_GROWSDOWN, VMA_GROWS_DOWN},
        {MAP_REQUEST_LOCKED, VMA_LOCKED},      {MAP_REQUEST_NORESERVE, VMA_NO_RESERVE},
        {MAP_REQUEST_STACK, VMA_NO_HUGE_PAGE},
    };
    uint32_t flags = request->protection & VMA_PROTECTION;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        flags |= request->flags & pairs[i].request ? pairs[i].vma : 0;
    if (may_be_written(request))
        flags |= VMA_MAY_WRITE;
    return flags_need_account(flags) ? flags | VMA_ACCOUNT : flags;
}

/* Everything that can fail, for the range as it will be. */
static int map_reserve(struct mm *mm, va_t start, va_t end, bool is_occupied)
{
    int error = vma_reserve(mm, 3);

    if (error == 0 && is_occupied)
        error = unmap_reserve(mm, start, end);
    return error != 0 ? error : map_own_end_tables(mm, start, end);
}

/* Pages of the range in which something is mapped now. */
static uint64_t mapped_pages_in(struct mm *mm, va_t start, va_t end)
{
    uint64_t bytes = 0;

    for (struct vma *vma = vma_look(mm, start); vma != NULL && vma->start < end;
         vma = vma_next(vma))
        bytes += min_u64(vma->end, end) - max_u64(vma->start, start);
    return bytes >> PAGE_SHIFT;
}

/*
 * The limits are asked when what lies in the range has been cut from what lies beside it; and there
 * Linux leaves it, cut, when it refuses.
 */
static int check_limits(struct mm *mm, uint32_t flags, va_t start, va_t end, uint64_t mapped_pages)
{
    uint64_t more = ((end - start) >> PAGE_SHIFT) - mapped_pages;

    if (mm_may_expand(mm, flags, more))
        return 0;
    vma_cut_apart(mm, start);
    vma_cut_apart(mm, end);
    return -ENOMEM;
}

static int map_at(struct mm *mm, const struct map_request *request, va_t start, uint64_t bytes)
{
    va_t end = start + bytes;
    struct vma_shape shape = {
        .start = start, .end = end, .flags = vma_flags_of(request), .object = request->object};
    bool is_shared = (request->flags & MAP_REQUEST_SHARED) != 0;
    uint64_t mapped_pages = is_fixed(request) ? mapped_pages_in(mm, start, end) : 0;
    int error = mapped_pages > 0 ? room_for_hole(mm, start, end) : 0;

    if (error == 0)
        error = map_reserve(mm, start, end, mapped_pages > 0);
    if (error == 0)
        error = check_limits(mm, shape.flags, start, end, mapped_pages);
    if (error == 0 && shape.object == NULL && is_shared)
        error = shm_create_locked(mm->machine, bytes, &shape.object);
    if (error != 0)
        return error;
    if (request->object != NULL) /* the offset of anonymous memory means nothing */
        shape.object_page = request->offset_bytes >> PAGE_SHIFT;
    else if (!is_shared)
        shape.object_page = start >> PAGE_SHIFT;
    if (mapped_pages > 0)
        unmap_commit(mm, start, end);
    vma_map(mm, &shape, NULL);
    if (shape.object != request->object)
        object_put_locked(mm->machine, shape.object);
    return 0;
}

int mmap_locked(struct mm *mm, const struct map_request *request, va_t *address)
{
    uint64_t bytes = round_up(request->bytes, PAGE_BYTES);
    va_t start = 0;
    int error = check_size(mm, request, bytes);

    if (error == 0)
        error = choose_place(mm, request, bytes, &start);
    if (error == 0)
        error = check_object(request, bytes);
    if (error == 0)
        error = map_at(mm, request, start, bytes);
    if (error != 0)
        return error;
    /* What cannot be had is left for faults. */
    if (request->flags & (MAP_REQUEST_POPULATE | MAP_REQUEST_LOCKED))
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
