/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RAM for tests, and a small kernel's worth of operations on it; see ram_fixture.h. */
#include "tests/support/ram_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pt/invariant.h"

static pfn_t *record_of(struct ram_fixture *fixture, const struct table *table, unsigned slot)
{
    return &fixture->recorded[((size_t)table->pfn << fixture->ram.geometry->slot_bits) + slot];
}

/* The frame that a reverse map must know for the slot, PFN_NONE for none. */
static pfn_t counted_frame(const struct ram *ram, const struct table *table, unsigned slot)
{
    entry_t entry = table_entry(ram, table, slot);

    if (!entry_is_present(entry) || entry_pfn(entry) == ram->zero_pfn)
        return PFN_NONE;
    return entry_pfn(entry);
}

static int rmap_reserve(void *context, size_t elements)
{
    struct ram_fixture *fixture = context;

    fixture->credit = max_u64(fixture->credit, elements);
    return 0;
}

static void rmap_add(void *context, const struct table *table, unsigned first, unsigned end)
{
    struct ram_fixture *fixture = context;

    for (unsigned slot = first; slot < end; slot++) {
        pfn_t pfn = counted_frame(&fixture->ram, table, slot);

        if (pfn == PFN_NONE)
            continue;
        if (*record_of(fixture, table, slot) != PFN_NONE)
            fail_msg("reverse map: table %u slot %u added twice", table->pfn, slot);
        if (fixture->credit == 0)
            fail_msg("reverse map: table %u slot %u was not reserved", table->pfn, slot);
        fixture->credit--;
        *record_of(fixture, table, slot) = pfn;
    }
}

static void rmap_remove(void *context, const struct table *table, unsigned first, unsigned end)
{
    struct ram_fixture *fixture = context;

    for (unsigned slot = first; slot < end; slot++) {
        pfn_t pfn = counted_frame(&fixture->ram, table, slot);

        if (*record_of(fixture, table, slot) != pfn)
            fail_msg("reverse map: table %u slot %u maps %u at its removal, %u was added",
                     table->pfn, slot, pfn, *record_of(fixture, table, slot));
        *record_of(fixture, table, slot) = PFN_NONE;
    }
}

static void rmap_move(void *context, const struct table_move *move)
{
    struct ram_fixture *fixture = context;

    rmap_remove(context, move->source, move->from, move->from + move->count);
    for (unsigned offset = 0; offset < move->count; offset++)
        *record_of(fixture, move->destination, move->to + offset) =
            counted_frame(&fixture->ram, move->source, move->from + offset);
}

static const struct rmap_hooks hooks = {
    .reserve = rmap_reserve, .add = rmap_add, .remove = rmap_remove, .move = rmap_move};

static size_t record_count(const struct ram_fixture *fixture)
{
    return (size_t)fixture->ram.frame_count << fixture->ram.geometry->slot_bits;
}

void fixture_init(struct ram_fixture *fixture, const struct geometry *geometry, uint32_t frames)
{
    *fixture = (struct ram_fixture){.memory = calloc(frames, PAGE_BYTES),
                                    .outside = calloc(frames, sizeof(uint32_t))};
    assert_non_null(fixture->memory);
    assert_non_null(fixture->outside);
    assert_int_equal(
        ram_init(&fixture->ram, geometry, fixture->memory, frames * PAGE_BYTES, &fixture->events),
        0);
    fixture->recorded = malloc(record_count(fixture) * sizeof(pfn_t));
    assert_non_null(fixture->recorded);
    memset(fixture->recorded, 0xff, record_count(fixture) * sizeof(pfn_t));
    fixture->ram.rmap = &hooks;
    fixture->ram.rmap_context = fixture;
}

/* How many records the tables should have; each of those is compared. */
static size_t compare_records(struct ram_fixture *fixture)
{
    const struct ram *ram = &fixture->ram;
    size_t mapped = 0;

    for (pfn_t pfn = 0; pfn < ram->frame_count; pfn++) {
        if (ram->frames[pfn].kind != FRAME_TABLE || ram->frames[pfn].table->level != 0)
            continue;
        const struct table *table = ram->frames[pfn].table;

        for (unsigned slot = 0; slot < geometry_slots(ram->geometry); slot++) {
            pfn_t expected = counted_frame(ram, table, slot);

            if (*record_of(fixture, table, slot) != expected)
                fail_msg("reverse map: table %u slot %u maps %u and %u was recorded", pfn, slot,
                         expected, *record_of(fixture, table, slot));
            mapped += expected != PFN_NONE;
        }
    }
    return mapped;
}

void fixture_check(struct ram_fixture *fixture)
{
    char why[256];
    size_t records = 0;

    if (!pt_invariants_hold(&fixture->ram, fixture->outside, why, sizeof(why)))
        fail_msg("%s%s", fixture->note, why);
    size_t mapped = compare_records(fixture);

    for (size_t i = 0; i < record_count(fixture); i++)
        records += fixture->recorded[i] != PFN_NONE;
    assert_int_equal(records, mapped);
}

void fixture_destroy(struct ram_fixture *fixture)
{
    fixture_check(fixture);
    /* All but the zero frame. */
    assert_int_equal(ram_free_frames(&fixture->ram), fixture->ram.frame_count - 1);
    free(fixture->recorded);
    free(fixture->outside);
    ram_destroy(&fixture->ram);
    free(fixture->memory);
}

void fixture_reserve(struct ram_fixture *fixture, struct ram_need need)
{
    assert_int_equal(ram_reserve(&fixture->ram, &need), 0);
}

void fixture_tree(struct ram_fixture *fixture, struct pt_tree *tree)
{
    fixture_reserve(fixture, (struct ram_need){.upper_tables = 1});
    tree_init(tree, &fixture->ram, tree);
}

