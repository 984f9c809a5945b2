/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks of a scenario: born, ended, killed, waited for.
 *
 * A task that ends leaves its living children to init and its zombies to nobody, as in Unix. The
 * machine knows no init; so whoever was left without a parent is given one here, before it can end
 * unheard.
 */
#include <errno.h>
#include <string.h>

#include "scenario/emulated_private.h"

enum { STATUS_MASK = 0xff };

/* --- who is there --- */

static bool is_listed(const struct machine *machine, const struct task *wanted)
{
    const struct task *task = machine->task_list;

    while (task != NULL && task != wanted)
        task = task->next;
    return task != NULL;
}

static void look_at_slot(struct emulated *emulated, struct emulated_slot *slot)
{
    /* A zombie goes with its parent, whom nobody else can ask for it. */
    if (!is_listed(emulated->machine, slot->task)) {
        slot->task = NULL;
        slot->is_alive = false;
        return;
    }
    slot->is_alive = slot->task->state != TASK_ZOMBIE;
    if (slot->task->parent == NULL) {
        slot->task->parent = emulated->init;
        slot->parent = SCENARIO_NOBODY;
    }
}

void emulated_look_at_tasks(struct emulated *emulated)
{
    struct task_status status;

    machine_lock(emulated->machine);
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        if (emulated->slots[i].task != NULL)
            look_at_slot(emulated, &emulated->slots[i]);
    }
    machine_unlock(emulated->machine);
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        struct emulated_slot *slot = &emulated->slots[i];

        if (slot->task == NULL || slot->is_alive || slot->parent != SCENARIO_NOBODY)
            continue;
        sys_wait(emulated->init, slot->task, &status);
        slot->task = NULL;
    }
}

/* --- born --- */

/* The slot for a new task's name; NULL when somebody has it. */
static struct emulated_slot *free_slot(struct emulated *emulated, uint16_t number,
                                       struct scenario_outcome *outcome)
{
    struct emulated_slot *slot = number < SCENARIO_MOST_TASKS ? &emulated->slots[number] : NULL;

    if (slot != NULL && slot->task == NULL)
        return slot;
    outcome_unable(outcome, "there is a task of that name already");
    return NULL;
}

static void fill_slot(struct emulated *emulated, struct emulated_slot *slot, struct task *task)
{
    slot->task = task;
    slot->is_alive = true;
    slot->born = ++emulated->births;
}

/* The heap lies where nothing else does; in a very small address space at an eighth of it. */
static void give_heap(struct emulated *emulated, struct task *task)
{
    va_t start = min_u64(SCENARIO_HEAP_START, round_down(emulated->user_end / 8, PAGE_BYTES));

    task->mm->heap_start = start;
    task->mm->heap_end = start;
}

void emulated_new_task(struct emulated *emulated, const struct scenario_operation *operation,
                       struct scenario_outcome *outcome)
{
    struct emulated_slot *slot = free_slot(emulated, operation->task, outcome);
    struct machine *machine = emulated->machine;
    struct task *task;

    if (slot == NULL)
        return;
    int error = task_create(machine, &task);

    if (error == 0) {
        machine_lock(machine);
        task->parent = emulated->init;
        give_heap(emulated, task);
        machine_unlock(machine);
        fill_slot(emulated, slot, task);
        slot->parent = SCENARIO_NOBODY;
        slot->heap_start = task->mm->heap_start;
        memset(slot->known, 0, sizeof(slot->known));
    }
    outcome_of_call(emulated, operation, error, 0, outcome);
}

typedef int make_child(struct task *parent, struct task **child);

static void give_birth(struct emulated *emulated, const struct scenario_operation *operation,
                       make_child *make, struct scenario_outcome *outcome)
{
    struct emulated_slot *parent = &emulated->slots[operation->task];
    struct emulated_slot *slot = free_slot(emulated, operation->other, outcome);
    struct task *child;

    if (slot == NULL)
        return;
    int error = make(parent->task, &child);

    if (error == 0) {
        *slot = *parent;
        fill_slot(emulated, slot, child);
        slot->parent = operation->task;
    }
    outcome_of_call(emulated, operation, error, 0, outcome);
}

void emulated_fork(struct emulated *emulated, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    give_birth(emulated, operation, sys_fork, outcome);
}

void emulated_vfork(struct emulated *emulated, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    give_birth(emulated, operation, sys_vfork, outcome);
}

