/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `forklab fault` found, as a table, JSON or CSV on standard output. */
#ifndef FORKLAB_DEMO_FAULT_REPORT_H
#define FORKLAB_DEMO_FAULT_REPORT_H

#include "demo/fault_case.h"

/* Paired samples of one case: emulator and floor number i were measured side by side. */
struct fault_series {
    size_t count; /* 0: the case does not exist in this kernel */
    double *total_ns;
    double *kernel_ns;
    double *floor_ns;
};

struct fault_results {
    const struct kernel *kernel;
    unsigned map_ahead_pages;
    size_t rounds;
    struct fault_series series[CASE_COUNT];
};

enum fault_format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV };

/* Sorts the samples on its way. 0, or -ENOMEM with nothing printed. */
int fault_report(struct fault_results *results, enum fault_format format);

#endif
