/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model's tasks, files and pins, and how its calls answer.
 *
 * A call is a function for one verb. It is given a task that can act, with the operation's address
 * resolved, and fills in the outcome, which is DONE with value 0 before. It answers UNABLE, and
 * changes nothing, where flat memory cannot know: how many VMAs lie where ranges alike meet, what
 * is resident, where a program's own mappings are.
 */
#ifndef FORKLAB_SCENARIO_MODEL_STATE_H
#define FORKLAB_SCENARIO_MODEL_STATE_H

#include "scenario/model_space.h"

enum model_task_state { MODEL_ABSENT, MODEL_ALIVE, MODEL_ZOMBIE };

/* An exec'd program and its heap lie below this; everything else of a scenario above. */
#define MODEL_PROGRAM_END ((va_t)64 << 20)

struct model_task {
    enum model_task_state state;
    uint16_t parent;      /* SCENARIO_NOBODY: nobody that has a name */
    uint16_t vfork_child; /* that it waits for, in one address space; or SCENARIO_NOBODY */
    uint64_t birth;       /* the order in which tasks came into being */
    struct model_space *space;
    uint16_t region_count; /* names up to here may stand for something */
    bool has_region[SCENARIO_MOST_REGIONS];
    va_t regions[SCENARIO_MOST_REGIONS];
    /* how it ended */
    int signal; /* 0: it exited */
    uint64_t status;
};

struct model_file {
    bool is_there; /* the name was given */
    bool is_open;  /* and not closed */
    bool readable;
    bool writable;
    struct model_object *object; /* NULL: a directory; or closed */
};

struct model_pin {
    struct model_block *block; /* NULL: not in use */
};

struct model {
    struct backend backend; /* first */
    struct model_layout layout;
    struct model_task tasks[SCENARIO_MOST_TASKS];
    struct model_file files[SCENARIO_MOST_FILES];
    struct model_pin pins[SCENARIO_MOST_PINS];
    uint64_t births;
    uint8_t *data; /* what the last operation read */
    size_t data_capacity;
    bool is_broken; /* memory ran out in the middle of a change */
};

/* What a call is made with. */
struct model_call {
    struct model *model;
    struct model_task *task; /* NULL where the verb has none */
    const struct scenario_operation *operation;
    va_t address;
    va_t target; /* with has_target */
    struct scenario_outcome *outcome;
};

typedef void model_perform(struct model_call *call);

/* Answers. */
void answer_error(struct model_call *call, int error);
void answer_unable(struct model_call *call, const char *why);

/* 0 is no answer; -ENOMEM of the host breaks the model. True: go on. */
bool answer_host_error(struct model_call *call, int error);

/* Room for what is read: NULL when there is none, which was answered. */
uint8_t *answer_data(struct model_call *call, uint64_t bytes);

/* Does [start, start + bytes) reach what the model does not know: the stack, a program? */
bool model_is_blind(const struct model_call *call, va_t start, uint64_t bytes);

/* Ends the task: `signal` 0 means exit. */
void model_end_task(struct model *model, struct model_task *task, int signal, uint64_t status);

/* Takes pages of the object from every space, private copies too: for a new end of a file. */
void model_cut_object(struct model *model, const struct model_object *object, uint64_t first_page);

/* The files' calls, by verb. */
model_perform model_mmap, model_munmap, model_mprotect, model_brk, model_stripe;
model_perform model_mremap;
model_perform model_madvise, model_mlock, model_munlock, model_msync, model_mincore;
model_perform model_read, model_write, model_peek, model_poke, model_kread, model_kwrite;
model_perform model_task_new, model_fork, model_vfork, model_exec, model_exit, model_kill,
    model_wait;
model_perform model_pin, model_unpin, model_pinread, model_pinwrite;
model_perform model_file_new, model_shm, model_directory, model_close, model_truncate, model_fread,
    model_fwrite;

/* mprotect of the range: 0, or what it answers. -ENOMEM of the host breaks the model. */
int model_protect(struct model_call *call, va_t start, uint64_t bytes, uint32_t protection);

/* Brings pages in: false when one cannot be had. */
bool model_populate(struct model_call *call, va_t start, va_t end);

/* Sets and clears flags of all ranges in [start, end): false when memory ends. */
bool model_set_flags(struct model_call *call, va_t start, va_t end, uint32_t set, uint32_t clear);

#endif
