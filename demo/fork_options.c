/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of `forklab fork`: their table, their defaults, and what each accepts. */
#include "demo/fork_options.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_ROUNDS = 300, QUICK_ROUNDS = 20, MOST_ROUNDS = 1000000 };

#define DEFAULT_SIZES "400K,4M,40M"
#define DEFAULT_MEMORIES "shm,anon"
#define DEFAULT_MODES "fork,fork/exit,fork/exec/exit"
#define DEFAULT_KERNELS "2.5.41,2.5.41-mm2,2.5.41-mm2-shared,modern,modern-shared"

enum option_key {
    KEY_SIZES = 0x100,
    KEY_MEMORY,
    KEY_MODES,
    KEY_KERNELS,
    KEY_ROUNDS,
    KEY_QUICK,
    KEY_GEOMETRY,
    KEY_MMU,
    KEY_RAM,
    KEY_DIRTY,
    KEY_AGED,
    KEY_SEED,
    KEY_EXEC,
    KEY_NO_FLOOR,
    KEY_NO_HOST,
    KEY_EXPLAIN,
    KEY_JSON,
    KEY_CSV,
    KEY_PLOT,
};

static const char documentation[] =
    "What fork, fork/exit and fork/exec/exit cost, for a parent that has touched a region of "
    "memory "
    "before the clock starts, on kernels that copy page tables at fork and on kernels that share "
    "them. It runs the experiment of \"Fork timing numbers for shared page tables\" (10 October "
    "2002) again, with real faults, beside the same faults with no emulator (floor) and the real "
    "kernel below (host)."
    "\v"
    "Examples:\n"
    "  forklab fork\n"
    "  forklab fork --sizes 400K,4M --modes fork/exec/exit --explain\n"
    "  forklab fork --sizes 400M --kernels 2.5.41-mm2,2.5.41-mm2-shared\n"
    "  forklab fork --json >fork.json";

/* clang-format off */
static const struct argp_option table[] = {
    {NULL, 0, NULL, 0, "What is measured:", 1},
    {"sizes", KEY_SIZES, "LIST", 0, "Sizes of the region, with K, M or G (" DEFAULT_SIZES ")", 1},
    {"memory", KEY_MEMORY, "LIST", 0, "The region: shm, anon, file (" DEFAULT_MEMORIES ")", 1},
    {"modes", KEY_MODES, "LIST", 0, "fork, fork/exit, fork/exec/exit (all)", 1},
    {"kernels", KEY_KERNELS, "LIST", 0, "Emulated kernels; forklab kernels lists them", 1},
    {"dirty", KEY_DIRTY, "PCT", 0,
     "The parent rewrites PCT % of its pages between forks, outside the clock (0)", 1},
    {"aged", KEY_AGED, NULL, 0,
     "Frames and reverse-map elements in shuffled order, as on a machine that has been up for long",
     1},
    {"exec", KEY_EXEC, "FILE", 0,
     "What the child execs: a static ELF executable (forklab-tiny)", 1},
    {"no-floor", KEY_NO_FLOOR, NULL, 0, "Leave out the floor", 1},
    {"no-host", KEY_NO_HOST, NULL, 0, "Leave out the real kernel below", 1},
    {NULL, 0, NULL, 0, "How:", 2},
    {"rounds", KEY_ROUNDS, "N", 0, "Samples of each figure (300; with --quick 20)", 2},
    {"quick", KEY_QUICK, NULL, 0, "Fewer rounds: a first look in under 5 seconds", 2},
    {"seed", KEY_SEED, "N", 0, "Of the order in which kernels take turns, and of --aged (1)", 2},
    {"geometry", KEY_GEOMETRY, "NAME", 0, "Page tables: x86-64, i386 (x86-64)", 2},
    {"mmu", KEY_MMU, "NAME", 0, "host: real faults; soft: a software TLB, no faults (host)", 2},
    {"ram", KEY_RAM, "SIZE", 0, "Memory of each emulated machine (as much as it takes)", 2},
    {NULL, 0, NULL, 0, "What is shown:", 3},
    {"explain", KEY_EXPLAIN, NULL, 0,
     "Time and counters by phase, and what makes the differences", 3},
    {"json", KEY_JSON, NULL, 0, "Everything as one JSON object", 3},
    {"csv", KEY_CSV, NULL, 0, "The figures as comma-separated values", 3},
    {"plot", KEY_PLOT, "FILE.svg", 0, "Draw them too (needs gnuplot)", 3},
    OPTION_HELP,
    {0},
};
/* clang-format on */

