/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fork experiment: its columns, and one cell for each memory, size and mode.
 *
 * Within each round the columns take turns in random order, and each does one unrecorded round
 * right before its sample: so drift hits all alike, and no column pays for what another one left in
 * the caches. Round i of one column is the partner of round i of every other. Only the host column,
 * whose rounds may be dear, stops when it has used up its time; nothing is paired with it.
 */
#ifndef FORKLAB_DEMO_EXPERIMENT_H
#define FORKLAB_DEMO_EXPERIMENT_H

#include "demo/column_kernel.h"
#include "demo/fork_options.h"

enum { MOST_COLUMNS = MOST_KERNELS + 2 };

/* One column in one cell. Parts are medians by themselves, so they need not add up. */
struct figures {
    double *totals_ns; /* of each sample, in order */
    size_t samples;    /* as many as there are rounds, but for the host column */
    double median_ns;
    double minimum_ns;
    double p90_ns;
    double kernel_ns;
    double user_ns;
    double host_ns;
    uint64_t host_calls;          /* of one round */
    uint64_t counts[EVENT_COUNT]; /* of the same round */
    uint32_t table_frames;
    struct phase_sample phases[PHASE_COUNT]; /* with --explain, of an emulated kernel */
};

struct cell {
    enum fork_memory memory;
    enum fork_mode mode;
    uint64_t size_bytes;
    struct figures *figures; /* one for each column */
};

struct experiment {
    const struct fork_options *options;
    struct column *columns[MOST_COLUMNS]; /* kernels as asked for, then the floor, then the host */
    size_t column_count;
    size_t measured_cells;
    struct cell *cells; /* by memory, then mode, then size, as asked for */
    size_t cell_count;
    char left_out[2][200]; /* why there is no floor, no host; "" where nothing is to be said */
};

/* Makes the columns, or refuses: -errno with one line in `options->line.problem`. */
int experiment_create(struct experiment *experiment, struct fork_options *options);

/* Measures everything. -errno as above. */
int experiment_run(struct experiment *experiment, struct fork_options *options);

void experiment_destroy(struct experiment *experiment);

/* The cell for the numbers of a memory, a mode and a size in the options' lists. */
struct cell *experiment_cell(const struct experiment *experiment, size_t memory, size_t mode,
                             size_t size);

/* The column of that name, or `column_count`. */
size_t experiment_column(const struct experiment *experiment, const char *name);

#endif
