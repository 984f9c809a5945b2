/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Order statistics: nothing here assumes that samples are distributed in any way. */
#include "demo/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_values(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;

    return (*a > *b) - (*a < *b);
}

static void sort(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_values);
}

/* The value at a share of the way through sorted values, between two of them where it falls so. */
static double at_share(const double *sorted, size_t count, double share)
{
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    size_t above = below + 1 < count ? below + 1 : below;

    return sorted[below] + (sorted[above] - sorted[below]) * (place - (double)below);
}

struct summary stats_summarise(double *values, size_t count)
{
    sort(values, count);
    return (struct summary){.median = at_share(values, count, 0.5),
                            .minimum = values[0],
                            .p90 = at_share(values, count, 0.9)};
}

double stats_median(double *values, size_t count)
{
    return count > 0 ? stats_summarise(values, count).median : 0;
}

static double median_of_copy(const double *values, size_t count, double *scratch)
{
    memcpy(scratch, values, count * sizeof(*values));
    return stats_median(scratch, count);
}

/*
 * The median's interval by the sign test: the number of samples below the true median is binomial,
 * so the ranks count/2 -+ 1.96 * sqrt(count)/2 enclose it.
 */
static void paired_interval(const double *sorted, size_t count, struct comparison *comparison)
{
    double half_width = 1.96 * sqrt((double)count) / 2;
    double middle = (double)(count - 1) / 2;
    double last = (double)(count - 1);
    double low = floor(middle - half_width);
    double high = ceil(middle + half_width);

    comparison->low = sorted[low < 0 ? 0 : (size_t)low];
    comparison->high = sorted[high > last ? count - 1 : (size_t)high];
}

static void compare(const double *numerators, const double *denominators, size_t count,
                    double *scratch, struct comparison *comparison)
{
    double numerator = median_of_copy(numerators, count, scratch);
    double denominator = median_of_copy(denominators, count, scratch);

    for (size_t i = 0; i < count; i++)
        scratch[i] = numerators[i] / denominators[i];
    comparison->of_medians = numerator / denominator;
    comparison->paired = stats_median(scratch, count);
    paired_interval(scratch, count, comparison);
}

static bool all_positive(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i] <= 0)
            return false;
    }
    return count > 0;
}

bool stats_compare(const double *numerators, const double *denominators, size_t count,
                   struct comparison *comparison)
{
    double *scratch = all_positive(denominators, count) ? malloc(count * sizeof(*scratch)) : NULL;

    if (scratch == NULL)
        return false;
    compare(numerators, denominators, count, scratch, comparison);
    free(scratch);
    return true;
}
