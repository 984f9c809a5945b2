/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forklab fork: the experiment of "Fork timing numbers for shared page tables". All that can be
 * refused is refused before anything is measured or written.
 */
#include "demo/commands.h"
#include "demo/gnuplot.h"
#include "demo/report.h"

#include <errno.h>
#include <string.h>

static int print_report(const struct experiment *experiment)
{
    const struct fork_options *options = experiment->options;

    switch (options->output) {
    case OUTPUT_JSON:
        return report_json(experiment);
    case OUTPUT_CSV:
        report_csv(experiment);
        return 0;
    case OUTPUT_TEXT:
        break;
    }
    report_text(experiment);
    if (options->explain)
        report_explain(experiment);
    return 0;
}

static int measure_and_report(struct experiment *experiment, struct fork_options *options)
{
    char *problem = options->line.problem;
    size_t problem_bytes = sizeof(options->line.problem);
    int error = experiment_run(experiment, options);

    if (error == 0 && print_report(experiment) != 0)
        error = command_line_refuse(&options->line, "memory ran out");
    if (error == 0 && options->plot_path != NULL)
        error = report_plot(experiment, options->plot_path, problem, problem_bytes);
    return error == 0 ? 0 : command_line_fail(&options->line, EXIT_STATUS_FAILED);
}

int cmd_fork(int argc, char **argv)
{
    struct fork_options options;
    struct experiment experiment;
    int status = 0;

    if (!fork_options_parse(&options, argc, argv, &status))
        return status;
    if (options.plot_path != NULL &&
        gnuplot_check(options.plot_path, options.line.problem, sizeof(options.line.problem)) != 0)
        return command_line_fail(&options.line, EXIT_STATUS_USAGE);
    if (experiment_create(&experiment, &options) != 0)
        return command_line_fail(&options.line, EXIT_STATUS_USAGE);
    status = measure_and_report(&experiment, &options);
    experiment_destroy(&experiment);
    return status;
}
