/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forklab run: a scenario on an emulated kernel, or on the real one below.
 *
 * Exit status: 0 when every expectation held, 1 when one did not, 2 when the file is wrong, 77 when
 * the scenario says that it cannot run here.
 */
#include "demo/cmd_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "demo/commands.h"
#include "scenario/host.h"
#include "scenario/reader.h"

enum {
    KEY_KERNEL = 'k',
    KEY_SEED = 's',
    KEY_QUIET = 'q',
    KEY_TRACE = 't',
    KEY_MMU = 0x100,
    KEY_GEOMETRY,
    KEY_RAM,
    KEY_MAX_MAPS,
    KEY_HOST,
    KEY_JSON,
    KEY_STEP,
    KEY_NO_CHECKS,
    KEY_NO_ZERO_PAGE,
    KEY_GRAMMAR,
};

/* Less is no machine; more is none that we know of. */
enum { LEAST_MAX_MAPS = 4, MOST_MAX_MAPS = 100000000 };

#define LEAST_RAM_BYTES ((uint64_t)256 << 10)
#define MOST_RAM_BYTES ((uint64_t)1 << 40)

#define KERNEL_TEXT "The kernel (default: modern-shared; see forklab kernels)"
#define MMU_TEXT "The MMU: real faults, or a walk of the tables (default: host)"
#define SEED_TEXT "Shuffle the free frames: the same order for a seed everywhere"
#define ZERO_PAGE_TEXT "A first read takes a frame, as in some virtual machines"
#define CHECKS_TEXT "Do not check the machine's invariants after each operation"
#define STEP_TEXT "One operation at a time, showing what it changed; on a terminal"

/* clang-format off */
static const struct argp_option option_table[] = {
    {"kernel", KEY_KERNEL, "NAME", 0, KERNEL_TEXT, 0},
    {"mmu", KEY_MMU, "host|soft", 0, MMU_TEXT, 0},
    {"geometry", KEY_GEOMETRY, "NAME", 0, "x86-64, i386 or tiny (default: x86-64)", 0},
    {"host", KEY_HOST, NULL, 0, "On the real kernel below: a process for each task", 0},
    {"ram", KEY_RAM, "SIZE", 0, "Memory of the emulated machine (default: 1G)", 0},
    {"max-maps", KEY_MAX_MAPS, "N", 0, "Mappings of a task, at most (the kernel's own limit)", 0},
    {"seed", KEY_SEED, "N", 0, SEED_TEXT, 0},
    {"no-zero-page", KEY_NO_ZERO_PAGE, NULL, 0, ZERO_PAGE_TEXT, 0},
    {"quiet", KEY_QUIET, NULL, 0, "Only what went wrong", 0},
    {"trace", KEY_TRACE, NULL, 0, "Each statement, what came of it, and its fault steps", 0},
    {"json", KEY_JSON, NULL, 0, "One JSON object", 0},
    {"step", KEY_STEP, NULL, 0, STEP_TEXT, 0},
    {"no-checks", KEY_NO_CHECKS, NULL, 0, CHECKS_TEXT, 0},
    {"grammar", KEY_GRAMMAR, NULL, 0, "Print what statements there are", 0},
    OPTION_HELP,
    {0},
};
/* clang-format on */

static const char documentation[] =
    "Runs a scenario: statements, one a line, of what tasks do to their memory and of what must "
    "come "
    "of it. FILE may be - for standard input. Ends with 0 when every expectation held, 1 when one "
    "did not, 2 when the file is wrong, 77 when it says that it cannot run here."
    "\vExample: printf 'P mmap A 8K rw private anon\\nP fork C\\nC write A \"hi\"\\nshow "
    "frames\\n' "
    "| forklab run -";

/* --- options --- */

/* Something that only an emulated machine has. */
static error_t take_emulated(struct run_options *options, error_t taken)
{
    options->emulated_only = true;
    return taken;
}

static error_t take_kernel(struct run_options *options, const char *name)
{
    char names[200] = "";
    size_t length = 0;

    options->machine.kernel = kernel_find(name);
    if (options->machine.kernel != NULL)
        return 0;
    for (size_t i = 0; i < kernel_count && length < sizeof(names); i++)
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s",
                                   i > 0 ? ", " : "", kernels[i].name);
    return command_line_refuse(
        &options->line, "--kernel %.60s: there is no such kernel; it is one of %s", name, names);
}

static error_t take_mmu(struct run_options *options, const char *name)
{
    options->machine.mmu = strcmp(name, "soft") == 0 ? MMU_SOFT : MMU_HOST;
    if (options->machine.mmu == MMU_SOFT || strcmp(name, "host") == 0)
        return 0;
    return command_line_refuse(&options->line, "--mmu %.60s: it must be host or soft", name);
}

