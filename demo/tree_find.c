/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forklab tree --find: a sheet of lookups, by number of mappings and kernel. */
#include <errno.h>
#include <stdlib.h>

#include "demo/stats.h"
#include "demo/tree_lookup.h"
#include "demo/tree_report.h"

enum { MOST_TURNS = 64 };

/* What is told of one kernel with so many maps: medians of turns. */
struct turns {
    size_t count;
    double find_ns[MOST_TURNS];
    double array_ns[MOST_TURNS];
    double space_ns[MOST_TURNS];
    struct tree_lookup last;
};

static int take_turns(struct tree_bench *bench, uint64_t maps, size_t count, struct turns *turns)
{
    int error = tree_bench_make_hole(bench, maps);

    /* The first turn only warms the caches. */
    if (error == 0)
        error = tree_bench_look_up(bench, maps, &turns->last);
    for (size_t i = 0; i < count && i < MOST_TURNS && error == 0; i++) {
        error = tree_bench_look_up(bench, maps, &turns->last);
        turns->find_ns[i] = turns->last.find_ns;
        turns->array_ns[i] = turns->last.array_ns;
        turns->space_ns[i] = turns->last.space_ns;
        turns->count++;
    }
    return error;
}

static void add_row(struct sheet *sheet, uint64_t maps, const struct kernel *kernel,
                    struct turns *turns)
{
    struct comparison ratio;
    bool compared = stats_compare(turns->find_ns, turns->array_ns, turns->count, &ratio);

    sheet_row(sheet);
    sheet_number(sheet, 0, (double)maps);
    sheet_words(sheet, 1, kernel->name);
    sheet_words(sheet, 2, kernel->index->name);
    sheet_number(sheet, 3, stats_median(turns->find_ns, turns->count));
    sheet_number(sheet, 4, stats_median(turns->array_ns, turns->count));
    if (compared)
        sheet_number(sheet, 5, ratio.paired);
    sheet_number(sheet, 6, turns->last.find_steps);
    sheet_number(sheet, 7, stats_median(turns->space_ns, turns->count));
    sheet_number(sheet, 8, turns->last.space_steps);
}

static int measure(struct tree_options *options, uint64_t maps, const struct kernel *kernel,
                   struct sheet *sheet)
{
    struct command_line *line = &options->lab.line;
    struct turns turns = {0};
    struct tree_bench *bench;
    int error =
        tree_bench_create(&bench, kernel, maps, TREE_UP, line->problem, sizeof(line->problem));

    if (error != 0)
        return error;
    error = take_turns(bench, maps, (size_t)options->lab.rounds, &turns);
    tree_bench_destroy(bench);
    if (error == 0)
        add_row(sheet, maps, kernel, &turns);
    return error;
}

static void add_columns(struct sheet *sheet)
{
    (void)sheet_column(sheet, "maps", "maps", 0);
    (void)sheet_column(sheet, "kernel", "kernel", SHEET_WORDS);
    (void)sheet_column(sheet, "VMA index", "vma_index", SHEET_WORDS);
    (void)sheet_column(sheet, "find ns", "find_ns", 1);
    (void)sheet_column(sheet, "array ns", "array_ns", 1);
    (void)sheet_column(sheet, "ratio", "find_over_array", 2);
    (void)sheet_column(sheet, "steps", "find_steps", 1);
    (void)sheet_column(sheet, "space ns", "space_ns", 1);
    (void)sheet_column(sheet, "steps", "space_steps", 1);
}

int tree_find(struct tree_options *options, struct sheet *sheet)
{
    static const uint64_t sizes[] = {1000, 55000, 1000000};
    size_t count = options->lab.quick ? 2 : 3;
    int error = 0;

    add_columns(sheet);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < options->lab.kernel_count && error == 0; j++)
            error = measure(options, sizes[i], options->lab.kernels[j], sheet);
    }
    return error == 0 && !sheet_is_whole(sheet) ? -ENOMEM : error;
}
