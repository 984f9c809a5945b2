/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes of the host backend, as its controlling side has them: a socket to speak with, a handle
 * that tells of the end.
 */
#ifndef FORKLAB_SCENARIO_HOST_PROCESS_H
#define FORKLAB_SCENARIO_HOST_PROCESS_H

#include "scenario/host_backend.h"

void host_process_init(struct host_process *process);

/* Executes this program as the helper and waits until it is ready. On failure a negative errno and
 * a problem; what was started is ended by host_end_processes(). */
int host_start_helper(struct host_backend *host, char *problem, size_t problem_bytes);

/* The same file under a high number, closed when a program is executed; -1 when there is none. */
int host_descriptor_raise(int file);

/* One packet to or from a process: false when it failed, and then the backend is broken. `file`
 * goes with it, or -1; or is received, NULL: nothing is expected. */
bool host_send_to(struct host_backend *host, const struct host_process *process,
                  const struct host_request *request, int file);
bool host_receive_from(struct host_backend *host, const struct host_process *process,
                       struct host_reply *reply, int *file);

/* Asks a process and waits for its answer. */
bool host_ask(struct host_backend *host, struct host_process *process,
              const struct host_request *request, int file, struct host_reply *reply);

/* The same of a task, for what may kill it: then waits until it has ended. */
bool host_ask_task(struct host_backend *host, uint16_t task, const struct host_request *request,
                   int file, struct host_reply *reply);

/* A task is about to end: waits for that, and lets go on who waited for it. */
bool host_await_end(struct host_backend *host, uint16_t task);

/* The task does not borrow memory any more: its owner, if there is one, goes on. */
bool host_resume_owner(struct host_backend *host, struct host_process *process);

/* Kills and reaps all: false and why when something is left. */
bool host_end_processes(struct host_backend *host, char *why, size_t why_bytes);

#endif
