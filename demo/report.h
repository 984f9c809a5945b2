/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of a measured experiment: tables, explanations, JSON, CSV, a picture. */
#ifndef FORKLAB_DEMO_REPORT_H
#define FORKLAB_DEMO_REPORT_H

#include "demo/experiment.h"
#include "demo/stats.h"

/* The post's tables, then where the time went, then ratios, then what to bear in mind. */
void report_text(const struct experiment *experiment);

/* Time and counters by phase, and what makes the differences, in words. */
void report_explain(const struct experiment *experiment);

/* One object, or lines with a heading, on standard output. -ENOMEM. */
int report_json(const struct experiment *experiment);
void report_csv(const struct experiment *experiment);

/* A picture (gnuplot.h): -errno with one line in `problem`. */
int report_plot(const struct experiment *experiment, const char *path, char *problem,
                size_t problem_bytes);

/* Two columns that are worth comparing. */
struct pair {
    const char *numerator;
    const char *denominator;
    bool with_kernel_part; /* are the kernel's parts worth comparing by themselves? */
};

extern const struct pair pairs[];
extern const size_t pair_count;

/* Compares a pair in a cell: false if the experiment lacks a column, or there is no such ratio. */
bool pair_compare(const struct experiment *experiment, const struct cell *cell,
                  const struct pair *pair, struct comparison *comparison);

/* Microseconds with three digits that count. */
#define FIGURE_TEXT_BYTES 32
void figure_text(char text[FIGURE_TEXT_BYTES], double value);

#endif
