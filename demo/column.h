/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A column of the fork experiment: something that can set up a parent with a region of memory and
 * then do one round of a mode at a time, so that columns can be interleaved round by round.
 *
 * There are three makes: an emulated kernel (column_kernel.c), the floor (host_floor.c: the same
 * faults and revokes through libsigsegv with no emulator behind them) and the real kernel below
 * (host_column.c: real forks in a re-executed helper).
 */
#ifndef FORKLAB_DEMO_COLUMN_H
#define FORKLAB_DEMO_COLUMN_H

#include "pt/event.h"

enum fork_mode { MODE_FORK, MODE_FORK_EXIT, MODE_FORK_EXEC_EXIT, MODE_COUNT };

enum fork_memory { MEMORY_SHM, MEMORY_ANON, MEMORY_FILE, MEMORY_COUNT };

/* What the parent is set up with. */
struct column_setup {
    enum fork_memory memory;
    uint64_t
        size_bytes; /* of the region; every page is touched (written) before the clock starts */
    unsigned dirty_percent; /* share of the region's pages that the parent rewrites between forks */
};

/* One round. Times in nanoseconds; what a column cannot tell stays 0. */
struct round_sample {
    double total_ns;
    double kernel_ns;
    double user_ns;
    double host_ns;
    uint64_t host_calls;
};

struct column {
    const char *name;
    const struct column_ops *ops;
};

struct column_ops {
    /* Sets up the parent. 0, or a negative errno with one line in `problem`. */
    int (*prepare)(struct column *column, const struct column_setup *setup, char *problem,
                   size_t problem_bytes);
    /*
     * One round of the mode. `counters`, if not NULL, gets what the round alone counted (events of
     * pt/event.def); a column without counters leaves zeros.
     */
    int (*round)(struct column *column, enum fork_mode mode, struct round_sample *sample,
                 uint64_t *counters);
    /* Table frames of the child's own when it exits (after one unrecorded round); 0: unknown. */
    uint32_t (*table_frames)(struct column *column, enum fork_mode mode);
    /* Ends the parent of the last prepare. */
    void (*finish)(struct column *column);
    void (*destroy)(struct column *column);
};

extern const char *const fork_mode_names[MODE_COUNT]; /* "fork", "fork/exit", "fork/exec/exit" */
extern const char *const fork_memory_names[MEMORY_COUNT]; /* "shm", "anon", "file" */

/* The floor and the host column. -errno with one line in `problem`. */
int floor_column_create(struct column **column, char *problem, size_t problem_bytes);
int host_column_create(struct column **column, char *problem, size_t problem_bytes);

/*
 * Does this program run as the host column's helper? Then it serves until its input ends, and never
 * returns. Called first thing in main().
 */
void host_column_serve_if_helper(int argc, char **argv);

/* The path of the tiny executable, or NULL with one line in `problem`. Freed by the caller. */
char *tiny_executable_path(char *problem, size_t problem_bytes);

/* The same for a program by its name: forklab-tiny or forklab-shell. */
char *exec_program_path(const char *name, char *problem, size_t problem_bytes);

#endif
