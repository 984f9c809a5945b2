/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The emulated backend: made, asked, ended. Its verbs are in emulated_*.c, its pictures in
 * show_*.c.
 *
 * An operation that is well costs no allocation and formats nothing: fuzzing lives on that.
 *
 * Limits: one operation reads at most 64M at once. An address space of the tiny geometry has its
 * heap at an eighth of it, for 16M lies beyond its end.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "pager/invariant.h"
#include "scenario/emulated_private.h"
#include "scenario/picture.h"
#include "scenario/usage.h"

/* --- outcomes --- */

void outcome_unable(struct scenario_outcome *outcome, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(outcome->why, sizeof(outcome->why), format, arguments);
    va_end(arguments);
    outcome->kind = OUTCOME_UNABLE;
}

void outcome_broken(struct scenario_outcome *outcome, const char *why)
{
    snprintf(outcome->why, sizeof(outcome->why), "%s", why);
    outcome->kind = OUTCOME_BROKEN;
}

/* msync may be told EBUSY, too. */
static bool is_suspended(const struct emulated *emulated, uint16_t task)
{
    return task < SCENARIO_MOST_TASKS && emulated->slots[task].task != NULL &&
           emulated->slots[task].task->borrower != NULL;
}

void outcome_of_call(const struct emulated *emulated, const struct scenario_operation *operation,
                     int error, uint64_t value, struct scenario_outcome *outcome)
{
    if (error == 0)
        outcome_done(outcome, value);
    else if (error == -EBUSY && is_suspended(emulated, operation->task))
        outcome_unable(outcome, "%s is suspended until its vfork child execs or ends",
                       emulated_task_name(emulated, operation->task));
    else
        outcome_error(outcome, error);
}

/* --- names and places --- */

const char *emulated_task_name(const struct emulated *emulated, unsigned slot)
{
    const struct scenario_names *names = emulated->backend.task_names;

    return names != NULL && slot < names->count ? names->names[slot] : "the task";
}

void emulated_name_region(struct emulated_slot *slot, uint16_t region, va_t va)
{
    if (region >= SCENARIO_MOST_REGIONS)
        return;
    slot->known[region / 64] |= (uint64_t)1 << (region % 64);
    slot->regions[region] = va;
}

static bool resolve(struct backend *backend, uint16_t task, const struct scenario_address *address,
                    va_t *va)
{
    const struct emulated *emulated = emulated_of(backend);
    const struct emulated_slot *slot = task < SCENARIO_MOST_TASKS ? &emulated->slots[task] : NULL;

    *va = address->offset_bytes;
    switch (address->base) {
    case BASE_ABSOLUTE:
        return true;
    case BASE_STACK:
        *va += emulated->user_end;
        return true;
    case BASE_HEAP:
        *va += slot != NULL ? slot->heap_start : 0;
        return slot != NULL;
    case BASE_REGION:
        break;
    }
    uint16_t region = address->region;

    if (slot == NULL || region >= SCENARIO_MOST_REGIONS ||
        (slot->known[region / 64] >> (region % 64) & 1) == 0)
        return false;
    *va += slot->regions[region];
    return true;
}

bool emulated_place(struct emulated *emulated, const struct scenario_operation *operation,
                    const struct scenario_address *address, va_t *va,
                    struct scenario_outcome *outcome)
{
    if (resolve(&emulated->backend, operation->task, address, va))
        return true;
    outcome_unable(outcome, "%s has no region of that name",
                   emulated_task_name(emulated, operation->task));
    return false;
}

bool emulated_reserve(struct emulated *emulated, uint64_t bytes, struct scenario_outcome *outcome)
{
    /* A buffer for nothing is one, too: it is given to memcpy(). */
    if (emulated->buffer != NULL && bytes <= emulated->buffer_bytes)
        return true;
    if (bytes > EMULATED_MOST_BYTES) {
        outcome_unable(outcome, "more than %lluM at once",
                       (unsigned long long)(EMULATED_MOST_BYTES >> 20));
        return false;
    }
    size_t wanted = (size_t)max_u64(round_up(bytes + 1, PAGE_BYTES), 2 * emulated->buffer_bytes);
    uint8_t *grown = realloc(emulated->buffer, wanted);

    if (grown == NULL) {
        outcome_broken(outcome, "memory ran out");
        return false;
    }
    emulated->buffer = grown;
    emulated->buffer_bytes = wanted;
    return true;
}

