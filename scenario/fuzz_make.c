/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random scenarios: who does what. The arguments are made by fuzz_make_*.c; fuzz_maker.h has the
 * terms. Nothing here asks the host for anything but memory, so a seed is the same everywhere.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scenario/fuzz_maker.h"

/* Where mappings are placed by address: above every program, below what kernels choose. */
#define AREA_START ((va_t)256 << 20)
#define SPAN_BYTES ((uint64_t)2 << 20)
enum { AREA_SPANS = 4, DEFAULT_OPERATIONS = 300, DEFAULT_TASKS = 8, ATTEMPTS = 8 };
enum { DATA_BLOCK_BYTES = 4096, SPOILED_PERCENT = 4 };

struct verb_weight {
    enum scenario_verb verb;
    unsigned weight;
    make_arguments *make;
};

static const struct verb_weight weights[] = {
    {VERB_MMAP, 90, make_mmap},
    {VERB_MUNMAP, 36, make_munmap},
    {VERB_MPROTECT, 55, make_mprotect},
    {VERB_MREMAP, 45, make_mremap},
    {VERB_BRK, 20, make_brk},
    {VERB_MADVISE, 85, make_madvise},
    {VERB_MLOCK, 12, make_lock},
    {VERB_MUNLOCK, 12, make_lock},
    {VERB_MSYNC, 10, make_msync},
    {VERB_MINCORE, 10, make_mincore},
    {VERB_STRIPE, 3, make_stripe},
    {VERB_LIMIT, 1, make_limit},
    {VERB_READ, 90, make_load},
    {VERB_WRITE, 150, make_store},
    {VERB_PEEK, 40, make_peek},
    {VERB_POKE, 70, make_poke},
    {VERB_KREAD, 25, make_load},
    {VERB_KWRITE, 35, make_store},
    {VERB_FORK, 50, make_fork},
    {VERB_VFORK, 6, make_fork},
    {VERB_EXEC, 4, make_exec},
    {VERB_EXIT, 20, make_exit},
    {VERB_KILL, 5, make_kill},
    {VERB_WAIT, 30, make_wait},
    {VERB_PIN, 14, make_pin},
    {VERB_UNPIN, 8, make_unpin},
    {VERB_PINREAD, 12, make_pinread},
    {VERB_PINWRITE, 12, make_pinwrite},
    {VERB_FILE, 10, make_file},
    {VERB_SHM, 5, make_shm},
    {VERB_DIRECTORY, 1, make_directory},
    {VERB_CLOSE, 3, make_close},
    {VERB_TRUNCATE, 14, make_truncate},
    {VERB_FREAD, 10, make_fread},
    {VERB_FWRITE, 16, make_fwrite},
};

enum { WEIGHTS = sizeof(weights) / sizeof(weights[0]) };

static void add(struct maker *maker, const struct scenario_operation *operation)
{
    if (scenario_add(maker->scenario, operation) != 0)
        maker->error = -ENOMEM;
}

void maker_letters(struct maker *maker, struct scenario_data *data, size_t bytes)
{
    *data = (struct scenario_data){.kind = DATA_BYTES};
    if (maker->data_left < bytes) {
        maker->data = scenario_allocate(maker->scenario, DATA_BLOCK_BYTES);
        maker->data_left = maker->data != NULL ? DATA_BLOCK_BYTES : 0;
    }
    if (maker->data_left < bytes) {
        maker->error = -ENOMEM;
        return;
    }
    for (size_t i = 0; i < bytes; i++)
        maker->data[i] = (uint8_t)('A' + below(maker, 26));
    data->content = maker->data;
    data->bytes = bytes;
    maker->data += bytes;
    maker->data_left -= bytes;
}

/* --- who --- */

/* A living task that may act, deeper ones more often, so that families grow downwards. */
static bool choose_task(struct maker *maker)
{
    const struct picture *picture = &maker->picture;
    bool found = false;

    for (unsigned attempt = 0; attempt < 3 * ATTEMPTS && picture->alive > 0; attempt++) {
        uint16_t number = (uint16_t)below(maker, picture->task_count);
        const struct picture_task *task = &picture->tasks[number];

        if (task->life != LIFE_ALIVE || task->is_suspended)
            continue;
        if (!found || (task->depth > picture->tasks[maker->task].depth && percent(maker, 30)))
            maker->task = number;
        found = true;
        if (percent(maker, 50))
            return true;
    }
    for (uint16_t i = 0; i < picture->task_count && !found; i++) {
        found = picture->tasks[i].life == LIFE_ALIVE && !picture->tasks[i].is_suspended;
        maker->task = i;
    }
    return found;
}

static void add_name(struct maker *maker, struct scenario_names *names, char letter,
                     unsigned number, unsigned most)
{
    char name[SCENARIO_NAME_BYTES];

    snprintf(name, sizeof(name), "%c%u", letter, number);
    if (scenario_name(names, name, most) < 0)
        maker->error = -ENOMEM;
}

