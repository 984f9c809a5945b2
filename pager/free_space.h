/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a mapping without an address goes: policies. It decides which neighbour a new mapping
 * meets, and how long that takes.
 *
 *   first fit, up   the lowest range above the base, searched from there (2.4.9, UVM)
 *   cached, up      first fit from the end of the last search, then once more from the base
 *                   (free_area_cache of 2.5 and 2.6)
 *   cached, down    below the last one found, else from the top (2.6.7 to 3.6)
 *   gaps, down      the highest gap below the top, which an index may know (since 3.7)
 *
 * A hint is taken if the range is free there. Where a policy keeps gaps, what lies just below a
 * mapping that grows down is free to nobody (since 4.12).
 */
#ifndef FORKLAB_PAGER_FREE_SPACE_H
#define FORKLAB_PAGER_FREE_SPACE_H

#include "pt/types.h"

struct mm;
struct vma;

/* What is asked for. */
struct free_request {
    uint64_t bytes;
    va_t hint;         /* 0: none. Taken if it is free */
    bool is_anonymous; /* private and anonymous */
};

/* What an address space remembers of earlier searches; each policy's own use of it. */
struct free_memory {
    va_t cache;          /* where the last search ended */
    uint64_t hole_bytes; /* the largest hole that it passed by */
};

struct free_space {
    const char *name;
    bool upwards;
    bool keeps_gaps;
    /* The start of a free range, or 0: there is none. The hint was refused. */
    va_t (*find)(struct mm *mm, const struct free_request *request);
    /* An address space begins. NULL: nothing is remembered. */
    void (*begin)(struct mm *mm);
    /* [start, end) was unmapped. NULL: nothing is remembered. */
    void (*unmapped)(struct mm *mm, va_t start, va_t end);
};

extern const struct free_space free_space_first_fit;
extern const struct free_space free_space_cached_up;
extern const struct free_space free_space_cached_down;
extern const struct free_space free_space_gaps;

/* Where a mapping of that many bytes goes if nobody says where: 0 when there is no free range. */
va_t mm_find_free(struct mm *mm, const struct free_request *request);

/* --- for policies --- */

/* The lowest free range of that many bytes in [from, limit), or 0. */
va_t free_space_lowest(struct mm *mm, va_t from, va_t limit, uint64_t bytes);

/* Up to where the space below a VMA is free for others. */
va_t free_space_below(const struct mm *mm, const struct vma *vma);

#endif
