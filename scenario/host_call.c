/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory calls of a task on the real kernel. They go past the C library, which checks some
 * arguments itself; ours are as wrong as the scenario wants them.
 */
#include "scenario/host_call.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "scenario/host_layout.h"

#define CALL_PAGE_BYTES ((uint64_t)4096)

enum { STATUS_BYTES = 8 << 10 };

void host_call_answer(struct host_reply *reply, long result)
{
    reply->kind = result == -1 ? OUTCOME_ERROR : OUTCOME_DONE;
    reply->error = result == -1 ? errno : 0;
    reply->value = result == -1 ? 0 : (uint64_t)result;
}

/* --- the kernel's access --- */

/* As a program does that wants all of it: goes on after a part was done, until nothing more is. */
static void copy_by_kernel(const struct host_request *request, long number,
                           struct host_reply *reply)
{
    uint64_t done = 0;
    long bytes = 0;

    while (done < request->bytes) {
        bytes = syscall(number, HOST_BUFFER, request->address + done, request->bytes - done, done);
        if (bytes <= 0)
            break;
        done += (uint64_t)bytes;
    }
    host_call_answer(reply, done == 0 && bytes < 0 ? -1 : (long)done);
    if (number == SYS_pwrite64 && reply->kind == OUTCOME_DONE) {
        reply->kind = OUTCOME_DATA;
        reply->data_bytes = done;
    }
}

static void mincore_call(struct host_service *service, const struct host_request *request,
                         struct host_reply *reply)
{
    uint64_t pages = request->bytes / CALL_PAGE_BYTES + (request->bytes % CALL_PAGE_BYTES != 0);
    uint64_t vector = request->has_target ? request->target : (uint64_t)service->buffer;

    host_call_answer(reply, syscall(SYS_mincore, request->address, request->bytes, vector));
    if (reply->kind != OUTCOME_DONE || request->has_target)
        return;
    for (uint64_t page = 0; page < pages; page++)
        service->buffer[page] &= 1;
    reply->kind = OUTCOME_DATA;
    reply->data_bytes = pages;
}

static void stripe(const struct host_request *request, struct host_reply *reply)
{
    uint64_t pages = request->bytes / CALL_PAGE_BYTES + (request->bytes % CALL_PAGE_BYTES != 0);
    long result = 0;

    for (uint64_t page = 0; page < pages && result == 0; page += 2)
        result = syscall(SYS_mprotect, request->address + page * CALL_PAGE_BYTES, CALL_PAGE_BYTES,
                         request->protection);
    host_call_answer(reply, result);
}

/* --- limits --- */

static const int resources[LIMIT_COUNT] = {
    [LIMIT_ADDRESS_SPACE] = RLIMIT_AS, [LIMIT_DATA] = RLIMIT_DATA};

/* What the kernel holds against the limits. */
static bool measure(uint64_t *bytes)
{
    static const char *const words[LIMIT_COUNT] = {
        [LIMIT_ADDRESS_SPACE] = "\nVmSize:", [LIMIT_DATA] = "\nVmData:"};
    char text[STATUS_BYTES];

    if (!host_proc_read("/proc/self/status", text, sizeof(text)))
        return false;
    for (unsigned limit = 0; limit < LIMIT_COUNT; limit++) {
        const char *found = strstr(text, words[limit]);

        if (found == NULL)
            return false;
        bytes[limit] = strtoull(found + strlen(words[limit]), NULL, 10) << 10;
    }
    return true;
}

bool host_limits_measure(struct host_service *service)
{
    return measure(service->own_bytes);
}

static int set_limit(enum limit limit, uint64_t bytes)
{
    struct rlimit value;

    if (getrlimit((__rlimit_resource_t)resources[limit], &value) != 0)
        return -1;
    value.rlim_cur = bytes < value.rlim_max ? bytes : value.rlim_max;
    return setrlimit((__rlimit_resource_t)resources[limit], &value);
}

