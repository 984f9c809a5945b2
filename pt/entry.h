/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page-table entries: the one place that knows their bits.
 *
 * In registers an entry is 64 bits in x86-64's layout; a geometry says how it is stored. All flags
 * lie in the low 12 bits, so that i386's 32-bit entries hold the same ones above a 20-bit pfn.
 *
 *   present      bit 0 present, 1 write, 2 user, 5 accessed, 6 dirty, 7 huge (second level only),
 *                9 anon-exclusive, 10 lazy-free; the pfn from bit 12
 *   not present  bit 0 clear and one of: nothing (all zero); 9 swap, type in bits 1-5, offset from
 *                bit 12; 10 guard
 *
 * An entry that is present but not the user's keeps its frame while the mapping permits nothing
 * (PROT_NONE): the hardware lets no access through.
 *
 * Bits 9 to 11 are those that the hardware leaves to the kernel, so they may mean one thing in a
 * present entry and another in one that is not. The list of accessors below is complete and is
 * tested as a list.
 */
#ifndef FORKLAB_PT_ENTRY_H
#define FORKLAB_PT_ENTRY_H

#include "pt/types.h"

#define ENTRY_PRESENT ((entry_t)1 << 0)
#define ENTRY_WRITE ((entry_t)1 << 1)
#define ENTRY_USER ((entry_t)1 << 2)
#define ENTRY_ACCESSED ((entry_t)1 << 5)
#define ENTRY_DIRTY ((entry_t)1 << 6)
#define ENTRY_HUGE ((entry_t)1 << 7)
#define ENTRY_EXCLUSIVE ((entry_t)1 << 9)
#define ENTRY_LAZY_FREE ((entry_t)1 << 10)
#define ENTRY_SWAP ((entry_t)1 << 9)
#define ENTRY_GUARD ((entry_t)1 << 10)

#define ENTRY_PFN_SHIFT 12u
#define ENTRY_FLAGS_MASK (((entry_t)1 << ENTRY_PFN_SHIFT) - 1)
#define ENTRY_SWAP_TYPE_SHIFT 1u
#define ENTRY_SWAP_TYPE_MASK ((entry_t)31)

#define ENTRY_NONE ((entry_t)0)

/* A present user entry for the frame, with the further flags given. */
static inline entry_t entry_make(pfn_t pfn, entry_t flags)
{
    return ((entry_t)pfn << ENTRY_PFN_SHIFT) | ENTRY_PRESENT | ENTRY_USER | flags;
}

static inline entry_t entry_make_swap(unsigned type, uint32_t offset)
{
    return ((entry_t)offset << ENTRY_PFN_SHIFT) | ENTRY_SWAP |
           (((entry_t)type & ENTRY_SWAP_TYPE_MASK) << ENTRY_SWAP_TYPE_SHIFT);
}

static inline entry_t entry_make_guard(void)
{
    return ENTRY_GUARD;
}

static inline bool entry_is_none(entry_t entry)
{
    return entry == ENTRY_NONE;
}

static inline bool entry_is_present(entry_t entry)
{
    return (entry & ENTRY_PRESENT) != 0;
}

static inline bool entry_is_swap(entry_t entry)
{
    return !entry_is_present(entry) && (entry & ENTRY_SWAP) != 0;
}

static inline bool entry_is_guard(entry_t entry)
{
    return !entry_is_present(entry) && (entry & ENTRY_GUARD) != 0;
}

static inline bool entry_is_huge(entry_t entry)
{
    return entry_is_present(entry) && (entry & ENTRY_HUGE) != 0;
}

/* Present and open to user code: the hardware permits reading. */
static inline bool entry_is_readable(entry_t entry)
{
    return (entry & (ENTRY_PRESENT | ENTRY_USER)) == (ENTRY_PRESENT | ENTRY_USER);
}

static inline bool entry_is_writable(entry_t entry)
{
    return entry_is_present(entry) && (entry & ENTRY_WRITE) != 0;
}

static inline bool entry_is_accessed(entry_t entry)
{
    return entry_is_present(entry) && (entry & ENTRY_ACCESSED) != 0;
}

static inline bool entry_is_dirty(entry_t entry)
{
    return entry_is_present(entry) && (entry & ENTRY_DIRTY) != 0;
}

static inline bool entry_is_exclusive(entry_t entry)
{
    return entry_is_present(entry) && (entry & ENTRY_EXCLUSIVE) != 0;
}

static inline bool entry_is_lazy_free(entry_t entry)
{
    return entry_is_present(entry) && (entry & ENTRY_LAZY_FREE) != 0;
}

/* The frame of a present entry. */
static inline pfn_t entry_pfn(entry_t entry)
{
    return (pfn_t)(entry >> ENTRY_PFN_SHIFT);
}

static inline unsigned entry_swap_type(entry_t entry)
{
    return (unsigned)((entry >> ENTRY_SWAP_TYPE_SHIFT) & ENTRY_SWAP_TYPE_MASK);
}

static inline uint32_t entry_swap_offset(entry_t entry)
{
    return (uint32_t)(entry >> ENTRY_PFN_SHIFT);
}

static inline entry_t entry_with(entry_t entry, entry_t flags)
{
    return entry | flags;
}

static inline entry_t entry_without(entry_t entry, entry_t flags)
{
    return entry & ~flags;
}

#endif
