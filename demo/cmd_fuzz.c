/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forklab fuzz: random operations on an emulated kernel, compared with something that should know.
 *
 * Exit status: 0 when nothing differed; 1 when something did, and then the shortened scenario is
 * printed, or written to a file; 2 when it was asked for what cannot be.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "demo/commands.h"
#include "demo/options.h"
#include "scenario/fuzz.h"

enum {
    KEY_OPS = 'n',
    KEY_SEED = 's',
    KEY_TASKS = 't',
    KEY_KERNEL = 'k',
    KEY_QUIET = 'q',
    KEY_OUTPUT = 'o',
    KEY_AGAINST = 'a',
    KEY_MMU = 0x100,
    KEY_GEOMETRY,
    KEY_CHECKS,
    KEY_LOW_MEMORY,
    KEY_RAM,
    KEY_EPISODE,
};

enum { DEFAULT_OPERATIONS = 100000, DEFAULT_TASKS = 8, DEFAULT_EPISODE = 1000 };
enum { MOST_TASKS = 32, LEAST_EPISODE = 1, MOST_EPISODE = 100000 };

#define LEAST_RAM_BYTES ((uint64_t)256 << 10)
#define MOST_RAM_BYTES ((uint64_t)1 << 40)

struct fuzz_command {
    struct command_line line; /* first */
    struct fuzz_options options;
    const char *output; /* NULL: standard output */
    bool quiet;
};

/* By enum fuzz_against. */
static const char *const against_names[] = {
    [AGAINST_NOTHING] = "nothing", [AGAINST_MODEL] = "model",   [AGAINST_HOST] = "host",
    [AGAINST_SOFT] = "soft",       [AGAINST_COPIED] = "copied",
};

enum { AGAINST_COUNT = sizeof(against_names) / sizeof(against_names[0]) };

#define AGAINST_TEXT                                                                               \
    "What to compare with: the flat model, the real kernel, the soft MMU, the sister kernel that " \
    "copies tables, or nothing (default: model)"

/* clang-format off */
static const struct argp_option option_table[] = {
    {"ops", KEY_OPS, "N", 0, "Operations to perform (default: 100000)", 0},
    {"seed", KEY_SEED, "N", 0, "The same operations for a seed everywhere (default: 1)", 0},
    {"tasks", KEY_TASKS, "N", 0, "Tasks at once, 1 to 32 (default: 8)", 0},
    {"episode", KEY_EPISODE, "N", 0, "Operations before all begins anew (default: 1000)", 0},
    {"kernel", KEY_KERNEL, "NAME", 0, "The kernel (default: modern-shared)", 0},
    {"mmu", KEY_MMU, "host|soft", 0, "Real faults, or a walk of the tables (default: soft)", 0},
    {"geometry", KEY_GEOMETRY, "NAME", 0, "x86-64, i386 or tiny (default: x86-64)", 0},
    {"ram", KEY_RAM, "SIZE", 0, "Memory of the emulated machine (default: 1G; little: 2M)", 0},
    {"against", KEY_AGAINST, "WHAT", 0, AGAINST_TEXT, 0},
    {"checks", KEY_CHECKS, NULL, 0, "Check every invariant after every operation", 0},
    {"low-memory", KEY_LOW_MEMORY, NULL, 0, "So little RAM that memory runs out", 0},
    {"quiet", KEY_QUIET, NULL, 0, "Only what went wrong", 0},
    {"output", KEY_OUTPUT, "FILE", 0, "Where the scenario goes (default: standard output)", 0},
    OPTION_HELP,
    {0},
};
/* clang-format on */

static const char documentation[] =
    "Performs random operations, in episodes of a thousand, on an emulated kernel and on "
    "something that should know what comes of them, and compares every answer, what is mapped and "
    "what memory holds. The first difference is shortened and printed as a scenario. Ends with 0 "
    "when there was none, 1 when there was one, 2 when it was asked for what cannot be."
    "\vExample: forklab fuzz --ops 1000000 --seed 7 --against copied --mmu soft";

/* --- options --- */

static error_t take_number(struct fuzz_command *command, const char *option, const char *text,
                           uint64_t most, uint64_t *number)
{
    if (parse_number(text, 1, most, number))
        return 0;
    return command_line_refuse(&command->line,
                               "--%s %.60s: it must be a whole number from 1 to %llu", option, text,
                               (unsigned long long)most);
}

static error_t take_kernel(struct fuzz_command *command, const char *name)
{
    char names[200] = "";
    size_t length = 0;

    command->options.machine.kernel = kernel_find(name);
    if (command->options.machine.kernel != NULL)
        return 0;
    for (size_t i = 0; i < kernel_count && length < sizeof(names); i++)
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
                                   i > 0 ? ", " : "", kernels[i].name);
    return command_line_refuse(
        &command->line, "--kernel %.60s: there is no such kernel; it is one of %s", name, names);
}

