/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What user code of an emulated task sees: accessors for emulated memory.
 *
 * User code is a C function `fn(struct forklab_user *, void *)`. What it keeps in emulated memory
 * are emulated addresses, never host pointers. On the host MMU an access is one compare, one add
 * and a real load or store, the instruction that faults; on the soft MMU, and beyond the limit, it
 * goes through forklab_access_slow().
 *
 * An access may kill the task: then the function never comes back from it. So user code holds no
 * lock, malloc'd memory or stdio over an access. A *system call* of the host on window memory gets
 * EFAULT, not a fault: use forklab_read() and forklab_write() to bring bytes in and out.
 */
#ifndef FORKLAB_PAGER_USER_H
#define FORKLAB_PAGER_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct forklab_user {
    uintptr_t base; /* host address of emulated address 0 */
    uint64_t limit; /* accesses that begin at or beyond it take the slow path */
};

/*
 * Copies `bytes` between `buffer` and emulated memory at `va`, page by page, faulting as a load or
 * a store would. Kills the task if it may not.
 */
void forklab_access_slow(struct forklab_user *user, uint64_t va, void *buffer, size_t bytes,
                         bool write);

/*
 * Every accessor's check: is the whole access within the window? The window ends in a guard page.
 */
static inline bool forklab_is_direct(const struct forklab_user *user, uint64_t va)
{
    return va < user->limit;
}

#define FORKLAB_ACCESSORS(bits)                                                                    \
    static inline uint##bits##_t forklab_load##bits(struct forklab_user *user, uint64_t va)        \
    {                                                                                              \
        if (forklab_is_direct(user, va)) {                                                         \
            typedef uint##bits##_t __attribute__((aligned(1), may_alias)) unaligned;               \
            return *(const volatile unaligned *)(user->base + va);                                 \
        }                                                                                          \
        uint##bits##_t value;                                                                      \
        forklab_access_slow(user, va, &value, sizeof(value), false);                               \
        return value;                                                                              \
    }                                                                                              \
    static inline void forklab_store##bits(struct forklab_user *user, uint64_t va,                 \
                                           uint##bits##_t value)                                   \
    {                                                                                              \
        if (forklab_is_direct(user, va)) {                                                         \
            typedef uint##bits##_t __attribute__((aligned(1), may_alias)) unaligned;               \
            *(volatile unaligned *)(user->base + va) = value;                                      \
            return;                                                                                \
        }                                                                                          \
        forklab_access_slow(user, va, &value, sizeof(value), true);                                \
    }

FORKLAB_ACCESSORS(8)
FORKLAB_ACCESSORS(16)
FORKLAB_ACCESSORS(32)
FORKLAB_ACCESSORS(64)
#undef FORKLAB_ACCESSORS

/* Copies emulated memory to a buffer of the host program, with the faults of plain loads. */
static inline void forklab_read(struct forklab_user *user, void *buffer, uint64_t va, size_t bytes)
{
    if (forklab_is_direct(user, va) && bytes <= user->limit - va)
        memcpy(buffer, (const void *)(user->base + va), bytes);
    else
        forklab_access_slow(user, va, buffer, bytes, false);
}

/* Copies a buffer of the host program to emulated memory, with the faults of plain stores. */
static inline void forklab_write(struct forklab_user *user, uint64_t va, const void *buffer,
                                 size_t bytes)
{
    if (forklab_is_direct(user, va) && bytes <= user->limit - va)
        memcpy((void *)(user->base + va), buffer, bytes);
    else
        forklab_access_slow(user, va, (void *)(uintptr_t)buffer, bytes, true);
}

/*
 * A view: a host pointer to emulated memory at `va`, valid until this task's next call into the
 * kernel. Returns how many of the `bytes` can be reached through it: all of them in a window, at
 * most up to the end of the page on the soft MMU, which faults the page in for `write` or reading.
 */
size_t forklab_view(struct forklab_user *user, uint64_t va, size_t bytes, bool write, void **view);

#endif
