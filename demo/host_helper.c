/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The helper of the host column: a process that sets up a region of memory and forks for real.
 *
 * It is forklab executed anew, so that it holds no machine: a fork of forklab itself would pay for
 * its windows. It serves until its socket ends, so it never outlives who started it for long. Huge
 * pages are off, or the real kernel would copy one entry where the emulated ones copy 512.
 *
 * Every child is waited for before the next request is read; what is timed is
 *
 *   fork             the call of fork alone, in the parent; the child ends at once, and is reaped
 *                    after the clock was read
 *   fork/exit        until waitpid() returns; the child writes a word of its stack and of its data
 *   fork/exec/exit   the same, and the child then execs forklab-tiny
 */
#include "demo/host_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pager/clock.h"
#include "pager/mmu.h"

/* What must stay free beside the region. */
#define SPARE_BYTES ((uint64_t)64 << 20)

enum { EXIT_NO_EXEC = 127 };

struct helper {
    uint8_t *region;
    struct column_setup setup; /* size 0: no region; else in whole pages */
    char *tiny_arguments[2];
    char *no_environment[1];
};

/* --- the region --- */

static int open_temporary(void)
{
    const char *directory = getenv("TMPDIR");
    char *path;

    if (asprintf(&path, "%s/forklab-XXXXXX", directory != NULL ? directory : "/tmp") < 0)
        return -ENOMEM;
    int file = mkostemp(path, O_CLOEXEC);
    int error = file < 0 ? -errno : 0;

    if (file >= 0 && unlink(path) != 0) {
        error = -errno;
        (void)close(file);
    }
    free(path);
    return error != 0 ? error : file;
}

/* The file under the region, for shared memory and files: its descriptor or -errno. */
static int open_backing(enum fork_memory memory, uint64_t bytes)
{
    int file = memory == MEMORY_FILE ? open_temporary() : memfd_create("forklab-host", MFD_CLOEXEC);

    if (file < 0)
        return memory == MEMORY_FILE ? file : -errno;
    if (ftruncate(file, (off_t)bytes) == 0)
        return file;
    int error = -errno;

    (void)close(file);
    return error;
}

static int map_region(enum fork_memory memory, uint64_t bytes, uint8_t **region)
{
    int flags = memory == MEMORY_SHM ? MAP_SHARED : MAP_PRIVATE;
    int file = -1;

    if (memory == MEMORY_ANON)
        flags |= MAP_ANONYMOUS;
    else
        file = open_backing(memory, bytes);
    if (memory != MEMORY_ANON && file < 0)
        return file;
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    int error = mapped == MAP_FAILED ? -errno : 0;

    if (file >= 0)
        (void)close(file);
    if (error == 0)
        *region = mapped;
    return error;
}

/* Brings every page in: by writing, but for a file, whose pages stay the file's. */
static void touch_all(const struct helper *helper)
{
    volatile uint8_t *region = helper->region;

    for (uint64_t at = 0; at < helper->setup.size_bytes; at += PAGE_BYTES) {
        if (helper->setup.memory == MEMORY_FILE)
            (void)region[at];
        else
            region[at] = 1;
    }
}

static void finish(struct helper *helper)
{
    if (helper->setup.size_bytes != 0)
        (void)munmap(helper->region, helper->setup.size_bytes);
    helper->setup.size_bytes = 0;
}

static int check_setup(const struct column_setup *setup, struct helper_reply *reply)
{
    uint64_t available = host_memory_available_bytes();

    if (setup->size_bytes == 0 || setup->size_bytes > INT64_MAX - PAGE_BYTES ||
        setup->memory >= MEMORY_COUNT || setup->dirty_percent > 100) {
        snprintf(reply->problem, sizeof(reply->problem), "not a region that can be set up");
        return -EINVAL;
    }
    if (available >= SPARE_BYTES && setup->size_bytes <= available - SPARE_BYTES)
        return 0;
    snprintf(reply->problem, sizeof(reply->problem),
             "%llu MiB of memory are too much for the host, which has %llu MiB left",
             (unsigned long long)(setup->size_bytes >> 20), (unsigned long long)(available >> 20));
    return -ENOMEM;
}

static int prepare(struct helper *helper, const struct column_setup *setup,
                   struct helper_reply *reply)
{
    int error = check_setup(setup, reply);

    if (error != 0)
        return error;
    uint64_t bytes = round_up(setup->size_bytes, PAGE_BYTES);

