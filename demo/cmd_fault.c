/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forklab fault: what one page fault costs, beside its bare floor in the same run.
 *
 * Emulator and floor take turns, sample by sample, in random order, so that a drift of the host
 * hits both alike, and are compared pair by pair. A pair whose fault was not what its case is about
 * is taken again; the first ones always are, since a window that was never used has no frames yet.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/commands.h"
#include "demo/fault_report.h"
#include "demo/host_fault_floor.h"
#include "demo/options.h"
#include "pt/random.h"

enum {
    DEFAULT_ROUNDS = 1000,
    QUICK_ROUNDS = 100,
    MOST_ROUNDS = 1000000,
    DEFAULT_MAP_AHEAD = 16,
    MOST_MAP_AHEAD = 512,
    ROUNDS_A_WALK = 100, /* one sample of a walk is ten thousand pages */
    LEAST_WALKS = 3,
    WARM_UP_ROUNDS = 5,
    SPARE_TRIES = 20,
};

struct fault_options {
    struct command_line line; /* first */
    const struct kernel *kernel;
    uint64_t rounds; /* 0: not given */
    uint64_t map_ahead_pages;
    enum fault_format format;
    bool quick;
};

enum {
    KEY_ROUNDS = 'r',
    KEY_KERNEL = 'k',
    KEY_MAP_AHEAD = 'a',
    KEY_QUICK = 'q',
    KEY_JSON = 0x100,
    KEY_CSV,
};

#define ROUNDS_TEXT "Samples of each case (default: 1000); of sequential-*, one for 100"
#define KERNEL_TEXT "The kernel (default: modern-shared; see forklab kernels)"

/* clang-format off */
static const struct argp_option option_table[] = {
    {"rounds", KEY_ROUNDS, "N", 0, ROUNDS_TEXT, 0},
    {"kernel", KEY_KERNEL, "NAME", 0, KERNEL_TEXT, 0},
    {"map-ahead", KEY_MAP_AHEAD, "N", 0, "Pages installed at once, at most (default: 16)", 0},
    {"quick", KEY_QUICK, NULL, 0, "Only 100 samples of each case", 0},
    {"json", KEY_JSON, NULL, 0, "One JSON object", 0},
    {"csv", KEY_CSV, NULL, 0, "Comma-separated values", 0},
    OPTION_HELP,
    {0},
};
/* clang-format on */

static const char documentation[] =
    "What one page fault costs in an emulated kernel, beside its floor in the same run: the same "
    "call to the host and the same 4 KiB copied or cleared, through libsigsegv, with no emulator "
    "behind them. The walks over 40M are set beside the host kernel's own faults."
    "\vExample: forklab fault --kernel 2.5.41-mm2-shared --map-ahead 64";

/* --- options --- */

static error_t take_kernel(struct fault_options *options, const char *name)
{
    options->kernel = kernel_find(name);
    if (options->kernel != NULL)
        return 0;
    char names[200] = "";
    size_t length = 0;

    for (size_t i = 0; i < kernel_count && length < sizeof(names); i++)
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
                                   i > 0 ? ", " : "", kernels[i].name);
    return command_line_refuse(&options->line,
                               "--kernel %.60s: there is no such kernel; it is one "
                               "of %s",
                               name, names);
}

static error_t take_number(struct fault_options *options, const char *option, const char *text,
                           uint64_t most, uint64_t *number)
{
    if (parse_number(text, 1, most, number))
        return 0;
    return command_line_refuse(&options->line, "%s %.60s: it must be a whole number from 1 to %llu",
                               option, text, (unsigned long long)most);
}

