/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lmbench's tests, emulated; lat_bench.h has them. */
#include "demo/lat_bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/column.h"
#include "demo/zeros.h"
#include "pager/map.h"
#include "pager/object.h"
#include "pager/task.h"
#include "pager/user_copy.h"

#define RAM_BYTES ((uint64_t)1 << 30)
#define TEXT_WORD ((va_t)0x400000)
#define SHELL_TABLE ((va_t)0x500000)
#define SHELL_DATA ((va_t)0x600000)
#define SHELL_LATE ((va_t)0x700000)

enum {
    HEAP_PAGES = 16,
    LIBRARIES = 8,
    LIBRARY_TEXT_PAGES = 24,
    LIBRARY_DATA_PAGES = 4,
    SHELL_PAGES_READ = 8,
    SHELL_PAGES_WRITTEN = 4,
    EXIT_CODE_NO_EXEC = 127
};

struct lat_bench {
    struct machine *machine;
    struct task *task;
    struct object *tiny;
    struct object *shell;
    struct object *file;   /* what libraries and page faults are of */
    struct object *shared; /* of the mapping test, as large as asked for last */
    uint64_t shared_bytes;
    va_t read_only; /* a page that may only be read */
    /* of the user code that runs */
    va_t mapping;
    uint64_t bytes;
    uint64_t ns; /* that it measured itself */
    int error;
};

/* --- the task --- */

static int map_part(struct lat_bench *bench, struct object *object, uint64_t offset_pages,
                    unsigned pages, uint32_t protection, va_t *address)
{
    struct map_request request = {.bytes = pages * PAGE_BYTES,
                                  .protection = protection,
                                  .object = object,
                                  .offset_bytes = offset_pages * PAGE_BYTES};

    return sys_mmap(bench->task, &request, address);
}

/* Text, constants, data and what the file does not hold, as a dynamic linker leaves them. */
static int load_library(struct lat_bench *bench, struct forklab_user *user, unsigned number)
{
    va_t text;
    va_t data = 0;
    va_t zeros = 0;
    int error =
        map_part(bench, bench->file, number, LIBRARY_TEXT_PAGES, VMA_READ | VMA_EXEC, &text);

    if (error == 0)
        error = map_part(bench, bench->file, 1, LIBRARY_DATA_PAGES, VMA_READ, &bench->read_only);
    if (error == 0)
        error = map_part(bench, bench->file, number + 2, LIBRARY_DATA_PAGES, VMA_READ | VMA_WRITE,
                         &data);
    if (error == 0)
        error = map_part(bench, NULL, 0, LIBRARY_DATA_PAGES, VMA_READ | VMA_WRITE, &zeros);
    if (error != 0)
        return error;
    (void)forklab_load64(user, text);
    (void)forklab_load64(user, bench->read_only);
    forklab_store64(user, data, 1);
    forklab_store64(user, zeros, 1);
    return 0;
}

static int grow_heap(struct lat_bench *bench, struct forklab_user *user)
{
    va_t start = sys_brk(bench->task, 0);
    va_t end = start + HEAP_PAGES * PAGE_BYTES;

    if (sys_brk(bench->task, end) != end)
        return -ENOMEM;
    for (va_t at = start; at < end; at += PAGE_BYTES)
        forklab_store64(user, at, 1);
    return 0;
}

static void start_process(struct forklab_user *user, void *context)
{
    struct lat_bench *bench = context;

    bench->error = grow_heap(bench, user);
    for (unsigned i = 0; i < LIBRARIES && bench->error == 0; i++)
        bench->error = load_library(bench, user, i);
}

static int start_task(struct lat_bench *bench, char *problem, size_t problem_bytes)
{
    static const char *const arguments[] = {"lmbench", NULL};
    int error = task_create(bench->machine, &bench->task);

    if (error == 0)
        error = sys_exec(bench->task, bench->shell, arguments, problem, problem_bytes);
    if (error == 0)
        error = task_run(bench->task, start_process, bench);
    return error != 0 ? error : bench->error;
}

static int open_program(struct machine *machine, const char *name, struct object **object,
                        char *problem, size_t problem_bytes)
{
    char *path = exec_program_path(name, problem, problem_bytes);

    if (path == NULL)
        return -ENOENT;
    int error = file_open(machine, path, object);

    free(path);
    return error;
}

