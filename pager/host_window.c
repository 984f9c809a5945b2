/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a window does on its machine's behalf: lets pages through with as few host calls as can be,
 * and takes them back run by run.
 *
 * An install is planned, then done. The plan is the run of pages around the one that was touched
 * that one host call reaches: mprotect where all the frames wanted lie there already, mmap where
 * they do not and are in a row in the file. A plan does not cross its chunk. It is made anew after
 * anything was given up for room, since that may have changed the same chunk.
 *
 * Runs to take back are looked for from the sets and bits, each time anew from the last one's end,
 * so that nothing is held over a host call. A run goes over short gaps when the call changes
 * nothing there: a system call costs more than a few mappings that stay as they are.
 */
#include "pager/host_window.h"

#include <errno.h>

#include "pager/host_budget.h"
#include "pager/host_fault.h"
#include "pager/host_map.h"

/* The host flushes its TLB page by page over a short range, so gaps have their price too. */
enum { MOST_GAP_PAGES = 3 };

/* --- sets of chunks --- */

void chunk_set_add(struct chunk_set *set, uint32_t index)
{
    set->words[index / 64] |= (uint64_t)1 << (index % 64);
    set->summary[index / 4096] |= (uint64_t)1 << (index / 64 % 64);
}

void chunk_set_remove(struct chunk_set *set, uint32_t index)
{
    set->words[index / 64] &= ~((uint64_t)1 << (index % 64));
    if (set->words[index / 64] == 0)
        set->summary[index / 4096] &= ~((uint64_t)1 << (index / 64 % 64));
}

/* The first bit set at or after `bit`, or `bits` when there is none. */
static uint32_t bit_next(const uint64_t *words, uint32_t bit, uint32_t bits)
{
    if (bit >= bits)
        return bits;
    uint64_t word = words[bit / 64] & (~(uint64_t)0 << (bit % 64));

    for (uint32_t index = bit / 64;;) {
        if (word != 0)
            return index * 64 + (uint32_t)__builtin_ctzll(word);
        if (++index == bits / 64)
            return bits;
        word = words[index];
    }
}

uint32_t chunk_set_next(const struct chunk_set *set, uint32_t index)
{
    if (index >= MOST_CHUNKS)
        return MOST_CHUNKS;
    uint64_t here = set->words[index / 64] >> (index % 64);

    if (here != 0)
        return index + (uint32_t)__builtin_ctzll(here);
    uint32_t word = bit_next(set->summary, index / 64 + 1, MOST_CHUNKS / 64);

    if (word == MOST_CHUNKS / 64)
        return MOST_CHUNKS;
    return word * 64 + (uint32_t)__builtin_ctzll(set->words[word]);
}

/* --- runs of pages --- */

/* Bits of a word: those let through, or only the writable ones. */
static uint64_t bits_of(const struct chunk_word *word, bool writable)
{
    return writable ? word->writable : word->readable;
}

/* The first page of [page, end) whose bit is set, or `end`. */
static uint64_t page_next(const struct host_window *window, bool writable, uint64_t page,
                          uint64_t end)
{
    const struct chunk_set *set = writable ? &window->writable : &window->let_through;

    while (page < end) {
        uint64_t index = chunk_set_next(set, (uint32_t)(page / CHUNK_PAGES));

        if (index == MOST_CHUNKS)
            return end;
        if (index != page / CHUNK_PAGES)
            page = index * CHUNK_PAGES;
        const struct host_chunk *chunk = window->chunks[index];
        unsigned in_chunk = page % CHUNK_PAGES;
        unsigned word = in_chunk / WORD_PAGES;
        uint64_t bits = bits_of(&chunk->words[word], writable) >> (in_chunk % WORD_PAGES);

        if (bits != 0)
            return min_u64(end, page + (unsigned)__builtin_ctzll(bits));
        while (++word < CHUNK_WORDS && bits_of(&chunk->words[word], writable) == 0)
            ;
        page = index * CHUNK_PAGES + (uint64_t)word * WORD_PAGES;
    }
    return end;
}

/* The first page of [page, end) whose bit is not set, or `end`. */
static uint64_t page_next_clear(const struct host_window *window, bool writable, uint64_t page,
                                uint64_t end)
{
    while (page < end) {
        const struct host_chunk *chunk = window->chunks[page / CHUNK_PAGES];

        if (chunk == NULL)
            return page;
        unsigned in_chunk = page % CHUNK_PAGES;
        const struct chunk_word *word = &chunk->words[in_chunk / WORD_PAGES];
        uint64_t clear = ~bits_of(word, writable) >> (in_chunk % WORD_PAGES);

        if (clear != 0)
            return min_u64(end, page + (unsigned)__builtin_ctzll(clear));
        page = round_down(page, WORD_PAGES) + WORD_PAGES;
    }
    return end;
}

