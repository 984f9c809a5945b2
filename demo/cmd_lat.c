/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forklab lat: the tests of lmbench that concern memory, for find_vma's caches.
 *
 * Each round makes a machine for every kernel anew, in random order; within it, the kernels take
 * turns test by test, after a turn that does not count. One machine for all rounds would not do: it
 * is up to two per cent faster or slower than its like while it lives, most likely by where
 * its memory lies, and an interval over rounds never sees that. `--control` compares a kernel with
 * itself: what it tells apart is the method's error.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/commands.h"
#include "demo/host_probe.h"
#include "demo/lat_report.h"

#define MEGABYTE ((uint64_t)1 << 20)

enum { DEFAULT_ROUNDS = 21, QUICK_ROUNDS = 5, QUICK_SIZES = 6 };

enum lat_key { KEY_CONTROL = LAB_KEY_OWN };

#define DEFAULT_KERNELS "2.6.28,2.6.28-find_vma"

/* clang-format off */
static const struct argp_option option_table[] = {
    LAB_OPTIONS,
    {"control", KEY_CONTROL, NULL, 0,
     "Compare the first kernel with itself, in place of the second: what differs then is noise", 1},
    OPTION_HELP,
    {0},
};
/* clang-format on */

static const char documentation[] =
    "lmbench's latencies that concern memory, on the kernels of \"[PATCH 2.6.28 1/2] memory: "
    "improve "
    "find_vma\" (January 2009): with a cache of the mapping found last, and with one that asks its "
    "neighbours, too; and how many lookups each of them answers."
    "\vExamples:\n"
    "  forklab lat\n"
    "  forklab lat --kernels 2.6.28,2.6.28-find_vma,4.x,modern --explain\n"
    "  forklab lat --control --explain\n"
    "  forklab lat --quick --json";

/* NOLINTNEXTLINE(readability-non-const-parameter): argp has it so */
static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct lat_options *options = state->input;

    if (key == KEY_CONTROL) {
        options->control = true;
        return 0;
    }
    return lab_parse(key, argument, &options->lab);
}

/* --- measuring --- */

struct session {
    struct lat_results *results;
    struct lat_bench *benches[LAB_MOST_KERNELS];
    char *problem;
    size_t problem_bytes;
};

static void add_lines(struct lat_results *results)
{
    static const enum lat_test tests[] = {LAT_PROTECTION, LAT_FORK_EXIT, LAT_FORK_EXEC,
                                          LAT_FORK_SHELL, LAT_PAGE_FAULT};
    unsigned sizes = results->options->lab.quick ? QUICK_SIZES : 12;

    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
        results->lines[results->line_count++].test = tests[i];
    for (unsigned i = 0; i < sizes; i++) {
        struct lat_line *line = &results->lines[results->line_count++];

        line->test = LAT_MAPPING;
        line->bytes = MEGABYTE / 2 << i;
    }
}

static int host_sample(const struct lat_line *line, double *ns, char *problem, size_t problem_bytes)
{
    struct probe_request request = {
        .name = "lat", .count = 2, .numbers = {(uint64_t)line->test, line->bytes}};

    return host_probe_run(&request, ns, 1, problem, problem_bytes);
}

static int kernel_sample(struct session *session, const struct lat_line *line, size_t column,
                         struct lat_sample *sample)
{
    int error = lat_bench_run(session->benches[column], line->test, line->bytes, sample);

    if (error != 0)
        (void)snprintf(session->problem, session->problem_bytes, "%s: test %d of %llu bytes: %s",
                       lat_column_name(session->results, column), (int)line->test,
                       (unsigned long long)line->bytes, strerror(-error));
    return error;
}

/* `round` 0 does not count. */
static int take_sample(struct session *session, struct lat_line *line, size_t column, size_t round)
{
    struct lat_series *series = &line->series[column];
    struct lat_sample sample = {0};
    int error = column < session->results->options->lab.kernel_count
                    ? kernel_sample(session, line, column, &sample)
                    : host_sample(line, &sample.ns, session->problem, session->problem_bytes);

    if (error != 0 || round == 0)
        return error;
    series->ns[round - 1] = sample.ns;
    for (unsigned i = 0; i < EVENT_COUNT; i++)
        series->counts[i] += sample.counts[i] / (double)session->results->rounds;
    return 0;
}

/* A turn of every column. */
static int take_turns(struct session *session, size_t line, const uint32_t *order, size_t round)
{
    struct lat_results *results = session->results;
    int error = 0;

    for (size_t i = 0; error == 0 && i < results->column_count; i++)
        error = take_sample(session, &results->lines[line], order[i], round);
    return error;
}

/* The first turns do not count. */
static int measure_line(struct session *session, size_t line, size_t round)
{
    uint32_t order[LAT_MOST_COLUMNS];

    lab_order(order, session->results->column_count, round * LAT_MOST_LINES + line);
    int error = take_turns(session, line, order, 0);

    return error != 0 ? error : take_turns(session, line, order, round);
}

static void close_machines(struct session *session)
{
    for (size_t i = 0; i < LAB_MOST_KERNELS; i++) {
        if (session->benches[i] != NULL)
            lat_bench_destroy(session->benches[i]);
        session->benches[i] = NULL;
    }
}

