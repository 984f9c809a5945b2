/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading and writing files through the page cache, page by page. */
#include "pager/file.h"

#include <errno.h>
#include <string.h>

#include "pager/machine.h"

int memory_file_create(struct machine *machine, uint64_t bytes, struct object **object)
{
    if (bytes > FILE_MOST_BYTES)
        return -EFBIG;
    machine_lock(machine);
    int error = object_create_locked(machine, FRAME_FILE, bytes, object);

    machine_unlock(machine);
    return error;
}

/* A part of a file within one page. */
struct page_part {
    uint64_t page;
    size_t offset;
    size_t bytes;
};

static struct page_part part_at(uint64_t offset, uint64_t bytes)
{
    size_t within = offset % PAGE_BYTES;

    return (struct page_part){.page = offset >> PAGE_SHIFT,
                              .offset = within,
                              .bytes = (size_t)min_u64(bytes, PAGE_BYTES - within)};
}

/* The bytes of a page in the page cache, brought in if it is absent. */
static int reach_page(struct machine *machine, struct object *object, uint64_t page, pfn_t *pfn)
{
    static const struct ram_need one_frame = {.frames = 1};
    int error = ram_reserve(&machine->ram, &one_frame);

    return error != 0 ? error : object_page(machine, object, page, PFN_NONE, pfn);
}

/* Reading what a memory file never had brings no page into being. */
static int read_part(struct machine *machine, struct object *object, const struct page_part *part,
                     uint8_t *data)
{
    pfn_t pfn = object->pages[part->page];
    int error = 0;

    if (pfn == OBJECT_PAGE_ABSENT && object->file < 0) {
        memset(data, 0, part->bytes);
        return 0;
    }
    if (pfn == OBJECT_PAGE_ABSENT)
        error = reach_page(machine, object, part->page, &pfn);
    if (error == 0)
        memcpy(data, frame_data(&machine->ram, pfn) + part->offset, part->bytes);
    return error;
}

static int64_t read_locked(struct machine *machine, struct object *object, uint64_t offset,
                           uint8_t *data, uint64_t bytes)
{
    uint64_t done = 0;

    if (offset >= object->bytes)
        return 0;
    bytes = min_u64(bytes, object->bytes - offset);
    while (done < bytes) {
        struct page_part part = part_at(offset + done, bytes - done);
        int error = read_part(machine, object, &part, data + done);

        if (error != 0)
            return done > 0 ? (int64_t)done : error;
        done += part.bytes;
    }
    return (int64_t)done;
}

int64_t file_read(struct machine *machine, struct object *object, uint64_t offset, void *data,
                  size_t bytes)
{
    machine_lock(machine);
    int64_t result = read_locked(machine, object, offset, data, bytes);

    machine_unlock(machine);
    return result;
}

/* On a disk what lay past the old end never comes to light; on tmpfs it does. */
void file_extend_locked(struct machine *machine, struct object *object, uint64_t bytes)
{
    uint64_t page = object->bytes >> PAGE_SHIFT;
    size_t tail = object->bytes % PAGE_BYTES;

    if (bytes > object->bytes && object->file >= 0 && tail > 0 &&
        object->pages[page] != OBJECT_PAGE_ABSENT)
        memset(frame_data(&machine->ram, object->pages[page]) + tail, 0, PAGE_BYTES - tail);
    object->bytes = bytes;
    object->page_count = pages_of_bytes(bytes);
}

/* The page comes first, which can fail; then the size; then the bytes, which may lie past the old
 * end. */
static int write_part(struct machine *machine, struct object *object, const struct page_part *part,
                      const uint8_t *data)
{
    uint64_t end = (part->page << PAGE_SHIFT) + part->offset + part->bytes;
    pfn_t pfn;
    int error = reach_page(machine, object, part->page, &pfn);

    if (error != 0)
        return error;
    if (end > object->bytes)
        file_extend_locked(machine, object, end);
    memcpy(frame_data(&machine->ram, pfn) + part->offset, data, part->bytes);
    machine->ram.frames[pfn].flags |= FRAME_DIRTY;
    return 0;
}

static int64_t write_locked(struct machine *machine, struct object *object, uint64_t offset,
                            const uint8_t *data, uint64_t bytes)
{
    uint64_t done = 0;
    int error = object_reserve_pages(machine, object, pages_of_bytes(offset + bytes));

    if (error != 0)
        return error;
    object_forget_image(object);
    while (done < bytes) {
        struct page_part part = part_at(offset + done, bytes - done);

        error = write_part(machine, object, &part, data + done);
        if (error != 0)
            return done > 0 ? (int64_t)done : error;
        done += part.bytes;
    }
    return (int64_t)done;
}

int64_t file_write(struct machine *machine, struct object *object, uint64_t offset,
                   const void *data, size_t bytes)
{
    if (bytes == 0)
        return 0;
    if (offset >= FILE_MOST_BYTES)
        return -EFBIG;
    machine_lock(machine);
    int64_t result =
        write_locked(machine, object, offset, data, min_u64(bytes, FILE_MOST_BYTES - offset));

    machine_unlock(machine);
    return result;
}