void emulated_fill(struct emulated *emulated, const struct scenario_data *data)
{
    if (data->kind == DATA_FILL)
        memset(emulated->fill, data->fill, (size_t)min_u64(data->bytes, PAGE_BYTES));
}

void emulated_arm(struct emulated *emulated, const struct scenario_operation *operation)
{
    struct allocation_gate *gate = &emulated->machine->ram.gate;

    if (operation->fail_after != 0)
        gate->fail_at = gate->requests + operation->fail_after;
}

uint64_t emulated_events(const struct emulated *emulated, enum event event)
{
    return emulated->machine->events.counts[event] - emulated->others[event];
}

void emulated_steps(struct backend *backend, uint64_t *first, uint64_t *end)
{
    *first = emulated_of(backend)->first_step;
    *end = emulated_of(backend)->end_step;
}

/* --- performing --- */

static emulated_perform *const performers[VERB_COUNT] = {
    [VERB_MMAP] = emulated_mmap,
    [VERB_MUNMAP] = emulated_munmap,
    [VERB_MPROTECT] = emulated_mprotect,
    [VERB_MREMAP] = emulated_mremap,
    [VERB_BRK] = emulated_brk,
    [VERB_MADVISE] = emulated_madvise,
    [VERB_MLOCK] = emulated_mlock,
    [VERB_MUNLOCK] = emulated_munlock,
    [VERB_MSYNC] = emulated_msync,
    [VERB_MINCORE] = emulated_mincore,
    [VERB_STRIPE] = emulated_stripe,
    [VERB_LIMIT] = emulated_limit,
    [VERB_READ] = emulated_read,
    [VERB_WRITE] = emulated_write,
    [VERB_PEEK] = emulated_peek,
    [VERB_POKE] = emulated_poke,
    [VERB_KREAD] = emulated_kread,
    [VERB_KWRITE] = emulated_kwrite,
    [VERB_TASK] = emulated_new_task,
    [VERB_FORK] = emulated_fork,
    [VERB_VFORK] = emulated_vfork,
    [VERB_EXEC] = emulated_exec,
    [VERB_EXIT] = emulated_exit,
    [VERB_KILL] = emulated_kill,
    [VERB_WAIT] = emulated_wait,
    [VERB_PIN] = emulated_pin,
    [VERB_UNPIN] = emulated_unpin,
    [VERB_PINREAD] = emulated_pin_read,
    [VERB_PINWRITE] = emulated_pin_write,
    [VERB_FILE] = emulated_file,
    [VERB_SHM] = emulated_shm,
    [VERB_DIRECTORY] = emulated_directory,
    [VERB_CLOSE] = emulated_close,
    [VERB_TRUNCATE] = emulated_truncate,
    [VERB_FREAD] = emulated_fread,
    [VERB_FWRITE] = emulated_fwrite,
};

static void begin_outcome(struct scenario_outcome *outcome)
{
    outcome->kind = OUTCOME_DONE;
    outcome->error = 0;
    outcome->signal = 0;
    outcome->code = 0;
    outcome->address = 0;
    outcome->value = 0;
    outcome->child = SCENARIO_NOBODY;
    outcome->faults = 0;
    outcome->data = NULL;
    outcome->data_bytes = 0;
    outcome->why[0] = '\0';
}

static bool is_alive(struct backend *backend, uint16_t task)
{
    return task < SCENARIO_MOST_TASKS && emulated_of(backend)->slots[task].is_alive;
}

