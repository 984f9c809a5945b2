/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Host calls on windows, and their books; host_map.h says what is kept.
 *
 * Boundaries are counted before and after each change, over the words that the change can touch,
 * from bits alone: a boundary lies before a page whose access differs from its neighbour's or that
 * does not continue it in the file. Between two chunks the frames themselves are compared.
 *
 * The reservation is put back with MADV_DONTFORK, or it would not merge with the rest. Should that
 * fail, which takes a host that has no mapping left, the count is low by at most two.
 */
#include "pager/host_map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pager/clock.h"

static _Atomic int64_t process_mappings;

int64_t host_mappings(void)
{
    return atomic_load_explicit(&process_mappings, memory_order_relaxed);
}

void host_die(const char *line)
{
    ssize_t written = write(STDERR_FILENO, line, strlen(line));

    (void)written;
    abort();
}

/* --- boundaries --- */

/* May the host hold the page with the second frame in one mapping with the page before it? */
static bool frames_continue(uint32_t before, uint32_t after)
{
    return before == 0 ? after == 0 : after == before + 1;
}

struct page_state {
    uint32_t frame;
    bool readable;
    bool writable;
};

static struct page_state state_of(const struct host_window *window, uint64_t page)
{
    const struct host_chunk *chunk = window->chunks[page / CHUNK_PAGES];

    if (chunk == NULL)
        return (struct page_state){0};
    unsigned in_chunk = page % CHUNK_PAGES;
    const struct chunk_word *word = &chunk->words[in_chunk / WORD_PAGES];
    unsigned bit = in_chunk % WORD_PAGES;

    return (struct page_state){.frame = chunk->frame[in_chunk],
                               .readable = (word->readable >> bit & 1) != 0,
                               .writable = (word->writable >> bit & 1) != 0};
}

bool host_map_is_boundary(const struct host_window *window, uint64_t page)
{
    struct page_state before = {0};

    if (page > 0)
        before = state_of(window, page - 1);
    struct page_state after = state_of(window, page);

    return before.readable != after.readable || before.writable != after.writable ||
           !frames_continue(before.frame, after.frame);
}

/* Boundaries before the pages of one word. */
static unsigned boundaries_of_word(const struct host_window *window, uint64_t word_index)
{
    const struct host_chunk *chunk = window->chunks[word_index / CHUNK_WORDS];
    unsigned in_chunk = word_index % CHUNK_WORDS;
    unsigned at_start = in_chunk == 0 && host_map_is_boundary(window, word_index * WORD_PAGES);

    if (chunk == NULL)
        return at_start;
    const struct chunk_word *word = &chunk->words[in_chunk];
    uint64_t before_readable = word->readable << 1;
    uint64_t before_writable = word->writable << 1;
    uint64_t counted = ~(uint64_t)0;

    if (in_chunk == 0) {
        counted <<= 1;
    } else {
        before_readable |= word[-1].readable >> (WORD_PAGES - 1);
        before_writable |= word[-1].writable >> (WORD_PAGES - 1);
    }
    uint64_t differs =
        (word->readable ^ before_readable) | (word->writable ^ before_writable) | word->breaks;

    return at_start + (unsigned)__builtin_popcountll(differs & counted);
}

/* Boundaries that a change of [first, end) can touch, and always the same others with them. */
static int64_t boundaries_around(const struct host_window *window, uint64_t first, uint64_t end)
{
    uint64_t last = min_u64(end, window->page_count - 1);
    int64_t count = 0;

    for (uint64_t word = first / WORD_PAGES; word <= last / WORD_PAGES; word++)
        count += boundaries_of_word(window, word);
    return count;
}

static void add_boundaries(struct host_window *window, int64_t more)
{
    if (more == 0)
        return;
    window->boundaries += more;
    atomic_fetch_add_explicit(&process_mappings, more, memory_order_relaxed);
}

/* --- records --- */

