/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pager/abi_call.h"
#include "pager/advise.h"
#include "pager/remap.h"
#include <errno.h>
int abi_mmap(struct task *task, const struct abi_mmap *call, va_t *address)
{
    (void)task;
    (void)call;
    (void)address;
    return -ENOSYS;
}
int abi_mprotect(struct task *task, va_t start, uint64_t bytes, uint32_t protection)
{
    (void)task;
    (void)start;
    (void)bytes;
    (void)protection;
    return -ENOSYS;
}
int task_limit(struct task *task, enum limit limit, uint64_t more_bytes)
{
    (void)task;
    (void)limit;
    (void)more_bytes;
    return -ENOSYS;
}