uint16_t maker_name_task(struct maker *maker)
{
    unsigned number = maker->picture.task_count++;

    add_name(maker, &maker->scenario->tasks, 'T', number, SCENARIO_MOST_TASKS);
    return (uint16_t)number;
}

/* A task that nobody forked. */
static void make_first_task(struct maker *maker)
{
    struct scenario_operation operation = scenario_operation_blank(VERB_TASK);
    struct picture *picture = &maker->picture;

    operation.task = maker_name_task(maker);
    picture->tasks[operation.task] =
        (struct picture_task){.life = LIFE_ALIVE, .has_heap = true, .parent = SCENARIO_NOBODY};
    picture->alive++;
    add(maker, &operation);
}

/* --- what --- */

static const struct verb_weight *choose_weight(struct maker *maker)
{
    unsigned sum = 0;
    unsigned i = 0;

    for (unsigned k = 0; k < WEIGHTS; k++)
        sum += weights[k].weight;
    for (uint64_t left = below(maker, sum); left >= weights[i].weight; i++)
        left -= weights[i].weight;
    return &weights[i];
}

/* If it lives, it ends: then the picture is right again. The last one is left alone. */
static void end_doubtful_task(struct maker *maker)
{
    struct scenario_operation end = scenario_operation_blank(VERB_EXIT);

    maker->may_have_died = false;
    if (maker->picture.alive < 2)
        return;
    end.task = maker->task;
    add(maker, &end);
    picture_end(&maker->picture, maker->task);
}

static bool make(struct maker *maker, enum scenario_verb verb, make_arguments *arguments)
{
    struct scenario_operation operation = scenario_operation_blank(verb);

    maker->is_spoiled = verb <= VERB_MINCORE && verb != VERB_BRK && percent(maker, SPOILED_PERCENT);
    if (verb_descriptions[verb].has_task)
        operation.task = maker->task;
    if (!arguments(maker, &operation))
        return false;
    if (maker->is_spoiled)
        maker_spoil(maker, &operation);
    add(maker, &operation);
    if (maker->may_have_died)
        end_doubtful_task(maker);
    return true;
}

/* A task with little memory maps; one that its parent waits for does not live long. */
static bool make_urgent(struct maker *maker)
{
    const struct picture_task *task = acting(maker);
    unsigned places = 0;

    for (unsigned i = 0; i < PICTURE_REGIONS; i++)
        places += task->places[i].is_there;
    if (places < 3 && percent(maker, 50))
        return make(maker, VERB_MMAP, make_mmap);
    if (task->is_vforked && percent(maker, 15))
        return percent(maker, 30) ? make(maker, VERB_EXEC, make_exec)
                                  : make(maker, VERB_EXIT, make_exit);
    return false;
}

static void make_operation(struct maker *maker)
{
    bool has_names = maker->picture.task_count < SCENARIO_MOST_TASKS;

    if (!choose_task(maker) || (has_names && below(maker, 400) == 0)) {
        if (has_names)
            make_first_task(maker);
        return;
    }
    if (make_urgent(maker))
        return;
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        const struct verb_weight *chosen = choose_weight(maker);

        if (make(maker, chosen->verb, chosen->make))
            return;
    }
}

static void make_names(struct maker *maker)
{
    for (unsigned i = 0; i < PICTURE_REGIONS; i++)
        add_name(maker, &maker->scenario->regions, 'A', i, SCENARIO_MOST_REGIONS);
    for (unsigned i = 0; i < PICTURE_FILES; i++)
        add_name(maker, &maker->scenario->files, 'F', i, SCENARIO_MOST_FILES);
    for (unsigned i = 0; i < PICTURE_PINS; i++)
        add_name(maker, &maker->scenario->pins, 'K', i, SCENARIO_MOST_PINS);
}

static struct fuzz_mix with_defaults(const struct fuzz_mix *mix)
{
    struct fuzz_mix whole = *mix;

    if (whole.operations == 0)
        whole.operations = DEFAULT_OPERATIONS;
    if (whole.tasks == 0)
        whole.tasks = DEFAULT_TASKS;
    if (whole.span_bytes == 0)
        whole.span_bytes = SPAN_BYTES;
    if (whole.area_bytes == 0) {
        whole.area_start = AREA_START;
        whole.area_bytes = AREA_SPANS * whole.span_bytes;
    }
    return whole;
}

int fuzz_make(struct scenario *scenario, uint64_t seed, const struct fuzz_mix *mix)
{
    struct fuzz_mix whole = with_defaults(mix);
    struct maker maker = {.scenario = scenario, .mix = &whole, .random = random_seeded(seed)};
    int error = scenario_init(scenario, "fuzz");

    if (error != 0)
        return error;
    make_names(&maker);
    for (unsigned i = 0; i < whole.operations && maker.error == 0; i++)
        make_operation(&maker);
    if (maker.error != 0)
        scenario_free(scenario);
    return maker.error;
}
