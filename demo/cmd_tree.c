/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forklab tree: the rebuild-tree experiment of August 2001. A task with very many mappings forks;
 * what is timed is mostly how the child's index of them comes about.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/commands.h"
#include "demo/host_probe.h"
#include "demo/tree_report.h"

enum {
    POST_MAPS = 55000,
    QUICK_MAPS = 5000,
    MOST_MAPS = 4000000,
    POST_ROUNDS = 10,
    QUICK_ROUNDS = 5,
    SWEEP_ROUNDS = 5,
    WARM_UP_FORKS = 5,
    MOST_ROUNDS = 10000,
    HOST_MAPS = 65000 /* more would need another vm.max_map_count */
};

enum { KEY_MAPS = LAB_KEY_OWN, KEY_VARIANT, KEY_SWEEP, KEY_FIND };

#define DEFAULT_KERNELS "2.4.9,2.4.9-mmap-rb-4,4.x,modern"

/* clang-format off */
static const struct argp_option option_table[] = {
    {"maps", KEY_MAPS, "N", 0, "Mappings of the task (55000)", 1},
    {"variant", KEY_VARIANT, "NAME", 0,
     "up: 8,192 bytes apart, as posted; down: the highest first; merging: 4,096 bytes apart; "
     "chosen: where the kernel likes (up)", 1},
    {"sweep", KEY_SWEEP, NULL, 0, "From 1,000 mappings to 1,000,000", 1},
    {"find", KEY_FIND, NULL, 0, "Lookups and searches for free space in place of forks", 1},
    LAB_OPTIONS,
    OPTION_HELP,
    {0},
};
/* clang-format on */

static const char documentation[] =
    "How long fork takes for a task with 55,000 mappings, none of which was touched: the "
    "rebuild-tree program of \"first benchmark results of mmap-rb-4\" (August 2001), which shows "
    "what the index of mappings costs at fork."
    "\vExamples:\n"
    "  forklab tree\n"
    "  forklab tree --variant merging --explain\n"
    "  forklab tree --sweep --plot tree.svg";

static error_t take_variant(struct tree_options *options, const char *name)
{
    for (unsigned i = 0; i < TREE_VARIANTS; i++) {
        if (strcmp(name, tree_variant_names[i]) == 0) {
            options->variant = (enum tree_variant)i;
            return 0;
        }
    }
    return command_line_refuse(&options->lab.line,
                               "--variant %.60s: it must be up, down, merging or chosen", name);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): argp has it so */
static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct tree_options *options = state->input;

    switch (key) {
    case KEY_MAPS:
        return lab_number(&options->lab, "--maps", argument, 1, MOST_MAPS, &options->maps);
    case KEY_VARIANT:
        return take_variant(options, argument);
    case KEY_SWEEP:
        options->sweep = true;
        return 0;
    case KEY_FIND:
        options->find = true;
        return 0;
    default:
        return lab_parse(key, argument, &options->lab);
    }
}

/* --- measuring --- */

static int host_fork(const struct tree_options *options, struct tree_column *column, size_t round,
                     char *problem, size_t problem_bytes)
{
    struct probe_request request = {
        .name = "tree", .count = 2, .numbers = {options->maps, (uint64_t)options->variant}};
    double answers[3];
    int error = host_probe_run(&request, answers, 3, problem, problem_bytes);

    if (error != 0)
        return error;
    column->ns[round] = answers[0];
    column->cycles[round] = answers[1];
    column->cold_ns = answers[2];
    return 0;
}

static int sample(const struct tree_options *options, struct tree_column *column, size_t round,
                  char *problem, size_t problem_bytes)
{
    struct tree_sample made;

    if (column->kernel == NULL)
        return host_fork(options, column, round, problem, problem_bytes);
    /* The others have been at the caches: forks that do not count bring its own back. */
    int error = 0;

    for (unsigned i = 0; error == 0 && i <= WARM_UP_FORKS; i++)
        error = tree_bench_fork(column->bench, &made);

    if (error != 0) {
        (void)snprintf(problem, problem_bytes, "%s: fork: %s", column->kernel->name,
                       strerror(-error));
        return error;
    }
    column->ns[round] = made.ns;
    column->cycles[round] = made.cycles;
    column->steps = made.steps;
    column->vmas = made.vmas;
    return 0;
}