static struct fork_options *options_of(struct command_line *line)
{
    return (struct fork_options *)(void *)line;
}

static error_t take_size(struct command_line *line, const char *item)
{
    struct fork_options *options = options_of(line);
    uint64_t bytes;

    if (!parse_size(item, &bytes))
        return command_line_refuse(
            line, "--sizes: %.40s is no size; write digits with K, M or G, such as 400K", item);
    if (bytes == 0 || bytes % PAGE_BYTES != 0)
        return command_line_refuse(
            line, "--sizes: %.40s is not one or more whole pages of 4K; 400K would do", item);
    for (size_t i = 0; i < options->size_count; i++) {
        if (options->sizes[i] == bytes)
            return command_line_refuse(line, "--sizes: %.40s is there twice; once is enough", item);
    }
    if (options->size_count == MOST_SIZES)
        return command_line_refuse(line, "--sizes: more than %d sizes; ask for fewer", MOST_SIZES);
    options->sizes[options->size_count++] = bytes;
    return 0;
}

/* The place of a name in a list of names; `count` if it is not there. */
static size_t place_of(const char *const *names, size_t count, const char *name)
{
    size_t place = 0;

    while (place < count && strcmp(names[place], name) != 0)
        place++;
    return place;
}

static error_t take_memory(struct command_line *line, const char *item)
{
    struct fork_options *options = options_of(line);
    size_t memory = place_of(fork_memory_names, MEMORY_COUNT, item);

    if (memory == MEMORY_COUNT)
        return command_line_refuse(line, "--memory: there is no %.40s; choose of shm, anon, file",
                                   item);
    for (size_t i = 0; i < options->memory_count; i++) {
        if (options->memories[i] == (enum fork_memory)memory)
            return command_line_refuse(line, "--memory: %s is there twice; once is enough", item);
    }
    options->memories[options->memory_count++] = (enum fork_memory)memory;
    return 0;
}

static error_t take_mode(struct command_line *line, const char *item)
{
    struct fork_options *options = options_of(line);
    size_t mode = place_of(fork_mode_names, MODE_COUNT, item);

    if (mode == MODE_COUNT)
        return command_line_refuse(line, "--modes: there is no %.40s; choose of " DEFAULT_MODES,
                                   item);
    for (size_t i = 0; i < options->mode_count; i++) {
        if (options->modes[i] == (enum fork_mode)mode)
            return command_line_refuse(line, "--modes: %s is there twice; once is enough", item);
    }
    options->modes[options->mode_count++] = (enum fork_mode)mode;
    return 0;
}

/* The kernels' names in one line. */
static void list_kernels(char *text, size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < kernel_count && used < bytes; i++)
        used +=
            (size_t)snprintf(text + used, bytes - used, "%s%s", i > 0 ? ", " : "", kernels[i].name);
}

static error_t take_kernel(struct command_line *line, const char *item)
{
    struct fork_options *options = options_of(line);
    const struct kernel *kernel = kernel_find(item);
    char names[256];

    if (kernel == NULL) {
        list_kernels(names, sizeof(names));
        return command_line_refuse(line, "--kernels: there is no %.40s; choose of %s", item, names);
    }
    for (size_t i = 0; i < options->kernel_count; i++) {
        if (options->kernels[i] == kernel)
            return command_line_refuse(line, "--kernels: %s is there twice; once is enough", item);
    }
    if (options->kernel_count == MOST_KERNELS)
        return command_line_refuse(line, "--kernels: more than %d; ask for fewer", MOST_KERNELS);
    options->kernels[options->kernel_count++] = kernel;
    return 0;
}

static error_t take_geometry(struct fork_options *options, const char *name)
{
    options->geometry = geometry_find(name);
    if (options->geometry == NULL)
        return command_line_refuse(&options->line,
                                   "--geometry: there is no %.40s; choose x86-64 or i386", name);
    return 0;
}

static error_t take_mmu(struct fork_options *options, const char *name)
{
    if (strcmp(name, "host") != 0 && strcmp(name, "soft") != 0)
        return command_line_refuse(&options->line, "--mmu: there is no %.40s; choose host or soft",
                                   name);
    options->mmu = strcmp(name, "host") == 0 ? MMU_HOST : MMU_SOFT;
    return 0;
}

