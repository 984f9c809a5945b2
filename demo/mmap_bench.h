/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mmap program of "mmap(2) performance netbsd-1-6 vs. -current" (October 2003) in an emulated
 * kernel: fifteen mappings of 4 KiB to 64 MiB, then fifteen munmaps, again and again.
 *
 *   posted      it stores to its array of pointers where it means the mapping: `*((int *)ptr)`. So
 *               the low half of ptr[0] is overwritten, the munmap of the first mapping is refused,
 *               and a page more stays mapped with each round. Nothing is ever touched
 *   corrected   each mapping has one word written, and all are unmapped
 *   guarded     with a page without rights between what is there already and the first mapping
 *
 * What is there already is an anonymous mapping that was written, as a library's data is.
 */
#ifndef FORKLAB_DEMO_MMAP_BENCH_H
#define FORKLAB_DEMO_MMAP_BENCH_H

#include "pager/machine.h"

enum { MMAP_MAPPINGS = 15 };

/* What the post's program stores where it should not. */
#define MMAP_POISON 0xdeadbeefu

struct mmap_program {
    bool corrected;
    bool guarded;
};

/* Some rounds. */
struct mmap_sample {
    double total_ns;
    double kernel_ns; /* of it the emulated kernel's own work */
    uint64_t counts[EVENT_COUNT];
    uint64_t refused; /* munmaps */
};

struct mmap_bench;

/* A machine, and in it a task that is about to run the program. -errno with one line in
 * `problem`. */
int mmap_bench_create(struct mmap_bench **bench, const struct kernel *kernel,
                      const struct mmap_program *program, char *problem, size_t problem_bytes);
void mmap_bench_destroy(struct mmap_bench *bench);

/* Runs so many rounds further. */
int mmap_bench_run(struct mmap_bench *bench, uint64_t rounds, struct mmap_sample *sample);

/* Entries of the task's map, and the first lines of it as text. */
unsigned mmap_bench_entries(const struct mmap_bench *bench);
void mmap_bench_print_map(const struct mmap_bench *bench, unsigned most);

#endif