/* Makes the machine and its first fork, which is the cold one. */
static int open_column(const struct tree_options *options, struct tree_column *column,
                       const struct kernel *kernel, char *problem, size_t problem_bytes)
{
    struct tree_sample cold;

    column->kernel = kernel;
    if (kernel == NULL)
        return 0;
    int error = tree_bench_create(&column->bench, kernel, options->maps, options->variant, problem,
                                  problem_bytes);

    if (error == 0)
        error = tree_bench_fork(column->bench, &cold);
    if (error == 0)
        column->cold_ns = cold.ns;
    return error;
}

static void close_columns(struct tree_results *results)
{
    for (size_t i = 0; i < results->column_count; i++) {
        struct tree_column *column = &results->columns[i];

        if (column->bench != NULL)
            tree_bench_destroy(column->bench);
    }
    free(results->samples);
}

static bool host_takes_part(const struct tree_options *options)
{
    return !options->lab.no_host && options->maps <= HOST_MAPS;
}

static int open_columns(struct tree_results *results, char *problem, size_t problem_bytes)
{
    const struct tree_options *options = results->options;
    size_t kernels_here = options->lab.kernel_count;
    size_t wanted = kernels_here + host_takes_part(options);
    int error = 0;

    results->samples = calloc(2 * wanted * results->rounds, sizeof(double));
    if (results->samples == NULL)
        return -ENOMEM;
    while (error == 0 && results->column_count < wanted) {
        size_t at = results->column_count++;

        results->columns[at].ns = results->samples + 2 * at * results->rounds;
        results->columns[at].cycles = results->columns[at].ns + results->rounds;
        const struct kernel *kernel = at < kernels_here ? options->lab.kernels[at] : NULL;

        error = open_column(options, &results->columns[at], kernel, problem, problem_bytes);
    }
    return error;
}

/* In each round all columns take turns, in random order, so that a drift hits all alike. */
static int measure(struct tree_results *results, char *problem, size_t problem_bytes)
{
    int error = open_columns(results, problem, problem_bytes);

    for (size_t round = 0; error == 0 && round < results->rounds; round++) {
        uint32_t order[TREE_MOST_COLUMNS];

        lab_order(order, results->column_count, round);
        for (size_t i = 0; error == 0 && i < results->column_count; i++)
            error = sample(results->options, &results->columns[order[i]], round, problem,
                           problem_bytes);
    }
    return error;
}

/* --- one size --- */

static int print_one(struct tree_options *options, const struct tree_results *results,
                     struct sheet *sheet)
{
    const struct sheet *sheets[] = {sheet};

    int error;

    if (lab_print_for_programs(&options->lab, "tree", sheets, 1, &error))
        return error;
    lab_print_machine();
    tree_print_post(results);
    printf("\n%llu maps, %s: medians of %zu forks\n", (unsigned long long)options->maps,
           tree_variant_names[options->variant], results->rounds);
    sheet_print(sheet);
    printf("faster, times: than %s, in paired rounds, with the interval (95 %%).\n",
           tree_column_name(&results->columns[0]));
    if (!options->lab.no_host && !host_takes_part(options))
        printf("host: left out, for vm.max_map_count does not allow so many maps.\n");
    if (options->lab.explain)
        tree_explain(results);
    return 0;
}

static int run_one(struct tree_options *options)
{
    struct tree_results results = {.options = options, .rounds = (size_t)options->lab.rounds};
    struct sheet sheet = sheet_new("forks", NULL);
    char *problem = options->lab.line.problem;
    size_t problem_bytes = sizeof(options->lab.line.problem);
    int error = measure(&results, problem, problem_bytes);

    if (error == 0 && !tree_sheet(&results, &sheet))
        error = -ENOMEM;
    if (error == 0)
        error = print_one(options, &results, &sheet);
    if (error == 0 && options->lab.plot_path != NULL) {
        struct sheet_picture picture = {.sheet = &sheet, .first = 4, .unit = "ns a map"};

        error = sheet_draw(&picture, options->lab.plot_path, problem, problem_bytes);
    }
    close_columns(&results);
    sheet_free(&sheet);
    return error;
}

/* --- the sweep --- */

