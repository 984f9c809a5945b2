/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pager/advise.h"
#include <errno.h>
int sys_madvise(struct task *task, va_t start, uint64_t bytes, int advice)
{
    (void)task;
    (void)start;
    (void)bytes;
    (void)advice;
    return -ENOSYS;
}
int sys_mlock(struct task *task, va_t start, uint64_t bytes)
{
    (void)task;
    (void)start;
    (void)bytes;
    return -ENOSYS;
}
int sys_munlock(struct task *task, va_t start, uint64_t bytes)
{
    (void)task;
    (void)start;
    (void)bytes;
    return -ENOSYS;
}
int sys_msync(struct task *task, va_t start, uint64_t bytes, uint32_t flags)
{
    (void)task;
    (void)start;
    (void)bytes;
    (void)flags;
    return -ENOSYS;
}
int sys_mincore(struct task *task, va_t start, uint64_t bytes, va_t vector)
{
    (void)task;
    (void)start;
    (void)bytes;
    (void)vector;
    return -ENOSYS;
}
int sys_mincore_to(struct task *task, va_t start, uint64_t bytes, uint8_t *pages)
{
    (void)task;
    (void)start;
    (void)bytes;
    (void)pages;
    return -ENOSYS;
}
int populate_locked(struct mm *mm, va_t start, va_t end)
{
    (void)mm;
    (void)start;
    (void)end;
    return -ENOSYS;
}
