/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files as user programs see them: descriptors, reading, writing, truncation, holes, write-back.
 *
 * An open file names an object with the rights it was opened with, as a descriptor does. A memory
 * file is one that lives in its page cache alone, as on tmpfs: what was never written is absent and
 * reads as zeros.
 */
#ifndef FORKLAB_PAGER_FILE_H
#define FORKLAB_PAGER_FILE_H

#include "pager/object.h"

/* A descriptor. */
struct open_file {
    struct object *object; /* NULL: something that cannot be mapped, such as a directory */
    bool readable;
    bool writable;
};

/* A file (FRAME_FILE) without a host file under it, one reference: -ENOMEM. Takes the lock. */
int memory_file_create(struct machine *machine, uint64_t bytes, struct object **object);

/*
 * read(2) and write(2) at an offset, through the page cache, for a buffer of the host program.
 * Writing past the end makes the file longer. The bytes done, or -ENOMEM, -EIO, -EFBIG. Take the
 * lock.
 */
int64_t file_read(struct machine *machine, struct object *object, uint64_t offset, void *data,
                  size_t bytes);
int64_t file_write(struct machine *machine, struct object *object, uint64_t offset,
                   const void *data, size_t bytes);

/*
 * Sets the size, as ftruncate(2). What lies past a new end goes from every address space, private
 * copies too, and the rest of the last page becomes zeros. -ENOMEM, -EFBIG, with nothing changed.
 */
int file_truncate(struct machine *machine, struct object *object, uint64_t bytes);

/*
 * MADV_REMOVE: pages [first, end) of the object become absent, in every address space that maps
 * them from the object; private copies stay. Lock held. -ENOMEM with nothing changed.
 */
int object_punch_locked(struct machine *machine, struct object *object, uint64_t first,
                        uint64_t end);

/*
 * Writes dirty pages [first, end) to the host file under the object; they are clean then, and the
 * next write to them faults. Nothing to do for memory files. Lock held. -EIO.
 */
int object_write_back_locked(struct machine *machine, struct object *object, uint64_t first,
                             uint64_t end);

#endif
