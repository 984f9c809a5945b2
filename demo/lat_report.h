/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `forklab lat` measured, and its outputs. */
#ifndef FORKLAB_DEMO_LAT_REPORT_H
#define FORKLAB_DEMO_LAT_REPORT_H

#include "demo/lab_options.h"
#include "demo/lat_bench.h"
#include "demo/stats.h"

enum { LAT_MOST_LINES = 32, LAT_MOST_COLUMNS = LAB_MOST_KERNELS + 1 };

struct lat_options {
    struct lab_options lab; /* first */
    bool control;           /* the second kernel is the first again, under this name */
    char control_name[SHEET_WORD_BYTES];
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

struct lat_sheets {
    struct sheet tests;  /* a row for each test: times, the second kernel compared with the first */
    struct sheet caches; /* a row for each kernel: what its find_vma cache answered */
    struct sheet series; /* a row for each test and column: spread, and each counter */
};

/* Fills the three; lat_free() is due either way. False: memory ran out. */
bool lat_fill(const struct lat_results *results, struct lat_sheets *sheets);
void lat_free(struct lat_sheets *sheets);

/* A test as the post names it, a mapping by its megabytes. */
void lat_line_name(const struct lat_line *line, char text[SHEET_WORD_BYTES]);

/* Lookups that a cache answered, of the counts of a series. */
double lat_hits(const double *counts);

/* A series' spread. False: memory ran out. */
bool lat_summary(const struct lat_results *results, const struct lat_series *series,
                 struct summary *summary);

/* Which differences of the first two kernels are noise, and of the post's; lat_explain.c. */
bool lat_explain(const struct lat_results *results);

#endif