static error_t take_format(struct fault_options *options, enum fault_format format)
{
    if (options->format != FORMAT_TABLE && options->format != format)
        return command_line_refuse(&options->line,
                                   "--json and --csv exclude each other; give one of them");
    options->format = format;
    return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct fault_options *options = state->input;

    switch (key) {
    case KEY_ROUNDS:
        return take_number(options, "--rounds", argument, MOST_ROUNDS, &options->rounds);
    case KEY_MAP_AHEAD:
        return take_number(options, "--map-ahead", argument, MOST_MAP_AHEAD,
                           &options->map_ahead_pages);
    case KEY_KERNEL:
        return take_kernel(options, argument);
    case KEY_JSON:
        return take_format(options, FORMAT_JSON);
    case KEY_CSV:
        return take_format(options, FORMAT_CSV);
    case KEY_QUICK:
        options->quick = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --- measuring --- */

struct session {
    struct fault_options *options;
    struct fault_bench *bench;
    struct fault_floor *floor;
    struct random random;
};

/* The emulator and the floor, in random order. */
static int sample_pair(struct session *session, enum fault_case which, struct fault_sample *sample,
                       double *floor_ns)
{
    bool floor_first = random_below(&session->random, 2) == 0;
    int error = floor_first ? fault_floor_sample(session->floor, which, floor_ns) : 0;

    if (error != 0)
        return error;
    int outcome = fault_bench_sample(session->bench, which, sample);

    if (outcome != 0 && outcome != -EAGAIN)
        return outcome;
    if (!floor_first)
        error = fault_floor_sample(session->floor, which, floor_ns);
    return error != 0 ? error : outcome;
}

static size_t samples_of(const struct session *session, enum fault_case which)
{
    size_t rounds = session->options->rounds;

    if (!fault_case_exists(which, session->options->kernel))
        return 0;
    if (!fault_case_is_sequential(which))
        return rounds;
    return rounds / ROUNDS_A_WALK > LEAST_WALKS ? rounds / ROUNDS_A_WALK : LEAST_WALKS;
}

static int allocate_series(struct fault_series *series, size_t count)
{
    series->total_ns = calloc(count, sizeof(*series->total_ns));
    series->kernel_ns = calloc(count, sizeof(*series->kernel_ns));
    series->floor_ns = calloc(count, sizeof(*series->floor_ns));
    if (series->total_ns == NULL || series->kernel_ns == NULL || series->floor_ns == NULL)
        return -ENOMEM;
    return 0;
}

static void free_results(struct fault_results *results)
{
    for (unsigned i = 0; i < CASE_COUNT; i++) {
        free(results->series[i].total_ns);
        free(results->series[i].kernel_ns);
        free(results->series[i].floor_ns);
    }
}

static int note_failure(struct session *session, enum fault_case which, int error)
{
    struct command_line *line = &session->options->line;

    if (error == -EAGAIN)
        command_line_refuse(line,
                            "%s: too many faults were not what the case is about; is "
                            "memory short?",
                            fault_case_names[which]);
    else
        command_line_refuse(line, "%s: %s", fault_case_names[which], strerror(-error));
    return error;
}

static int fill_series(struct session *session, enum fault_case which, struct fault_series *series)
{
    size_t wanted = samples_of(session, which);
    size_t warm_up = fault_case_is_sequential(which) ? 1 : WARM_UP_ROUNDS;
    size_t most_tries = 2 * (wanted + warm_up) + SPARE_TRIES;
    int error = wanted > 0 ? allocate_series(series, wanted) : 0;

    for (size_t try = 0; error == 0 && series->count < wanted; try++) {
        struct fault_sample sample;
        double floor_ns;

        error = sample_pair(session, which, &sample, &floor_ns);
        if (error == 0 && try >= warm_up) {
            series->total_ns[series->count] = sample.total_ns;
            series->kernel_ns[series->count] = sample.kernel_ns;
            series->floor_ns[series->count] = floor_ns;
            series->count++;
        }
        if (error == -EAGAIN && try < most_tries)
            error = 0;
    }
    return error != 0 ? note_failure(session, which, error) : 0;
}

static int measure(struct session *session)
{
    const struct fault_options *options = session->options;
    struct fault_results results = {.kernel = options->kernel,
                                    .map_ahead_pages = (unsigned)options->map_ahead_pages,
                                    .rounds = options->rounds};
    int error = 0;

    for (unsigned which = 0; which < CASE_COUNT && error == 0; which++)
        error = fill_series(session, which, &results.series[which]);
    if (error == 0) {
        error = fault_report(&results, options->format);
        if (error != 0)
            command_line_refuse(&session->options->line, "the report: %s", strerror(-error));
    }
    free_results(&results);
    return error;
}

static int run_session(struct fault_options *options)
{
    struct session session = {.options = options, .random = random_seeded(1)};
    char *problem = options->line.problem;
    int error = fault_floor_create(&session.floor, problem, sizeof(options->line.problem));

    if (error != 0)
        return error;
    error = fault_bench_create(&session.bench, options->kernel, (unsigned)options->map_ahead_pages,
                               problem, sizeof(options->line.problem));
    if (error == 0) {
        error = measure(&session);
        fault_bench_destroy(session.bench);
    }
    fault_floor_destroy(session.floor);
    return error;
}

int cmd_fault(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table, .parser = parse_option, .doc = documentation};
    struct fault_options options = {.line = {.command = "forklab fault"},
                                    .kernel = kernel_find("modern-shared"),
                                    .map_ahead_pages = DEFAULT_MAP_AHEAD};
    int status;

    if (!command_line_parse(&argp, argc, argv, &options.line, &status))
        return status;
    if (options.rounds == 0)
        options.rounds = options.quick ? QUICK_ROUNDS : DEFAULT_ROUNDS;
    int error = run_session(&options);

    if (error == 0)
        return 0;
    /* Where the host MMU cannot work at all, it was asked for what cannot be. */
    return command_line_fail(&options.line,
                             error == -ENOTSUP ? EXIT_STATUS_USAGE : EXIT_STATUS_FAILED);
}
