/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files as user programs see them: descriptors, reading, writing, truncation, holes, write-back.
 *
 * An open file names an object with the rights it was opened with, as a descriptor does. A memory
 * file is one that lives in its page cache alone, as on tmpfs: what was never written is absent and
 * reads as zeros. A host file under an object is the object's alone as long as that lives: what
 * other programs do to it is seen in pages that were not read yet, and in no other.
 *
 * The last page of a file may hold bytes past the end, which only mappings reach. They never come
 * to the file: reading stops at the end, and so does write-back. When a file becomes longer Linux
 * clears them on a disk, and keeps them on tmpfs (6.18); so do files with a host file under them,
 * and memory files and shared memory. When it becomes shorter they are cleared in any case.
 */
#ifndef FORKLAB_PAGER_FILE_H
#define FORKLAB_PAGER_FILE_H

#include "pager/object.h"

/* The longest file. */
#define FILE_MOST_BYTES OBJECT_MOST_BYTES

/* A descriptor. */
struct open_file {
    struct object *object; /* NULL: something that cannot be mapped, such as a directory */
    bool readable;
    bool writable;
};

/*
 * A file (FRAME_FILE) without a host file under it, one reference: -EFBIG, -ENOMEM. Takes the lock.
 */
int memory_file_create(struct machine *machine, uint64_t bytes, struct object **object);

/*
 * read(2) and write(2) at an offset, through the page cache, for a buffer of the host program.
 * Writing past the end makes the file longer. The bytes done, or, if there are none, -ENOMEM, -EIO,
 * -EFBIG. Take the lock. Whether the file may be read or written is told by its descriptor.
 */
int64_t file_read(struct machine *machine, struct object *object, uint64_t offset, void *data,
                  size_t bytes);
int64_t file_write(struct machine *machine, struct object *object, uint64_t offset,
                   const void *data, size_t bytes);

/*
 * Sets the size, as ftruncate(2). What lies past a new end goes from every address space, private
 * copies too, and the rest of the last page becomes zeros, but not in a private copy of it.
 * -ENOMEM, -EFBIG, -EIO (the host file cannot be written), with nothing changed. Takes the lock.
 */
int file_truncate(struct machine *machine, struct object *object, uint64_t bytes);

/*
 * MADV_REMOVE: pages [first, end) of the object become absent, in every address space that maps
 * them from the object; private copies stay. Lock held. -EOPNOTSUPP, -EIO (what the host file says
 * to it), with nothing changed.
 */
int object_punch_locked(struct machine *machine, struct object *object, uint64_t first,
                        uint64_t end);

/*
 * Writes dirty pages [first, end) to the host file under the object, up to the object's end; they
 * are clean then, and the next write to them faults. Nothing to do for memory files. Lock held.
 * -EIO: what could not be written stays dirty.
 */
int object_write_back_locked(struct machine *machine, struct object *object, uint64_t first,
                             uint64_t end);

/*
 * The object's size, not smaller than before; there is room for its pages. The rest of the last
 * page is cleared where the file is of that kind. Lock held.
 */
void file_extend_locked(struct machine *machine, struct object *object, uint64_t bytes);

/*
 * The host file under the object, opened anew for writing: the caller closes it. The object's own
 * descriptor is for reading only, so that the host can execute a program that is open here. -EIO.
 */
int file_open_for_writing(const struct object *object);

#endif
