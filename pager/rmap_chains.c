/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pte chains: each frame heads a list with one element for each entry that maps it, as Linux had it
 * from 2.5.27 to 2.6.6 (Rik van Riel's reverse map).
 *
 * An element names its entry by table frame and slot. Elements live in one array that grows when an
 * operation reserves; they are named by index + 1, so that 0 ends a chain and a frame's record
 * starts out with an empty one. New elements go to the head: a child that exits soon finds its own
 * at once. The names of unused elements lie in a stack, so that taking one does not wait for
 * another.
 *
 * A frame in a shared table has one element for the table, not one for each address space.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "pager/rmap_chains.h"
#include "pt/random.h"

enum { GROW_ELEMENTS = 4096 };

struct chain_element {
    uint32_t next;
    pfn_t table;
    uint32_t slot;
};

struct chains {
    struct ram *ram;
    uint32_t kinds; /* of the frames that have chains, a bit each */
    struct chain_element *elements;
    uint32_t *free; /* a stack of names */
    uint32_t capacity;
    uint32_t free_count;
};

static bool has_chain(const struct chains *chains, const struct frame *frame)
{
    return (chains->kinds >> frame->kind & 1) != 0;
}

static int chains_grow(struct chains *chains, size_t elements)
{
    size_t least = chains->capacity + (elements - chains->free_count);
    size_t capacity =
        round_up(max_u64(least, chains->capacity + chains->capacity / 2), GROW_ELEMENTS);

    if (capacity >= UINT32_MAX)
        return -ENOMEM;
    struct chain_element *grown = realloc(chains->elements, capacity * sizeof(*grown));

    if (grown == NULL)
        return -ENOMEM;
    chains->elements = grown;
    uint32_t *free_names = realloc(chains->free, capacity * sizeof(*free_names));

    if (free_names == NULL)
        return -ENOMEM;
    chains->free = free_names;
    for (uint32_t name = (uint32_t)capacity; name > chains->capacity; name--)
        chains->free[chains->free_count++] = name;
    chains->capacity = (uint32_t)capacity;
    return 0;
}

static int chains_reserve(void *context, size_t elements)
{
    struct chains *chains = context;

    if (elements <= chains->free_count)
        return 0;
    if (gate_refuses(&chains->ram->gate))
        return -ENOMEM;
    return chains_grow(chains, elements);
}

static ALWAYS_INLINE uint32_t add_entries(struct chains *chains, const struct table *table,
                                          unsigned first, unsigned end, unsigned entry_bytes)
{
    const uint8_t *entries = frame_data(chains->ram, table->pfn);
    struct frame *frames = chains->ram->frames;
    struct chain_element *elements = chains->elements;
    const uint32_t *names = chains->free;
    uint32_t kinds = chains->kinds;
    size_t left = chains->free_count;
    uint32_t added = 0;

    for (unsigned slot = first; slot < end; slot++) {
        entry_t entry = stored_entry_get(entries, slot, entry_bytes);
        struct frame *frame = &frames[entry_pfn(entry)];

        if (!entry_is_present(entry) || (kinds >> frame->kind & 1) == 0)
            continue;
        uint32_t name = names[--left];

        elements[name - 1] =
            (struct chain_element){.next = frame->rmap, .table = table->pfn, .slot = slot};
        frame->rmap = name;
        added++;
    }
    return added;
}

static void chains_add(void *context, const struct table *table, unsigned first, unsigned end)
{
    struct chains *chains = context;
    uint32_t added;

    if (chains->ram->geometry->entry_bytes == sizeof(uint32_t))
        added = add_entries(chains, table, first, end, sizeof(uint32_t));
    else
        added = add_entries(chains, table, first, end, sizeof(uint64_t));
    assert(added <= chains->free_count);
    chains->free_count -= added;
    event_count(chains->ram->events, EVENT_RMAP_ADDED, added);
}

/* What leads to the element of that entry: the frame's record or the element before it. */
static uint32_t *link_to(const struct chains *chains, struct frame *frame, pfn_t table,
                         uint32_t slot)
{
    uint32_t *link = &frame->rmap;

    for (;;) {
        assert(*link != 0);
        struct chain_element *element = &chains->elements[*link - 1];

        if (element->table == table && element->slot == slot)
            return link;
        link = &element->next;
    }
}

static void remove_one(struct chains *chains, struct frame *frame, pfn_t table, uint32_t slot)
{
    uint32_t *link = link_to(chains, frame, table, slot);
    uint32_t name = *link;

    *link = chains->elements[name - 1].next;
    chains->free[chains->free_count++] = name;
}

static void chains_remove(void *context, const struct table *table, unsigned first, unsigned end)
{
    struct chains *chains = context;
    struct ram *ram = chains->ram;
    uint32_t before = chains->free_count;

    for (unsigned slot = first; slot < end; slot++) {
        entry_t entry = table_entry(ram, table, slot);

        if (!entry_is_present(entry))
            continue;
        struct frame *frame = &ram->frames[entry_pfn(entry)];

        if (has_chain(chains, frame))
            remove_one(chains, frame, table->pfn, slot);
    }
    event_count(ram->events, EVENT_RMAP_REMOVED, chains->free_count - before);
}

/* Elements stay where they are in their chains, and name the new place. */
static void chains_move(void *context, const struct table_move *move)
{
    struct chains *chains = context;
    struct ram *ram = chains->ram;

    for (unsigned offset = 0; offset < move->count; offset++) {
        entry_t entry = table_entry(ram, move->source, move->from + offset);

        if (!entry_is_present(entry) || !has_chain(chains, &ram->frames[entry_pfn(entry)]))
            continue;
        uint32_t name = *link_to(chains, &ram->frames[entry_pfn(entry)], move->source->pfn,
                                 move->from + offset);

        chains->elements[name - 1].table = move->destination->pfn;
        chains->elements[name - 1].slot = move->to + offset;
    }
}

int rmap_chains_create_for(void **context, struct ram *ram, uint32_t kinds)
{
    struct chains *chains = calloc(1, sizeof(*chains));

    if (chains == NULL)
        return -ENOMEM;
    chains->ram = ram;
    chains->kinds = kinds;
    *context = chains;
    return 0;
}

bool rmap_chains_has(const void *context, pfn_t pfn)
{
    const struct chains *chains = context;

    return has_chain(chains, &chains->ram->frames[pfn]);
}

static int chains_create(void **context, struct ram *ram)
{
    return rmap_chains_create_for(context, ram, RMAP_KIND(ANON) | RMAP_KIND(SHM) | RMAP_KIND(FILE));
}

static void chains_destroy(void *context)
{
    struct chains *chains = context;

    free(chains->elements);
    free(chains->free);
    free(chains);
}

static void chains_visit(const void *context, pfn_t pfn, rmap_visit *visit, void *visit_context)
{
    const struct chains *chains = context;
    uint32_t name = chains->ram->frames[pfn].rmap;

    while (name != 0) {
        const struct chain_element *element = &chains->elements[name - 1];

        visit(visit_context, table_of_frame(chains->ram, element->table), element->slot);
        name = element->next;
    }
}

static int chains_age(void *context, size_t elements, uint64_t seed)
{
    struct chains *chains = context;
    int error = elements > chains->free_count ? chains_grow(chains, elements) : 0;

    if (error != 0)
        return error;
    random_shuffle(chains->free, chains->free_count, seed);
    return 0;
}

static const struct rmap_hooks chain_hooks = {
    .reserve = chains_reserve,
    .add = chains_add,
    .remove = chains_remove,
    .move = chains_move,
};

const struct rmap_scheme rmap_chains = {
    .name = "chains",
    .hooks = &chain_hooks,
    .create = chains_create,
    .destroy = chains_destroy,
    .visit = chains_visit,
    .age = chains_age,
};
