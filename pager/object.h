/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects: what backs a mapping that is not private anonymous memory.
 *
 *   shm    shared memory: pages come into being as zeros. MAP_SHARED|MAP_ANONYMOUS has one too
 *   file   a file of the host with its page cache: pages are read in when first needed
 *
 * A page of an object is one frame, held by the object with one reference beside those of the
 * entries that map it. References to an object: its openers and its VMAs; the last one frees it and
 * its frames.
 */
#ifndef FORKLAB_PAGER_OBJECT_H
#define FORKLAB_PAGER_OBJECT_H

#include "pt/frame.h"

struct elf_image;
struct machine;
struct vma;

/* Frame 0 is the zero frame, which no object holds: so 0 means that a page is not there yet. */
#define OBJECT_PAGE_ABSENT ((pfn_t)0)

struct object {
    enum frame_kind kind; /* FRAME_SHM or FRAME_FILE */
    uint32_t references;
    uint64_t bytes;
    uint64_t page_count;
    pfn_t *pages;
    struct vma *vmas;        /* every mapping of it */
    int file;                /* the host's descriptor, or -1 */
    bool read_only;          /* the file may not be written: no shared writable mapping */
    struct elf_image *image; /* what exec found in the file, once it was asked */
    struct object *next;     /* the machine's list */
    struct object *previous;
};

/* Is the page of the object in memory? Beyond its end none is. */
static inline bool object_has_page(const struct object *object, uint64_t page)
{
    return page < object->page_count && object->pages[page] != OBJECT_PAGE_ABSENT;
}

/* A shared memory object, one reference: -EINVAL for no bytes, -ENOMEM. Takes the lock. */
int shm_create(struct machine *machine, uint64_t bytes, struct object **object);

/*
 * Opens a file of the host for mapping, one reference: the host's error. It is opened for reading,
 * so that the host can still execute a program that is open here; whether it may be written decides
 * whether it can be mapped shared and writable. Takes the lock.
 */
int file_open(struct machine *machine, const char *path, struct object **object);

/* Gives up an opener's reference. Takes the lock. */
void object_close(struct machine *machine, struct object *object);

/* As above, with the lock held. */
int shm_create_locked(struct machine *machine, uint64_t bytes, struct object **object);
void object_put_locked(struct machine *machine, struct object *object);

/* Puts a VMA on the object's list, with a reference; takes it off again. */
void object_add_vma(struct object *object, struct vma *vma);
void object_remove_vma(struct machine *machine, struct vma *vma);

/*
 * The frame of a page within the object, brought in if it is absent: a frame was reserved. -EIO if
 * the file cannot be read, and then nothing changed.
 */
int object_page(struct machine *machine, struct object *object, uint64_t page, pfn_t hint,
                pfn_t *pfn);

#endif
