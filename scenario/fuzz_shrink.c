/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shortening a scenario that fails: first chunks are left out, ever smaller ones, then arguments
 * become as plain as they can be, then names that nobody uses go and the others close ranks.
 * Whatever no longer fails is taken back. (A. Zeller and R. Hildebrandt, "Simplifying and isolating
 * failure-inducing input", IEEE TSE 2002; the plain half of it.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/fuzz.h"

struct shrink {
    struct scenario *scenario;
    fuzz_fails *fails;
    void *context;
    struct scenario_operation *kept; /* room to take a step back */
};

/* --- leaving out --- */

/* Tries without [first, first + count): true when it still fails, and then they are gone. */
static bool leave_out(struct shrink *shrink, size_t first, size_t count)
{
    struct scenario *scenario = shrink->scenario;
    size_t before = scenario->count;
    size_t left = before - first - count;

    memcpy(shrink->kept, scenario->operations, before * sizeof(*shrink->kept));
    memmove(&scenario->operations[first], &scenario->operations[first + count],
            left * sizeof(*shrink->kept));
    scenario->count -= count;
    if (shrink->fails(shrink->context, scenario))
        return true;
    memcpy(scenario->operations, shrink->kept, before * sizeof(*shrink->kept));
    scenario->count = before;
    return false;
}

/* From the end, since what comes last depends on the rest. True when something went. */
static bool leave_out_chunks(struct shrink *shrink, size_t chunk)
{
    struct scenario *scenario = shrink->scenario;
    bool any = false;
    size_t end = scenario->count;

    while (end > 0) {
        size_t first = end > chunk ? end - chunk : 0;

        any |= leave_out(shrink, first, end - first);
        end = first < scenario->count ? first : scenario->count;
    }
    return any;
}

static void leave_out_all(struct shrink *shrink)
{
    for (size_t chunk = shrink->scenario->count / 2; chunk > 1; chunk /= 2)
        leave_out_chunks(shrink, chunk);
    while (leave_out_chunks(shrink, 1)) {
    }
}

/* --- plainer arguments --- */

/* A way to make an operation plainer: false when it is so already. */
typedef bool simplify(struct scenario_operation *operation);

static bool size_to_page(struct scenario_operation *operation)
{
    bool is_plain = operation->bytes <= PAGE_BYTES;

    operation->bytes = is_plain ? operation->bytes : PAGE_BYTES;
    return !is_plain;
}

static bool size_to_half(struct scenario_operation *operation)
{
    uint64_t half = operation->bytes > 2 * PAGE_BYTES ? round_up(operation->bytes / 2, PAGE_BYTES)
                                                      : operation->bytes / 2;

    if (operation->bytes < 2 || operation->bytes == PAGE_BYTES)
        return false;
    operation->bytes = half;
    return true;
}

/* By a page where it is small; page by page a huge size would take for ever. */
static bool size_a_little_less(struct scenario_operation *operation)
{
    if (operation->bytes <= PAGE_BYTES)
        return false;
    operation->bytes -= max_u64(round_down(operation->bytes / 16, PAGE_BYTES), PAGE_BYTES);
    return true;
}

static bool new_size_to_page(struct scenario_operation *operation)
{
    bool is_plain = operation->new_bytes <= PAGE_BYTES;

    operation->new_bytes = is_plain ? operation->new_bytes : PAGE_BYTES;
    return !is_plain;
}

static bool new_size_one_more(struct scenario_operation *operation)
{
    if (operation->new_bytes <= operation->bytes + PAGE_BYTES)
        return false;
    operation->new_bytes = operation->bytes + PAGE_BYTES;
    return true;
}

static bool address_to_start(struct scenario_operation *operation)
{
    if (operation->address.base == BASE_ABSOLUTE || operation->address.offset_bytes == 0)
        return false;
    operation->address.offset_bytes = 0;
    return true;
}

static bool address_to_page(struct scenario_operation *operation)
{
    uint64_t page = page_of(operation->address.offset_bytes);

    if (operation->address.offset_bytes == page)
        return false;
    operation->address.offset_bytes = page;
    return true;
}

static bool offset_to_zero(struct scenario_operation *operation)
{
    if (operation->offset_bytes == 0)
        return false;
    operation->offset_bytes = 0;
    return true;
}

static bool data_to_byte(struct scenario_operation *operation)
{
    if (operation->data.kind == DATA_NONE || operation->data.bytes <= 1)
        return false;
    operation->data.bytes = 1;
    return true;
}

static bool protection_to_usual(struct scenario_operation *operation)
{
    uint32_t usual = ABI_PROT_READ | ABI_PROT_WRITE;

    if (operation->verb != VERB_MMAP || operation->protection == usual)
        return false;
    operation->protection = usual;
    return true;
}

static bool flags_to_few(struct scenario_operation *operation)
{
    uint32_t few = ABI_MAP_TYPE | ABI_MAP_FIXED | ABI_MAP_ANONYMOUS;

    if (operation->verb != VERB_MMAP || (operation->flags & ~few) == 0)
        return false;
    operation->flags &= few;
    return true;
}

static bool file_to_memory(struct scenario_operation *operation)
{
    if (operation->verb != VERB_MMAP || operation->file == SCENARIO_NOBODY)
        return false;
    operation->file = SCENARIO_NOBODY;
    operation->offset_bytes = 0;
    operation->flags |= ABI_MAP_ANONYMOUS;
    return true;
}

static bool status_to_zero(struct scenario_operation *operation)
{
    if (operation->verb != VERB_EXIT || operation->value == 0)
        return false;
    operation->value = 0;
    return true;
}

static simplify *const simplifications[] = {
    size_to_page,     size_to_half,    size_a_little_less, new_size_to_page, new_size_one_more,
    address_to_start, address_to_page, offset_to_zero,     data_to_byte,     protection_to_usual,
    flags_to_few,     file_to_memory,  status_to_zero,
};

static bool try_plainer(struct shrink *shrink, size_t i, simplify *step)
{
    struct scenario_operation *operation = &shrink->scenario->operations[i];
    struct scenario_operation before = *operation;

    if (!step(operation))
        return false;
    if (shrink->fails(shrink->context, shrink->scenario))
        return true;
    *operation = before;
    return false;
}

static bool make_plainer(struct shrink *shrink)
{
    bool any = false;

    for (size_t i = 0; i < shrink->scenario->count; i++) {
        for (size_t k = 0; k < sizeof(simplifications) / sizeof(simplifications[0]); k++)
            any |= try_plainer(shrink, i, simplifications[k]);
    }
    return any;
}

/* --- fewer tasks --- */

/* The parent does what its child did, from its birth on. */
static void take_over(struct scenario *scenario, size_t fork)
{
    uint16_t parent = scenario->operations[fork].task;
    uint16_t child = scenario->operations[fork].other;

    for (size_t i = fork; i + 1 < scenario->count; i++) {
        struct scenario_operation *operation = &scenario->operations[i];

        *operation = scenario->operations[i + 1];
        if (operation->task == child)
            operation->task = parent;
    }
    scenario->count--;
}

static bool make_fewer_tasks(struct shrink *shrink)
{
    struct scenario *scenario = shrink->scenario;
    bool any = false;

    for (size_t i = scenario->count; i-- > 0;) {
        size_t before = scenario->count;

        if (scenario->operations[i].verb != VERB_FORK && scenario->operations[i].verb != VERB_VFORK)
            continue;
        memcpy(shrink->kept, scenario->operations, before * sizeof(*shrink->kept));
        take_over(scenario, i);
        if (shrink->fails(shrink->context, scenario)) {
            any = true;
            continue;
        }
        memcpy(scenario->operations, shrink->kept, before * sizeof(*shrink->kept));
        scenario->count = before;
    }
    return any;
}

/* --- names --- */

/* The new numbers of the names of one kind. */
struct renaming {
    struct scenario_names *names;
    uint16_t numbers[SCENARIO_MOST_REGIONS]; /* 0 when not met yet, else the new one and 1 */
    unsigned count;
};

static void rename_one(struct renaming *renaming, uint16_t *number)
{
    if (*number >= renaming->names->count)
        return;
    if (renaming->numbers[*number] == 0)
        renaming->numbers[*number] = (uint16_t)++renaming->count;
    *number = (uint16_t)(renaming->numbers[*number] - 1);
}

static void rename_in(struct renaming renamings[4], struct scenario_operation *operation)
{
    rename_one(&renamings[0], &operation->task);
    rename_one(&renamings[0], &operation->other);
    rename_one(&renamings[1], &operation->region);
    if (operation->address.base == BASE_REGION)
        rename_one(&renamings[1], &operation->address.region);
    if (operation->has_target && operation->target.base == BASE_REGION)
        rename_one(&renamings[1], &operation->target.region);
    rename_one(&renamings[2], &operation->file);
    rename_one(&renamings[3], &operation->pin);
}

/* The names are numbered in the order in which they come; those that do not come are gone. */
static void close_ranks(struct scenario *scenario)
{
    struct renaming renamings[4] = {{.names = &scenario->tasks},
                                    {.names = &scenario->regions},
                                    {.names = &scenario->files},
                                    {.names = &scenario->pins}};
    static const char letters[] = {'T', 'A', 'F', 'K'};

    for (size_t i = 0; i < scenario->count; i++)
        rename_in(renamings, &scenario->operations[i]);
    for (unsigned kind = 0; kind < 4; kind++) {
        struct scenario_names *names = renamings[kind].names;

        names->count = renamings[kind].count;
        for (unsigned i = 0; i < names->count; i++)
            snprintf(names->names[i], sizeof(names->names[i]), "%c%u", letters[kind], i);
    }
}

void fuzz_shrink(struct scenario *scenario, fuzz_fails *fails, void *context)
{
    struct shrink shrink = {.scenario = scenario,
                            .fails = fails,
                            .context = context,
                            .kept = calloc(scenario->count + 1, sizeof(*shrink.kept))};

    if (shrink.kept == NULL)
        return; /* then it stays as long as it is */
    leave_out_all(&shrink);
    while (make_fewer_tasks(&shrink) | make_plainer(&shrink))
        leave_out_all(&shrink);
    close_ranks(scenario);
    free(shrink.kept);
}