static void list_remove(struct host_window *window, struct host_chunk *chunk)
{
    if (chunk->newer != NULL)
        chunk->newer->older = chunk->older;
    else
        window->newest = chunk->older;
    if (chunk->older != NULL)
        chunk->older->newer = chunk->newer;
    else
        window->oldest = chunk->newer;
}

static void list_push(struct host_window *window, struct host_chunk *chunk)
{
    chunk->newer = NULL;
    chunk->older = window->newest;
    if (window->newest != NULL)
        window->newest->newer = chunk;
    else
        window->oldest = chunk;
    window->newest = chunk;
}

struct host_chunk *host_chunk_get(struct host_window *window, uint32_t index)
{
    struct host_chunk *chunk = window->chunks[index];

    if (chunk != NULL)
        return chunk;
    chunk = calloc(1, sizeof(*chunk));
    if (chunk == NULL)
        return NULL;
    chunk->index = index;
    window->chunks[index] = chunk;
    list_push(window, chunk);
    return chunk;
}

void host_chunk_settle(struct host_window *window, struct host_chunk *chunk)
{
    for (unsigned word = 0; word < CHUNK_WORDS; word++)
        if (chunk->words[word].mapped != 0)
            return;
    list_remove(window, chunk);
    window->chunks[chunk->index] = NULL;
    free(chunk);
}

static void window_to_front(struct host_mmu *mmu, struct host_window *window)
{
    if (mmu->newest == window)
        return;
    window->newer->older = window->older;
    if (window->older != NULL)
        window->older->newer = window->newer;
    else
        mmu->oldest = window->newer;
    window->newer = NULL;
    window->older = mmu->newest;
    mmu->newest->newer = window;
    mmu->newest = window;
}

void host_chunk_touch(struct host_window *window, struct host_chunk *chunk)
{
    chunk->installed_at = ++window->mmu->installs;
    if (window->newest != chunk) {
        list_remove(window, chunk);
        list_push(window, chunk);
    }
    window_to_front(window->mmu, window);
}

/* The bits of the pages [first, end) that lie in this word of the chunk. */
static uint64_t bits_in_word(unsigned first, unsigned end, unsigned word)
{
    unsigned low = word * WORD_PAGES;
    unsigned from = first > low ? first - low : 0;
    unsigned to = end < low + WORD_PAGES ? end - low : WORD_PAGES;

    return (~(uint64_t)0 >> (WORD_PAGES - (to - from))) << from;
}

/* Puts the chunk into the sets, or takes it out, as its bits say. */
static void settle_sets(struct host_window *window, const struct host_chunk *chunk)
{
    uint64_t readable = 0;
    uint64_t writable = 0;

    for (unsigned word = 0; word < CHUNK_WORDS; word++) {
        readable |= chunk->words[word].readable;
        writable |= chunk->words[word].writable;
    }
    if (readable != 0)
        chunk_set_add(&window->let_through, chunk->index);
    else
        chunk_set_remove(&window->let_through, chunk->index);
    if (writable != 0)
        chunk_set_add(&window->writable, chunk->index);
    else
        chunk_set_remove(&window->writable, chunk->index);
}

/* Notes the access of pages [first, end) of a chunk; returns how many are not readable any more. */
static unsigned note_access(struct host_window *window, struct host_chunk *chunk, unsigned first,
                            unsigned end, enum host_access access)
{
    unsigned lost = 0;

    for (unsigned word = first / WORD_PAGES; word <= (end - 1) / WORD_PAGES; word++) {
        struct chunk_word *bits = &chunk->words[word];
        uint64_t mask = bits_in_word(first, end, word);

        if (access == HOST_ACCESS_NONE) {
            lost += (unsigned)__builtin_popcountll(bits->readable & mask);
            bits->readable &= ~mask;
        } else {
            bits->readable |= mask;
        }
        if (access == HOST_ACCESS_WRITE)
            bits->writable |= mask;
        else
            bits->writable &= ~mask;
    }
    settle_sets(window, chunk);
    return lost;
}

