/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds in random order, and what becomes of their samples; experiment.h says why so. */
#include "demo/measure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demo/stats.h"
#include "pt/random.h"

/* The host column's time in one cell, but for its first samples. */
static const double host_budget_ns = 200e6;
static const double quick_host_budget_ns = 30e6;

enum { LEAST_HOST_SAMPLES = 3 };

enum {
    WARM_UP_ROUNDS = 2,
    PHASE_ROUNDS = 41,
    PROGRESS_ROUNDS = 8,
};

/* One cell while it is measured. */
struct measuring {
    struct experiment *experiment;
    struct cell *cell;
    struct round_sample *samples; /* by column, then round */
    double host_ns;               /* that the host column has used up */
    char *problem;
    size_t problem_bytes;
};

/* Shown on a terminal only, and gone before anything else is written. */
static void show_progress(const struct measuring *measuring, unsigned round)
{
    const struct experiment *experiment = measuring->experiment;
    const struct cell *cell = measuring->cell;
    char size[SIZE_TEXT_BYTES];

    if (round % PROGRESS_ROUNDS != 0 || !isatty(STDERR_FILENO))
        return;
    size_text(size, cell->size_bytes);
    fprintf(stderr, "\r\033[K%zu/%zu  %s, %s, %s: round %u of %u", experiment->measured_cells + 1,
            experiment->cell_count, fork_memory_names[cell->memory], size,
            fork_mode_names[cell->mode], round, experiment->options->rounds);
    fflush(stderr);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static int fail_round(const struct measuring *measuring, const struct column *column, int error)
{
    char size[SIZE_TEXT_BYTES];

    size_text(size, measuring->cell->size_bytes);
    snprintf(measuring->problem, measuring->problem_bytes, "%s: a round of %s with %s of %s: %s",
             column->name, fork_mode_names[measuring->cell->mode], size,
             fork_memory_names[measuring->cell->memory], strerror(-error));
    return error;
}

/* An unrecorded round, then the sample. */
static int sample_column(const struct measuring *measuring, size_t number,
                         struct round_sample *sample)
{
    struct column *column = measuring->experiment->columns[number];
    int error = column->ops->round(column, measuring->cell->mode, sample, NULL);

    if (error == 0)
        error = column->ops->round(column, measuring->cell->mode, sample, NULL);
    return error != 0 ? fail_round(measuring, column, error) : 0;
}

static bool is_host(const struct column *column)
{
    return strcmp(column->name, "host") == 0;
}

static int take_turn(struct measuring *measuring, size_t number, unsigned round)
{
    const struct fork_options *options = measuring->experiment->options;
    double budget_ns = options->quick ? quick_host_budget_ns : host_budget_ns;
    struct figures *figures = &measuring->cell->figures[number];
    bool host = is_host(measuring->experiment->columns[number]);
    struct round_sample *sample = &measuring->samples[number * options->rounds + round];

    if (host && measuring->host_ns > budget_ns && round >= LEAST_HOST_SAMPLES)
        return 0;
    int error = sample_column(measuring, number, sample);

    figures->samples = round + 1;
    if (host)
        measuring->host_ns += 2 * sample->total_ns;
    return error;
}

/* All columns once, in an order that the seed decides. */
static int run_round(struct measuring *measuring, unsigned round, uint64_t seed)
{
    const struct experiment *experiment = measuring->experiment;
    uint32_t order[MOST_COLUMNS] = {0};
    int error = 0;

    for (uint32_t i = 0; i < experiment->column_count; i++)
        order[i] = i;
    random_shuffle(order, experiment->column_count, seed);
    for (size_t i = 0; error == 0 && i < experiment->column_count; i++)
        error = take_turn(measuring, order[i], round);
    return error;
}

/* What the warm-up leaves in the place of the first sample is overwritten. */
static int run_rounds(struct measuring *measuring)
{
    const struct fork_options *options = measuring->experiment->options;
    struct random random = random_seeded(options->seed + measuring->experiment->measured_cells);
    int error = 0;

    for (unsigned i = 0; error == 0 && i < WARM_UP_ROUNDS; i++)
        error = run_round(measuring, 0, random_next(&random));
    for (unsigned i = 0; error == 0 && i < options->rounds; i++) {
        show_progress(measuring, i);
        error = run_round(measuring, i, random_next(&random));
    }
    return error;
}

/* The median of one part of the samples. `offset` is the part's place in struct round_sample. */
static double median_of_part(const struct round_sample *samples, size_t count, size_t offset,
                             double *scratch)
{
    for (size_t i = 0; i < count; i++)
        memcpy(&scratch[i], (const char *)&samples[i] + offset, sizeof(double));
    return stats_median(scratch, count);
}

static void summarise(struct figures *figures, const struct round_sample *samples, double *scratch)
{
    size_t count = figures->samples;

    for (size_t i = 0; i < count; i++)
        figures->totals_ns[i] = scratch[i] = samples[i].total_ns;
    struct summary total = stats_summarise(scratch, count);

    figures->median_ns = total.median;
    figures->minimum_ns = total.minimum;
    figures->p90_ns = total.p90;
    figures->kernel_ns =
        median_of_part(samples, count, offsetof(struct round_sample, kernel_ns), scratch);
    figures->user_ns =
        median_of_part(samples, count, offsetof(struct round_sample, user_ns), scratch);
    figures->host_ns =
        median_of_part(samples, count, offsetof(struct round_sample, host_ns), scratch);
}

/* One more round for the counters, and one for the tables. */
static int count_column(const struct measuring *measuring, size_t number)
{
    struct column *column = measuring->experiment->columns[number];
    struct figures *figures = &measuring->cell->figures[number];
    struct round_sample sample;
    int error = column->ops->round(column, measuring->cell->mode, &sample, figures->counts);

    if (error != 0)
        return fail_round(measuring, column, error);
    figures->host_calls = sample.host_calls;
    figures->table_frames = column->ops->table_frames(column, measuring->cell->mode);
    return 0;
}

static int summarise_columns(const struct measuring *measuring)
{
    size_t rounds = measuring->experiment->options->rounds;
    double *scratch = calloc(rounds, sizeof(*scratch));
    int error = scratch != NULL ? 0 : -ENOMEM;

    for (size_t i = 0; error == 0 && i < measuring->experiment->column_count; i++) {
        summarise(&measuring->cell->figures[i], &measuring->samples[i * rounds], scratch);
        error = count_column(measuring, i);
    }
    free(scratch);
    return error;
}

static void summarise_phases(struct phase_sample rounds[PHASE_ROUNDS][PHASE_COUNT],
                             struct phase_sample phases[PHASE_COUNT])
{
    double totals_ns[PHASE_ROUNDS];
    double kernel_ns[PHASE_ROUNDS];

    for (unsigned phase = 0; phase < PHASE_COUNT; phase++) {
        for (unsigned i = 0; i < PHASE_ROUNDS; i++) {
            totals_ns[i] = rounds[i][phase].total_ns;
            kernel_ns[i] = rounds[i][phase].kernel_ns;
        }
        phases[phase] = rounds[PHASE_ROUNDS - 1][phase];
        phases[phase].total_ns = stats_median(totals_ns, PHASE_ROUNDS);
        phases[phase].kernel_ns = stats_median(kernel_ns, PHASE_ROUNDS);
    }
}

/* Rounds of their own, for telling phases apart costs time in each. */
static int run_phases(const struct measuring *measuring, size_t number)
{
    struct column *column = measuring->experiment->columns[number];
    struct phase_sample(*rounds)[PHASE_COUNT] = calloc(PHASE_ROUNDS, sizeof(*rounds));
    int error = rounds != NULL ? 0 : -ENOMEM;

    for (unsigned i = 0; error == 0 && i < PHASE_ROUNDS; i++)
        error = kernel_column_phases(column, measuring->cell->mode, rounds[i]);
    if (error == 0)
        summarise_phases(rounds, measuring->cell->figures[number].phases);
    free(rounds);
    return error != 0 ? fail_round(measuring, column, error) : 0;
}

static int explain_columns(const struct measuring *measuring)
{
    const struct experiment *experiment = measuring->experiment;
    int error = 0;

    for (size_t i = 0; error == 0 && i < experiment->column_count; i++) {
        if (kernel_of_column(experiment->columns[i]) != NULL)
            error = run_phases(measuring, i);
    }
    return error;
}

static int measure_cell(struct measuring *measuring)
{
    const struct experiment *experiment = measuring->experiment;
    size_t samples = experiment->column_count * experiment->options->rounds;

    measuring->samples = calloc(samples + 1, sizeof(*measuring->samples));
    if (measuring->samples == NULL) {
        snprintf(measuring->problem, measuring->problem_bytes,
                 "memory ran out; ask for less --rounds");
        return -ENOMEM;
    }
    int error = run_rounds(measuring);

    if (error == 0)
        error = summarise_columns(measuring);
    if (error == 0 && experiment->options->explain)
        error = explain_columns(measuring);
    free(measuring->samples);
    clear_progress();
    return error;
}

/* How many columns could be set up; fewer than all with a line in `problem`. */
static size_t prepare_columns(const struct experiment *experiment, const struct column_setup *setup,
                              int *error, char *problem, size_t problem_bytes)
{
    size_t prepared = 0;

    for (; prepared < experiment->column_count; prepared++) {
        struct column *column = experiment->columns[prepared];

        *error = column->ops->prepare(column, setup, problem, problem_bytes);
        if (*error != 0)
            break;
    }
    return prepared;
}

int measure_setup(struct experiment *experiment, size_t memory, size_t size, char *problem,
                  size_t problem_bytes)
{
    const struct fork_options *options = experiment->options;
    struct column_setup setup = {.memory = options->memories[memory],
                                 .size_bytes = options->sizes[size],
                                 .dirty_percent = options->dirty_percent};
    int error = 0;
    size_t prepared = prepare_columns(experiment, &setup, &error, problem, problem_bytes);

    for (size_t mode = 0; error == 0 && mode < options->mode_count; mode++) {
        struct cell *cell = experiment_cell(experiment, memory, mode, size);
        struct measuring measuring = {.experiment = experiment,
                                      .cell = cell,
                                      .problem = problem,
                                      .problem_bytes = problem_bytes};

        error = measure_cell(&measuring);
        experiment->measured_cells++;
    }
    while (prepared > 0) {
        struct column *column = experiment->columns[--prepared];

        column->ops->finish(column);
    }
    return error;
}
