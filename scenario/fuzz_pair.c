/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which two backends a run compares, and what of them.
 *
 *   model    the emulated kernel against flat memory, which knows no residency and no VMAs
 *   host     the kernel below against the emulated one
 *   soft     the same kernel on the chosen MMU and on the soft one
 *   copied   the kernel that shares tables against its sister that copies them
 *
 * What is resident is compared but where absent entries of a shared table are filled in place: what
 * one reads is then resident in all. (Fork shares no table that holds more than a copy would have.)
 *
 * Addresses are compared, so both must have address spaces of one size: the smallest in the pair.
 */
#include "scenario/fuzz_pair.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pager/mm.h"
#include "pager/task.h"
#include "scenario/emulated.h"
#include "scenario/host.h"
#include "scenario/model.h"

#define LITTLE_RAM_BYTES ((uint64_t)2 << 20)

static const char sharing_suffix[] = "-shared";

const struct kernel *fuzz_copying_sister(const struct kernel *kernel)
{
    char name[SCENARIO_NAME_BYTES];
    size_t length = strlen(kernel->name);
    size_t suffix = sizeof(sharing_suffix) - 1;

    if (kernel->sharing != SHARING_LEAF || length <= suffix ||
        strcmp(kernel->name + length - suffix, sharing_suffix) != 0)
        return NULL;
    snprintf(name, sizeof(name), "%.*s", (int)(length - suffix), kernel->name);
    return kernel_find(name);
}

/* Can user code not tell, by what is resident, that tables are shared? */
static bool hides_sharing(const struct kernel *kernel)
{
    return kernel->sharing != SHARING_LEAF || kernel->absent_entry == ABSENT_SPLIT;
}

static struct machine_options machine_for(const struct fuzz_options *options)
{
    struct machine_options machine = options->machine;

    if (machine.ram_bytes == 0 && options->low_memory)
        machine.ram_bytes = LITTLE_RAM_BYTES;
    return machine;
}

/* An emulated backend; with `space_bytes`, in an address space no larger than that. */
static int open_emulated(struct backend **backend, const struct machine_options *options,
                         uint64_t space_bytes, char *why, size_t why_bytes)
{
    struct machine_options machine = *options;

    if (space_bytes != 0)
        machine.most_space_bytes = space_bytes;
    return emulated_create(backend, &machine, why, why_bytes);
}

/* The size of the address spaces of a backend's tasks. */
static uint64_t space_of(struct backend *backend)
{
    return emulated_machine(backend)->task_list->mm->user_end;
}

/* --- with whom --- */

static enum model_placement placement_of(const struct kernel *kernel)
{
    if (kernel->free_space == &free_space_first_fit)
        return MODEL_FIRST_FIT;
    if (kernel->free_space == &free_space_cached_up)
        return MODEL_CACHED_UP;
    return kernel->free_space == &free_space_cached_down ? MODEL_CACHED_DOWN : MODEL_GAPS;
}

static struct model_layout layout_of(struct backend *backend)
{
    const struct machine *machine = emulated_machine(backend);
    const struct mm *mm = machine->task_list->mm;
    va_t heap_start = min_u64(SCENARIO_HEAP_START, round_down(mm->user_end / 8, PAGE_BYTES));

    return (struct model_layout){.user_end = mm->user_end,
                                 .geometry_end = machine->ram.geometry->user_end,
                                 .map_base = mm->map_base,
                                 .map_top = mm->map_top,
                                 .heap_start = heap_start,
                                 .stack_limit_bytes = mm->stack_limit_bytes,
                                 .stack_gap_bytes = mm->stack_gap_bytes,
                                 .placement = placement_of(machine->kernel),
                                 .keeps_gaps = machine->kernel->free_space->keeps_gaps,
                                 .huge_bytes = mm->huge_bytes};
}

/* Flat memory is the less able, but where memory is short the machine has to go first. */
static int open_with_model(struct fuzz_pair *pair, const struct fuzz_options *options, char *why,
                           size_t why_bytes)
{
    struct machine_options machine = machine_for(options);
    struct backend *emulated;
    int error = open_emulated(&emulated, &machine, 0, why, why_bytes);

    if (error != 0)
        return error;
    struct model_layout layout = layout_of(emulated);

    error = model_create(&pair->oracle, &layout);
    if (error != 0) {
        snprintf(why, why_bytes, "memory ran out");
        pair->one = emulated;
        return error;
    }
    pair->one = options->low_memory ? emulated : pair->oracle;
    pair->other = options->low_memory ? pair->oracle : emulated;
    if (options->low_memory) {
        pair->comparison.short_of_memory = emulated_machine(emulated);
        pair->comparison.ends_when_unable = true;
    }
    return 0;
}