static error_t take_geometry(struct run_options *options, const char *name)
{
    options->machine.geometry = geometry_find(name);
    if (options->machine.geometry != NULL)
        return 0;
    return command_line_refuse(&options->line, "--geometry %.60s: it must be x86-64, i386 or tiny",
                               name);
}

/* A program, its stack and what a scenario maps first need a few. */
static error_t take_max_maps(struct run_options *options, const char *text)
{
    uint64_t number;

    if (!parse_number(text, LEAST_MAX_MAPS, MOST_MAX_MAPS, &number))
        return command_line_refuse(&options->line,
                                   "--max-maps %.60s: it must be a whole number from %d to %d",
                                   text, LEAST_MAX_MAPS, MOST_MAX_MAPS);
    options->machine.most_vmas = (uint32_t)number;
    return 0;
}

static error_t take_ram(struct run_options *options, const char *text)
{
    uint64_t *bytes = &options->machine.ram_bytes;

    if (parse_size(text, bytes) && *bytes >= LEAST_RAM_BYTES && *bytes <= MOST_RAM_BYTES)
        return 0;
    return command_line_refuse(
        &options->line, "--ram %.60s: it must be a size from 256K to 1024G, such as 64M", text);
}

static error_t take_seed(struct run_options *options, const char *text)
{
    options->seed_given = true;
    if (parse_number(text, 0, UINT64_MAX, &options->seed))
        return 0;
    return command_line_refuse(&options->line, "--seed %.60s: it must be a whole number", text);
}

static error_t take_format(struct run_options *options, enum run_format format)
{
    if (options->format_given && options->format != format)
        return command_line_refuse(&options->line,
                                   "--quiet, --trace and --json exclude each other; give one");
    options->format_given = true;
    options->format = format;
    return 0;
}

static error_t take_path(struct run_options *options, const char *path)
{
    if (options->path != NULL)
        return command_line_refuse(&options->line, "%.60s is one file too many; run one at a time",
                                   path);
    options->path = path;
    return 0;
}

