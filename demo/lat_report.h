/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `forklab lat` measured, and its outputs. */
#ifndef FORKLAB_DEMO_LAT_REPORT_H
#define FORKLAB_DEMO_LAT_REPORT_H

#include "demo/lab_options.h"
#include "demo/lat_bench.h"

enum { LAT_MOST_LINES = 32, LAT_MOST_COLUMNS = LAB_MOST_KERNELS + 1 };

struct lat_options {
    struct lab_options lab; /* first */
};

/* One test, of one size, on one kernel or the host. */
struct lat_series {
    double *ns; /* of each round */
    double counts[EVENT_COUNT];
};

struct lat_line {
    enum lat_test test;
    uint64_t bytes;
    struct lat_series series[LAT_MOST_COLUMNS];
};

struct lat_results {
    const struct lat_options *options;
    size_t rounds;
    size_t column_count; /* kernels, then the host if it takes part */
    size_t line_count;
    struct lat_line lines[LAT_MOST_LINES];
};

const char *lat_column_name(const struct lat_results *results, size_t column);

/* The post's lines: each test with its medians in microseconds, one / another / ... */
bool lat_print_post(const struct lat_results *results);

/* Times and counters, a row for each test; the last two columns of kernels compared with the first.
 * False: memory ran out. */
bool lat_sheet(const struct lat_results *results, struct sheet *sheet);

/* What the find_vma caches answered, a row for each kernel. */
bool lat_cache_sheet(const struct lat_results *results, struct sheet *sheet);

bool lat_explain(const struct lat_results *results);

#endif