/* One row: nanoseconds a map, by column; the host has none where it may not have so many. */
static int sweep_row(struct tree_options *options, struct sheet *sheet)
{
    struct tree_results results = {.options = options, .rounds = (size_t)options->lab.rounds};
    struct sheet one = sheet_new("forks", NULL);
    char *problem = options->lab.line.problem;
    int error = measure(&results, problem, sizeof(options->lab.line.problem));

    if (error == 0 && !tree_sheet(&results, &one))
        error = -ENOMEM;
    if (error == 0) {
        sheet_row(sheet);
        sheet_number(sheet, 0, (double)options->maps);
        for (size_t i = 0; i < one.row_count; i++)
            sheet_number(sheet, i + 1, one.rows[i][4].number);
    }
    close_columns(&results);
    sheet_free(&one);
    return error;
}

static void add_sweep_columns(const struct tree_options *options, struct sheet *sheet)
{
    (void)sheet_column(sheet, "maps", "maps", 0);
    for (size_t i = 0; i < options->lab.kernel_count; i++)
        (void)sheet_column(sheet, options->lab.kernels[i]->name, options->lab.kernels[i]->name, 1);
    if (!options->lab.no_host)
        (void)sheet_column(sheet, "host", "host", 1);
}

static int print_sweep(struct tree_options *options, const struct sheet *sheet)
{
    const struct sheet *sheets[] = {sheet};
    int error;

    if (lab_print_for_programs(&options->lab, "tree", sheets, 1, &error))
        return error;
    printf("Fork, in ns a map (variant %s; medians of %llu forks)\n",
           tree_variant_names[options->variant], (unsigned long long)options->lab.rounds);
    sheet_print(sheet);
    if (!options->lab.no_host)
        puts("host: as far as vm.max_map_count allows.");
    return 0;
}

static int run_sweep(struct tree_options *options)
{
    static const uint64_t sizes[] = {1000, 3000, 10000, 30000, 60000, 100000, 300000, 1000000};
    size_t count = sizeof(sizes) / sizeof(sizes[0]) - (options->lab.quick ? 3 : 0);
    struct sheet sheet = sheet_new("sweep", NULL);
    struct sheet_picture picture = {.sheet = &sheet, .first = 1, .unit = "ns a map"};
    int error = 0;

    add_sweep_columns(options, &sheet);
    for (size_t i = 0; i < count && error == 0; i++) {
        options->maps = sizes[i];
        error = sweep_row(options, &sheet);
    }
    if (error == 0)
        error = sheet_is_whole(&sheet) ? print_sweep(options, &sheet) : -ENOMEM;
    if (error == 0 && options->lab.plot_path != NULL)
        error = sheet_draw(&picture, options->lab.plot_path, options->lab.line.problem,
                           sizeof(options->lab.line.problem));
    sheet_free(&sheet);
    return error;
}

static int run_find(struct tree_options *options)
{
    struct sheet sheet = sheet_new("lookups", NULL);
    const struct sheet *sheets[] = {&sheet};
    int error = tree_find(options, &sheet);

    if (error == 0 && !lab_print_for_programs(&options->lab, "tree", sheets, 1, &error)) {
        printf("Lookups of random addresses, and searches for two pages of free space\n");
        sheet_print(&sheet);
        puts("array: a binary search in a plain sorted array of the mappings' ends, in the same\n"
             "turns; steps: VMAs or nodes looked at. One hole fits, half-way up.");
    }
    sheet_free(&sheet);
    return error;
}

int cmd_tree(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table, .parser = parse_option, .doc = documentation};
    struct tree_options options = {.lab = {.line = {.command = "forklab tree"}}};
    int status;

    if (!command_line_parse(&argp, argc, argv, &options.lab.line, &status))
        return status;
    lab_default_kernels(&options.lab, DEFAULT_KERNELS);
    if (options.maps == 0)
        options.maps = options.lab.quick ? QUICK_MAPS : POST_MAPS;
    if (options.lab.rounds == 0)
        options.lab.rounds =
            options.lab.quick ? QUICK_ROUNDS : (options.sweep ? SWEEP_ROUNDS : POST_ROUNDS);
    if (options.lab.rounds > MOST_ROUNDS)
        options.lab.rounds = MOST_ROUNDS;
    if (lab_check_plot(&options.lab) != 0)
        return command_line_fail(&options.lab.line, EXIT_STATUS_USAGE);
    int error = options.find ? run_find(&options)
                             : (options.sweep ? run_sweep(&options) : run_one(&options));

    return lab_status(&options.lab, error);
}
