/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the maker of random scenarios believes: roughly what each task has mapped, who lives, which
 * files and pins there are. It is there to make operations that mean something. It may be wrong:
 * then an operation fails, or kills its task, which is worth trying too.
 *
 *   place   what a name stands for in one task: pages in a row, at an address that is known if the
 *           scenario chose it
 *   scar    a part of a place that is otherwise than the rest; the newest counts, and the oldest is
 *           forgotten when there are too many
 */
#ifndef FORKLAB_SCENARIO_FUZZ_PICTURE_H
#define FORKLAB_SCENARIO_FUZZ_PICTURE_H

#include "scenario/fuzz.h"

enum {
    PICTURE_REGIONS = 20, /* names of regions, A0 and on */
    PICTURE_PINS = 10,    /* K0 and on */
    PICTURE_FILES = 10,   /* F0 and on */
    PLACE_SCARS = 6
};

struct scar {
    uint32_t first;
    uint32_t pages;
    uint8_t protection; /* ABI_PROT_* */
    bool is_hole;       /* nothing is mapped, or a guard */
};

struct place {
    bool is_there;
    bool is_doubtful; /* may not be what it seems: no load or store of the task's own goes there */
    bool is_shared;
    bool is_object;
    bool grows_down;
    bool dont_fork;
    bool may_write;
    uint8_t protection;
    uint8_t file; /* with is_object: F%u, or PICTURE_FILES for memory of its own */
    uint8_t scar_count;
    uint8_t next_scar;
    uint32_t pages;
    uint64_t file_page;
    va_t start; /* 0: not known */
    struct scar scars[PLACE_SCARS];
};

enum life { LIFE_NEVER, LIFE_ALIVE, LIFE_ENDED, LIFE_REAPED };

struct picture_task {
    enum life life;
    bool is_suspended; /* by a vfork child */
    bool is_vforked;   /* and has neither exec'd nor ended */
    bool has_heap;     /* of a first task: not of an exec'd one */
    uint16_t parent;
    unsigned depth;
    uint32_t heap_pages;
    struct place places[PICTURE_REGIONS];
};

struct picture_file {
    bool was_made; /* open now, or closed */
    bool is_open;
    bool is_directory;
    bool readable;
    bool writable;
    uint64_t bytes;
};

struct picture {
    struct picture_task tasks[SCENARIO_MOST_TASKS];
    struct picture_file files[PICTURE_FILES];
    bool pins[PICTURE_PINS];
    unsigned task_count; /* names used */
    unsigned alive;
};

/*
 * What a part of a place is from now on. Rights that are given to what has holes leave it in
 * doubt.
 */
void place_scar(struct place *place, const struct scar *scar);

/* Does the picture say that the page may be read, or written? */
bool place_permits(const struct picture *picture, const struct place *place, uint32_t page,
                   bool write);

/* What happened to [start, start + pages) of a task happened to its places that are known to lie
 * there, but for the one that is the cause. */
void picture_cover(struct picture_task *task, const struct place *cause, va_t start,
                   const struct scar *scar);

/* Is something known to lie at [start, start + pages)? */
bool picture_meets(const struct picture_task *task, va_t start, uint32_t pages);

/* A child, as fork or vfork makes it; a task that ends; a task that is another program now. */
void picture_fork(struct picture *picture, uint16_t parent, uint16_t child, bool vfork);
void picture_end(struct picture *picture, uint16_t number);
void picture_exec(struct picture *picture, uint16_t number);

#endif
