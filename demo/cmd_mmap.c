/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forklab mmap: the NetBSD program of October 2003, as posted, as corrected, and with a guard page.
 * Kernels and programs take turns, some rounds at a time, so that a drift hits all alike.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "demo/commands.h"
#include "demo/host_probe.h"
#include "demo/lab_options.h"
#include "demo/mmap_report.h"

enum { DEFAULT_OUTER = 16384, QUICK_OUTER = 256, MOST_OUTER = 1000000, TURNS = 8 };

enum { KEY_OUTER = LAB_KEY_OWN };

#define DEFAULT_KERNELS "netbsd-1-6,netbsd-current,modern"

/* clang-format off */
static const struct argp_option option_table[] = {
    {"outer", KEY_OUTER, "N", 0, "Rounds of the program (16384; the post's has 40960)", 1},
    LAB_OPTIONS,
    OPTION_HELP,
    {0},
};
/* clang-format on */

static const char documentation[] =
    "Fifteen mappings of 4 KiB to 64 MiB made and unmapped, again and again: the program of "
    "\"mmap(2) performance netbsd-1-6 vs. -current\" (October 2003), with the bug that it was "
    "posted with and without, and with a guard page that keeps its mappings from merging with what "
    "is there already."
    "\vExamples:\n"
    "  forklab mmap\n"
    "  forklab mmap --kernels netbsd-1-6,netbsd-current --explain\n"
    "  forklab mmap --outer 40960 --csv";

/* NOLINTNEXTLINE(readability-non-const-parameter): argp has it so */
static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct mmap_options *options = state->input;

    if (key == KEY_OUTER)
        return lab_number(&options->lab, "--outer", argument, TURNS, MOST_OUTER, &options->outer);
    return lab_parse(key, argument, &options->lab);
}

/* --- measuring --- */

static int host_turn(const struct mmap_options *options, struct mmap_row *row, char *problem,
                     size_t problem_bytes)
{
    struct probe_request request = {
        .name = "mmap",
        .count = 3,
        .numbers = {options->outer, row->program.corrected, row->program.guarded}};
    double answers[5];
    int error = host_probe_run(&request, answers, 5, problem, problem_bytes);

    if (error != 0)
        return error;
    row->total_ns = answers[0];
    row->user_ns = answers[1];
    row->kernel_ns = answers[2];
    row->entries = (unsigned)(answers[3] > 0 ? answers[3] : 0);
    row->refused = (uint64_t)answers[4];
    row->rounds = options->outer;
    return 0;
}

static int turn(struct mmap_row *row, uint64_t rounds, char *problem, size_t problem_bytes)
{
    struct mmap_sample sample;
    int error = mmap_bench_run(row->bench, rounds, &sample);

    if (error != 0) {
        (void)snprintf(problem, problem_bytes, "%s: the program failed: %s", row->kernel->name,
                       strerror(-error));
        return error;
    }
    row->total_ns += sample.total_ns;
    row->kernel_ns += sample.kernel_ns;
    row->refused += sample.refused;
    row->rounds += rounds;
    for (unsigned i = 0; i < EVENT_COUNT; i++)
        row->counts[i] += sample.counts[i];
    row->turn_ns[row->turns++] = sample.kernel_ns / (double)(rounds * MMAP_MAPPINGS);
    return 0;
}

static int open_rows(struct mmap_results *results, char *problem, size_t problem_bytes)
{
    static const struct mmap_program programs[MMAP_PROGRAMS] = {
        {false, false}, {true, false}, {false, true}, {true, true}};
    const struct mmap_options *options = results->options;
    int error = 0;

    for (size_t i = 0; i < MMAP_PROGRAMS; i++) {
        for (size_t j = 0; error == 0 && j < options->lab.kernel_count; j++) {
            struct mmap_row *row = &results->rows[results->count++];

            row->program = programs[i];
            row->kernel = options->lab.kernels[j];
            error =
                mmap_bench_create(&row->bench, row->kernel, &row->program, problem, problem_bytes);
        }
        if (error == 0 && !options->lab.no_host)
            results->rows[results->count++].program = programs[i];
    }
    return error;
}

static int measure(struct mmap_results *results, char *problem, size_t problem_bytes)
{
    const struct mmap_options *options = results->options;
    int error = open_rows(results, problem, problem_bytes);

    for (unsigned i = 0; i < TURNS; i++) {
        for (size_t j = 0; error == 0 && j < results->count; j++) {
            struct mmap_row *row = &results->rows[j];

            if (row->bench != NULL)
                error = turn(row, options->outer / TURNS, problem, problem_bytes);
            else if (i == 0)
                error = host_turn(options, row, problem, problem_bytes);
        }
    }
    for (size_t j = 0; error == 0 && j < results->count; j++) {
        if (results->rows[j].bench != NULL)
            results->rows[j].entries = mmap_bench_entries(results->rows[j].bench);
    }
    return error;
}

static void close_rows(struct mmap_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        if (results->rows[i].bench != NULL)
            mmap_bench_destroy(results->rows[i].bench);
    }
}

static int print(struct mmap_options *options, struct mmap_results *results, struct sheet *sheet)
{
    const struct sheet *sheets[] = {sheet};

    int error;

    if (lab_print_for_programs(&options->lab, "mmap", sheets, 1, &error))
        return error;
    lab_print_machine();
    mmap_print_post(results);
    puts("");
    sheet_print(sheet);
    mmap_print_bug(results);
    if (options->lab.explain)
        mmap_explain(results);
    return 0;
}

/* A group of bars for each program, a bar for each kernel. */
static int draw(const struct mmap_options *options, const struct mmap_results *results,
                char *problem, size_t problem_bytes)
{
    struct sheet sheet = sheet_new("picture", NULL);
    struct sheet_picture picture = {
        .sheet = &sheet, .first = 1, .unit = "ns for a map and its unmap", .is_log_scale = true};

    mmap_picture(results, &sheet);
    int error = sheet_is_whole(&sheet)
                    ? sheet_draw(&picture, options->lab.plot_path, problem, problem_bytes)
                    : -ENOMEM;

    sheet_free(&sheet);
    return error;
}

static int run(struct mmap_options *options)
{
    static struct mmap_results results;
    struct sheet sheet = sheet_new("programs", NULL);
    char *problem = options->lab.line.problem;
    size_t problem_bytes = sizeof(options->lab.line.problem);

    results.options = options;
    int error = measure(&results, problem, problem_bytes);

    if (error == 0 && !mmap_sheet(&results, &sheet))
        error = -ENOMEM;
    if (error == 0)
        error = print(options, &results, &sheet);
    if (error == 0 && options->lab.plot_path != NULL)
        error = draw(options, &results, problem, problem_bytes);
    close_rows(&results);
    sheet_free(&sheet);
    return error;
}

int cmd_mmap(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table, .parser = parse_option, .doc = documentation};
    struct mmap_options options = {.lab = {.line = {.command = "forklab mmap"}}};
    int status;

    if (!command_line_parse(&argp, argc, argv, &options.lab.line, &status))
        return status;
    lab_default_kernels(&options.lab, DEFAULT_KERNELS);
    if (options.outer == 0)
        options.outer = options.lab.quick ? QUICK_OUTER : DEFAULT_OUTER;
    options.lab.rounds = options.outer;
    if (lab_check_plot(&options.lab) != 0)
        return command_line_fail(&options.lab.line, EXIT_STATUS_USAGE);
    int error = run(&options);

    return lab_status(&options.lab, error);
}
