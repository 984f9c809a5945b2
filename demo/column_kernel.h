/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The columns of emulated kernels.
 *
 * Kernels that one machine can run in turn share one machine and one parent: two instances of the
 * same code differ by more than some kernels do, through the placement of their memory alone.
 */
#ifndef FORKLAB_DEMO_COLUMN_KERNEL_H
#define FORKLAB_DEMO_COLUMN_KERNEL_H

#include "demo/child.h"

/*
 * One column for each kernel, in their order, to be destroyed one by one. `options->kernel` is not
 * looked at. Returns how many were made: fewer than asked for when memory ran out.
 */
size_t kernel_columns_create(const struct parent_options *options,
                             const struct kernel *const chosen[], size_t count,
                             struct column *columns[]);

/* How many machines such columns have among them. */
size_t kernel_machine_count(const struct kernel *const chosen[], size_t count);

/* The kernel of a column, or NULL if the column is of another make. */
const struct kernel *kernel_of_column(const struct column *column);

/* What one phase took and counted; all 0 in a mode that has no such phase. */
struct phase_sample {
    double total_ns;
    double kernel_ns;
    uint64_t counts[EVENT_COUNT];
};

/* One round like any other of this mode, with its phases told apart, which itself takes time. */
int kernel_column_phases(struct column *column, enum fork_mode mode,
                         struct phase_sample samples[PHASE_COUNT]);

#endif
