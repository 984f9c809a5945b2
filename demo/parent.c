/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Setting the parent up; parent.h has its picture. */
#include "demo/parent.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "demo/options.h"
#include "demo/zeros.h"
#include "pager/elf_image.h"
#include "pager/map.h"

/* For what lies beside the region: programs, stacks, and tables in their pools. */
#define RAM_SLACK_BYTES ((uint64_t)4 << 20)
#define PROBE_RAM_BYTES ((uint64_t)16 << 20)

/* So much that neither frames nor reverse-map elements fit into the processor's caches. */
#define LEAST_AGED_RAM_BYTES ((uint64_t)1 << 30)
enum { AGED_RAM_MULTIPLE = 4 };

struct report {
    char *problem;
    size_t problem_bytes;
};

static struct report report_in(char *problem, size_t problem_bytes)
{
    struct report report;

    report.problem = problem;
    report.problem_bytes = problem_bytes;
    return report;
}

__attribute__((format(printf, 3, 4))) static int fail(const struct report *report, int error,
                                                      const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(report->problem, report->problem_bytes, format, arguments);
    va_end(arguments);
    return error;
}

static uint64_t file_bytes(const char *path)
{
    struct stat status;

    return path != NULL && stat(path, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size
                                                                          : 0;
}

uint64_t parent_needed_bytes(const struct parent_options *options, const struct column_setup *setup)
{
    /* What the parent rewrites of a private file mapping it holds twice. */
    bool twice = setup->memory == MEMORY_FILE && setup->dirty_percent > 0;
    uint64_t spans = setup->size_bytes / geometry_span_bytes(options->geometry) + 1;
    uint64_t tables_bytes = 3 * spans * PAGE_BYTES;

    return round_up((twice ? 2 : 1) * setup->size_bytes + tables_bytes + RAM_SLACK_BYTES +
                        2 * file_bytes(options->program_path),
                    PAGE_BYTES);
}

static uint64_t most_ram_bytes(const struct geometry *geometry)
{
    return PAGE_BYTES << geometry->pfn_bits;
}

/* An aged machine has plenty of RAM to scatter its frames over; most of it is never touched. */
static uint64_t ram_bytes_for(const struct parent_options *options,
                              const struct column_setup *setup)
{
    uint64_t needed_bytes = parent_needed_bytes(options, setup);

    if (options->ram_bytes != 0)
        return options->ram_bytes;
    if (!options->aged)
        return needed_bytes;
    return min_u64(max_u64(needed_bytes * AGED_RAM_MULTIPLE, LEAST_AGED_RAM_BYTES),
                   most_ram_bytes(options->geometry));
}

/* The words of a program: its first text and its first data. */
static int find_words(struct program *program)
{
    const struct elf_image *image = program->file->image;

    program->text_word = page_of(image->entry);
    for (size_t i = 0; i < image->segment_count; i++) {
        if (image->segments[i].protection & VMA_WRITE) {
            program->data_word = page_of(image->segments[i].start);
            return 0;
        }
    }
    return -ENOEXEC;
}

/* Lets a task run an open program, so that the kernel judges it. */
static int load_program(struct task *task, struct program *program, const char *path,
                        const struct report *report)
{
    const char *const arguments[] = {"forklab-tiny", NULL};
    char why[200] = "";
    int error = sys_exec(task, program->file, arguments, why, sizeof(why));
    if (error == 0)
        error = find_words(program);
    else
        return fail(report, error, "%s: %s", path, why[0] != '\0' ? why : strerror(-error));
    if (error != 0)
        return fail(report, error, "%s: no segment that may be written; the child writes its data",
                    path);
    return 0;
}

static int load_own(struct parent *parent, const struct report *report)
{
    char *path = tiny_executable_path(report->problem, report->problem_bytes);

    if (path == NULL)
        return -ENOENT;
    int error = file_open(parent->machine, path, &parent->own.file);

    if (error == 0)
        error = load_program(parent->task, &parent->own, path, report);
    else
        (void)fail(report, error, "%s: %s", path, strerror(-error));
    free(path);
    return error;
}

/* The child's program is judged by a task that runs it and ends. */
static int load_childs(struct parent *parent, const char *path, const struct report *report)
{
    struct task *task;

    parent->child = parent->own;
    if (path == NULL)
        return 0;
    int error = file_open(parent->machine, path, &parent->child.file);

    if (error == -ENODEV)
        return fail(report, error, "%s: no regular file; a static ELF executable is needed", path);
    if (error == 0)
        error = task_create(parent->machine, &task);
    if (error != 0)
        return fail(report, error, "%s: %s", path, strerror(-error));
    error = load_program(task, &parent->child, path, report);
    (void)task_exit(task, 0);
    return error;
}

static int load_programs(struct parent *parent, const struct parent_options *options,
                         const struct report *report)
{
    int error = task_create(parent->machine, &parent->task);

    if (error != 0)
        return fail(report, error, "no first task: %s", strerror(-error));
    error = load_own(parent, report);
    return error != 0 ? error : load_childs(parent, options->program_path, report);
}

static int create_machine(struct parent *parent, const struct parent_options *options,
                          uint64_t ram_bytes, const struct report *report)
{
    struct machine_options machine = {.kernel = options->kernel,
                                      .geometry = options->geometry,
                                      .mmu = options->mmu,
                                      .ram_bytes = ram_bytes};

    return machine_create(&parent->machine, &machine, report->problem, report->problem_bytes);
}

/* Where the region goes, and how much could go there. */
static va_t region_place(const struct parent *parent, uint64_t *room_bytes)
{
    const struct mm *mm = parent->task->mm;
    va_t start = round_up(mm->map_base, geometry_span_bytes(mm->tree.geometry));

    *room_bytes = mm->map_top > start ? mm->map_top - start : 0;
    return start;
}

static int open_object(struct parent *parent, struct object **object)
{
    *object = NULL;
    if (parent->memory == MEMORY_SHM)
        return shm_create(parent->machine, parent->region_bytes, object);
    if (parent->memory == MEMORY_FILE)
        return zeros_open(parent->machine, parent->region_bytes, object);
    return 0;
}

/*
 * Pages are brought in by the call itself where the parent is going to write them all: what is left
 * for its stores is to let them through, many at a time.
 */
static uint32_t region_flags(enum fork_memory memory)
{
    static const uint32_t flags[MEMORY_COUNT] = {
        [MEMORY_SHM] = MAP_REQUEST_SHARED | MAP_REQUEST_POPULATE,
        [MEMORY_ANON] = MAP_REQUEST_POPULATE,
        [MEMORY_FILE] = 0,
    };

    return flags[memory] | MAP_REQUEST_NOREPLACE;
}

static int map_region(struct parent *parent)
{
    uint64_t room_bytes;
    struct map_request request = {.address = region_place(parent, &room_bytes),
                                  .bytes = parent->region_bytes,
                                  .protection = VMA_READ | VMA_WRITE,
                                  .flags = region_flags(parent->memory)};
    int error = open_object(parent, &request.object);

    if (error != 0)
        return error;
    error = sys_mmap(parent->task, &request, &parent->region_start);
    if (request.object != NULL)
        object_close(parent->machine, request.object);
    return error;
}

/* The parent's own code: its data and all of its region, once. task_run() has written its stack. */
static void touch_all(struct forklab_user *user, void *argument)
{
    const struct parent *parent = argument;

    forklab_store64(user, parent->own.data_word, 1);
    for (uint64_t offset = 0; offset < parent->region_bytes; offset += PAGE_BYTES) {
        if (parent->memory == MEMORY_FILE)
            (void)forklab_load64(user, parent->region_start + offset);
        else
            forklab_store64(user, parent->region_start + offset, offset);
    }
}

/* Evenly spread over the region. */
static void rewrite(struct forklab_user *user, void *argument)
{
    const struct parent *parent = argument;
    uint64_t percent = parent->dirty_percent;
    uint64_t pages = parent->region_bytes / PAGE_BYTES;

    for (uint64_t page = 0; page < pages; page++) {
        if ((page + 1) * percent / 100 != page * percent / 100)
            forklab_store64(user, parent->region_start + page * PAGE_BYTES, page);
    }
}

int parent_rewrite(struct parent *parent)
{
    if (parent->dirty_percent == 0)
        return 0;
    int ended = task_run(parent->task, rewrite, parent);

    return ended > 0 ? -ENOMEM : ended;
}

static int fill_region(struct parent *parent, const struct report *report)
{
    char size[SIZE_TEXT_BYTES];
    int error = map_region(parent);

    size_text(size, parent->region_bytes);
    if (error != 0)
        return fail(report, error, "no region of %s: %s", size, strerror(-error));
    int ended = task_run(parent->task, touch_all, parent);

    if (ended < 0)
        return fail(report, ended, "the parent cannot run: %s", parent->machine->mmu->problem);
    if (ended > 0)
        return fail(report, -ENOMEM, "RAM ran out while the parent touched its %s", size);
    return 0;
}

static int age(struct parent *parent, const struct parent_options *options,
               const struct report *report)
{
    if (!options->aged)
        return 0;
    /* Some of it stays in order for tables. */
    uint32_t frames = parent->machine->ram.frame_count / 4 * 3;
    int error = machine_age(parent->machine, frames, options->seed);

    return error != 0 ? fail(report, error, "ageing the machine: %s", strerror(-error)) : 0;
}

int parent_create(struct parent *parent, const struct parent_options *options,
                  const struct column_setup *setup, char *problem, size_t problem_bytes)
{
    struct report report = report_in(problem, problem_bytes);

    *parent = (struct parent){.region_bytes = setup->size_bytes,
                              .memory = setup->memory,
                              .dirty_percent = setup->dirty_percent};
    int error = create_machine(parent, options, ram_bytes_for(options, setup), &report);

    if (error == 0)
        error = age(parent, options, &report);
    if (error == 0)
        error = load_programs(parent, options, &report);
    if (error == 0)
        error = fill_region(parent, &report);
    if (error != 0)
        parent_destroy(parent);
    return error;
}

void parent_destroy(struct parent *parent)
{
    if (parent->machine != NULL)
        machine_destroy(parent->machine);
    *parent = (struct parent){0};
}

static int check_ram(const struct parent_options *options, const struct column_setup *setup,
                     const struct report *report)
{
    uint64_t needed_bytes = parent_needed_bytes(options, setup);
    uint64_t most_bytes = most_ram_bytes(options->geometry);
    unsigned long long needed_mib = ((needed_bytes - 1) >> 20) + 1;
    char size[SIZE_TEXT_BYTES];

    size_text(size, setup->size_bytes);
    if (needed_bytes > most_bytes)
        return fail(report, -ENOMEM,
                    "%s takes RAM of %lluM, and the geometry %s can name %lluM; ask for less", size,
                    needed_mib, options->geometry->name, (unsigned long long)(most_bytes >> 20));
    if (options->ram_bytes != 0 && options->ram_bytes < needed_bytes)
        return fail(report, -ENOMEM, "%s takes RAM of %lluM: --ram %lluM or more", size, needed_mib,
                    needed_mib);
    return 0;
}

static int check_setup(const struct parent *parent, const struct parent_options *options,
                       const struct column_setup *setup, const struct report *report)
{
    char size[SIZE_TEXT_BYTES];
    uint64_t room_bytes;

    (void)region_place(parent, &room_bytes);
    size_text(size, setup->size_bytes);
    if (setup->size_bytes > room_bytes)
        return fail(report, -ENOMEM,
                    "%s does not fit into the address space: geometry %s on the %s MMU has room "
                    "for %lluM",
                    size, options->geometry->name, parent->machine->mmu->ops->name,
                    (unsigned long long)(room_bytes >> 20));
    return check_ram(options, setup, report);
}

int parent_check(const struct parent_options *options, const struct column_setup *setups,
                 size_t setup_count, char *problem, size_t problem_bytes)
{
    struct report report = report_in(problem, problem_bytes);
    struct parent probe = {0};
    char why[300];
    int error = create_machine(&probe, options, PROBE_RAM_BYTES, &report);

    if (error == 0)
        error = load_programs(&probe, options, &report);
    if (error == -ENOEXEC && probe.child.file == NULL) {
        snprintf(why, sizeof(why), "%s", problem);
        (void)fail(&report, error, "geometry %s: %s; choose x86-64 or i386",
                   options->geometry->name, why);
    }
    for (size_t i = 0; error == 0 && i < setup_count; i++)
        error = check_setup(&probe, options, &setups[i], &report);
    parent_destroy(&probe);
    return error;
}