static int open_with_host(struct fuzz_pair *pair, const struct fuzz_options *options, char *why,
                          size_t why_bytes)
{
    struct machine_options machine = machine_for(options);
    int error = host_backend_create(&pair->one, why, why_bytes);

    if (error != 0)
        return error;
    pair->no_zero_page = !host_backend_has_zero_page(pair->one);
    machine.no_zero_page = pair->no_zero_page;
    pair->oracle = pair->one;
    pair->comparison.vmas = true;
    pair->comparison.residency = hides_sharing(machine.kernel);
    pair->comparison.usage = pair->comparison.residency;
    return open_emulated(&pair->other, &machine, HOST_BACKEND_SPACE_BYTES, why, why_bytes);
}

static int open_with_sister(struct fuzz_pair *pair, const struct fuzz_options *options,
                            const struct machine_options *sister, char *why, size_t why_bytes)
{
    struct machine_options machine = machine_for(options);
    const struct kernel *kernel = machine.kernel;
    int error = open_emulated(&pair->one, &machine, 0, why, why_bytes);

    if (error == 0)
        error = open_emulated(&pair->other, sister, space_of(pair->one), why, why_bytes);
    pair->oracle = pair->other;
    pair->comparison.vmas = true;
    pair->comparison.residency = sister->kernel == kernel || hides_sharing(kernel);
    pair->comparison.usage = pair->comparison.residency;
    pair->comparison.usage_at_end = true;
    return error;
}

static int open_both(struct fuzz_pair *pair, const struct fuzz_options *options, char *why,
                     size_t why_bytes)
{
    struct machine_options machine = machine_for(options);

    switch (options->against) {
    case AGAINST_MODEL:
        return open_with_model(pair, options, why, why_bytes);
    case AGAINST_HOST:
        return open_with_host(pair, options, why, why_bytes);
    case AGAINST_SOFT:
        machine.mmu = MMU_SOFT;
        return open_with_sister(pair, options, &machine, why, why_bytes);
    case AGAINST_COPIED:
        machine.kernel = fuzz_copying_sister(machine.kernel);
        return open_with_sister(pair, options, &machine, why, why_bytes);
    case AGAINST_NOTHING:
        break;
    }
    return open_emulated(&pair->one, &machine, 0, why, why_bytes);
}

int fuzz_pair_open(struct fuzz_pair *pair, const struct fuzz_options *options, char *why,
                   size_t why_bytes)
{
    *pair = (struct fuzz_pair){0};
    int error = open_both(pair, options, why, why_bytes);

    if (error != 0) {
        fuzz_pair_close(pair, NULL, 0);
        return error;
    }
    pair->comparison.one = pair->one;
    pair->comparison.other = pair->other;
    pair->comparison.checks = options->checks;
    pair->comparison.checks_at_end = true;
    return 0;
}

bool fuzz_pair_close(struct fuzz_pair *pair, char *why, size_t why_bytes)
{
    struct backend *backends[] = {pair->one, pair->other};
    char lost[SCENARIO_WHY_BYTES] = "";
    bool whole = true;

    for (unsigned i = 0; i < 2; i++) {
        if (backends[i] == NULL)
            continue;
        const char *name = backends[i]->ops->name;

        if (backends[i]->ops->end(backends[i], lost, sizeof(lost)))
            continue;
        if (whole && why != NULL)
            snprintf(why, why_bytes, "%s, at the end: %.250s", name, lost);
        whole = false;
    }
    return whole;
}

/* A real kernel is not renewed: another helper is started. */
static int renew_host(struct fuzz_pair *pair, char *why, size_t why_bytes)
{
    bool whole = pair->one->ops->end(pair->one, why, why_bytes);

    pair->one = NULL;
    pair->oracle = NULL;
    int error = whole ? host_backend_create(&pair->one, why, why_bytes) : -EIO;

    pair->oracle = pair->one;
    pair->comparison.one = pair->one;
    return error;
}

static int renew_backend(struct fuzz_pair *pair, enum fuzz_against against, struct backend *backend,
                         char *why, size_t why_bytes)
{
    if (backend == NULL)
        return 0;
    if (against == AGAINST_HOST && backend == pair->oracle)
        return renew_host(pair, why, why_bytes);
    if (against == AGAINST_MODEL && backend == pair->oracle) {
        model_renew(backend);
        return 0;
    }
    return emulated_renew(backend, why, why_bytes) ? 0 : -EIO;
}

int fuzz_pair_renew(struct fuzz_pair *pair, const struct fuzz_options *options, char *why,
                    size_t why_bytes)
{
    int error = renew_backend(pair, options->against, pair->one, why, why_bytes);

    if (error == 0)
        error = renew_backend(pair, options->against, pair->other, why, why_bytes);
    pair->comparison.has_witness = false;
    return error;
}

struct fuzz_mix fuzz_mix_for(const struct fuzz_options *options)
{
    struct fuzz_mix mix = {.operations = options->episode,
                           .tasks = options->tasks,
                           .for_host = options->against == AGAINST_HOST,
                           .low_memory = options->low_memory};
    const struct geometry *geometry = options->machine.geometry;

    if (geometry == NULL)
        return mix;
    mix.span_bytes = geometry_span_bytes(geometry);
    if (geometry != &geometry_tiny)
        return mix;
    mix.area_start = geometry->user_end / 4;
    mix.area_bytes = 6 * mix.span_bytes;
    return mix;
}
