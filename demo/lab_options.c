/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options that several experiments have, and their JSON; lab_options.h has the terms. */
#include "demo/lab_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "demo/describe.h"
#include "demo/gnuplot.h"
#include "pt/random.h"
#include "version.h"

enum { MOST_ROUNDS = 1000000 };

error_t lab_number(struct lab_options *options, const char *option, const char *text,
                   uint64_t least, uint64_t most, uint64_t *number)
{
    if (parse_number(text, least, most, number))
        return 0;
    return command_line_refuse(&options->line,
                               "%s %.60s: it must be a whole number from %llu to %llu", option,
                               text, (unsigned long long)least, (unsigned long long)most);
}

static error_t take_kernel(struct command_line *line, const char *name)
{
    struct lab_options *options = (struct lab_options *)(void *)line;
    const struct kernel *kernel = kernel_find(name);

    if (kernel == NULL)
        return command_line_refuse(
            line, "--kernels %.60s: there is no such kernel; forklab kernels lists them", name);
    for (size_t i = 0; i < options->kernel_count; i++) {
        if (options->kernels[i] == kernel)
            return command_line_refuse(line, "--kernels %.60s: it is named twice", name);
    }
    if (options->kernel_count == LAB_MOST_KERNELS)
        return command_line_refuse(line, "--kernels: no more than %d", LAB_MOST_KERNELS);
    options->kernels[options->kernel_count++] = kernel;
    return 0;
}

static error_t take_format(struct lab_options *options, enum lab_format format)
{
    if (options->format != LAB_TEXT && options->format != format)
        return command_line_refuse(&options->line,
                                   "--json and --csv exclude each other; give one of them");
    options->format = format;
    return 0;
}

error_t lab_parse(int key, char *argument, struct lab_options *options)
{
    switch (key) {
    case LAB_KEY_KERNELS:
        options->kernel_count = 0;
        return parse_list(&options->line, "--kernels", argument, take_kernel);
    case LAB_KEY_ROUNDS:
        return lab_number(options, "--rounds", argument, 1, MOST_ROUNDS, &options->rounds);
    case LAB_KEY_QUICK:
        options->quick = true;
        return 0;
    case LAB_KEY_NO_HOST:
        options->no_host = true;
        return 0;
    case LAB_KEY_EXPLAIN:
        options->explain = true;
        return 0;
    case LAB_KEY_JSON:
        return take_format(options, LAB_JSON);
    case LAB_KEY_CSV:
        return take_format(options, LAB_CSV);
    case LAB_KEY_PLOT:
        options->plot_path = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void lab_default_kernels(struct lab_options *options, const char *list)
{
    if (options->kernel_count == 0)
        (void)parse_list(&options->line, "--kernels", list, take_kernel);
}

void lab_order(uint32_t *order, size_t count, uint64_t round)
{
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    random_shuffle(order, count, round + 1);
}

int lab_check_plot(struct lab_options *options)
{
    if (options->plot_path == NULL)
        return 0;
    return gnuplot_check(options->plot_path, options->line.problem, sizeof(options->line.problem));
}

static int print_json(struct lab_options *options, const char *experiment,
                      const struct sheet *const sheets[], size_t count)
{
    char schema[SHEET_WORD_BYTES];

    (void)snprintf(schema, sizeof(schema), "forklab-%s-1", experiment);
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:o, s:s, s:I}", "schema", schema, "version", FORKLAB_VERSION,
                  "commit", FORKLAB_COMMIT, "machine", describe_machine(), "experiment", experiment,
                  "rounds", (json_int_t)options->rounds);
    int error = object == NULL ? -ENOMEM : 0;

    for (size_t i = 0; error == 0 && i < count; i++)
        error =
            json_object_set_new(object, sheets[i]->key, sheet_json(sheets[i])) != 0 ? -ENOMEM : 0;
    if (error == 0 && json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6)) != 0)
        error = -EIO;
    json_decref(object);
    putchar('\n');
    if (error != 0)
        command_line_refuse(&options->line, "the report: %s", strerror(-error));
    return error;
}

bool lab_print_for_programs(struct lab_options *options, const char *experiment,
                            const struct sheet *const sheets[], size_t count, int *error)
{
    *error = 0;
    if (options->format == LAB_JSON)
        *error = print_json(options, experiment, sheets, count);
    if (options->format == LAB_CSV)
        sheet_print_csv(sheets[0]);
    return options->format != LAB_TEXT;
}

void lab_print_machine(void)
{
    char machine[256];

    describe_machine_line(machine, sizeof(machine));
    printf("%s\n\n", machine);
}

/* Where the host MMU cannot work at all, it was asked for what cannot be. */
int lab_status(struct lab_options *options, int error)
{
    if (error == 0)
        return 0;
    if (options->line.problem[0] == '\0')
        command_line_refuse(&options->line, "%s", strerror(-error));
    return command_line_fail(&options->line,
                             error == -ENOTSUP ? EXIT_STATUS_USAGE : EXIT_STATUS_FAILED);
}
