/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The floor of the fork table: what a child's faults and revokes cost with no emulator behind them.
 *
 * A child of a kernel that shares its tables does little, and most of it is the host's: it faults
 * on its stack and on its data, and what was let through is revoked when it ends. Here the same
 * pages, as far apart, are touched in the same order, through libsigsegv, and taken away again; no
 * table is read, no frame is copied, no task exists. Nobody can be faster who keeps the pages of
 * every child out of reach until they are touched.
 *
 *   fork             nothing: fork makes no call to the host. The floor is an empty round
 *   fork/exit        2 faults (stack, data) and 2 revokes
 *   fork/exec/exit   the same; then, as the new program, 3 faults (stack, text, data), 3 revokes
 *
 * The pages are mapped all the time, as they are in a recycled window. So each fault and each
 * revoke is one mprotect.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "demo/column.h"
#include "demo/host_bare.h"
#include "pager/clock.h"

/* The pages of the window that are touched. The new program's stack and data are where the old one
 * had them, and in a recycled window the same frames lie there. */
enum page { PAGE_STACK, PAGE_DATA, PAGE_TEXT, PAGE_COUNT };

/* Where forklab-tiny has them, on the way up to a stack at the end of the window. */
#define TEXT_OFFSET ((uint64_t)0x400000)
#define DATA_OFFSET ((uint64_t)0x600000)

struct floor_column {
    struct column column; /* first */
    struct bare_window window;
    volatile uint64_t *words[PAGE_COUNT]; /* one in each page */
    double ticks_per_ns;
};

static struct floor_column *floor_of(struct column *column)
{
    return (struct floor_column *)(void *)column;
}

/* The whole floor: a fault is answered by one call to the host, and by nothing else. */
static int resolve(void *address, void *unused)
{
    (void)unused;
    bare_protect(address, bare_fault_is_write() ? BARE_WRITE : BARE_READ);
    return 1;
}

static void revoke(struct floor_column *floor, enum page page)
{
    bare_protect((void *)(uintptr_t)floor->words[page], BARE_NONE);
}

/* What a child does until it ends, or until its exec. */
static void run_child(struct floor_column *floor)
{
    *floor->words[PAGE_STACK] = 1;
    *floor->words[PAGE_DATA] = 1;
    revoke(floor, PAGE_DATA);
    revoke(floor, PAGE_STACK);
}

/* And what the program does after that. */
static void run_program(struct floor_column *floor)
{
    *floor->words[PAGE_STACK] = 1;
    *floor->words[PAGE_DATA] = *floor->words[PAGE_TEXT];
    revoke(floor, PAGE_TEXT);
    revoke(floor, PAGE_DATA);
    revoke(floor, PAGE_STACK);
}

static double time_round(struct floor_column *floor, enum fork_mode mode)
{
    uint64_t start_ticks = clock_ticks();

    if (mode != MODE_FORK)
        run_child(floor);
    if (mode == MODE_FORK_EXEC_EXIT)
        run_program(floor);
    return (double)(clock_ticks() - start_ticks) / floor->ticks_per_ns;
}

static int floor_prepare(struct column *column, const struct column_setup *setup, char *problem,
                         size_t problem_bytes)
{
    (void)column;
    (void)setup;
    if (problem_bytes > 0)
        problem[0] = '\0';
    return 0; /* the floor has no region: its size is nothing to a child that does not touch it */
}

static void count(enum fork_mode mode, struct round_sample *sample, uint64_t *counters)
{
    static const uint64_t faults[MODE_COUNT] = {
        [MODE_FORK] = 0, [MODE_FORK_EXIT] = 2, [MODE_FORK_EXEC_EXIT] = 5};

    sample->host_calls = 2 * faults[mode];
    if (counters == NULL)
        return;
    for (unsigned i = 0; i < EVENT_COUNT; i++)
        counters[i] = 0;
    counters[EVENT_HOST_PROTECT] = 2 * faults[mode];
    counters[EVENT_PAGE_INSTALLED] = faults[mode];
    counters[EVENT_PAGE_REVOKED] = faults[mode];
}

static int floor_round(struct column *column, enum fork_mode mode, struct round_sample *sample,
                       uint64_t *counters)
{
    struct floor_column *floor = floor_of(column);
    int error = bare_window_enter(&floor->window, resolve, NULL);

    if (error != 0)
        return error;
    double total_ns = time_round(floor, mode);

    *sample = (struct round_sample){.total_ns = total_ns, .host_ns = total_ns};
    count(mode, sample, counters);
    return bare_window_leave(&floor->window);
}

static uint32_t floor_table_frames(struct column *column, enum fork_mode mode)
{
    (void)column;
    (void)mode;
    return 0;
}

static void floor_finish(struct column *column)
{
    (void)column;
}

static void floor_destroy(struct column *column)
{
    struct floor_column *floor = floor_of(column);

    bare_window_destroy(&floor->window);
    free(floor);
}

static int place_pages(struct floor_column *floor)
{
    const uint64_t offsets[PAGE_COUNT] = {[PAGE_STACK] = floor->window.bytes - 2 * PAGE_BYTES,
                                          [PAGE_DATA] = DATA_OFFSET,
                                          [PAGE_TEXT] = TEXT_OFFSET};

    for (unsigned i = 0; i < PAGE_COUNT; i++) {
        uint8_t *page;
        int error = bare_window_place(&floor->window, offsets[i], i, &page);

        if (error != 0)
            return error;
        floor->words[i] = (volatile uint64_t *)(void *)page;
    }
    return 0;
}

int floor_column_create(struct column **column, char *problem, size_t problem_bytes)
{
    static const struct column_ops ops = {.prepare = floor_prepare,
                                          .round = floor_round,
                                          .table_frames = floor_table_frames,
                                          .finish = floor_finish,
                                          .destroy = floor_destroy};
    struct floor_column *made = calloc(1, sizeof(*made));

    if (made == NULL) {
        snprintf(problem, problem_bytes, "memory ran out");
        return -ENOMEM;
    }
    made->ticks_per_ns = clock_ticks_per_ns();
    made->column = (struct column){.name = "floor", .ops = &ops};
    int error = bare_window_create(&made->window, PAGE_COUNT, problem, problem_bytes);

    if (error == 0) {
        error = place_pages(made);
        if (error != 0)
            snprintf(problem, problem_bytes, "the floor's pages cannot be mapped");
    }
    if (error != 0) {
        bare_window_destroy(&made->window);
        free(made);
        return error;
    }
    *column = &made->column;
    return 0;
}
