/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Truncation and holes: pages of an object go while they are mapped.
 *
 * Both are meant for every address space. The object's list of VMAs leads to all of them: first
 * every window is revoked, then every table is changed for all that share it, then the frames are
 * given up. A shared table is met once for each sharer, and is empty there from the second time on.
 * Nothing is allocated, so nothing can fail once the host file has agreed.
 *
 *   truncation   everything mapped past the new end goes, private copies too
 *   hole         what the object itself has goes; private copies stay
 *
 * Guard entries stay in both, as in Linux. A pinned frame is no longer the object's, and lives
 * until it is unpinned.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "pager/file.h"
#include "pager/mm.h"

/* What goes from the tables. */
struct removal {
    struct machine *machine;
    bool private_copies;
};

static bool entry_goes(const struct removal *removal, entry_t entry)
{
    if (entry_is_swap(entry))
        return removal->private_copies;
    if (!entry_is_present(entry))
        return false;
    return removal->private_copies ||
           removal->machine->ram.frames[entry_pfn(entry)].kind != FRAME_ANON;
}

static int remove_from_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    const struct removal *removal = context;
    struct ram *ram = tree->ram;
    struct table *table = table_for_all(ram, leaf->table);

    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        entry_t entry = table_entry(ram, table, slot);

        if (!entry_goes(removal, entry))
            continue;
        table_clear(ram, table, slot);
        if (entry_is_present(entry))
            frame_put(ram, entry_pfn(entry));
    }
    return 0;
}

static void revoke_mapping(void *context, struct vma *vma, va_t start, va_t end)
{
    (void)context;
    mm_revoke(vma->mm, start, end);
}

static void remove_mapping(void *context, struct vma *vma, va_t start, va_t end)
{
    static const struct pt_visitor visitor = {.leaf = remove_from_leaf};

    pt_walk(&vma->mm->tree, start, end, &visitor, context);
}

/* Pages [first, end) become absent, in the tables and in the object. */
static void remove_pages(struct object *object, uint64_t first, uint64_t end,
                         struct removal *removal)
{
    object_visit_mappings(object, first, end, revoke_mapping, NULL);
    object_visit_mappings(object, first, end, remove_mapping, removal);
    for (uint64_t page = first; page < end; page++) {
        pfn_t pfn = object->pages[page];

        object->pages[page] = OBJECT_PAGE_ABSENT;
        if (pfn != OBJECT_PAGE_ABSENT)
            frame_put(&removal->machine->ram, pfn);
    }
    object_forget_image(object);
}

static void clear_tail(struct machine *machine, const struct object *object)
{
    size_t tail = object->bytes % PAGE_BYTES;
    pfn_t pfn = tail > 0 ? object->pages[object->bytes >> PAGE_SHIFT] : OBJECT_PAGE_ABSENT;

    if (pfn != OBJECT_PAGE_ABSENT)
        memset(frame_data(&machine->ram, pfn) + tail, 0, PAGE_BYTES - tail);
}

static void shrink(struct machine *machine, struct object *object, uint64_t bytes)
{
    struct removal removal = {.machine = machine, .private_copies = true};

    remove_pages(object, pages_of_bytes(bytes), object->page_count, &removal);
    object->bytes = bytes;
    object->page_count = pages_of_bytes(bytes);
    clear_tail(machine, object);
}

/* What a call on the host file came to. */
static int host_result(int result)
{
    if (result == 0)
        return 0;
    return errno == EFBIG || errno == EOPNOTSUPP ? -errno : -EIO;
}

static int truncate_host_file(const struct object *object, uint64_t bytes)
{
    if (object->file < 0)
        return 0;
    int file = file_open_for_writing(object);

    if (file < 0)
        return file;
    int error = host_result(ftruncate(file, (off_t)bytes));

    close(file);
    return error;
}

static int truncate_locked(struct machine *machine, struct object *object, uint64_t bytes)
{
    int error = object_reserve_pages(machine, object, pages_of_bytes(bytes));

    if (error == 0)
        error = truncate_host_file(object, bytes);
    if (error != 0)
        return error;
    if (bytes < object->bytes)
        shrink(machine, object, bytes);
    else
        file_extend_locked(machine, object, bytes);
    object_forget_image(object);
    return 0;
}

int file_truncate(struct machine *machine, struct object *object, uint64_t bytes)
{
    if (bytes > FILE_MOST_BYTES)
        return -EFBIG;
    machine_lock(machine);
    int error = truncate_locked(machine, object, bytes);

    machine_unlock(machine);
    return error;
}

static int punch_host_file(const struct object *object, uint64_t first, uint64_t end)
{
    if (object->file < 0)
        return 0;
    int file = file_open_for_writing(object);

    if (file < 0)
        return file;
    int error =
        host_result(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              (off_t)(first << PAGE_SHIFT), (off_t)((end - first) << PAGE_SHIFT)));

    close(file);
    return error;
}

int object_punch_locked(struct machine *machine, struct object *object, uint64_t first,
                        uint64_t end)
{
    struct removal removal = {.machine = machine};

    end = min_u64(end, object->page_count);
    if (first >= end)
        return 0;
    int error = punch_host_file(object, first, end);

    if (error == 0)
        remove_pages(object, first, end, &removal);
    return error;
}
