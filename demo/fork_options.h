/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `forklab fork` is asked for. */
#ifndef FORKLAB_DEMO_FORK_OPTIONS_H
#define FORKLAB_DEMO_FORK_OPTIONS_H

#include "demo/column.h"
#include "demo/options.h"
#include "pager/machine.h"

enum { MOST_SIZES = 32, MOST_KERNELS = 16 };

enum output { OUTPUT_TEXT, OUTPUT_JSON, OUTPUT_CSV };

struct fork_options {
    struct command_line line; /* first */
    uint64_t sizes[MOST_SIZES];
    size_t size_count;
    enum fork_memory memories[MEMORY_COUNT];
    size_t memory_count;
    enum fork_mode modes[MODE_COUNT];
    size_t mode_count;
    const struct kernel *kernels[MOST_KERNELS];
    size_t kernel_count;
    unsigned rounds;
    bool quick;
    const struct geometry *geometry;
    enum mmu_kind mmu;
    uint64_t ram_bytes; /* 0: as much as it takes */
    unsigned dirty_percent;
    bool aged;
    uint64_t seed;
    const char *program_path; /* what the child execs; NULL: forklab-tiny */
    bool floor;
    bool host;
    bool explain;
    enum output output;
    const char *plot_path; /* or NULL */
};

/* As command_line_parse(): true to go on, else end with `*status`. Judges words alone; whether the
 * sizes can be had is for those who get the memory. */
bool fork_options_parse(struct fork_options *options, int argc, char **argv, int *status);

#endif
