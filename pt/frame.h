/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Physical memory: frames, their kinds and counts, and the allocator.
 *
 * pt/ is given the address of a direct map of all RAM and its size, and nothing else; where that
 * memory comes from is the host layer's business.
 *
 *   count    references to a frame: entries that map it (each table once, however many address
 *            spaces share the table), the object or swap cache that holds it, and pins. The zero
 *            frame is not counted.
 *   pins     how many of those are pins
 *
 * Two stocks. Data frames are handed out oldest first from a free list, so that a frame just freed
 * stays free for as long as possible; a hint is honoured from anywhere in the list, which is what
 * lets a recycled window find its frames again and what makes runs of frames in address order.
 * Table frames come from the other end of RAM, in batches, and return to pools of their own, since
 * they come back zeroed (and would break the runs of a region).
 *
 * RAM is sparse: frames from `watermark` to `table_floor` were never touched and cost the host
 * nothing. Recycled frames are warm and are preferred to them.
 *
 * Reserve, then take: ram_reserve() can fail, frame_take() and table_take() cannot.
 *
 * Nothing here takes a lock; the machine's lock is held. All is safe in a signal handler but
 * ram_reserve(), which may call malloc: user code holds no lock of malloc when it faults.
 */
#ifndef FORKLAB_PT_FRAME_H
#define FORKLAB_PT_FRAME_H

#include "pt/event.h"
#include "pt/geometry.h"
#include "pt/pool.h"
#include "pt/types.h"

struct table;
struct table_move;

enum frame_kind {
    FRAME_FREE,
    FRAME_POOL, /* free, zeroed, kept for tables */
    FRAME_TABLE,
    FRAME_ZERO, /* the one frame of zeros */
    FRAME_ANON,
    FRAME_SHM,
    FRAME_FILE,
    FRAME_KINDS
};

#define FRAME_DIRTY 1u /* an object's frame was written through some table */

struct frame {
    uint32_t count;
    uint32_t pins;
    pfn_t next; /* free list, and the pools of tables (next alone) */
    pfn_t previous;
    uint8_t kind;
    uint8_t flags;
    uint16_t unused;
    uint32_t rmap;       /* the reverse-map scheme's own */
    struct table *table; /* of a table frame */
};

/*
 * What a reverse-map scheme hangs into the tables. A range is handed over at once, so that a copied
 * table costs one call. `add` finds the entries already in place; `remove` is called while they
 * still are, and so is `move`, which needs nothing reserved. Present entries of the zero frame are
 * not part of any reverse map.
 */
struct rmap_hooks {
    /* After 0 the next `elements` additions cannot fail; -ENOMEM. */
    int (*reserve)(void *context, size_t elements);
    void (*add)(void *context, const struct table *table, unsigned first, unsigned end);
    void (*remove)(void *context, const struct table *table, unsigned first, unsigned end);
    void (*move)(void *context, const struct table_move *move);
    /* A frame has become that page of an object. NULL: that is nothing to the scheme. */
    void (*own)(void *context, pfn_t pfn, const void *object, uint64_t page);
};

struct frame_list {
    pfn_t head;
    pfn_t tail;
    uint32_t count;
};

struct ram {
    uint8_t *base;
    struct frame *frames;
    pfn_t frame_count;
    const struct geometry *geometry;
    pfn_t watermark;   /* frames below it have been in use */
    pfn_t table_floor; /* frames from it on were given to the table pools */
    pfn_t zero_pfn;
    struct frame_list free;
    struct frame_list leaf_pool;  /* zeroed table frames whose header suits a leaf */
    struct frame_list upper_pool; /* and an upper table */
    struct allocation_gate gate;
    struct allocation_gate headers_gate; /* counts apart: headers are no requests of their own */
    struct pool headers;
    struct pool upper_parts;
    struct event_log *events;
    const struct rmap_hooks *rmap; /* NULL: no reverse map */
    void *rmap_context;
    uint64_t refusals; /* requests for frames that could not be met */
    bool aged;         /* ram_age() was called: neighbours are no longer to be had in order */
};

/* What an operation may need before it is done. */
struct ram_need {
    uint32_t frames;
    uint32_t leaf_tables;
    uint32_t upper_tables;
    size_t mappings; /* entries that will be made present: the reverse map's elements */
};

/*
 * Sets up RAM over `bytes` (a multiple of the page size, at least 8 pages) at `base`, which reads
 * as zeros and stays the caller's. Errors: -ENOMEM; -EINVAL when the geometry's entries cannot name
 * so many frames.
 */
int ram_init(struct ram *ram, const struct geometry *geometry, void *base, uint64_t bytes,
             struct event_log *events);

/* Frees the records of all frames and tables; the memory at `base` is left alone. */
void ram_destroy(struct ram *ram);

/*
 * Was the frame ever in use? An entry that names another is wrong. And the next such frame: data
 * lie below the watermark, and where pools gave frames back above the table floor, too.
 */
static inline bool frame_is_touched(const struct ram *ram, pfn_t pfn)
{
    return pfn < ram->watermark || (pfn >= ram->table_floor && pfn < ram->frame_count);
}

static inline pfn_t frame_touched_after(const struct ram *ram, pfn_t pfn)
{
    return pfn + 1 == ram->watermark ? ram->table_floor : pfn + 1;
}

/* Makes sure of everything in `need` at once: 0, or -ENOMEM with nothing changed that shows. */
int ram_reserve(struct ram *ram, const struct ram_need *need);

/*
 * Takes a frame of this kind, count 0, contents whatever they were. It was reserved. The hint
 * (PFN_NONE: none) is followed when that frame is free.
 */
pfn_t frame_take(struct ram *ram, enum frame_kind kind, pfn_t hint);

/* Gives back a frame that was taken and never referenced, or whose count has become 0. */
void frame_free(struct ram *ram, pfn_t pfn);

/* Shuffles `frames` free frames, as on a machine that has been up for long. */
int ram_age(struct ram *ram, uint32_t frames, uint64_t seed);

/* Frames not in use: free, pooled or never touched. */
uint32_t ram_free_frames(const struct ram *ram);

static inline uint8_t *frame_data(const struct ram *ram, pfn_t pfn)
{
    return ram->base + ((uint64_t)pfn << PAGE_SHIFT);
}

/* One more reference. The zero frame is never counted. */
static inline void frame_get(struct ram *ram, pfn_t pfn)
{
    if (pfn != ram->zero_pfn)
        ram->frames[pfn].count++;
}

/* One reference less; the last one frees the frame. */
static inline void frame_put(struct ram *ram, pfn_t pfn)
{
    if (pfn != ram->zero_pfn && --ram->frames[pfn].count == 0)
        frame_free(ram, pfn);
}

/* Fills a frame with zeros, or with the contents of another. */
void frame_clear(struct ram *ram, pfn_t pfn);
void frame_copy(struct ram *ram, pfn_t destination, pfn_t source);

/* Lists of frames, for the allocator and the pools of tables. */
void frame_list_push(struct ram *ram, struct frame_list *list, pfn_t pfn);
void frame_list_append(struct ram *ram, struct frame_list *list, pfn_t pfn);
pfn_t frame_list_pop(struct ram *ram, struct frame_list *list);

#endif
