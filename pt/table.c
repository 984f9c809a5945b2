/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables: headers, pools, and the changes of single entries. The loops over whole tables are in
 * table_copy.c.
 */
#include "pt/table.h"

#include <assert.h>

void table_headers_init(struct ram *ram)
{
    size_t links_bytes = geometry_slots(ram->geometry) * sizeof(struct table_link);

    pool_init(&ram->headers, &ram->headers_gate, sizeof(struct table));
    pool_init(&ram->upper_parts, &ram->headers_gate, sizeof(struct table_upper) + links_bytes);
}

void table_headers_destroy(struct ram *ram)
{
    pool_destroy(&ram->headers);
    pool_destroy(&ram->upper_parts);
}

struct table *table_header_new(struct ram *ram, bool upper)
{
    if (pool_reserve(&ram->headers, 1) != 0)
        return NULL;
    if (upper && pool_reserve(&ram->upper_parts, 1) != 0)
        return NULL;
    struct table *table = pool_take(&ram->headers);

    if (upper)
        table->upper = pool_take(&ram->upper_parts);
    return table;
}

void table_header_free(struct ram *ram, struct table *table)
{
    if (table == NULL)
        return;
    if (table->upper != NULL)
        pool_give(&ram->upper_parts, table->upper);
    pool_give(&ram->headers, table);
}

struct table *table_take(struct ram *ram, unsigned level)
{
    pfn_t pfn = frame_list_pop(ram, level == 0 ? &ram->leaf_pool : &ram->upper_pool);
    struct table *table = table_of_frame(ram, pfn);

    ram->frames[pfn].kind = FRAME_TABLE;
    *table = (struct table){.pfn = pfn,
                            .first_parent = PFN_NONE,
                            .last_parent = PFN_NONE,
                            .level = (uint8_t)level,
                            .high = level > 0 ? (uint16_t)geometry_slots(ram->geometry) : 0,
                            .upper = table->upper};
    event_count(ram->events, EVENT_TABLE_TAKEN, 1);
    return table;
}

void table_give(struct ram *ram, struct table *table)
{
    assert(table->used == 0 && table->share_count == 0);
    ram->frames[table->pfn].kind = FRAME_POOL;
    frame_list_push(ram, table->upper == NULL ? &ram->leaf_pool : &ram->upper_pool, table->pfn);
    event_count(ram->events, EVENT_TABLE_FREED, 1);
}

static void store_entry(struct ram *ram, struct table *table, unsigned slot, entry_t entry)
{
    stored_entry_put(frame_data(ram, table->pfn), slot, ram->geometry->entry_bytes, entry);
}

/* Puts an entry into an empty slot of a leaf table. */
static void use_slot(struct ram *ram, struct table *table, unsigned slot, entry_t entry)
{
    store_entry(ram, table, slot, entry);
    if (table->used++ == 0)
        table->low = (uint16_t)slot;
    table->low = (uint16_t)min_u64(table->low, slot);
    table->high = (uint16_t)max_u64(table->high, slot + 1);
}

/* Keeps [low, high) tight at its ends, which is enough for tables that empty from one side, and
 * exact where nothing is left. */
static void empty_slot(struct ram *ram, struct table *table, unsigned slot)
{
    store_entry(ram, table, slot, ENTRY_NONE);
    if (--table->used == 0)
        table->low = table->high = 0;
    else if (slot + 1u == table->high)
        table->high--;
    else if (slot == table->low)
        table->low++;
}

unsigned table_next_used(const struct table *table, unsigned slot, unsigned end)
{
    while (slot < end) {
        uint64_t ahead = table->upper->used[slot / 64] >> slot % 64;

        if (ahead != 0)
            return (unsigned)min_u64(slot + (unsigned)__builtin_ctzll(ahead), end);
        slot = (slot / 64 + 1) * 64;
    }
    return end;
}

void table_store_upper(struct ram *ram, struct table *table, unsigned slot, entry_t entry)
{
    uint64_t bit = (uint64_t)1 << slot % 64;
    uint64_t *word = &table->upper->used[slot / 64];
    bool was_used = (*word & bit) != 0;
    bool is_used = !entry_is_none(entry);

    assert(table->level > 0);
    store_entry(ram, table, slot, entry);
    if (was_used == is_used)
        return;
    *word ^= bit;
    table->used = (uint16_t)(is_used ? table->used + 1 : table->used - 1);
    table->present[FRAME_TABLE] = table->used;
}

void table_fill(struct ram *ram, struct table *table, unsigned slot, entry_t entry)
{
    pfn_t pfn = entry_pfn(entry);

    assert(entry_is_present(entry) && entry_is_none(table_entry(ram, table, slot)));
    frame_get(ram, pfn);
    table->present[ram->frames[pfn].kind]++;
    use_slot(ram, table, slot, entry);
    if (ram->rmap != NULL)
        ram->rmap->add(ram->rmap_context, table, slot, slot + 1);
}

void table_put(struct ram *ram, struct table *table, unsigned slot, entry_t entry)
{
    assert(!entry_is_present(entry) && entry_is_none(table_entry(ram, table, slot)));
    assert(!entry_is_none(entry));
    table->special++;
    if (entry_is_swap(entry))
        table->swapped++;
    use_slot(ram, table, slot, entry);
}

void table_change(struct ram *ram, struct table *table, unsigned slot, entry_t entry)
{
    assert(entry_is_present(entry));
    assert(entry_pfn(entry) == entry_pfn(table_entry(ram, table, slot)));
    store_entry(ram, table, slot, entry);
}

entry_t table_clear(struct ram *ram, struct table *table, unsigned slot)
{
    entry_t entry = table_entry(ram, table, slot);

    if (entry_is_none(entry))
        return entry;
    if (entry_is_present(entry)) {
        struct frame *frame = &ram->frames[entry_pfn(entry)];

        if (ram->rmap != NULL)
            ram->rmap->remove(ram->rmap_context, table, slot, slot + 1);
        if (entry_is_dirty(entry) && frame->kind != FRAME_ANON)
            frame->flags |= FRAME_DIRTY;
        table->present[frame->kind]--;
    } else {
        table->special--;
        if (entry_is_swap(entry))
            table->swapped--;
    }
    empty_slot(ram, table, slot);
    return entry;
}

static void move_entry(struct ram *ram, const struct table_move *move, unsigned offset)
{
    struct table *source = move->source;
    struct table *destination = move->destination;
    entry_t entry = table_entry(ram, source, move->from + offset);

    if (entry_is_none(entry))
        return;
    empty_slot(ram, source, move->from + offset);
    use_slot(ram, destination, move->to + offset, entry);
    event_count(ram->events, EVENT_ENTRY_MOVED, 1);
    if (!entry_is_present(entry)) {
        source->special--;
        destination->special++;
        source->swapped = (uint16_t)(source->swapped - entry_is_swap(entry));
        destination->swapped = (uint16_t)(destination->swapped + entry_is_swap(entry));
        return;
    }
    const struct frame *frame = &ram->frames[entry_pfn(entry)];

    source->present[frame->kind]--;
    destination->present[frame->kind]++;
    if (frame->pins > 0 && frame->kind == FRAME_ANON)
        destination->may_hold_pin = true;
}

void table_move(struct ram *ram, const struct table_move *move)
{
    if (ram->rmap != NULL)
        ram->rmap->move(ram->rmap_context, move);
    for (unsigned offset = 0; offset < move->count; offset++)
        move_entry(ram, move, offset);
}
