/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one walker; walk.h says what a visitor may do. */
#include "pt/walk.h"

#include <assert.h>

struct walk {
    struct pt_tree *tree;
    const struct pt_visitor *visitor;
    void *context;
};

/* Where the walk stands: an upper table, what it hangs from, and the part of the range below it. */
struct place {
    const struct table *table;
    const struct table *parent;
    unsigned parent_slot;
    unsigned level;
    bool writable; /* every entry passed on the way permits writing */
    va_t start;
    va_t end;
};

/* The slots of an upper table that the range meets, and how to get from a slot to its addresses. */
struct slots {
    unsigned slot;
    unsigned end;
    unsigned unseen; /* used slots that the walk has not come by yet: at 0 it may stop */
    uint64_t coverage_bytes;
    va_t base; /* of slot 0 */
};

static struct slots slots_of(const struct walk *walk, const struct place *place)
{
    const struct geometry *geometry = walk->tree->geometry;
    uint64_t coverage_bytes = geometry_entry_coverage_bytes(geometry, place->level);

    return (struct slots){
        .slot = geometry_slot(geometry, place->start, place->level),
        .end = geometry_slot(geometry, place->end - 1, place->level) + 1,
        .unseen = place->table->used,
        .coverage_bytes = coverage_bytes,
        .base = round_down(place->start, coverage_bytes << geometry->slot_bits),
    };
}

/* The entry at a slot, after the visitor had its chance to hang a table there. */
static entry_t make_below(const struct walk *walk, const struct place *place, unsigned slot)
{
    struct table *made = walk->visitor->absent(walk->context, walk->tree, place->level - 1);

    if (made != NULL)
        tree_hook(walk->tree, place->table, slot, made, true);
    return table_entry(walk->tree->ram, place->table, slot);
}

/* Moves on to the next slot that leads somewhere; the entry there, or ENTRY_NONE at the end. */
static ALWAYS_INLINE entry_t next_entry(const struct walk *walk, const struct place *place,
                                        struct slots *slots)
{
    for (; slots->slot < slots->end; slots->slot++) {
        entry_t entry = table_entry(walk->tree->ram, place->table, slots->slot);

        if (!entry_is_none(entry)) {
            slots->unseen--;
            return entry;
        }
        if (walk->visitor->absent == NULL) {
            if (slots->unseen == 0)
                return ENTRY_NONE;
            slots->slot = table_next_used(place->table, slots->slot, slots->end) - 1;
            continue;
        }
        entry = make_below(walk, place, slots->slot);
        if (!entry_is_none(entry))
            return entry;
    }
    return ENTRY_NONE;
}

/* What a second-level table's entry leads to: a leaf table, or the page itself if it is huge. */
static ALWAYS_INLINE void describe_leaf(const struct walk *walk, const struct place *place,
                                        va_t end, entry_t entry, struct pt_leaf *leaf)
{
    const struct geometry *geometry = walk->tree->geometry;

    leaf->upper_writable = place->writable && entry_is_writable(entry);
    if (entry_is_huge(entry)) {
        leaf->table = place->table;
        leaf->parent = NULL;
        leaf->first = leaf->parent_slot;
        leaf->end = leaf->parent_slot + 1;
        leaf->level = 1;
        return;
    }
    leaf->table = table_of_frame(walk->tree->ram, entry_pfn(entry));
    leaf->parent = place->table;
    leaf->first = geometry_slot(geometry, leaf->va, 0);
    leaf->end = geometry_slot(geometry, end - 1, 0) + 1;
    leaf->level = 0;
}

static int visit_leaves(const struct walk *walk, const struct place *place)
{
    struct slots slots = slots_of(walk, place);
    struct pt_leaf leaf;
    entry_t entry;

    for (; !entry_is_none(entry = next_entry(walk, place, &slots)); slots.slot++) {
        va_t base = slots.base + slots.slot * slots.coverage_bytes;

        if (walk->visitor->leaf == NULL)
            continue;
        leaf.va = max_u64(place->start, base);
        leaf.parent_slot = slots.slot;
        describe_leaf(walk, place, min_u64(place->end, base + slots.coverage_bytes), entry, &leaf);
        int result = walk->visitor->leaf(walk->context, walk->tree, &leaf);

        if (result != 0)
            return result;
    }
    return 0;
}

/* The visitor goes over the slots itself. */
static int visit_all_leaves(const struct walk *walk, const struct place *place)
{
    struct slots slots = slots_of(walk, place);
    struct pt_leaves leaves = {.parent = place->table,
                               .first = slots.slot,
                               .end = slots.end,
                               .upper_writable = place->writable,
                               .base = slots.base,
                               .start = place->start,
                               .past = place->end};

    return walk->visitor->leaves(walk->context, walk->tree, &leaves);
}

static int visit_below(const struct walk *walk, const struct place *place)
{
    return walk->visitor->leaves != NULL ? visit_all_leaves(walk, place)
                                         : visit_leaves(walk, place);
}

