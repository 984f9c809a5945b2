/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report for people, in the post's layout: a heading for each mode, a line for each size, a
 * column for each kernel. Nothing is wider than 100 columns with the kernels that are the default.
 */
#include <stdio.h>
#include <string.h>

#include "demo/describe.h"
#include "demo/post.h"
#include "demo/report.h"

enum { LABEL_WIDTH = 8, TOTAL_WIDTH = 8, PARTS_WIDTH = 13, PAGE_WIDTH = 100 };

static const double ns_per_us = 1000;

static const char *const memory_titles[MEMORY_COUNT] = {
    [MEMORY_SHM] = "Region: a shared memory object (shm), as in the post",
    [MEMORY_ANON] = "Region: private anonymous memory (anon)",
    [MEMORY_FILE] = "Region: a private mapping of a file (file), all of its pages read",
};

static void print_rule(size_t width)
{
    for (size_t i = 0; i < width; i++)
        putchar('-');
}

/* --- a table of cells: one line for each size under each mode --- */

/* One table's columns: how wide, and what stands in a cell. */
struct table_style {
    int least_width;
    bool kernels_only;
    void (*print)(const struct figures *figures, int width);
};

static int column_width(const struct table_style *style, const struct column *column)
{
    int name = (int)strlen(column->name);

    return (name > style->least_width ? name : style->least_width) + 2;
}

static bool is_shown(const struct table_style *style, const struct column *column)
{
    return !style->kernels_only || kernel_of_column(column) != NULL;
}

static void print_names(const struct experiment *experiment, const struct table_style *style)
{
    printf("%*s", LABEL_WIDTH, "");
    for (size_t i = 0; i < experiment->column_count; i++) {
        const struct column *column = experiment->columns[i];

        if (is_shown(style, column))
            printf("%*s", column_width(style, column), column->name);
    }
    printf("\n%*s", LABEL_WIDTH, "");
    for (size_t i = 0; i < experiment->column_count; i++) {
        const struct column *column = experiment->columns[i];

        if (!is_shown(style, column))
            continue;
        printf("%*s", column_width(style, column) - (int)strlen(column->name), "");
        print_rule(strlen(column->name));
    }
    putchar('\n');
}

static void print_line(const struct experiment *experiment, const struct table_style *style,
                       const struct cell *cell)
{
    char size[SIZE_TEXT_BYTES];

    size_text(size, cell->size_bytes);
    printf("%-*s", LABEL_WIDTH, size);
    for (size_t i = 0; i < experiment->column_count; i++) {
        if (is_shown(style, experiment->columns[i]))
            style->print(&cell->figures[i], column_width(style, experiment->columns[i]));
    }
    putchar('\n');
}

static void print_mode_heading(enum fork_mode mode)
{
    printf("%s\n", fork_mode_names[mode]);
    print_rule(strlen(fork_mode_names[mode]));
    putchar('\n');
}

static void print_table(const struct experiment *experiment, const struct table_style *style,
                        size_t memory)
{
    const struct fork_options *options = experiment->options;

    print_names(experiment, style);
    for (size_t mode = 0; mode < options->mode_count; mode++) {
        print_mode_heading(options->modes[mode]);
        for (size_t size = 0; size < options->size_count; size++)
            print_line(experiment, style, experiment_cell(experiment, memory, mode, size));
        putchar('\n');
    }
}

static void print_total(const struct figures *figures, int width)
{
    char text[FIGURE_TEXT_BYTES];

    figure_text(text, figures->median_ns / ns_per_us);
    printf("%*s", width, text);
}

static void print_parts(const struct figures *figures, int width)
{
    char kernel[FIGURE_TEXT_BYTES];
    char host[FIGURE_TEXT_BYTES];
    char both[2 * FIGURE_TEXT_BYTES + 3];

    figure_text(kernel, figures->kernel_ns / ns_per_us);
    figure_text(host, figures->host_ns / ns_per_us);
    snprintf(both, sizeof(both), "%s + %4s", kernel, host);
    printf("%*s", width, both);
}

/* --- ratios --- */

enum { POST_WIDTH = 6, RATIO_WIDTH = 7, INTERVAL_WIDTH = 13, BLOCK_GAP = 3 };

/* What of a pair's block is shown. */
struct block {
    const struct pair *pair;
    bool with_post;
    int width;
};