static error_t take_mmu(struct fuzz_command *command, const char *name)
{
    command->options.machine.mmu = strcmp(name, "soft") == 0 ? MMU_SOFT : MMU_HOST;
    if (command->options.machine.mmu == MMU_SOFT || strcmp(name, "host") == 0)
        return 0;
    return command_line_refuse(&command->line, "--mmu %.60s: it must be host or soft", name);
}

static error_t take_geometry(struct fuzz_command *command, const char *name)
{
    command->options.machine.geometry = geometry_find(name);
    if (command->options.machine.geometry != NULL)
        return 0;
    return command_line_refuse(&command->line, "--geometry %.60s: it must be x86-64, i386 or tiny",
                               name);
}

static error_t take_ram(struct fuzz_command *command, const char *text)
{
    uint64_t *bytes = &command->options.machine.ram_bytes;

    if (parse_size(text, bytes) && *bytes >= LEAST_RAM_BYTES && *bytes <= MOST_RAM_BYTES)
        return 0;
    return command_line_refuse(
        &command->line, "--ram %.60s: it must be a size from 256K to 1024G, such as 64M", text);
}

static error_t take_against(struct fuzz_command *command, const char *name)
{
    for (unsigned i = 0; i < AGAINST_COUNT; i++) {
        if (strcmp(name, against_names[i]) != 0)
            continue;
        command->options.against = i;
        return 0;
    }
    return command_line_refuse(
        &command->line, "--against %.60s: it must be model, host, soft, copied or nothing", name);
}

static error_t take_seed(struct fuzz_command *command, const char *text)
{
    if (parse_number(text, 0, UINT64_MAX, &command->options.seed))
        return 0;
    return command_line_refuse(&command->line, "--seed %.60s: it must be a whole number", text);
}

/* Is the kernel meant to answer as a real one of today? */
static bool follows_today(const struct kernel *kernel)
{
    return kernel->linux_version == kernel_find("modern")->linux_version;
}

/* What cannot be had together. */
static error_t check_options(struct fuzz_command *command)
{
    const struct fuzz_options *options = &command->options;
    const struct geometry *geometry = options->machine.geometry;

    if (options->low_memory && options->against != AGAINST_MODEL &&
        options->against != AGAINST_NOTHING)
        return command_line_refuse(&command->line,
                                   "--low-memory --against %s: two machines run out of memory at "
                                   "different times; compare each with --against model",
                                   against_names[options->against]);
    if (options->against == AGAINST_HOST && geometry != NULL && geometry != &geometry_x86_64)
        return command_line_refuse(&command->line,
                                   "--geometry %s --against host: the real kernel is x86-64",
                                   geometry->name);
    if (options->against == AGAINST_HOST && !follows_today(options->machine.kernel))
        return command_line_refuse(&command->line,
                                   "--kernel %s --against host: the real kernel below answers as "
                                   "today's do; compare it with --against model",
                                   options->machine.kernel->name);
    return 0;
}

