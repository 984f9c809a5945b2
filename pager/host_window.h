/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A window: the host addresses of one address space, and the record of one slot of the arena.
 *
 * Terms
 *   mapped        a frame lies under the page in the host, let through or not
 *   sticky        it stays there after a revoke, and after the window went to another address
 *                 space of the same machine: letting it through again takes mprotect alone
 *   let through   user code can read the page, or read and write it
 *   reservation   what lies under all other pages: private, anonymous, no access
 *   chunk         512 pages in a row, aligned, and the record of them
 *   boundary      between two neighbouring pages that the host cannot hold in one mapping
 *
 * Invariants
 *   writable implies readable implies mapped; a chunk has a record if and only if something in it
 *   is mapped, and then stands in the window's list, the chunk of the latest install first
 *   the last page of a slot is never mapped: an access that straddles the end faults there
 *   `boundaries` is exact: the host holds the window in as many mappings beyond the reservation
 *
 * A window is changed under its machine's lock; a free one under the arena's.
 */
#ifndef FORKLAB_PAGER_HOST_WINDOW_H
#define FORKLAB_PAGER_HOST_WINDOW_H

#include <stdatomic.h>

#include "pager/host_mmu.h"

enum {
    CHUNK_PAGES = 512,
    WORD_PAGES = 64,
    CHUNK_WORDS = CHUNK_PAGES / WORD_PAGES,
    MOST_CHUNKS = 16384,
};

/* 64 pages, one bit each. */
struct chunk_word {
    uint64_t readable;
    uint64_t writable;
    uint64_t mapped;
    uint64_t breaks; /* the page does not continue the one before it in the file */
};

struct host_chunk {
    struct chunk_word words[CHUNK_WORDS];
    uint32_t index;
    uint64_t installed_at; /* the machine's count of installs at the latest one here */
    struct host_chunk *newer;
    struct host_chunk *older;
    uint32_t frame[CHUNK_PAGES]; /* pfn + 1 of what is mapped; 0: the reservation */
};

/* A set of chunks that is walked in order without looking at each. */
struct chunk_set {
    uint64_t summary[MOST_CHUNKS / 64 / 64];
    uint64_t words[MOST_CHUNKS / 64];
};

struct host_window {
    uintptr_t base;
    uint64_t page_count;
    struct host_chunk **chunks; /* by index; NULL where nothing is mapped */
    struct host_chunk *newest;
    struct host_chunk *oldest;
    int64_t boundaries;
    struct host_window *newer; /* in whichever list it stands */
    struct host_window *older;
    /* while it is bound */
    struct host_mmu *mmu;
    struct mmu_space **place;
    uint64_t limit_bytes;     /* of the address space */
    _Atomic uint32_t runners; /* runs that are in user mode here */
    struct chunk_set let_through;
    struct chunk_set writable;
};

/* What mmu.h calls a space is a window here. */
static inline struct host_window *host_window_of(struct mmu_space *space)
{
    return (struct host_window *)(void *)space;
}

static inline bool host_window_is_clean(const struct host_window *window)
{
    return window->newest == NULL;
}

/* mmu.h's operations on a bound window. Addresses beyond the limit let nothing through. */
int host_window_install(struct host_window *window, const struct mmu_install *install);
void host_window_revoke(struct host_window *window, va_t start, va_t end);
void host_window_write_protect(struct host_window *window, va_t start, va_t end);
pfn_t host_window_frame_hint(const struct host_window *window, va_t va);
void host_window_visit(const struct host_window *window, mmu_visit *visit, void *context);

/* Is the page let through for reading? */
bool host_window_is_readable(const struct host_window *window, va_t va);

/* Chunks of a set: the first one from `index` on, or MOST_CHUNKS. */
void chunk_set_add(struct chunk_set *set, uint32_t index);
void chunk_set_remove(struct chunk_set *set, uint32_t index);
uint32_t chunk_set_next(const struct chunk_set *set, uint32_t index);

#endif