static int walk_table(const struct walk *walk, const struct place *place);

static int visit_tables(const struct walk *walk, const struct place *place)
{
    struct slots slots = slots_of(walk, place);
    entry_t entry;

    for (; !entry_is_none(entry = next_entry(walk, place, &slots)); slots.slot++) {
        va_t base = slots.base + slots.slot * slots.coverage_bytes;
        struct place below = {.table = table_of_frame(walk->tree->ram, entry_pfn(entry)),
                              .parent = place->table,
                              .parent_slot = slots.slot,
                              .level = place->level - 1,
                              .writable = place->writable && entry_is_writable(entry),
                              .start = max_u64(place->start, base),
                              .end = min_u64(place->end, base + slots.coverage_bytes)};
        int result = walk_table(walk, &below);

        if (result != 0)
            return result;
    }
    return 0;
}

static int walk_table(const struct walk *walk, const struct place *place)
{
    int result = place->level == 1 ? visit_below(walk, place) : visit_tables(walk, place);

    if (result == 0 && walk->visitor->left != NULL)
        walk->visitor->left(walk->context, walk->tree, place->table, place->parent,
                            place->parent_slot);
    return result;
}

/*
 * The same walk for a visitor that only wants a leaf, and a range within one span: straight down,
 * which is what every lookup is.
 */
static int walk_span(const struct walk *walk, va_t start, va_t end)
{
    const struct ram *ram = walk->tree->ram;
    const struct geometry *geometry = walk->tree->geometry;
    struct place place = {.table = walk->tree->root, .writable = true, .start = start, .end = end};
    unsigned level = geometry->levels - 1;
    entry_t entry = table_entry(ram, place.table, geometry_slot(geometry, start, level));

    for (; level > 1 && !entry_is_none(entry); level--) {
        place.writable = place.writable && entry_is_writable(entry);
        place.table = table_of_frame(ram, entry_pfn(entry));
        entry = table_entry(ram, place.table, geometry_slot(geometry, start, level - 1));
    }
    if (entry_is_none(entry))
        return 0;
    struct pt_leaf leaf = {.va = start, .parent_slot = geometry_slot(geometry, start, 1)};

    describe_leaf(walk, &place, end, entry, &leaf);
    return walk->visitor->leaf(walk->context, walk->tree, &leaf);
}

static bool is_within_span(const struct walk *walk, va_t start, va_t end)
{
    const struct geometry *geometry = walk->tree->geometry;

    return walk->visitor->absent == NULL && walk->visitor->left == NULL &&
           walk->visitor->leaves == NULL &&
           geometry_span_start(geometry, start) == geometry_span_start(geometry, end - 1);
}

static int walk_root(const struct walk *walk, va_t start, va_t end)
{
    if (start >= end)
        return 0;
    if (is_within_span(walk, start, end))
        return walk_span(walk, start, end);
    struct place root = {.table = walk->tree->root,
                         .level = walk->tree->geometry->levels - 1,
                         .writable = true,
                         .start = start,
                         .end = end};

    return walk_table(walk, &root);
}

int pt_walk(struct pt_tree *tree, va_t start, va_t end, const struct pt_visitor *visitor,
            void *context)
{
    struct walk walk = {.tree = tree, .visitor = visitor, .context = context};

    return walk_root(&walk, start, end);
}

int pt_walk_const(const struct pt_tree *tree, va_t start, va_t end,
                  const struct pt_visitor *visitor, void *context)
{
    assert(visitor->absent == NULL);
    return pt_walk((struct pt_tree *)tree, start, end, visitor, context);
}

void pt_leaf_at(const struct pt_tree *tree, const struct pt_leaves *leaves, unsigned slot,
                struct pt_leaf *leaf)
{
    const struct walk walk = {.tree = (struct pt_tree *)(uintptr_t)tree};
    const struct place place = {.table = leaves->parent, .writable = leaves->upper_writable};
    uint64_t coverage_bytes = geometry_span_bytes(tree->geometry);
    va_t base = leaves->base + slot * coverage_bytes;

    leaf->va = max_u64(leaves->start, base);
    leaf->parent_slot = slot;
    describe_leaf(&walk, &place, min_u64(leaves->past, base + coverage_bytes),
                  table_entry(tree->ram, leaves->parent, slot), leaf);
}

static int note_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct pt_leaf *found = context;

    (void)tree;
    *found = *leaf;
    return 1;
}

bool pt_lookup(const struct pt_tree *tree, va_t va, struct pt_leaf *leaf)
{
    static const struct pt_visitor visitor = {.leaf = note_leaf};
    va_t page = page_of(va);

    return va < tree->geometry->user_end &&
           pt_walk_const(tree, page, page + PAGE_BYTES, &visitor, leaf) != 0;
}

entry_t pt_entry(const struct pt_tree *tree, va_t va)
{
    struct pt_leaf leaf;

    return pt_lookup(tree, va, &leaf) ? table_entry(tree->ram, leaf.table, leaf.first) : ENTRY_NONE;
}
