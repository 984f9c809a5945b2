/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the experiments on mappings (tree, mmap, lat) have in common: options, and how their sheets
 * are given out.
 */
#ifndef FORKLAB_DEMO_LAB_OPTIONS_H
#define FORKLAB_DEMO_LAB_OPTIONS_H

#include "demo/options.h"
#include "demo/sheet.h"
#include "pager/kernel.h"

enum { LAB_MOST_KERNELS = 12 };

enum lab_format { LAB_TEXT, LAB_JSON, LAB_CSV };

struct lab_options {
    struct command_line line; /* first */
    enum lab_format format;
    const char *plot_path; /* or NULL */
    bool explain;
    bool quick;
    bool no_host;
    uint64_t rounds; /* 0: not given */
    size_t kernel_count;
    const struct kernel *kernels[LAB_MOST_KERNELS];
};

enum lab_key {
    LAB_KEY_KERNELS = 0x200,
    LAB_KEY_ROUNDS,
    LAB_KEY_QUICK,
    LAB_KEY_NO_HOST,
    LAB_KEY_EXPLAIN,
    LAB_KEY_JSON,
    LAB_KEY_CSV,
    LAB_KEY_PLOT,
    LAB_KEY_OWN /* the first that an experiment may use for itself */
};

/* Rows of an option table. */
/* clang-format off */
#define LAB_OPTIONS                                                                                \
    {"kernels", LAB_KEY_KERNELS, "LIST", 0, "Emulated kernels; forklab kernels lists them", 1},    \
    {"no-host", LAB_KEY_NO_HOST, NULL, 0, "Leave out the real kernel below", 1},                   \
    {"rounds", LAB_KEY_ROUNDS, "N", 0, "Samples of each figure", 1},                               \
    {"quick", LAB_KEY_QUICK, NULL, 0, "Fewer and smaller: a first look in under 5 seconds", 1},    \
    {"explain", LAB_KEY_EXPLAIN, NULL, 0, "What makes the differences, by counters", 2},           \
    {"json", LAB_KEY_JSON, NULL, 0, "Everything as one JSON object", 2},                           \
    {"csv", LAB_KEY_CSV, NULL, 0, "The figures as comma-separated values", 2},                     \
    {"plot", LAB_KEY_PLOT, "FILE.svg", 0, "Draw them too (needs gnuplot)", 2}
/* clang-format on */

/* Takes one of these options: ARGP_ERR_UNKNOWN if it is another. */
error_t lab_parse(int key, char *argument, struct lab_options *options);

/* The kernels of a list such as "2.4.9,modern", where none were given. */
void lab_default_kernels(struct lab_options *options, const char *list);

/* A number of an experiment's own option, in [least, most]. */
error_t lab_number(struct lab_options *options, const char *option, const char *text,
                   uint64_t least, uint64_t most, uint64_t *number);

/* The order in which so many columns take their turns in a round. */
void lab_order(uint32_t *order, size_t count, uint64_t round);

/*
 * Gives the sheets out for programs, if that was asked for: all of them as one JSON object, or the
 * first as comma-separated values. True if it was; then `*error` is 0, or -errno with the problem
 * noted.
 */
bool lab_print_for_programs(struct lab_options *options, const char *experiment,
                            const struct sheet *const sheets[], size_t count, int *error);

/* A line about the machine, as a heading. */
void lab_print_machine(void);

/* The exit status for 0 or -errno; a failure is told. */
int lab_status(struct lab_options *options, int error);

/* --plot was given: can it be done? 0 or -errno with the problem noted. */
int lab_check_plot(struct lab_options *options);

#endif
