/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --explain: what each phase took and counted, and the reason of every difference between two
 * columns, in words made from those counters.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "demo/bare_loop.h"
#include "demo/post.h"
#include "demo/report.h"

enum { LABEL_WIDTH = 20, NUMBER_WIDTH = 8, MOST_REASONS = 3 };

static const double ns_per_us = 1000;

/* Less of a difference than this in a phase's kernel time is not worth a sentence. */
static const double least_difference_ns = 100;
static const double least_difference_share = 0.1;

static const struct cell *find_cell(const struct experiment *experiment, enum fork_memory memory,
                                    enum fork_mode mode, uint64_t size_bytes)
{
    for (size_t i = 0; i < experiment->cell_count; i++) {
        const struct cell *cell = &experiment->cells[i];

        if (cell->memory == memory && cell->mode == mode && cell->size_bytes == size_bytes)
            return cell;
    }
    return NULL;
}

/* The number of an emulated kernel's column, or -1. */
static int kernel_column(const struct experiment *experiment, const char *name)
{
    size_t column = experiment_column(experiment, name);

    if (column == experiment->column_count || kernel_of_column(experiment->columns[column]) == NULL)
        return -1;
    return (int)column;
}

/* --- the table of one cell --- */

static int width_of(const struct column *column)
{
    int name = (int)strlen(column->name);

    return (name > NUMBER_WIDTH ? name : NUMBER_WIDTH) + 2;
}

static void print_title(const struct experiment *experiment, const struct cell *cell)
{
    char size[SIZE_TEXT_BYTES];

    size_text(size, cell->size_bytes);
    printf("%s, %s, %s\n%*s", fork_memory_names[cell->memory], size, fork_mode_names[cell->mode],
           LABEL_WIDTH, "");
    for (size_t i = 0; i < experiment->column_count; i++) {
        if (kernel_of_column(experiment->columns[i]) != NULL)
            printf("%*s", width_of(experiment->columns[i]), experiment->columns[i]->name);
    }
    putchar('\n');
}

static void print_times(const struct experiment *experiment, const struct cell *cell,
                        enum phase phase)
{
    for (unsigned part = 0; part < 2; part++) {
        printf("%-*s", LABEL_WIDTH, part == 0 ? phase_names[phase] : "  kernel's own");
        for (size_t i = 0; i < experiment->column_count; i++) {
            const struct phase_sample *sample = &cell->figures[i].phases[phase];
            char text[FIGURE_TEXT_BYTES];

            if (kernel_of_column(experiment->columns[i]) == NULL)
                continue;
            figure_text(text, (part == 0 ? sample->total_ns : sample->kernel_ns) / ns_per_us);
            printf("%*s", width_of(experiment->columns[i]), text);
        }
        printf("%s\n", part == 0 ? "  us" : "");
    }
}

static bool any_count(const struct experiment *experiment, const struct cell *cell,
                      enum phase phase, enum event event)
{
    for (size_t i = 0; i < experiment->column_count; i++) {
        if (cell->figures[i].phases[phase].counts[event] > 0)
            return true;
    }
    return false;
}

/* That a fork forks is known. */
static bool is_told(enum event event)
{
    return event != EVENT_FORK && event != EVENT_EXEC && event != EVENT_EXIT;
}

static void print_counts(const struct experiment *experiment, const struct cell *cell,
                         enum phase phase)
{
    for (unsigned event = 0; event < EVENT_COUNT; event++) {
        if (!is_told((enum event)event) || !any_count(experiment, cell, phase, (enum event)event))
            continue;
        printf("  %-*s", LABEL_WIDTH - 2, event_names[event]);
        for (size_t i = 0; i < experiment->column_count; i++) {
            unsigned long long count = cell->figures[i].phases[phase].counts[event];

            if (kernel_of_column(experiment->columns[i]) != NULL)
                printf("%*llu", width_of(experiment->columns[i]), count);
        }
        putchar('\n');
    }
}

static bool any_time(const struct experiment *experiment, const struct cell *cell, enum phase phase)
{
    for (size_t i = 0; i < experiment->column_count; i++) {
        if (cell->figures[i].phases[phase].total_ns > 0)
            return true;
    }
    return false;
}

