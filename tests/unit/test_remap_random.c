/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random mremap among mmap, munmap, stores, fork and exit, against an array of bytes: what every
 * page of every task should read after each call, in every kernel, on both MMUs, in every geometry.
 *
 * The model has no mappings, only pages, so it does not say which calls are refused: the table of
 * cases does. It says that a call that is refused changes nothing, that one that needs no more than
 * pages to be judged is granted, and what a granted one leaves. Now and then memory is refused in
 * the middle of a call.
 *
 *   FORKLAB_SEED        the seed, instead of the fixed one
 *   FORKLAB_OPERATIONS  operations in a stream
 *   FORKLAB_TRACE       prints each operation before it is made
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pager/abi.h"
#include "pager/remap.h"
#include "pt/random.h"
#include "tests/support/trap_fixture.h"

#define FIXED (ABI_MREMAP_MAYMOVE | ABI_MREMAP_FIXED)
#define KEEP ABI_MREMAP_DONTUNMAP

enum {
    REGION_PAGES = 24,
    MOST_OBJECTS = 64,
    OBJECT_PAGES = 8,
    MOST_FAMILY = 3,
    USUAL_SEED = 1,
    USUAL_OPERATIONS = 120,
};

/* One page of one task. */
struct cell {
    bool is_mapped;
    bool is_shared; /* then `page` of `object`, else the byte is its own */
    unsigned object;
    unsigned page;
    char byte;
};

struct shared_bytes {
    unsigned pages;
    char bytes[OBJECT_PAGES];
};

struct model {
    struct cell cells[MOST_FAMILY][REGION_PAGES];
    struct shared_bytes objects[MOST_OBJECTS];
    unsigned object_count;
};

struct stream {
    struct trap *trap;
    struct random random;
    struct model model;
    unsigned task; /* whose turn it is: its place in the trap's list */
};

static uint64_t number_from(const char *variable, uint64_t usual)
{
    const char *text = getenv(variable);

    return text != NULL ? strtoull(text, NULL, 0) : usual;
}

static unsigned pick(struct stream *stream, unsigned below)
{
    return (unsigned)random_below(&stream->random, below);
}

static void trace(const struct stream *stream, const char *what, const uint64_t numbers[5])
{
    if (getenv("FORKLAB_TRACE") == NULL)
        return;
    print_error("%c %s %d %d %d flags %d to %d\n", stream->trap->names[stream->task], what,
                (int)numbers[0], (int)numbers[1], (int)numbers[2], (int)numbers[3],
                (int)numbers[4]);
}

/* --- what should be there --- */

static struct cell *cells_of(struct stream *stream)
{
    return stream->model.cells[stream->task];
}

/* What the page reads: as trap_expect() shows it. */
static char shown(const struct model *model, const struct cell *cell)
{
    const struct shared_bytes *object = &model->objects[cell->object];

    if (!cell->is_mapped)
        return '!';
    if (!cell->is_shared)
        return cell->byte;
    return cell->page < object->pages ? object->bytes[cell->page] : '!';
}

static void compare(struct stream *stream)
{
    char expected[TRAP_TEXT_BYTES] = "";
    size_t length = 0;

    for (unsigned task = 0; task < stream->trap->task_count; task++) {
        if (task > 0)
            expected[length++] = ' ';
        expected[length++] = stream->trap->names[task];
        expected[length++] = ':';
        for (unsigned page = 0; page < REGION_PAGES; page++)
            expected[length++] = shown(&stream->model, &stream->model.cells[task][page]);
    }
    trap_check(stream->trap);
    trap_expect(stream->trap, stream->trap->base, REGION_PAGES, expected);
}

/* --- other calls --- */

static void map(struct stream *stream, unsigned page, unsigned pages, bool is_shared)
{
    struct trap *trap = stream->trap;
    struct task *task = trap->tasks[stream->task];
    struct model *model = &stream->model;
    struct cell cell = {.is_mapped = true, .byte = '.'};

    trace(stream, is_shared ? "mmap shared" : "mmap", (uint64_t[5]){page, pages});
    if (is_shared) {
        cell.is_shared = true;
        cell.object = model->object_count++;
        model->objects[cell.object].pages = pages;
        memset(model->objects[cell.object].bytes, '.', OBJECT_PAGES);
        trap_map_shared(trap, task, trap_page(trap, page), pages);
    } else {
        trap_map(trap, task, trap_page(trap, page), pages, RW);
    }
    for (unsigned i = 0; i < pages; i++, cell.page++)
        cells_of(stream)[page + i] = cell;
}

static void unmap(struct stream *stream, unsigned page, unsigned pages)
{
    struct trap *trap = stream->trap;

    trace(stream, "munmap", (uint64_t[5]){page, pages});
    trap_unmap(trap, trap->tasks[stream->task], trap_page(trap, page), pages);
    memset(cells_of(stream) + page, 0, pages * sizeof(struct cell));
}