static int open_machines(struct session *session, size_t round)
{
    const struct lab_options *lab = &session->results->options->lab;
    uint32_t order[LAB_MOST_KERNELS];
    int error = 0;

    lab_order(order, lab->kernel_count, round);
    for (size_t i = 0; i < lab->kernel_count && error == 0; i++)
        error = lat_bench_create(&session->benches[order[i]], lab->kernels[order[i]],
                                 session->problem, session->problem_bytes);
    return error;
}

/* `round` counts from 1. */
static int measure_round(struct session *session, size_t round)
{
    int error = open_machines(session, round);

    for (size_t i = 0; i < session->results->line_count && error == 0; i++)
        error = measure_line(session, i, round);
    close_machines(session);
    return error;
}

static int make_room(struct lat_results *results)
{
    for (size_t i = 0; i < results->line_count; i++) {
        for (size_t column = 0; column < results->column_count; column++) {
            double *ns = calloc(results->rounds, sizeof(*ns));

            if (ns == NULL)
                return -ENOMEM;
            results->lines[i].series[column].ns = ns;
        }
    }
    return 0;
}

static int measure(struct session *session)
{
    int error = make_room(session->results);

    for (size_t round = 1; error == 0 && round <= session->results->rounds; round++)
        error = measure_round(session, round);
    return error;
}

static void close_session(struct session *session)
{
    for (size_t i = 0; i < session->results->line_count; i++) {
        for (size_t column = 0; column < LAT_MOST_COLUMNS; column++)
            free(session->results->lines[i].series[column].ns);
    }
}

/* --- printing --- */

static void print_columns(const struct lat_results *results)
{
    printf("test : ");
    for (size_t i = 0; i < results->column_count; i++)
        printf("%s%s", i > 0 ? " / " : "", lat_column_name(results, i));
    puts("");
}

static int print_text(const struct lat_results *results, const struct lat_sheets *sheets)
{
    lab_print_machine();
    print_columns(results);
    if (!lat_print_post(results))
        return -ENOMEM;
    puts("");
    sheet_print(&sheets->tests);
    puts("times in microseconds; lookups, hits and steps of one operation, in the first two "
         "columns;\n"
         "those of page faults are of a mapping's pages together, the time is of one.\n"
         "hits: lookups that a cache answered.\n");
    sheet_print(&sheets->caches);
    puts("one operation of each test; mean of tests: of their shares, however many lookups each "
         "has.");
    if (!results->options->lab.explain)
        return 0;
    puts("");
    sheet_print(&sheets->series);
    puts("min, p90: the shortest, and what nine rounds of ten do not exceed.");
    return lat_explain(results) ? 0 : -ENOMEM;
}

static int print(struct lat_options *options, const struct lat_results *results,
                 const struct lat_sheets *sheets)
{
    const struct sheet *const all[] = {&sheets->tests, &sheets->caches, &sheets->series};
    int error;

    if (lab_print_for_programs(&options->lab, "lat", all, sizeof(all) / sizeof(all[0]), &error))
        return error;
    return print_text(results, sheets);
}

static int give_out(struct lat_options *options, const struct lat_results *results)
{
    struct command_line *line = &options->lab.line;
    struct lat_sheets sheets;
    int error = lat_fill(results, &sheets) ? print(options, results, &sheets) : -ENOMEM;

    if (error == 0 && options->lab.plot_path != NULL) {
        struct sheet_picture picture = {.sheet = &sheets.caches, .first = 6, .unit = "per cent"};

        error = sheet_draw(&picture, options->lab.plot_path, line->problem, sizeof(line->problem));
    }
    lat_free(&sheets);
    return error;
}

static int run(struct lat_options *options)
{
    static struct lat_results results;
    struct session session = {.results = &results,
                              .problem = options->lab.line.problem,
                              .problem_bytes = sizeof(options->lab.line.problem)};

    results.options = options;
    results.rounds = (size_t)options->lab.rounds;
    results.column_count = options->lab.kernel_count + !options->lab.no_host;
    add_lines(&results);
    int error = measure(&session);

    if (error == 0)
        error = give_out(options, &results);
    close_session(&session);
    return error;
}

/* The first kernel twice. */
static void choose_kernels(struct lat_options *options)
{
    lab_default_kernels(&options->lab, DEFAULT_KERNELS);
    if (!options->control)
        return;
    options->lab.kernel_count = 2;
    options->lab.kernels[1] = options->lab.kernels[0];
    (void)snprintf(options->control_name, sizeof(options->control_name), "%s again",
                   options->lab.kernels[0]->name);
}

int cmd_lat(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table, .parser = parse_option, .doc = documentation};
    struct lat_options options = {.lab = {.line = {.command = "forklab lat"}}};
    int status;

    if (!command_line_parse(&argp, argc, argv, &options.lab.line, &status))
        return status;
    choose_kernels(&options);
    if (options.lab.rounds == 0)
        options.lab.rounds = options.lab.quick ? QUICK_ROUNDS : DEFAULT_ROUNDS;
    if (lab_check_plot(&options.lab) != 0)
        return command_line_fail(&options.lab.line, EXIT_STATUS_USAGE);
    int error = run(&options);

    return lab_status(&options.lab, error);
}