/* Notes whether this page continues the one before it; between chunks nothing is noted. */
static void note_break(struct host_chunk *chunk, unsigned page)
{
    if (page == 0 || page >= CHUNK_PAGES)
        return;
    uint64_t bit = (uint64_t)1 << (page % WORD_PAGES);
    struct chunk_word *word = &chunk->words[page / WORD_PAGES];

    if (frames_continue(chunk->frame[page - 1], chunk->frame[page]))
        word->breaks &= ~bit;
    else
        word->breaks |= bit;
}

/* Notes frames in a row from `frame` (pfn + 1) on, or the reservation when that is 0. */
static void note_frames(struct host_chunk *chunk, unsigned first, unsigned end, uint32_t frame)
{
    for (unsigned page = first; page < end; page++)
        chunk->frame[page] = frame == 0 ? 0 : frame + (page - first);
    for (unsigned word = first / WORD_PAGES; word <= (end - 1) / WORD_PAGES; word++) {
        uint64_t mask = bits_in_word(first, end, word);

        chunk->words[word].breaks &= ~mask;
        if (frame == 0)
            chunk->words[word].mapped &= ~mask;
        else
            chunk->words[word].mapped |= mask;
    }
    note_break(chunk, first);
    note_break(chunk, end);
}

/* --- the calls --- */

static void *address_of(const struct host_window *window, uint64_t page)
{
    return (void *)(window->base + (page << PAGE_SHIFT));
}

/*
 * mmap at an address of the arena. The thread sanitizer would take its own mmap for a write to all
 * of these pages, which races with user code that does no more than fault there.
 */
