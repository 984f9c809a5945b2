/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the emulated backend (emulated*.c, show_*.c) share.
 *
 *   slot      a name of a task, and who has it: nobody, a living task, or a zombie that its parent
 *             has not waited for
 *   region    a name of an address of one task; a child inherits its parent's, exec clears them
 *   program   what exec maps: a very small one of our own, or a file of the host
 *   own part  of an address space: stack and program, which no scenario asked for. Snapshots and
 *             quantities leave it out
 *
 * The parent of a slot's task is another slot's task or the task that nobody names (`init`), never
 * nobody: so a task that ends stays a zombie until it was looked at. init waits for its children at
 * once.
 */
#ifndef FORKLAB_SCENARIO_EMULATED_PRIVATE_H
#define FORKLAB_SCENARIO_EMULATED_PRIVATE_H

#include "pager/file.h"
#include "pager/pin.h"
#include "pager/task.h"
#include "scenario/emulated.h"

struct picture;

enum { EMULATED_MOST_PROGRAMS = 16 };

/* The most bytes that one operation hands out at once. */
#define EMULATED_MOST_BYTES ((uint64_t)64 << 20)

struct emulated_slot {
    struct task *task; /* NULL: nobody has the name */
    bool is_alive;
    uint16_t parent;                            /* a slot, or SCENARIO_NOBODY: init */
    uint64_t born;                              /* the order of births */
    va_t heap_start;                            /* of its last address space */
    uint64_t known[SCENARIO_MOST_REGIONS / 64]; /* regions that have an address */
    va_t regions[SCENARIO_MOST_REGIONS];
};

struct emulated_file {
    bool is_open;
    struct open_file open;
};

struct emulated_program {
    char *path; /* NULL: our own */
    struct object *file;
};

struct emulated {
    struct backend backend; /* first */
    struct machine *machine;
    struct task *init;
    uint32_t frames_before; /* in use when the machine was new */
    va_t user_end;
    uint64_t births;
    struct emulated_slot slots[SCENARIO_MOST_TASKS];
    struct emulated_file files[SCENARIO_MOST_FILES];
    struct pin pins[SCENARIO_MOST_PINS]; /* no machine: not held */
    struct emulated_program programs[EMULATED_MOST_PROGRAMS];
    unsigned program_count;
    uint8_t *buffer; /* bytes of the last outcome */
    size_t buffer_bytes;
    uint8_t fill[PAGE_BYTES]; /* a page of the byte that is written last */
    /* Events that are no doing of the scenario: before it began, and when user mode is entered. */
    uint64_t others[EVENT_COUNT];
    uint64_t first_step; /* records of the last operation: [first_step, end_step) */
    uint64_t end_step;
    uint32_t *map_counts;   /* by frame; usage.c */
    struct picture *before; /* the last operation; NULL: nobody watches */
};

static inline struct emulated *emulated_of(struct backend *backend)
{
    return (struct emulated *)(void *)backend;
}

typedef void emulated_perform(struct emulated *emulated, const struct scenario_operation *operation,
                              struct scenario_outcome *outcome);

/* --- outcomes --- */

static inline void outcome_done(struct scenario_outcome *outcome, uint64_t value)
{
    outcome->kind = OUTCOME_DONE;
    outcome->value = value;
}

/* `error` is a negative errno. */
static inline void outcome_error(struct scenario_outcome *outcome, int error)
{
    outcome->kind = OUTCOME_ERROR;
    outcome->error = -error;
}

static inline void outcome_data(struct scenario_outcome *outcome, const uint8_t *data, size_t bytes)
{
    outcome->kind = OUTCOME_DATA;
    outcome->data = data;
    outcome->data_bytes = bytes;
}

void outcome_unable(struct scenario_outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void outcome_broken(struct scenario_outcome *outcome, const char *why);

/* What a call returned: done with that value, an error, or that its task is suspended. */
void outcome_of_call(const struct emulated *emulated, const struct scenario_operation *operation,
                     int error, uint64_t value, struct scenario_outcome *outcome);

/* --- names and places (emulated.c) --- */

/* A slot's name for messages. */
const char *emulated_task_name(const struct emulated *emulated, unsigned slot);

/* Where an address of the operation's task is; else the outcome says that there is no such
 * place. */
bool emulated_place(struct emulated *emulated, const struct scenario_operation *operation,
                    const struct scenario_address *address, va_t *va,
                    struct scenario_outcome *outcome);

void emulated_name_region(struct emulated_slot *slot, uint16_t region, va_t va);

/* Room in the buffer for the outcome's bytes; else the outcome says so. */
bool emulated_reserve(struct emulated *emulated, uint64_t bytes, struct scenario_outcome *outcome);

/* A page of the byte that is to be written over and over, in `fill`; other data needs none. */
void emulated_fill(struct emulated *emulated, const struct scenario_data *data);

/* The operation's fail=N begins to count here. */
void emulated_arm(struct emulated *emulated, const struct scenario_operation *operation);

/* How often the scenario made that happen. */
uint64_t emulated_events(const struct emulated *emulated, enum event event);

/* --- verbs, by file --- */

/* emulated_access.c */
emulated_perform emulated_read, emulated_write, emulated_peek, emulated_poke;
emulated_perform emulated_kread, emulated_kwrite;
/* emulated_call.c */
emulated_perform emulated_mmap, emulated_munmap, emulated_mprotect, emulated_mremap, emulated_brk;
emulated_perform emulated_madvise, emulated_mlock, emulated_munlock, emulated_msync;
emulated_perform emulated_mincore, emulated_stripe, emulated_limit;
/* emulated_task.c */
emulated_perform emulated_new_task, emulated_fork, emulated_vfork, emulated_exit, emulated_kill;
emulated_perform emulated_wait;
/* emulated_program.c */
emulated_perform emulated_exec;
/* emulated_file.c */
emulated_perform emulated_file, emulated_shm, emulated_directory, emulated_close;
emulated_perform emulated_truncate, emulated_fread, emulated_fwrite;
/* emulated_pin.c */
emulated_perform emulated_pin, emulated_unpin, emulated_pin_read, emulated_pin_write;

/* --- tasks (emulated_task.c) --- */

/* Looks who has ended or lost its parent; to be called after whatever can end a task. */
void emulated_look_at_tasks(struct emulated *emulated);

/* The signal that killed a task; `code` (may be NULL) its si_code, `address` its si_addr. */
int emulated_signal(const struct emulated *emulated, const struct task_status *status, int *code,
                    va_t *address);

/* --- the own part of address spaces (emulated_program.c) --- */

bool emulated_is_own(const struct emulated *emulated, const struct vma *vma);

/* The path of the program that an object with that label is; NULL: it is none. */
const char *emulated_program_path(const struct emulated *emulated, uint32_t label);
void emulated_close_programs(struct emulated *emulated);

/* --- what is there (emulated_snapshot.c, show_*.c) --- */

/* The map count of every frame (usage.h) as it is now; NULL when memory ends. Lock held. */
const uint32_t *emulated_map_counts(struct emulated *emulated);

/* "rw-p" and the like. */
void emulated_rights(const struct vma *vma, char rights[5]);

int emulated_snapshot(struct backend *backend, uint16_t task, bool with_usage,
                      struct scenario_snapshot *snapshot);
bool emulated_quantity(struct backend *backend, const struct scenario_operation *operation,
                       uint64_t *value);
void emulated_show(struct backend *backend, enum scenario_show show, uint16_t task, FILE *stream);

#endif
