/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said about many samples: median, minimum and spread, and two columns compared. */
#ifndef FORKLAB_DEMO_STATS_H
#define FORKLAB_DEMO_STATS_H

#include <stdbool.h>
#include <stddef.h>

struct summary {
    double median;
    double minimum;
    double p90; /* nine samples of ten are at most this */
};

/* Sorts the values, of which there is at least one. */
struct summary stats_summarise(double *values, size_t count);

/* Sorts the values; their median, or 0 if there is none. */
double stats_median(double *values, size_t count);

/*
 * Two columns, compared on paired rounds: the ratio of their medians, and the median of the rounds'
 * ratios with its interval, which holds in 95 cases of 100 whatever the samples' distribution is.
 */
struct comparison {
    double of_medians;
    double paired;
    double low;
    double high;
};

/* Round i of one column was measured beside round i of the other. False, with nothing stored, where
 * there is nothing to divide by, or memory ran out. */
bool stats_compare(const double *numerators, const double *denominators, size_t count,
                   struct comparison *comparison);

#endif
