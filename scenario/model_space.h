/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An address space of the model: what is mapped where, and what was written privately.
 *
 *   range    pages in a row that were mapped by one call and have the same rights since. Ranges are
 *            cut where a call's bounds fall and never joined again: where two alike lie side by
 *            side, a kernel may have one VMA or two, and the model does not know
 *   own      the pages that this space has to itself: written privately, or guards. All others show
 *            what the range maps: a page of an object, or zeros
 */
#ifndef FORKLAB_SCENARIO_MODEL_SPACE_H
#define FORKLAB_SCENARIO_MODEL_SPACE_H

#include "scenario/model.h"
#include "scenario/model_memory.h"

#define RANGE_READ (1u << 0)
#define RANGE_WRITE (1u << 1)
#define RANGE_EXEC (1u << 2)
#define RANGE_PROTECTION (RANGE_READ | RANGE_WRITE | RANGE_EXEC)
#define RANGE_SHARED (1u << 3)
#define RANGE_MAY_WRITE (1u << 4)
#define RANGE_GROWS_DOWN (1u << 5)
#define RANGE_DONT_FORK (1u << 6)
#define RANGE_WIPE_ON_FORK (1u << 7)
#define RANGE_LOCKED (1u << 8)
/* Advice, which means nothing here but that a VMA ends where it changes. */
#define RANGE_SEQUENTIAL (1u << 9)
#define RANGE_RANDOM (1u << 10)
#define RANGE_DONT_DUMP (1u << 11)

struct model_range {
    va_t start;
    va_t end;
    uint32_t flags;
    struct model_object *object; /* NULL: private anonymous */
    uint64_t object_page;        /* of the object, at `start` */
};

struct model_space {
    uint32_t references; /* tasks: two after vfork */
    const struct model_layout *layout;
    size_t count;
    size_t capacity;
    struct model_range *ranges; /* ordered, disjoint */
    struct model_pages own;
    bool has_program;    /* exec mapped one, and where its heap is the model does not know */
    va_t heap_end;       /* the break, as given */
    va_t cache;          /* of kernels that remember it: where the last search for space ended */
    uint64_t hole_bytes; /* downwards: the largest hole that it passed by */
    bool hole_is_known;  /* or is it a matter of which ranges are one VMA? */
};

/* An empty space, and a copy as fork makes it; NULL when memory ends. */
struct model_space *space_new(const struct model_layout *layout);
struct model_space *space_fork(const struct model_space *from);
void space_release(struct model_space *space);

/* The position of the first range that ends above `va`; the range that holds it, or NULL. */
size_t space_position(const struct model_space *space, va_t va);
struct model_range *space_find(const struct model_space *space, va_t va);

/* Is something mapped in [start, end)? Is all of it? */
bool space_any_in(const struct model_space *space, va_t start, va_t end);
bool space_all_in(const struct model_space *space, va_t start, va_t end);

/* Maps where nothing is; the object gets one more reference. */
int space_map(struct model_space *space, const struct model_range *range);

/* Unmaps what is in [start, end). */
int space_unmap(struct model_space *space, va_t start, va_t end);

/* Cuts ranges so that one begins at `va`, if it is mapped. */
int space_cut(struct model_space *space, va_t va);

/* The range as its clipping to [start, end). */
struct model_range range_clipped(const struct model_range *range, va_t start, va_t end);

/* Could a kernel have one VMA for both? */
bool ranges_may_be_one(const struct model_range *lower, const struct model_range *upper);

/* A space begins; something in it up to `end` was unmapped (model_place.c). */
void space_begin_placement(struct model_space *space);
void space_note_unmapped(struct model_space *space, va_t end);

/* Where a mapping of that many bytes goes (model_place.c): 0 when it fits nowhere. A hint is an
 * address, rounded down to a page; 0: none. Only private anonymous memory is aligned to huge
 * pages. */
struct model_wish {
    va_t hint;
    uint64_t bytes;
    bool anonymous;
};
#define MODEL_PLACE_UNKNOWN UINT64_MAX /* that depends on which ranges are one VMA */
va_t space_place(struct model_space *space, const struct model_wish *wish);

/* The address below which nothing may be mapped because of the range. */
va_t range_start_with_gap(const struct model_space *space, const struct model_range *range);

/* --- accesses (model_access.c) --- */

enum reach { REACH_FINE, REACH_NOTHING, REACH_FORBIDDEN, REACH_PAST_END, REACH_NO_MEMORY };

/*
 * Can the page be reached by a load or store? What grows downwards grows to it, with `may_grow`.
 */
enum reach space_reach(struct model_space *space, va_t va, bool write, bool may_grow);

/*
 * Would an access of [start, end) make a range grow, or not, by how far its VMA reaches upwards?
 * That is a page at least and all its like neighbours at most; the model does not know.
 */
bool space_growth_is_unclear(const struct model_space *space, va_t start, va_t end);

/* The bytes of a page that can be reached; and to write them, NULL when memory ends. */
const uint8_t *space_bytes(const struct model_space *space, va_t va);
struct model_block *space_block(struct model_space *space, va_t va);

/*
 * Brings pages in, up to the first that cannot be had; of a private mapping that may be written by
 * a write, so that from then on it is blind to what becomes of the file.
 */
enum reach space_populate(struct model_space *space, va_t start, va_t end);

#endif
