/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forklab lat: the tests of lmbench that concern memory, for find_vma's caches. Kernels take turns,
 * test by test, in random order, after a round that does not count.
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

#define DEFAULT_KERNELS "2.6.28,2.6.28-find_vma"

/* clang-format off */
static const struct argp_option option_table[] = {
    LAB_OPTIONS,
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
    "  forklab lat --quick --json";

/* NOLINTNEXTLINE(readability-non-const-parameter): argp has it so */
static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct lat_options *options = state->input;

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

static int measure_line(struct session *session, struct lat_line *line)
{
    const struct lat_results *results = session->results;
    int error = 0;

    for (size_t column = 0; column < results->column_count; column++) {
        line->series[column].ns = calloc(results->rounds, sizeof(double));
        if (line->series[column].ns == NULL)
            return -ENOMEM;
    }
    for (size_t round = 0; error == 0 && round <= results->rounds; round++) {
        uint32_t order[LAT_MOST_COLUMNS];

        lab_order(order, results->column_count, round);
        for (size_t i = 0; error == 0 && i < results->column_count; i++)
            error = take_sample(session, line, order[i], round);
    }
    return error;
}

static int measure(struct session *session)
{
    struct lat_results *results = session->results;
    const struct lab_options *lab = &results->options->lab;
    int error = 0;

    for (size_t i = 0; i < lab->kernel_count && error == 0; i++)
        error = lat_bench_create(&session->benches[i], lab->kernels[i], session->problem,
                                 session->problem_bytes);
    for (size_t i = 0; i < results->line_count && error == 0; i++)
        error = measure_line(session, &results->lines[i]);
    return error;
}

static void close_session(struct session *session)
{
    for (size_t i = 0; i < LAB_MOST_KERNELS; i++) {
        if (session->benches[i] != NULL)
            lat_bench_destroy(session->benches[i]);
    }
    for (size_t i = 0; i < session->results->line_count; i++) {
        for (size_t column = 0; column < LAT_MOST_COLUMNS; column++)
            free(session->results->lines[i].series[column].ns);
    }
}

/* --- printing --- */

static int print(struct lat_options *options, const struct lat_results *results,
                 const struct sheet *tests, const struct sheet *caches)
{
    const struct sheet *sheets[] = {tests, caches};

    int error;

    if (lab_print_for_programs(&options->lab, "lat", sheets, 2, &error))
        return error;
    lab_print_machine();
    printf("test : ");
    for (size_t i = 0; i < results->column_count; i++)
        printf("%s%s", i > 0 ? " / " : "", lat_column_name(results, i));
    puts("");
    if (!lat_print_post(results))
        return -ENOMEM;
    puts("");
    sheet_print(tests);
    puts("times in microseconds; lookups, hits and steps of one operation, in the first two "
         "columns.\n"
         "hits: lookups that a cache answered.\n");
    sheet_print(caches);
    puts("one operation of each test; mean of tests: of their shares, however many lookups each "
         "has.");
    return !options->lab.explain || lat_explain(results) ? 0 : -ENOMEM;
}

static int run(struct lat_options *options)
{
    static struct lat_results results;
    struct sheet tests = sheet_new("tests", NULL);
    struct sheet caches = sheet_new("caches", NULL);
    char *problem = options->lab.line.problem;
    size_t problem_bytes = sizeof(options->lab.line.problem);
    struct session session = {
        .results = &results, .problem = problem, .problem_bytes = problem_bytes};

    results.options = options;
    results.rounds = (size_t)options->lab.rounds;
    results.column_count = options->lab.kernel_count + !options->lab.no_host;
    add_lines(&results);
    int error = measure(&session);

    if (error == 0 && (!lat_sheet(&results, &tests) || !lat_cache_sheet(&results, &caches)))
        error = -ENOMEM;
    if (error == 0)
        error = print(options, &results, &tests, &caches);
    if (error == 0 && options->lab.plot_path != NULL) {
        struct sheet_picture picture = {.sheet = &caches, .first = 6, .unit = "per cent"};

        error = sheet_draw(&picture, options->lab.plot_path, problem, problem_bytes);
    }
    close_session(&session);
    sheet_free(&tests);
    sheet_free(&caches);
    return error;
}

int cmd_lat(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table, .parser = parse_option, .doc = documentation};
    struct lat_options options = {.lab = {.line = {.command = "forklab lat"}}};
    int status;

    if (!command_line_parse(&argp, argc, argv, &options.lab.line, &status))
        return status;
    lab_default_kernels(&options.lab, DEFAULT_KERNELS);
    if (options.lab.rounds == 0)
        options.lab.rounds = options.lab.quick ? QUICK_ROUNDS : DEFAULT_ROUNDS;
    if (lab_check_plot(&options.lab) != 0)
        return command_line_fail(&options.lab.line, EXIT_STATUS_USAGE);
    int error = run(&options);

    return lab_status(&options.lab, error);
}
