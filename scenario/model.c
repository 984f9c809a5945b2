/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model as a backend: who is called for a verb, where addresses lie, and what can be told of a
 * state. model_state.h has the terms.
 */
#include "scenario/model_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DATA_BYTES ((uint64_t)64 << 20)
#define MODEL_LINUX_VERSION 6018000u

static const char broken_text[] = "the model ran out of memory";

static struct model *model_of(struct backend *backend)
{
    return (struct model *)(void *)backend;
}

/* --- answers --- */

void answer_error(struct model_call *call, int error)
{
    call->outcome->kind = OUTCOME_ERROR;
    call->outcome->error = error;
}

void answer_unable(struct model_call *call, const char *why)
{
    call->outcome->kind = OUTCOME_UNABLE;
    snprintf(call->outcome->why, sizeof(call->outcome->why), "%s", why);
}

bool answer_host_error(struct model_call *call, int error)
{
    if (error == 0)
        return true;
    call->model->is_broken = true;
    call->outcome->kind = OUTCOME_BROKEN;
    snprintf(call->outcome->why, sizeof(call->outcome->why), "%s", broken_text);
    return false;
}

uint8_t *answer_data(struct model_call *call, uint64_t bytes)
{
    struct model *model = call->model;

    if (bytes > MOST_DATA_BYTES) {
        answer_unable(call, "the model reads at most 64M at once");
        return NULL;
    }
    if (bytes > model->data_capacity || model->data == NULL) {
        void *grown = realloc(model->data, bytes + PAGE_BYTES);

        if (grown == NULL) {
            (void)answer_host_error(call, -ENOMEM);
            return NULL;
        }
        model->data = grown;
        model->data_capacity = bytes + PAGE_BYTES;
    }
    call->outcome->kind = OUTCOME_DATA;
    call->outcome->data = model->data;
    call->outcome->data_bytes = bytes;
    return model->data;
}

bool model_is_blind(const struct model_call *call, va_t start, uint64_t bytes)
{
    const struct model_layout *layout = &call->model->layout;
    va_t end = bytes > UINT64_MAX - start ? UINT64_MAX : start + bytes;

    if (start < layout->user_end && end > layout->map_top)
        return true;
    return call->task->space->has_program && start < MODEL_PROGRAM_END;
}

/* --- operations --- */

static model_perform *const performers[VERB_COUNT] = {
    [VERB_MMAP] = model_mmap,
    [VERB_MUNMAP] = model_munmap,
    [VERB_MPROTECT] = model_mprotect,
    [VERB_MREMAP] = model_mremap,
    [VERB_BRK] = model_brk,
    [VERB_MADVISE] = model_madvise,
    [VERB_MLOCK] = model_mlock,
    [VERB_MUNLOCK] = model_munlock,
    [VERB_MSYNC] = model_msync,
    [VERB_MINCORE] = model_mincore,
    [VERB_STRIPE] = model_stripe,
    [VERB_READ] = model_read,
    [VERB_WRITE] = model_write,
    [VERB_PEEK] = model_peek,
    [VERB_POKE] = model_poke,
    [VERB_KREAD] = model_kread,
    [VERB_KWRITE] = model_kwrite,
    [VERB_TASK] = model_task_new,
    [VERB_FORK] = model_fork,
    [VERB_VFORK] = model_vfork,
    [VERB_EXEC] = model_exec,
    [VERB_EXIT] = model_exit,
    [VERB_KILL] = model_kill,
    [VERB_WAIT] = model_wait,
    [VERB_PIN] = model_pin,
    [VERB_UNPIN] = model_unpin,
    [VERB_PINREAD] = model_pinread,
    [VERB_PINWRITE] = model_pinwrite,
    [VERB_FILE] = model_file_new,
    [VERB_SHM] = model_shm,
    [VERB_DIRECTORY] = model_directory,
    [VERB_CLOSE] = model_close,
    [VERB_TRUNCATE] = model_truncate,
    [VERB_FREAD] = model_fread,
    [VERB_FWRITE] = model_fwrite,
};

