/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rebuild-tree program, emulated; tree_bench.h has its variants. */
#include "demo/tree_bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pager/map.h"
#include "pager/task.h"

#define RAM_BYTES ((uint64_t)64 << 20)

/* What a task has beside the program's mappings: its stack. */
enum { SPARE_VMAS = 16 };

struct tree_bench {
    struct machine *machine;
    struct task *task;
};

const char *const tree_variant_names[TREE_VARIANTS] = {"up", "down", "merging", "chosen"};

va_t tree_place(enum tree_variant variant, uint64_t number, uint64_t maps)
{
    switch (variant) {
    case TREE_UP:
        return TREE_BASE + number * 2 * PAGE_BYTES;
    case TREE_DOWN:
        return TREE_BASE + (maps - 1 - number) * 2 * PAGE_BYTES;
    case TREE_MERGING:
        return TREE_BASE + number * PAGE_BYTES;
    default:
        return 0;
    }
}

static int map_all(struct tree_bench *bench, uint64_t maps, enum tree_variant variant)
{
    int error = 0;

    for (uint64_t i = 0; i < maps && error == 0; i++) {
        struct map_request request = {.address = tree_place(variant, i, maps),
                                      .bytes = PAGE_BYTES,
                                      .protection = VMA_READ | VMA_WRITE};
        va_t address;

        request.flags = request.address != 0 ? MAP_REQUEST_FIXED : 0;
        error = sys_mmap(bench->task, &request, &address);
    }
    return error;
}

int tree_bench_create(struct tree_bench **bench, const struct kernel *kernel, uint64_t maps,
                      enum tree_variant variant, char *problem, size_t problem_bytes)
{
    /* Nothing is touched, so no window is needed: the soft MMU has the whole address space. */
    struct machine_options options = {.kernel = kernel,
                                      .mmu = MMU_SOFT,
                                      .ram_bytes = RAM_BYTES,
                                      .most_vmas = (uint32_t)maps + SPARE_VMAS};
    struct tree_bench *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return -ENOMEM;
    int error = machine_create(&made->machine, &options, problem, problem_bytes);

    if (error != 0) {
        free(made);
        return error;
    }
    error = task_create(made->machine, &made->task);
    if (error == 0)
        error = map_all(made, maps, variant);
    if (error != 0) {
        (void)snprintf(problem, problem_bytes, "%s: %llu maps: %s", kernel->name,
                       (unsigned long long)maps, strerror(-error));
        tree_bench_destroy(made);
        return error;
    }
    *bench = made;
    return 0;
}

void tree_bench_destroy(struct tree_bench *bench)
{
    machine_destroy(bench->machine);
    free(bench);
}

struct task *tree_bench_task(struct tree_bench *bench)
{
    return bench->task;
}

int tree_bench_fork(struct tree_bench *bench, struct tree_sample *sample)
{
    uint64_t *counts = bench->machine->events.counts;
    uint64_t steps = counts[EVENT_INDEX_STEP];
    uint64_t vmas = counts[EVENT_VMA_COPIED];
    struct task_status status;
    struct task *child;
    uint64_t start_ns = clock_ns();
    uint64_t start = clock_ticks();
    int error = sys_fork(bench->task, &child);
    uint64_t end = clock_ticks();
    uint64_t end_ns = clock_ns();

    if (error != 0)
        return error;
    *sample = (struct tree_sample){.ns = (double)(end_ns - start_ns),
                                   .cycles = (double)(end - start),
                                   .steps = counts[EVENT_INDEX_STEP] - steps,
                                   .vmas = counts[EVENT_VMA_COPIED] - vmas};
    error = task_exit(child, 0);
    return error != 0 ? error : sys_wait(bench->task, child, &status);
}
