/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The outputs of `forklab lat`. */
#include "demo/lat_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/stats.h"

static const double ns_per_us = 1000;
static const double bytes_per_megabyte = 1e6;

static const char *const test_names[LAT_TESTS] = {
    [LAT_PROTECTION] = "Protection fault",     [LAT_FORK_EXIT] = "Process fork+exit",
    [LAT_FORK_EXEC] = "Process fork+execve",   [LAT_FORK_SHELL] = "Process fork+/bin/sh -c",
    [LAT_PAGE_FAULT] = "Pagefaults on a file", [LAT_MAPPING] = "mapping",
};

static bool is_host(const struct lat_results *results, size_t column)
{
    return column == results->options->lab.kernel_count;
}

const char *lat_column_name(const struct lat_results *results, size_t column)
{
    return is_host(results, column) ? "host" : results->options->lab.kernels[column]->name;
}

/* Summing up sorts, so it is done on a copy. */
static bool median_of(const struct lat_results *results, const struct lat_series *series,
                      double *median)
{
    double *copy = malloc(results->rounds * sizeof(*copy));

    if (copy == NULL)
        return false;
    memcpy(copy, series->ns, results->rounds * sizeof(*copy));
    *median = stats_median(copy, results->rounds);
    free(copy);
    return true;
}

static void line_name(const struct lat_line *line, char text[SHEET_WORD_BYTES])
{
    if (line->test == LAT_MAPPING)
        (void)snprintf(text, SHEET_WORD_BYTES, "%.6f", (double)line->bytes / bytes_per_megabyte);
    else
        (void)snprintf(text, SHEET_WORD_BYTES, "%s", test_names[line->test]);
}

bool lat_print_post(const struct lat_results *results)
{
    bool in_mappings = false;

    for (size_t i = 0; i < results->line_count; i++) {
        const struct lat_line *line = &results->lines[i];
        char name[SHEET_WORD_BYTES];

        line_name(line, name);
        if (line->test == LAT_MAPPING && !in_mappings)
            puts("\n\"mappings");
        in_mappings = line->test == LAT_MAPPING;
        printf("%s%s ", name, in_mappings ? "" : ":");
        for (size_t column = 0; column < results->column_count; column++) {
            double median;

            if (!median_of(results, &line->series[column], &median))
                return false;
            printf("%s%.4f", column > 0 ? " / " : "", median / ns_per_us);
        }
        puts(in_mappings ? "" : " microseconds");
    }
    return true;
}

/* --- sheets --- */

static void add_columns(const struct lat_results *results, struct sheet *sheet)
{
    (void)sheet_column(sheet, "test", "test", SHEET_WORDS);
    for (size_t i = 0; i < results->column_count && i < 6; i++)
        (void)sheet_column(sheet, lat_column_name(results, i), lat_column_name(results, i), 2);
    (void)sheet_column(sheet, "second/first", "second_over_first", 3);
    (void)sheet_column(sheet, "from", "ratio_low", 3);
    (void)sheet_column(sheet, "to", "ratio_high", 3);
    (void)sheet_column(sheet, "lookups", "lookups", 1);
    (void)sheet_column(sheet, "hits 1", "hits_of_first", 1);
    (void)sheet_column(sheet, "hits 2", "hits_of_second", 1);
    (void)sheet_column(sheet, "steps 1", "index_steps_of_first", 1);
    (void)sheet_column(sheet, "steps 2", "index_steps_of_second", 1);
}

static double hits_of(const double *counts)
{
    return counts[EVENT_LOOKUP_LAST] + counts[EVENT_LOOKUP_NEIGHBOUR] + counts[EVENT_LOOKUP_SLOT];
}

static void add_comparison(const struct lat_results *results, const struct lat_line *line,
                           struct sheet *sheet, size_t column)
{
    const struct lat_series *first = &line->series[0];
    const struct lat_series *second = &line->series[1];
    struct comparison ratio;

    if (stats_compare(second->ns, first->ns, results->rounds, &ratio)) {
        sheet_number(sheet, column, ratio.paired);
        sheet_number(sheet, column + 1, ratio.low);
        sheet_number(sheet, column + 2, ratio.high);
    }
    sheet_number(sheet, column + 3, first->counts[EVENT_VMA_LOOKUP]);
    sheet_number(sheet, column + 4, hits_of(first->counts));
    sheet_number(sheet, column + 5, hits_of(second->counts));
    sheet_number(sheet, column + 6, first->counts[EVENT_INDEX_STEP]);
    sheet_number(sheet, column + 7, second->counts[EVENT_INDEX_STEP]);
}