static void store(struct stream *stream, unsigned page)
{
    struct trap *trap = stream->trap;
    struct cell *cell = &cells_of(stream)[page];
    char byte = (char)('a' + pick(stream, 26));

    if (shown(&stream->model, cell) == '!')
        return;
    trace(stream, "store", (uint64_t[5]){page});
    trap_write(trap, trap->tasks[stream->task], trap_page(trap, page), byte);
    if (cell->is_shared)
        stream->model.objects[cell->object].bytes[cell->page] = byte;
    else
        cell->byte = byte;
}

static void fork_or_exit(struct stream *stream)
{
    struct trap *trap = stream->trap;
    unsigned last = trap->task_count - 1;

    trace(stream, "fork or exit", (uint64_t[5]){0});
    if (trap->task_count == MOST_FAMILY) {
        trap_exit(trap, trap->tasks[last]);
        return;
    }
    memcpy(stream->model.cells[last + 1], cells_of(stream), sizeof(stream->model.cells[0]));
    trap_fork(trap, trap->tasks[stream->task], (char)('C' + last));
}

/* --- mremap --- */

struct call {
    unsigned from;
    unsigned old_pages;
    unsigned new_pages;
    uint32_t flags;
    unsigned to;
};

static struct call make_call(struct stream *stream)
{
    static const uint32_t flags[] = {0, ABI_MREMAP_MAYMOVE, FIXED, FIXED, FIXED, FIXED | KEEP};
    struct call call = {.from = pick(stream, REGION_PAGES),
                        .flags = flags[pick(stream, sizeof(flags) / sizeof(flags[0]))]};

    call.old_pages = pick(stream, 8);
    call.new_pages = 1 + pick(stream, 8);
    if ((call.flags & KEEP) || pick(stream, 2) == 0)
        call.new_pages = call.old_pages;
    unsigned room =
        REGION_PAGES - (call.old_pages > call.new_pages ? call.old_pages : call.new_pages);

    call.from = call.from < room ? call.from : room;
    call.to = call.flags & ABI_MREMAP_FIXED ? pick(stream, room + 1) : call.from;
    return call;
}

/* A duplicate over its own source is refused when its target is gone: not for this model. */
static bool is_left_out(const struct call *call)
{
    return call->new_pages == 0 || (call->old_pages == 0 && call->to == call->from);
}

static bool overlaps(const struct call *call)
{
    return call->from + call->old_pages > call->to && call->to + call->new_pages > call->from;
}

/* Moves of the same size from where something is mapped are always granted; so is no change. */
static bool must_be_granted(const struct stream *stream, const struct call *call)
{
    if (!stream->model.cells[stream->task][call->from].is_mapped ||
        call->old_pages != call->new_pages)
        return false;
    return !(call->flags & ABI_MREMAP_FIXED) || !overlaps(call);
}

/* The page that follows another one `pages` on in its mapping, never touched. */
static struct cell cell_behind(struct cell cell, unsigned pages)
{
    cell.page += pages;
    cell.byte = '.';
    return cell;
}

/* What stays at a source page. */
static struct cell left_at_source(struct cell cell, uint32_t flags)
{
    if (!(flags & KEEP))
        return (struct cell){0};
    cell.byte = '.';
    return cell;
}

/* Holes move only in that they leave alone what lies where they go. */
static void model_move_many(struct cell *cells, const struct call *call)
{
    for (unsigned i = 0; i < call->old_pages; i++) {
        struct cell *from = &cells[call->from + i];

        if (!from->is_mapped)
            continue;
        cells[call->to + i] = *from;
        *from = left_at_source(*from, call->flags);
    }
}

/* One mapping, which changes its size: moved within the region, or in place. */
static void model_resize(struct cell *cells, const struct call *call)
{
    struct cell first = cells[call->from];
    struct cell moved[REGION_PAGES] = {0};

    for (unsigned i = 0; i < call->new_pages; i++)
        moved[i] = i < call->old_pages ? cells[call->from + i] : cell_behind(first, i);
    memset(cells + call->from, 0, call->old_pages * sizeof(*cells));
    memcpy(cells + call->to, moved, call->new_pages * sizeof(*cells));
}

/* The kernel chose a place outside: what is there is looked at, and goes. */
static void model_moved_away(struct stream *stream, const struct call *call, va_t address)
{
    struct trap *trap = stream->trap;
    struct task *task = trap->tasks[stream->task];
    struct cell *cells = cells_of(stream);
    struct cell first = cells[call->from];

    for (unsigned i = 0; i < call->new_pages; i++) {
        struct cell cell = i < call->old_pages ? cells[call->from + i] : cell_behind(first, i);
        char byte = shown(&stream->model, &cell);
        uint8_t seen = 0;
        int error = copyin(task, &seen, address + i * PAGE_BYTES, 1);

        assert_int_equal(error, byte == '!' ? -EFAULT : 0);
        assert_int_equal(seen, byte == '!' || byte == '.' ? 0 : byte);
    }
    memset(cells + call->from, 0, call->old_pages * sizeof(*cells));
    trap_unmap(trap, task, address, call->new_pages);
}

