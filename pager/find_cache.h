/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * find_vma caches: policies that answer a lookup from what was found before, without the index.
 *
 *   none        every lookup goes to the index (Linux since 6.1)
 *   last        the mapping found last, if it holds the address (Linux's mmap_cache, until 3.15)
 *   neighbours  that one, else the one before or after it (the patch to 2.6.28 of January 2009)
 *   slots       four mappings for each task, by page (Linux's vmacache, 3.15 to 6.0)
 *
 * A lookup counts as one of EVENT_VMA_LOOKUP and, answered here, as a hit by kind. What is
 * remembered is forgotten when any mapping leaves the address space, as the kernels do it; a
 * mapping that changes its ends is asked for them anew.
 */
#ifndef FORKLAB_PAGER_FIND_CACHE_H
#define FORKLAB_PAGER_FIND_CACHE_H

#include "pt/types.h"

struct mm;
struct vma;

enum { FIND_SLOTS = 4 };

/* What an address space remembers. */
struct find_memory {
    struct vma *last;  /* found last, or NULL */
    uint64_t sequence; /* of the machine's: another one after each mapping that left */
};

/* What a task remembers: valid while the sequence is that of its address space. */
struct find_slots {
    uint64_t sequence;
    struct vma *vmas[FIND_SLOTS];
};

struct find_cache {
    const char *name;
    /* Is the answer known? It may be NULL: nothing ends above `va`. */
    bool (*ask)(struct mm *mm, va_t va, struct vma **found);
    /* The index has answered a lookup of `va` with this mapping. */
    void (*note)(struct mm *mm, va_t va, struct vma *found);
};

extern const struct find_cache find_cache_none;
extern const struct find_cache find_cache_last;
extern const struct find_cache find_cache_neighbours;
extern const struct find_cache find_cache_slots;

/* An address space begins, or a mapping leaves it. */
void find_cache_forget(struct mm *mm);

#endif
