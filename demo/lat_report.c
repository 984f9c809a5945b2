/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The outputs of `forklab lat`, but for its words: those are lat_explain.c's. */
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
    if (is_host(results, column))
        return "host";
    if (results->options->control && column == 1)
        return results->options->control_name;
    return results->options->lab.kernels[column]->name;
}

/* Summing up sorts, so it is done on a copy. */
bool lat_summary(const struct lat_results *results, const struct lat_series *series,
                 struct summary *summary)
{
    double *copy = malloc(results->rounds * sizeof(*copy));

    if (copy == NULL)
        return false;
    memcpy(copy, series->ns, results->rounds * sizeof(*copy));
    *summary = stats_summarise(copy, results->rounds);
    free(copy);
    return true;
}

void lat_line_name(const struct lat_line *line, char text[SHEET_WORD_BYTES])
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

        lat_line_name(line, name);
        if (line->test == LAT_MAPPING && !in_mappings)
            puts("\n\"mappings");
        in_mappings = line->test == LAT_MAPPING;
        printf("%s%s ", name, in_mappings ? "" : ":");
        for (size_t column = 0; column < results->column_count; column++) {
            struct summary summary;

            if (!lat_summary(results, &line->series[column], &summary))
                return false;
            printf("%s%.4f", column > 0 ? " / " : "", summary.median / ns_per_us);
        }
        puts(in_mappings ? "" : " microseconds");
    }
    return true;
}

/* --- sheets --- */

static void add_columns(const struct lat_results *results, struct sheet *sheet)
{
    (void)sheet_column(sheet, "test", "test", SHEET_WORDS);
    for (size_t i = 0; i < results->column_count; i++)
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

double lat_hits(const double *counts)
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
    sheet_number(sheet, column + 4, lat_hits(first->counts));
    sheet_number(sheet, column + 5, lat_hits(second->counts));
    sheet_number(sheet, column + 6, first->counts[EVENT_INDEX_STEP]);
    sheet_number(sheet, column + 7, second->counts[EVENT_INDEX_STEP]);
}

static bool fill_tests(const struct lat_results *results, struct sheet *sheet)
{
    add_columns(results, sheet);
    for (size_t i = 0; i < results->line_count; i++) {
        const struct lat_line *line = &results->lines[i];
        char name[SHEET_WORD_BYTES];

        lat_line_name(line, name);
        sheet_row(sheet);
        sheet_words(sheet, 0, name);
        for (size_t column = 0; column < results->column_count; column++) {
            struct summary summary;

            if (!lat_summary(results, &line->series[column], &summary))
                return false;
            sheet_number(sheet, column + 1, summary.median / ns_per_us);
        }
        if (results->options->lab.kernel_count >= 2)
            add_comparison(results, line, sheet, results->column_count + 1);
    }
    return sheet_is_whole(sheet);
}

static const enum event cache_events[] = {EVENT_VMA_LOOKUP, EVENT_LOOKUP_LAST,
                                          EVENT_LOOKUP_NEIGHBOUR, EVENT_LOOKUP_SLOT};

enum { CACHE_EVENTS = sizeof(cache_events) / sizeof(cache_events[0]) };

static void add_events(struct sheet *sheet, int decimals)
{
    for (unsigned i = 0; i < CACHE_EVENTS; i++) {
        const char *name = event_names[cache_events[i]];

        (void)sheet_column(sheet, name, name, decimals);
    }
}

/* One operation of each test: what a kernel counted, and the mean of the tests' answered shares. */
static double sum_up(const struct lat_results *results, size_t column, double counts[EVENT_COUNT])
{
    double shares = 0;

    for (size_t i = 0; i < results->line_count; i++) {
        const double *one = results->lines[i].series[column].counts;

        shares += one[EVENT_VMA_LOOKUP] > 0 ? lat_hits(one) / one[EVENT_VMA_LOOKUP] : 1;
        for (unsigned event = 0; event < EVENT_COUNT; event++)
            counts[event] += one[event];
    }
    return shares / (double)results->line_count;
}