static double post_ratio(const struct pair *pair, const struct cell *cell)
{
    double numerator = post_ms(pair->numerator, cell->memory, cell->mode, cell->size_bytes);
    double denominator = post_ms(pair->denominator, cell->memory, cell->mode, cell->size_bytes);

    return denominator > 0 ? numerator / denominator : 0;
}

/* A figure, or a dash where there is none. */
static void print_ratio(double ratio, int width)
{
    char text[FIGURE_TEXT_BYTES] = "-";

    if (ratio > 0)
        figure_text(text, ratio);
    printf("%*s", width, text);
}

static void print_interval(const struct comparison *comparison)
{
    char low[FIGURE_TEXT_BYTES];
    char high[FIGURE_TEXT_BYTES];
    char both[2 * FIGURE_TEXT_BYTES + 3];

    figure_text(low, comparison->low);
    figure_text(high, comparison->high);
    snprintf(both, sizeof(both), "[%s %s]", low, high);
    printf("%*s", INTERVAL_WIDTH, both);
}

static double kernel_ratio(const struct experiment *experiment, const struct cell *cell,
                           const struct pair *pair)
{
    const struct figures *numerator =
        &cell->figures[experiment_column(experiment, pair->numerator)];
    const struct figures *denominator =
        &cell->figures[experiment_column(experiment, pair->denominator)];

    return denominator->kernel_ns > 0 ? numerator->kernel_ns / denominator->kernel_ns : 0;
}

static void print_block(const struct experiment *experiment, const struct block *block,
                        const struct cell *cell)
{
    struct comparison comparison = {0};
    bool compared = pair_compare(experiment, cell, block->pair, &comparison);

    printf("%*s", BLOCK_GAP, "");
    if (block->with_post)
        print_ratio(post_ratio(block->pair, cell), POST_WIDTH);
    print_ratio(comparison.of_medians, RATIO_WIDTH);
    print_ratio(comparison.paired, RATIO_WIDTH);
    if (compared)
        print_interval(&comparison);
    else
        printf("%*s", INTERVAL_WIDTH, "");
    if (block->pair->with_kernel_part)
        print_ratio(compared ? kernel_ratio(experiment, cell, block->pair) : 0, RATIO_WIDTH);
}

static void print_block_headings(const struct block *blocks, size_t count)
{
    char title[100];

    printf("%*s", LABEL_WIDTH, "");
    for (size_t i = 0; i < count; i++) {
        snprintf(title, sizeof(title), "%s / %s", blocks[i].pair->numerator,
                 blocks[i].pair->denominator);
        printf("%*s%*s", BLOCK_GAP, "", blocks[i].width, title);
    }
    printf("\n%*s", LABEL_WIDTH, "");
    for (size_t i = 0; i < count; i++) {
        printf("%*s", BLOCK_GAP, "");
        if (blocks[i].with_post)
            printf("%*s", POST_WIDTH, "post");
        printf("%*s%*s%*s", RATIO_WIDTH, "here", RATIO_WIDTH, "paired", INTERVAL_WIDTH, "");
        if (blocks[i].pair->with_kernel_part)
            printf("%*s", RATIO_WIDTH, "kernel");
    }
    putchar('\n');
}

static void print_blocks(const struct experiment *experiment, size_t memory,
                         const struct block *blocks, size_t count)
{
    const struct fork_options *options = experiment->options;

    print_block_headings(blocks, count);
    for (size_t mode = 0; mode < options->mode_count; mode++) {
        printf("%s\n", fork_mode_names[options->modes[mode]]);
        for (size_t size = 0; size < options->size_count; size++) {
            const struct cell *cell = experiment_cell(experiment, memory, mode, size);
            char text[SIZE_TEXT_BYTES];

            size_text(text, cell->size_bytes);
            printf("  %-*s", LABEL_WIDTH - 2, text);
            for (size_t i = 0; i < count; i++)
                print_block(experiment, &blocks[i], cell);
            putchar('\n');
        }
    }
    putchar('\n');
}

/* The pairs whose columns are there. */
static size_t choose_blocks(const struct experiment *experiment, size_t memory,
                            struct block blocks[])
{
    size_t count = 0;

