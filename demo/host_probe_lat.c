/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lmbench's tests on the real kernel. Where the emulated ones stand for something (a protection
 * fault without a signal, a shell that is none), these are the real thing, as lmbench does them.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo/column.h"
#include "demo/host_probe.h"
#include "demo/lat_bench.h"

enum { PROTECTION_FAULTS = 2000 };

/* For the handler alone: faults so far, and the page. */
static volatile sig_atomic_t faults;
static void *protected_page;

/* The store is tried again when the handler returns, so it faults until this lets it through. */
static void on_fault(int number)
{
    (void)number;
    if (++faults == PROTECTION_FAULTS)
        (void)mprotect(protected_page, PAGE_BYTES, PROT_READ | PROT_WRITE);
}

static int time_protection(double *ns)
{
    struct sigaction action = {.sa_handler = on_fault};

    sigemptyset(&action.sa_mask);
    protected_page = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (protected_page == MAP_FAILED || sigaction(SIGSEGV, &action, NULL) != 0)
        return -errno;
    uint64_t start_ns = clock_ns();

    *(volatile uint8_t *)protected_page = 1;
    *ns = (double)(clock_ns() - start_ns) / PROTECTION_FAULTS;
    return 0;
}

/* A file of ours, as large as asked for, all of it in the page cache or absent. */
static int open_memory(uint64_t bytes, bool written)
{
    int file = memfd_create("forklab-lat", MFD_CLOEXEC);

    if (file < 0)
        return -errno;
    if (ftruncate(file, (off_t)bytes) != 0)
        return -errno;
    for (uint64_t at = 0; written && at < bytes; at += PAGE_BYTES) {
        if (pwrite(file, "x", 1, (off_t)at) != 1)
            return -errno;
    }
    return file;
}

static int time_page_faults(double *ns)
{
    uint64_t bytes = LAT_FAULT_PAGES * PAGE_BYTES;
    int file = open_memory(bytes, true);
    uint8_t *mapped = file >= 0 ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;

    if (mapped == MAP_FAILED)
        return file < 0 ? file : -errno;
    uint64_t start_ns = clock_ns();

    for (unsigned page = LAT_FAULT_PAGES; page-- > 0;)
        (void)*(volatile uint8_t *)(mapped + page * PAGE_BYTES);
    *ns = (double)(clock_ns() - start_ns) / LAT_FAULT_PAGES;
    return 0;
}

/* The second time around, so that the file's pages are there, as in the emulated kernels. */
static int time_mapping(uint64_t bytes, double *ns)
{
    int file = open_memory(bytes, false);

    if (file < 0)
        return file;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t start_ns = clock_ns();
        uint8_t *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

        if (mapped == MAP_FAILED)
            return -errno;
        for (uint64_t at = 0; at < bytes / LAT_PART; at += LAT_STRIDE_BYTES)
            mapped[at] = 1;
        if (munmap(mapped, bytes) != 0)
            return -errno;
        *ns = (double)(clock_ns() - start_ns);
    }
    return 0;
}

static _Noreturn void be_child(enum lat_test test, char *tiny)
{
    static char shell[] = "/bin/sh";
    static char option[] = "-c";
    char *tiny_arguments[] = {tiny, NULL};
    char *shell_arguments[] = {shell, option, tiny, NULL};
    char *environment[] = {NULL};

    if (test == LAT_FORK_EXEC)
        (void)execve(tiny, tiny_arguments, environment);
    if (test == LAT_FORK_SHELL)
        (void)execve(shell, shell_arguments, environment);
    _exit(test == LAT_FORK_EXIT ? 0 : 1);
}

static int time_fork(enum lat_test test, double *ns)
{
    char problem[200];
    char *tiny = tiny_executable_path(problem, sizeof(problem));
    int status = -1;

    if (tiny == NULL)
        return -ENOENT;
    uint64_t start_ns = clock_ns();
    pid_t child = fork();

    if (child == 0)
        be_child(test, tiny);
    free(tiny);
    while (child > 0 && waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    *ns = (double)(clock_ns() - start_ns);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ENOEXEC;
}

static int time_test(enum lat_test test, uint64_t bytes, double *ns)
{
    switch (test) {
    case LAT_PROTECTION:
        return time_protection(ns);
    case LAT_PAGE_FAULT:
        return time_page_faults(ns);
    case LAT_MAPPING:
        return time_mapping(bytes, ns);
    default:
        return time_fork(test, ns);
    }
}

int host_probe_lat(const uint64_t *numbers, size_t count, double *answers)
{
    if (count != 2 || numbers[0] >= LAT_TESTS)
        return -EINVAL;
    int error = time_test((enum lat_test)numbers[0], numbers[1], &answers[0]);

    return error != 0 ? error : 1;
}
