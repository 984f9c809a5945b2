/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arena and its free slots; host_arena.h says who gets which.
 *
 * Nothing of the arena is ever unmapped while the process lives. Its records, and the tables from
 * chunk numbers to chunks, are reserved with it: the host gives memory only for what is touched. A
 * process forked by the host has no arena: what was mapped over the reservation would otherwise be
 * shared with it.
 */
#include "pager/host_arena.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "pager/host_map.h"

#define GIB ((uint64_t)1 << 30)
#define CHUNK_BYTES ((uint64_t)CHUNK_PAGES << PAGE_SHIFT)

#ifdef HOST_UNDER_TSAN
#define MOST_SLOT_BYTES GIB
#else
#define MOST_SLOT_BYTES (32 * GIB)
#endif
#define LEAST_SLOT_BYTES (GIB / 4)

enum { MOST_SLOTS = 1024, LEAST_SLOTS = 16 };

_Static_assert(MOST_SLOT_BYTES / CHUNK_BYTES <= MOST_CHUNKS, "a slot has too many chunks");

/* The process's one arena. */
static struct {
    pthread_mutex_t lock;
    uintptr_t start;
    uint64_t bytes;
    uint64_t slot_bytes;
    uint32_t slot_count;
    uint32_t used_slots; /* slots from it on were never handed out */
    struct host_window *slots;
    struct host_window *clean; /* free ones, linked by `older` */
    struct host_home *homes;
    bool is_parents; /* this process was forked by the one that reserved it */
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

uintptr_t host_arena_start(void)
{
    return arena.start;
}

uint64_t host_arena_bytes(void)
{
    return arena.bytes;
}

uint64_t host_arena_slot_bytes(void)
{
    return arena.slot_bytes;
}

/* --- the reservation --- */

static void *reserve(uint64_t bytes, int protection)
{
    void *start = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return start == MAP_FAILED ? NULL : start;
}

/* Reserves as much as the host grants: smaller slots first, then fewer. */
static void *reserve_slots(void)
{
    arena.slot_count = MOST_SLOTS;
    arena.slot_bytes = MOST_SLOT_BYTES;
    for (;;) {
        arena.bytes = arena.slot_count * arena.slot_bytes;
        /* One chunk more, to begin at a multiple of it. */
        void *start = reserve(arena.bytes + CHUNK_BYTES, PROT_NONE);

        if (start != NULL)
            return start;
        if (arena.slot_bytes > LEAST_SLOT_BYTES)
            arena.slot_bytes /= 2;
        else if (arena.slot_count > LEAST_SLOTS)
            arena.slot_count /= 2;
        else
            return NULL;
    }
}

/* Records of all slots, with their tables of chunks behind them. */
static struct host_window *reserve_records(void)
{
    uint64_t chunks = arena.slot_bytes / CHUNK_BYTES;
    uint64_t record_bytes = arena.slot_count * sizeof(struct host_window);
    uint64_t table_bytes = arena.slot_count * chunks * sizeof(struct host_chunk *);
    uint8_t *records = reserve(record_bytes + table_bytes, PROT_READ | PROT_WRITE);

    return (struct host_window *)(void *)records;
}

static void leave_to_parent(void)
{
    /* In a forked process; should it fail, what was mapped stays shared with the parent. */
    (void)munmap((void *)arena.start, arena.bytes);
    arena.bytes = 0;
    arena.is_parents = true;
}

static int reserve_all(void)
{
    void *start = reserve_slots();

    if (start == NULL)
        return -ENOMEM;
    struct host_window *slots = reserve_records();
    uint64_t reserved_bytes = arena.bytes + CHUNK_BYTES;

    if (slots == NULL || madvise(start, reserved_bytes, MADV_DONTFORK) != 0 ||
        pthread_atfork(NULL, NULL, leave_to_parent) != 0) {
        (void)munmap(start, reserved_bytes);
        return -ENOMEM;
    }
    arena.slots = slots;
    arena.start = (uintptr_t)round_up((uintptr_t)start, CHUNK_BYTES);
    return 0;
}

int host_arena_reserve(void)
{
    int error = 0;

    pthread_mutex_lock(&arena.lock);
    if (arena.is_parents)
        error = -EPERM;
    else if (arena.start == 0)
        error = reserve_all();
    pthread_mutex_unlock(&arena.lock);
    return error;
}

/* --- machines --- */

void host_arena_join(struct host_mmu *mmu)
{
    pthread_mutex_lock(&arena.lock);
    mmu->home = (struct host_home){.next = arena.homes};
    if (arena.homes != NULL)
        arena.homes->previous = &mmu->home;
    arena.homes = &mmu->home;
    pthread_mutex_unlock(&arena.lock);
}

static void push_clean(struct host_window *window)
{
    window->older = arena.clean;
    arena.clean = window;
}

static struct host_window *take_newest(struct host_home *home)
{
    struct host_window *window = home->newest;

