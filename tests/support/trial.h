/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trial: a world and the model beside it, which operations are applied to one by one.
 *
 * After each operation its result, the way tasks ended, what was read, the mappings of the tasks
 * concerned, every byte of every task and all invariants are compared. What differs is returned as
 * text, so that a stream that fails can be tried again in a shorter form.
 *
 * The digest sums up all that user code can see and that does not depend on where the kernel put a
 * mapping: the same stream has the same digest on every kernel and both MMUs.
 */
#ifndef FORKLAB_TESTS_TRIAL_H
#define FORKLAB_TESTS_TRIAL_H

#include "pager/pin.h"
#include "tests/support/model.h"
#include "tests/support/operation.h"
#include "tests/support/world.h"

enum {
    TRIAL_TASKS = 9,
    TRIAL_PINS = 4,
    TRIAL_PLACES = 3,
    TRIAL_OBJECTS = 5, /* 0 is none */
    TRIAL_MOST_STEPS = OPERATION_MOST_STEPS * OPERATION_MOST_PAGES,
};

enum trial_state { TRIAL_ABSENT, TRIAL_ALIVE, TRIAL_ZOMBIE };

/* Parents that are no task of the trial. */
enum { PARENT_INIT = -1, PARENT_NONE = -2 };

struct trial_place {
    va_t start; /* 0: not mapped */
    uint64_t bytes;
};

struct trial_task {
    enum trial_state state;
    int parent;
    unsigned depth;
    struct task *real;
    uint32_t id;
    struct task_status status; /* of a zombie */
    struct model_space space;
    struct trial_place places[TRIAL_PLACES];
};

struct trial_pin {
    bool active;
    struct pin real;
    struct model_block *block; /* of a private page; else: */
    struct model_object *object;
    uint64_t object_page;
};

struct trial {
    struct world world;
    va_t area_start;
    uint64_t area_bytes;
    struct trial_task tasks[TRIAL_TASKS];
    struct trial_pin pins[TRIAL_PINS];
    struct model_object *objects; /* all */
    struct model_object *named[TRIAL_OBJECTS];
    struct object *program; /* NULL: there is none */
    uint64_t digest;
    struct access_step steps[TRIAL_MOST_STEPS];
    char why[WORLD_WHY_BYTES];
};

/* Begins; `program` is the file to exec, or NULL. */
void trial_begin(struct trial *trial, const struct machine_options *options, const char *program);

/* Applies one operation: false when something differs, and `trial->why` says what. */
bool trial_apply(struct trial *trial, const struct operation *operation);

/* Ends it, in any case: false when something is left over. */
bool trial_end(struct trial *trial);

/* --- for the files of the trial --- */

bool trial_differs(struct trial *trial, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The address of a location for a task; false when it has no such place. */
bool trial_address(const struct trial *trial, const struct trial_task *task,
                   const struct location *location, va_t *va);

/* A number that user code saw. */
void trial_note(struct trial *trial, uint64_t number);

/* An address that user code saw, of this task. */
void trial_note_address(struct trial *trial, const struct trial_task *task, va_t va);

/* The task has ended in the model, and must have in the world, in that way. */
bool trial_task_ended(struct trial *trial, struct trial_task *task,
                      const struct task_status *status);

/* The same for one that was killed by a bad access: what the ring of events says is compared. */
bool trial_task_killed(struct trial *trial, struct trial_task *task, enum event cause,
                       va_t address);

bool trial_same_status(const struct task_status *one, const struct task_status *other);

/* A task appears. */
void trial_task_begins(struct trial_task *task, struct task *real, int parent, unsigned depth);

/* All comparisons of states. */
bool trial_states_agree(struct trial *trial, const struct trial_task *changed,
                        const struct trial_task *also);

#endif
