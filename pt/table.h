/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables: the header that stands behind each frame of entries, and the primitives that change
 * entries and keep the books.
 *
 * Terms
 *   share count   upper entries that point at this table; 1 for a table that is nobody else's.
 *                 Sharing is told by this count alone
 *   attachment    one of those entries. A shared table stays at one address, so all of them stand
 *                 in the same slot of different parents: an attachment is named by its parent, and
 *                 the list of them runs through arrays that the parents carry (`upper`), so that
 *                 attaching and detaching allocate nothing and search nothing
 *   present[k]    present entries by kind of frame (an upper table's are of kind FRAME_TABLE); what
 *                 an address space has resident is the sum over its tables, computed when asked
 *
 * Invariants
 *   every entry that is not empty lies in [low, high), which of an upper table is all of it; a
 *   table in a pool is all zeros
 *   a frame in `present` is counted once by each table that maps it
 *
 * Whoever holds a `const struct table *` only looks. A pointer that may be changed through comes
 * from one of the two doors in share.h, or from table_take() for a table that is in no tree yet.
 */
#ifndef FORKLAB_PT_TABLE_H
#define FORKLAB_PT_TABLE_H

#include "pt/entry.h"
#include "pt/frame.h"
#include "pt/geometry.h"

/* Neighbours in the list of a child's attachments; PFN_NONE at the ends. */
struct table_link {
    pfn_t next_parent;
    pfn_t previous_parent;
};

/*
 * What an upper table has beside its entries: which slots are in use, so that a walk passes over
 * empty ones at once, and the children's lists of attachments, by slot.
 */
struct table_upper {
    uint64_t used[GEOMETRY_MOST_SLOTS / 64];
    struct table_link links[];
};

struct table {
    pfn_t pfn;
    uint32_t share_count;
    pfn_t first_parent; /* oldest attachment */
    pfn_t last_parent;
    uint16_t slot; /* in each of the parents */
    uint16_t low;  /* entries outside [low, high) are empty */
    uint16_t high;
    uint16_t used; /* entries that are not empty, the zero frame's included */
    uint8_t level;
    bool may_hold_pin; /* sticky: a private frame mapped here was pinned */
    uint16_t special;  /* entries neither empty nor present: swap, guard */
    uint16_t swapped;  /* of those, swap */
    uint16_t present[FRAME_KINDS];
    struct table_upper *upper; /* NULL in a leaf table */
    void *owner;               /* the root's: the tree it belongs to */
};

/*
 * Headers live as long as their frame stays a table's, in pools of the RAM's own: close together,
 * since every fault passes some of them. NULL when memory ends, or to free nothing.
 */
struct table *table_header_new(struct ram *ram, bool upper);
void table_header_free(struct ram *ram, struct table *table);

/* Sets up the pools of headers, and ends them with all headers. */
void table_headers_init(struct ram *ram);
void table_headers_destroy(struct ram *ram);

/* An empty table for this level, in no tree yet. It was reserved. */
struct table *table_take(struct ram *ram, unsigned level);

/* Gives an empty table back to its pool. */
void table_give(struct ram *ram, struct table *table);

static inline struct table *table_of_frame(const struct ram *ram, pfn_t pfn)
{
    return ram->frames[pfn].table;
}

/* Reads and writes of entries as stored, by width: for loops that want the width constant. */
static ALWAYS_INLINE entry_t stored_entry_get(const void *base, unsigned slot, unsigned entry_bytes)
{
    if (entry_bytes == sizeof(uint32_t))
        return ((const uint32_t *)base)[slot];
    return ((const uint64_t *)base)[slot];
}

static ALWAYS_INLINE void stored_entry_put(void *base, unsigned slot, unsigned entry_bytes,
                                           entry_t entry)
{
    if (entry_bytes == sizeof(uint32_t))
        ((uint32_t *)base)[slot] = (uint32_t)entry;
    else
        ((uint64_t *)base)[slot] = entry;
}

static inline entry_t table_entry(const struct ram *ram, const struct table *table, unsigned slot)
{
    return stored_entry_get(frame_data(ram, table->pfn), slot, ram->geometry->entry_bytes);
}

static inline bool table_is_shared(const struct table *table)
{
    return table->share_count > 1;
}

/*
 * The four changes of a leaf entry.
 *   fill      an empty slot gets a present entry: reference, reverse map, counts
 *   put       an empty slot gets an entry that is not present (swap, guard)
 *   change    other flags, same frame
 *   clear     the slot becomes empty; an object's frame is marked dirty if the entry was. The
 *             reference passes to the caller, who revokes what is let through before frame_put()
 */
void table_fill(struct ram *ram, struct table *table, unsigned slot, entry_t entry);
void table_put(struct ram *ram, struct table *table, unsigned slot, entry_t entry);
void table_change(struct ram *ram, struct table *table, unsigned slot, entry_t entry);
entry_t table_clear(struct ram *ram, struct table *table, unsigned slot);

/* The first used slot of an upper table in [slot, end); `end` if there is none. */
unsigned table_next_used(const struct table *table, unsigned slot, unsigned end);

/* Stores an entry of an upper table; references are the caller's business. */
void table_store_upper(struct ram *ram, struct table *table, unsigned slot, entry_t entry);

/* Clears [first, end) and gives up every reference held there, by the entries alone. */
void table_release(struct ram *ram, struct table *table, unsigned first, unsigned end);

/*
 * Copies the entries of [first, end) that are not empty into the empty slots of `destination`:
 * references, reverse map and counts with them. Entries of anonymous frames become read-only and
 * not exclusive in *both* tables, whoever else holds the source: this is what makes the later take-
 * back by a last sharer safe. The copies are not accessed, and those of objects not dirty. Pinned
 * anonymous frames are copied at once into frames of the destination's own (count them first with
 * table_pinned_frames()). Everything was reserved.
 */
void table_copy(struct ram *ram, struct table *source, struct table *destination, unsigned first,
                unsigned end);

/*
 * Moves the entries of `count` slots from `from` on into as many empty slots of `destination` from
 * `to` on: all their bits, references and the reverse map go along; nothing is allocated. The
 * tables may be one and the same if the slots differ. What was let through at the old place is the
 * caller's to revoke.
 */
struct table_move {
    struct table *source;
    unsigned from;
    struct table *destination;
    unsigned to;
    unsigned count;
};

void table_move(struct ram *ram, const struct table_move *move);

/* Anonymous frames in the table that are pinned. */
unsigned table_pinned_frames(const struct ram *ram, const struct table *table);

#endif