static bool fill_caches(const struct lat_results *results, struct sheet *sheet)
{
    (void)sheet_column(sheet, "kernel", "kernel", SHEET_WORDS);
    (void)sheet_column(sheet, "find_vma", "find_vma", SHEET_WORDS);
    add_events(sheet, 0);
    (void)sheet_column(sheet, "answered %", "answered_percent", 1);
    (void)sheet_column(sheet, "mean of tests", "mean_of_tests_percent", 1);
    for (size_t column = 0; column < results->options->lab.kernel_count; column++) {
        double counts[EVENT_COUNT] = {0};
        double share = sum_up(results, column, counts);

        sheet_row(sheet);
        sheet_words(sheet, 0, lat_column_name(results, column));
        sheet_words(sheet, 1, results->options->lab.kernels[column]->find_cache->name);
        for (unsigned i = 0; i < CACHE_EVENTS; i++)
            sheet_number(sheet, i + 2, counts[cache_events[i]]);
        if (counts[EVENT_VMA_LOOKUP] > 0)
            sheet_number(sheet, CACHE_EVENTS + 2,
                         100 * lat_hits(counts) / counts[EVENT_VMA_LOOKUP]);
        sheet_number(sheet, CACHE_EVENTS + 3, 100 * share);
    }
    return sheet_is_whole(sheet);
}

/* The host's counters are nobody's: their cells stay empty. */
static bool add_series(const struct lat_results *results, const struct lat_line *line,
                       size_t column, struct sheet *sheet)
{
    const struct lat_series *series = &line->series[column];
    char name[SHEET_WORD_BYTES];
    struct summary summary;

    if (!lat_summary(results, series, &summary))
        return false;
    lat_line_name(line, name);
    sheet_row(sheet);
    sheet_words(sheet, 0, name);
    sheet_words(sheet, 1, lat_column_name(results, column));
    sheet_number(sheet, 2, summary.median / ns_per_us);
    sheet_number(sheet, 3, summary.minimum / ns_per_us);
    sheet_number(sheet, 4, summary.p90 / ns_per_us);
    for (unsigned i = 0; i < CACHE_EVENTS && !is_host(results, column); i++)
        sheet_number(sheet, i + 5, series->counts[cache_events[i]]);
    if (!is_host(results, column))
        sheet_number(sheet, CACHE_EVENTS + 5, series->counts[EVENT_INDEX_STEP]);
    return true;
}

static bool fill_series(const struct lat_results *results, struct sheet *sheet)
{
    (void)sheet_column(sheet, "test", "test", SHEET_WORDS);
    (void)sheet_column(sheet, "kernel", "kernel", SHEET_WORDS);
    (void)sheet_column(sheet, "median", "median_us", 3);
    (void)sheet_column(sheet, "min", "minimum_us", 3);
    (void)sheet_column(sheet, "p90", "p90_us", 3);
    add_events(sheet, 1);
    (void)sheet_column(sheet, event_names[EVENT_INDEX_STEP], event_names[EVENT_INDEX_STEP], 1);
    for (size_t i = 0; i < results->line_count; i++) {
        for (size_t column = 0; column < results->column_count; column++) {
            if (!add_series(results, &results->lines[i], column, sheet))
                return false;
        }
    }
    return sheet_is_whole(sheet);
}

bool lat_fill(const struct lat_results *results, struct lat_sheets *sheets)
{
    sheets->tests = sheet_new("tests", NULL);
    sheets->caches = sheet_new("caches", NULL);
    sheets->series = sheet_new("series", NULL);
    return fill_tests(results, &sheets->tests) && fill_caches(results, &sheets->caches) &&
           fill_series(results, &sheets->series);
}

void lat_free(struct lat_sheets *sheets)
{
    sheet_free(&sheets->tests);
    sheet_free(&sheets->caches);
    sheet_free(&sheets->series);
}
