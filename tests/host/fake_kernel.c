/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The least kernel; fake_kernel.h says what it does. */
#include "tests/host/fake_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pt/share.h"

struct fake_run {
    struct run run; /* first */
    struct fake_space *space;
    struct fake_result result;
};

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "fake kernel: %s\n", what);
    abort();
}

void fake_machine_create(struct fake_machine *machine, const struct geometry *geometry,
                         uint64_t bytes, const struct mmu_host_options *options)
{
    char problem[160] = "";

    *machine = (struct fake_machine){.most_pages = 1};
    must(pthread_mutex_init(&machine->lock, NULL) == 0, "no mutex");
    machine->log = calloc(1, sizeof(*machine->log));
    must(machine->log != NULL, "no memory");
    must(host_ram_create(&machine->host_ram, bytes) == 0, "no RAM");
    must(ram_init(&machine->ram, geometry, host_ram_base(machine->host_ram), bytes, machine->log) ==
             0,
         "RAM cannot be set up");
    must(mmu_host_create(&machine->mmu, &machine->ram, machine->host_ram, options, problem,
                         sizeof(problem)) == 0,
         problem);
}

void fake_machine_destroy(struct fake_machine *machine)
{
    machine->mmu->ops->destroy(machine->mmu);
    ram_destroy(&machine->ram);
    host_ram_destroy(machine->host_ram);
    free(machine->log);
    must(pthread_mutex_destroy(&machine->lock) == 0, "the lock is held");
}

void fake_space_create(struct fake_space *space, struct fake_machine *machine)
{
    struct ram_need need = {.upper_tables = 1};

    *space = (struct fake_space){.machine = machine};
    pthread_mutex_lock(&machine->lock);
    must(ram_reserve(&machine->ram, &need) == 0, "no table");
    tree_init(&space->tree, &machine->ram, space);
    pthread_mutex_unlock(&machine->lock);
}

void fake_space_release(struct fake_space *space)
{
    pthread_mutex_lock(&space->machine->lock);
    if (space->space != NULL)
        space->machine->mmu->ops->release(space->space);
    pthread_mutex_unlock(&space->machine->lock);
}

void fake_space_destroy(struct fake_space *space)
{
    fake_space_release(space);
    pthread_mutex_lock(&space->machine->lock);
    tree_destroy(&space->tree);
    pthread_mutex_unlock(&space->machine->lock);
}

static void fill(struct fake_space *space, va_t va, pfn_t pfn, entry_t flags)
{
    struct ram *ram = &space->machine->ram;
    struct ram_need need = {.frames = 1};
    struct table *table;

    must(table_for_one(&space->tree, va, &need, &table) == 0, "no table");
    if (pfn == PFN_NONE) {
        pfn_t hint = PFN_NONE;

        if (space->space != NULL)
            hint = space->machine->mmu->ops->frame_hint(space->space, va);
        pfn = frame_take(ram, FRAME_ANON, hint);
        frame_clear(ram, pfn);
    }
    table_fill(ram, table, geometry_slot(ram->geometry, va, 0), entry_make(pfn, flags));
}

pfn_t fake_map(struct fake_space *space, va_t va, entry_t flags)
{
    pthread_mutex_lock(&space->machine->lock);
    fill(space, va, PFN_NONE, flags);
    pfn_t pfn = entry_pfn(pt_entry(&space->tree, va));

    pthread_mutex_unlock(&space->machine->lock);
    return pfn;
}

void fake_map_frame(struct fake_space *space, va_t va, pfn_t pfn, entry_t flags)
{
    pthread_mutex_lock(&space->machine->lock);
    fill(space, va, pfn, flags);
    pthread_mutex_unlock(&space->machine->lock);
}

void fake_unmap(struct fake_space *space, va_t va)
{
    struct fake_machine *machine = space->machine;
    struct table *table;

    pthread_mutex_lock(&machine->lock);
    must(table_for_one(&space->tree, va, NULL, &table) == 0, "no table");
    entry_t entry = table_clear(&machine->ram, table, geometry_slot(machine->ram.geometry, va, 0));

    if (space->space != NULL)
        machine->mmu->ops->revoke(space->space, va, va + PAGE_BYTES);
    frame_put(&machine->ram, entry_pfn(entry));
    pthread_mutex_unlock(&machine->lock);
}

