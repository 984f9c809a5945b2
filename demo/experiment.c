/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns and cells of the fork experiment: made, checked, ended. measure.c fills the cells. */
#include "demo/experiment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/measure.h"

struct cell *experiment_cell(const struct experiment *experiment, size_t memory, size_t mode,
                             size_t size)
{
    const struct fork_options *options = experiment->options;

    return &experiment->cells[(memory * options->mode_count + mode) * options->size_count + size];
}

size_t experiment_column(const struct experiment *experiment, const char *name)
{
    size_t column = 0;

    while (column < experiment->column_count &&
           strcmp(experiment->columns[column]->name, name) != 0)
        column++;
    return column;
}

static struct parent_options parent_options_of(const struct fork_options *options)
{
    return (struct parent_options){.kernel = options->kernels[0],
                                   .geometry = options->geometry,
                                   .mmu = options->mmu,
                                   .ram_bytes = options->ram_bytes,
                                   .aged = options->aged,
                                   .seed = options->seed,
                                   .program_path = options->program_path};
}

static size_t list_setups(const struct fork_options *options, struct column_setup *setups)
{
    size_t count = 0;

    for (size_t memory = 0; memory < options->memory_count; memory++) {
        for (size_t size = 0; size < options->size_count; size++)
            setups[count++] = (struct column_setup){.memory = options->memories[memory],
                                                    .size_bytes = options->sizes[size],
                                                    .dirty_percent = options->dirty_percent};
    }
    return count;
}

/* All columns are set up at the same time, for one memory and size after the other. */
static int check_host_memory(struct fork_options *options, const struct column_setup *setup)
{
    struct parent_options parent = parent_options_of(options);
    uint64_t available_bytes = host_memory_available_bytes();
    uint64_t machines = kernel_machine_count(options->kernels, options->kernel_count);
    uint64_t needed_bytes = machines * parent_needed_bytes(&parent, setup) +
                            setup->size_bytes * (options->floor + (uint64_t)options->host);
    char size[SIZE_TEXT_BYTES];

    if (needed_bytes <= available_bytes)
        return 0;
    size_text(size, setup->size_bytes);
    (void)command_line_refuse(
        &options->line,
        "%s takes %lluM of memory in all, and %lluM are free here; ask for less, or fewer kernels",
        size, (unsigned long long)(needed_bytes >> 20),
        (unsigned long long)(available_bytes >> 20));
    return -ENOMEM;
}

static int check(struct fork_options *options)
{
    struct parent_options parent = parent_options_of(options);
    struct column_setup setups[MOST_SIZES * MEMORY_COUNT] = {0};
    size_t count = list_setups(options, setups);
    int error =
        parent_check(&parent, setups, count, options->line.problem, sizeof(options->line.problem));

    for (size_t i = 0; error == 0 && i < count; i++)
        error = check_host_memory(options, &setups[i]);
    return error;
}

/* The floor or the host column: an experiment without it is still one, and says so. */
static void add_other(struct experiment *experiment,
                      int (*create)(struct column **column, char *problem, size_t problem_bytes),
                      char left_out[200])
{
    struct column *column;
    int error = create(&column, left_out, 200);

    if (error != 0)
        return;
    left_out[0] = '\0';
    experiment->columns[experiment->column_count++] = column;
}

static int create_columns(struct experiment *experiment)
{
    const struct fork_options *options = experiment->options;
    struct parent_options parent = parent_options_of(options);

    experiment->column_count = kernel_columns_create(&parent, options->kernels,
                                                     options->kernel_count, experiment->columns);
    if (experiment->column_count < options->kernel_count)
        return -ENOMEM;
    if (options->floor && options->mmu == MMU_SOFT)
        snprintf(experiment->left_out[0], sizeof(experiment->left_out[0]),
                 "the soft MMU has no real faults to compare with");
    else if (options->floor)
        add_other(experiment, floor_column_create, experiment->left_out[0]);
    if (options->host)
        add_other(experiment, host_column_create, experiment->left_out[1]);
    return 0;
}

static int create_figures(struct experiment *experiment, struct cell *cell)
{
    size_t rounds = experiment->options->rounds;

    cell->figures = calloc(experiment->column_count, sizeof(*cell->figures));
    for (size_t i = 0; cell->figures != NULL && i < experiment->column_count; i++) {
        cell->figures[i].totals_ns = calloc(rounds, sizeof(double));
        if (cell->figures[i].totals_ns == NULL)
            return -ENOMEM;
    }
    return cell->figures != NULL ? 0 : -ENOMEM;
}

static int create_cells(struct experiment *experiment)
{
    const struct fork_options *options = experiment->options;
    int error = 0;

    experiment->cell_count = options->memory_count * options->mode_count * options->size_count;
    experiment->cells = calloc(experiment->cell_count, sizeof(*experiment->cells));
    if (experiment->cells == NULL)
        return -ENOMEM;
    for (size_t i = 0; error == 0 && i < experiment->cell_count; i++) {
        struct cell *cell = &experiment->cells[i];
        size_t size = i % options->size_count;
        size_t mode = i / options->size_count % options->mode_count;

        cell->memory = options->memories[i / options->size_count / options->mode_count];
        cell->mode = options->modes[mode];
        cell->size_bytes = options->sizes[size];
        error = create_figures(experiment, cell);
    }
    return error;
}

int experiment_create(struct experiment *experiment, struct fork_options *options)
{
    *experiment = (struct experiment){.options = options};
    int error = check(options);

    if (error != 0)
        return error;
    error = create_columns(experiment);
    if (error == 0)
        error = create_cells(experiment);
    if (error != 0) {
        (void)command_line_refuse(&options->line, "memory ran out");
        experiment_destroy(experiment);
    }
    return error;
}

int experiment_run(struct experiment *experiment, struct fork_options *options)
{
    int error = 0;

    /* What is said of an error that nobody says more of. */
    (void)command_line_refuse(&options->line, "memory ran out; ask for less");
    for (size_t memory = 0; error == 0 && memory < options->memory_count; memory++) {
        for (size_t size = 0; error == 0 && size < options->size_count; size++)
            error = measure_setup(experiment, memory, size, options->line.problem,
                                  sizeof(options->line.problem));
    }
    return error;
}

void experiment_destroy(struct experiment *experiment)
{
    for (size_t i = 0; experiment->cells != NULL && i < experiment->cell_count; i++) {
        struct figures *figures = experiment->cells[i].figures;

        for (size_t column = 0; figures != NULL && column < experiment->column_count; column++)
            free(figures[column].totals_ns);
        free(figures);
    }
    free(experiment->cells);
    for (size_t i = 0; i < experiment->column_count; i++)
        experiment->columns[i]->ops->destroy(experiment->columns[i]);
    *experiment = (struct experiment){0};
}
