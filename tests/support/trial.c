/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trials: set up, looked over and ended. trial_apply.c has the operations. */
#include "tests/support/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pager/object.h"

enum { FILE_TAIL_BYTES = 100, HEAP_PAGE = 6 };

/* --- set-up --- */

/* A nameless file of the host with so many bytes, opened for mapping. */
static struct object *open_file(struct trial *trial, const uint8_t *bytes, size_t count)
{
    char path[64];
    struct object *object = NULL;
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fflush(file), 0);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
    assert_int_equal(file_open(trial->world.machine, path, &object), 0);
    fclose(file);
    return object;
}

static struct model_object *keep(struct trial *trial, struct model_object *object)
{
    object->next = trial->objects;
    trial->objects = object;
    return object;
}

static void add_shm(struct trial *trial, unsigned number, uint64_t pages)
{
    struct object *object = NULL;

    assert_int_equal(shm_create(trial->world.machine, pages * PAGE_BYTES, &object), 0);
    trial->named[number] = keep(trial, model_object_new(object, pages, NULL));
}

/* The last page of a file is not full: what lies behind its end is zeros. */
static void add_file(struct trial *trial, unsigned number, uint64_t pages, bool read_only)
{
    size_t bytes = (size_t)(pages * PAGE_BYTES);
    size_t file_bytes = bytes - PAGE_BYTES + FILE_TAIL_BYTES;
    uint8_t *contents = calloc(1, bytes);

    assert_non_null(contents);
    operation_bytes(number, contents, file_bytes);
    struct object *object = open_file(trial, contents, file_bytes);

    object->read_only = read_only;
    trial->named[number] = keep(trial, model_object_new(object, pages, contents));
    trial->named[number]->read_only = read_only;
    free(contents);
}

static void add_program(struct trial *trial, const char *path)
{
    if (path == NULL)
        return;
    assert_int_equal(file_open(trial->world.machine, path, &trial->program), 0);
    size_t bytes = (size_t)trial->program->page_count * PAGE_BYTES;
    uint8_t *contents = calloc(1, bytes);
    FILE *file = fopen(path, "rb");

    assert_non_null(contents);
    assert_non_null(file);
    assert_int_equal(fread(contents, 1, bytes, file), trial->program->bytes);
    fclose(file);
    keep(trial, model_object_new(trial->program, trial->program->page_count, contents));
    free(contents);
}

/* Three spans and a part of one; of the tiny geometry, all but what the stack may need. */
static void choose_area(struct trial *trial)
{
    const struct geometry *geometry = trial->world.machine->ram.geometry;

    if (geometry == &geometry_tiny) {
        trial->area_start = PAGE_BYTES;
        trial->area_bytes = 53 * PAGE_BYTES;
        return;
    }
    trial->area_start = (va_t)4 << 20;
    trial->area_bytes = 3 * geometry_span_bytes(geometry) + geometry_span_bytes(geometry) / 8;
}

void trial_begin(struct trial *trial, const struct machine_options *options, const char *program)
{
    memset(trial, 0, sizeof(*trial));
    world_begin(&trial->world, options);
    choose_area(trial);
    bool tiny = trial->world.machine->ram.geometry == &geometry_tiny;

    add_shm(trial, 1, tiny ? 20 : 1100);
    add_shm(trial, 2, 3);
    add_file(trial, 3, tiny ? 6 : 40, false);
    add_file(trial, 4, 4, true);
    add_program(trial, program);
    struct mm *init = trial->world.init->mm;

    init->heap_start = trial->area_start + HEAP_PAGE * PAGE_BYTES;
    init->heap_end = init->heap_start;
}

/* --- tasks --- */

bool trial_differs(struct trial *trial, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(trial->why, sizeof(trial->why), format, arguments);
    va_end(arguments);
    return false;
}

bool trial_address(const struct trial *trial, const struct trial_task *task,
                   const struct location *location, va_t *va)
{
    const struct trial_place *place = &task->places[location->place];

    switch (location->region) {
    case REGION_AREA:
        *va = trial->area_start + location->offset_bytes;
        return true;
    case REGION_STACK:
        *va = task->space.user_end - location->offset_bytes;
        return true;
    default:
        *va = place->start + location->offset_bytes;
        return place->start != 0 && location->offset_bytes < place->bytes;
    }
}

void trial_note(struct trial *trial, uint64_t number)
{
    struct random random = random_seeded(trial->digest ^ number);

    trial->digest = random_next(&random);
}

void trial_note_address(struct trial *trial, const struct trial_task *task, va_t va)
{
    for (unsigned i = 0; i < TRIAL_PLACES; i++) {
        const struct trial_place *place = &task->places[i];

        if (place->start != 0 && va >= place->start && va - place->start < place->bytes) {
            trial_note(trial, va - place->start);
            return;
        }
    }
    trial_note(trial, va < task->space.map_top ? va : task->space.user_end - va);
}

void trial_task_begins(struct trial_task *task, struct task *real, int parent, unsigned depth)
{
    task->state = TRIAL_ALIVE;
    task->parent = parent;
    task->depth = depth;
    task->real = real;
    task->id = real->id;
    memset(task->places, 0, sizeof(task->places));
}

bool trial_same_status(const struct task_status *one, const struct task_status *other)
{
    if (one->killed != other->killed)
        return false;
    if (!one->killed)
        return one->exit_code == other->exit_code;
    return one->cause == other->cause && one->address == other->address;
}

