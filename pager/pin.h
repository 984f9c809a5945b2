/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pins: references to a page from outside every address space, as a DMA transfer or vmsplice holds
 * them.
 *
 * Pinning a page of a private mapping, for reading too, is a write fault without the write: through
 * table_for_one, then the frame is made exclusive, then counted. So a shared table never holds a
 * pinned private frame, fork copies a pinned page at once, and what the pin sees is what its owner
 * sees. Pages of objects may be pinned anywhere.
 */
#ifndef FORKLAB_PAGER_PIN_H
#define FORKLAB_PAGER_PIN_H

#include "pager/task.h"

struct pin {
    struct machine *machine;
    pfn_t pfn;
};

/* Pins the page at `va`. -EFAULT where an access would be bad, -ENOMEM, -ESRCH. */
int sys_pin(struct task *task, va_t va, enum access access, struct pin *pin);

/* Gives the pin up; the page may go with it. */
void unpin(struct pin *pin);

/* Reads and writes the pinned page as a device would: [offset, offset + bytes) lies within it. */
void pin_read(const struct pin *pin, size_t offset, void *data, size_t bytes);
void pin_write(const struct pin *pin, size_t offset, const void *data, size_t bytes);

#endif