static error_t take_number(struct fork_options *options, const char *option, const char *text,
                           uint64_t most, uint64_t *number)
{
    uint64_t least = strcmp(option, "--rounds") == 0 ? 1 : 0;

    if (parse_number(text, least, most, number))
        return 0;
    return command_line_refuse(&options->line, "%s: %.40s is no whole number from %llu to %llu",
                               option, text, (unsigned long long)least, (unsigned long long)most);
}

static error_t take_ram(struct fork_options *options, const char *text)
{
    if (parse_size(text, &options->ram_bytes) && options->ram_bytes > 0)
        return 0;
    return command_line_refuse(
        &options->line, "--ram: %.40s is no size; write digits with M or G, such as 256M", text);
}

static error_t take_output(struct fork_options *options, enum output output)
{
    if (options->output != OUTPUT_TEXT && options->output != output)
        return command_line_refuse(&options->line, "--json and --csv both; choose one of them");
    options->output = output;
    return 0;
}

static error_t parse_what(int key, const char *argument, struct fork_options *options)
{
    uint64_t number = 0;
    error_t error = 0;

    switch (key) {
    case KEY_SIZES:
        options->size_count = 0;
        return parse_list(&options->line, "--sizes", argument, take_size);
    case KEY_MEMORY:
        options->memory_count = 0;
        return parse_list(&options->line, "--memory", argument, take_memory);
    case KEY_MODES:
        options->mode_count = 0;
        return parse_list(&options->line, "--modes", argument, take_mode);
    case KEY_KERNELS:
        options->kernel_count = 0;
        return parse_list(&options->line, "--kernels", argument, take_kernel);
    case KEY_DIRTY:
        error = take_number(options, "--dirty", argument, 100, &number);
        options->dirty_percent = (unsigned)number;
        return error;
    case KEY_AGED:
        options->aged = true;
        return 0;
    case KEY_EXEC:
        options->program_path = argument;
        return 0;
    case KEY_NO_FLOOR:
        options->floor = false;
        return 0;
    case KEY_NO_HOST:
        options->host = false;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_how(int key, const char *argument, struct fork_options *options)
{
    uint64_t number = 0;
    error_t error;

    switch (key) {
    case KEY_ROUNDS:
        error = take_number(options, "--rounds", argument, MOST_ROUNDS, &number);
        options->rounds = (unsigned)number;
        return error;
    case KEY_QUICK:
        options->quick = true;
        return 0;
    case KEY_SEED:
        return take_number(options, "--seed", argument, UINT64_MAX, &options->seed);
    case KEY_GEOMETRY:
        return take_geometry(options, argument);
    case KEY_MMU:
        return take_mmu(options, argument);
    case KEY_RAM:
        return take_ram(options, argument);
    case KEY_EXPLAIN:
        options->explain = true;
        return 0;
    case KEY_JSON:
        return take_output(options, OUTPUT_JSON);
    case KEY_CSV:
        return take_output(options, OUTPUT_CSV);
    case KEY_PLOT:
        options->plot_path = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct fork_options *options = state->input;
    error_t error = parse_what(key, argument, options);

    return error == ARGP_ERR_UNKNOWN ? parse_how(key, argument, options) : error;
}

/* What was not asked for is as the post had it. */
static void fill_in_defaults(struct fork_options *options)
{
    struct command_line *line = &options->line;

    if (options->size_count == 0)
        (void)parse_list(line, "", DEFAULT_SIZES, take_size);
    if (options->memory_count == 0)
        (void)parse_list(line, "", DEFAULT_MEMORIES, take_memory);
    if (options->mode_count == 0)
        (void)parse_list(line, "", DEFAULT_MODES, take_mode);
    if (options->kernel_count == 0)
        (void)parse_list(line, "", DEFAULT_KERNELS, take_kernel);
    if (options->rounds == 0)
        options->rounds = options->quick ? QUICK_ROUNDS : DEFAULT_ROUNDS;
}

bool fork_options_parse(struct fork_options *options, int argc, char **argv, int *status)
{
    static const struct argp argp = {
        .options = table, .parser = parse_option, .doc = documentation};

    *options = (struct fork_options){.line = {.command = "forklab fork"},
                                     .geometry = &geometry_x86_64,
                                     .mmu = MMU_HOST,
                                     .seed = 1,
                                     .floor = true,
                                     .host = true};
    if (!command_line_parse(&argp, argc, argv, &options->line, status))
        return false;
    fill_in_defaults(options);
    return true;
}
