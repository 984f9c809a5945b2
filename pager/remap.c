/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pager/remap.h"
#include <errno.h>
int sys_mremap(struct task *task, const struct remap_request *request, va_t *address)
{
    (void)task;
    (void)request;
    (void)address;
    return -ENOSYS;
}
