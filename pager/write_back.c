/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Write-back: what was written to pages of a file goes to the host file under it.
 *
 * A page is dirty when its frame is marked so (the kernel wrote it, or an entry that was dirty has
 * gone) or when some entry that maps it is dirty. Write-back first forbids writes in every window,
 * then takes the dirty and the write bit from the entries, for all that share a table, and marks
 * the frames; then it reads the frames. So a write that comes later faults, and its page is dirty
 * again. Map-ahead lets no write through to a clean page, and cannot miss one.
 *
 * It happens when it is asked for (msync), before exec reads a program from the host file, and when
 * the last reference to the object goes. A kernel would also do it from time to time.
 *
 * Only bytes before the object's end are written; the host file grows by that if it has to.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "pager/file.h"
#include "pager/mm.h"

int file_open_for_writing(const struct object *object)
{
    char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", object->file);
    int file = open(path, O_WRONLY | O_CLOEXEC);

    return file < 0 ? -EIO : file;
}

/* Pages of the object are written through shared mappings alone. */
static void protect_mapping(void *context, struct vma *vma, va_t start, va_t end)
{
    (void)context;
    if (!vma_is_private(vma))
        mm_write_protect(vma->mm, start, end);
}

static int clean_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct ram *ram = tree->ram;
    struct table *table = table_for_all(ram, leaf->table);

    (void)context;
    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        entry_t entry = table_entry(ram, table, slot);

        if (!entry_is_dirty(entry))
            continue;
        ram->frames[entry_pfn(entry)].flags |= FRAME_DIRTY;
        table_change(ram, table, slot, entry_without(entry, ENTRY_DIRTY | ENTRY_WRITE));
    }
    return 0;
}

static void clean_mapping(void *context, struct vma *vma, va_t start, va_t end)
{
    static const struct pt_visitor visitor = {.leaf = clean_leaf};

    if (!vma_is_private(vma))
        pt_walk(&vma->mm->tree, start, end, &visitor, context);
}

static int write_all(int file, const uint8_t *data, size_t bytes, uint64_t offset)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t written = pwrite(file, data + done, bytes - done, (off_t)(offset + done));

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -EIO;
        done += (size_t)written;
    }
    return 0;
}

static bool page_is_dirty(const struct ram *ram, const struct object *object, uint64_t page)
{
    pfn_t pfn = object->pages[page];

    return pfn != OBJECT_PAGE_ABSENT && (ram->frames[pfn].flags & FRAME_DIRTY) != 0;
}

/* Writes one dirty page, in a file that is opened for the first of them (`*file` is -1 before). */
static int write_page(struct ram *ram, struct object *object, uint64_t page, int *file)
{
    uint64_t offset = page << PAGE_SHIFT;
    pfn_t pfn = object->pages[page];

    if (*file < 0)
        *file = file_open_for_writing(object);
    if (*file < 0)
        return -EIO;
    int error = write_all(*file, frame_data(ram, pfn),
                          (size_t)min_u64(PAGE_BYTES, object->bytes - offset), offset);

    if (error != 0)
        return error;
    ram->frames[pfn].flags &= (uint8_t)~FRAME_DIRTY;
    object_forget_image(object);
    return 0;
}

int object_write_back_locked(struct machine *machine, struct object *object, uint64_t first,
                             uint64_t end)
{
    struct ram *ram = &machine->ram;
    int file = -1;
    int result = 0;

    if (object->file < 0)
        return 0;
    end = min_u64(end, object->page_count);
    object_visit_mappings(object, first, end, protect_mapping, NULL);
    object_visit_mappings(object, first, end, clean_mapping, NULL);
    for (uint64_t page = first; page < end; page++) {
        if (page_is_dirty(ram, object, page) && write_page(ram, object, page, &file) != 0)
            result = -EIO;
    }
    if (file >= 0)
        close(file);
    return result;
}