static void orphan_children(struct trial *trial, const struct trial_task *parent)
{
    for (unsigned i = 0; i < TRIAL_TASKS; i++) {
        struct trial_task *task = &trial->tasks[i];

        if (task->state == TRIAL_ABSENT || task->parent != (int)(parent - trial->tasks))
            continue;
        task->parent = PARENT_NONE;
        if (task->state == TRIAL_ZOMBIE)
            task->state = TRIAL_ABSENT;
    }
}

bool trial_task_ended(struct trial *trial, struct trial_task *task,
                      const struct task_status *status)
{
    struct task_status waited = {0};

    trial_note(trial, status->killed ? status->cause : (uint64_t)status->exit_code);
    if (status->killed)
        trial_note_address(trial, task, status->address);
    space_end(&task->space);
    task->status = *status;
    orphan_children(trial, task);
    task->state = task->parent >= 0 ? TRIAL_ZOMBIE : TRIAL_ABSENT;
    if (task->parent == PARENT_NONE)
        return !world_has_task(&trial->world, task->real) ||
               trial_differs(trial, "an orphan that ended is still there");
    if (task->real->state != TASK_ZOMBIE)
        return trial_differs(trial, "a task that ended is no zombie");
    if (!trial_same_status(&task->real->status, status))
        return trial_differs(
            trial, "ended by %s at 0x%llx, exit code %d; expected %s at 0x%llx, %d",
            event_names[task->real->status.cause], (unsigned long long)task->real->status.address,
            task->real->status.exit_code, event_names[status->cause],
            (unsigned long long)status->address, status->exit_code);
    if (task->parent != PARENT_INIT)
        return true;
    return (sys_wait(trial->world.init, task->real, &waited) == 0 &&
            trial_same_status(&waited, status)) ||
           trial_differs(trial, "init hears another status");
}

bool trial_task_killed(struct trial *trial, struct trial_task *task, enum event cause, va_t address)
{
    struct task_status status = {.killed = true, .cause = cause, .address = address};
    struct task_status found = {0};

    if (!world_find_death(&trial->world, task->id, &found))
        return trial_differs(trial, "no bad access was recorded; expected %s at 0x%llx",
                             event_names[cause], (unsigned long long)address);
    if (cause == EVENT_BAD_OOM)
        status.address = found.address;
    if (!trial_same_status(&found, &status))
        return trial_differs(trial, "killed by %s at 0x%llx; expected %s at 0x%llx",
                             event_names[found.cause], (unsigned long long)found.address,
                             event_names[cause], (unsigned long long)address);
    return trial_task_ended(trial, task, &status);
}

/* --- comparison --- */

static bool object_is_real(const struct trial *trial, const struct object *wanted)
{
    const struct object *object = trial->world.machine->object_list;

    while (object != NULL && object != wanted)
        object = object->next;
    return object != NULL;
}

/* Shared anonymous memory goes with its last mapping; pins may still hold its pages. */
static bool objects_agree(struct trial *trial)
{
    for (struct model_object *object = trial->objects; object != NULL; object = object->next) {
        object->gone = object->gone || !object_is_real(trial, object->real);
        if (!object_agrees(object, &trial->world.machine->ram, trial->why, sizeof(trial->why)))
            return false;
    }
    return true;
}

static bool mappings_agree(struct trial *trial, const struct trial_task *task)
{
    char reason[WORLD_WHY_BYTES - 32];

    if (task == NULL || task->state != TRIAL_ALIVE)
        return true;
    if (space_agrees_with_mappings(&task->space, task->real->mm, reason, sizeof(reason))) {
        space_note_beginnings(&trial->tasks[task - trial->tasks].space, task->real->mm);
        return true;
    }
    return trial_differs(trial, "T%d: %s", (int)(task - trial->tasks), reason);
}

bool trial_states_agree(struct trial *trial, const struct trial_task *changed,
                        const struct trial_task *also)
{
    char reason[WORLD_WHY_BYTES - 32];

    if (!world_is_sound(&trial->world, trial->why, sizeof(trial->why)))
        return false;
    if (!mappings_agree(trial, changed) || !mappings_agree(trial, also) || !objects_agree(trial))
        return false;
    for (unsigned i = 0; i < TRIAL_TASKS; i++) {
        const struct trial_task *task = &trial->tasks[i];

        if (task->state == TRIAL_ALIVE &&
            !space_agrees_with_contents(&task->space, task->real->mm, reason, sizeof(reason)))
            return trial_differs(trial, "T%u: %s", i, reason);
    }
    return true;
}

/* --- the end --- */

static bool all_mappings_agree(struct trial *trial)
{
    for (unsigned i = 0; i < TRIAL_TASKS; i++) {
        if (!mappings_agree(trial, &trial->tasks[i]))
            return false;
    }
    return true;
}

static void give_up_model(struct trial *trial)
{
    for (unsigned i = 0; i < TRIAL_PINS; i++) {
        if (trial->pins[i].active) {
            unpin(&trial->pins[i].real);
            block_put(trial->pins[i].block);
        }
    }
    for (unsigned i = 0; i < TRIAL_TASKS; i++) {
        if (trial->tasks[i].state == TRIAL_ALIVE)
            space_end(&trial->tasks[i].space);
    }
    while (trial->objects != NULL) {
        struct model_object *object = trial->objects;

        trial->objects = object->next;
        model_object_free(object);
    }
}

bool trial_end(struct trial *trial)
{
    char reason[WORLD_WHY_BYTES - 32];
    bool agree = trial->why[0] == '\0' && all_mappings_agree(trial);

    give_up_model(trial);
    bool nothing_lost = world_close(&trial->world, reason, sizeof(reason));

    if (agree && !nothing_lost)
        snprintf(trial->why, sizeof(trial->why), "at the end: %s", reason);
    return agree && nothing_lost;
}