/* Can this backend do such a thing at all, and is the one there who is to do it? */
static bool can_perform(struct emulated *emulated, const struct scenario_operation *operation,
                        struct scenario_outcome *outcome)
{
    if (operation->verb >= VERB_COUNT || performers[operation->verb] == NULL) {
        outcome_unable(outcome, "this is no operation");
        return false;
    }
    if (!verb_descriptions[operation->verb].has_task ||
        is_alive(&emulated->backend, operation->task))
        return true;
    outcome_unable(outcome, "%s is not there", emulated_task_name(emulated, operation->task));
    return false;
}

static void perform(struct backend *backend, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    struct emulated *emulated = emulated_of(backend);
    const struct event_log *events = &emulated->machine->events;

    begin_outcome(outcome);
    if (!can_perform(emulated, operation, outcome))
        return;
    if (emulated->before != NULL)
        picture_take(emulated->before, emulated);
    emulated->first_step = events->recorded;
    if (operation->verb < VERB_READ || operation->verb > VERB_POKE) /* these do it in user mode */
        emulated_arm(emulated, operation);
    performers[operation->verb](emulated, operation, outcome);
    emulated->machine->ram.gate.fail_at = 0;
    emulated->end_step = events->recorded;
}

int emulated_watch(struct backend *backend)
{
    struct emulated *emulated = emulated_of(backend);

    if (emulated->before == NULL)
        emulated->before = picture_create();
    return emulated->before != NULL ? 0 : -ENOMEM;
}

/* --- judging --- */

static bool selects(struct backend *backend, const struct scenario_selector *selector)
{
    const struct kernel *kernel = emulated_of(backend)->machine->kernel;

    switch (selector->kind) {
    case SELECT_KERNEL:
        return strcmp(selector->kernel, kernel->name) == 0;
    case SELECT_LINUX_FROM:
        return kernel->linux_version >= selector->version;
    case SELECT_LINUX_BEFORE:
        return kernel->linux_version < selector->version;
    case SELECT_HOST:
        break;
    }
    return false;
}

static bool selects_any(struct backend *backend, const struct scenario_operation *needs)
{
    for (unsigned i = 0; i < needs->answer_count; i++) {
        for (unsigned j = 0; j < needs->answers[i].selector_count; j++) {
            if (selects(backend, &needs->answers[i].selectors[j]))
                return true;
        }
    }
    return false;
}

static bool meets(struct backend *backend, const struct scenario_operation *needs, char *why,
                  size_t why_bytes)
{
    const struct machine *machine = emulated_of(backend)->machine;
    const char *text = needs->text != NULL ? needs->text : "";

    switch (needs->need) {
    case NEED_LINUX_FROM:
    case NEED_LINUX_BEFORE:
    case NEED_KERNEL:
        snprintf(why, why_bytes, "it is for other kernels than %s", machine->kernel->name);
        return selects_any(backend, needs);
    case NEED_HOST:
        snprintf(why, why_bytes, "it is for the real kernel (--host)");
        return false;
    case NEED_EMULATED:
        return true;
    case NEED_SHARED_TABLES:
        snprintf(why, why_bytes, "%s does not share page tables", machine->kernel->name);
        return machine->kernel->sharing == SHARING_LEAF;
    case NEED_GEOMETRY:
        snprintf(why, why_bytes, "it is for the geometry %s (--geometry)", text);
        return strcmp(text, machine->ram.geometry->name) == 0;
    case NEED_FEATURE:
        break;
    }
    snprintf(why, why_bytes, "it needs %s, which is not there", text);
    return strcmp(text, "zero-page") == 0 && !machine->no_zero_page;
}

static bool is_sound(struct backend *backend, char *why, size_t why_bytes)
{
    return machine_invariants_hold(emulated_of(backend)->machine, why, why_bytes);
}

/* --- made and ended --- */

static void free_parts(struct emulated *emulated)
{
    if (emulated->machine != NULL)
        machine_destroy(emulated->machine);
    picture_free(emulated->before);
    free(emulated->map_counts);
    free(emulated->buffer);
    free(emulated);
}

