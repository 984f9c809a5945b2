/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two loops over many entries: copying a table, at fork and at a split, and releasing one.
 *
 * They are what a copied fork and its exit spend their time in, so each is compiled twice, with the
 * width of an entry as a constant, and the reverse map is told of whole ranges.
 */
#include <assert.h>

#include "pt/table.h"

/* What is known of a copy while it is made; counts are kept here and booked at the end of a run of
 * frames of one kind. */
struct copying {
    struct ram *ram;
    struct table *destination;
    uint8_t *from;
    uint8_t *to;
    unsigned kind;
    unsigned run;
};

static void book_run(struct copying *copying, unsigned next_kind)
{
    struct table *table = copying->destination;

    table->present[copying->kind] = (uint16_t)(table->present[copying->kind] + copying->run);
    table->used = (uint16_t)(table->used + copying->run);
    copying->kind = next_kind;
    copying->run = 0;
}

/* A pinned page stays the pinner's alone: the copy gets a frame of its own, and may write it. */
static entry_t copy_pinned(struct ram *ram, entry_t entry)
{
    pfn_t pfn = frame_take(ram, FRAME_ANON, PFN_NONE);

    frame_copy(ram, pfn, entry_pfn(entry));
    ram->frames[pfn].count++;
    /* The flags as they are: entry_make() would open a page that no right reaches. */
    return ((entry_t)pfn << ENTRY_PFN_SHIFT) |
           entry_without(entry & ENTRY_FLAGS_MASK, ENTRY_ACCESSED);
}

/* Frames of objects, the zero frame, pinned frames: what the copy gets. */
static entry_t copy_other(const struct copying *copying, struct frame *frame, entry_t entry)
{
    if (frame->kind == FRAME_ANON)
        return copy_pinned(copying->ram, entry);
    frame->count += frame->kind != FRAME_ZERO;
    return entry_without(entry, ENTRY_ACCESSED | ENTRY_DIRTY);
}

/* Swap and guard entries go over as they are. */
static ALWAYS_INLINE void copy_special(const struct copying *copying, unsigned slot, entry_t entry,
                                       unsigned entry_bytes)
{
    stored_entry_put(copying->to, slot, entry_bytes, entry);
    copying->destination->special++;
    copying->destination->used++;
    if (entry_is_swap(entry))
        copying->destination->swapped++;
}

static ALWAYS_INLINE void copy_present(struct copying *copying, unsigned slot, entry_t entry,
                                       unsigned entry_bytes)
{
    struct frame *frame = &copying->ram->frames[entry_pfn(entry)];

    if (frame->kind != copying->kind)
        book_run(copying, frame->kind);
    copying->run++;
    if (frame->kind != FRAME_ANON || frame->pins > 0) {
        stored_entry_put(copying->to, slot, entry_bytes, copy_other(copying, frame, entry));
        return;
    }
    entry_t kept = entry_without(entry, ENTRY_WRITE | ENTRY_EXCLUSIVE);

    if (kept != entry)
        stored_entry_put(copying->from, slot, entry_bytes, kept);
    stored_entry_put(copying->to, slot, entry_bytes, entry_without(kept, ENTRY_ACCESSED));
    frame->count++;
}

static ALWAYS_INLINE void copy_entries(struct copying copying, unsigned first, unsigned end,
                                       unsigned entry_bytes)
{
    for (unsigned slot = first; slot < end; slot++) {
        entry_t entry = stored_entry_get(copying.from, slot, entry_bytes);

        if (entry_is_present(entry))
            copy_present(&copying, slot, entry, entry_bytes);
        else if (!entry_is_none(entry))
            copy_special(&copying, slot, entry, entry_bytes);
    }
    book_run(&copying, FRAME_ANON);
}

static void widen_used(struct table *table, unsigned first, unsigned end)
{
    if (table->high == 0) {
        table->low = (uint16_t)first;
        table->high = (uint16_t)end;
        return;
    }
    table->low = (uint16_t)min_u64(table->low, first);
    table->high = (uint16_t)max_u64(table->high, end);
}

void table_copy(struct ram *ram, struct table *source, struct table *destination, unsigned first,
                unsigned end)
{
    unsigned from = (unsigned)max_u64(first, source->low);
    unsigned to = (unsigned)min_u64(end, source->high);

    if (from >= to)
        return;
    unsigned before = destination->used;

    struct copying copying = {.ram = ram,
                              .destination = destination,
                              .from = frame_data(ram, source->pfn),
                              .to = frame_data(ram, destination->pfn),
                              .kind = FRAME_ANON};

    if (ram->geometry->entry_bytes == sizeof(uint32_t))
        copy_entries(copying, from, to, sizeof(uint32_t));
    else
        copy_entries(copying, from, to, sizeof(uint64_t));
    widen_used(destination, from, to);
    if (ram->rmap != NULL)
        ram->rmap->add(ram->rmap_context, destination, from, to);
    event_count(ram->events, EVENT_ENTRY_COPIED, destination->used - before);
}

unsigned table_pinned_frames(const struct ram *ram, const struct table *table)
{
    unsigned pinned = 0;

    for (unsigned slot = table->low; slot < table->high; slot++) {
        entry_t entry = table_entry(ram, table, slot);

        if (!entry_is_present(entry))
            continue;
        const struct frame *frame = &ram->frames[entry_pfn(entry)];

        pinned += frame->pins > 0 && frame->kind == FRAME_ANON;
    }
    return pinned;
}

static ALWAYS_INLINE void release_entries(struct ram *ram, struct table *table, unsigned first,
                                          unsigned end, unsigned entry_bytes)
{
    uint8_t *entries = frame_data(ram, table->pfn);

    for (unsigned slot = first; slot < end; slot++) {
        entry_t entry = stored_entry_get(entries, slot, entry_bytes);

        if (entry_is_none(entry))
            continue;
        stored_entry_put(entries, slot, entry_bytes, ENTRY_NONE);
        table->used--;
        if (!entry_is_present(entry)) {
            table->special--;
            if (entry_is_swap(entry))
                table->swapped--;
            continue;
        }
        struct frame *frame = &ram->frames[entry_pfn(entry)];

        table->present[frame->kind]--;
        if (frame->kind != FRAME_ANON && entry_is_dirty(entry))
            frame->flags |= FRAME_DIRTY;
        frame_put(ram, entry_pfn(entry));
    }
}

/* After [first, end) became empty, [low, high) may shrink from either side. */
static void narrow_used(struct table *table, unsigned first, unsigned end)
{
    if (table->used == 0)
        table->low = table->high = 0;
    else if (first == table->low)
        table->low = (uint16_t)end;
    else if (end == table->high)
        table->high = (uint16_t)first;
}

void table_release(struct ram *ram, struct table *table, unsigned first, unsigned end)
{
    unsigned from = (unsigned)max_u64(first, table->low);
    unsigned to = (unsigned)min_u64(end, table->high);

    if (from >= to)
        return;
    unsigned before = table->used;

    if (ram->rmap != NULL)
        ram->rmap->remove(ram->rmap_context, table, from, to);
    if (ram->geometry->entry_bytes == sizeof(uint32_t))
        release_entries(ram, table, from, to, sizeof(uint32_t));
    else
        release_entries(ram, table, from, to, sizeof(uint64_t));
    narrow_used(table, from, to);
    event_count(ram->events, EVENT_ENTRY_RELEASED, before - table->used);
}
