/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few types that every layer shares.
 *
 *   frame   a page of emulated physical memory, named by its number (pfn)
 *   va      an emulated virtual address: never a host pointer
 *   entry   a page-table entry as it is held in registers, always 64 bits wide
 *
 * Pages are 4 KiB in every geometry.
 */
#ifndef FORKLAB_PT_TYPES_H
#define FORKLAB_PT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t pfn_t;
typedef uint64_t va_t;
typedef uint64_t entry_t;

#define PFN_NONE UINT32_MAX
#define PAGE_SHIFT 12u
#define PAGE_BYTES ((uint64_t)1 << PAGE_SHIFT)
#define PAGE_OFFSET_MASK (PAGE_BYTES - 1)

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Rounding to a unit that is a power of two. */
static inline uint64_t round_down(uint64_t value, uint64_t unit)
{
    return value & ~(unit - 1);
}

/* Wraps to 0 when the result does not fit: callers check their limits first. */
static inline uint64_t round_up(uint64_t value, uint64_t unit)
{
    return round_down(value + unit - 1, unit);
}

static inline va_t page_of(va_t va)
{
    return va & ~PAGE_OFFSET_MASK;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
