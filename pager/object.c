/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects and their pages; object.h has the terms. */
#include "pager/object.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pager/elf_image.h"
#include "pager/file.h"
#include "pager/machine.h"
#include "pager/vma.h"

int object_create_locked(struct machine *machine, enum frame_kind kind, uint64_t bytes,
                         struct object **object)
{
    uint64_t page_count = pages_of_bytes(bytes);
    int error = bytes > OBJECT_MOST_BYTES ? -ENOMEM : pool_reserve(&machine->objects, 1);

    if (error != 0)
        return error;
    pfn_t *pages = gate_refuses(&machine->ram.gate) ? NULL : calloc(page_count + 1, sizeof(*pages));

    if (pages == NULL)
        return -ENOMEM;
    struct object *made = pool_take(&machine->objects);

    *made = (struct object){.kind = kind,
                            .references = 1,
                            .bytes = bytes,
                            .page_count = page_count,
                            .page_capacity = page_count,
                            .pages = pages,
                            .file = -1,
                            .next = machine->object_list};
    if (machine->object_list != NULL)
        machine->object_list->previous = made;
    machine->object_list = made;
    *object = made;
    return 0;
}

int shm_create_locked(struct machine *machine, uint64_t bytes, struct object **object)
{
    if (bytes == 0 || bytes > UINT64_MAX - PAGE_BYTES)
        return -EINVAL;
    return object_create_locked(machine, FRAME_SHM, bytes, object);
}

int shm_create(struct machine *machine, uint64_t bytes, struct object **object)
{
    machine_lock(machine);
    int error = shm_create_locked(machine, bytes, object);

    machine_unlock(machine);
    return error;
}

/* Makes an object of a descriptor, which it takes over. */
static int file_adopt(struct machine *machine, int file, bool read_only, struct object **object)
{
    struct stat status;

    if (file < 0)
        return file;
    int error = fstat(file, &status) != 0 ? -errno : 0;

    if (error == 0 && !S_ISREG(status.st_mode))
        error = -ENODEV;
    if (error == 0) {
        machine_lock(machine);
        error = object_create_locked(machine, FRAME_FILE, (uint64_t)status.st_size, object);
        machine_unlock(machine);
    }
    if (error != 0) {
        close(file);
        return error;
    }
    (*object)->file = file;
    (*object)->read_only = read_only;
    return 0;
}

int file_open(struct machine *machine, const char *path, struct object **object)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool read_only = file >= 0 && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0;

    return file_adopt(machine, file < 0 ? -errno : file, read_only, object);
}

int object_reserve_pages(struct machine *machine, struct object *object, uint64_t page_count)
{
    if (page_count <= object->page_capacity)
        return 0;
    /* What is not used of it costs nothing: it is never touched. */
    uint64_t capacity = max_u64(page_count, object->page_capacity + object->page_capacity / 2);
    pfn_t *pages = gate_refuses(&machine->ram.gate) ? NULL : calloc(capacity, sizeof(*pages));

    if (pages == NULL)
        return -ENOMEM;
    memcpy(pages, object->pages, object->page_count * sizeof(*pages));
    free(object->pages);
    object->pages = pages;
    object->page_capacity = capacity;
    return 0;
}

void object_forget_image(struct object *object)
{
    elf_image_free(object->image);
    object->image = NULL;
}

/* Nobody maps the object any more, so nothing but pins may hold its frames. */
static void free_pages(struct ram *ram, const struct object *object)
{
    for (uint64_t page = 0; page < object->page_count; page++) {
        pfn_t pfn = object->pages[page];

        if (pfn == OBJECT_PAGE_ABSENT)
            continue;
        assert(ram->frames[pfn].count == 1 + ram->frames[pfn].pins);
        frame_put(ram, pfn);
    }
}

/* What cannot be written back is lost, as when Linux gives up a page whose disk fails. */
static void object_free(struct machine *machine, struct object *object)
{
    (void)object_write_back_locked(machine, object, 0, object->page_count);
    free_pages(&machine->ram, object);
    if (object->previous != NULL)
        object->previous->next = object->next;
    else
        machine->object_list = object->next;
    if (object->next != NULL)
        object->next->previous = object->previous;
    if (object->file >= 0)
        close(object->file);
    object_forget_image(object);
    free(object->pages);
    pool_give(&machine->objects, object);
}

void object_put_locked(struct machine *machine, struct object *object)
{
    if (--object->references == 0)
        object_free(machine, object);
}

void object_close(struct machine *machine, struct object *object)
{
    machine_lock(machine);
    object_put_locked(machine, object);
    machine_unlock(machine);
}

void object_add_vma(struct object *object, struct vma *vma)
{
    object->references++;
    vma->object = object;
    vma->object_previous = NULL;
    vma->object_next = object->vmas;
    if (object->vmas != NULL)
        object->vmas->object_previous = vma;
    object->vmas = vma;
}

void object_remove_vma(struct machine *machine, struct vma *vma)
{
    struct object *object = vma->object;

    if (vma->object_previous != NULL)
        vma->object_previous->object_next = vma->object_next;
    else
        object->vmas = vma->object_next;
    if (vma->object_next != NULL)
        vma->object_next->object_previous = vma->object_previous;
    vma->object = NULL;
    object_put_locked(machine, object);
}

void object_visit_mappings(const struct object *object, uint64_t first, uint64_t end,
                           object_mapping_visit *visit, void *context)
{
    for (struct vma *vma = object->vmas; vma != NULL; vma = vma->object_next) {
        uint64_t from = max_u64(first, vma->object_page);
        uint64_t to = min_u64(end, vma_object_page(vma, vma->end));
        va_t start = vma->start + ((from - vma->object_page) << PAGE_SHIFT);

        if (from < to)
            visit(context, vma, start, start + ((to - from) << PAGE_SHIFT));
    }
}

/* Fills a frame from the host file; what lies past the object's end, or the file's, is zeros. */
static int read_page(const struct object *object, uint64_t page, uint8_t *data)
{
    uint64_t offset = page << PAGE_SHIFT;
    uint64_t most = object->bytes > offset ? min_u64(object->bytes - offset, PAGE_BYTES) : 0;
    size_t got = 0;

    while (got < most) {
        ssize_t bytes = pread(object->file, data + got, most - got, (off_t)(offset + got));

        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes < 0)
            return -EIO;
        if (bytes == 0)
            break;
        got += (size_t)bytes;
    }
    memset(data + got, 0, PAGE_BYTES - got);
    return 0;
}

int object_page(struct machine *machine, struct object *object, uint64_t page, pfn_t hint,
                pfn_t *pfn)
{
    struct ram *ram = &machine->ram;

    *pfn = object->pages[page];
    if (*pfn != OBJECT_PAGE_ABSENT)
        return 0;
    pfn_t made = frame_take(ram, object->kind, hint);

    if (object->file < 0) {
        frame_clear(ram, made);
    } else if (read_page(object, page, frame_data(ram, made)) != 0) {
        frame_free(ram, made);
        return -EIO;
    }
    frame_get(ram, made);
    object->pages[page] = made;
    if (ram->rmap != NULL && ram->rmap->own != NULL)
        ram->rmap->own(ram->rmap_context, made, object, page);
    *pfn = made;
    return 0;
}
