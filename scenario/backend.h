/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Backends: who performs a scenario's operations.
 *
 *   emulated   an emulated machine: a kernel of the table, on either MMU (emulated*.c)
 *   host       the real kernel below: one process a task, real calls (host_*.c)
 *   model      flat memory, no tables, no sharing, no laziness: what the bytes should be (model*.c)
 *
 * Each answers an operation with an outcome in the same terms, so that any two can be compared, and
 * can tell what is mapped in a task. Addresses in outcomes and snapshots are emulated ones.
 */
#ifndef FORKLAB_SCENARIO_BACKEND_H
#define FORKLAB_SCENARIO_BACKEND_H

#include <stdio.h>

#include "scenario/operation.h"

enum outcome_kind {
    OUTCOME_DONE,   /* `value`: the number or address that it returns, if it returns one */
    OUTCOME_ERROR,  /* `error` */
    OUTCOME_SIGNAL, /* the task was killed by its access: `signal`, `code`, `address` */
    OUTCOME_DATA,   /* `data`: bytes read; of MINCORE a 0 or 1 for each page */
    OUTCOME_EXITED, /* of WAIT: `value` is the exit status, `child` who it was */
    OUTCOME_KILLED, /* of WAIT: `signal`, `child` */
    OUTCOME_UNABLE, /* this backend cannot do that: `why`. Nothing changed */
    OUTCOME_BROKEN, /* the backend itself failed; the run is over: `why` */
};

enum { SCENARIO_WHY_BYTES = 320 };

struct scenario_outcome {
    enum outcome_kind kind;
    int error; /* positive errno */
    int signal;
    int code;
    va_t address; /* si_addr */
    uint64_t value;
    uint16_t child;
    uint64_t faults;     /* minor faults that the accesses took; READ, WRITE, PEEK, POKE */
    const uint8_t *data; /* the backend's, until its next operation */
    size_t data_bytes;
    char why[SCENARIO_WHY_BYTES];
};

/* One mapping of a task, in the terms of /proc/PID/smaps; sizes in bytes. */
struct scenario_vma {
    va_t start;
    va_t end;
    char rights[5]; /* rwxp */
    uint64_t offset_bytes;
    bool is_file; /* file or shared memory */
    bool has_usage;
    uint64_t rss;
    uint64_t pss;
    uint64_t shared;
    uint64_t private;
    uint64_t anonymous;
    uint64_t locked;
    uint64_t swap;
};

/* A task's mappings in the order of addresses, without the program's own: stack, text. */
struct scenario_snapshot {
    size_t count;
    size_t capacity;
    struct scenario_vma *vmas;
};

void snapshot_free(struct scenario_snapshot *snapshot);

/* Makes room for one more; NULL when memory ends. */
struct scenario_vma *snapshot_add(struct scenario_snapshot *snapshot);

struct backend;

struct backend_ops {
    const char *name;

    /* Performs one operation. NEEDS, SHOW and EXPECT never come here. */
    void (*perform)(struct backend *backend, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome);

    /* Where an address lies for a task: false when it has no such region. */
    bool (*resolve)(struct backend *backend, uint16_t task, const struct scenario_address *address,
                    va_t *va);

    /* Is the task there and alive? */
    bool (*is_alive)(struct backend *backend, uint16_t task);

    /* The task's mappings, `with_usage` with what is resident: 0; -ENOMEM; -ESRCH; -EIO. */
    int (*snapshot)(struct backend *backend, uint16_t task, bool with_usage,
                    struct scenario_snapshot *snapshot);

    /* Prints a state; says so where it has none of that kind. */
    void (*show)(struct backend *backend, enum scenario_show show, uint16_t task, FILE *stream);

    /* A quantity that only an emulator has (QUANTITY_TABLES and on): false elsewhere. */
    bool (*quantity)(struct backend *backend, const struct scenario_operation *operation,
                     uint64_t *value);

    /* Does the answer's selector hold here? */
    bool (*selects)(struct backend *backend, const struct scenario_selector *selector);

    /* Can the scenario run here (NEEDS)? `why` says why not. */
    bool (*meets)(struct backend *backend, const struct scenario_operation *needs, char *why,
                  size_t why_bytes);

    /* Do all invariants hold? True where there are none. */
    bool (*is_sound)(struct backend *backend, char *why, size_t why_bytes);

    /* Ends all tasks: false when something is lost, such as a frame or a process. The backend is
     * gone in any case. */
    bool (*end)(struct backend *backend, char *why, size_t why_bytes);
};

/* What every backend begins with. */
struct backend {
    const struct backend_ops *ops;
    /* For messages; scenario_run() sets them. NULL: there are no names. */
    const struct scenario_names *task_names;
    const struct scenario_names *file_names;
};

#endif
