/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mmap program, emulated; mmap_bench.h has its forms. */
#include "demo/mmap_bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pager/map.h"
#include "pager/task.h"

#define RAM_BYTES ((uint64_t)256 << 20)

enum { LIBRARY_PAGES = 4, ARRAY_BYTES = 1024, MOST_VMAS = 200000 };

struct mmap_bench {
    struct machine *machine;
    struct task *task;
    struct mmap_program program;
    va_t array; /* of pointers, on the stack */
    /* of the run that is on */
    uint64_t rounds;
    uint64_t refused;
    int error;
};

static int map(struct task *task, uint64_t bytes, uint32_t protection, va_t *address)
{
    struct map_request request = {.bytes = bytes, .protection = protection};

    return sys_mmap(task, &request, address);
}

/* The fifteen mappings. The store is the program's own: where it goes is what the two differ in. */
static int map_all(const struct mmap_bench *bench, struct forklab_user *user)
{
    for (unsigned i = 0; i < MMAP_MAPPINGS; i++) {
        va_t address;
        int error = map(bench->task, PAGE_BYTES << i, VMA_READ | VMA_WRITE, &address);

        if (error != 0)
            return error;
        forklab_store64(user, bench->array + i * sizeof(uint64_t), address);
        forklab_store32(user, bench->program.corrected ? address : bench->array, MMAP_POISON);
    }
    return 0;
}

/* Like the program's, these calls' results are not looked at, but counted. */
static void unmap_all(struct mmap_bench *bench, struct forklab_user *user)
{
    for (unsigned i = 0; i < MMAP_MAPPINGS; i++) {
        va_t address = forklab_load64(user, bench->array + i * sizeof(uint64_t));

        bench->refused += sys_munmap(bench->task, address, PAGE_BYTES << i) != 0;
    }
}

static void run_rounds(struct forklab_user *user, void *context)
{
    struct mmap_bench *bench = context;

    for (uint64_t round = 0; round < bench->rounds && bench->error == 0; round++) {
        bench->error = map_all(bench, user);
        unmap_all(bench, user);
    }
}

static void load_library(struct forklab_user *user, void *context)
{
    struct mmap_bench *bench = context;
    va_t address;

    bench->error = map(bench->task, LIBRARY_PAGES * PAGE_BYTES, VMA_READ | VMA_WRITE, &address);
    if (bench->error == 0)
        forklab_store32(user, address, 1);
    if (bench->error == 0 && bench->program.guarded)
        bench->error = map(bench->task, PAGE_BYTES, 0, &address);
}

static int start_task(struct mmap_bench *bench)
{
    int error = task_create(bench->machine, &bench->task);

    if (error != 0)
        return error;
    bench->array = bench->task->mm->user_end - ARRAY_BYTES;
    error = task_run(bench->task, load_library, bench);
    return error != 0 ? error : bench->error;
}

int mmap_bench_create(struct mmap_bench **bench, const struct kernel *kernel,
                      const struct mmap_program *program, char *problem, size_t problem_bytes)
{
    struct machine_options options = {
        .kernel = kernel, .ram_bytes = RAM_BYTES, .most_vmas = MOST_VMAS};
    struct mmap_bench *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return -ENOMEM;
    made->program = *program;
    int error = machine_create(&made->machine, &options, problem, problem_bytes);

    if (error != 0) {
        free(made);
        return error;
    }
    error = start_task(made);
    if (error != 0) {
        (void)snprintf(problem, problem_bytes, "%s: the program cannot be started: %s",
                       kernel->name, strerror(-error));
        mmap_bench_destroy(made);
        return error;
    }
    *bench = made;
    return 0;
}

void mmap_bench_destroy(struct mmap_bench *bench)
{
    machine_destroy(bench->machine);
    free(bench);
}

int mmap_bench_run(struct mmap_bench *bench, uint64_t rounds, struct mmap_sample *sample)
{
    const struct machine *machine = bench->machine;
    uint64_t before[EVENT_COUNT];
    uint64_t kernel_ticks = machine->kernel_ticks;

    memcpy(before, machine->events.counts, sizeof(before));
    bench->rounds = rounds;
    bench->refused = 0;
    uint64_t start_ns = clock_ns();
    int error = task_run(bench->task, run_rounds, bench);

    sample->total_ns = (double)(clock_ns() - start_ns);
    sample->kernel_ns = (double)(machine->kernel_ticks - kernel_ticks) / clock_ticks_per_ns();
    event_subtract(sample->counts, machine->events.counts, before);
    sample->refused = bench->refused;
    return error != 0 ? error : bench->error;
}

unsigned mmap_bench_entries(const struct mmap_bench *bench)
{
    return bench->task->mm->index.count;
}

void mmap_bench_print_map(const struct mmap_bench *bench, unsigned most)
{
    const struct vma *vma = vma_first(bench->task->mm);

    for (unsigned i = 0; i < most && vma != NULL; i++, vma = vma_next(vma))
        printf("    %08llx-%08llx %c%c%c%c %8llu KiB%s\n", (unsigned long long)vma->start,
               (unsigned long long)vma->end, vma->flags & VMA_READ ? 'r' : '-',
               vma->flags & VMA_WRITE ? 'w' : '-', vma->flags & VMA_EXEC ? 'x' : '-',
               vma_is_private(vma) ? 'p' : 's', (unsigned long long)((vma->end - vma->start) >> 10),
               vma->flags & VMA_ANCESTRY ? "  written" : "");
    if (vma != NULL)
        printf("    and %u more\n", mmap_bench_entries(bench) - most);
}
