/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tests of lmbench that concern memory, in an emulated kernel.
 *
 * The task is laid out like a process: a program of four segments that was exec'd, a heap, eight
 * libraries of four mappings each, a stack: 38 mappings, so that looking for one is more than a
 * glance. Libraries and page faults are of a file of zeros.
 *
 *   protection fault   the kernel's own store to a page that may only be read, as a system call
 *                      makes it (signals are not emulated): from the call to the refusal, the
 *                      mean of a series under one look at the clock, which costs half as much
 *   page fault         a file is mapped, and its pages are read, the last one first; the time is
 *                      that of a page, the counts are of all of it, map and unmap included
 *   mapping            a file of that size is mapped, a word in each 16K of its first tenth is
 *                      written, and it is unmapped
 *   fork+exit, fork+exec   the child writes a word and exits, or execs forklab-tiny first
 *   fork+sh -c         the child execs forklab-shell, which reads and writes pages of all its
 *                      segments, forks, and waits for a child that execs forklab-tiny
 */
#ifndef FORKLAB_DEMO_LAT_BENCH_H
#define FORKLAB_DEMO_LAT_BENCH_H

#include "pager/machine.h"

enum lat_test {
    LAT_PROTECTION,
    LAT_FORK_EXIT,
    LAT_FORK_EXEC,
    LAT_FORK_SHELL,
    LAT_PAGE_FAULT,
    LAT_MAPPING,
    LAT_TESTS
};

/* lmbench's lat_mmap. */
enum { LAT_STRIDE_BYTES = 16 * 1024, LAT_PART = 10, LAT_FAULT_PAGES = 128 };

/* One sample: the time of one operation (of a page in LAT_PAGE_FAULT), and what it counted. An
 * operation as short as a few microseconds is done several times for a sample. */
struct lat_sample {
    double ns;
    double counts[EVENT_COUNT];
};

struct lat_bench;

/*
 * A machine and a task. Machines that are alike differ by up to two per cent in their times: who
 * compares kernels makes many of each. -errno with one line in `problem`.
 */
int lat_bench_create(struct lat_bench **bench, const struct kernel *kernel, char *problem,
                     size_t problem_bytes);
void lat_bench_destroy(struct lat_bench *bench);

/* Runs a test; `bytes`: of a mapping. -errno. */
int lat_bench_run(struct lat_bench *bench, enum lat_test test, uint64_t bytes,
                  struct lat_sample *sample);

#endif