static bool resolve_for(const struct model_task *task, const struct scenario_address *address,
                        va_t *va)
{
    va_t base = 0;

    switch (address->base) {
    case BASE_ABSOLUTE:
        break;
    case BASE_REGION:
        if (address->region >= SCENARIO_MOST_REGIONS || !task->has_region[address->region])
            return false;
        base = task->regions[address->region];
        break;
    case BASE_HEAP:
        if (task->space == NULL || task->space->has_program)
            return false;
        base = task->space->layout->heap_start;
        break;
    case BASE_STACK:
        return false;
    }
    *va = base + address->offset_bytes;
    return true;
}

/* The task that acts, and where: false when that is answered already. */
static bool prepare(struct model_call *call)
{
    const struct scenario_operation *operation = call->operation;

    if (!verb_descriptions[operation->verb].has_task)
        return true;
    if (operation->task >= SCENARIO_MOST_TASKS ||
        call->model->tasks[operation->task].state != MODEL_ALIVE) {
        answer_unable(call, "there is no such task alive");
        return false;
    }
    call->task = &call->model->tasks[operation->task];
    if (call->task->vfork_child != SCENARIO_NOBODY) {
        answer_unable(call, "suspended until its child execs or ends");
        return false;
    }
    if (!resolve_for(call->task, &operation->address, &call->address) ||
        (operation->has_target && !resolve_for(call->task, &operation->target, &call->target))) {
        answer_unable(call, "the model does not know where that lies");
        return false;
    }
    return true;
}

static void perform(struct backend *backend, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    struct model_call call = {
        .model = model_of(backend), .operation = operation, .outcome = outcome};

    outcome->kind = OUTCOME_DONE;
    outcome->value = 0;
    outcome->child = SCENARIO_NOBODY;
    outcome->faults = 0;
    outcome->data_bytes = 0;
    if (!answer_host_error(&call, call.model->is_broken ? -ENOMEM : 0))
        return;
    if (performers[operation->verb] == NULL)
        answer_unable(&call, "flat memory has no such thing");
    else if (operation->fail_after != 0)
        answer_unable(&call, "the model refuses no memory");
    else if (prepare(&call))
        performers[operation->verb](&call);
}

/* --- what can be told --- */

static const struct model_task *living_task(struct backend *backend, uint16_t task)
{
    const struct model *model = model_of(backend);

    if (task >= SCENARIO_MOST_TASKS || model->tasks[task].state != MODEL_ALIVE)
        return NULL;
    return &model->tasks[task];
}

/* Of a task that has ended, too: where it died. */
static bool resolve(struct backend *backend, uint16_t task, const struct scenario_address *address,
                    va_t *va)
{
    const struct model *model = model_of(backend);

    return task < SCENARIO_MOST_TASKS && resolve_for(&model->tasks[task], address, va);
}

static bool is_alive(struct backend *backend, uint16_t task)
{
    return living_task(backend, task) != NULL;
}

static void describe_range(const struct model_range *range, struct scenario_vma *vma)
{
    vma->start = range->start;
    vma->end = range->end;
    vma->rights[0] = range->flags & RANGE_READ ? 'r' : '-';
    vma->rights[1] = range->flags & RANGE_WRITE ? 'w' : '-';
    vma->rights[2] = range->flags & RANGE_EXEC ? 'x' : '-';
    vma->rights[3] = range->flags & RANGE_SHARED ? 's' : 'p';
    vma->is_file = range->object != NULL;
    vma->offset_bytes = range->object_page << PAGE_SHIFT;
}

/* Ranges alike are told as one. */
static int snapshot(struct backend *backend, uint16_t task, bool with_usage,
                    struct scenario_snapshot *snapshot)
{
    const struct model_task *living = living_task(backend, task);

    (void)with_usage; /* flat memory is all there */
    if (living == NULL)
        return -ESRCH;
    const struct model_space *space = living->space;

