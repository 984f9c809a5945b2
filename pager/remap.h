/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mremap: mappings grow, shrink and move. `flags` are ABI_MREMAP_*; results and refusals are those
 * of mremap(2) in Linux 6.18: several VMAs may move at once where the size stays (since 6.17).
 *
 * A shared table stays at one address: moving splits it, at both ends of the move.
 */
#ifndef FORKLAB_PAGER_REMAP_H
#define FORKLAB_PAGER_REMAP_H

#include "pager/task.h"

struct remap_request {
    va_t address;
    uint64_t old_bytes;
    uint64_t new_bytes;
    uint32_t flags;
    va_t new_address; /* with FIXED; a hint with DONTUNMAP */
};

/* Where the mapping then is: 0; -EINVAL, -EFAULT, -ENOMEM, -EAGAIN; -ESRCH. */
int sys_mremap(struct task *task, const struct remap_request *request, va_t *address);

#endif
