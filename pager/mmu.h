/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hardware's contract: what the kernel may ask of an MMU. Two stand behind it.
 *
 *   host   windows of host addresses, SIGSEGV through libsigsegv, mprotect and mmap (host_*.c)
 *   soft   a walk and a small software TLB, no signals, the geometry's whole space (mmu_soft.c)
 *
 * An MMU's space is a cache in front of one tree of tables, like a TLB: what it lets through, the
 * tables allow. Readable means the entry is present and the
 * user's (entry_is_readable); writable means that every level is writable
 * and the entry dirty. Anything let through may vanish at any time, at no cost but a refill, so an
 * MMU may drop what it likes; it never lets through what it was not told to install.
 *
 * The kernel's side of the bargain: whatever it takes away in a tree it revokes, before the frame
 * behind it is read for good, given away or freed.
 *
 * All functions are called with the machine's lock held, but for `leave`, which user code's own
 * thread calls without it; all but `enter` and `leave` are safe in a signal handler.
 */
#ifndef FORKLAB_PAGER_MMU_H
#define FORKLAB_PAGER_MMU_H

#include "pt/walk.h"

struct mmu;
struct mmu_space;
struct run;

enum access { ACCESS_READ, ACCESS_WRITE };

/* One page that the tables let through, and how many neighbours may come along. */
struct mmu_install {
    va_t va;                   /* of the page that was touched */
    const struct table *table; /* the leaf table that holds it */
    unsigned slot;
    bool upper_writable; /* every level above permits writing */
    unsigned most_pages; /* map-ahead: at most so many pages at once, 1 or more */
};

/* What an MMU lets through at one page. */
typedef void mmu_visit(void *context, va_t va, pfn_t pfn, bool writable);

struct mmu_ops {
    const char *name;

    /* Ends the MMU; all its spaces were released. */
    void (*destroy)(struct mmu *mmu);

    /* How large the address space of a task that runs user code may be, in bytes. */
    uint64_t (*space_bytes)(const struct mmu *mmu);

    /*
     * Binds a space to the tree and stores it at `*place`, where NULL was. The MMU may take it away
     * again while nobody runs in it: then it stores NULL there. -ENOMEM, -ENOSPC (every space is in
     * use), -EPERM (somebody else's handler stands in the way); `mmu->problem` says more.
     */
    int (*bind)(struct mmu *mmu, struct pt_tree *tree, struct mmu_space **place);

    /* Revokes everything and gives the space back; `*place` becomes NULL. */
    void (*release)(struct mmu_space *space);

    /*
     * Lets the page through with all that its entry permits, and neighbours as far as one host call
     * reaches. 0 or -ENOMEM: the host has no mapping left even after everything was dropped.
     */
    int (*install)(struct mmu_space *space, const struct mmu_install *install);

    /* Lets nothing through in [start, end) any more. Cannot fail. */
    void (*revoke)(struct mmu_space *space, va_t start, va_t end);

    /* Lets no write through in [start, end) any more. Cannot fail. */
    void (*write_protect)(struct mmu_space *space, va_t start, va_t end);

    /* The frame that is cheapest to let through at this page, or PFN_NONE. */
    pfn_t (*frame_hint)(const struct mmu_space *space, va_t va);

    /*
     * User mode begins on this thread, in this space: fills in `run->space` and the accessors' base
     * and limit in `run->user`. To be called under one lock with `bind`, or the space may be given
     * away in between. Runs nest; each is left in reverse order. -ENOMEM, -EPERM as above.
     */
    int (*enter)(struct mmu_space *space, struct run *run);
    void (*leave)(struct mmu_space *space, struct run *run);

    /*
     * Where the page's byte at `va` lies in the direct map, if this access is let through now; NULL
     * otherwise. An MMU whose accesses are the processor's own has no such function (NULL).
     */
    uint8_t *(*translate)(struct mmu_space *space, va_t va, enum access access);

    /* Every page let through, in the order of addresses. */
    void (*visit)(const struct mmu_space *space, mmu_visit *visit, void *context);
};

/* What every MMU begins with. */
struct mmu {
    const struct mmu_ops *ops;
    struct ram *ram;
    uint64_t host_ticks; /* spent in system calls on the kernel's behalf */
    char problem[160];   /* what the last error was about, for people */
};

/* Options of the host MMU; 0 means the default. */
struct mmu_host_options {
    uint32_t mapping_budget; /* host mappings for all windows of the process: half the limit */
    uint32_t most_windows;   /* this machine's windows: as many as the arena has */
};

struct host_ram;

/* RAM from the host: one memfd and one direct map, sparse. -ENOMEM or the host's error. */
int host_ram_create(struct host_ram **ram, uint64_t bytes);
void host_ram_destroy(struct host_ram *ram);
void *host_ram_base(const struct host_ram *ram);

/* Bytes of memory that the host can still give, or UINT64_MAX if it does not tell. */
uint64_t host_memory_available_bytes(void);

/* The two MMUs. `host_ram` must be the memory under `ram`. */
int mmu_host_create(struct mmu **mmu, struct ram *ram, const struct host_ram *host_ram,
                    const struct mmu_host_options *options, char *problem, size_t problem_bytes);
int mmu_soft_create(struct mmu **mmu, struct ram *ram);

#endif
