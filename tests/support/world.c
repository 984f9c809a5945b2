/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Worlds; world.h says what they are for. */
#include "tests/support/world.h"

#include <stdio.h>

#include "pager/invariant.h"
#include "pager/map.h"
#include "pager/object.h"

const char *const mmu_names[] = {[MMU_HOST] = "host", [MMU_SOFT] = "soft"};

void world_begin(struct world *world, const struct machine_options *options)
{
    char problem[WORLD_WHY_BYTES];

    *world = (struct world){0};
    if (machine_create(&world->machine, options, problem, sizeof(problem)) != 0)
        fail_msg("no machine: %s", problem);
    snprintf(world->name, sizeof(world->name), "%s, %s, %s", world->machine->kernel->name,
             mmu_names[options->mmu], world->machine->ram.geometry->name);
    world->frames_before = machine_used_frames(world->machine);
    assert_int_equal(task_create(world->machine, &world->init), 0);
}

bool world_is_sound(const struct world *world, char *why, size_t why_bytes)
{
    return machine_invariants_hold(world->machine, why, why_bytes);
}

void world_check(const struct world *world)
{
    char why[WORLD_WHY_BYTES];

    if (!world_is_sound(world, why, sizeof(why)))
        fail_msg("%s: %s", world->name, why);
}

static bool nothing_is_left(const struct world *world, char *why, size_t why_bytes)
{
    struct machine *machine = world->machine;
    uint32_t used = machine_used_frames(machine);

    snprintf(why, why_bytes,
             "left over: %zu VMAs, %zu address spaces, %zu tasks, %zu objects, %zu families, "
             "%zu links, %d frames",
             machine->vmas.used_count, machine->mms.used_count, machine->tasks.used_count,
             machine->objects.used_count, machine->anon_families.used_count,
             machine->anon_links.used_count, (int)(used - world->frames_before));
    return machine->vmas.used_count == 0 && machine->mms.used_count == 0 &&
           machine->tasks.used_count == 0 && machine->objects.used_count == 0 &&
           machine->anon_families.used_count == 0 && machine->anon_links.used_count == 0 &&
           used == world->frames_before;
}

bool world_close(struct world *world, char *why, size_t why_bytes)
{
    struct machine *machine = world->machine;

    machine_lock(machine);
    task_end_all_locked(machine);
    while (machine->object_list != NULL)
        object_put_locked(machine, machine->object_list);
    machine_unlock(machine);
    bool sound = world_is_sound(world, why, why_bytes) && nothing_is_left(world, why, why_bytes);

    machine_destroy(machine);
    world->machine = NULL;
    return sound;
}

void world_end(struct world *world)
{
    char why[WORLD_WHY_BYTES];

    world_check(world);
    if (!world_close(world, why, sizeof(why)))
        fail_msg("%s: %s", world->name, why);
}

bool world_has_task(const struct world *world, const struct task *wanted)
{
    machine_lock(world->machine);
    const struct task *task = world->machine->task_list;

    while (task != NULL && task != wanted)
        task = task->next;
    machine_unlock(world->machine);
    return task != NULL;
}

bool world_find_death(const struct world *world, uint32_t task_id, struct task_status *status)
{
    const struct event_log *events = &world->machine->events;
    uint64_t oldest =
        events->recorded > EVENT_RING_RECORDS ? events->recorded - EVENT_RING_RECORDS : 0;

    for (uint64_t sequence = events->recorded; sequence > oldest; sequence--) {
        const struct event_record *record = &events->ring[(sequence - 1) % EVENT_RING_RECORDS];

        if (record->task_id != task_id || record->event < EVENT_FIRST_BAD ||
            record->event > EVENT_LAST_BAD)
            continue;
        *status =
            (struct task_status){.killed = true, .cause = record->event, .address = record->va};
        return true;
    }
    return false;
}

/* --- user code --- */

static uint64_t load(struct forklab_user *user, va_t va, unsigned bytes)
{
    switch (bytes) {
    case 1:
        return forklab_load8(user, va);
    case 2:
        return forklab_load16(user, va);
    case 4:
        return forklab_load32(user, va);
    default:
        return forklab_load64(user, va);
    }
}

