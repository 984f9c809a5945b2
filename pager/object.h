/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects: what backs a mapping that is not private anonymous memory.
 *
 *   shm    shared memory: pages come into being as zeros. MAP_SHARED|MAP_ANONYMOUS has one too
 *   file   a file with its page cache. One with a host file under it reads pages in when they are
 *          first needed and writes them back; a memory file has nothing but its page cache
 *
 * A page of an object is one frame, held by the object with one reference beside those of the
 * entries that map it. References to an object: its openers and its VMAs; the last one writes back
 * what is dirty (write_back.c) and frees the object and its frames. So the entries of a mapping go
 * before its VMA does: they know what is dirty.
 *
 * Every entry that maps a page of the object lies in one of its VMAs, also where a table is shared:
 * all sharers have the same layout there. So the list of VMAs leads to every table that maps a page
 * and to every window that lets it through.
 */
#ifndef FORKLAB_PAGER_OBJECT_H
#define FORKLAB_PAGER_OBJECT_H

#include "pt/frame.h"

struct elf_image;
struct machine;
struct vma;

/* Frame 0 is the zero frame, which no object holds: so 0 means that a page is not there yet. */
#define OBJECT_PAGE_ABSENT ((pfn_t)0)

/* The longest object: its array of pages takes a part in a thousand of the host's memory. */
#define OBJECT_MOST_BYTES ((uint64_t)1 << 40)

struct object {
    enum frame_kind kind; /* FRAME_SHM or FRAME_FILE */
    uint32_t references;
    uint64_t bytes;
    uint64_t page_count;
    uint64_t page_capacity; /* of `pages`; those from page_count on are absent */
    pfn_t *pages;
    struct vma *vmas;        /* every mapping of it */
    int file;                /* the host's descriptor, for reading; -1: no host file */
    bool read_only;          /* the file may not be written: no shared writable mapping */
    uint32_t label;          /* its owner's number for it, for people; 0: none */
    struct elf_image *image; /* what exec found in the file, once it was asked */
    struct object *next;     /* the machine's list */
    struct object *previous;
};

/* Is the page of the object in memory? Beyond its end none is. */
static inline bool object_has_page(const struct object *object, uint64_t page)
{
    return page < object->page_count && object->pages[page] != OBJECT_PAGE_ABSENT;
}

/* A shared memory object, one reference: -EINVAL for no bytes, -ENOMEM, also beyond the longest.
 * Takes the lock. */
int shm_create(struct machine *machine, uint64_t bytes, struct object **object);

/*
 * Opens a file of the host for mapping, one reference: the host's error. It is opened for reading,
 * so that the host can still execute a program that is open here; whether it may be written decides
 * whether it can be mapped shared and writable. Takes the lock.
 */
int file_open(struct machine *machine, const char *path, struct object **object);

/* Gives up an opener's reference. Takes the lock. */
void object_close(struct machine *machine, struct object *object);

/* An object of that kind with no host file under it, one reference, all pages absent: -ENOMEM, also
 * beyond the longest. Lock held, as everywhere below. */
int object_create_locked(struct machine *machine, enum frame_kind kind, uint64_t bytes,
                         struct object **object);

int shm_create_locked(struct machine *machine, uint64_t bytes, struct object **object);
void object_put_locked(struct machine *machine, struct object *object);

/* Puts a VMA on the object's list, with a reference; takes it off again. */
void object_add_vma(struct object *object, struct vma *vma);
void object_remove_vma(struct machine *machine, struct vma *vma);

/* Calls `visit` for each mapping of pages [first, end), with the addresses of that part of it. */
typedef void object_mapping_visit(void *context, struct vma *vma, va_t start, va_t end);
void object_visit_mappings(const struct object *object, uint64_t first, uint64_t end,
                           object_mapping_visit *visit, void *context);

/* Room for so many pages; the object's size stays. -ENOMEM. */
int object_reserve_pages(struct machine *machine, struct object *object, uint64_t page_count);

/* The contents changed: what exec found in the file may be so no longer. */
void object_forget_image(struct object *object);

/* Pages that hold so many bytes. */
static inline uint64_t pages_of_bytes(uint64_t bytes)
{
    return (bytes >> PAGE_SHIFT) + ((bytes & PAGE_OFFSET_MASK) != 0);
}

/*
 * The frame of a page within the object, brought in if it is absent: a frame was reserved. -EIO if
 * the file cannot be read, and then nothing changed.
 */
int object_page(struct machine *machine, struct object *object, uint64_t page, pfn_t hint,
                pfn_t *pfn);

#endif
