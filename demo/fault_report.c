/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The three outputs of `forklab fault`, from one set of rows. */
#include "demo/fault_report.h"

#include <errno.h>
#include <stdio.h>

#include <jansson.h>

#include "demo/describe.h"
#include "demo/stats.h"
#include "version.h"

/* One case, summed up. */
struct row {
    const char *name;
    size_t samples;
    struct summary total;
    struct summary floor;
    double kernel_ns;
    struct comparison ratio;
};

struct rows {
    size_t count;
    struct row row[CASE_COUNT];
};

static bool sum_up(struct fault_results *results, struct rows *rows)
{
    rows->count = 0;
    for (unsigned i = 0; i < CASE_COUNT; i++) {
        struct fault_series *series = &results->series[i];
        struct row *row = &rows->row[rows->count];

        if (series->count == 0)
            continue;
        /* The pairs are compared first: summing up sorts them. */
        if (!stats_compare(series->total_ns, series->floor_ns, series->count, &row->ratio))
            return false;
        row->name = fault_case_names[i];
        row->samples = series->count;
        row->total = stats_summarise(series->total_ns, series->count);
        row->floor = stats_summarise(series->floor_ns, series->count);
        row->kernel_ns = stats_median(series->kernel_ns, series->count);
        rows->count++;
    }
    return true;
}

/* --- table --- */

static const char floor_line[] =
    "floor: the same host call and the same 4 KiB copied or cleared, through libsigsegv, with no "
    "emulator;\n       of sequential-*: the host's own faults on 40M of a memory file, mapped "
    "afresh.";

static void print_table(const struct fault_results *results, const struct rows *rows)
{
    char machine[256];

    describe_machine_line(machine, sizeof(machine));
    printf("One fault of kernel %s, map-ahead %u, in ns (of sequential-*: ns a page)\n%s\n\n",
           results->kernel->name, results->map_ahead_pages, machine);
    printf("%-17s %8s %8s %7s  %-13s %8s %8s\n", "case", "median", "floor", "ratio", "its interval",
           "kernel", "samples");
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];

        printf("%-17s %8.0f %8.0f %7.2f  %5.2f - %-5.2f %8.0f %8zu\n", row->name, row->total.median,
               row->floor.median, row->ratio.paired, row->ratio.low, row->ratio.high,
               row->kernel_ns, row->samples);
    }
    printf("\n%s\n", floor_line);
    puts("ratio: the median of paired samples' ratios, and its interval (95 %). kernel: the "
         "emulated\n       kernel's own work, without the host's calls and signals.");
    for (unsigned i = 0; i < CASE_COUNT; i++) {
        if (results->series[i].count == 0)
            printf("%s: not in kernel %s, which shares no tables.\n", fault_case_names[i],
                   results->kernel->name);
    }
}

/* --- CSV --- */

static void print_csv(const struct fault_results *results, const struct rows *rows)
{
    puts("kernel,map_ahead,case,median_ns,min_ns,p90_ns,floor_ns,floor_min_ns,ratio,ratio_low,"
         "ratio_high,kernel_ns,samples");
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->row[i];

        printf("%s,%u,%s,%.1f,%.1f,%.1f,%.1f,%.1f,%.4f,%.4f,%.4f,%.1f,%zu\n", results->kernel->name,
               results->map_ahead_pages, row->name, row->total.median, row->total.minimum,
               row->total.p90, row->floor.median, row->floor.minimum, row->ratio.paired,
               row->ratio.low, row->ratio.high, row->kernel_ns, row->samples);
    }
}

/* --- JSON --- */

static json_t *row_object(const struct row *row)
{
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:[f, f], s:I}", "case", row->name,
                     "median_ns", row->total.median, "min_ns", row->total.minimum, "p90_ns",
                     row->total.p90, "floor_ns", row->floor.median, "floor_min_ns",
                     row->floor.minimum, "kernel_ns", row->kernel_ns, "ratio", row->ratio.paired,
                     "ratio_interval", row->ratio.low, row->ratio.high, "samples",
                     (json_int_t)row->samples);
}

static json_t *rows_array(const struct rows *rows)
{
    json_t *array = json_array();

    for (size_t i = 0; i < rows->count && array != NULL; i++) {
        if (json_array_append_new(array, row_object(&rows->row[i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

/* json_pack() takes references that it is given over, and fails if one of them is NULL. */
static int print_json(const struct fault_results *results, const struct rows *rows)
{
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:o, s:s, s:s, s:i, s:I, s:o}", "schema", "forklab-fault-1", "version",
        FORKLAB_VERSION, "commit", FORKLAB_COMMIT, "machine", describe_machine(), "experiment",
        "fault", "kernel", results->kernel->name, "map_ahead", (int)results->map_ahead_pages,
        "rounds", (json_int_t)results->rounds, "rows", rows_array(rows));

    if (object == NULL)
        return -ENOMEM;
    int error = json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));

    json_decref(object);
    putchar('\n');
    return error == 0 ? 0 : -EIO;
}

int fault_report(struct fault_results *results, enum fault_format format)
{
    struct rows rows;

    if (!sum_up(results, &rows))
        return -ENOMEM;
    if (format == FORMAT_JSON)
        return print_json(results, &rows);
    if (format == FORMAT_CSV)
        print_csv(results, &rows);
    else
        print_table(results, &rows);
    return 0;
}
