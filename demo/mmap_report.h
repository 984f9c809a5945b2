/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `forklab mmap` measured, and its outputs. */
#ifndef FORKLAB_DEMO_MMAP_REPORT_H
#define FORKLAB_DEMO_MMAP_REPORT_H

#include "demo/lab_options.h"
#include "demo/mmap_bench.h"

enum {
    MMAP_PROGRAMS = 4,
    MMAP_MOST_ROWS = MMAP_PROGRAMS * (LAB_MOST_KERNELS + 1),
    MMAP_MOST_TURNS = 16
};

struct mmap_options {
    struct lab_options lab; /* first */
    uint64_t outer;
};

/* One program on one kernel, or on the host (kernel NULL). */
struct mmap_row {
    struct mmap_program program;
    const struct kernel *kernel;
    struct mmap_bench *bench;
    uint64_t rounds;
    double total_ns;
    double kernel_ns;
    double user_ns; /* the host's alone */
    uint64_t refused;
    unsigned entries;
    uint64_t counts[EVENT_COUNT];
    unsigned turns;
    double turn_ns[MMAP_MOST_TURNS]; /* the kernel's, a map and an unmap */
};

struct mmap_results {
    const struct mmap_options *options;
    size_t count;
    struct mmap_row rows[MMAP_MOST_ROWS];
};

/* The post's lines: real, user, sys, for the rounds that were run. */
void mmap_print_post(const struct mmap_results *results);

/* Fills the sheet. False: memory ran out. */
bool mmap_sheet(const struct mmap_results *results, struct sheet *sheet);

/* Fills a sheet for a picture: a row for each program, a column for each kernel. */
void mmap_picture(const struct mmap_results *results, struct sheet *sheet);

/* What the bug does to the map. */
void mmap_print_bug(const struct mmap_results *results);

void mmap_explain(const struct mmap_results *results);

#endif