bool lat_sheet(const struct lat_results *results, struct sheet *sheet)
{
    size_t columns = results->column_count < 6 ? results->column_count : 6;

    add_columns(results, sheet);
    for (size_t i = 0; i < results->line_count; i++) {
        const struct lat_line *line = &results->lines[i];
        char name[SHEET_WORD_BYTES];

        line_name(line, name);
        sheet_row(sheet);
        sheet_words(sheet, 0, name);
        for (size_t column = 0; column < columns; column++) {
            double median;

            if (!median_of(results, &line->series[column], &median))
                return false;
            sheet_number(sheet, column + 1, median / ns_per_us);
        }
        if (results->options->lab.kernel_count >= 2)
            add_comparison(results, line, sheet, columns + 1);
    }
    return sheet_is_whole(sheet);
}

bool lat_cache_sheet(const struct lat_results *results, struct sheet *sheet)
{
    static const enum event events[] = {EVENT_VMA_LOOKUP, EVENT_LOOKUP_LAST, EVENT_LOOKUP_NEIGHBOUR,
                                        EVENT_LOOKUP_SLOT};
    enum { EVENTS = sizeof(events) / sizeof(events[0]) };

    (void)sheet_column(sheet, "kernel", "kernel", SHEET_WORDS);
    (void)sheet_column(sheet, "find_vma", "find_vma", SHEET_WORDS);
    for (unsigned i = 0; i < EVENTS; i++)
        (void)sheet_column(sheet, event_names[events[i]], event_names[events[i]], 0);
    (void)sheet_column(sheet, "answered %", "answered_percent", 1);
    (void)sheet_column(sheet, "mean of tests", "mean_of_tests_percent", 1);
    for (size_t column = 0; column < results->options->lab.kernel_count; column++) {
        double counts[EVENT_COUNT] = {0};
        double shares = 0;

        for (size_t i = 0; i < results->line_count; i++) {
            const double *one = results->lines[i].series[column].counts;

            shares += one[EVENT_VMA_LOOKUP] > 0 ? hits_of(one) / one[EVENT_VMA_LOOKUP] : 1;
            for (unsigned event = 0; event < EVENT_COUNT; event++)
                counts[event] += one[event];
        }
        sheet_row(sheet);
        sheet_words(sheet, 0, lat_column_name(results, column));
        sheet_words(sheet, 1, results->options->lab.kernels[column]->find_cache->name);
        for (unsigned i = 0; i < EVENTS; i++)
            sheet_number(sheet, i + 2, counts[events[i]]);
        if (counts[EVENT_VMA_LOOKUP] > 0)
            sheet_number(sheet, EVENTS + 2, 100 * hits_of(counts) / counts[EVENT_VMA_LOOKUP]);
        sheet_number(sheet, EVENTS + 3, 100 * shares / (double)results->line_count);
    }
    return sheet_is_whole(sheet);
}

/* --- in words --- */

static void explain_line(const struct lat_results *results, const struct lat_line *line)
{
    const double *first = line->series[0].counts;
    const double *second = line->series[1].counts;
    struct comparison ratio;
    char name[SHEET_WORD_BYTES];

    line_name(line, name);
    if (!stats_compare(line->series[1].ns, line->series[0].ns, results->rounds, &ratio))
        return;
    bool differs = ratio.low > 1 || ratio.high < 1;
    double more_hits = hits_of(second) - hits_of(first);
    double fewer_steps = first[EVENT_INDEX_STEP] - second[EVENT_INDEX_STEP];

    printf("  %-24s %.3f (%.3f to %.3f): %s; %.1f lookups more are answered, %.1f steps fewer\n",
           name, ratio.paired, ratio.low, ratio.high,
           !differs ? "noise" : (ratio.paired > 1 ? "slower" : "faster"), more_hits, fewer_steps);
}

bool lat_explain(const struct lat_results *results)
{
    if (results->options->lab.kernel_count < 2)
        return true;
    printf("\n%s over %s, in paired rounds, with the interval (95 %%):\n",
           lat_column_name(results, 1), lat_column_name(results, 0));
    for (size_t i = 0; i < results->line_count; i++)
        explain_line(results, &results->lines[i]);
    puts(
        "\n"
        "A lookup that a cache answers saves a few steps in the tree, some nanoseconds each; "
        "where\n"
        "a test makes a fault, the fault costs hundreds of times as much. So whatever the post's\n"
        "columns differ by beyond a per cent or two is not find_vma: it did so in tests that look\n"
        "for no mapping at all (simple syscall: -43 %). Where the second column is slower here by\n"
        "more than noise, its VMAs are a pointer larger, and fork and exit copy and free them.");
    return true;
}
