/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mmap, munmap, mprotect and brk: the calls that change what is mapped where.
 *
 * Each follows the same order: reserve everything, make the tables one's own where the rules of
 * sharing ask for it, revoke what the windows let through, change the tables, change the VMAs.
 * Until the reservations are made nothing that user code can see has changed.
 *
 * Results are 0 or a negative errno, as Linux has them (mmap(2), munmap(2), mprotect(2), brk(2)).
 */
#ifndef FORKLAB_PAGER_MAP_H
#define FORKLAB_PAGER_MAP_H

#include "pager/object.h"
#include "pager/task.h"

#define MAP_REQUEST_SHARED (1u << 0)
#define MAP_REQUEST_FIXED (1u << 1)
#define MAP_REQUEST_NOREPLACE (1u << 2) /* fixed, but only where nothing is mapped */
#define MAP_REQUEST_POPULATE (1u << 3)
#define MAP_REQUEST_GROWSDOWN (1u << 4)
#define MAP_REQUEST_LOCKED (1u << 5) /* and populated */
#define MAP_REQUEST_NORESERVE (1u << 6)
#define MAP_REQUEST_STACK (1u << 7)     /* never of huge pages: keeps it apart from others */
#define MAP_REQUEST_READ_ONLY (1u << 8) /* the descriptor may not write, whatever the object may */

struct map_request {
    va_t address; /* where, or a hint, or 0 */
    uint64_t bytes;
    uint32_t protection;   /* VMA_READ, VMA_WRITE, VMA_EXEC */
    uint32_t flags;        /* MAP_REQUEST_*; private unless shared */
    struct object *object; /* NULL: anonymous; shared anonymous memory gets an object of its own */
    uint64_t offset_bytes;
    int refusal; /* what is wrong with it but for its place, which is judged before, or 0 */
};

int sys_mmap(struct task *task, const struct map_request *request, va_t *address);
int sys_munmap(struct task *task, va_t start, uint64_t bytes);
int sys_mprotect(struct task *task, va_t start, uint64_t bytes, uint32_t protection);

/*
 * Moves the break; returns it, unchanged when the wish cannot be met; 0 of a task that has ended.
 */
va_t sys_brk(struct task *task, va_t heap_end);

/* The same with the lock held. */
int mmap_locked(struct mm *mm, const struct map_request *request, va_t *address);
int munmap_locked(struct mm *mm, va_t start, uint64_t bytes);

/*
 * munmap in two halves, of a range within the address space. Reserving may fail: -ENOMEM. Tables
 * that lose a part of their entries must be one's own; those that lose all are dropped. Committing
 * cannot fail; the caller may commit other changes in between, if they too own their tables.
 */
int unmap_reserve(struct mm *mm, va_t start, va_t end);
void unmap_commit(struct mm *mm, va_t start, va_t end);

/*
 * Before a mapping appears or grows in [start, end): the tables that exist at its ends become this
 * address space's own, so that nobody else's reads are served into them. -ENOMEM.
 */
int map_own_end_tables(struct mm *mm, va_t start, va_t end);

/* Every table that exists in [start, end) becomes this address space's own: -ENOMEM. */
int map_own_tables(struct mm *mm, va_t start, va_t end);

#endif