void host_limits_apply(const struct host_service *service)
{
    for (unsigned limit = 0; limit < LIMIT_COUNT; limit++) {
        if (service->limits[limit] != HOST_UNLIMITED)
            (void)set_limit(limit, service->own_bytes[limit] + service->limits[limit]);
    }
}

void host_limits_lift(void)
{
    for (unsigned limit = 0; limit < LIMIT_COUNT; limit++)
        (void)set_limit(limit, RLIM_INFINITY);
}

static void limit_call(struct host_service *service, const struct host_request *request,
                       struct host_reply *reply)
{
    uint64_t bytes[LIMIT_COUNT];
    uint64_t limit = request->value;

    if (limit >= LIMIT_COUNT || !measure(bytes)) {
        reply->kind = OUTCOME_UNABLE;
        snprintf(reply->why, sizeof(reply->why), "the sizes of the task cannot be read");
        return;
    }
    uint64_t most = HOST_USER_TOP;
    uint64_t more = request->bytes < most ? request->bytes : most;

    service->limits[limit] = bytes[limit] - service->own_bytes[limit] + more;
    host_call_answer(reply, set_limit((enum limit)limit, bytes[limit] + more));
}

/* --- pins --- */

void host_call_pin(struct host_service *service, const struct host_request *request,
                   struct host_reply *reply)
{
    struct io_uring_params parameters = {0};
    struct iovec page = {.iov_base = (void *)request->address, .iov_len = CALL_PAGE_BYTES};
    long ring = syscall(SYS_io_uring_setup, 1, &parameters);

    if (ring < 0) {
        reply->kind = OUTCOME_UNABLE;
        snprintf(reply->why, sizeof(reply->why), "io_uring, which would pin the page: %s",
                 strerrordesc_np(errno));
        return;
    }
    long result = syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &page, 1);

    host_call_answer(reply, result == 0 ? ring : -1);
    if (result != 0)
        (void)close((int)ring);
    memcpy(service->buffer, &parameters, sizeof(parameters));
}

/* --- one call --- */

static void map(const struct host_request *request, int file, struct host_reply *reply)
{
    host_call_answer(reply, syscall(SYS_mmap, request->address, request->bytes, request->protection,
                                    request->flags, file, request->offset_bytes));
}

/* Calls that are no more than their arguments. */
static long plain_call(const struct host_request *request)
{
    uint64_t address = request->address;
    uint64_t bytes = request->bytes;

    switch (request->verb) {
    case VERB_MUNMAP:
        return syscall(SYS_munmap, address, bytes);
    case VERB_MPROTECT:
        return syscall(SYS_mprotect, address, bytes, request->protection);
    case VERB_MREMAP:
        return syscall(SYS_mremap, address, bytes, request->new_bytes, request->flags,
                       request->target);
    case VERB_BRK:
        return syscall(SYS_brk, address);
    case VERB_MADVISE:
        return syscall(SYS_madvise, address, bytes, request->advice);
    case VERB_MLOCK:
        return syscall(SYS_mlock, address, bytes);
    case VERB_MUNLOCK:
        return syscall(SYS_munlock, address, bytes);
    case VERB_MSYNC:
        return syscall(SYS_msync, address, bytes, request->flags);
    default:
        errno = ENOSYS;
        return -1;
    }
}

void host_call_memory(struct host_service *service, const struct host_request *request, int file,
                      struct host_reply *reply)
{
    switch (request->verb) {
    case VERB_MMAP:
        map(request, file, reply);
        break;
    case VERB_MINCORE:
        mincore_call(service, request, reply);
        break;
    case VERB_STRIPE:
        stripe(request, reply);
        break;
    case VERB_LIMIT:
        limit_call(service, request, reply);
        break;
    case VERB_KREAD:
        copy_by_kernel(request, SYS_pwrite64, reply);
        break;
    case VERB_KWRITE:
        copy_by_kernel(request, SYS_pread64, reply);
        break;
    default:
        host_call_answer(reply, plain_call(request));
        break;
    }
}
