/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exec: a new address space from an executable; exec.h has the two halves.
 *
 * The stack page is filled only after the old address space is gone: by then the frame that the
 * old stack had is free again, and the window that had it is the one that the new program will use.
 * After vfork the old one is the parent's, and stays.
 */
#include "pager/exec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pager/elf_image.h"
#include "pager/fault.h"
#include "pager/file.h"
#include "pager/map.h"
#include "pager/user_copy.h"

enum { STACK_ALIGNMENT = 16 };

static int image_of(struct mm *mm, struct object *file, char *problem, size_t problem_bytes)
{
    if (file->image != NULL)
        return 0;
    if (file->kind != FRAME_FILE) {
        snprintf(problem, problem_bytes, "not a file");
        return -EACCES;
    }
    if (file->file < 0) {
        snprintf(problem, problem_bytes, "programs are read from files of the host");
        return -ENOEXEC;
    }
    /* The image is read from the host file, past the page cache. */
    int error = object_write_back_locked(mm->machine, file, 0, file->page_count);

    if (error != 0) {
        snprintf(problem, problem_bytes, "the file cannot be written back");
        return error;
    }
    return elf_image_read(&file->image, file->file, file->bytes, mm->map_top, problem,
                          problem_bytes);
}

/* The part of a segment that no file page backs. */
static int map_zeros(struct mm *mm, const struct elf_segment *segment)
{
    bool has_file_page = segment->file_bytes > 0;
    va_t file_end = segment->start + segment->file_bytes;
    va_t memory_end = segment->start + segment->memory_bytes;
    va_t start = has_file_page ? round_up(file_end, PAGE_BYTES) : page_of(segment->start);
    va_t end = round_up(memory_end, PAGE_BYTES);
    va_t address;
    int error = 0;

    /* The tail of the last file page; where there is no right to it, it stays as in the file. */
    if (has_file_page && file_end < min_u64(start, memory_end) && segment->protection != 0)
        error = user_clear_locked(mm, file_end, min_u64(start, memory_end) - file_end);
    if (error != 0 || end <= start)
        return error;
    struct map_request request = {.address = start,
                                  .bytes = end - start,
                                  .protection = segment->protection,
                                  .flags = MAP_REQUEST_NOREPLACE};

    return mmap_locked(mm, &request, &address);
}

static int map_segment(struct mm *mm, struct object *file, const struct elf_segment *segment)
{
    uint64_t lead = segment->start % PAGE_BYTES;
    struct map_request request = {.address = segment->start - lead,
                                  .bytes = segment->file_bytes + lead,
                                  .protection = segment->protection,
                                  .flags = MAP_REQUEST_NOREPLACE,
                                  .object = file,
                                  .offset_bytes = segment->offset_bytes - lead};
    va_t address;
    int error = segment->file_bytes > 0 ? mmap_locked(mm, &request, &address) : 0;

    return error != 0 ? error : map_zeros(mm, segment);
}

static int map_image(struct mm *mm, struct object *file)
{
    const struct elf_image *image = file->image;
    va_t end = 0;

    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        int error = map_segment(mm, file, segment);

        if (error != 0)
            return error;
        end = round_up(segment->start + segment->memory_bytes, PAGE_BYTES);
    }
    mm->heap_start = end;
    mm->heap_end = end;
    return 0;
}

static int build_mm(struct machine *machine, struct object *file, struct mm **mm, char *problem,
                    size_t problem_bytes)
{
    int error = mm_create(machine, mm);

    if (error != 0)
        return error;
    error = image_of(*mm, file, problem, problem_bytes);
    if (error == 0)
        error = mm_map_stack(*mm);
    if (error == 0)
        error = map_image(*mm, file);
    if (error != 0)
        mm_destroy(*mm);
    return error;
}

/*
 * Lays the words out for a stack that will end at `stack_end`: the count, then pointers ended by 0,
 * then the strings. There is no environment.
 */
static int lay_out_arguments(const char *const arguments[], va_t stack_end,
                             struct exec_arguments *out)
{
    size_t string_bytes = 0;

    out->count = 0;
    while (arguments != NULL && arguments[out->count] != NULL)
        string_bytes += strlen(arguments[out->count++]) + 1;
    size_t pointers_bytes = (out->count + 2) * sizeof(uint64_t);

    out->bytes = round_up(pointers_bytes + string_bytes, STACK_ALIGNMENT);
    if (out->bytes > sizeof(out->data))
        return -E2BIG;
    memset(out->data, 0, out->bytes);
    uint64_t count = out->count;
    size_t place = pointers_bytes;

    memcpy(out->data, &count, sizeof(count));
    for (size_t i = 0; i < out->count; i++) {
        size_t length = strlen(arguments[i]) + 1;
        uint64_t pointer = stack_end - out->bytes + place;

        memcpy(out->data + (i + 1) * sizeof(pointer), &pointer, sizeof(pointer));
        memcpy(out->data + place, arguments[i], length);
        place += length;
    }
    return 0;
}

/* The one page that is filled after the point of no return; until then memory only becomes free. */
static int reserve_stack_page(struct machine *machine)
{
    struct ram_need need = {.frames = 1,
                            .leaf_tables = 1,
                            .upper_tables = tree_upper_need(machine->ram.geometry),
                            .mappings = 1};

    return ram_reserve(&machine->ram, &need);
}

int exec_prepare_locked(struct machine *machine, struct object *file, const char *const arguments[],
                        struct exec_plan *plan, char *problem, size_t problem_bytes)
{
    int error = build_mm(machine, file, &plan->mm, problem, problem_bytes);

    if (error != 0)
        return error;
    error = lay_out_arguments(arguments, plan->mm->user_end, &plan->arguments);
    if (error == 0)
        error = reserve_stack_page(machine);
    if (error != 0)
        mm_destroy(plan->mm);
    return error;
}

int exec_commit_locked(struct task *task, struct exec_plan *plan)
{
    struct machine *machine = task->machine;
    struct mm *mm = plan->mm;
    bool had_window = task->mm->space != NULL;

    mm_copy_limits(mm, task->mm);
    task_leave_mm_locked(task);
    task->mm = mm;
    event_record(&machine->events, EVENT_EXEC, task->id, 0, PFN_NONE);
    if (had_window)
        (void)machine->mmu->ops->bind(machine->mmu, &mm->tree, &mm->space);
    mm->stack_pointer = mm->user_end - plan->arguments.bytes;
    return user_copy_out_locked(mm, mm->stack_pointer, plan->arguments.data, plan->arguments.bytes);
}

static int exec_locked(struct task *task, struct object *file, const char *const arguments[],
                       char *problem, size_t problem_bytes)
{
    struct exec_plan plan;

    if (task->state != TASK_READY)
        return -EBUSY;
    int error = exec_prepare_locked(task->machine, file, arguments, &plan, problem, problem_bytes);

    if (error != 0)
        return error;
    error = exec_commit_locked(task, &plan);
    if (error != 0) {
        task->status = (struct task_status){.killed = true, .cause = EVENT_BAD_OOM};
        task_end_locked(task);
    }
    return error;
}

int sys_exec(struct task *task, struct object *file, const char *const arguments[], char *problem,
             size_t problem_bytes)
{
    struct machine *machine = task->machine;
    char unheard[1];
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    error = exec_locked(task, file, arguments, problem != NULL ? problem : unheard,
                        problem != NULL ? problem_bytes : sizeof(unheard));
    machine_unlock(machine);
    return error;
}
