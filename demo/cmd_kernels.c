/* SPDX-License-Identifier: GPL-2.0-or-later */
/* forklab kernels: the table of kernels and their policies, as pager/kernels.def has it. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "demo/commands.h"
#include "demo/describe.h"
#include "demo/options.h"
#include "pager/kernel.h"
#include "version.h"

static const char *const fork_entries_texts[] = {
    [FORK_COPIES_ALL] = "copy all", [FORK_REFAULTS] = "refault", [FORK_COPIES_NOTHING] = "nothing"};

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

    if (version == 0)
        snprintf(made.text, sizeof(made.text), "-");
    else
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

enum { CELLS = 6 };

/* A table: titles and what stands below them; `version` may hold one of the texts. */
struct table_of_kernels {
    const char *titles[CELLS];
    void (*cells)(const struct kernel *kernel, struct version_text *version,
                  const char *cells[CELLS]);
};

static void mapping_cells(const struct kernel *kernel, struct version_text *version,
                          const char *cells[CELLS])
{
    *version = version_text(kernel->linux_version);
    cells[0] = kernel->name;
    cells[1] = version->text;
    cells[2] = kernel->index->name;
    cells[3] = kernel->find_cache->name;
    cells[4] = kernel->merging->name;
    cells[5] = kernel->free_space->name;
}

static void table_cells(const struct kernel *kernel, struct version_text *version,
                        const char *cells[CELLS])
{
    (void)version;
    cells[0] = kernel->name;
    cells[1] = fork_entries_texts[kernel->fork_entries];
    cells[2] = sharing_texts[kernel->sharing];
    cells[3] = absent_entry_text(kernel);
    cells[4] = kernel->rmap->name;
    cells[5] = kernel->seed;
}

static const struct table_of_kernels tables[] = {
    {.titles = {"kernel", "Linux", "VMA index", "find_vma", "merging", "free space"},
     .cells = mapping_cells},
    {.titles = {"kernel", "at fork", "sharing", "absent", "rmap", "seed"}, .cells = table_cells},
};

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

static void print_table(const struct table_of_kernels *table)
{
    struct version_text version;
    const char *cells[CELLS];
    int widths[CELLS] = {0};

    widen(widths, table->titles);
    for (size_t i = 0; i < kernel_count; i++) {
        table->cells(&kernels[i], &version, cells);
        widen(widths, cells);
    }
    print_row(widths, table->titles);
    for (size_t i = 0; i < kernel_count; i++) {
        table->cells(&kernels[i], &version, cells);
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
        "find_vma    what may answer before the index: nothing, the mapping found last, its\n"
        "            neighbours too, four slots a task\n"
        "merging     what becomes one mapping: anonymous memory alone, with the neighbour below "
        "or\n"
        "            both; files too, by anonymous families (anon_vma, family); UVM's entries "
        "(amap)\n"
        "free space  where a mapping without an address goes\n"
        "at fork     which entries go to the child: all, only those that a fault cannot rebuild,\n"
        "            or none\n"
        "sharing     leaf: fork shares leaf tables; able, off: it decides on it, and then "
        "copies\n"
        "absent      entry of a shared table, read: filled in place for all, or the table is split "
        "first\n"
        "rmap        from a page to its entries: a chain for each page, or over the mappings of "
        "its\n"
        "            object, with chains for anonymous pages alone\n"
        "seed        the post that a kernel's figures come from: 000 of August 2001, 001 of March "
        "2004,\n"
        "            002 of October 2003, 003 of January 2009, 004 of October 2002");
}

/* --- JSON --- */

static json_t *kernel_json(const struct kernel *kernel)
{
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s}", "name", kernel->name,
        "linux", version_text(kernel->linux_version).text, "vma_index", kernel->index->name,
        "find_vma", kernel->find_cache->name, "merging", kernel->merging->name, "free_space",
        kernel->free_space->name, "at_fork", fork_entries_texts[kernel->fork_entries], "sharing",
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
    print_table(&tables[0]);
    putchar('\n');
    print_table(&tables[1]);
    print_missing();
    print_legend();
    return 0;
}