static void print_table_frames(const struct experiment *experiment, const struct cell *cell)
{
    printf("%-*s", LABEL_WIDTH, "child's own tables");
    for (size_t i = 0; i < experiment->column_count; i++) {
        if (kernel_of_column(experiment->columns[i]) != NULL)
            printf("%*u", width_of(experiment->columns[i]), cell->figures[i].table_frames);
    }
    putchar('\n');
}

/* --- why two columns differ --- */

struct reason {
    enum event event;
    double weight;
};

/* How much one counter differs; what the host did explains no time of the kernel's. */
static double weigh(uint64_t one, uint64_t other, enum event event)
{
    uint64_t least = min_u64(one, other);

    if (one == other || event >= EVENT_HOST_PROTECT)
        return 0;
    return (double)(max_u64(one, other) - least) / sqrt((double)least + 1);
}

static size_t find_reasons(const struct phase_sample *one, const struct phase_sample *other,
                           struct reason reasons[MOST_REASONS])
{
    size_t count = 0;

    for (unsigned event = 0; event < EVENT_COUNT; event++) {
        struct reason reason = {
            .event = (enum event)event,
            .weight = weigh(one->counts[event], other->counts[event], (enum event)event)};
        size_t place = count;

        while (place > 0 && reasons[place - 1].weight < reason.weight)
            place--;
        if (reason.weight <= 0 || place == MOST_REASONS)
            continue;
        count += count < MOST_REASONS;
        memmove(&reasons[place + 1], &reasons[place], (count - place - 1) * sizeof(reasons[0]));
        reasons[place] = reason;
    }
    return count;
}

static void explain_phase(const struct pair *pair, enum phase phase,
                          const struct phase_sample *numerator,
                          const struct phase_sample *denominator)
{
    struct reason reasons[MOST_REASONS];
    double difference_ns = numerator->kernel_ns - denominator->kernel_ns;
    double share = fabs(difference_ns) / fmax(numerator->kernel_ns, denominator->kernel_ns);
    char text[FIGURE_TEXT_BYTES];

    if (fabs(difference_ns) < least_difference_ns || share < least_difference_share)
        return;
    size_t count = find_reasons(numerator, denominator, reasons);

    if (count == 0)
        return;
    figure_text(text, fabs(difference_ns) / ns_per_us);
    printf("  %s: %s works %s us longer than %s", phase_names[phase],
           difference_ns > 0 ? pair->numerator : pair->denominator, text,
           difference_ns > 0 ? pair->denominator : pair->numerator);
    for (size_t i = 0; i < count; i++) {
        enum event event = reasons[i].event;
        unsigned long long one = numerator->counts[event];
        unsigned long long other = denominator->counts[event];

        printf("%s %s %llu against %llu", i == 0 ? ":\n   " : ",", event_names[event],
               difference_ns > 0 ? one : other, difference_ns > 0 ? other : one);
    }
    putchar('\n');
}

static void explain_pair(const struct experiment *experiment, const struct cell *cell,
                         const struct pair *pair)
{
    int numerator = kernel_column(experiment, pair->numerator);
    int denominator = kernel_column(experiment, pair->denominator);

    if (numerator < 0 || denominator < 0)
        return;
    for (unsigned phase = 0; phase < PHASE_COUNT; phase++)
        explain_phase(pair, (enum phase)phase, &cell->figures[numerator].phases[phase],
                      &cell->figures[denominator].phases[phase]);
}

static void explain_cell(const struct experiment *experiment, const struct cell *cell)
{
    print_title(experiment, cell);
    for (unsigned phase = 0; phase < PHASE_COUNT; phase++) {
        if (!any_time(experiment, cell, (enum phase)phase))
            continue;
        print_times(experiment, cell, (enum phase)phase);
        print_counts(experiment, cell, (enum phase)phase);
    }
    print_table_frames(experiment, cell);
    for (size_t i = 0; i < pair_count; i++)
        explain_pair(experiment, cell, &pairs[i]);
    putchar('\n');
}

/* --- what the post leaves open --- */

/*
 * What one more copied entry costs a kernel, between the two sizes; 0 if unknown or none is
 * copied.
 */
