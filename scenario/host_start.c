/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a process of the host backend begins: this program executed anew, as the helper or as the
 * program that a task executes. It takes its layout (host_layout.h), says so, and serves.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "scenario/host.h"
#include "scenario/host_access.h"
#include "scenario/host_call.h"
#include "scenario/host_layout.h"

#define USUAL_STACK_BYTES ((rlim_t)8 << 20)

enum { ARGUMENT_COUNT = 5, STACK_GROWN_BYTES = 256 << 10 };

/* Does the socket lie where the backend puts it? */
static bool is_started_by_backend(void)
{
    int type;
    socklen_t bytes = sizeof(type);

    return getsockopt(HOST_SOCKET, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 &&
           type == SOCK_SEQPACKET && fcntl(HOST_BUFFER, F_GETFD) >= 0;
}

/* The kernel begins to place mappings below the room that a stack may take: with a stack without
 * limit, in the middle of the address space. The limit counts when a program starts. */
static void bound_stack(char **argv)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur <= HOST_MOST_STACK_BYTES)
        return;
    limit.rlim_cur = USUAL_STACK_BYTES;
    if (setrlimit(RLIMIT_STACK, &limit) == 0)
        (void)execv("/proc/self/exe", argv);
}

/* Later the stack could not grow, when the scenario limits the address space. */
static __attribute__((noinline)) void grow_stack(void)
{
    volatile char frame[STACK_GROWN_BYTES];

    frame[0] = 1;
    (void)frame[0];
}

static int map_buffer(struct host_service *service, struct host_reply *hello)
{
    void *buffer =
        mmap(NULL, HOST_BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, HOST_BUFFER, 0);

    if (buffer == MAP_FAILED) {
        snprintf(hello->why, sizeof(hello->why), "the buffer cannot be mapped");
        return -errno;
    }
    service->buffer = buffer;
    return 0;
}

/* Huge pages are off, or ranges would be resident that nobody touched; core files too. */
static int prepare(struct host_service *service, struct host_reply *hello)
{
    const struct rlimit no_core = {.rlim_cur = 0, .rlim_max = 0};
    int error = map_buffer(service, hello);

    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    grow_stack();
    if (error == 0)
        error = host_access_prepare();
    if (error == 0)
        error = host_layout_prepare(hello->why, sizeof(hello->why));
    if (error == 0 && !host_limits_measure(service)) {
        snprintf(hello->why, sizeof(hello->why), "/proc/self/status cannot be read");
        error = -EOPNOTSUPP;
    }
    return error;
}

/* Does a write after a read fault once more, from the page of zeros to one of its own? */
static bool probe_zero_page(const struct host_service *service)
{
    const size_t bytes = 4096;
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct host_access access = {
        .verb = VERB_READ, .address = (uint64_t)page, .bytes = 1, .buffer = service->buffer};

    if (page == MAP_FAILED)
        return false;
    (void)host_access_make(&access);
    access.verb = VERB_WRITE;
    bool faults = host_access_make(&access) != 0;

    (void)munmap(page, bytes);
    return faults;
}

static _Noreturn void serve(bool is_helper, char **limits)
{
    struct host_service service = {0};
    struct host_reply hello = {.message = MESSAGE_HELLO, .pid = getpid()};

    for (unsigned limit = 0; limit < LIMIT_COUNT; limit++)
        service.limits[limit] = strtoull(limits[limit], NULL, 10);
    int error = prepare(&service, &hello);

    /* Only so it hears of all that loses its parent. */
    if (error == 0 && is_helper && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        error = -errno;
    hello.kind = error == 0 ? OUTCOME_DONE : OUTCOME_BROKEN;
    hello.value = error == 0 && is_helper && probe_zero_page(&service);
    hello.error = -error;
    host_limits_apply(&service);
    if (!host_send(HOST_SOCKET, &hello, sizeof(hello), -1) || error != 0)
        _exit(1);
    host_serve(&service);
}

void host_backend_serve_if_helper(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], HOST_ARGUMENT) != 0)
        return;
    if (argc != ARGUMENT_COUNT || !is_started_by_backend()) {
        fprintf(stderr, "%s: %s is forklab's own; see forklab --help\n", argv[0], HOST_ARGUMENT);
        exit(2);
    }
    bound_stack(argv);
    serve(strcmp(argv[2], HOST_ROLE_HELPER) == 0, argv + 3);
}
