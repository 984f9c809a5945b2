/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls into the kernel, and what user mode does to the model. */
#include "tests/support/trial_call.h"

#include <errno.h>
#include <string.h>

#include "pager/elf_image.h"
#include "pager/fault.h"
#include "pager/map.h"
#include "pager/user_copy.h"

const char *const trial_arguments[] = {"tiny", "--an-argument", NULL};

static void refuse_memory(const struct trial_call *call)
{
    struct allocation_gate *gate = &call->trial->world.machine->ram.gate;
    unsigned after = call->operation->fail_after;

    gate->fail_at = after != 0 ? gate->requests + after : 0;
}

static void grant_memory(const struct trial *trial)
{
    trial->world.machine->ram.gate.fail_at = 0;
}

static int call_map(struct trial_call *call)
{
    const struct operation *operation = call->operation;
    const struct model_object *object = call->trial->named[operation->object];
    struct map_request request = {.address = call->va,
                                  .bytes = operation->bytes,
                                  .protection = operation->protection,
                                  .flags = operation->flags,
                                  .object = object != NULL ? object->real : NULL,
                                  .offset_bytes = operation->offset_bytes};

    return sys_mmap(call->task->real, &request, &call->address);
}

static int call_pin(struct trial_call *call)
{
    const struct operation *operation = call->operation;

    return sys_pin(call->task->real, call->va, operation->write ? ACCESS_WRITE : ACCESS_READ,
                   &call->trial->pins[operation->other].real);
}

/* The calls that user code may make too. */
static int call_kernel(struct trial_call *call)
{
    const struct operation *operation = call->operation;
    struct task *task = call->task->real;
    size_t bytes = (size_t)operation->bytes;

    switch (operation->kind) {
    case OPERATION_FORK:
        return sys_fork(task, &call->child);
    case OPERATION_MAP:
        return call_map(call);
    case OPERATION_UNMAP:
        return sys_munmap(task, call->va, operation->bytes);
    case OPERATION_PROTECT:
        return sys_mprotect(task, call->va, operation->bytes, operation->protection);
    case OPERATION_BRK:
        call->address = sys_brk(task, call->va);
        return 0;
    case OPERATION_COPYIN:
        return copyin(task, call->data, call->va, bytes);
    case OPERATION_COPYOUT:
        return copyout(task, call->va, call->data, bytes);
    case OPERATION_PIN:
        return call_pin(call);
    case OPERATION_WAIT:
        return sys_wait(task, call->child, &call->waited);
    case OPERATION_KILL:
        task_kill(task);
        return 0;
    case OPERATION_EXIT:
        return task_exit(task, (int)operation->value);
    default:
        return sys_exec(task, call->trial->program, trial_arguments, NULL, 0);
    }
}

static void after_exec(struct forklab_user *user, void *argument)
{
    struct trial_call *call = argument;

    (void)user;
    grant_memory(call->trial);
    call->result = 0;
    call->done = true;
}

/* What user code alone can do: it does not come back from some of it. */
static void call_as_user(struct forklab_user *user, struct trial_call *call)
{
    const struct operation *operation = call->operation;

    if (operation->kind == OPERATION_EXIT)
        user_exit(user, (int)operation->value);
    else if (operation->kind == OPERATION_EXEC)
        call->result = world_exec(user, call->trial->program, trial_arguments, after_exec, call);
    else
        call->result = call_kernel(call);
    if (operation->kind == OPERATION_KILL) /* dies here */
        (void)forklab_load8(user, call->task->space.stack_pointer - 1);
}

static void user_code(struct forklab_user *user, void *argument)
{
    struct trial_call *call = argument;
    const struct operation *operation = call->operation;

    refuse_memory(call);
    if (operation->kind == OPERATION_ACCESS) {
        call->inner_result = world_access(call->task->real, &call->script);
        call->done = true;
    } else {
        call_as_user(user, call);
        call->done = true;
    }
    grant_memory(call->trial);
    if (operation->kind == OPERATION_FORK && call->result == 0 && call->script.count > 0)
        call->inner_result = world_access(call->child, &call->script);
}

bool trial_make_call(struct trial_call *call)
{
    const struct operation *operation = call->operation;
    struct task *runner = call->task->real;
    bool nested = operation->kind == OPERATION_ACCESS && operation->other != OPERATION_NOBODY;

    if (nested)
        runner = call->trial->tasks[operation->other].real;
    if (nested || operation->inside) {
        call->run_result = world_call(runner, user_code, call);
    } else {
        refuse_memory(call);
        if (operation->kind == OPERATION_ACCESS)
            call->inner_result = world_access(runner, &call->script);
        else
            call->result = call_kernel(call);
        call->done = true;
    }
    grant_memory(call->trial);
    return call->run_result >= 0 && call->inner_result >= 0;
}

/* --- user mode --- */

bool trial_script(struct trial *trial, const struct trial_task *task,
                  const struct operation *operation, struct access_script *script)
{
    *script = (struct access_script){.steps = trial->steps};
    for (unsigned i = 0; i < operation->step_count; i++) {
        const struct operation_step *step = &operation->steps[i];
        va_t va;

        if (!trial_address(trial, task, &step->location, &va))
            continue;
        for (uint32_t page = 0; page < step->pages; page++)
            trial->steps[script->count++] = (struct access_step){.va = va + page * PAGE_BYTES,
                                                                 .bytes = step->bytes,
                                                                 .write = step->write,
                                                                 .view = step->view,
                                                                 .value = step->value + page};
    }
    return script->count > 0;
}

