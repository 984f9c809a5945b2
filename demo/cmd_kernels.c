/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forklab kernels: the table of kernels and their policies, as pager/kernel.c has it. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "demo/commands.h"
#include "demo/describe.h"
#include "demo/options.h"
#include "pager/kernel.h"
#include "version.h"

static const char *const free_space_texts[] = {
    [FREE_SPACE_UP] = "up, cached", [FREE_SPACE_DOWN] = "down"};

static const char *const fork_entries_texts[] = {
    [FORK_COPIES_ALL] = "copy all", [FORK_REFAULTS] = "refault"};

static const char *const sharing_texts[] = {
    [SHARING_NONE] = "none", [SHARING_OFF] = "able, off", [SHARING_LEAF] = "leaf"};

static const char *absent_entry_text(const struct kernel *kernel)
{
    if (kernel->sharing != SHARING_LEAF)
        return "-";
    return kernel->absent_entry == ABSENT_FILLED ? "fill" : "split";
}

/* A version of Linux as people write it. */
struct version_text {
    char text[16];
};

static struct version_text version_text(uint32_t version)
{
    struct version_text made;
    unsigned minor = version / 1000 % 1000;
    unsigned patch = version % 1000;

    snprintf(made.text, sizeof(made.text), patch == 0 ? "%u.%u" : "%u.%u.%u",
             version / 1000000 % 1000, minor, patch);
    return made;
}

struct kernels_options {
    struct command_line line; /* first */
    bool json;
    bool names;
};

enum { KEY_JSON = 0x100, KEY_NAMES };

/* NOLINTNEXTLINE(readability-non-const-parameter): argp has it so */
static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct kernels_options *options = state->input;

    (void)argument;
    if (key == KEY_JSON)
        options->json = true;
    else if (key == KEY_NAMES)
        options->names = true;
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

/* --- text --- */

enum { CELLS = 10 };

/* `version` holds one of the texts. */
static void cells_of(const struct kernel *kernel, struct version_text *version,
                     const char *cells[CELLS])
{
    *version = version_text(kernel->linux_version);
    cells[0] = kernel->name;
    cells[1] = version->text;
    cells[2] = kernel->index->name;
    cells[3] = kernel->merging->name;
    cells[4] = free_space_texts[kernel->free_space];
    cells[5] = fork_entries_texts[kernel->fork_entries];
    cells[6] = sharing_texts[kernel->sharing];
    cells[7] = absent_entry_text(kernel);
    cells[8] = kernel->rmap->name;
    cells[9] = kernel->seed;
}

static void widen(int widths[CELLS], const char *const cells[CELLS])
{
    for (unsigned i = 0; i < CELLS; i++) {
        if ((int)strlen(cells[i]) > widths[i])
            widths[i] = (int)strlen(cells[i]);
    }
}

static void print_row(const int widths[CELLS], const char *const cells[CELLS])
{
    for (unsigned i = 0; i + 1 < CELLS; i++)
        printf("%-*s  ", widths[i], cells[i]);
    printf("%s\n", cells[CELLS - 1]);
}

static void print_table(void)
{
    static const char *const titles[CELLS] = {"kernel",     "Linux",   "VMA index", "merging",
                                              "free space", "at fork", "sharing",   "absent",
                                              "rmap",       "seed"};
    struct version_text version;
    const char *cells[CELLS];
    int widths[CELLS] = {0};

    widen(widths, titles);
    for (size_t i = 0; i < kernel_count; i++) {
        cells_of(&kernels[i], &version, cells);
        widen(widths, cells);
    }
    print_row(widths, titles);
    for (size_t i = 0; i < kernel_count; i++) {
        cells_of(&kernels[i], &version, cells);
        print_row(widths, cells);
    }
}

static void print_missing(void)
{
    puts("\nNot there yet:");
    for (size_t i = 0; i < kernel_count; i++) {
        if (kernels[i].missing[0] != '\0')
            printf("  %-18s %s\n", kernels[i].name, kernels[i].missing);
    }
}

static void print_legend(void)
{
    puts(
        "\n"
        "Linux       the version whose behaviour it follows: scenarios ask for it by needs and on\n"
        "merging     neighbours become one mapping where rights, flags and object agree (alike), "
        "and\n"
        "            where they share an anonymous family, too (family)\n"
        "at fork     which entries go to the child: all, or only those that a fault cannot "
        "rebuild\n"
        "sharing     leaf: fork shares leaf tables; able, off: it decides on it, and then "
        "copies\n"
        "absent      entry of a shared table, read: filled in place for all, or the table is split "
        "first\n"
        "seed        the post that a kernel's figures come from: 004 is McCracken's of October "
        "2002");
}

/* --- JSON --- */

static json_t *kernel_json(const struct kernel *kernel)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s}", "name", kernel->name,
        "linux", version_text(kernel->linux_version).text, "vma_index", kernel->index->name,
        "merging", kernel->merging->name, "free_space", free_space_texts[kernel->free_space],
        "at_fork", fork_entries_texts[kernel->fork_entries], "sharing",
        sharing_texts[kernel->sharing], "absent_entry", absent_entry_text(kernel), "rmap",
        kernel->rmap->name, "least_shared_entries", (int)kernel->least_shared_entries, "seed",
        kernel->seed, "missing", kernel->missing);
}

static int print_json(void)
{
    json_t *rows = json_array();
    int error = rows == NULL;

    for (size_t i = 0; error == 0 && i < kernel_count; i++)
        error = json_array_append_new(rows, kernel_json(&kernels[i]));
    json_t *whole = json_pack("{s:s, s:s, s:s, s:o, s:o}", "schema", "forklab-kernels-1", "version",
                              FORKLAB_VERSION, "commit", FORKLAB_COMMIT, "machine",
                              describe_machine(), "kernels", rows);

    if (error == 0 && whole != NULL)
        error = json_dumpf(whole, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(whole);
    return error == 0 && whole != NULL ? 0 : EXIT_STATUS_FAILED;
}

static int print_names(void)
{
    for (size_t i = 0; i < kernel_count; i++)
        puts(kernels[i].name);
    return 0;
}

int cmd_kernels(int argc, char **argv)
{
    static const struct argp_option table[] = {
        {"names", KEY_NAMES, NULL, 0, "Their names alone, one a line", 0},
        {"json", KEY_JSON, NULL, 0, "The table as one JSON object", 0},
        OPTION_HELP,
        {0}};
    static const struct argp argp = {
        .options = table,
        .parser = parse_option,
        .doc = "The emulated kernels, each a named set of policies, and what their rows still lack."
               "\v"
               "Example:\n"
               "  forklab kernels --json | jq '.kernels[].name'"};
    struct kernels_options options = {.line = {.command = "forklab kernels"}};
    int status = 0;

    if (!command_line_parse(&argp, argc, argv, &options.line, &status))
        return status;
    if (options.names)
        return print_names();
    if (options.json)
        return print_json();
    print_table();
    print_missing();
    print_legend();
    return 0;
}
