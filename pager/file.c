/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pager/file.h"
#include <errno.h>
int memory_file_create(struct machine *machine, uint64_t bytes, struct object **object)
{
    (void)machine;
    (void)bytes;
    (void)object;
    return -ENOSYS;
}
int64_t file_read(struct machine *machine, struct object *object, uint64_t offset, void *data,
                  size_t bytes)
{
    (void)machine;
    (void)object;
    (void)offset;
    (void)data;
    (void)bytes;
    return -ENOSYS;
}
int64_t file_write(struct machine *machine, struct object *object, uint64_t offset,
                   const void *data, size_t bytes)
{
    (void)machine;
    (void)object;
    (void)offset;
    (void)data;
    (void)bytes;
    return -ENOSYS;
}
int file_truncate(struct machine *machine, struct object *object, uint64_t bytes)
{
    (void)machine;
    (void)object;
    (void)bytes;
    return -ENOSYS;
}
int object_punch_locked(struct machine *machine, struct object *object, uint64_t first,
                        uint64_t end)
{
    (void)machine;
    (void)object;
    (void)first;
    (void)end;
    return -ENOSYS;
}
int object_write_back_locked(struct machine *machine, struct object *object, uint64_t first,
                             uint64_t end)
{
    (void)machine;
    (void)object;
    (void)first;
    (void)end;
    return -ENOSYS;
}
