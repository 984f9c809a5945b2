/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forklab lat --explain: what the first two columns of kernels differ by, and what of the post's
 * differences is seen here.
 *
 * Noise: the interval of the paired rounds' ratio holds 1. Otherwise counters tell whether the
 * kernels did different work. Where they did the same, what is left is chance, or how long each of
 * them takes to do it: the code of a lookup, seen where a test is little else.
 */
#include <stdio.h>
#include <string.h>

#include "demo/lat_report.h"

#define SMALLEST_BYTES ((uint64_t)512 << 10)

/* The post's figures, microseconds: 2.6.28, and with the patch. */
struct post_pair {
    double standard;
    double patched;
};

static const struct post_pair post_tests[LAT_MAPPING] = {
    [LAT_PROTECTION] = {0.4292, 0.4338},    [LAT_FORK_EXIT] = {127.1951, 122.6517},
    [LAT_FORK_EXEC] = {483.3182, 462.4583}, [LAT_FORK_SHELL] = {2159.4, 2091.6667},
    [LAT_PAGE_FAULT] = {2.6980, 3.0795},
};

/* Of 0.5M, 1M, 2M, ... 1G. */
static const struct post_pair post_mappings[] = {
    {9.989, 7.411}, {14, 12},   {24, 22},     {43, 66},     {88, 73},     {151, 161},
    {289, 268},     {611, 518}, {1182, 1033}, {2342, 2053}, {4845, 4105}, {10726, 8836},
};

/* Patched over standard. */
static double post_ratio(const struct lat_line *line)
{
    const struct post_pair *pair = post_mappings;

    if (line->test != LAT_MAPPING)
        pair = &post_tests[line->test];
    for (uint64_t bytes = line->bytes; bytes > SMALLEST_BYTES; bytes /= 2)
        pair++;
    return pair->patched / pair->standard;
}

/* Are these the post's kernels? */
static bool is_post(const struct lat_results *results)
{
    return !results->options->control && strcmp(lat_column_name(results, 0), "2.6.28") == 0 &&
           strcmp(lat_column_name(results, 1), "2.6.28-find_vma") == 0;
}

static bool is_noise(const struct comparison *ratio)
{
    return ratio->low <= 1 && ratio->high >= 1;
}

static double more_steps(const struct lat_line *line)
{
    return line->series[1].counts[EVENT_INDEX_STEP] - line->series[0].counts[EVENT_INDEX_STEP];
}

static double more_hits(const struct lat_line *line)
{
    return lat_hits(line->series[1].counts) - lat_hits(line->series[0].counts);
}

static double more_lookups(const struct lat_line *line)
{
    return line->series[1].counts[EVENT_VMA_LOOKUP] - line->series[0].counts[EVENT_VMA_LOOKUP];
}

/* Whether the counters point the way the times do. */
static const char *verdict_of(const struct lat_line *line, const struct comparison *ratio)
{
    bool is_slower = ratio->paired > 1;
    double steps = more_steps(line);

    if (is_noise(ratio))
        return "noise";
    if (steps == 0 && more_hits(line) == 0 && more_lookups(line) == 0)
        return is_slower ? "slower, counters alike" : "faster, counters alike";
    if (is_slower)
        return steps > 0 ? "slower, more steps" : "slower, no more steps";
    return steps < 0 ? "faster, fewer steps" : "faster, no fewer steps";
}

static void add_columns(struct sheet *sheet, bool with_post)
{
    (void)sheet_column(sheet, "test", "test", SHEET_WORDS);
    (void)sheet_column(sheet, "ratio", "ratio", 3);
    (void)sheet_column(sheet, "from", "ratio_low", 3);
    (void)sheet_column(sheet, "to", "ratio_high", 3);
    (void)sheet_column(sheet, "ns more", "ns_more", 1);
    (void)sheet_column(sheet, "hits more", "hits_more", 1);
    (void)sheet_column(sheet, "steps more", "steps_more", 1);
    (void)sheet_column(sheet, "verdict", "verdict", SHEET_WORDS);
    if (!with_post)
        return;
    (void)sheet_column(sheet, "post", "post_ratio", 3);
    (void)sheet_column(sheet, "the post's is", "post_verdict", SHEET_WORDS);
}

static void add_post(const struct lat_line *line, const struct comparison *ratio,
                     struct sheet *sheet)
{
    double post = post_ratio(line);
    bool is_within = ratio->low <= post && post <= ratio->high;

    sheet_number(sheet, 8, post);
    sheet_words(sheet, 9, is_within ? "within ours" : "not seen here");
}

/* False: memory ran out. */
static bool add_line(const struct lat_results *results, const struct lat_line *line,
                     struct sheet *sheet, unsigned *distinct)
{
    char name[SHEET_WORD_BYTES];
    struct comparison ratio;
    struct summary first;

    if (!lat_summary(results, &line->series[0], &first) ||
        !stats_compare(line->series[1].ns, line->series[0].ns, results->rounds, &ratio))
        return false;
    lat_line_name(line, name);
    sheet_row(sheet);
    sheet_words(sheet, 0, name);
    sheet_number(sheet, 1, ratio.paired);
    sheet_number(sheet, 2, ratio.low);
    sheet_number(sheet, 3, ratio.high);
    sheet_number(sheet, 4, (ratio.paired - 1) * first.median);
    sheet_number(sheet, 5, more_hits(line));
    sheet_number(sheet, 6, more_steps(line));
    sheet_words(sheet, 7, verdict_of(line, &ratio));
    if (is_post(results))
        add_post(line, &ratio, sheet);
    *distinct += !is_noise(&ratio);
    return true;
}

static void print_reasons(const struct lat_results *results, unsigned distinct)
{
    printf("%u of %zu intervals leave 1 out. Of kernels that are alike one in twenty would, by "
           "chance:\nforklab lat --control compares one with itself.\n",
           distinct, results->line_count);
    if (!is_post(results))
        return;
    puts(
        "\nThe patch saves steps in two ways: a lookup that a neighbour answers takes none, and "
        "its\n"
        "double list has the mapping before another one, for which 2.6.28 descends the tree. A\n"
        "step is some nanoseconds, a page fault some thousands. It pays with a longer way to each\n"
        "answer, that of the last hit, too: a nanosecond or two, to be seen where a test is a\n"
        "lookup and little more, the protection fault.\n"
        "Where a difference of the post's is not seen here, the patch's work does not make it;\n"
        "and its two runs differ in tests that look for no mapping at all (simple syscall:\n"
        "-43 %), so by more than the patch.");
}

bool lat_explain(const struct lat_results *results)
{
    struct sheet sheet = sheet_new("explanation", NULL);
    unsigned distinct = 0;
    bool is_whole = true;

    if (results->options->lab.kernel_count < 2)
        return true;
    add_columns(&sheet, is_post(results));
    for (size_t i = 0; i < results->line_count && is_whole; i++)
        is_whole = add_line(results, &results->lines[i], &sheet, &distinct);
    is_whole = is_whole && sheet_is_whole(&sheet);
    if (is_whole) {
        printf("\n%s over %s, in paired rounds of fresh machines, with the interval (95 %%):\n",
               lat_column_name(results, 1), lat_column_name(results, 0));
        sheet_print(&sheet);
        print_reasons(results, distinct);
    }
    sheet_free(&sheet);
    return is_whole;
}
