/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maker of random scenarios, for its own files: fuzz_make.c chooses who does what, the others
 * choose the arguments.
 *
 * Addresses crowd where the traps are: around the bounds of spans and of pages, in a small area of
 * a few spans that the scenario places mappings in, and where the kernel puts its own.
 */
#ifndef FORKLAB_SCENARIO_FUZZ_MAKER_H
#define FORKLAB_SCENARIO_FUZZ_MAKER_H

#include "scenario/fuzz_picture.h"

struct maker {
    struct scenario *scenario;
    const struct fuzz_mix *mix;
    struct random random;
    struct picture picture;
    uint16_t task; /* who acts */
    uint8_t *data; /* what is left of a block for data */
    size_t data_left;
    bool is_spoiled;    /* the operation in hand will be: it changes nothing */
    bool may_have_died; /* of it */
    int error;          /* -ENOMEM */
};

/* --- chances --- */

static inline uint64_t below(struct maker *maker, uint64_t limit)
{
    return random_below(&maker->random, limit);
}

static inline bool percent(struct maker *maker, unsigned chance)
{
    return below(maker, 100) < chance;
}

/* --- what the files of the maker share --- */

static inline struct picture_task *acting(struct maker *maker)
{
    return &maker->picture.tasks[maker->task];
}

static inline uint32_t area_pages(const struct maker *maker)
{
    return (uint32_t)(maker->mix->area_bytes >> PAGE_SHIFT);
}

/* A page of the area, mostly near the bound of a span; and a number of pages for a mapping. */
uint32_t maker_area_page(struct maker *maker);
uint32_t maker_size_pages(struct maker *maker);

/* A name whose place is there, or PICTURE_REGIONS. */
unsigned maker_some_place(struct maker *maker);

/* A part of a place, or all of it; PICTURE_REGIONS as `region` means a part of the area. */
struct maker_range {
    unsigned region;
    uint32_t first;
    uint32_t pages;
};
struct maker_range maker_range(struct maker *maker, unsigned whole_chance);

/* Not many pages, mostly: for what brings all of them in. */
void maker_keep_small(struct maker *maker, struct maker_range *range);

/* Its address and size go into the operation. */
void maker_set_range(struct maker *maker, struct scenario_operation *operation,
                     const struct maker_range *range);

/* Rights for a mapping. */
uint32_t maker_protection(struct maker *maker);

/* Random letters as an operation's data; nothing when memory ends. */
void maker_letters(struct maker *maker, struct scenario_data *data, size_t bytes);

/* Something is wrong with the arguments now and then. */
void maker_spoil(struct maker *maker, struct scenario_operation *operation);

/* Arguments, by verb: false when this verb has nothing to do here. */
typedef bool make_arguments(struct maker *maker, struct scenario_operation *operation);
make_arguments make_mmap, make_munmap, make_mprotect, make_mremap, make_brk, make_madvise,
    make_lock, make_msync, make_mincore, make_stripe, make_limit;
make_arguments make_load, make_store, make_peek, make_poke, make_pin, make_unpin, make_pinread,
    make_pinwrite;
make_arguments make_fork, make_exec, make_exit, make_kill, make_wait;
make_arguments make_file, make_shm, make_directory, make_close, make_truncate, make_fread,
    make_fwrite;

/* A name for a new task, which it returns. There must be one left. */
uint16_t maker_name_task(struct maker *maker);

#endif