bool trial_enter_user_mode(struct trial *trial, struct trial_task *task, bool reached, bool *agrees)
{
    uint64_t word = WORLD_STACK_WORD;
    va_t address;
    enum event result = space_access(&task->space, task->space.stack_pointer - sizeof(word),
                                     sizeof(word), true, &word, &address);

    if (result != FAULT_PERMITTED)
        *agrees = trial_task_killed(trial, task, result, address);
    else if (!reached)
        *agrees = trial_differs(trial, "a task ended as it entered user mode");
    return result == FAULT_PERMITTED && reached;
}

/* One step of the model against one that was made. */
static bool expect_step(struct trial *trial, const struct trial_task *task,
                        const struct access_step *step, uint64_t value)
{
    trial_note(trial, value);
    (void)task;
    if (step->write || value == step->value)
        return true;
    return trial_differs(trial, "read 0x%llx at 0x%llx; the model's is 0x%llx",
                         (unsigned long long)step->value, (unsigned long long)step->va,
                         (unsigned long long)value);
}

bool trial_expect_script(struct trial *trial, struct trial_task *task,
                         const struct access_script *script, int run_result, bool may_run_out)
{
    struct task_status death;
    bool ran_out = may_run_out && run_result == 1 &&
                   world_find_death(&trial->world, task->id, &death) &&
                   death.cause == EVENT_BAD_OOM;

    for (size_t i = 0; i < script->count; i++) {
        const struct access_step *step = &script->steps[i];
        uint64_t value = step->write ? step->value : 0;
        va_t address;

        if (ran_out && i == script->done)
            return trial_task_killed(trial, task, EVENT_BAD_OOM, 0);
        enum event result =
            space_access(&task->space, step->va, step->bytes, step->write, &value, &address);

        if (result != FAULT_PERMITTED && script->done != i)
            return trial_differs(trial, "the access at 0x%llx should end by %s",
                                 (unsigned long long)address, event_names[result]);
        if (result != FAULT_PERMITTED)
            return run_result == 1 ? trial_task_killed(trial, task, result, address)
                                   : trial_differs(trial, "a task outlived a bad access");
        if (script->done <= i) {
            bool told = world_find_death(&trial->world, task->id, &death);

            return trial_differs(trial, "the access at 0x%llx ended the task by %s",
                                 (unsigned long long)step->va,
                                 told ? event_names[death.cause] : "nothing recorded");
        }
        if (!expect_step(trial, task, step, value))
            return false;
    }
    return run_result == 0 || trial_differs(trial, "a task ended without a bad access");
}

/* --- exec --- */

/* The count, the pointers ended by 0, the strings, ending at the end of the address space. */
static size_t lay_out_stack(va_t end, uint8_t *data)
{
    uint64_t words[4] = {0};
    size_t strings = sizeof(words);
    size_t used = strings;

    for (const char *const *argument = trial_arguments; *argument != NULL; argument++)
        used += strlen(*argument) + 1;
    size_t bytes = (size_t)round_up(used, 16);

    memset(data, 0, bytes);
    for (size_t i = 0; trial_arguments[i] != NULL; i++) {
        size_t length = strlen(trial_arguments[i]) + 1;

        words[0]++;
        words[i + 1] = end - bytes + strings;
        memcpy(data + strings, trial_arguments[i], length);
        strings += length;
    }
    memcpy(data, words, sizeof(words));
    return bytes;
}

static struct model_object *model_of(const struct trial *trial, const struct object *real)
{
    struct model_object *object = trial->objects;

    while (object != NULL && object->real != real)
        object = object->next;
    return object;
}

/* The program's file backs each segment; what lies behind the file's part is zeros. */
static void map_segment(struct trial *trial, struct model_space *space,
                        const struct elf_segment *segment)
{
    va_t start = page_of(segment->start);
    va_t file_end = segment->start + segment->file_bytes;
    va_t end = round_up(segment->start + segment->memory_bytes, PAGE_BYTES);
    struct model_backing zeros = {.flags = segment->protection | VMA_MAY_WRITE};
    struct model_backing backing = {.flags = zeros.flags,
                                    .object = model_of(trial, trial->program),
                                    .object_page = segment->offset_bytes >> PAGE_SHIFT};

    space_map(space, start, end - start, &zeros);
    if (segment->file_bytes > 0)
        space_map(space, start, round_up(file_end, PAGE_BYTES) - start, &backing);
    if (segment->memory_bytes > segment->file_bytes && file_end % PAGE_BYTES != 0)
        memset(space_own(space_page(space, file_end))->bytes + file_end % PAGE_BYTES, 0,
               (size_t)(PAGE_BYTES - file_end % PAGE_BYTES));
    space->heap_start = end;
    space->heap_end = end;
}

void trial_expect_exec(struct trial *trial, struct trial_task *task)
{
    const struct elf_image *image = trial->program->image;
    struct model_space *space = &task->space;
    va_t user_end = space->user_end;
    uint8_t data[256];
    size_t bytes = lay_out_stack(user_end, data);
    struct model_backing stack = {.flags = VMA_READ | VMA_WRITE | VMA_MAY_WRITE | VMA_GROWS_DOWN};

    space_unmap(space, 0, user_end);
    memset(task->places, 0, sizeof(task->places));
    space_map(space, user_end - PAGE_BYTES, PAGE_BYTES, &stack);
    for (size_t i = 0; i < image->segment_count; i++)
        map_segment(trial, space, &image->segments[i]);
    memcpy(space_bytes_to_write(space_page(space, user_end - 1)) + PAGE_BYTES - bytes, data, bytes);
    space->stack_pointer = user_end - bytes;
}