static error_t parse_count(int key, const char *argument, struct fuzz_command *command)
{
    uint64_t number = 0;
    error_t error = 0;

    switch (key) {
    case KEY_OPS:
        return take_number(command, "ops", argument, UINT64_MAX, &command->options.operations);
    case KEY_TASKS:
        error = take_number(command, "tasks", argument, MOST_TASKS, &number);
        command->options.tasks = (unsigned)number;
        return error;
    default:
        error = take_number(command, "episode", argument, MOST_EPISODE, &number);
        command->options.episode = (unsigned)number;
        return error;
    }
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct fuzz_command *command = state->input;

    switch (key) {
    case KEY_OPS:
    case KEY_TASKS:
    case KEY_EPISODE:
        return parse_count(key, argument, command);
    case KEY_SEED:
        return take_seed(command, argument);
    case KEY_KERNEL:
        return take_kernel(command, argument);
    case KEY_MMU:
        return take_mmu(command, argument);
    case KEY_GEOMETRY:
        return take_geometry(command, argument);
    case KEY_RAM:
        return take_ram(command, argument);
    case KEY_AGAINST:
        return take_against(command, argument);
    case KEY_CHECKS:
        command->options.checks = true;
        return 0;
    case KEY_LOW_MEMORY:
        command->options.low_memory = true;
        return 0;
    case KEY_QUIET:
        command->quiet = true;
        return 0;
    case KEY_OUTPUT:
        command->output = argument;
        return 0;
    case ARGP_KEY_END:
        return check_options(command);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --- the report --- */

/* The command that finds the same again: the episode alone, by its seed. */
static void print_command(const struct fuzz_command *command, const struct fuzz_result *result,
                          FILE *stream)
{
    const struct fuzz_options *options = &command->options;
    const struct machine_options *machine = &options->machine;

    fprintf(stream,
            "# forklab fuzz --ops %u --episode %u --seed %llu --tasks %u --kernel %s --mmu %s "
            "--against %s",
            options->episode, options->episode, (unsigned long long)result->episode_seed,
            options->tasks, machine->kernel->name, machine->mmu == MMU_SOFT ? "soft" : "host",
            against_names[options->against]);
    if (machine->geometry != NULL)
        fprintf(stream, " --geometry %s", machine->geometry->name);
    if (machine->ram_bytes != 0)
        fprintf(stream, " --ram %llu", (unsigned long long)machine->ram_bytes);
    if (options->low_memory)
        fputs(" --low-memory", stream);
    if (options->checks)
        fputs(" --checks", stream);
    fputc('\n', stream);
}

/* How to see it without the other side. The real kernel's address spaces are those of the host
 * MMU. */
static void print_run_command(const struct fuzz_command *command, const struct fuzz_result *result,
                              FILE *stream)
{
    const struct fuzz_options *options = &command->options;
    const struct machine_options *machine = &options->machine;
    bool is_soft = machine->mmu == MMU_SOFT && options->against != AGAINST_HOST;

    fprintf(stream, "# forklab run --kernel %s --mmu %s", machine->kernel->name,
            is_soft ? "soft" : "host");
    if (machine->geometry != NULL)
        fprintf(stream, " --geometry %s", machine->geometry->name);
    if (machine->ram_bytes != 0)
        fprintf(stream, " --ram %llu", (unsigned long long)machine->ram_bytes);
    else if (options->low_memory)
        fputs(" --ram 2M", stream);
    if (result->no_zero_page)
        fputs(" --no-zero-page", stream);
    fputs(" FILE\n", stream);
}

static void print_scenario(const struct fuzz_command *command, const struct fuzz_result *result,
                           FILE *stream)
{
    print_command(command, result, stream);
    print_run_command(command, result, stream);
    fprintf(stream, "# %s\n", result->why);
    fuzz_write(&command->options, &result->scenario, stream);
}

/* 0, or the errno of the file that could not be written. */
static int write_scenario(const struct fuzz_command *command, const struct fuzz_result *result)
{
    if (command->output == NULL) {
        print_scenario(command, result, stdout);
        return 0;
    }
    FILE *stream = fopen(command->output, "we");

    if (stream == NULL)
        return errno;
    print_scenario(command, result, stream);
    return fclose(stream) == 0 ? 0 : errno;
}

static int report_difference(struct fuzz_command *command, const struct fuzz_result *result)
{
    int error = write_scenario(command, result);

    if (error != 0)
        command_line_refuse(&command->line, "%.200s: %s", command->output, strerror(error));
    else
        command_line_refuse(&command->line, "a difference: %.300s", result->why);
    return command_line_fail(&command->line, EXIT_STATUS_FAILED);
}

static double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void print_totals(const struct fuzz_command *command, const struct fuzz_result *result,
                         double seconds)
{
    if (command->options.progress != NULL)
        fputs("\r\033[K", command->options.progress);
    if (command->quiet)
        return;
    /* Before a scenario on standard output it is a comment of that. */
    if (result->diverged && command->output == NULL)
        fputs("# ", stdout);
    printf("%llu operation%s in %llu episode%s against %s, %.1f seconds, %.0f operations a second: "
           "%s\n",
           (unsigned long long)result->operations, result->operations == 1 ? "" : "s",
           (unsigned long long)result->episodes, result->episodes == 1 ? "" : "s",
           against_names[command->options.against], seconds,
           seconds > 0 ? (double)result->operations / seconds : 0,
           result->diverged ? "a difference" : "no difference");
}

int cmd_fuzz(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table, .parser = parse_option, .doc = documentation};
    struct fuzz_command command = {
        .line = {.command = "forklab fuzz"},
        .options = {.operations = DEFAULT_OPERATIONS,
                    .seed = 1,
                    .tasks = DEFAULT_TASKS,
                    .episode = DEFAULT_EPISODE,
                    .against = AGAINST_MODEL,
                    .machine = {.kernel = kernel_find("modern-shared"), .mmu = MMU_SOFT}}};
    struct fuzz_result result;
    int status;

    if (!command_line_parse(&argp, argc, argv, &command.line, &status))
        return status;
    if (!command.quiet && isatty(STDERR_FILENO))
        command.options.progress = stderr;
    double began = now_seconds();
    int error = fuzz_run(&command.options, &result);

    if (error != 0) {
        command_line_refuse(&command.line, "%.300s", result.why);
        return command_line_fail(&command.line,
                                 error == -EINVAL ? EXIT_STATUS_USAGE : EXIT_STATUS_FAILED);
    }
    print_totals(&command, &result, now_seconds() - began);
    status = result.diverged ? report_difference(&command, &result) : 0;
    scenario_free(&result.scenario);
    return status;
}