static int map_at(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
#ifdef HOST_UNDER_TSAN
    void *result = (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
#else
    void *result = mmap(address, bytes, protection, flags, fd, offset);
#endif

    return result != MAP_FAILED ? 0 : -errno;
}

static int protection_of(enum host_access access)
{
    static const int protections[] = {[HOST_ACCESS_NONE] = PROT_NONE,
                                      [HOST_ACCESS_READ] = PROT_READ,
                                      [HOST_ACCESS_WRITE] = PROT_READ | PROT_WRITE};

    return protections[access];
}

static void pay(struct host_mmu *mmu, enum event event, uint64_t start_ticks)
{
    mmu->mmu.host_ticks += clock_ticks() - start_ticks;
    event_count(mmu->mmu.ram->events, event, 1);
}

int host_map_protect(struct host_window *window, uint64_t first, uint64_t end,
                     enum host_access access)
{
    uint64_t start_ticks = clock_ticks();
    int result =
        mprotect(address_of(window, first), (end - first) << PAGE_SHIFT, protection_of(access));
    int error = result == 0 ? 0 : -errno;

    pay(window->mmu, EVENT_HOST_PROTECT, start_ticks);
    if (error != 0)
        return error;
    int64_t before = boundaries_around(window, first, end);
    unsigned lost = 0;

    for (uint64_t page = first; page < end;) {
        struct host_chunk *chunk = window->chunks[page / CHUNK_PAGES];
        uint64_t next = min_u64(end, round_down(page, CHUNK_PAGES) + CHUNK_PAGES);

        if (chunk != NULL)
            lost += note_access(window, chunk, page % CHUNK_PAGES,
                                (unsigned)((next - 1) % CHUNK_PAGES) + 1, access);
        page = next;
    }
    event_count(window->mmu->mmu.ram->events, EVENT_PAGE_REVOKED, lost);
    add_boundaries(window, boundaries_around(window, first, end) - before);
    return 0;
}

int host_map_frames(struct host_window *window, uint64_t first, uint64_t end, pfn_t pfn,
                    enum host_access access)
{
    struct host_chunk *chunk = window->chunks[first / CHUNK_PAGES];
    unsigned first_in_chunk = first % CHUNK_PAGES;
    unsigned end_in_chunk = first_in_chunk + (unsigned)(end - first);

    assert(chunk != NULL && end_in_chunk <= CHUNK_PAGES);
    uint64_t start_ticks = clock_ticks();
    int error = map_at(address_of(window, first), (end - first) << PAGE_SHIFT,
                       protection_of(access), MAP_SHARED | MAP_FIXED | MAP_POPULATE,
                       window->mmu->ram_fd, (off_t)((uint64_t)pfn << PAGE_SHIFT));

    pay(window->mmu, EVENT_HOST_MAP, start_ticks);
    if (error != 0)
        return error;
    int64_t before = boundaries_around(window, first, end);

    note_frames(chunk, first_in_chunk, end_in_chunk, pfn + 1);
    note_access(window, chunk, first_in_chunk, end_in_chunk, access);
    add_boundaries(window, boundaries_around(window, first, end) - before);
    return 0;
}

static int reserve_again(const struct host_window *window, uint64_t first, uint64_t end)
{
    void *address = address_of(window, first);
    size_t bytes = (end - first) << PAGE_SHIFT;

    int error = map_at(address, bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);

    if (error == 0)
        (void)madvise(address, bytes, MADV_DONTFORK);
    return error;
}

static unsigned note_drop(struct host_window *window, uint64_t first, uint64_t end)
{
    unsigned lost = 0;

    for (uint64_t page = first; page < end;) {
        struct host_chunk *chunk = window->chunks[page / CHUNK_PAGES];
        uint64_t next = min_u64(end, round_down(page, CHUNK_PAGES) + CHUNK_PAGES);

        if (chunk != NULL) {
            unsigned from = page % CHUNK_PAGES;
            unsigned to = (unsigned)((next - 1) % CHUNK_PAGES) + 1;

            lost += note_access(window, chunk, from, to, HOST_ACCESS_NONE);
            note_frames(chunk, from, to, 0);
        }
        page = next;
    }
    return lost;
}

/* Frees the records of chunks that hold nothing any more. */
static void settle_chunks(struct host_window *window, uint64_t first, uint64_t end)
{
    for (uint64_t index = first / CHUNK_PAGES; index <= (end - 1) / CHUNK_PAGES; index++)
        if (window->chunks[index] != NULL)
            host_chunk_settle(window, window->chunks[index]);
}

int host_map_drop(struct host_mmu *mmu, struct host_window *window, uint64_t first, uint64_t end)
{
    uint64_t start_ticks = clock_ticks();
    int error = reserve_again(window, first, end);

    pay(mmu, EVENT_HOST_MAP, start_ticks);
    if (error != 0)
        return error;
    int64_t before = boundaries_around(window, first, end);
    unsigned lost = note_drop(window, first, end);

    event_count(mmu->mmu.ram->events, EVENT_PAGE_REVOKED, lost);
    add_boundaries(window, boundaries_around(window, first, end) - before);
    settle_chunks(window, first, end);
    return 0;
}

/* At the host's limit nothing can be mapped over, but unmapping makes room. */
static bool unmap_and_reserve(const struct host_window *window)
{
    void *address = address_of(window, 0);
    size_t bytes = window->page_count << PAGE_SHIFT;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;

    if (munmap(address, bytes) != 0 || map_at(address, bytes, PROT_NONE, flags, -1, 0) != 0)
        return false;
    (void)madvise(address, bytes, MADV_DONTFORK);
    return true;
}

void host_map_flush(struct host_mmu *mmu, struct host_window *window)
{
    uint64_t start_ticks = clock_ticks();

    if (reserve_again(window, 0, window->page_count) != 0 && !unmap_and_reserve(window))
        host_die("forklab: the host refuses to take back a window\n");
    pay(mmu, EVENT_HOST_MAP, start_ticks);
    add_boundaries(window, -window->boundaries);
    while (window->newest != NULL) {
        struct host_chunk *chunk = window->newest;

        chunk_set_remove(&window->let_through, chunk->index);
        chunk_set_remove(&window->writable, chunk->index);
        list_remove(window, chunk);
        window->chunks[chunk->index] = NULL;
        free(chunk);
    }
}
