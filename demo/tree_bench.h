/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rebuild-tree program in an emulated kernel: a task with very many small mappings, none of
 * which was touched, forks.
 *
 *   up        one page each, 8,192 bytes apart, from 0x50000000 upwards (as posted)
 *   down      the same, the highest first
 *   merging   4,096 bytes apart: the other half of the post's #if
 *   chosen    where the kernel likes
 */
#ifndef FORKLAB_DEMO_TREE_BENCH_H
#define FORKLAB_DEMO_TREE_BENCH_H

#include "pager/machine.h"

#define TREE_BASE ((va_t)0x50000000)

enum tree_variant { TREE_UP, TREE_DOWN, TREE_MERGING, TREE_CHOSEN, TREE_VARIANTS };

extern const char *const tree_variant_names[TREE_VARIANTS];

/* Where mapping `number` of `maps` goes; 0: where the kernel likes. */
va_t tree_place(enum tree_variant variant, uint64_t number, uint64_t maps);

/* One fork. */
struct tree_sample {
    double ns;
    double cycles;
    uint64_t steps; /* of the index */
    uint64_t vmas;  /* copied */
};

struct tree_bench;

/* A machine, and in it a task that has mapped all. -errno with one line in `problem`. */
int tree_bench_create(struct tree_bench **bench, const struct kernel *kernel, uint64_t maps,
                      enum tree_variant variant, char *problem, size_t problem_bytes);
void tree_bench_destroy(struct tree_bench *bench);

/* The task that has mapped all. */
struct task *tree_bench_task(struct tree_bench *bench);

/* Forks once; the child ends outside the clock. */
int tree_bench_fork(struct tree_bench *bench, struct tree_sample *sample);

#endif
