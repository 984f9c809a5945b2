/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the controlling side of the host backend is made of: the processes that it speaks with, the
 * descriptors that stand for the scenario's files, the rings that hold its pins.
 *
 *   process   the helper, or a task: a socket, and a descriptor of the process that tells its end
 *   suspended a task whose vfork child has neither executed a program nor ended; its answer to the
 *             vfork comes then
 *   ended     a process that is dead, its memory given back; its parent may wait for it
 *   broken    the backend no longer knows what its processes do: nothing is done from then on
 */
#ifndef FORKLAB_SCENARIO_HOST_BACKEND_H
#define FORKLAB_SCENARIO_HOST_BACKEND_H

#include <sys/types.h>

#include "scenario/host_wire.h"

/* A process that does not answer for so long is broken. */
enum { HOST_PATIENCE_MS = 10000 };

enum host_state { HOST_ABSENT, HOST_ALIVE, HOST_SUSPENDED, HOST_ENDED, HOST_REAPED };

struct host_process {
    enum host_state state;
    int socket;
    int handle; /* pidfd */
    pid_t pid;
    uint16_t parent;      /* a task, or SCENARIO_NOBODY: the helper */
    uint16_t vfork_owner; /* whose memory it borrows, or SCENARIO_NOBODY */
    bool has_region[SCENARIO_MOST_REGIONS];
    va_t regions[SCENARIO_MOST_REGIONS];
};

/* A file of the scenario. Its rights bind mappings alone: whoever made it may read and write it. */
struct host_file {
    int descriptor; /* -1: closed */
    int contents;
};

struct host_pin {
    int ring; /* -1: not held */
    uint64_t page;
    uint8_t *rings; /* the queues of the ring, and its entries */
    size_t rings_bytes;
    struct io_uring_sqe *entry;
    uint32_t sq_tail, sq_array, cq_head, cq_entries; /* offsets in `rings` */
};

struct host_backend {
    struct backend backend; /* first */
    struct host_process helper;
    struct host_process tasks[SCENARIO_MOST_TASKS];
    struct host_file files[SCENARIO_MOST_FILES];
    struct host_pin pins[SCENARIO_MOST_PINS];
    int buffer_file;
    uint8_t *buffer;
    uint32_t linux_version;
    bool has_zero_page;
    bool is_broken;
    char why[SCENARIO_WHY_BYTES];
};

static inline struct host_backend *host_of(struct backend *backend)
{
    return (struct host_backend *)(void *)backend;
}

typedef void host_performer(struct host_backend *host, const struct scenario_operation *operation,
                            struct scenario_outcome *outcome);

/* --- outcomes (host_outcome.c) --- */

void host_done(struct scenario_outcome *outcome, uint64_t value);
void host_data(const struct host_backend *host, struct scenario_outcome *outcome, uint64_t bytes);
void host_error(struct scenario_outcome *outcome, int error); /* a positive errno */
void host_unable(struct scenario_outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The run is over. */
void host_break(struct host_backend *host, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What a process answered. Addresses in signals are rebased, values are not. */
void host_outcome_of_reply(const struct host_backend *host, const struct host_reply *reply,
                           struct scenario_outcome *outcome);

/* The task's name for messages. */
const char *host_task_name(const struct host_backend *host, uint16_t task);

/* --- tasks (host_tasks.c) --- */

host_performer host_new_task, host_fork, host_vfork, host_exec, host_exit, host_kill, host_wait;

/* --- memory (host_memory.c) --- */

bool host_resolve(struct host_backend *host, uint16_t task, const struct scenario_address *address,
                  va_t *va);

/* Where an emulated address is in a task; else the outcome says why there is none. */
bool host_place(struct host_backend *host, const struct scenario_operation *operation,
                const struct scenario_address *address, uint64_t *place,
                struct scenario_outcome *outcome);

/* Puts the operation's data into the buffer: false and an outcome when it has no room. */
bool host_put_data(struct host_backend *host, const struct scenario_data *data,
                   struct scenario_outcome *outcome);
bool host_has_room(uint64_t bytes, struct scenario_outcome *outcome);

host_performer host_memory_call, host_access_call, host_kernel_access;

/* --- files (host_file.c) --- */

host_performer host_file, host_shm, host_directory, host_close, host_truncate, host_fread,
    host_fwrite;

/* The descriptor of a file for mappings, or -1. */
int host_descriptor(const struct host_backend *host, uint16_t file);

/* A copy of the file for exec, which wants that nobody has it open for writing; -1 when there is
 * none. `*replaces` says that it would take the place of our program. */
int host_executable_copy(const struct host_file *file, bool *replaces);

void host_release_file(struct host_file *file);

/* --- pins (host_pin.c) --- */

host_performer host_pin, host_unpin, host_pin_read, host_pin_write;
void host_release_pin(struct host_pin *pin);

/* --- what is there (host_backend.c) --- */

int host_snapshot(struct backend *backend, uint16_t task, bool with_usage,
                  struct scenario_snapshot *snapshot);

#endif