/* Gives up everything that the scenario held. */
static void release_all(struct emulated *emulated)
{
    struct machine *machine = emulated->machine;

    for (unsigned i = 0; i < SCENARIO_MOST_PINS; i++) {
        if (emulated->pins[i].machine != NULL)
            unpin(&emulated->pins[i]);
    }
    machine_lock(machine);
    task_end_all_locked(machine);
    machine_unlock(machine);
    for (unsigned i = 0; i < SCENARIO_MOST_FILES; i++) {
        if (emulated->files[i].open.object != NULL && emulated->files[i].is_open)
            object_close(machine, emulated->files[i].open.object);
    }
    emulated_close_programs(emulated);
}

static bool nothing_is_left(const struct emulated *emulated, char *why, size_t why_bytes)
{
    struct machine *machine = emulated->machine;
    uint32_t used = machine_used_frames(machine);

    if (machine->vmas.used_count == 0 && machine->mms.used_count == 0 &&
        machine->tasks.used_count == 0 && machine->objects.used_count == 0 &&
        machine->anon_families.used_count == 0 && machine->anon_links.used_count == 0 &&
        used == emulated->frames_before)
        return true;
    snprintf(why, why_bytes,
             "left over: %zu VMAs, %zu address spaces, %zu tasks, %zu objects, %zu families, "
             "%zu links, %d frames",
             machine->vmas.used_count, machine->mms.used_count, machine->tasks.used_count,
             machine->objects.used_count, machine->anon_families.used_count,
             machine->anon_links.used_count, (int)(used - emulated->frames_before));
    return false;
}

static bool end(struct backend *backend, char *why, size_t why_bytes)
{
    struct emulated *emulated = emulated_of(backend);

    release_all(emulated);
    bool whole = nothing_is_left(emulated, why, why_bytes);

    free_parts(emulated);
    return whole;
}

bool emulated_renew(struct backend *backend, char *why, size_t why_bytes)
{
    struct emulated *emulated = emulated_of(backend);

    release_all(emulated);
    memset(emulated->slots, 0, sizeof(emulated->slots));
    memset(emulated->files, 0, sizeof(emulated->files));
    memset(emulated->pins, 0, sizeof(emulated->pins));
    emulated->births = 0;
    if (!nothing_is_left(emulated, why, why_bytes))
        return false;
    if (task_create(emulated->machine, &emulated->init) == 0)
        return true;
    snprintf(why, why_bytes, "there is no memory for a task, though all was given back");
    return false;
}

static const struct backend_ops emulated_ops = {
    .name = "emulated",
    .perform = perform,
    .resolve = resolve,
    .is_alive = is_alive,
    .snapshot = emulated_snapshot,
    .show = emulated_show,
    .quantity = emulated_quantity,
    .selects = selects,
    .meets = meets,
    .is_sound = is_sound,
    .end = end,
};

int emulated_create(struct backend **backend, const struct machine_options *options, char *problem,
                    size_t problem_bytes)
{
    struct emulated *made = calloc(1, sizeof(*made));

    snprintf(problem, problem_bytes, "memory ran out");
    if (made == NULL)
        return -ENOMEM;
    made->backend.ops = &emulated_ops;
    int error = machine_create(&made->machine, options, problem, problem_bytes);

    if (error == 0) {
        made->frames_before = machine_used_frames(made->machine);
        error = task_create(made->machine, &made->init);
        if (error != 0)
            snprintf(problem, problem_bytes, "RAM is too small for a task");
    }
    if (error != 0) {
        free_parts(made);
        return error;
    }
    made->user_end = made->init->mm->user_end;
    memcpy(made->others, made->machine->events.counts, sizeof(made->others));
    *backend = &made->backend;
    return 0;
}

struct machine *emulated_machine(struct backend *backend)
{
    return emulated_of(backend)->machine;
}

struct task *emulated_task(struct backend *backend, uint16_t task)
{
    return is_alive(backend, task) ? emulated_of(backend)->slots[task].task : NULL;
}
