/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host MMU: mmu.h's contract on windows of real addresses.
 *
 * A space is a window, bound from its tree's first entry to user mode on. Binding costs no host
 * call; neither does giving a window back, but for the runs that are let through. A machine at its
 * most windows, or a process without a free slot, takes the window that was installed in longest
 * ago among those where nobody is in user mode.
 */
#include "pager/host_mmu.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pager/host_arena.h"
#include "pager/host_budget.h"
#include "pager/host_fault.h"
#include "pager/host_map.h"
#include "pager/host_ram.h"
#include "pager/host_window.h"

enum { LEAST_BUDGET = 32 };

static uint64_t host_space_bytes(const struct mmu *mmu)
{
    return min_u64(host_arena_slot_bytes() - PAGE_BYTES, mmu->ram->geometry->user_end);
}

static void list_push(struct host_mmu *mmu, struct host_window *window)
{
    window->newer = NULL;
    window->older = mmu->newest;
    if (mmu->newest != NULL)
        mmu->newest->newer = window;
    else
        mmu->oldest = window;
    mmu->newest = window;
    mmu->bound_windows++;
}

static void list_remove(struct host_mmu *mmu, struct host_window *window)
{
    if (window->newer != NULL)
        window->newer->older = window->older;
    else
        mmu->newest = window->older;
    if (window->older != NULL)
        window->older->newer = window->newer;
    else
        mmu->oldest = window->newer;
    mmu->bound_windows--;
}

/* Nothing is let through any more, and the address space has no window. */
static void unbind(struct host_window *window)
{
    host_window_revoke(window, 0, window->limit_bytes);
    list_remove(window->mmu, window);
    *window->place = NULL;
    window->place = NULL;
}

static struct host_window *steal(struct host_mmu *mmu)
{
    struct host_window *window = mmu->oldest;

    while (window != NULL && atomic_load_explicit(&window->runners, memory_order_acquire) != 0)
        window = window->newer;
    if (window != NULL)
        unbind(window);
    return window;
}

/* A slot for one more space, from whereever there is one. */
static struct host_window *find_slot(struct host_mmu *mmu, bool *stolen)
{
    struct host_window *window = NULL;

    *stolen = false;
    if (mmu->bound_windows < mmu->most_windows)
        window = host_arena_take(mmu);
    if (window == NULL) {
        window = steal(mmu);
        *stolen = window != NULL;
    }
    return window;
}

static int host_bind(struct mmu *base, struct pt_tree *tree, struct mmu_space **place)
{
    struct host_mmu *mmu = host_mmu_of(base);
    bool stolen;
    struct host_window *window = find_slot(mmu, &stolen);

    (void)tree;
    assert(*place == NULL);
    if (window == NULL) {
        (void)snprintf(base->problem, sizeof(base->problem),
                       "every window is in use: %u of this machine, all in user mode",
                       mmu->bound_windows);
        return -ENOSPC;
    }
    /* What was stolen holds the handler in place already. */
    int error = stolen ? 0 : host_fault_hold(base);

    if (error != 0) {
        host_arena_give(mmu, window);
        return error;
    }
    window->mmu = mmu;
    window->place = place;
    window->limit_bytes = host_space_bytes(base);
    atomic_store_explicit(&window->runners, 0, memory_order_relaxed);
    list_push(mmu, window);
    *place = (struct mmu_space *)(void *)window;
    event_count(base->ram->events, EVENT_WINDOW_TAKEN, 1);
    return 0;
}

static void host_release(struct mmu_space *space)
{
    struct host_window *window = host_window_of(space);
    struct host_mmu *mmu = window->mmu;

    unbind(window);
    host_arena_give(mmu, window);
    host_fault_drop();
}

static int host_install(struct mmu_space *space, const struct mmu_install *install)
{
    return host_window_install(host_window_of(space), install);
}

static void host_revoke(struct mmu_space *space, va_t start, va_t end)
{
    host_window_revoke(host_window_of(space), start, end);
}

static void host_write_protect(struct mmu_space *space, va_t start, va_t end)
{
    host_window_write_protect(host_window_of(space), start, end);
}

static pfn_t host_frame_hint(const struct mmu_space *space, va_t va)
{
    return host_window_frame_hint((const struct host_window *)(const void *)space, va);
}

static void host_visit(const struct mmu_space *space, mmu_visit *visit, void *context)
{
    host_window_visit((const struct host_window *)(const void *)space, visit, context);
}

static int host_enter(struct mmu_space *space, struct run *run)
{
    return host_fault_enter(host_window_of(space), run);
}

static void host_leave(struct mmu_space *space, struct run *run)
{
    host_fault_leave(host_window_of(space), run);
}

static void host_destroy(struct mmu *base)
{
    struct host_mmu *mmu = host_mmu_of(base);

    assert(mmu->bound_windows == 0);
    host_arena_part(mmu);
    free(mmu);
}

static const struct mmu_ops host_ops = {
    .name = "host",
    .destroy = host_destroy,
    .space_bytes = host_space_bytes,
    .bind = host_bind,
    .release = host_release,
    .install = host_install,
    .revoke = host_revoke,
    .write_protect = host_write_protect,
    .frame_hint = host_frame_hint,
    .enter = host_enter,
    .leave = host_leave,
    .visit = host_visit,
};

/* Why the host MMU cannot work here at all, or NULL. */
static const char *unsupported(void)
{
#if !defined(__x86_64__)
    return "the host MMU needs an x86-64 processor; use the soft MMU";
#else
    if (sysconf(_SC_PAGESIZE) != (long)PAGE_BYTES)
        return "the host MMU needs pages of 4 KiB; use the soft MMU";
    return NULL;
#endif
}

static uint32_t choose(uint32_t option, uint32_t usual)
{
    return option != 0 ? option : usual;
}

int mmu_host_create(struct mmu **mmu, struct ram *ram, const struct host_ram *host_ram,
                    const struct mmu_host_options *options, char *problem, size_t problem_bytes)
{
    const char *reason = unsupported();

    if (reason != NULL) {
        (void)snprintf(problem, problem_bytes, "%s", reason);
        return -ENOTSUP;
    }
    int error = host_arena_reserve();

    if (error != 0) {
        (void)snprintf(problem, problem_bytes, "%s",
                       error == -EPERM
                           ? "a process forked by one with a host MMU can have none itself"
                           : "the host grants no range of addresses for windows (ulimit -v?)");
        return error;
    }
    struct host_mmu *made = calloc(1, sizeof(*made));

    if (made == NULL) {
        (void)snprintf(problem, problem_bytes, "out of memory");
        return -ENOMEM;
    }
    uint32_t budget = choose(options != NULL ? options->mapping_budget : 0, host_budget_default());

    made->mmu = (struct mmu){.ops = &host_ops, .ram = ram};
    made->ram_fd = host_ram_fd(host_ram);
    made->mapping_budget = (uint32_t)max_u64(budget, LEAST_BUDGET);
    made->most_windows = choose(options != NULL ? options->most_windows : 0, UINT32_MAX);
    host_arena_join(made);
    *mmu = &made->mmu;
    return 0;
}