struct page_run {
    uint64_t first;
    uint64_t end;
};

/*
 * The next run in [page, end) to be narrowed. Gaps in it are not let through at all when everything
 * is to go, and readable when only writing is.
 */
static bool next_run(const struct host_window *window, bool writable, uint64_t page, uint64_t end,
                     struct page_run *run)
{
    run->first = page_next(window, writable, page, end);
    if (run->first == end)
        return false;
    run->end = page_next_clear(window, writable, run->first, end);
    for (;;) {
        uint64_t far = min_u64(end, run->end + MOST_GAP_PAGES);
        uint64_t next = page_next(window, writable, run->end, far);

        if (next == far || (writable && page_next_clear(window, false, run->end, next) != next))
            return true;
        run->end = page_next_clear(window, writable, next, end);
    }
}

/* The run with the rest of the mappings at its ends, which the host then need not split. */
static struct page_run widened(const struct host_window *window, const struct page_run *run)
{
    struct page_run wide = *run;

    while (!host_map_is_boundary(window, wide.first))
        wide.first--;
    while (!host_map_is_boundary(window, wide.end))
        wide.end++;
    return wide;
}

/*
 * This must not fail. Where the host has no mapping left, more is narrowed or dropped than asked.
 */
static void narrow_run(struct host_window *window, const struct page_run *run,
                       enum host_access access)
{
    if (host_map_protect(window, run->first, run->end, access) == 0)
        return;
    struct page_run wide = widened(window, run);

    if (host_map_protect(window, wide.first, wide.end, access) == 0)
        return;
    if (host_map_drop(window->mmu, window, run->first, run->end) == 0)
        return;
    uint64_t first = round_down(run->first, CHUNK_PAGES);
    uint64_t end = min_u64(round_up(run->end, CHUNK_PAGES), window->page_count);

    if (host_map_drop(window->mmu, window, first, end) != 0)
        host_die("forklab: the host refuses to take access to pages away\n");
}

static void narrow(struct host_window *window, va_t start, va_t end, bool writable,
                   enum host_access access)
{
    uint64_t page = start >> PAGE_SHIFT;
    uint64_t end_page = min_u64(
        round_up(min_u64(end, window->limit_bytes), PAGE_BYTES) >> PAGE_SHIFT, window->page_count);
    struct page_run run;

    while (next_run(window, writable, page, end_page, &run)) {
        narrow_run(window, &run, access);
        page = run.end;
    }
}

void host_window_revoke(struct host_window *window, va_t start, va_t end)
{
    narrow(window, start, end, false, HOST_ACCESS_NONE);
}

void host_window_write_protect(struct host_window *window, va_t start, va_t end)
{
    narrow(window, start, end, true, HOST_ACCESS_READ);
}

/* --- install --- */

struct plan {
    uint64_t first; /* pages of the window */
    uint64_t end;
    pfn_t pfn; /* of the first page, where frames change */
    bool remap;
    bool needed; /* false: all of it is let through already */
    enum host_access access;
};

/* What an install is about, worked out once. */
struct request {
    const struct mmu_install *install;
    const struct ram *ram;
    const struct host_chunk *chunk;
    uint64_t page;
    pfn_t pfn;
    bool writable;
};

static bool entry_wants_write(const struct mmu_install *install, entry_t entry)
{
    return install->upper_writable && entry_is_writable(entry) && entry_is_dirty(entry);
}

/* Is the page, `distance` pages from the one touched, let through as wanted? */
static bool is_installed(const struct request *request, int distance)
{
    unsigned in_chunk = (unsigned)((int)(request->page % CHUNK_PAGES) + distance);
    const struct chunk_word *word = &request->chunk->words[in_chunk / WORD_PAGES];

    return (bits_of(word, request->writable) >> (in_chunk % WORD_PAGES) & 1) != 0;
}

static uint32_t frame_at(const struct request *request, int distance)
{
    return request->chunk->frame[(int)(request->page % CHUNK_PAGES) + distance];
}

/* May this neighbour come along in the same host call? */
static bool neighbour_joins(const struct request *request, bool remap, int distance)
{
    const struct mmu_install *install = request->install;
    unsigned slot = (unsigned)((int)install->slot + distance);
    entry_t entry = table_entry(request->ram, install->table, slot);

    if (!entry_is_readable(entry) || entry_wants_write(install, entry) != request->writable)
        return false;
    if (is_installed(request, distance))
        return false;
    if (remap)
        return entry_pfn(entry) == request->pfn + (pfn_t)distance;
    return frame_at(request, distance) == entry_pfn(entry) + 1;
}

