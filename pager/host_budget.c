/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Giving up what windows hold; host_budget.h says in which order.
 *
 * A chunk in which protected pages are left is stamped anew, as if it had just been installed in.
 * So a round ends at the first chunk whose stamp is younger than the round, and what is protected
 * by all threads may be more than the budget: then the machine goes on over it, which half of the
 * host's limit leaves room for.
 */
#include "pager/host_budget.h"

#include <stdio.h>
#include <stdlib.h>

#include "pager/host_arena.h"
#include "pager/host_fault.h"
#include "pager/host_map.h"

enum { USUAL_MOST_MAPPINGS = 65530 };

uint32_t host_budget_default(void)
{
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    char line[32] = "";
    uint64_t most = 0;

    if (file != NULL && fgets(line, sizeof(line), file) != NULL)
        most = strtoull(line, NULL, 10);
    if (file != NULL)
        (void)fclose(file);
    if (most == 0)
        most = USUAL_MOST_MAPPINGS;
    return (uint32_t)min_u64(most / 2, UINT32_MAX);
}

/* The window that holds the machine's oldest chunk, or NULL when nothing is mapped. */
static struct host_window *oldest_window(const struct host_mmu *mmu)
{
    struct host_window *found = NULL;

    for (struct host_window *window = mmu->oldest; window != NULL; window = window->newer)
        if (window->oldest != NULL &&
            (found == NULL || window->oldest->installed_at < found->oldest->installed_at))
            found = window;
    return found;
}

/* The next pages of the chunk that are not protected; false at the end. */
static bool next_unprotected(const uint64_t keep[CHUNK_WORDS], unsigned *first, unsigned *end)
{
    unsigned page = *end;

    while (page < CHUNK_PAGES && (keep[page / WORD_PAGES] >> (page % WORD_PAGES) & 1) != 0)
        page++;
    *first = page;
    while (page < CHUNK_PAGES && (keep[page / WORD_PAGES] >> (page % WORD_PAGES) & 1) == 0)
        page++;
    *end = page;
    return *first < *end;
}

static bool holds_mapped(const struct host_chunk *chunk, unsigned first, unsigned end)
{
    for (unsigned page = first; page < end; page++)
        if (chunk->frame[page] != 0)
            return true;
    return false;
}

static void evict(struct host_mmu *mmu, struct host_window *window, struct host_chunk *chunk)
{
    uint64_t start = (uint64_t)chunk->index * CHUNK_PAGES;
    uint64_t keep[CHUNK_WORDS] = {0};
    uint32_t index = chunk->index;
    unsigned first = 0;
    unsigned end = 0;
    bool dropped = false;

    host_fault_recent_pages(window->base + (start << PAGE_SHIFT), keep);
    while (window->chunks[index] != NULL && next_unprotected(keep, &first, &end))
        if (holds_mapped(chunk, first, end))
            dropped |= host_map_drop(mmu, window, start + first, start + end) == 0;
    if (dropped)
        event_count(mmu->mmu.ram->events, EVENT_WINDOW_EVICTED, 1);
    if (window->chunks[index] != NULL)
        host_chunk_touch(window, chunk);
}

/* Evicts the oldest chunk; false when all were looked at since the machine's stamp was `round`. */
static bool evict_oldest(struct host_mmu *mmu, uint64_t round)
{
    struct host_window *window = oldest_window(mmu);

    if (window == NULL || window->oldest->installed_at > round)
        return false;
    evict(mmu, window, window->oldest);
    return true;
}

void host_budget_make_room(struct host_mmu *mmu)
{
    uint64_t round = mmu->installs;

    while (host_mappings() + 2 > mmu->mapping_budget)
        if (!host_arena_flush_one(mmu) && !evict_oldest(mmu, round))
            return;
}

void host_budget_drop_all(struct host_mmu *mmu)
{
    uint64_t round = mmu->installs;

    while (host_arena_flush_one(mmu) || evict_oldest(mmu, round))
        ;
}