    for (size_t i = 0; i < pair_count; i++) {
        const struct pair *pair = &pairs[i];
        struct block *block = &blocks[count];

        if (experiment_column(experiment, pair->numerator) == experiment->column_count ||
            experiment_column(experiment, pair->denominator) == experiment->column_count)
            continue;
        *block = (struct block){.pair = pair, .width = 2 * RATIO_WIDTH + INTERVAL_WIDTH};
        for (size_t cell = 0; cell < experiment->cell_count; cell++)
            block->with_post |=
                experiment->cells[cell].memory == experiment->options->memories[memory] &&
                post_ratio(pair, &experiment->cells[cell]) > 0;
        block->width +=
            (block->with_post ? POST_WIDTH : 0) + (pair->with_kernel_part ? RATIO_WIDTH : 0);
        count++;
    }
    return count;
}

/* As many blocks side by side as a page is wide. */
static void print_ratios(const struct experiment *experiment, size_t memory)
{
    struct block blocks[8];
    size_t count = choose_blocks(experiment, memory, blocks);
    size_t first = 0;

    if (count == 0)
        return;
    printf("Ratios: of the medians (here); the median of those of paired rounds, with its interval "
           "of 95 %%\n(paired); of the kernel parts alone (kernel)\n\n");
    while (first < count) {
        size_t end = first;
        int width = LABEL_WIDTH;

        while (end < count && (end == first || width + BLOCK_GAP + blocks[end].width <= PAGE_WIDTH))
            width += BLOCK_GAP + blocks[end++].width;
        print_blocks(experiment, memory, blocks + first, end - first);
        first = end;
    }
}

/* --- the whole --- */

static void print_heading(const struct experiment *experiment)
{
    const struct fork_options *options = experiment->options;
    char machine[200];

    describe_machine_line(machine, sizeof(machine));
    printf("%s\n", machine);
    printf("geometry %s, %s MMU, %u rounds%s", options->geometry->name,
           options->mmu == MMU_HOST ? "host" : "soft", options->rounds,
           options->aged ? ", aged memory" : "");
    if (options->dirty_percent > 0)
        printf(", the parent rewrites %u %% between forks", options->dirty_percent);
    printf("\n\n");
}

static bool has_column(const struct experiment *experiment, const char *name)
{
    return experiment_column(experiment, name) < experiment->column_count;
}

static void print_notes(const struct experiment *experiment)
{
    puts("To bear in mind:");
    if (has_column(experiment, "2.5.41-mm2"))
        puts("  2.5.41-mm2 is able to share and does not: the price of the mechanism unused. The "
             "post's\n"
             "  middle column was a build without sharing; the 15 % that it loses in exec at 400K "
             "came\n"
             "  with the rest of -mm2, and is not to be found here.");
    if (has_column(experiment, "modern") && has_column(experiment, "modern-shared"))
        puts("  modern leaves to later faults what they can rebuild, all of a shm region among it: "
             "there\n"
             "  sharing has nothing to save. Only what was privately written must be copied or "
             "shared.");
    if (has_column(experiment, "floor"))
        puts("  floor: the same faults and revokes through libsigsegv, and no emulator. fork alone "
             "has\n"
             "  none, so its floor is the clock's own cost.");
    if (has_column(experiment, "host"))
        puts(
            "  host: the real kernel below, from a helper process of its own, without huge pages.");
    puts("  Each part is a median by itself: parts need not add up to the total.");
    for (unsigned i = 0; i < 2; i++) {
        if (experiment->left_out[i][0] != '\0')
            printf("  No %s: %s.\n", i == 0 ? "floor" : "host", experiment->left_out[i]);
    }
}

void report_text(const struct experiment *experiment)
{
    static const struct table_style totals = {TOTAL_WIDTH, false, print_total};
    static const struct table_style parts = {PARTS_WIDTH, true, print_parts};
    const struct fork_options *options = experiment->options;

    print_heading(experiment);
    for (size_t memory = 0; memory < options->memory_count; memory++) {
        printf("%s\n", memory_titles[options->memories[memory]]);
        print_rule(PAGE_WIDTH);
        printf("\nMicroseconds, median\n\n");
        print_table(experiment, &totals, memory);
        printf("Of these: the emulated kernel's own work + the host's (signals, system calls)\n\n");
        print_table(experiment, &parts, memory);
        print_ratios(experiment, memory);
    }
    print_notes(experiment);
}
