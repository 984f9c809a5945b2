/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples of faults in an emulated kernel; fault_case.h has the cases.
 *
 * The parent has three regions, each in the span of a leaf table of its own: two pages for most
 * cases, too few for their table to be shared, so that a child's write is a cow-copy and nothing
 * else; two pages that are unmapped and mapped anew for zero-fill; and 512 pages whose full table
 * is split. In all of them the page touched first (the dummy) and the page that is timed lie
 * apart, so that neither comes along when the other is installed.
 *
 * Each sample is checked against the machine's counters: it took the steps of its case and one
 * mprotect, or it does not count.
 */
#include "demo/fault_case.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "pager/map.h"

#define MIB ((uint64_t)1 << 20)
#define RAM_BYTES (128 * MIB)

#define SMALL_START ((va_t)256 * MIB)
#define ZERO_START (SMALL_START + 2 * MIB)
#define FULL_START (SMALL_START + 4 * MIB)
#define WALKS_START ((va_t)512 * MIB)
#define WALK_STRIDE (64 * MIB)

/* Within a region: the dummy is its first page. */
#define TARGET_OFFSET (8 * PAGE_BYTES)
#define SMALL_BYTES (16 * PAGE_BYTES)
#define FULL_BYTES (2 * MIB)

const char *const fault_case_names[CASE_COUNT] = {
    [CASE_REFILL] = "refill",
    [CASE_ZERO_FILL] = "zero-fill",
    [CASE_COW_COPY] = "cow-copy",
    [CASE_COW_REUSE] = "cow-reuse",
    [CASE_SPLIT] = "split",
    [CASE_SEQUENTIAL_READ] = "sequential-read",
    [CASE_SEQUENTIAL_WRITE] = "sequential-write",
};

struct fault_bench {
    struct machine *machine;
    struct task *parent;
    va_t next_walk; /* where the window has had nothing yet */
    const struct kernel *kernel;
    unsigned map_ahead_pages;
    double ticks_per_ns;
};

/* What user code is told to do, and what it found. */
struct probe {
    const struct machine *machine;
    va_t dummy;
    va_t target;
    uint64_t bytes; /* of a walk */
    bool write;
    uint64_t ticks;
    uint64_t kernel_ticks;
    uint64_t counts[EVENT_COUNT];
};

/* --- user code --- */

/* The compiler must not move the machine's counters across the access that changes them. */
static void start_probe(struct probe *probe)
{
    atomic_signal_fence(memory_order_seq_cst);
    for (unsigned i = 0; i < EVENT_COUNT; i++)
        probe->counts[i] = probe->machine->events.counts[i];
    probe->kernel_ticks = probe->machine->kernel_ticks;
    atomic_signal_fence(memory_order_seq_cst);
    probe->ticks = clock_ticks();
}

static void stop_probe(struct probe *probe)
{
    probe->ticks = clock_ticks() - probe->ticks;
    atomic_signal_fence(memory_order_seq_cst);
    probe->kernel_ticks = probe->machine->kernel_ticks - probe->kernel_ticks;
    event_subtract(probe->counts, probe->machine->events.counts, probe->counts);
}

static void touch_one(struct forklab_user *user, void *argument)
{
    struct probe *probe = argument;

    forklab_store64(user, probe->dummy, 1);
    start_probe(probe);
    forklab_store64(user, probe->target, 1);
    stop_probe(probe);
}

static void walk(struct forklab_user *user, void *argument)
{
    struct probe *probe = argument;
    va_t end = probe->target + probe->bytes;

    start_probe(probe);
    if (probe->write) {
        for (va_t va = probe->target; va < end; va += PAGE_BYTES)
            forklab_store8(user, va, 1);
    } else {
        for (va_t va = probe->target; va < end; va += PAGE_BYTES)
            (void)forklab_load8(user, va);
    }
    stop_probe(probe);
}

/* --- samples of one fault --- */

static va_t region_of(enum fault_case which)
{
    switch (which) {
    case CASE_ZERO_FILL:
        return ZERO_START;
    case CASE_SPLIT:
        return FULL_START;
    default:
        return SMALL_START;
    }
}

/* Steps that the fault must have taken: `named` once, and so many in all. */
struct steps {
    enum event named;
    unsigned count;
};

