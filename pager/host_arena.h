/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The arena: the host addresses of all windows of the process, reserved once and cut into slots.
 *
 * A free slot either is clean or still has frames of the machine that had it last, its home. Slots
 * are handed out last in, first out: first one that the machine had before, then a clean one, then
 * one of another machine, which is flushed. So what lies in a slot always belongs to one machine.
 */
#ifndef FORKLAB_PAGER_HOST_ARENA_H
#define FORKLAB_PAGER_HOST_ARENA_H

#include "pager/host_window.h"

/*
 * Reserves the arena unless it is there. -ENOMEM: the host grants nothing of use; -EPERM: this
 * process was forked by one that has an arena, and can have none.
 */
int host_arena_reserve(void);

/* Where the arena lies, once it is reserved. */
uintptr_t host_arena_start(void);
uint64_t host_arena_bytes(void);
uint64_t host_arena_slot_bytes(void);

static inline bool host_arena_holds(uintptr_t address)
{
    return address - host_arena_start() < host_arena_bytes();
}

/* A machine begins, and ends: then all that its free slots hold is flushed. */
void host_arena_join(struct host_mmu *mmu);
void host_arena_part(struct host_mmu *mmu);

/* A slot for this machine, or NULL when all are in use. */
struct host_window *host_arena_take(struct host_mmu *mmu);

/* Gives it back; nothing is let through there any more. */
void host_arena_give(struct host_mmu *mmu, struct host_window *window);

/* Flushes the free slot that has been free for longest, this machine's first; false: none. */
bool host_arena_flush_one(struct host_mmu *mmu);

#endif
