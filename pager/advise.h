/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls on ranges whose mappings stay where they are: madvise, mlock, munlock, msync, mincore.
 *
 * Results are 0 or a negative errno, as Linux 6.18 has them; what Linux defines as partial stays so
 * (madvise goes on over a hole and then says -ENOMEM; mlock stops at it).
 *
 * The code: advise.c has the table of advice, discard.c what gives pages up, guard.c guard pages,
 * lock.c mlock and munlock, populate.c bringing pages in, residency.c mincore, sync.c msync.
 */
#ifndef FORKLAB_PAGER_ADVISE_H
#define FORKLAB_PAGER_ADVISE_H

#include "pager/task.h"

/* `advice` is an ABI_MADV_*, or anything else, which is -EINVAL. */
int sys_madvise(struct task *task, va_t start, uint64_t bytes, int advice);

/*
 * Locks, and brings every page of the range in: -ENOMEM over a hole or a page that cannot be had.
 */
int sys_mlock(struct task *task, va_t start, uint64_t bytes);
int sys_munlock(struct task *task, va_t start, uint64_t bytes);

/* `flags` are ABI_MS_*. Files with a host file under them are written back. */
int sys_msync(struct task *task, va_t start, uint64_t bytes, uint32_t flags);

/*
 * For each page 1 if it is resident, else 0, put into the user's memory at `vector`, as mincore(2)
 * does: -EINVAL, -ENOMEM, -EFAULT. sys_mincore_to gives them to the host program instead.
 */
int sys_mincore(struct task *task, va_t start, uint64_t bytes, va_t vector);
int sys_mincore_to(struct task *task, va_t start, uint64_t bytes, uint8_t *pages);

/*
 * Brings in every page of [start, end), of locked or populated memory, in order, until one cannot
 * be had: private writable pages are written to, so that their first write is no fault any more,
 * the others are read. -EFAULT: an access would be bad there; -ENOMEM: a hole, or memory ended.
 * Lock held.
 */
int populate_locked(struct mm *mm, va_t start, va_t end);

#endif
