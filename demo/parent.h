/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parent of the fork experiment on an emulated machine: a task that runs forklab-tiny and has
 * touched all that it will ever touch before the clock starts.
 *
 *   0x400000   text       mapped; no instruction of it is ever executed, so it is never read
 *   0x600000   data       written
 *   region     shm, private anonymous memory or a private file mapping, aligned to the span of a
 *              leaf table, where mappings begin: no upper table exists for it alone
 *   stack      at the end of the address space, written
 */
#ifndef FORKLAB_DEMO_PARENT_H
#define FORKLAB_DEMO_PARENT_H

#include "demo/column.h"
#include "pager/object.h"
#include "pager/task.h"

struct parent_options {
    const struct kernel *kernel;
    const struct geometry *geometry;
    enum mmu_kind mmu;
    uint64_t ram_bytes; /* 0: as much as it takes */
    bool aged;
    uint64_t seed;
    const char *program_path; /* what the child execs; NULL: the parent's own program */
};

/* A program, and the words in it that are read and written. */
struct program {
    struct object *file;
    va_t text_word;
    va_t data_word;
};

struct parent {
    struct machine *machine;
    struct task *task;
    struct program own;   /* what the parent runs */
    struct program child; /* what the child execs */
    va_t region_start;
    uint64_t region_bytes;
    enum fork_memory memory;
    unsigned dirty_percent;
};

/* -errno with one line in `problem`. */
int parent_create(struct parent *parent, const struct parent_options *options,
                  const struct column_setup *setup, char *problem, size_t problem_bytes);

void parent_destroy(struct parent *parent);

/* The parent rewrites its share of the region's pages. */
int parent_rewrite(struct parent *parent);

/* Memory that a machine with such a parent comes to use. */
uint64_t parent_needed_bytes(const struct parent_options *options,
                             const struct column_setup *setup);

/*
 * Can there be such a parent? Looks at the programs, the address space and RAM, with a machine of
 * its own that touches nothing. -errno with one line in `problem`.
 */
int parent_check(const struct parent_options *options, const struct column_setup *setups,
                 size_t setup_count, char *problem, size_t problem_bytes);

#endif