static int open_files(struct lat_bench *bench, char *problem, size_t problem_bytes)
{
    int error = open_program(bench->machine, "forklab-tiny", &bench->tiny, problem, problem_bytes);

    if (error == 0)
        error =
            open_program(bench->machine, "forklab-shell", &bench->shell, problem, problem_bytes);
    if (error == 0)
        error = zeros_open(bench->machine, LAT_FAULT_PAGES * PAGE_BYTES, &bench->file);
    return error;
}

int lat_bench_create(struct lat_bench **bench, const struct kernel *kernel, char *problem,
                     size_t problem_bytes)
{
    struct machine_options options = {.kernel = kernel, .ram_bytes = RAM_BYTES};
    struct lat_bench *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return -ENOMEM;
    int error = machine_create(&made->machine, &options, problem, problem_bytes);

    if (error != 0) {
        free(made);
        return error;
    }
    error = open_files(made, problem, problem_bytes);
    if (error == 0)
        error = start_task(made, problem, problem_bytes);
    if (error != 0) {
        if (problem[0] == '\0')
            (void)snprintf(problem, problem_bytes, "%s: the task cannot be made: %s", kernel->name,
                           strerror(-error));
        lat_bench_destroy(made);
        return error;
    }
    *bench = made;
    return 0;
}

void lat_bench_destroy(struct lat_bench *bench)
{
    struct object *const objects[] = {bench->tiny, bench->shell, bench->file, bench->shared};

    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        if (objects[i] != NULL)
            object_close(bench->machine, objects[i]);
    }
    machine_destroy(bench->machine);
    free(bench);
}

/* --- protection fault --- */

static int refuse_stores(struct lat_bench *bench, unsigned repeats)
{
    uint8_t byte = 1;
    unsigned refused = 0;
    uint64_t start_ns = clock_ns();

    for (unsigned i = 0; i < repeats; i++)
        refused += copyout(bench->task, bench->read_only, &byte, sizeof(byte)) == -EFAULT;
    bench->ns += clock_ns() - start_ns;
    return refused == repeats ? 0 : -EINVAL;
}

/* --- processes --- */

static void exit_after_word(struct forklab_user *user, void *context)
{
    (void)context;
    forklab_store64(user, SHELL_DATA, 1);
    user_exit(user, 0);
}

static void tiny_runs(struct forklab_user *user, void *context)
{
    (void)context;
    forklab_store64(user, SHELL_DATA, forklab_load64(user, TEXT_WORD));
    user_exit(user, 0);
}

static void exec_tiny(struct forklab_user *user, void *context)
{
    static const char *const arguments[] = {"forklab-tiny", NULL};
    const struct lat_bench *bench = context;

    (void)user_exec(user, bench->tiny, arguments, tiny_runs, context);
    user_exit(user, EXIT_CODE_NO_EXEC);
}

static int live(struct task *parent, user_function *function, void *context)
{
    struct task_status status;
    struct task *child;
    int error = sys_fork(parent, &child);

    if (error != 0)
        return error;
    int ended = task_run(child, function, context);

    if (ended < 0)
        (void)task_exit(child, EXIT_CODE_NO_EXEC);
    error = sys_wait(parent, child, &status);
    if (error != 0 || ended < 0)
        return error != 0 ? error : ended;
    return status.killed || status.exit_code != 0 ? -ENOEXEC : 0;
}

static void shell_runs(struct forklab_user *user, void *context)
{
    struct lat_bench *bench = context;

    for (unsigned page = 0; page < SHELL_PAGES_READ; page++)
        (void)forklab_load64(user, SHELL_TABLE + page * PAGE_BYTES);
    for (unsigned page = 0; page < SHELL_PAGES_WRITTEN; page++) {
        forklab_store64(user, SHELL_DATA + page * PAGE_BYTES, 1);
        forklab_store64(user, SHELL_LATE + page * PAGE_BYTES, 1);
    }
    user_exit(user, live(user_task(user), exec_tiny, bench) == 0 ? 0 : EXIT_CODE_NO_EXEC);
}

static void exec_shell(struct forklab_user *user, void *context)
{
    static const char *const arguments[] = {"sh", "-c", "forklab-tiny", NULL};
    const struct lat_bench *bench = context;

    (void)user_exec(user, bench->shell, arguments, shell_runs, context);
    user_exit(user, EXIT_CODE_NO_EXEC);
}

