/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The experiment for programs: one JSON object, or CSV. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#include "demo/bare_loop.h"
#include "demo/describe.h"
#include "demo/report.h"
#include "version.h"

/* As many entries as 40M has, the largest region of the post. */
enum { BARE_ENTRIES = 10240 };

static const double ns_per_us = 1000;

/* --- JSON: json_pack() takes over the references it is given, and fails if one is NULL --- */

/* By name; what did not happen is 0. */
static json_t *counters_json(const uint64_t counts[EVENT_COUNT])
{
    json_t *object = json_object();
    int error = object == NULL;

    for (unsigned i = 0; error == 0 && i < EVENT_COUNT; i++)
        error = json_object_set_new(object, event_names[i], json_integer((json_int_t)counts[i]));
    if (error == 0)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *phase_json(unsigned phase, const struct phase_sample *sample)
{
    return json_pack("{s:s, s:f, s:f, s:o}", "phase", phase_names[phase], "median_us",
                     sample->total_ns / ns_per_us, "kernel_us", sample->kernel_ns / ns_per_us,
                     "counters", counters_json(sample->counts));
}

/* An empty list where phases were not told apart. */
static json_t *phases_json(const struct figures *figures)
{
    json_t *list = json_array();
    int error = list == NULL;

    for (unsigned i = 0; error == 0 && i < PHASE_COUNT; i++) {
        if (figures->phases[i].total_ns > 0)
            error = json_array_append_new(list, phase_json(i, &figures->phases[i]));
    }
    if (error == 0)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *row_json(const struct cell *cell, const char *kernel, const struct figures *figures)
{
    return json_pack(
        "{s:s, s:s, s:I, s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:o, s:o}", "memory",
        fork_memory_names[cell->memory], "mode", fork_mode_names[cell->mode], "size_bytes",
        (json_int_t)cell->size_bytes, "kernel", kernel, "samples", (json_int_t)figures->samples,
        "median_us", figures->median_ns / ns_per_us, "min_us", figures->minimum_ns / ns_per_us,
        "p90_us", figures->p90_ns / ns_per_us, "kernel_us", figures->kernel_ns / ns_per_us,
        "user_us", figures->user_ns / ns_per_us, "host_us", figures->host_ns / ns_per_us,
        "table_frames", (json_int_t)figures->table_frames, "host_calls",
        (json_int_t)figures->host_calls, "counters", counters_json(figures->counts), "phases",
        phases_json(figures));
}

static json_t *rows_json(const struct experiment *experiment)
{
    json_t *list = json_array();
    int error = list == NULL;

    for (size_t i = 0; error == 0 && i < experiment->cell_count; i++) {
        const struct cell *cell = &experiment->cells[i];

        for (size_t column = 0; error == 0 && column < experiment->column_count; column++)
            error = json_array_append_new(
                list, row_json(cell, experiment->columns[column]->name, &cell->figures[column]));
    }
    if (error == 0)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *comparison_json(const struct cell *cell, const struct pair *pair,
                               const struct comparison *comparison)
{
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:f, s:f, s:[f, f]}", "memory",
                     fork_memory_names[cell->memory], "mode", fork_mode_names[cell->mode],
                     "size_bytes", (json_int_t)cell->size_bytes, "numerator", pair->numerator,
                     "denominator", pair->denominator, "of_medians", comparison->of_medians,
                     "paired", comparison->paired, "interval", comparison->low, comparison->high);
}

static json_t *comparisons_json(const struct experiment *experiment)
{
    json_t *list = json_array();
    int error = list == NULL;

    for (size_t i = 0; i < experiment->cell_count; i++) {
        for (size_t pair = 0; error == 0 && pair < pair_count; pair++) {
            const struct cell *cell = &experiment->cells[i];
            struct comparison comparison;

            if (pair_compare(experiment, cell, &pairs[pair], &comparison))
                error =
                    json_array_append_new(list, comparison_json(cell, &pairs[pair], &comparison));
        }
    }
    if (error == 0)
        return list;
    json_decref(list);
    return NULL;
}

int report_json(const struct experiment *experiment)
{
    const struct fork_options *options = experiment->options;
    json_t *whole = json_pack(
        "{s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:i, s:i, s:b, s:I, s:f, s:o, s:o}", "schema",
        "forklab-fork-1", "version", FORKLAB_VERSION, "commit", FORKLAB_COMMIT, "machine",
        describe_machine(), "experiment", "fork", "geometry", options->geometry->name, "mmu",
        options->mmu == MMU_HOST ? "host" : "soft", "rounds", (int)options->rounds, "dirty_percent",
        (int)options->dirty_percent, "aged", (int)options->aged, "seed", (json_int_t)options->seed,
        "bare_entry_ns", bare_loop_entry_ns(BARE_ENTRIES), "rows", rows_json(experiment),
        "comparisons", comparisons_json(experiment));

    if (whole == NULL)
        return -ENOMEM;
    /* What standard output does not take is told when it is closed. */
    (void)json_dumpf(whole, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(whole);
    return 0;
}

/* --- CSV --- */

void report_csv(const struct experiment *experiment)
{
    puts("memory,mode,size_bytes,kernel,samples,median_us,min_us,p90_us,kernel_us,user_us,host_us,"
         "table_frames,host_calls");
    for (size_t i = 0; i < experiment->cell_count; i++) {
        const struct cell *cell = &experiment->cells[i];

        for (size_t column = 0; column < experiment->column_count; column++) {
            const struct figures *figures = &cell->figures[column];

            printf("%s,%s,%llu,%s,%zu,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%u,%llu\n",
                   fork_memory_names[cell->memory], fork_mode_names[cell->mode],
                   (unsigned long long)cell->size_bytes, experiment->columns[column]->name,
                   figures->samples, figures->median_ns / ns_per_us,
                   figures->minimum_ns / ns_per_us, figures->p90_ns / ns_per_us,
                   figures->kernel_ns / ns_per_us, figures->user_ns / ns_per_us,
                   figures->host_ns / ns_per_us, figures->table_frames,
                   (unsigned long long)figures->host_calls);
        }
    }
}
