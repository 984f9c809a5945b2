/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Machines: made, aged, ended; and their lock. */
#include "pager/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pager/anon_family.h"
#include "pager/mm.h"
#include "pager/object.h"
#include "pager/task.h"
#include "pager/vma.h"

#define DEFAULT_RAM_BYTES ((uint64_t)1 << 30)
enum { DEFAULT_MAP_AHEAD_PAGES = 16 };

static int create_memory(struct machine *machine, const struct machine_options *options,
                         char *problem, size_t problem_bytes)
{
    const struct geometry *geometry =
        options->geometry != NULL ? options->geometry : &geometry_x86_64;
    uint64_t bytes =
        round_down(options->ram_bytes != 0 ? options->ram_bytes : DEFAULT_RAM_BYTES, PAGE_BYTES);
    int error = host_ram_create(&machine->host_ram, bytes);

    if (error != 0) {
        snprintf(problem, problem_bytes, "the host does not give %llu MiB of memory for RAM",
                 (unsigned long long)(bytes >> 20));
        return error;
    }
    error = ram_init(&machine->ram, geometry, host_ram_base(machine->host_ram), bytes,
                     &machine->events);
    if (error != 0)
        snprintf(problem, problem_bytes, "RAM of %llu bytes does not suit the geometry %s",
                 (unsigned long long)bytes, geometry->name);
    return error;
}

static int create_mmu(struct machine *machine, const struct machine_options *options, char *problem,
                      size_t problem_bytes)
{
    if (options->mmu == MMU_SOFT)
        return mmu_soft_create(&machine->mmu, &machine->ram);
    return mmu_host_create(&machine->mmu, &machine->ram, machine->host_ram, &options->host, problem,
                           problem_bytes);
}

static int create_rmap(struct machine *machine)
{
    int error = machine->kernel->rmap->create(&machine->rmap_context, &machine->ram);

    machine->ram.rmap_context = machine->rmap_context;
    machine->ram.rmap = error == 0 ? machine->kernel->rmap->hooks : NULL;
    return error;
}

static void create_pools(struct machine *machine)
{
    struct allocation_gate *gate = &machine->ram.gate;

    pool_init(&machine->vmas, gate, sizeof(struct vma) + machine->kernel->index->links_bytes);
    pool_init(&machine->index_nodes, gate, machine->kernel->index->node_bytes);
    pool_init(&machine->mms, gate, sizeof(struct mm));
    pool_init(&machine->tasks, gate, sizeof(struct task));
    pool_init(&machine->objects, gate, sizeof(struct object));
    pool_init(&machine->anon_families, gate, sizeof(struct anon_family));
    pool_init(&machine->anon_links, gate, sizeof(struct anon_link));
}

static void free_parts(struct machine *machine)
{
    if (machine->mmu != NULL)
        machine->mmu->ops->destroy(machine->mmu);
    if (machine->rmap_context != NULL)
        machine->kernel->rmap->destroy(machine->rmap_context);
    pool_destroy(&machine->vmas);
    pool_destroy(&machine->index_nodes);
    pool_destroy(&machine->mms);
    pool_destroy(&machine->tasks);
    pool_destroy(&machine->objects);
    pool_destroy(&machine->anon_families);
    pool_destroy(&machine->anon_links);
    if (machine->ram.frames != NULL)
        ram_destroy(&machine->ram);
    if (machine->host_ram != NULL)
        host_ram_destroy(machine->host_ram);
    pthread_cond_destroy(&machine->child_ended);
    pthread_mutex_destroy(&machine->lock);
    free(machine);
}

int machine_create(struct machine **machine, const struct machine_options *options, char *problem,
                   size_t problem_bytes)
{
    struct machine *made = calloc(1, sizeof(*made));

    snprintf(problem, problem_bytes, "memory ran out");
    if (made == NULL)
        return -ENOMEM;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->child_ended, NULL);
    made->kernel = options->kernel != NULL ? options->kernel : kernel_find("modern");
    made->map_ahead_pages =
        options->map_ahead_pages != 0 ? options->map_ahead_pages : DEFAULT_MAP_AHEAD_PAGES;
    made->no_zero_page = options->no_zero_page;
    made->may_share_tables = made->kernel->sharing == SHARING_LEAF;
    made->most_vmas = options->most_vmas != 0 ? options->most_vmas : made->kernel->most_vmas;
    made->most_space_bytes =
        options->most_space_bytes != 0 ? options->most_space_bytes : UINT64_MAX;
    int error = create_memory(made, options, problem, problem_bytes);

    if (error == 0)
        error = create_mmu(made, options, problem, problem_bytes);
    if (error == 0)
        error = create_rmap(made);
    create_pools(made);
    if (error != 0) {
        free_parts(made);
        return error;
    }
    problem[0] = '\0';
    *machine = made;
    return 0;
}

void machine_destroy(struct machine *machine)
{
    machine_lock(machine);
    task_end_all_locked(machine);
    while (machine->object_list != NULL)
        object_put_locked(machine, machine->object_list);
    machine_unlock(machine);
    free_parts(machine);
}

int machine_set_kernel(struct machine *machine, const struct kernel *kernel)
{
    if (!kernels_are_compatible(machine->kernel, kernel))
        return -EINVAL;
    machine_lock(machine);
    machine->kernel = kernel;
    machine->may_share_tables |= kernel->sharing == SHARING_LEAF;
    machine_unlock(machine);
    return 0;
}

int machine_age(struct machine *machine, uint32_t frames, uint64_t seed)
{
    machine_lock(machine);
    int error = ram_age(&machine->ram, frames, seed);

    if (error == 0)
        error = machine->kernel->rmap->age(machine->rmap_context, frames, seed + 1);
    machine_unlock(machine);
    return error;
}

static void start_clock(struct machine *machine)
{
    machine->entered_host_ticks = machine->mmu->host_ticks;
    machine->entered_ticks = clock_ticks();
}

static void stop_clock(struct machine *machine)
{
    uint64_t inside = clock_ticks() - machine->entered_ticks;

    machine->kernel_ticks += inside - (machine->mmu->host_ticks - machine->entered_host_ticks);
}

void machine_lock(struct machine *machine)
{
    pthread_mutex_lock(&machine->lock);
    start_clock(machine);
}

void machine_unlock(struct machine *machine)
{
    stop_clock(machine);
    pthread_mutex_unlock(&machine->lock);
}

void machine_wait_for_child(struct machine *machine)
{
    stop_clock(machine);
    pthread_cond_wait(&machine->child_ended, &machine->lock);
    start_clock(machine);
}

uint32_t machine_used_frames(struct machine *machine)
{
    machine_lock(machine);
    uint32_t used = machine->ram.frame_count - ram_free_frames(&machine->ram);

    machine_unlock(machine);
    return used;
}