static double entry_ns(const struct experiment *experiment, enum fork_memory memory, size_t column,
                       uint64_t least_bytes, uint64_t most_bytes)
{
    const struct cell *small = find_cell(experiment, memory, MODE_FORK, least_bytes);
    const struct cell *large = find_cell(experiment, memory, MODE_FORK, most_bytes);

    if (small == NULL || large == NULL || small == large)
        return 0;
    double entries = (double)large->figures[column].counts[EVENT_ENTRY_COPIED] -
                     (double)small->figures[column].counts[EVENT_ENTRY_COPIED];
    double more_ns = large->figures[column].kernel_ns - small->figures[column].kernel_ns;

    return entries > 0 ? more_ns / entries : 0;
}

/* Each kernel that copies, beside the least that copying can cost. */
static void explain_entries(const struct experiment *experiment, enum fork_memory memory,
                            uint64_t least_bytes, uint64_t most_bytes)
{
    double bare_ns = bare_loop_entry_ns((size_t)(most_bytes / PAGE_BYTES));
    bool titled = false;

    for (size_t i = 0; i < experiment->column_count && bare_ns > 0; i++) {
        const struct kernel *kernel = kernel_of_column(experiment->columns[i]);

        if (kernel == NULL)
            continue;
        double entry = entry_ns(experiment, memory, i, least_bytes, most_bytes);

        if (entry <= 0)
            continue;
        if (!titled)
            printf("What fork pays for an entry of %s; the bare loop (copy it, count its frame): "
                   "%.2f ns\n",
                   fork_memory_names[memory], bare_ns);
        titled = true;
        printf("  %-*s%6.2f ns, %.1f bare loops (reverse map: %s)\n", LABEL_WIDTH, kernel->name,
               entry, entry / bare_ns, kernel->rmap->name);
    }
    if (titled)
        putchar('\n');
}

/* What the host takes for one fault of a child, with the revoke at its end; 0 if unknown. */
static double fault_ns(const struct experiment *experiment, enum fork_memory memory,
                       uint64_t size_bytes)
{
    const struct cell *cell = find_cell(experiment, memory, MODE_FORK_EXIT, size_bytes);
    int column = kernel_column(experiment, "2.5.41-mm2-shared");

    if (cell == NULL || column < 0 || cell->figures[column].counts[EVENT_FAULT] == 0)
        return 0;
    return cell->figures[column].host_ns / (double)cell->figures[column].counts[EVENT_FAULT];
}

static void explain_prices(const struct experiment *experiment, enum fork_memory memory,
                           uint64_t least_bytes, uint64_t most_bytes)
{
    int column = kernel_column(experiment, "2.5.41-mm2");
    double fault = fault_ns(experiment, memory, most_bytes);
    double entry =
        column >= 0 ? entry_ns(experiment, memory, (size_t)column, least_bytes, most_bytes) : 0;

    if (entry <= 0 || fault <= 0)
        return;
    printf(
        "Why whole rounds gain less here than in the post: sharing saves copied entries and pays\n"
        "with faults. An entry costs %.1f ns here and cost about 2,750 in the post (its "
        "2.5.41-mm2\n"
        "from 400K to 40M); a fault with its revoke costs the host %.1f us here, which is as much\n"
        "as %.0f entries. The kernel's part alone is what compares with the post.\n\n",
        entry, fault / ns_per_us, fault / entry);
}

static uint64_t phase_count(const struct figures *figures, enum phase phase, enum event event)
{
    return figures->phases[phase].counts[event];
}