void fake_write_protect(struct fake_space *space, va_t start, va_t end)
{
    struct fake_machine *machine = space->machine;
    struct table *table;

    pthread_mutex_lock(&machine->lock);
    for (va_t va = start; va < end; va += PAGE_BYTES) {
        entry_t entry = pt_entry(&space->tree, va);

        if (!entry_is_present(entry))
            continue;
        must(table_for_one(&space->tree, va, NULL, &table) == 0, "no table");
        table_change(&machine->ram, table, geometry_slot(machine->ram.geometry, va, 0),
                     entry_without(entry, ENTRY_WRITE | ENTRY_DIRTY));
    }
    if (space->space != NULL)
        machine->mmu->ops->write_protect(space->space, start, end);
    pthread_mutex_unlock(&machine->lock);
}

/* 0, -EFAULT for a bad access, or what installing said. The lock is held. */
static int resolve(struct fake_space *space, va_t va, enum access access)
{
    struct fake_machine *machine = space->machine;
    struct pt_leaf leaf;

    if (!pt_lookup(&space->tree, va, &leaf))
        return -EFAULT;
    entry_t entry = table_entry(&machine->ram, leaf.table, leaf.first);
    bool writes = access == ACCESS_WRITE;

    if (!entry_is_present(entry) || (writes && !(leaf.upper_writable && entry_is_writable(entry))))
        return -EFAULT;
    entry = entry_with(entry, writes ? ENTRY_ACCESSED | ENTRY_DIRTY : ENTRY_ACCESSED);
    table_change(&machine->ram, table_of_frame(&machine->ram, leaf.table->pfn), leaf.first, entry);
    struct mmu_install install = {.va = va,
                                  .table = leaf.table,
                                  .slot = leaf.first,
                                  .upper_writable = leaf.upper_writable,
                                  .most_pages = machine->most_pages};

    return machine->mmu->ops->install(space->space, &install);
}

int fake_touch(struct fake_space *space, va_t va, enum access access)
{
    pthread_mutex_lock(&space->machine->lock);
    int error = 0;

    if (space->space == NULL)
        error = space->machine->mmu->ops->bind(space->machine->mmu, &space->tree, &space->space);
    if (error == 0)
        error = resolve(space, va, access);
    pthread_mutex_unlock(&space->machine->lock);
    return error;
}

static enum run_verdict kill_run(struct run *run, va_t va, enum access access, bool wild)
{
    struct fake_run *fake = (struct fake_run *)(void *)run;

    fake->result = (struct fake_result){.killed = true, .wild = wild, .va = va, .access = access};
    return RUN_KILLED;
}

/* An address that the compiler knows nothing of. */
static volatile uintptr_t nowhere = 8;

enum run_verdict run_fault(struct run *run, va_t va, enum access access)
{
    struct fake_run *fake = (struct fake_run *)(void *)run;
    struct fake_machine *machine = fake->space->machine;

    errno = EDOM; /* an errno that the handler must hide */
    if (machine->crash_in_fault)
        *(volatile uint8_t *)nowhere = 0;
    pthread_mutex_lock(&machine->lock);
    machine->faults++;
    int error = resolve(fake->space, va, access);

    pthread_mutex_unlock(&machine->lock);
    return error == 0 ? RUN_RETRY : kill_run(run, va, access, false);
}

enum run_verdict run_wild_access(struct run *run, va_t va, enum access access)
{
    return kill_run(run, va, access, true);
}

void run_escape(struct run *run)
{
    longjmp(run->escape, 1);
}

/* No space of a fake kernel goes beyond its window. */
void forklab_access_slow(struct forklab_user *user, uint64_t va, void *buffer, size_t bytes,
                         bool write)
{
    struct run *run = run_of_user(user);

    (void)buffer;
    (void)bytes;
    kill_run(run, va, write ? ACCESS_WRITE : ACCESS_READ, true);
    run_escape(run);
}

struct fake_space *fake_space_of(struct forklab_user *user)
{
    return ((struct fake_run *)(void *)run_of_user(user))->space;
}

static int begin(struct fake_space *space, struct run *run)
{
    struct mmu *mmu = space->machine->mmu;
    int error = 0;

    pthread_mutex_lock(&space->machine->lock);
    if (space->space == NULL)
        error = mmu->ops->bind(mmu, &space->tree, &space->space);
    if (error == 0)
        error = mmu->ops->enter(space->space, run);
    pthread_mutex_unlock(&space->machine->lock);
    return error;
}

struct fake_result fake_run(struct fake_space *space, fake_code *code, void *argument)
{
    struct fake_run fake = {.space = space};
    int error = begin(space, &fake.run);

    if (error != 0)
        return (struct fake_result){.error = error};
    if (setjmp(fake.run.escape) == 0)
        code(&fake.run.user, argument);
    space->machine->mmu->ops->leave(space->space, &fake.run);
    return fake.result;
}
