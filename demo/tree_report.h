/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `forklab tree` measured, and its outputs. */
#ifndef FORKLAB_DEMO_TREE_REPORT_H
#define FORKLAB_DEMO_TREE_REPORT_H

#include "demo/lab_options.h"
#include "demo/tree_bench.h"

enum { TREE_MOST_COLUMNS = LAB_MOST_KERNELS + 1 };

struct tree_options {
    struct lab_options lab; /* first */
    uint64_t maps;
    enum tree_variant variant;
    bool sweep;
    bool find;
};

/* One kernel's forks, or the host's. */
struct tree_column {
    const struct kernel *kernel; /* NULL: the host */
    struct tree_bench *bench;
    double *ns; /* of each round */
    double *cycles;
    double cold_ns; /* the first fork of a fresh machine; 0: not told */
    uint64_t steps; /* of a fork */
    uint64_t vmas;
};

struct tree_results {
    const struct tree_options *options;
    size_t rounds;
    double *samples; /* of all columns */
    size_t column_count;
    struct tree_column columns[TREE_MOST_COLUMNS];
};

const char *tree_column_name(const struct tree_column *column);

/* The post's lines, ten or so for each column, in the order they were measured. */
void tree_print_post(const struct tree_results *results);

/* The sheet of one size; sorts nothing. False: memory ran out. */
bool tree_sheet(const struct tree_results *results, struct sheet *sheet);

/* --find: measures and fills the sheet (tree_find.c). -errno with the problem noted or not. */
int tree_find(struct tree_options *options, struct sheet *sheet);

void tree_explain(const struct tree_results *results);

#endif