static void store(struct forklab_user *user, va_t va, unsigned bytes, uint64_t value)
{
    switch (bytes) {
    case 1:
        forklab_store8(user, va, (uint8_t)value);
        break;
    case 2:
        forklab_store16(user, va, (uint16_t)value);
        break;
    case 4:
        forklab_store32(user, va, (uint32_t)value);
        break;
    default:
        forklab_store64(user, va, value);
        break;
    }
}

/* Loads and stores at a host pointer are the program's own. */
static void perform_in_view(struct forklab_user *user, struct access_step *step)
{
    void *view = NULL;
    size_t reached = forklab_view(user, step->va, step->bytes, step->write, &view);

    if (reached < step->bytes)
        return;
    struct forklab_user direct = {.base = (uintptr_t)view - step->va, .limit = UINT64_MAX};

    if (step->write)
        store(&direct, step->va, step->bytes, step->value);
    else
        step->value = load(&direct, step->va, step->bytes);
}

static void perform(struct forklab_user *user, struct access_step *step)
{
    if (step->view)
        perform_in_view(user, step);
    else if (step->write)
        store(user, step->va, step->bytes, step->value);
    else
        step->value = load(user, step->va, step->bytes);
}

void world_perform(struct forklab_user *user, struct access_script *script)
{
    for (script->done = 0; script->done < script->count; script->done++)
        perform(user, &script->steps[script->done]);
}

static void perform_script(struct forklab_user *user, void *argument)
{
    world_perform(user, argument);
}

int world_access(struct task *task, struct access_script *script)
{
    script->done = 0;
    return world_call(task, perform_script, script);
}

/* What task_run() is to call: its own argument is the word that goes on the emulated stack. */
static _Thread_local struct {
    user_function *function;
    void *argument;
} current;

static void call_current(struct forklab_user *user, void *argument)
{
    (void)argument;
    current.function(user, current.argument);
}

int world_call(struct task *task, user_function *function, void *argument)
{
    user_function *outer_function = current.function;
    void *outer_argument = current.argument;

    current.function = function;
    current.argument = argument;
    int result = task_run(task, call_current, (void *)(uintptr_t)WORLD_STACK_WORD);

    current.function = outer_function;
    current.argument = outer_argument;
    return result;
}

int world_exec(struct forklab_user *user, struct object *file, const char *const arguments[],
               user_function *function, void *argument)
{
    current.function = function;
    current.argument = argument;
    return user_exec(user, file, arguments, call_current, (void *)(uintptr_t)WORLD_STACK_WORD);
}

/* --- what goes well --- */

uint8_t world_load(struct task *task, va_t va)
{
    struct access_step step = {.va = va, .bytes = 1};
    struct access_script script = {.steps = &step, .count = 1};

    assert_int_equal(world_access(task, &script), 0);
    return (uint8_t)step.value;
}

void world_store(struct task *task, va_t va, uint8_t value)
{
    struct access_step step = {.va = va, .bytes = 1, .write = true, .value = value};
    struct access_script script = {.steps = &step, .count = 1};

    assert_int_equal(world_access(task, &script), 0);
}

struct task *world_fork(struct task *parent)
{
    struct task *child = NULL;

    assert_int_equal(sys_fork(parent, &child), 0);
    return child;
}

void world_map(struct task *task, va_t va, uint64_t bytes)
{
    struct map_request request = {.address = va,
                                  .bytes = bytes,
                                  .protection = VMA_READ | VMA_WRITE,
                                  .flags = MAP_REQUEST_FIXED};

    assert_int_equal(sys_mmap(task, &request, &va), 0);
}

struct task *world_begin_family(struct world *world, const struct machine_options *options)
{
    world_begin(world, options);
    struct task *task = world_fork(world->init);

    world_map(task, WORLD_BASE, WORLD_FAMILY_PAGES * PAGE_BYTES);
    for (unsigned i = 0; i < WORLD_FAMILY_PAGES; i++)
        world_store(task, WORLD_BASE + i * PAGE_BYTES, (uint8_t)(i + 1));
    return task;
}
