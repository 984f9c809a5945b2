/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The backend that is a machine of ours.
 *
 * Accesses run as user code of their task (task_run()); calls are made for it from outside. The
 * first tasks are children of a task that nobody names, so that how they end can be heard.
 */
#ifndef FORKLAB_SCENARIO_EMULATED_H
#define FORKLAB_SCENARIO_EMULATED_H

#include "pager/machine.h"
#include "scenario/backend.h"

/* Where the heap of a first task begins. */
#define SCENARIO_HEAP_START ((va_t)16 << 20)

/* A backend on a new machine: a negative errno and one line in `problem`. */
int emulated_create(struct backend **backend, const struct machine_options *options, char *problem,
                    size_t problem_bytes);

/*
 * Ends all tasks, files and pins as end() does and begins anew, on the same machine, whose free
 * frames keep what they held. False when something is lost; then nothing but end() may follow.
 */
bool emulated_renew(struct backend *backend, char *why, size_t why_bytes);

/* The machine under it: for the fuzzer's checks, pages and tests. */
struct machine *emulated_machine(struct backend *backend);

/* The living task of that name, or NULL. */
struct task *emulated_task(struct backend *backend, uint16_t task);

/* From now on notes before each operation what there is, so that `show diff` can tell what the last
 * one changed: -ENOMEM. It costs a walk over everything. */
int emulated_watch(struct backend *backend);

/* The records in the machine's ring of events that the last operation made: sequence numbers
 * [first, end), without those of entering user mode. */
void emulated_steps(struct backend *backend, uint64_t *first, uint64_t *end);

#endif