/* How far map-ahead may go down and up from the page touched. */
static void reach_of(const struct host_window *window, const struct request *request, int *down,
                     int *up)
{
    unsigned most = request->install->most_pages;
    unsigned in_chunk = request->page % CHUNK_PAGES;
    unsigned in_block = (unsigned)(request->page % most);
    unsigned slot = request->install->slot;
    uint64_t limit_pages = window->limit_bytes >> PAGE_SHIFT;
    uint64_t above = min_u64(most - 1 - in_block, CHUNK_PAGES - 1 - in_chunk);

    above = min_u64(above, geometry_slots(request->ram->geometry) - 1 - slot);
    *down = (int)min_u64(min_u64(in_block, in_chunk), slot);
    *up = (int)min_u64(above, limit_pages - 1 - request->page);
}

static struct plan make_plan(const struct host_window *window, const struct request *request)
{
    struct plan plan = {.remap = frame_at(request, 0) != request->pfn + 1,
                        .access = request->writable ? HOST_ACCESS_WRITE : HOST_ACCESS_READ};
    int reach_down;
    int reach_up;
    int down = 0;
    int up = 0;

    plan.needed = plan.remap || !is_installed(request, 0);
    if (!plan.needed)
        return plan;
    reach_of(window, request, &reach_down, &reach_up);
    while (down < reach_down && neighbour_joins(request, plan.remap, -(down + 1)))
        down++;
    while (up < reach_up && neighbour_joins(request, plan.remap, up + 1))
        up++;
    plan.first = request->page - (unsigned)down;
    plan.end = request->page + (unsigned)up + 1;
    plan.pfn = request->pfn - (pfn_t)down;
    return plan;
}

static int carry_out(struct host_window *window, const struct plan *plan)
{
    int error;

    if (plan->remap)
        error = host_map_frames(window, plan->first, plan->end, plan->pfn, plan->access);
    else
        error = host_map_protect(window, plan->first, plan->end, plan->access);
    if (error == 0)
        event_count(window->mmu->mmu.ram->events, EVENT_PAGE_INSTALLED, plan->end - plan->first);
    return error;
}

/* Plans and does it. A record that was made for nothing goes again. */
static int try_install(struct host_window *window, struct request *request)
{
    struct host_chunk *chunk = host_chunk_get(window, (uint32_t)(request->page / CHUNK_PAGES));

    if (chunk == NULL)
        return -ENOMEM;
    request->chunk = chunk;
    struct plan plan = make_plan(window, request);
    int error = plan.needed ? carry_out(window, &plan) : 0;

    if (error == 0)
        host_chunk_touch(window, chunk);
    else
        host_chunk_settle(window, chunk);
    return error;
}

int host_window_install(struct host_window *window, const struct mmu_install *install)
{
    struct host_mmu *mmu = window->mmu;
    entry_t entry = table_entry(mmu->mmu.ram, install->table, install->slot);
    struct request request = {.install = install,
                              .ram = mmu->mmu.ram,
                              .page = install->va >> PAGE_SHIFT,
                              .pfn = entry_pfn(entry),
                              .writable = entry_wants_write(install, entry)};

    if (install->va >= window->limit_bytes || !entry_is_readable(entry))
        return -EINVAL;
    host_fault_note_install(window->base + page_of(install->va));
    /* One call adds at most two mappings. */
    if (host_mappings() + 2 > mmu->mapping_budget)
        host_budget_make_room(mmu);
    int error = try_install(window, &request);

    if (error == -ENOMEM) {
        host_budget_drop_all(mmu);
        error = try_install(window, &request);
    }
    return error;
}

/* --- looking --- */

pfn_t host_window_frame_hint(const struct host_window *window, va_t va)
{
    uint64_t page = va >> PAGE_SHIFT;

    if (va >= window->limit_bytes || window->chunks[page / CHUNK_PAGES] == NULL)
        return PFN_NONE;
    /* Nothing mapped is 0, and PFN_NONE is all ones. */
    return (pfn_t)window->chunks[page / CHUNK_PAGES]->frame[page % CHUNK_PAGES] - 1;
}

bool host_window_is_readable(const struct host_window *window, va_t va)
{
    uint64_t page = va >> PAGE_SHIFT;

    return va < window->limit_bytes && page_next(window, false, page, page + 1) == page;
}

void host_window_visit(const struct host_window *window, mmu_visit *visit, void *context)
{
    uint64_t end = window->page_count;

    for (uint64_t page = page_next(window, false, 0, end); page < end;
         page = page_next(window, false, page + 1, end)) {
        const struct host_chunk *chunk = window->chunks[page / CHUNK_PAGES];
        bool writable = page_next(window, true, page, page + 1) == page;

        visit(context, page << PAGE_SHIFT, chunk->frame[page % CHUNK_PAGES] - 1, writable);
    }
}