    if (window == NULL)
        return NULL;
    home->newest = window->older;
    if (window->older != NULL)
        window->older->newer = NULL;
    else
        home->oldest = NULL;
    return window;
}

static struct host_window *take_oldest(struct host_home *home)
{
    struct host_window *window = home->oldest;

    if (window == NULL)
        return NULL;
    home->oldest = window->newer;
    if (window->newer != NULL)
        window->newer->older = NULL;
    else
        home->newest = NULL;
    return window;
}

void host_arena_part(struct host_mmu *mmu)
{
    struct host_home *home = &mmu->home;
    struct host_window *window;

    pthread_mutex_lock(&arena.lock);
    while ((window = take_oldest(home)) != NULL) {
        host_map_flush(mmu, window);
        push_clean(window);
    }
    if (home->previous != NULL)
        home->previous->next = home->next;
    else
        arena.homes = home->next;
    if (home->next != NULL)
        home->next->previous = home->previous;
    pthread_mutex_unlock(&arena.lock);
}

/* --- free slots --- */

static struct host_window *take_clean(void)
{
    struct host_window *window = arena.clean;

    if (window != NULL) {
        arena.clean = window->older;
        return window;
    }
    if (arena.used_slots == arena.slot_count)
        return NULL;
    uint64_t chunks = arena.slot_bytes / CHUNK_BYTES;
    uint32_t number = arena.used_slots++;
    struct host_chunk **tables = (struct host_chunk **)(void *)(arena.slots + arena.slot_count);

    window = &arena.slots[number];
    window->base = arena.start + number * arena.slot_bytes;
    window->page_count = arena.slot_bytes >> PAGE_SHIFT;
    window->chunks = tables + number * chunks;
    return window;
}

/* The longest free slot that still holds something, flushed; or NULL. */
static struct host_window *take_flushed(struct host_mmu *mmu)
{
    struct host_window *window = take_oldest(&mmu->home);

    for (struct host_home *home = arena.homes; window == NULL && home != NULL; home = home->next)
        window = take_oldest(home);
    if (window != NULL)
        host_map_flush(mmu, window);
    return window;
}

struct host_window *host_arena_take(struct host_mmu *mmu)
{
    pthread_mutex_lock(&arena.lock);
    struct host_window *window = take_newest(&mmu->home);

    if (window == NULL)
        window = take_clean();
    if (window == NULL)
        window = take_flushed(mmu);
    pthread_mutex_unlock(&arena.lock);
    return window;
}

void host_arena_give(struct host_mmu *mmu, struct host_window *window)
{
    struct host_home *home = &mmu->home;

    pthread_mutex_lock(&arena.lock);
    if (host_window_is_clean(window)) {
        push_clean(window);
    } else {
        window->newer = NULL;
        window->older = home->newest;
        if (home->newest != NULL)
            home->newest->newer = window;
        else
            home->oldest = window;
        home->newest = window;
    }
    pthread_mutex_unlock(&arena.lock);
}

bool host_arena_flush_one(struct host_mmu *mmu)
{
    pthread_mutex_lock(&arena.lock);
    struct host_window *window = take_flushed(mmu);

    if (window != NULL)
        push_clean(window);
    pthread_mutex_unlock(&arena.lock);
    return window != NULL;
}
