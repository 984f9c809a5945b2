/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the reports have in common. */
#include "demo/report.h"

#include <stdio.h>
#include <string.h>

const struct pair pairs[] = {
    {"2.5.41-mm2", "2.5.41-mm2-shared", true},
    {"2.5.41-mm2", "2.5.41", false},
    {"2.5.41-mm2-shared", "floor", false},
    {"modern", "modern-shared", true},
};

const size_t pair_count = sizeof(pairs) / sizeof(pairs[0]);

bool pair_compare(const struct experiment *experiment, const struct cell *cell,
                  const struct pair *pair, struct comparison *comparison)
{
    size_t numerator = experiment_column(experiment, pair->numerator);
    size_t denominator = experiment_column(experiment, pair->denominator);

    if (numerator == experiment->column_count || denominator == experiment->column_count)
        return false;
    /* fork alone makes no host call: its floor is empty, and nothing is a multiple of that. */
    if (cell->mode == MODE_FORK && strcmp(pair->denominator, "floor") == 0)
        return false;
    return stats_compare(cell->figures[numerator].totals_ns, cell->figures[denominator].totals_ns,
                         experiment->options->rounds, comparison);
}

void figure_text(char text[FIGURE_TEXT_BYTES], double value)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

    snprintf(text, FIGURE_TEXT_BYTES, "%.*f", decimals, value);
}
