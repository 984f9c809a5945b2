/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The outputs of `forklab tree`. */
#include "demo/tree_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/stats.h"

static const double ns_per_us = 1000;

const char *tree_column_name(const struct tree_column *column)
{
    return column->kernel != NULL ? column->kernel->name : "host";
}

void tree_print_post(const struct tree_results *results)
{
    for (size_t i = 0; i < results->column_count; i++) {
        printf("%s%s:\n", i > 0 ? "\n" : "", tree_column_name(&results->columns[i]));
        for (size_t round = 0; round < results->rounds; round++)
            printf("fork latency due tree rebuild %.0f cpu cycles\n",
                   results->columns[i].cycles[round]);
    }
}

/* Summing up sorts, so it is done on a copy. */
static bool summarise(const double *values, size_t count, struct summary *summary)
{
    double *copy = malloc(count * sizeof(*copy));

    if (copy == NULL)
        return false;
    memcpy(copy, values, count * sizeof(*copy));
    *summary = stats_summarise(copy, count);
    free(copy);
    return true;
}

enum {
    COLUMN_KERNEL,
    COLUMN_CYCLES,
    COLUMN_US,
    COLUMN_SPREAD,
    COLUMN_PER_MAP,
    COLUMN_COLD,
    COLUMN_FASTER,
    COLUMN_TIMES,
    COLUMN_LOW,
    COLUMN_HIGH,
    COLUMN_STEPS,
    COLUMN_VMAS
};

static void add_columns(struct sheet *sheet)
{
    (void)sheet_column(sheet, "kernel", "kernel", SHEET_WORDS);
    (void)sheet_column(sheet, "cycles", "cycles", 0);
    (void)sheet_column(sheet, "us", "us", 1);
    (void)sheet_column(sheet, "p90", "p90_us", 1);
    (void)sheet_column(sheet, "ns a map", "ns_a_map", 1);
    (void)sheet_column(sheet, "cold", "cold_ns_a_map", 1);
    (void)sheet_column(sheet, "faster", "faster_percent", 0);
    (void)sheet_column(sheet, "times", "times_faster", 2);
    (void)sheet_column(sheet, "from", "times_low", 2);
    (void)sheet_column(sheet, "to", "times_high", 2);
    (void)sheet_column(sheet, "steps", "index_steps", 0);
    (void)sheet_column(sheet, "VMAs", "vmas_copied", 0);
}

static bool add_row(const struct tree_results *results, const struct tree_column *column,
                    struct sheet *sheet)
{
    double maps = (double)results->options->maps;
    struct summary cycles;
    struct summary ns;
    struct comparison ratio;

    if (!summarise(column->cycles, results->rounds, &cycles) ||
        !summarise(column->ns, results->rounds, &ns))
        return false;
    sheet_row(sheet);
    sheet_words(sheet, COLUMN_KERNEL, tree_column_name(column));
    sheet_number(sheet, COLUMN_CYCLES, cycles.median);
    sheet_number(sheet, COLUMN_US, ns.median / ns_per_us);
    sheet_number(sheet, COLUMN_SPREAD, ns.p90 / ns_per_us);
    sheet_number(sheet, COLUMN_PER_MAP, ns.median / maps);
    if (stats_compare(results->columns[0].ns, column->ns, results->rounds, &ratio)) {
        sheet_number(sheet, COLUMN_FASTER, (ratio.paired - 1) * 100);
        sheet_number(sheet, COLUMN_TIMES, ratio.paired);
        sheet_number(sheet, COLUMN_LOW, ratio.low);
        sheet_number(sheet, COLUMN_HIGH, ratio.high);
    }
    sheet_number(sheet, COLUMN_COLD, column->cold_ns / maps);
    if (column->kernel == NULL)
        return true;
    sheet_number(sheet, COLUMN_STEPS, (double)column->steps);
    sheet_number(sheet, COLUMN_VMAS, (double)column->vmas);
    return true;
}

bool tree_sheet(const struct tree_results *results, struct sheet *sheet)
{
    add_columns(sheet);
    for (size_t i = 0; i < results->column_count; i++) {
        if (!add_row(results, &results->columns[i], sheet))
            return false;
    }
    return sheet_is_whole(sheet);
}

/* --- in words --- */

static void explain_column(const struct tree_results *results, const struct tree_column *column)
{
    const struct kernel *kernel = column->kernel;
    double per_vma = (double)column->steps / (double)(column->vmas > 0 ? column->vmas : 1);

    if (kernel == NULL)
        return;
    printf("%-18s %s: %llu VMAs copied, %.1f steps in the index for each", kernel->name,
           kernel->index->name, (unsigned long long)column->vmas, per_vma);
    if (results->options->maps > 1 && column->vmas < results->options->maps)
        printf("; merging left so few");
    puts("");
}

void tree_explain(const struct tree_results *results)
{
    puts("\nWhat makes the differences:");
    for (size_t i = 0; i < results->column_count; i++)
        explain_column(results, &results->columns[i]);
    puts(
        "\n"
        "list+avl descends from the root once for each copy (the steps) and rebalances on the way\n"
        "back. The red-black indexes hang each copy to the right of the last one: no lookup, and\n"
        "only now and then a rotation; with gaps, each node that is touched looks at its children\n"
        "too. The B-tree copies a node of 16 at once and puts the new VMAs into it. What is left "
        "is\n"
        "the same for all: a VMA is read and another one written; from some hundred thousand on\n"
        "they no longer lie in the caches, and that is what is paid for.\n"
        "cold: the first fork of a fresh machine, whose memory the host has yet to give.");
}