static int fork_once(struct lat_bench *bench, enum lat_test test)
{
    static user_function *const functions[] = {[LAT_FORK_EXIT] = exit_after_word,
                                               [LAT_FORK_EXEC] = exec_tiny,
                                               [LAT_FORK_SHELL] = exec_shell};
    uint64_t start_ns = clock_ns();
    int error = live(bench->task, functions[test], bench);

    bench->ns += clock_ns() - start_ns;
    return error;
}

/* --- mappings --- */

static void read_backwards(struct forklab_user *user, void *context)
{
    struct lat_bench *bench = context;
    uint64_t start_ns = clock_ns();

    for (unsigned page = LAT_FAULT_PAGES; page-- > 0;)
        (void)forklab_load8(user, bench->mapping + page * PAGE_BYTES);
    bench->ns += (clock_ns() - start_ns) / LAT_FAULT_PAGES;
}

/* The mapping is made and unmapped outside the clock. */
static int fault_pages(struct lat_bench *bench)
{
    int error = map_part(bench, bench->file, 0, LAT_FAULT_PAGES, VMA_READ, &bench->mapping);

    if (error == 0)
        error = task_run(bench->task, read_backwards, bench);
    int unmapped =
        error == 0 ? sys_munmap(bench->task, bench->mapping, LAT_FAULT_PAGES * PAGE_BYTES) : 0;

    return error != 0 ? error : unmapped;
}

static void touch_part(struct forklab_user *user, void *context)
{
    struct lat_bench *bench = context;
    struct map_request request = {.bytes = bench->bytes,
                                  .protection = VMA_READ | VMA_WRITE,
                                  .flags = MAP_REQUEST_SHARED,
                                  .object = bench->shared};
    uint64_t start_ns = clock_ns();

    bench->error = sys_mmap(bench->task, &request, &bench->mapping);
    if (bench->error != 0)
        return;
    for (uint64_t at = 0; at < bench->bytes / LAT_PART; at += LAT_STRIDE_BYTES)
        forklab_store8(user, bench->mapping + at, 1);
    bench->error = sys_munmap(bench->task, bench->mapping, bench->bytes);
    bench->ns += clock_ns() - start_ns;
}

static int map_and_touch(struct lat_bench *bench, uint64_t bytes)
{
    if (bench->shared_bytes != bytes) {
        if (bench->shared != NULL)
            object_close(bench->machine, bench->shared);
        bench->shared = NULL;
        bench->shared_bytes = bytes;
        int error = shm_create(bench->machine, bytes, &bench->shared);

        if (error != 0)
            return error;
    }
    bench->bytes = bytes;
    int error = task_run(bench->task, touch_part, bench);

    return error != 0 ? error : bench->error;
}

/* --- one sample --- */

/* So many operations are one sample. */
static unsigned repeats_of(enum lat_test test, uint64_t bytes)
{
    switch (test) {
    case LAT_PROTECTION:
        return 2000;
    case LAT_FORK_EXIT:
    case LAT_FORK_EXEC:
    case LAT_FORK_SHELL:
        return 20;
    default:
        return test == LAT_MAPPING && bytes <= ((uint64_t)8 << 20) ? 10 : 1;
    }
}

static int run_once(struct lat_bench *bench, enum lat_test test, uint64_t bytes)
{
    switch (test) {
    case LAT_PAGE_FAULT:
        return fault_pages(bench);
    case LAT_MAPPING:
        return map_and_touch(bench, bytes);
    default:
        return fork_once(bench, test);
    }
}

static int run_times(struct lat_bench *bench, enum lat_test test, uint64_t bytes, unsigned repeats)
{
    int error = 0;

    if (test == LAT_PROTECTION)
        return refuse_stores(bench, repeats);
    for (unsigned i = 0; i < repeats && error == 0; i++)
        error = run_once(bench, test, bytes);
    return error;
}

int lat_bench_run(struct lat_bench *bench, enum lat_test test, uint64_t bytes,
                  struct lat_sample *sample)
{
    const uint64_t *counts = bench->machine->events.counts;
    unsigned repeats = repeats_of(test, bytes);
    uint64_t before[EVENT_COUNT];

    memcpy(before, counts, sizeof(before));
    bench->ns = 0;
    int error = run_times(bench, test, bytes, repeats);

    sample->ns = (double)bench->ns / repeats;
    for (unsigned i = 0; i < EVENT_COUNT; i++)
        sample->counts[i] = (double)(counts[i] - before[i]) / repeats;
    return error;
}
