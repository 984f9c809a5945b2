/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The floors of `forklab fault`.
 *
 * A fault's floor is resolve() below: the fault goes through libsigsegv, the page is copied or
 * cleared as its case asks, one mprotect lets it through, and that is all: nothing is looked up and
 * nothing decided. The pages are the same few again and again, so the frames are warm. As in the
 * emulator, each sample comes right after another such fault, in a page that lies apart.
 *
 * A walk's floor has nothing to do with libsigsegv: it is what the host's own kernel takes for its
 * own faults on as much memory, which lies in a memory file already and is mapped afresh.
 */
#include "demo/host_fault_floor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "demo/host_bare.h"
#include "pager/clock.h"

/* Where the two pages of the window lie, as far apart as the emulator's. */
#define PLACE_OFFSET ((uint64_t)256 << 20)
#define PLACE_STRIDE (8 * PAGE_BYTES)

enum place { PLACE_DUMMY, PLACE_TARGET, PLACE_COUNT };

/* Frames: one under each place, a source page for each, a table and its copy. */
enum {
    FRAME_SOURCE = PLACE_COUNT,
    FRAME_OLD_TABLE = 2 * PLACE_COUNT,
    FRAME_NEW_TABLE,
    FRAME_TOTAL
};

enum contents { CONTENTS_KEPT, CONTENTS_CLEARED, CONTENTS_COPIED, CONTENTS_COPIED_WITH_TABLE };

struct fault_floor {
    struct bare_window window;
    uint8_t *pages[PLACE_COUNT];
    enum contents contents; /* what becomes of a page that is touched */
    double ticks_per_ns;
    int file; /* what is walked over; -1: not made yet */
};

static uint8_t *frame(const struct fault_floor *floor, unsigned number)
{
    return floor->window.frames + number * PAGE_BYTES;
}

/* The whole floor of a fault. */
static int resolve(void *address, void *context)
{
    const struct fault_floor *floor = context;
    enum place place = (uint8_t *)address < floor->pages[PLACE_TARGET] ? PLACE_DUMMY : PLACE_TARGET;

    if (floor->contents == CONTENTS_COPIED_WITH_TABLE)
        memcpy(frame(floor, FRAME_NEW_TABLE), frame(floor, FRAME_OLD_TABLE), PAGE_BYTES);
    if (floor->contents >= CONTENTS_COPIED)
        memcpy(frame(floor, place), frame(floor, FRAME_SOURCE + place), PAGE_BYTES);
    else if (floor->contents == CONTENTS_CLEARED)
        memset(frame(floor, place), 0, PAGE_BYTES);
    bare_protect(address, BARE_WRITE);
    return 1;
}

/* A dummy fault, then the one that is timed. */
static double time_fault(struct fault_floor *floor)
{
    *(volatile uint64_t *)(void *)floor->pages[PLACE_DUMMY] = 1;
    uint64_t start_ticks = clock_ticks();

    *(volatile uint64_t *)(void *)floor->pages[PLACE_TARGET] = 1;
    return (double)(clock_ticks() - start_ticks) / floor->ticks_per_ns;
}

static enum contents contents_of(enum fault_case which)
{
    switch (which) {
    case CASE_ZERO_FILL:
        return CONTENTS_CLEARED;
    case CASE_COW_COPY:
        return CONTENTS_COPIED;
    case CASE_SPLIT:
        return CONTENTS_COPIED_WITH_TABLE;
    default:
        return CONTENTS_KEPT;
    }
}

static int sample_fault(struct fault_floor *floor, enum fault_case which, double *total_ns)
{
    /* A page that is to be reused could be read all the time. */
    enum bare_access before = which == CASE_COW_REUSE ? BARE_READ : BARE_NONE;
    int error = bare_window_enter(&floor->window, resolve, floor);

    if (error != 0)
        return error;
    floor->contents = contents_of(which);
    for (unsigned place = 0; place < PLACE_COUNT; place++)
        bare_protect(floor->pages[place], before);
    *total_ns = time_fault(floor);
    return bare_window_leave(&floor->window);
}

/* --- walks --- */

/* The memory file, all of its pages there. */
static int make_file(struct fault_floor *floor)
{
    int file = memfd_create("forklab-walk", MFD_CLOEXEC);

    if (file < 0)
        return -errno;
    int error = ftruncate(file, (off_t)SEQUENTIAL_BYTES) == 0 ? 0 : -errno;
    void *mapped = MAP_FAILED;

    if (error == 0) {
        mapped = mmap(NULL, SEQUENTIAL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        error = mapped != MAP_FAILED ? 0 : -errno;
    }
    if (error != 0) {
        (void)close(file);
        return error;
    }
    memset(mapped, 1, SEQUENTIAL_BYTES);
    (void)munmap(mapped, SEQUENTIAL_BYTES);
    floor->file = file;
    return 0;
}

static void walk(volatile uint8_t *region, bool write)
{
    if (write) {
        for (uint64_t at = 0; at < SEQUENTIAL_BYTES; at += PAGE_BYTES)
            region[at] = 1;
    } else {
        for (uint64_t at = 0; at < SEQUENTIAL_BYTES; at += PAGE_BYTES)
            (void)region[at];
    }
}

static int sample_walk(struct fault_floor *floor, bool write, double *total_ns)
{
    int error = floor->file < 0 ? make_file(floor) : 0;

    if (error != 0)
        return error;
    uint8_t *region =
        mmap(NULL, SEQUENTIAL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, floor->file, 0);

    if (region == MAP_FAILED)
        return -errno;
    uint64_t start_ticks = clock_ticks();

    walk(region, write);
    uint64_t ticks = clock_ticks() - start_ticks;
    uint64_t pages = SEQUENTIAL_BYTES / PAGE_BYTES;

    *total_ns = (double)ticks / floor->ticks_per_ns / (double)pages;
    return munmap(region, SEQUENTIAL_BYTES) == 0 ? 0 : -errno;
}

int fault_floor_sample(struct fault_floor *floor, enum fault_case which, double *total_ns)
{
    if (fault_case_is_sequential(which))
        return sample_walk(floor, which == CASE_SEQUENTIAL_WRITE, total_ns);
    return sample_fault(floor, which, total_ns);
}

/* --- the floor --- */

static int set_up(struct fault_floor *floor, char *problem, size_t problem_bytes)
{
    int error = bare_window_create(&floor->window, FRAME_TOTAL, problem, problem_bytes);

    for (unsigned place = 0; place < PLACE_COUNT && error == 0; place++) {
        error = bare_window_place(&floor->window, PLACE_OFFSET + place * PLACE_STRIDE, place,
                                  &floor->pages[place]);
        if (error != 0)
            snprintf(problem, problem_bytes, "the floor's pages cannot be mapped: %s",
                     strerror(-error));
    }
    return error;
}

int fault_floor_create(struct fault_floor **floor, char *problem, size_t problem_bytes)
{
    struct fault_floor *made = calloc(1, sizeof(*made));

    if (made == NULL) {
        snprintf(problem, problem_bytes, "memory ran out");
        return -ENOMEM;
    }
    made->file = -1;
    made->ticks_per_ns = clock_ticks_per_ns();
    int error = set_up(made, problem, problem_bytes);

    if (error != 0) {
        fault_floor_destroy(made);
        return error;
    }
    *floor = made;
    return 0;
}

void fault_floor_destroy(struct fault_floor *floor)
{
    bare_window_destroy(&floor->window);
    if (floor->file >= 0)
        (void)close(floor->file);
    free(floor);
}
