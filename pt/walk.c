/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one walker; walk.h says what a visitor may do. */
#include "pt/walk.h"

#include <assert.h>

struct walk {
    struct pt_tree *tree;
    const struct pt_visitor *visitor;
    void *context;
};

/* Where the walk stands: a table, what it hangs from, and the part of the range below it. */
struct place {
    const struct table *table;
    const struct table *parent;
    unsigned parent_slot;
    bool writable;
    va_t start;
    va_t end;
};

static int visit_leaf(const struct walk *walk, const struct place *place)
{
    const struct geometry *geometry = walk->tree->geometry;

    if (walk->visitor->leaf == NULL)
        return 0;
    struct pt_leaf leaf = {.table = place->table,
                           .parent = place->parent,
                           .parent_slot = place->parent_slot,
                           .first = geometry_slot(geometry, place->start, 0),
                           .end = geometry_slot(geometry, place->end - 1, 0) + 1,
                           .upper_writable = place->writable,
                           .va = place->start};

    return walk->visitor->leaf(walk->context, walk->tree, &leaf);
}

static int visit_huge(const struct walk *walk, const struct place *place)
{
    if (walk->visitor->leaf == NULL)
        return 0;
    struct pt_leaf leaf = {.table = place->parent,
                           .first = place->parent_slot,
                           .end = place->parent_slot + 1,
                           .level = 1,
                           .upper_writable = place->writable,
                           .va = place->start};

    return walk->visitor->leaf(walk->context, walk->tree, &leaf);
}

/* The table below an empty slot, if the visitor makes one. */
static const struct table *make_below(const struct walk *walk, const struct table *parent,
                                      unsigned slot)
{
    if (walk->visitor->absent == NULL)
        return NULL;
    struct table *made = walk->visitor->absent(walk->context, walk->tree, parent->level - 1u);

    if (made != NULL)
        tree_hook(walk->tree, parent, slot, made, true);
    return made;
}

static int walk_table(const struct walk *walk, const struct place *place);

static int walk_slot(const struct walk *walk, const struct place *above, unsigned slot, va_t start,
                     va_t end)
{
    const struct ram *ram = walk->tree->ram;
    entry_t entry = table_entry(ram, above->table, slot);
    struct place below = {.parent = above->table,
                          .parent_slot = slot,
                          .writable = above->writable,
                          .start = start,
                          .end = end};

    if (entry_is_none(entry)) {
        below.table = make_below(walk, above->table, slot);
        return below.table == NULL ? 0 : walk_table(walk, &below);
    }
    below.writable = above->writable && entry_is_writable(entry);
    if (entry_is_huge(entry))
        return visit_huge(walk, &below);
    below.table = table_of_frame(ram, entry_pfn(entry));
    return walk_table(walk, &below);
}

static int walk_table(const struct walk *walk, const struct place *place)
{
    const struct geometry *geometry = walk->tree->geometry;
    const struct table *table = place->table;

    if (table->level == 0)
        return visit_leaf(walk, place);
    uint64_t coverage = geometry_entry_coverage_bytes(geometry, table->level);
    va_t base = round_down(place->start, coverage << geometry->slot_bits);
    unsigned first = geometry_slot(geometry, place->start, table->level);
    unsigned last = geometry_slot(geometry, place->end - 1, table->level);

    unsigned end_slot = last + 1;
    bool makes = walk->visitor->absent != NULL;

    for (unsigned slot = first; slot < end_slot; slot++) {
        if (!makes)
            slot = table_next_used(table, slot, end_slot);
        if (slot == end_slot)
            break;
        va_t start = max_u64(place->start, base + slot * coverage);
        va_t end = min_u64(place->end, base + (slot + 1) * coverage);
        int result = walk_slot(walk, place, slot, start, end);

        if (result != 0)
            return result;
    }
    if (walk->visitor->left != NULL)
        walk->visitor->left(walk->context, walk->tree, table, place->parent, place->parent_slot);
    return 0;
}

int pt_walk(struct pt_tree *tree, va_t start, va_t end, const struct pt_visitor *visitor,
            void *context)
{
    struct walk walk = {.tree = tree, .visitor = visitor, .context = context};
    struct place root = {.table = tree->root, .writable = true, .start = start, .end = end};

    return start >= end ? 0 : walk_table(&walk, &root);
}

int pt_walk_const(const struct pt_tree *tree, va_t start, va_t end,
                  const struct pt_visitor *visitor, void *context)
{
    assert(visitor->absent == NULL);
    return pt_walk((struct pt_tree *)tree, start, end, visitor, context);
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
