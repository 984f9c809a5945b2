/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A geometry: how many levels a tree of page tables has, how many entries a table, how wide an
 * entry is in memory, and how far user addresses reach.
 *
 *   x86-64   4 levels of 512, 8 bytes; a leaf table spans 2 MiB; 47 bits of user addresses
 *   i386     2 levels of 1,024, 4 bytes, 20-bit pfn; a leaf table spans 4 MiB; 3 GiB
 *   tiny     3 levels of 4, 8 bytes; a leaf table spans 16 KiB; 256 KiB: for lessons and
 *            exhaustive tests
 *
 * Levels are counted from the bottom: level 0 is a leaf table, the root is level `levels - 1`.
 * Every table is one frame.
 */
#ifndef FORKLAB_PT_GEOMETRY_H
#define FORKLAB_PT_GEOMETRY_H

#include "pt/types.h"

enum { GEOMETRY_MOST_SLOTS = 1024 };

struct geometry {
    const char *name;
    unsigned levels;
    unsigned slot_bits; /* log2 of the entries in a table */
    unsigned entry_bytes;
    unsigned pfn_bits; /* widest frame number an entry holds */
    va_t user_end;     /* first address that is not the user's */
};

extern const struct geometry geometry_x86_64;
extern const struct geometry geometry_i386;
extern const struct geometry geometry_tiny;

/* All geometries, ended by NULL. */
extern const struct geometry *const geometries[];

/* The geometry of that name, or NULL. */
const struct geometry *geometry_find(const char *name);

static inline unsigned geometry_slots(const struct geometry *geometry)
{
    return 1u << geometry->slot_bits;
}

static inline unsigned geometry_shift(const struct geometry *geometry, unsigned level)
{
    return PAGE_SHIFT + level * geometry->slot_bits;
}

/* Bytes that one entry of a table at this level covers. */
static inline uint64_t geometry_entry_coverage_bytes(const struct geometry *geometry,
                                                     unsigned level)
{
    return (uint64_t)1 << geometry_shift(geometry, level);
}

/* Bytes that a leaf table covers. */
static inline uint64_t geometry_span_bytes(const struct geometry *geometry)
{
    return geometry_entry_coverage_bytes(geometry, 1);
}

/* The slot for `va` in a table at this level. */
static inline unsigned geometry_slot(const struct geometry *geometry, va_t va, unsigned level)
{
    return (unsigned)(va >> geometry_shift(geometry, level)) & (geometry_slots(geometry) - 1);
}

static inline va_t geometry_span_start(const struct geometry *geometry, va_t va)
{
    return va & ~(geometry_span_bytes(geometry) - 1);
}

#endif
