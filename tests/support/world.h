/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A world: one machine under test, from its creation to the proof that nothing of it was lost.
 *
 * Whatever faults must run between cmocka's own set-ups, so a world is begun and ended inside one
 * test's body. Every task of a world has a parent, since only a parent hears how its child ended:
 * the first ones are children of `init`, which nobody runs and which maps nothing but its stack.
 *
 * User code is a script of loads and stores, or a function called through world_call(), which puts
 * the same word on every emulated stack, so that two runs can be compared byte by byte.
 */
#ifndef FORKLAB_TESTS_WORLD_H
#define FORKLAB_TESTS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>

#include "pager/task.h"

#include <cmocka.h>

enum { WORLD_WHY_BYTES = 320 };

/* The word that entering user mode pushes. */
#define WORLD_STACK_WORD ((uint64_t)0x1122334455667788)

struct world {
    struct machine *machine;
    struct task *init;
    uint32_t frames_before; /* in use when the machine was new */
    char name[96];          /* kernel, MMU, geometry */
};

/* A machine with no task but init. What cannot be had fails the test. */
void world_begin(struct world *world, const struct machine_options *options);

/* Do all invariants hold? `why` says what does not. */
bool world_is_sound(const struct world *world, char *why, size_t why_bytes);

/* The same; what does not hold fails the test. */
void world_check(const struct world *world);

/*
 * Ends all tasks, closes all objects, and looks whether a frame, table, VMA, address space, task,
 * object or family is left. Pins must have been given up. The machine goes in any case.
 */
bool world_close(struct world *world, char *why, size_t why_bytes);

/* The same; what is left fails the test. */
void world_end(struct world *world);

/* Is some task of this machine at that address? */
bool world_has_task(const struct world *world, const struct task *task);

/* How a task that was killed ended, from the ring of events: false when it was by no bad access. */
bool world_find_death(const struct world *world, uint32_t task_id, struct task_status *status);

/* One load or store of user code: 1, 2, 4 or 8 bytes. */
struct access_step {
    va_t va;
    unsigned bytes;
    bool write;
    bool view;      /* through a host pointer: lies within one page */
    uint64_t value; /* to store; or what was loaded */
};

struct access_script {
    struct access_step *steps;
    size_t count;
    size_t done; /* steps completed */
};

/* Runs the script as this task: task_run()'s result. */
int world_access(struct task *task, struct access_script *script);

/* The same from user code that runs already. */
void world_perform(struct forklab_user *user, struct access_script *script);

/* Runs the function as this task, with WORLD_STACK_WORD pushed: task_run()'s result. */
int world_call(struct task *task, user_function *function, void *argument);

/* For tests that expect it to go well: one load or store of a byte, and a fork. */
uint8_t world_load(struct task *task, va_t va);
void world_store(struct task *task, va_t va, uint8_t value);
struct task *world_fork(struct task *parent);

/* Maps private anonymous memory, readable and writable, at that place. */
void world_map(struct task *task, va_t va, uint64_t bytes);

/* With one task beside init: page i of WORLD_FAMILY_PAGES from WORLD_BASE on holds i + 1. */
#define WORLD_BASE ((va_t)4 << 20)
enum { WORLD_FAMILY_PAGES = 24 };
struct task *world_begin_family(struct world *world, const struct machine_options *options);

/* exec of the calling task, which goes on in `function`; returns on failure, as user_exec(). */
int world_exec(struct forklab_user *user, struct object *file, const char *const arguments[],
               user_function *function, void *argument);

/* By enum mmu_kind. */
extern const char *const mmu_names[];

#endif