static error_t check_options(struct run_options *options)
{
    if (options->grammar)
        return 0;
    if (options->path == NULL)
        return command_line_refuse(&options->line,
                                   "which scenario? give a FILE, or - for standard input");
    if (options->host && (options->emulated_only || options->step))
        return command_line_refuse(
            &options->line,
            "--host runs on the real kernel: --kernel, --mmu, --geometry, "
            "--ram, --max-maps, --seed, --no-zero-page and --step are for emulated ones");
    if (!options->step)
        return 0;
    if (options->format_given)
        return command_line_refuse(&options->line,
                                   "--step shows everything by itself: leave the other one out");
    if (strcmp(options->path, "-") == 0 || !isatty(STDIN_FILENO))
        return command_line_refuse(&options->line,
                                   "--step asks before each operation, so it needs a terminal as "
                                   "standard input; --trace shows all at once");
    return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct run_options *options = state->input;

    switch (key) {
    case KEY_KERNEL:
        return take_emulated(options, take_kernel(options, argument));
    case KEY_MMU:
        return take_emulated(options, take_mmu(options, argument));
    case KEY_GEOMETRY:
        return take_emulated(options, take_geometry(options, argument));
    case KEY_MAX_MAPS:
        return take_emulated(options, take_max_maps(options, argument));
    case KEY_RAM:
        return take_emulated(options, take_ram(options, argument));
    case KEY_SEED:
        return take_emulated(options, take_seed(options, argument));
    case KEY_NO_ZERO_PAGE:
        options->machine.no_zero_page = true;
        return take_emulated(options, 0);
    case KEY_HOST:
        options->host = true;
        return 0;
    case KEY_QUIET:
        return take_format(options, RUN_QUIET);
    case KEY_TRACE:
        return take_format(options, RUN_TRACE);
    case KEY_JSON:
        return take_format(options, RUN_JSON);
    case KEY_STEP:
        options->step = true;
        return 0;
    case KEY_NO_CHECKS:
        options->no_checks = true;
        return 0;
    case KEY_GRAMMAR:
        options->grammar = true;
        return 0;
    case ARGP_KEY_ARG:
        return take_path(options, argument);
    case ARGP_KEY_END:
        return check_options(options);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int print_grammar(void)
{
    puts(
        "Statements, one a line; ';' between several, '#' to the end of a line. A task begins most "
        "of\nthem; '= ANSWER' may end them. docs/scenarios.md has all of it.\n");
    for (unsigned verb = 0; verb < VERB_COUNT; verb++) {
        const struct verb_description *description = &verb_descriptions[verb];

        printf("%s%s%s%s\n      %s\n", description->has_task ? "TASK " : "", description->word,
               description->form[0] != '\0' ? " " : "", description->form, description->meaning);
    }
    return 0;
}

/* --- the scenario --- */

static int refuse_file(struct run_options *options, int error)
{
    command_line_refuse(&options->line, "%.300s: %s", options->path, strerror(error));
    return -error;
}

/* 0; else one line in the command line's problem. */
static int read_scenario(struct run_options *options, struct scenario *scenario)
{
    bool from_input = strcmp(options->path, "-") == 0;
    FILE *stream = from_input ? stdin : fopen(options->path, "re");

    if (stream == NULL)
        return refuse_file(options, errno);
    int error = scenario_read(scenario, from_input ? "standard input" : options->path, stream,
                              options->line.problem, sizeof(options->line.problem));

    if (!from_input)
        (void)fclose(stream);
    return error;
}

static bool shows_diff(const struct scenario *scenario)
{
    for (size_t i = 0; i < scenario->count; i++) {
        if (scenario->operations[i].verb == VERB_SHOW && scenario->operations[i].show == SHOW_DIFF)
            return true;
    }
    return false;
}

/* --- the run --- */

static int prepare_machine(struct run_session *session)
{
    const struct run_options *options = session->options;
    struct machine *machine = emulated_machine(session->backend);
    int error = 0;

    snprintf(session->place, sizeof(session->place), "%s, %s MMU, %s", machine->kernel->name,
             machine->mmu->ops->name, machine->ram.geometry->name);
    if (options->seed_given)
        error = machine_age(machine, machine->ram.frame_count, options->seed);
    if (error == 0 && (options->step || shows_diff(session->scenario)))
        error = emulated_watch(session->backend);
    return error;
}

static int create_host(struct run_options *options, struct run_session *session)
{
    struct utsname name;

    if (uname(&name) != 0)
        name = (struct utsname){.release = "of unknown version"};
    snprintf(session->place, sizeof(session->place), "the real kernel, Linux %.60s", name.release);
    return host_backend_create(&session->backend, options->line.problem,
                               sizeof(options->line.problem));
}

static int create_emulated(struct run_options *options, struct run_session *session)
{
    char *problem = options->line.problem;
    size_t problem_bytes = sizeof(options->line.problem);
    char lost[SCENARIO_WHY_BYTES];
    int error = emulated_create(&session->backend, &options->machine, problem, problem_bytes);

    if (error != 0)
        return error;
    error = prepare_machine(session);
    if (error != 0) {
        snprintf(problem, problem_bytes, "%s", strerror(-error));
        (void)session->backend->ops->end(session->backend, lost, sizeof(lost));
    }
    return error;
}

/* Runs, ends the backend, and tells how it went. */
static int run_and_conclude(struct run_options *options, struct run_session *session,
                            struct scenario_result *result)
{
    char lost[SCENARIO_WHY_BYTES] = "";
    struct run_json *json = NULL;
    int error = 0;

    if (options->format == RUN_JSON)
        error = run_as_json(session, &json, result);
    else
        run_as_text(session, result);
    if (!session->backend->ops->end(session->backend, lost, sizeof(lost)) &&
        result->end == SCENARIO_HELD)
        result->end = SCENARIO_BROKEN;
    if (error != 0)
        command_line_refuse(&options->line, "%s", strerror(-error));
    else if (json != NULL)
        error = run_conclude_json(session, json, result, lost);
    else
        run_conclude_text(session, result, lost);
    return error;
}

static int status_of(const struct scenario_result *result)
{
    switch (result->end) {
    case SCENARIO_HELD:
        return 0;
    case SCENARIO_SKIPPED:
        return EXIT_STATUS_SKIPPED;
    default:
        return EXIT_STATUS_FAILED;
    }
}

static int run_scenario(struct run_options *options, const struct scenario *scenario)
{
    struct run_session session = {.options = options, .scenario = scenario};
    struct scenario_result result;
    int error = options->host ? create_host(options, &session) : create_emulated(options, &session);

    /* Where the host MMU cannot work at all, it was asked for what cannot be. */
    if (error != 0)
        return command_line_fail(&options->line, error == -ENOTSUP || error == -EINVAL
                                                     ? EXIT_STATUS_USAGE
                                                     : EXIT_STATUS_FAILED);
    error = run_and_conclude(options, &session, &result);
    if (error != 0)
        return command_line_fail(&options->line, EXIT_STATUS_FAILED);
    return status_of(&result);
}

int cmd_run(int argc, char **argv)
{
    static const struct argp argp = {.options = option_table,
                                     .parser = parse_option,
                                     .args_doc = "FILE|-",
                                     .doc = documentation};
    struct run_options options = {.line = {.command = "forklab run", .takes_words = true},
                                  .machine = {.kernel = kernel_find("modern-shared")}};
    struct scenario scenario;
    int status;

    if (!command_line_parse(&argp, argc, argv, &options.line, &status))
        return status;
    if (options.grammar)
        return print_grammar();
    if (read_scenario(&options, &scenario) != 0)
        return command_line_fail(&options.line, EXIT_STATUS_USAGE);
    status = run_scenario(&options, &scenario);
    scenario_free(&scenario);
    return status;
}
