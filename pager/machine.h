/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine: RAM, an MMU, tasks and the policies of one kernel, in one struct. Several may live in
 * one process; they share nothing but the host layer's arena.
 *
 * One lock for a machine is taken where user code enters the kernel, by a call or a fault, as
 * kernels began. Nothing is held while user code runs. Functions named `_locked` and everything in
 * files that says so expect it held.
 */
#ifndef FORKLAB_PAGER_MACHINE_H
#define FORKLAB_PAGER_MACHINE_H

#include <pthread.h>

#include "pager/clock.h"
#include "pager/kernel.h"
#include "pager/mmu.h"
#include "pt/frame.h"
#include "pt/pool.h"

struct object;
struct task;

enum mmu_kind { MMU_HOST, MMU_SOFT };

/* What a machine is made of; 0 and NULL mean the default. */
struct machine_options {
    const struct kernel *kernel;     /* modern */
    const struct geometry *geometry; /* x86-64 */
    enum mmu_kind mmu;               /* MMU_HOST */
    uint64_t ram_bytes;              /* 1 GiB */
    unsigned map_ahead_pages;        /* 16; 1 shows every page's own fault */
    bool no_zero_page; /* a read of anonymous memory takes a frame, as in some virtual machines */
    uint64_t most_space_bytes; /* of an address space: all that the MMU has */
    uint32_t most_vmas;        /* of an address space: the kernel's own limit */
    struct mmu_host_options host;
};

struct machine {
    pthread_mutex_t lock;
    pthread_cond_t child_ended; /* some child of somebody became a zombie */
    const struct kernel *kernel;
    struct host_ram *host_ram;
    struct ram ram;
    struct mmu *mmu;
    void *rmap_context;
    struct pool vmas;        /* each with the links of the kernel's index behind it */
    struct pool index_nodes; /* of the kernel's index */
    struct pool mms;
    struct pool tasks;
    struct pool objects;
    struct pool anon_families;
    struct pool anon_links;
    struct object *object_list;
    struct task *task_list;
    struct task *current; /* who entered the kernel last; NULL: has been reaped */
    uint32_t last_task_id;
    uint64_t last_find_sequence;
    unsigned map_ahead_pages;
    bool no_zero_page;
    bool may_share_tables; /* some kernel that it ran shares them */
    uint64_t most_space_bytes;
    uint32_t most_vmas; /* of a new address space */
    uint64_t changes;   /* grows with everything that can change what an access does */
    /* time inside the kernel, without the host's system calls */
    uint64_t kernel_ticks;
    uint64_t entered_ticks;
    uint64_t entered_host_ticks;
    struct event_log events;
};

/* A machine with no task. On failure a negative errno and, in `problem`, one line that says what
 * is wrong and what would be right. */
int machine_create(struct machine **machine, const struct machine_options *options, char *problem,
                   size_t problem_bytes);

/* Ends a machine. Its tasks must have been reaped or are ended here; nobody runs them. */
void machine_destroy(struct machine *machine);

/* Goes on under another kernel: -EINVAL unless kernels_are_compatible(). */
int machine_set_kernel(struct machine *machine, const struct kernel *kernel);

/* Shuffles the free frames (at most so many) and reverse-map elements: -ENOMEM. */
int machine_age(struct machine *machine, uint32_t frames, uint64_t seed);

/* The lock, and the time that is spent under it. */
void machine_lock(struct machine *machine);
void machine_unlock(struct machine *machine);

/* Waits for a child of somebody to end, without the lock and off the kernel's clock. */
void machine_wait_for_child(struct machine *machine);

/* Frames in use, all counted: what a test compares before and after. */
uint32_t machine_used_frames(struct machine *machine);

#endif
