/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cases of `forklab fault`, and one sample of each in an emulated kernel.
 *
 *   refill            the tables permit the access, the window does not yet
 *   zero-fill         the first write to an anonymous page
 *   cow-copy          a child's write to a page that its parent has too
 *   cow-reuse         the parent's write to it after the child has ended
 *   split             a child's write through a shared leaf table that is full: the table is
 *                     copied, then the page
 *   sequential-read   a walk over 40M that the tables hold and the window does not: one page's
 *   sequential-write  share of it
 *
 * A sample of one fault comes right after another fault of the same kind, which conditions caches
 * and the host alike, and takes place in a window that was used before: the frame lies there
 * already. A walk goes where the window has nothing.
 */
#ifndef FORKLAB_DEMO_FAULT_CASE_H
#define FORKLAB_DEMO_FAULT_CASE_H

#include "pager/machine.h"

enum fault_case {
    CASE_REFILL,
    CASE_ZERO_FILL,
    CASE_COW_COPY,
    CASE_COW_REUSE,
    CASE_SPLIT,
    CASE_SEQUENTIAL_READ,
    CASE_SEQUENTIAL_WRITE,
    CASE_COUNT
};

extern const char *const fault_case_names[CASE_COUNT];

static inline bool fault_case_is_sequential(enum fault_case which)
{
    return which == CASE_SEQUENTIAL_READ || which == CASE_SEQUENTIAL_WRITE;
}

#define SEQUENTIAL_BYTES ((uint64_t)40 << 20)

/* Of one fault, or of one page of a walk. */
struct fault_sample {
    double total_ns;
    double kernel_ns; /* the emulated kernel's own work */
};

struct fault_bench;

/* A machine with one parent. -errno with one line in `problem`. */
int fault_bench_create(struct fault_bench **bench, const struct kernel *kernel,
                       unsigned map_ahead_pages, char *problem, size_t problem_bytes);
void fault_bench_destroy(struct fault_bench *bench);

/* Does the case happen in this kernel? Tables that are never shared are never split. */
bool fault_case_exists(enum fault_case which, const struct kernel *kernel);

/*
 * One sample. -EAGAIN: what happened was not what the case is about, such as the first use of a
 * window; else the error of what could not be done.
 */
int fault_bench_sample(struct fault_bench *bench, enum fault_case which,
                       struct fault_sample *sample);

#endif