static void note_granted(struct stream *stream, const struct call *call, va_t address)
{
    bool stays_in_region = address == trap_page(stream->trap, call->to);

    trap_check(stream->trap);
    if (call->old_pages == call->new_pages && !(call->flags & ABI_MREMAP_FIXED))
        return;
    if (!stays_in_region)
        model_moved_away(stream, call, address);
    else if (call->old_pages == call->new_pages)
        model_move_many(cells_of(stream), call);
    else
        model_resize(cells_of(stream), call);
}

static void remap(struct stream *stream)
{
    struct trap *trap = stream->trap;
    struct call call = make_call(stream);
    struct remap_request request = {.address = trap_page(trap, call.from),
                                    .old_bytes = call.old_pages * PAGE_BYTES,
                                    .new_bytes = call.new_pages * PAGE_BYTES,
                                    .flags = call.flags,
                                    .new_address = trap_page(trap, call.to)};
    struct allocation_gate *gate = &trap->machine->ram.gate;
    va_t address = 0;

    if (is_left_out(&call))
        return;
    trace(stream, "mremap",
          (uint64_t[5]){call.from, call.old_pages, call.new_pages, call.flags, call.to});
    gate->fail_at = pick(stream, 4) == 0 ? gate->requests + 1 + pick(stream, 8) : 0;
    int error = sys_mremap(trap->tasks[stream->task], &request, &address);
    bool was_refused_memory = gate->fail_at != 0 && gate->requests >= gate->fail_at;

    gate->fail_at = 0;
    if (error == 0)
        note_granted(stream, &call, address);
    else if (!was_refused_memory && must_be_granted(stream, &call))
        fail_msg("%s: mremap came to %d", trap->where, error);
}

/* --- streams --- */

static void operate(struct stream *stream)
{
    unsigned page = pick(stream, REGION_PAGES - OBJECT_PAGES);
    unsigned pages = 1 + pick(stream, OBJECT_PAGES);

    stream->task = pick(stream, stream->trap->task_count);
    switch (pick(stream, 16)) {
    case 0:
    case 1:
        map(stream, page, pages, false);
        break;
    case 2:
        map(stream, page, pages, stream->model.object_count < MOST_OBJECTS);
        break;
    case 3:
        unmap(stream, page, pages);
        break;
    case 4:
        fork_or_exit(stream);
        break;
    case 5:
    case 6:
    case 7:
        store(stream, pick(stream, REGION_PAGES));
        break;
    default:
        remap(stream);
    }
    compare(stream);
}

static void run_stream(struct trap *trap, uint64_t seed)
{
    struct stream stream = {.trap = trap, .random = random_seeded(seed)};
    uint64_t count = number_from("FORKLAB_OPERATIONS", USUAL_OPERATIONS);

    trap_first(trap);
    for (unsigned page = 0; page < REGION_PAGES; page += OBJECT_PAGES)
        map(&stream, page, OBJECT_PAGES, false);
    for (uint64_t i = 0; i < count; i++)
        operate(&stream);
}

static void run_kernel(const struct kernel *kernel, uint64_t seed)
{
    for (size_t i = 0; geometries[i] != NULL; i++) {
        for (int mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
            struct trap trap;

            trap_open(&trap, kernel, geometries[i], (enum mmu_kind)mmu, NULL);
            trap.base -= 5 * PAGE_BYTES; /* a span ends within the region */
            run_stream(&trap, seed + (uint64_t)mmu);
            trap_close(&trap);
        }
    }
}

static void test_kernel(void **state)
{
    size_t number = *(const size_t *)*state;
    struct kernel kernel = kernels[number];
    uint64_t seed = number_from("FORKLAB_SEED", USUAL_SEED) + 1000 * number;

    kernel.least_shared_entries = 1;
    print_message("  seed %llu\n", (unsigned long long)seed);
    run_kernel(&kernel, seed);
}

int main(void)
{
    enum { MOST_KERNELS = 32 };
    struct CMUnitTest tests[MOST_KERNELS];
    size_t numbers[MOST_KERNELS];
    size_t count = 0;

    for (; count < kernel_count && count < MOST_KERNELS; count++) {
        numbers[count] = count;
        tests[count] = (struct CMUnitTest){.name = kernels[count].name,
                                           .test_func = test_kernel,
                                           .initial_state = &numbers[count]};
    }
    return _cmocka_run_group_tests("random mremap", tests, count, NULL, NULL);
}