/* --- ended --- */

void emulated_exit(struct emulated *emulated, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    struct task *task = emulated->slots[operation->task].task;
    int error = task_exit(task, (int)(operation->value & STATUS_MASK));

    emulated_look_at_tasks(emulated);
    outcome_of_call(emulated, operation, error, 0, outcome);
}

/* Is the task free to make a call? 0, or -EBUSY while it is suspended. */
static int check_caller(struct task *task)
{
    int error = task_enter_kernel(task);

    if (error == 0)
        machine_unlock(task->machine);
    return error;
}

/* kill(2) of a zombie works, and of oneself; nobody is left to be killed once waited for. */
void emulated_kill(struct emulated *emulated, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    const struct emulated_slot *slot =
        operation->other < SCENARIO_MOST_TASKS ? &emulated->slots[operation->other] : NULL;
    int error = check_caller(emulated->slots[operation->task].task);

    if (error == 0 && (slot == NULL || slot->task == NULL))
        error = -ESRCH;
    if (error == 0 && slot->is_alive) {
        task_kill(slot->task);
        emulated_look_at_tasks(emulated);
    }
    outcome_of_call(emulated, operation, error, 0, outcome);
}

/* --- heard of --- */

/* An address that the processor does not translate at all: Linux tells no address of it. */
static bool is_canonical(const struct emulated *emulated, va_t va)
{
    const va_t bits = (va_t)1 << 47;

    return emulated->machine->ram.geometry != &geometry_x86_64 || va < bits || va >= -bits;
}

int emulated_signal(const struct emulated *emulated, const struct task_status *status, int *code,
                    va_t *address)
{
    *code = 0;
    *address = 0;
    if (status->cause == EVENT_BAD_OOM)
        *address = status->address; /* Linux tells none; the fuzzer asks how far the task came */
    if (status->cause == EVENT_EXIT || status->cause == EVENT_BAD_OOM)
        return ABI_SIGKILL;
    if (status->cause == EVENT_BAD_MAPERR && !is_canonical(emulated, status->address)) {
        *code = ABI_SI_KERNEL;
        return ABI_SIGSEGV;
    }
    *address = status->address;
    if (status->cause == EVENT_BAD_BUS) {
        *code = ABI_BUS_ADRERR;
        return ABI_SIGBUS;
    }
    *code = status->cause == EVENT_BAD_MAPERR ? ABI_SEGV_MAPERR : ABI_SEGV_ACCERR;
    return ABI_SIGSEGV;
}

/* The child that is meant, or the oldest that has ended; `any`: is there a child at all? */
static struct emulated_slot *find_child(struct emulated *emulated,
                                        const struct scenario_operation *operation, bool *any)
{
    struct emulated_slot *found = NULL;

    *any = false;
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        struct emulated_slot *slot = &emulated->slots[i];

        if (slot->task == NULL || slot->parent != operation->task ||
            (operation->other != SCENARIO_NOBODY && operation->other != i))
            continue;
        *any = true;
        if (!slot->is_alive && (found == NULL || slot->born < found->born))
            found = slot;
    }
    return found;
}

static void outcome_of_status(struct emulated *emulated, struct emulated_slot *child,
                              const struct task_status *status, struct scenario_outcome *outcome)
{
    va_t address;
    int code;

    outcome->child = (uint16_t)(child - emulated->slots);
    if (status->killed) {
        outcome->kind = OUTCOME_KILLED;
        outcome->signal = emulated_signal(emulated, status, &code, &address);
    } else {
        outcome->kind = OUTCOME_EXITED;
        outcome->value = (uint64_t)status->exit_code;
    }
}

void emulated_wait(struct emulated *emulated, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    struct task *parent = emulated->slots[operation->task].task;
    struct task_status status;
    bool any;
    struct emulated_slot *child = find_child(emulated, operation, &any);
    int error = check_caller(parent);

    if (error == 0 && child == NULL && any) {
        outcome_unable(outcome, "%s would wait for ever: no such child has ended",
                       emulated_task_name(emulated, operation->task));
        return;
    }
    if (error == 0)
        error = child != NULL ? sys_wait(parent, child->task, &status) : -ECHILD;
    if (error != 0) {
        outcome_of_call(emulated, operation, error, 0, outcome);
        return;
    }
    child->task = NULL;
    outcome_of_status(emulated, child, &status, outcome);
}
