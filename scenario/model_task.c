/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tasks of the model: made, forked, ended, waited for. */
#include <errno.h>
#include <string.h>

#include "scenario/model_state.h"

/* --- ends --- */

/* Nobody waits for the children of a task that has ended. */
static void orphan_children(struct model *model, uint16_t parent)
{
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        struct model_task *task = &model->tasks[i];

        if (task->state == MODEL_ABSENT || task->parent != parent)
            continue;
        task->parent = SCENARIO_NOBODY;
        if (task->state == MODEL_ZOMBIE)
            task->state = MODEL_ABSENT;
    }
}

/* The parent that waits in vfork goes on. */
static void release_parent(struct model *model, const struct model_task *task)
{
    uint16_t number = (uint16_t)(task - model->tasks);

    if (task->parent != SCENARIO_NOBODY && model->tasks[task->parent].vfork_child == number)
        model->tasks[task->parent].vfork_child = SCENARIO_NOBODY;
}

void model_end_task(struct model *model, struct model_task *task, int signal, uint64_t status)
{
    release_parent(model, task);
    space_release(task->space);
    task->space = NULL;
    task->vfork_child = SCENARIO_NOBODY;
    task->signal = signal;
    task->status = status;
    task->state = task->parent == SCENARIO_NOBODY ? MODEL_ABSENT : MODEL_ZOMBIE;
    orphan_children(model, (uint16_t)(task - model->tasks));
}

void model_exit(struct model_call *call)
{
    model_end_task(call->model, call->task, 0, call->operation->value & 0xff);
}

void model_kill(struct model_call *call)
{
    uint16_t number = call->operation->other;
    struct model_task *victim = NULL;

    if (number < SCENARIO_MOST_TASKS)
        victim = &call->model->tasks[number];
    if (victim == NULL || victim->state == MODEL_ABSENT)
        answer_error(call, ESRCH);
    else if (victim->state == MODEL_ALIVE)
        model_end_task(call->model, victim, ABI_SIGKILL, 0);
}

/* --- beginnings --- */

/* The slot for a new task: NULL, and answered, if the name is in use. */
static struct model_task *new_task(struct model_call *call, uint16_t number, uint16_t parent)
{
    if (number >= SCENARIO_MOST_TASKS || call->model->tasks[number].state != MODEL_ABSENT) {
        answer_unable(call, "the name is in use");
        return NULL;
    }
    struct model_task *task = &call->model->tasks[number];

    memset(task->has_region, 0, sizeof(task->has_region));
    task->region_count = 0;
    task->parent = parent;
    task->vfork_child = SCENARIO_NOBODY;
    return task;
}

/* It lives from now on, if it has an address space. */
static bool begin_life(struct model_call *call, struct model_task *task, struct model_space *space)
{
    if (!answer_host_error(call, space == NULL ? -ENOMEM : 0))
        return false;
    task->space = space;
    task->state = MODEL_ALIVE;
    task->birth = ++call->model->births;
    return true;
}

void model_task_new(struct model_call *call)
{
    struct model_task *task = new_task(call, call->operation->task, SCENARIO_NOBODY);

    if (task != NULL)
        begin_life(call, task, space_new(&call->model->layout));
}

static void copy_regions(struct model_task *child, const struct model_task *parent)
{
    child->region_count = parent->region_count;
    memcpy(child->has_region, parent->has_region, parent->region_count * sizeof(bool));
    memcpy(child->regions, parent->regions, parent->region_count * sizeof(va_t));
}

void model_fork(struct model_call *call)
{
    struct model_task *child = new_task(call, call->operation->other, call->operation->task);

    if (child != NULL && begin_life(call, child, space_fork(call->task->space)))
        copy_regions(child, call->task);
}

void model_vfork(struct model_call *call)
{
    struct model_task *child = new_task(call, call->operation->other, call->operation->task);

    if (child == NULL)
        return;
    call->task->space->references++;
    begin_life(call, child, call->task->space);
    copy_regions(child, call->task);
    call->task->vfork_child = call->operation->other;
}

void model_exec(struct model_call *call)
{
    const struct scenario_operation *operation = call->operation;
    struct model_task *task = call->task;

    if (operation->file != SCENARIO_NOBODY || operation->text != NULL) {
        answer_unable(call, "the model knows no program but the very small one");
        return;
    }
    struct model_space *space = space_new(&call->model->layout);

    if (space == NULL) {
        (void)answer_host_error(call, -ENOMEM);
        return;
    }
    release_parent(call->model, task);
    space_release(task->space);
    space->has_program = true;
    task->space = space;
    task->region_count = 0;
    memset(task->has_region, 0, sizeof(task->has_region));
}

/* --- wait --- */

static bool is_child(const struct model_call *call, unsigned number)
{
    const struct model_task *task = &call->model->tasks[number];
    uint16_t wanted = call->operation->other;

    return task->state != MODEL_ABSENT && task->parent == call->operation->task &&
           (wanted == SCENARIO_NOBODY || wanted == number);
}

/* The child that came first, of those that have ended if there is one. */
static struct model_task *find_child(const struct model_call *call)
{
    struct model_task *found = NULL;

    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        struct model_task *task = &call->model->tasks[i];

        if (!is_child(call, i))
            continue;
        if (found == NULL || (task->state == MODEL_ZOMBIE && found->state != MODEL_ZOMBIE) ||
            (task->state == found->state && task->birth < found->birth))
            found = task;
    }
    return found;
}

void model_wait(struct model_call *call)
{
    struct scenario_outcome *outcome = call->outcome;
    struct model_task *child = find_child(call);

    if (child == NULL) {
        answer_error(call, ECHILD);
        return;
    }
    if (child->state != MODEL_ZOMBIE) {
        answer_unable(call, "it would wait for ever");
        return;
    }
    child->state = MODEL_ABSENT;
    outcome->kind = child->signal != 0 ? OUTCOME_KILLED : OUTCOME_EXITED;
    outcome->signal = child->signal;
    outcome->value = child->status;
    outcome->child = (uint16_t)(child - call->model->tasks);
}