static void print_small_exec(const struct figures *copied, const struct figures *shared)
{
    printf("  fork          copies %llu entries in %llu tables; shared: %llu in %llu, and %llu "
           "tables shared\n",
           (unsigned long long)phase_count(copied, PHASE_FORK, EVENT_ENTRY_COPIED),
           (unsigned long long)phase_count(copied, PHASE_FORK, EVENT_TABLE_COPIED),
           (unsigned long long)phase_count(shared, PHASE_FORK, EVENT_ENTRY_COPIED),
           (unsigned long long)phase_count(shared, PHASE_FORK, EVENT_TABLE_COPIED),
           (unsigned long long)phase_count(shared, PHASE_FORK, EVENT_TABLE_SHARED));
    printf("  first writes  %llu faults; shared: %llu, with %llu tables split (%llu entries) "
           "inside them\n",
           (unsigned long long)phase_count(copied, PHASE_WRITES, EVENT_FAULT),
           (unsigned long long)phase_count(shared, PHASE_WRITES, EVENT_FAULT),
           (unsigned long long)phase_count(shared, PHASE_WRITES, EVENT_TABLE_SPLIT),
           (unsigned long long)phase_count(shared, PHASE_WRITES, EVENT_ENTRY_COPIED));
    printf("  exec          releases %llu entries; shared: %llu, and drops %llu tables\n",
           (unsigned long long)phase_count(copied, PHASE_EXEC, EVENT_ENTRY_RELEASED),
           (unsigned long long)phase_count(shared, PHASE_EXEC, EVENT_ENTRY_RELEASED),
           (unsigned long long)phase_count(shared, PHASE_EXEC, EVENT_TABLE_DROPPED));
}

/* The post's last sentence: "I don't know why exec introduces a small penalty for small tasks." */
static void explain_small_exec(const struct experiment *experiment, enum fork_memory memory,
                               uint64_t size_bytes)
{
    const struct cell *cell = find_cell(experiment, memory, MODE_FORK_EXEC_EXIT, size_bytes);
    int copied = kernel_column(experiment, "2.5.41-mm2");
    int shared = kernel_column(experiment, "2.5.41-mm2-shared");
    char size[SIZE_TEXT_BYTES];

    if (cell == NULL || copied < 0 || shared < 0)
        return;
    size_text(size, size_bytes);
    printf("Why exec is not slower for small tasks here (fork/exec/exit, %s of %s):\n", size,
           fork_memory_names[memory]);
    print_small_exec(&cell->figures[copied], &cell->figures[shared]);
    if (phase_count(&cell->figures[shared], PHASE_WRITES, EVENT_TABLE_SPLIT) > 0)
        puts("A table that is split costs what copying it at fork would have cost, and it is split "
             "in\n"
             "the fault that the write takes anyway.");
    else
        printf("Nothing is split: a table with fewer than %u entries is copied at fork, not "
               "shared, and\n"
               "the child writes in no other.\n",
               kernel_of_column(experiment->columns[shared])->least_shared_entries);
    puts("In the post, 400K took 6.5, 7.5 and 7.7 ms. Of the 1.2 ms that exec lost, 1.0 was lost "
         "by the\n"
         "build without sharing too: it came with the rest of -mm2. Sharing itself cost 0.2 ms, or "
         "3 %.\n");
}

static void explain_post(const struct experiment *experiment)
{
    const struct fork_options *options = experiment->options;
    uint64_t least_bytes = UINT64_MAX;
    uint64_t most_bytes = 0;

    for (size_t i = 0; i < options->size_count; i++) {
        least_bytes = min_u64(least_bytes, options->sizes[i]);
        most_bytes = max_u64(most_bytes, options->sizes[i]);
    }
    for (size_t i = 0; i < options->memory_count; i++)
        explain_entries(experiment, options->memories[i], least_bytes, most_bytes);
    explain_prices(experiment, options->memories[0], least_bytes, most_bytes);
    explain_small_exec(experiment, options->memories[0], least_bytes);
}

/* The longest mode has the phases of all others. */
static size_t longest_mode(const struct fork_options *options)
{
    size_t longest = 0;

    for (size_t i = 1; i < options->mode_count; i++) {
        if (options->modes[i] > options->modes[longest])
            longest = i;
    }
    return longest;
}

void report_explain(const struct experiment *experiment)
{
    const struct fork_options *options = experiment->options;
    size_t mode = longest_mode(options);

    printf(
        "\nBy phase of %s: microseconds, and what one round counts. Telling phases apart costs a\n"
        "little by itself. A difference in time without one in counters is caches, or noise.\n\n",
        fork_mode_names[options->modes[mode]]);
    for (size_t memory = 0; memory < options->memory_count; memory++) {
        for (size_t size = 0; size < options->size_count; size++)
            explain_cell(experiment, experiment_cell(experiment, memory, mode, size));
    }
    explain_post(experiment);
}