static const struct steps steps_of_case[CASE_COUNT] = {
    [CASE_REFILL] = {EVENT_REFILL, 0},     [CASE_ZERO_FILL] = {EVENT_ZERO_FILL, 1},
    [CASE_COW_COPY] = {EVENT_COW_COPY, 1}, [CASE_COW_REUSE] = {EVENT_COW_REUSE, 1},
    [CASE_SPLIT] = {EVENT_TABLE_SPLIT, 2},
};

static bool took_its_steps(const struct probe *probe, enum fault_case which)
{
    uint64_t count = 0;

    for (unsigned step = 0; step < EVENT_FIRST_BAD; step++)
        count += probe->counts[step];
    return count == steps_of_case[which].count && probe->counts[steps_of_case[which].named] == 1 &&
           probe->counts[EVENT_HOST_PROTECT] == 1 && probe->counts[EVENT_HOST_MAP] == 0;
}

/* Anonymous memory at its fixed place. */
static int map_region(struct fault_bench *bench, va_t start, uint64_t bytes, uint32_t more_flags)
{
    struct map_request request = {.address = start,
                                  .bytes = bytes,
                                  .protection = VMA_READ | VMA_WRITE,
                                  .flags = MAP_REQUEST_FIXED | more_flags};
    va_t address;

    return sys_mmap(bench->parent, &request, &address);
}

/* Nothing is let through in the small region any more; the tables stay as they are. */
static void empty_window(struct fault_bench *bench)
{
    machine_lock(bench->machine);
    mm_revoke(bench->parent->mm, SMALL_START, SMALL_START + SMALL_BYTES);
    machine_unlock(bench->machine);
}

/* Ends a child that ran, or never did. */
static int reap(struct fault_bench *bench, struct task *child)
{
    struct task_status status;
    int error = task_exit(child, 0);

    return error != 0 ? error : sys_wait(bench->parent, child, &status);
}

static int run(struct task *task, user_function *function, struct probe *probe)
{
    int ended = task_run(task, function, probe);

    /* A task that ended was killed, for it does not exit by itself: memory ran out. */
    return ended == 1 ? -ENOMEM : ended;
}

static int run_child(struct fault_bench *bench, struct probe *probe)
{
    struct task *child;
    int error = sys_fork(bench->parent, &child);

    if (error != 0)
        return error;
    error = run(child, touch_one, probe);
    if (error == -ENOMEM)
        return error;
    int reaped = reap(bench, child);

    return error != 0 ? error : reaped;
}

/* The parent is left with pages that it must not write at once, and nobody else has them. */
static int fork_in_vain(struct fault_bench *bench)
{
    struct task *child;
    int error = sys_fork(bench->parent, &child);

    return error != 0 ? error : reap(bench, child);
}

static int map_anew(struct fault_bench *bench)
{
    int error = sys_munmap(bench->parent, ZERO_START, SMALL_BYTES);

    return error != 0 ? error : map_region(bench, ZERO_START, SMALL_BYTES, 0);
}

static int run_parent(struct fault_bench *bench, enum fault_case which, struct probe *probe)
{
    int error = 0;

    if (which == CASE_REFILL)
        empty_window(bench);
    else if (which == CASE_ZERO_FILL)
        error = map_anew(bench);
    else
        error = fork_in_vain(bench);
    return error != 0 ? error : run(bench->parent, touch_one, probe);
}

static int sample_fault(struct fault_bench *bench, enum fault_case which, struct probe *probe)
{
    /* The dummy of a split must not split the table itself, so it lies in another one. */
    probe->dummy = region_of(which == CASE_SPLIT ? CASE_COW_COPY : which);
    probe->target = region_of(which) + TARGET_OFFSET;
    bool in_child = which == CASE_COW_COPY || which == CASE_SPLIT;
    int error = in_child ? run_child(bench, probe) : run_parent(bench, which, probe);

    if (error != 0)
        return error;
    return took_its_steps(probe, which) ? 0 : -EAGAIN;
}

/* --- samples of a walk --- */

static int create_machine(struct fault_bench *bench, char *problem, size_t problem_bytes);

