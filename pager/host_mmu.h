/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host MMU of one machine, as the files of the host layer share it.
 *
 *   host_arena    the process's reservation of addresses, cut into slots
 *   host_window   one slot: what is mapped there and what is let through; install, revoke
 *   host_map      the host calls behind that, and the count of the host's mappings
 *   host_budget   what is dropped when the host's mappings run short
 *   host_fault    the signal handler, and which run is current on a thread
 *   host_mmu      the contract of mmu.h on top of these
 *
 * Locks. Everything here is under the machine's lock, but for what several machines share: the free
 * slots (the arena's lock), the handler's coming and going, the list of threads, and the sum of
 * mappings (atomic). Those locks are leaves: nothing is called with one held that takes another.
 */
#ifndef FORKLAB_PAGER_HOST_MMU_H
#define FORKLAB_PAGER_HOST_MMU_H

#include "pager/mmu.h"

/* The thread sanitizer leaves little room for the arena. */
#if defined(__SANITIZE_THREAD__)
#define HOST_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOST_UNDER_TSAN 1
#endif
#endif

struct host_window;

/* The free slots in which a machine's frames still lie, under the arena's lock. */
struct host_home {
    struct host_window *newest;
    struct host_window *oldest;
    struct host_home *next;
    struct host_home *previous;
};

struct host_mmu {
    struct mmu mmu; /* first: a pointer to it is one to this */
    int ram_fd;
    uint32_t mapping_budget; /* for the sum of all machines' mappings */
    uint32_t most_windows;
    uint32_t bound_windows;
    struct host_window *newest; /* bound windows by their last install */
    struct host_window *oldest;
    uint64_t installs; /* stamps for chunks */
    struct host_home home;
};

static inline struct host_mmu *host_mmu_of(struct mmu *mmu)
{
    return (struct host_mmu *)(void *)mmu;
}

#endif