pfn_t fixture_frame(struct ram_fixture *fixture, enum frame_kind kind, uint8_t value)
{
    fixture_reserve(fixture, (struct ram_need){.frames = 1});
    pfn_t pfn = frame_take(&fixture->ram, kind, PFN_NONE);

    memset(frame_data(&fixture->ram, pfn), value, PAGE_BYTES);
    return pfn;
}

void fixture_hold(struct ram_fixture *fixture, pfn_t pfn)
{
    frame_get(&fixture->ram, pfn);
    fixture->outside[pfn]++;
}

void fixture_release(struct ram_fixture *fixture, pfn_t pfn)
{
    fixture->outside[pfn]--;
    frame_put(&fixture->ram, pfn);
}

void fixture_pin(struct ram_fixture *fixture, pfn_t pfn)
{
    fixture_hold(fixture, pfn);
    fixture->ram.frames[pfn].pins++;
}

void fixture_unpin(struct ram_fixture *fixture, pfn_t pfn)
{
    fixture->ram.frames[pfn].pins--;
    fixture_release(fixture, pfn);
}

struct table *fixture_own_table(struct pt_tree *tree, va_t va)
{
    struct table *table = NULL;

    assert_int_equal(table_for_one(tree, va, NULL, &table), 0);
    return table;
}

void fixture_map(struct ram_fixture *fixture, struct pt_tree *tree, va_t va, entry_t entry)
{
    struct table *table = fixture_own_table(tree, va);
    unsigned slot = geometry_slot(tree->geometry, va, 0);

    fixture_reserve(fixture, (struct ram_need){.mappings = 1});
    if (entry_is_present(entry))
        table_fill(&fixture->ram, table, slot, entry);
    else
        table_put(&fixture->ram, table, slot, entry);
}

pfn_t fixture_fill(struct ram_fixture *fixture, struct pt_tree *tree, va_t va, enum frame_kind kind,
                   uint8_t value, entry_t flags)
{
    pfn_t pfn = fixture_frame(fixture, kind, value);

    fixture_map(fixture, tree, va, entry_make(pfn, flags));
    return pfn;
}

/* What fork reserves for one leaf table. */
static int reserve_for_child(struct pt_tree *parent, const struct pt_leaf *leaf, bool copies)
{
    struct ram_need need = {.upper_tables = tree_upper_need(parent->geometry)};

    if (copies) {
        need.leaf_tables = 1;
        need.frames = table_pinned_frames(parent->ram, leaf->table);
        need.mappings = leaf->table->used;
    }
    return ram_reserve(parent->ram, &need);
}

int fixture_share(struct pt_tree *parent, va_t va, struct pt_tree *child)
{
    struct pt_leaf leaf;

    assert_true(pt_lookup(parent, va, &leaf));
    int error = reserve_for_child(parent, &leaf, false);

    if (error == 0)
        table_share(parent, &leaf, child, &(struct share_cursor){0}, false);
    return error;
}

int fixture_copy(struct pt_tree *parent, va_t va, struct pt_tree *child)
{
    struct pt_leaf leaf;

    assert_true(pt_lookup(parent, va, &leaf));
    int error = reserve_for_child(parent, &leaf, true);

    if (error != 0)
        return error;
    struct table *source = table_for_all(parent->ram, leaf.table);
    struct table *copy = table_for_copy(child, &leaf, &(struct share_cursor){0});

    table_copy(parent->ram, source, copy, 0, geometry_slots(parent->geometry));
    return 0;
}

/* Gives the page a frame of its own: a new one of zeros, or a copy. It was reserved. */
static void replace_frame(struct ram *ram, struct table *table, unsigned slot)
{
    const entry_t flags = ENTRY_WRITE | ENTRY_DIRTY | ENTRY_ACCESSED | ENTRY_EXCLUSIVE;
    pfn_t pfn = frame_take(ram, FRAME_ANON, PFN_NONE);
    entry_t old = table_clear(ram, table, slot);

    if (entry_is_present(old)) {
        frame_copy(ram, pfn, entry_pfn(old));
        frame_put(ram, entry_pfn(old));
    } else {
        frame_clear(ram, pfn);
    }
    table_fill(ram, table, slot, entry_make(pfn, flags));
}

static bool has_no_other_reference(const struct ram *ram, entry_t entry)
{
    const struct frame *frame = &ram->frames[entry_pfn(entry)];

    return frame->kind == FRAME_ANON && frame->count == 1;
}

int fixture_write(struct pt_tree *tree, va_t va, uint8_t value)
{
    struct ram *ram = tree->ram;
    struct ram_need more = {.frames = 1, .mappings = 1};
    unsigned slot = geometry_slot(tree->geometry, va, 0);
    struct table *table;
    int error = table_for_one(tree, va, &more, &table);

    if (error != 0)
        return error;
    entry_t entry = table_entry(ram, table, slot);

    if (entry_is_present(entry) && !entry_is_writable(entry) && has_no_other_reference(ram, entry))
        table_change(ram, table, slot, entry_with(entry, ENTRY_WRITE | ENTRY_DIRTY));
    else if (!entry_is_writable(entry))
        replace_frame(ram, table, slot);
    *frame_data(ram, entry_pfn(table_entry(ram, table, slot))) = value;
    return 0;
}

uint8_t fixture_read(const struct pt_tree *tree, va_t va)
{
    entry_t entry = pt_entry(tree, va);

    return entry_is_present(entry) ? *frame_data(tree->ram, entry_pfn(entry)) : 0;
}

void in_every_geometry(void (*body)(const struct geometry *geometry))
{
    for (size_t i = 0; geometries[i] != NULL; i++) {
        print_message("  %s\n", geometries[i]->name);
        body(geometries[i]);
    }
}
