/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's door for calls with Linux's own numbers: checks what only user programs get wrong,
 * such as unknown flags and bad descriptors, in Linux's order, and calls the kernel behind it.
 */
#ifndef FORKLAB_PAGER_ABI_CALL_H
#define FORKLAB_PAGER_ABI_CALL_H

#include "pager/abi.h"
#include "pager/file.h"
#include "pager/task.h"

struct abi_mmap {
    va_t address;
    uint64_t bytes;
    uint32_t protection;          /* ABI_PROT_* */
    uint32_t flags;               /* ABI_MAP_* */
    const struct open_file *file; /* NULL: no such descriptor */
    uint64_t offset_bytes;
};

int abi_mmap(struct task *task, const struct abi_mmap *call, va_t *address);
int abi_mprotect(struct task *task, va_t start, uint64_t bytes, uint32_t protection);

/* What setrlimit(2) limits: the address space, and its private writable part. */
enum limit { LIMIT_ADDRESS_SPACE, LIMIT_DATA, LIMIT_COUNT };

/* Lets that part grow by at most so many bytes from now on. -ESRCH. */
int task_limit(struct task *task, enum limit limit, uint64_t more_bytes);

#endif
