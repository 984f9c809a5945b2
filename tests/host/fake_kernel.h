/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The least kernel that the host layer can be tried with: a machine with a lock, address spaces
 * whose entries a test writes itself, and runs. It defines what the host layer asks of a kernel
 * (run_fault and its like), so it stands in place of the real one.
 *
 * A fault at a present entry that permits the access sets A and D and installs the page; any other
 * kills the run, which notes where and why.
 */
#ifndef FORKLAB_TESTS_FAKE_KERNEL_H
#define FORKLAB_TESTS_FAKE_KERNEL_H

#include <pthread.h>

#include "pager/mmu.h"
#include "pager/run.h"

struct fake_machine {
    pthread_mutex_t lock;
    struct event_log *log;
    struct host_ram *host_ram;
    struct ram ram;
    struct mmu *mmu;
    unsigned most_pages; /* map-ahead */
    uint64_t faults;
    bool crash_in_fault; /* the next fault makes the kernel itself fault */
};

struct fake_space {
    struct fake_machine *machine;
    struct pt_tree tree;
    struct mmu_space *space;
};

/* How a run ended. */
struct fake_result {
    int error; /* it did not begin */
    bool killed;
    bool wild;
    va_t va;
    enum access access;
};

typedef void fake_code(struct forklab_user *user, void *argument);

/* `options` NULL: the defaults. Fails the test when anything does. */
void fake_machine_create(struct fake_machine *machine, const struct geometry *geometry,
                         uint64_t bytes, const struct mmu_host_options *options);
void fake_machine_destroy(struct fake_machine *machine);

void fake_space_create(struct fake_space *space, struct fake_machine *machine);
void fake_space_destroy(struct fake_space *space);
void fake_space_release(struct fake_space *space);

/* Maps the page to a new frame (near the window's own, if it has one) or to the frame given. */
pfn_t fake_map(struct fake_space *space, va_t va, entry_t flags);
void fake_map_frame(struct fake_space *space, va_t va, pfn_t pfn, entry_t flags);

/* Takes a page away: the entry, then what the window lets through, then the frame. */
void fake_unmap(struct fake_space *space, va_t va);

/* Takes W and D from the entries of [start, end) and from the window. */
void fake_write_protect(struct fake_space *space, va_t start, va_t end);

/* What a fault would do, without one. */
int fake_touch(struct fake_space *space, va_t va, enum access access);

struct fake_result fake_run(struct fake_space *space, fake_code *code, void *argument);

/* The run's space, for code that looks at it. */
struct fake_space *fake_space_of(struct forklab_user *user);

static inline uint64_t fake_count(const struct fake_machine *machine, enum event event)
{
    return machine->log->counts[event];
}

#endif