    for (size_t i = 0; i < space->count; i++) {
        if (i > 0 && ranges_may_be_one(&space->ranges[i - 1], &space->ranges[i])) {
            snapshot->vmas[snapshot->count - 1].end = space->ranges[i].end;
            continue;
        }
        struct scenario_vma *vma = snapshot_add(snapshot);

        if (vma == NULL)
            return -ENOMEM;
        describe_range(&space->ranges[i], vma);
    }
    return 0;
}

static void show_maps(struct backend *backend, uint16_t task, FILE *stream)
{
    struct scenario_snapshot maps = {0};

    if (snapshot(backend, task, false, &maps) == 0) {
        for (size_t i = 0; i < maps.count; i++) {
            const struct scenario_vma *vma = &maps.vmas[i];

            fprintf(stream, "%llx-%llx %s %08llx\n", (unsigned long long)vma->start,
                    (unsigned long long)vma->end, vma->rights,
                    (unsigned long long)vma->offset_bytes);
        }
    }
    snapshot_free(&maps);
}

static void show(struct backend *backend, enum scenario_show what, uint16_t task, FILE *stream)
{
    if (what == SHOW_MAPS)
        show_maps(backend, task, stream);
    else
        fputs("flat memory has no such state\n", stream);
}

static bool quantity(struct backend *backend, const struct scenario_operation *operation,
                     uint64_t *value)
{
    (void)backend;
    (void)operation;
    (void)value;
    return false;
}

static bool selects(struct backend *backend, const struct scenario_selector *selector)
{
    (void)backend;
    switch (selector->kind) {
    case SELECT_LINUX_FROM:
        return MODEL_LINUX_VERSION >= selector->version;
    case SELECT_LINUX_BEFORE:
        return MODEL_LINUX_VERSION < selector->version;
    default:
        return false;
    }
}

static bool meets(struct backend *backend, const struct scenario_operation *needs, char *why,
                  size_t why_bytes)
{
    (void)backend;
    if (needs->need == NEED_LINUX_FROM)
        return MODEL_LINUX_VERSION >= needs->value;
    if (needs->need == NEED_LINUX_BEFORE)
        return MODEL_LINUX_VERSION < needs->value;
    snprintf(why, why_bytes, "it needs more than flat memory");
    return false;
}

static bool is_sound(struct backend *backend, char *why, size_t why_bytes)
{
    (void)backend;
    (void)why;
    (void)why_bytes;
    return true;
}

static void release_all(struct model *model)
{
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++)
        space_release(model->tasks[i].space);
    for (unsigned i = 0; i < SCENARIO_MOST_FILES; i++)
        object_release(model->files[i].object);
    for (unsigned i = 0; i < SCENARIO_MOST_PINS; i++) {
        if (model->pins[i].block != NULL)
            block_unpin(model->pins[i].block);
    }
}

void model_renew(struct backend *backend)
{
    struct model *model = model_of(backend);

    release_all(model);
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        model->tasks[i].state = MODEL_ABSENT;
        model->tasks[i].space = NULL;
    }
    memset(model->files, 0, sizeof(model->files));
    memset(model->pins, 0, sizeof(model->pins));
}

static bool end(struct backend *backend, char *why, size_t why_bytes)
{
    struct model *model = model_of(backend);
    bool was_broken = model->is_broken;

    release_all(model);
    free(model->data);
    free(model);
    if (was_broken)
        snprintf(why, why_bytes, "%s", broken_text);
    return !was_broken;
}

static const struct backend_ops model_ops = {
    .name = "model",
    .perform = perform,
    .resolve = resolve,
    .is_alive = is_alive,
    .snapshot = snapshot,
    .show = show,
    .quantity = quantity,
    .selects = selects,
    .meets = meets,
    .is_sound = is_sound,
    .end = end,
};

int model_create(struct backend **backend, const struct model_layout *layout)
{
    struct model *model = calloc(1, sizeof(*model));

    if (model == NULL)
        return -ENOMEM;
    model->backend.ops = &model_ops;
    model->layout = *layout;
    *backend = &model->backend;
    return 0;
}
