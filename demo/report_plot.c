/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture: a row for each memory, a panel for each mode, a line for each column. */
#include <stdio.h>

#include "demo/gnuplot.h"
#include "demo/report.h"

enum { PANEL_WIDTH = 420, PANEL_HEIGHT = 400 };

static const double ns_per_us = 1000;

/* The medians of one memory and mode: a line for each size, a field for each column. */
static void write_data(FILE *script, const struct experiment *experiment, size_t memory,
                       size_t mode)
{
    fprintf(script, "$panel_%zu_%zu << EOD\n", memory, mode);
    for (size_t size = 0; size < experiment->options->size_count; size++) {
        const struct cell *cell = experiment_cell(experiment, memory, mode, size);

        fprintf(script, "%llu", (unsigned long long)cell->size_bytes);
        for (size_t column = 0; column < experiment->column_count; column++)
            fprintf(script, " %.4f", cell->figures[column].median_ns / ns_per_us);
        fputc('\n', script);
    }
    fprintf(script, "EOD\n");
}

/* A curve is told from its neighbours by its line and point type too, not by colour alone. */
static void write_panel(FILE *script, const struct experiment *experiment, size_t memory,
                        size_t mode)
{
    const struct fork_options *options = experiment->options;

    fprintf(script, "set title '%s, region of %s' noenhanced\nplot",
            fork_mode_names[options->modes[mode]], fork_memory_names[options->memories[memory]]);
    for (size_t column = 0; column < experiment->column_count; column++)
        fprintf(script, "%s $panel_%zu_%zu using 1:%zu with linespoints dashtype %zu title '%s'",
                column > 0 ? "," : "", memory, mode, column + 2, column % 5 + 1,
                experiment->columns[column]->name);
    fputc('\n', script);
}

/* A single size would leave the axis without a range. */
static void write_axis(FILE *script, const struct fork_options *options)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    char size[SIZE_TEXT_BYTES];

    fprintf(script, "set xtics (");
    for (size_t i = 0; i < options->size_count; i++) {
        least = min_u64(least, options->sizes[i]);
        most = max_u64(most, options->sizes[i]);
        size_text(size, options->sizes[i]);
        fprintf(script, "%s'%s' %llu", i > 0 ? ", " : "", size,
                (unsigned long long)options->sizes[i]);
    }
    fprintf(script, ")\nset xrange [%llu * 0.7 : %llu * 1.4]\n", (unsigned long long)least,
            (unsigned long long)most);
}

static void write_script(FILE *script, const void *context)
{
    const struct experiment *experiment = context;
    const struct fork_options *options = experiment->options;

    for (size_t memory = 0; memory < options->memory_count; memory++) {
        for (size_t mode = 0; mode < options->mode_count; mode++)
            write_data(script, experiment, memory, mode);
    }
    fprintf(
        script,
        "set terminal svg size %zu,%zu noenhanced background 'white'\n"
        "set logscale xy\nset grid\nset key outside bottom center horizontal samplen 2 font ',9'\n"
        "set ylabel 'microseconds, median'\n",
        options->mode_count * PANEL_WIDTH, options->memory_count * PANEL_HEIGHT);
    write_axis(script, options);
    fprintf(script, "set multiplot layout %zu,%zu\n", options->memory_count, options->mode_count);
    for (size_t memory = 0; memory < options->memory_count; memory++) {
        for (size_t mode = 0; mode < options->mode_count; mode++)
            write_panel(script, experiment, memory, mode);
    }
    fprintf(script, "unset multiplot\n");
}

int report_plot(const struct experiment *experiment, const char *path, char *problem,
                size_t problem_bytes)
{
    return gnuplot_draw(path, write_script, experiment, problem, problem_bytes);
}