/* A place where the window has nothing; a new machine when there is none left. */
static int next_place(struct fault_bench *bench, va_t *place)
{
    char problem[160];

    if (bench->next_walk + WALK_STRIDE > bench->parent->mm->map_top) {
        machine_destroy(bench->machine);
        bench->machine = NULL;
        int error = create_machine(bench, problem, sizeof(problem));

        if (error != 0)
            return error;
    }
    *place = bench->next_walk;
    bench->next_walk += WALK_STRIDE;
    return 0;
}

static int sample_walk(struct fault_bench *bench, struct probe *probe)
{
    va_t place;
    int error = next_place(bench, &place);

    if (error == 0)
        error = map_region(bench, place, SEQUENTIAL_BYTES, MAP_REQUEST_POPULATE);
    if (error != 0)
        return error;
    probe->target = place;
    probe->bytes = SEQUENTIAL_BYTES;
    probe->machine = bench->machine;
    error = run(bench->parent, walk, probe);
    int unmapped = error != -ENOMEM ? sys_munmap(bench->parent, place, SEQUENTIAL_BYTES) : 0;

    if (error != 0 || unmapped != 0)
        return error != 0 ? error : unmapped;
    return probe->counts[EVENT_FAULT] == 0 ? 0 : -EAGAIN;
}

bool fault_case_exists(enum fault_case which, const struct kernel *kernel)
{
    return which != CASE_SPLIT || kernel->sharing == SHARING_LEAF;
}

int fault_bench_sample(struct fault_bench *bench, enum fault_case which,
                       struct fault_sample *sample)
{
    bool sequential = fault_case_is_sequential(which);
    struct probe probe = {.machine = bench->machine, .write = which == CASE_SEQUENTIAL_WRITE};

    if (bench->machine == NULL || !fault_case_exists(which, bench->kernel))
        return -EINVAL;
    int error = sequential ? sample_walk(bench, &probe) : sample_fault(bench, which, &probe);
    uint64_t accesses = sequential ? SEQUENTIAL_BYTES / PAGE_BYTES : 1;
    double units = (double)accesses * bench->ticks_per_ns;

    *sample = (struct fault_sample){.total_ns = (double)probe.ticks / units,
                                    .kernel_ns = (double)probe.kernel_ticks / units};
    return error;
}

/* --- the bench --- */

static int map_regions(struct fault_bench *bench)
{
    struct probe probe = {
        .machine = bench->machine, .dummy = SMALL_START, .target = SMALL_START + TARGET_OFFSET};
    int error = map_region(bench, SMALL_START, SMALL_BYTES, 0);

    if (error == 0)
        error = map_region(bench, ZERO_START, SMALL_BYTES, 0);
    if (error == 0)
        error = map_region(bench, FULL_START, FULL_BYTES, MAP_REQUEST_POPULATE);
    return error != 0 ? error : run(bench->parent, touch_one, &probe);
}

static int create_machine(struct fault_bench *bench, char *problem, size_t problem_bytes)
{
    struct machine_options options = {
        .kernel = bench->kernel, .ram_bytes = RAM_BYTES, .map_ahead_pages = bench->map_ahead_pages};
    struct machine *machine;
    int error = machine_create(&machine, &options, problem, problem_bytes);

    if (error != 0)
        return error;
    bench->machine = machine;
    bench->next_walk = WALKS_START;
    error = task_create(machine, &bench->parent);
    if (error == 0)
        error = map_regions(bench);
    if (error != 0) {
        snprintf(problem, problem_bytes, "the parent's memory cannot be set up: %.80s",
                 machine->mmu->problem[0] != '\0' ? machine->mmu->problem : "memory ran out");
        machine_destroy(machine);
        bench->machine = NULL;
    }
    return error;
}

int fault_bench_create(struct fault_bench **bench, const struct kernel *kernel,
                       unsigned map_ahead_pages, char *problem, size_t problem_bytes)
{
    struct fault_bench *made = calloc(1, sizeof(*made));

    if (made == NULL) {
        snprintf(problem, problem_bytes, "memory ran out");
        return -ENOMEM;
    }
    made->kernel = kernel;
    made->map_ahead_pages = map_ahead_pages;
    made->ticks_per_ns = clock_ticks_per_ns();
    int error = create_machine(made, problem, problem_bytes);

    if (error != 0) {
        free(made);
        return error;
    }
    *bench = made;
    return 0;
}

void fault_bench_destroy(struct fault_bench *bench)
{
    if (bench->machine != NULL)
        machine_destroy(bench->machine);
    free(bench);
}
