/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's door; abi_call.h says what it is for.
 *
 * Where a mapping goes is judged before what it is (Linux's do_mmap()): so what is wrong with flags
 * and descriptor is found here, and goes with the request as its refusal.
 *
 * Not offered, and refused: huge pages, MAP_DROPPABLE, and PROT_GROWSDOWN and PROT_GROWSUP, with
 * which mprotect reaches to the end of a mapping that grows.
 */
#include "pager/abi_call.h"

#include <errno.h>

#include "pager/map.h"

/* MAP_32BIT, MAP_ABOVE4G, MAP_DENYWRITE, MAP_EXECUTABLE: known, and without effect. */
#define MAP_IDLE_FLAGS (0x40u | 0x80u | 0x800u | 0x1000u)

#define MAP_HUGETLB 0x40000u

/* Flags that MAP_SHARED_VALIDATE knows of a file: those that are older than it. */
#define KNOWN_FLAGS                                                                                \
    (ABI_MAP_SHARED_VALIDATE | ABI_MAP_FIXED | ABI_MAP_ANONYMOUS | ABI_MAP_GROWSDOWN |             \
     ABI_MAP_LOCKED | ABI_MAP_NORESERVE | ABI_MAP_POPULATE | ABI_MAP_NONBLOCK | ABI_MAP_STACK |    \
     MAP_IDLE_FLAGS)

/* Of mprotect: PROT_SEM has no effect on x86; which way a mapping grows is one or the other. */
#define PROT_SEM 8u
#define PROT_GROWS_BOTH_WAYS 0x03000000u

static bool is_shared(const struct abi_mmap *call)
{
    uint32_t type = call->flags & ABI_MAP_TYPE;

    return type == ABI_MAP_SHARED || type == ABI_MAP_SHARED_VALIDATE;
}

static int anonymous_refusal(const struct abi_mmap *call)
{
    uint32_t type = call->flags & ABI_MAP_TYPE;

    return type == ABI_MAP_SHARED || type == ABI_MAP_PRIVATE ? 0 : -EINVAL;
}

static int shared_file_refusal(const struct abi_mmap *call)
{
    bool validates = (call->flags & ABI_MAP_TYPE) == ABI_MAP_SHARED_VALIDATE;

    if (validates && (call->flags & ~KNOWN_FLAGS) != 0)
        return -EOPNOTSUPP;
    return (call->protection & ABI_PROT_WRITE) && !call->file->writable ? -EACCES : 0;
}

static int file_refusal(const struct abi_mmap *call)
{
    int error = 0;

    if (is_shared(call))
        error = shared_file_refusal(call);
    else if ((call->flags & ABI_MAP_TYPE) != ABI_MAP_PRIVATE)
        error = -EINVAL;
    if (error != 0)
        return error;
    if (!call->file->readable)
        return -EACCES;
    return call->file->object == NULL ? -ENODEV : 0;
}

static uint32_t request_flags(const struct abi_mmap *call)
{
    static const struct {
        uint32_t abi;
        uint32_t request;
    } pairs[] = {
        {ABI_MAP_FIXED, MAP_REQUEST_FIXED},
        {ABI_MAP_FIXED_NOREPLACE, MAP_REQUEST_NOREPLACE},
        {ABI_MAP_GROWSDOWN, MAP_REQUEST_GROWSDOWN},
        {ABI_MAP_LOCKED, MAP_REQUEST_LOCKED},
        {ABI_MAP_NORESERVE, MAP_REQUEST_NORESERVE},
        {ABI_MAP_STACK, MAP_REQUEST_STACK},
    };
    uint32_t flags = is_shared(call) ? MAP_REQUEST_SHARED : 0;

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        flags |= call->flags & pairs[i].abi ? pairs[i].request : 0;
    if ((call->flags & (ABI_MAP_POPULATE | ABI_MAP_NONBLOCK)) == ABI_MAP_POPULATE)
        flags |= MAP_REQUEST_POPULATE;
    return flags;
}

int abi_mmap(struct task *task, const struct abi_mmap *call, va_t *address)
{
    struct map_request request = {.address = call->address,
                                  .bytes = call->bytes,
                                  .protection = call->protection & VMA_PROTECTION,
                                  .flags = request_flags(call)};

    if (call->offset_bytes % PAGE_BYTES != 0)
        return -EINVAL;
    if ((call->flags & ABI_MAP_ANONYMOUS) && (call->flags & MAP_HUGETLB))
        return -ENOMEM; /* the pool is empty */
    if (call->flags & ABI_MAP_ANONYMOUS) {
        request.refusal = anonymous_refusal(call);
        return sys_mmap(task, &request, address);
    }
    if (call->file == NULL)
        return -EBADF;
    if (call->flags & MAP_HUGETLB)
        return -EINVAL;
    request.refusal = file_refusal(call);
    request.object = call->file->object;
    request.offset_bytes = call->offset_bytes;
    if (!call->file->writable)
        request.flags |= MAP_REQUEST_READ_ONLY;
    return sys_mmap(task, &request, address);
}

int abi_mprotect(struct task *task, va_t start, uint64_t bytes, uint32_t protection)
{
    if ((protection & PROT_GROWS_BOTH_WAYS) == PROT_GROWS_BOTH_WAYS)
        return -EINVAL;
    return sys_mprotect(task, start, bytes, protection & ~PROT_SEM);
}

int task_limit(struct task *task, enum limit limit, uint64_t more_bytes)
{
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    struct mm *mm = task->mm;
    uint64_t most = mm_mapped_pages(mm, limit == LIMIT_DATA) + (more_bytes >> PAGE_SHIFT);

    if (limit == LIMIT_DATA)
        mm->most_data_pages = most;
    else
        mm->most_pages = most;
    machine_unlock(task->machine);
    return 0;
}
