/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child's life, as the post's modes have it, and where its phases end.
 *
 *   fork     the parent's call
 *   writes   the child enters user mode, writes a word on its stack and a data word
 *   exec     the call, until the new program has the first word on its stack
 *   program  the new program reads its text and writes its data
 *   exit     the call, until the child has ended
 *   wait     the parent's call
 */
#ifndef FORKLAB_DEMO_CHILD_H
#define FORKLAB_DEMO_CHILD_H

#include "demo/column.h"
#include "demo/parent.h"

enum phase {
    PHASE_FORK,
    PHASE_WRITES,
    PHASE_EXEC,
    PHASE_PROGRAM,
    PHASE_EXIT,
    PHASE_WAIT,
    PHASE_COUNT
};

extern const char *const phase_names[PHASE_COUNT];

/* Clocks and counters as they stood at some moment; ticks 0: it did not come. */
struct mark {
    uint64_t ticks;
    uint64_t kernel_ticks;
    uint64_t counts[EVENT_COUNT];
};

void mark_take(struct mark *mark, const struct machine *machine);

/* The marks of a life: its beginning, then the end of each phase. */
struct marks {
    struct mark start;
    struct mark ends[PHASE_COUNT];
};

/* A whole life: MODE_FORK_EXIT or MODE_FORK_EXEC_EXIT. `marks` is NULL on the clock. */
int child_live(struct parent *parent, enum fork_mode mode, struct marks *marks);

/* Table frames of the child's own at the end of its life, in any mode; 0 if it failed. */
uint32_t child_table_frames(struct parent *parent, enum fork_mode mode);

/* Ends a child that nobody runs, and reaps it. */
int child_end(struct parent *parent, struct task *child);

/* Ticks that the child's own instructions take when everything is let through. */
int child_own_ticks(struct parent *parent, enum fork_mode mode, double *ticks);

#endif
