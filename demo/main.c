/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * forklab: one program, a subcommand an experiment. A new one is a function in commands.h and a row
 * in the table below.
 */
#include <stdio.h>
#include <string.h>

#include "demo/column.h"
#include "demo/commands.h"
#include "demo/host_probe.h"
#include "demo/options.h"
#include "scenario/host.h"
#include "version.h"

struct subcommand {
    const char *name;
    const char *shows;
    const char *example;
    int (*run)(int argc, char **argv);
};

static const struct subcommand subcommands[] = {
    {"fork", "what fork, fork/exit and fork/exec/exit cost, page tables copied and shared",
     "forklab fork --sizes 4M,40M --explain", cmd_fork},
    {"fault", "what one page fault costs, beside the bare host calls that it is made of",
     "forklab fault", cmd_fault},
    {"tree", "what fork costs a task with very many mappings, by the index that they are found in",
     "forklab tree --explain", cmd_tree},
    {"mmap", "mappings that merge and grow: a benchmark with a bug, and what the bug measured",
     "forklab mmap --explain", cmd_mmap},
    {"lat", "lmbench's latencies of memory, and how many lookups find_vma's cache answers in them",
     "forklab lat --explain", cmd_lat},
    {"kernels", "the emulated kernels, and the policies that make them", "forklab kernels",
     cmd_kernels},
    {"run", "a scenario: what tasks do to their memory, and what must come of it",
     "forklab run lesson.scn --trace", cmd_run},
    {"fuzz", "random operations, compared with a model, another kernel or the real one",
     "forklab fuzz --ops 1000000 --against copied", cmd_fuzz},
};

enum { SUBCOMMAND_COUNT = sizeof(subcommands) / sizeof(subcommands[0]) };

static void print_help(void)
{
    puts("Usage: forklab SUBCOMMAND [OPTION...]\n"
         "\n"
         "A laboratory for fork(2): physical memory, page tables, an MMU and the memory manager of "
         "a\n"
         "Unix kernel, emulated in one process, with real faults. Each subcommand is an "
         "experiment.\n");
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        printf("  %-10s %s\n             %s\n", subcommands[i].name, subcommands[i].shows,
               subcommands[i].example);
    puts("\n"
         "  --help     this help; forklab SUBCOMMAND --help tells more of one\n"
         "  --version  the version, and the commit that it was built from");
}

static const struct subcommand *find_subcommand(const char *name)
{
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
        if (strcmp(subcommands[i].name, name) == 0)
            return &subcommands[i];
    }
    return NULL;
}

static int refuse(const char *what)
{
    fprintf(stderr, "forklab: %s; there are", what);
    for (size_t i = 0; i < SUBCOMMAND_COUNT; i++)
        fprintf(stderr, "%s %s", i > 0 ? "," : "", subcommands[i].name);
    fputs(" (forklab --help)\n", stderr);
    return EXIT_STATUS_USAGE;
}

/* Output that could not be written is a failure, or half a report would pass for a whole one. */
static int finish_output(int status)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fputs("forklab: standard output could not be written\n", stderr);
    return EXIT_STATUS_FAILED;
}

static int run(int argc, char **argv)
{
    char what[100];

    if (argc < 2)
        return refuse("no subcommand is given");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help();
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("forklab %s (%s)\n", FORKLAB_VERSION, FORKLAB_COMMIT);
        return 0;
    }
    const struct subcommand *subcommand = find_subcommand(argv[1]);

    if (subcommand != NULL)
        return subcommand->run(argc - 1, argv + 1);
    snprintf(what, sizeof(what), "%.40s is no %s", argv[1],
             argv[1][0] == '-' ? "option of forklab itself" : "subcommand");
    return refuse(what);
}

int main(int argc, char **argv)
{
    host_column_serve_if_helper(argc, argv);
    host_backend_serve_if_helper(argc, argv);
    host_probe_serve_if_probe(argc, argv);
    return finish_output(run(argc, argv));
}