    finish(helper);
    error = map_region(setup->memory, bytes, &helper->region);
    if (error != 0) {
        snprintf(reply->problem, sizeof(reply->problem), "the host gives no %s region: %s",
                 fork_memory_names[setup->memory], strerror(-error));
        return error;
    }
    helper->setup = *setup;
    helper->setup.size_bytes = bytes;
    /* A host without huge pages does not know the advice, and needs none. */
    (void)madvise(helper->region, bytes, MADV_NOHUGEPAGE);
    touch_all(helper);
    return 0;
}

/* The parent rewrites its share of the pages, evenly spread. */
static void rewrite(const struct helper *helper)
{
    volatile uint8_t *region = helper->region;
    uint64_t percent = helper->setup.dirty_percent;
    uint64_t pages = helper->setup.size_bytes / PAGE_BYTES;

    for (uint64_t page = 0; percent != 0 && page < pages; page++) {
        if ((page + 1) * percent / 100 != page * percent / 100)
            region[page * PAGE_BYTES]++;
    }
}

/* --- rounds --- */

/* A word of the stack, a word of the data. */
static void write_words(void)
{
    static volatile uint64_t data_word;
    volatile uint64_t stack_word = 1;

    data_word += stack_word;
}

static _Noreturn void be_child(const struct helper *helper, enum fork_mode mode)
{
    if (mode != MODE_FORK)
        write_words();
    if (mode == MODE_FORK_EXEC_EXIT) {
        (void)execve(helper->tiny_arguments[0], helper->tiny_arguments, helper->no_environment);
        _exit(EXIT_NO_EXEC);
    }
    _exit(0);
}

static int wait_for(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_EXEC ? -ENOEXEC : -ECHILD;
}

static int do_round(const struct helper *helper, enum fork_mode mode, struct helper_reply *reply)
{
    if (helper->setup.size_bytes == 0 || mode >= MODE_COUNT)
        return -EINVAL;
    rewrite(helper);
    uint64_t start_ns = clock_ns();
    pid_t child = fork();

    if (child == 0)
        be_child(helper, mode);
    uint64_t forked_ns = clock_ns();

    if (child < 0)
        return -errno;
    int error = wait_for(child);

    reply->total_ns = (double)((mode == MODE_FORK ? forked_ns : clock_ns()) - start_ns);
    return error;
}

/* --- serving --- */

static int obey(struct helper *helper, const struct helper_request *request,
                struct helper_reply *reply)
{
    switch (request->order) {
    case HELPER_PREPARE:
        return prepare(helper, &request->setup, reply);
    case HELPER_ROUND:
        return do_round(helper, request->mode, reply);
    case HELPER_FINISH:
        finish(helper);
        return 0;
    default:
        return -EINVAL;
    }
}

/* Until the socket ends or breaks. */
static void serve(struct helper *helper)
{
    for (;;) {
        struct helper_request request;
        struct helper_reply reply = {0};
        ssize_t bytes = recv(HELPER_SOCKET, &request, sizeof(request), 0);

        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes != (ssize_t)sizeof(request))
            return;
        reply.error = obey(helper, &request, &reply);
        do {
            bytes = send(HELPER_SOCKET, &reply, sizeof(reply), MSG_NOSIGNAL);
        } while (bytes < 0 && errno == EINTR);
        if (bytes != (ssize_t)sizeof(reply))
            return;
    }
}

/* Does the socket lie where the column puts it? Children that exec do not get it. */
static bool is_started_by_column(void)
{
    int type;
    socklen_t bytes = sizeof(type);

    return getsockopt(HELPER_SOCKET, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 &&
           type == SOCK_SEQPACKET && fcntl(HELPER_SOCKET, F_SETFD, FD_CLOEXEC) == 0;
}

void host_column_serve_if_helper(int argc, char **argv)
{
    struct helper helper = {0};
    char problem[160];

    if (argc != 2 || strcmp(argv[1], HELPER_ARGUMENT) != 0)
        return;
    if (!is_started_by_column()) {
        fprintf(stderr, "forklab: %s is forklab's own; see forklab --help\n", HELPER_ARGUMENT);
        exit(2);
    }
    /* A host that does not know this has no huge pages to give. */
    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    helper.tiny_arguments[0] = tiny_executable_path(problem, sizeof(problem));
    if (helper.tiny_arguments[0] != NULL)
        serve(&helper);
    finish(&helper);
    free(helper.tiny_arguments[0]);
    exit(0);
}
