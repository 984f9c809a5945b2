/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sharing, splitting, taking back, dropping; share.h has the rules. */
#include "pt/share.h"

#include <assert.h>
#include <errno.h>

static struct table *make_table(void *context, struct pt_tree *tree, unsigned level)
{
    (void)context;
    return table_take(tree->ram, level);
}

static int note_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct pt_leaf *found = context;

    (void)tree;
    *found = *leaf;
    return 1;
}

/* The leaf for a page, with all tables above it made where they are missing. Reserved. */
static struct pt_leaf leaf_made(struct pt_tree *tree, va_t va)
{
    static const struct pt_visitor visitor = {.leaf = note_leaf, .absent = make_table};
    struct pt_leaf leaf = {0};
    va_t page = page_of(va);

    pt_walk(tree, page, page + PAGE_BYTES, &visitor, &leaf);
    return leaf;
}

/* What a split allocates. */
static struct ram_need split_need(const struct ram *ram, const struct table *table)
{
    struct ram_need need = {.leaf_tables = 1};

    if (ram->rmap != NULL)
        need.mappings = table->used;
    return need;
}

static struct ram_need need_sum(struct ram_need need, const struct ram_need *more)
{
    if (more == NULL)
        return need;
    need.frames += more->frames;
    need.leaf_tables += more->leaf_tables;
    need.upper_tables += more->upper_tables;
    need.mappings += more->mappings;
    return need;
}

static struct table *split(struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct ram *ram = tree->ram;
    struct table *shared = table_of_frame(ram, leaf->table->pfn);
    struct table *own = table_take(ram, 0);

    table_copy(ram, shared, own, 0, geometry_slots(tree->geometry));
    tree_switch(tree, leaf->parent, leaf->parent_slot, own);
    return own;
}

static int split_reserved(struct pt_tree *tree, const struct pt_leaf *leaf,
                          const struct ram_need *more, struct table **table)
{
    struct ram_need need = need_sum(split_need(tree->ram, leaf->table), more);
    int error = ram_reserve(tree->ram, &need);

    if (error == 0)
        *table = split(tree, leaf);
    return error;
}

/* A table that hangs here alone is this tree's, once the entry above says so. */
static struct table *take_back(struct pt_tree *tree, const struct pt_leaf *leaf)
{
    if (!parent_is_writable(tree->ram, leaf->parent, leaf->parent_slot))
        tree_set_writable(tree, leaf->parent, leaf->parent_slot, true);
    return table_of_frame(tree->ram, leaf->table->pfn);
}

int table_for_one_at(struct pt_tree *tree, const struct pt_leaf *leaf, const struct ram_need *more,
                     struct table **table)
{
    if (table_is_shared(leaf->table))
        return split_reserved(tree, leaf, more, table);
    int error = more != NULL ? ram_reserve(tree->ram, more) : 0;

    if (error == 0)
        *table = take_back(tree, leaf);
    return error;
}

int table_for_one(struct pt_tree *tree, va_t va, const struct ram_need *more, struct table **table)
{
    struct pt_leaf leaf;

    if (pt_lookup(tree, va, &leaf))
        return table_for_one_at(tree, &leaf, more, table);
    struct ram_need need = {.leaf_tables = 1, .upper_tables = tree_upper_need(tree->geometry)};

    need = need_sum(need, more);
    int error = ram_reserve(tree->ram, &need);

    if (error != 0)
        return error;
    leaf = leaf_made(tree, va);
    *table = table_of_frame(tree->ram, leaf.table->pfn);
    return 0;
}

struct table *table_for_one_reserved(struct pt_tree *tree, va_t va)
{
    struct pt_leaf leaf;

    if (!pt_lookup(tree, va, &leaf))
        leaf = leaf_made(tree, va);
    assert(!table_is_shared(leaf.table));
    return take_back(tree, &leaf);
}

struct table *table_for_all(const struct ram *ram, const struct table *table)
{
    return table_of_frame(ram, table->pfn);
}

static struct table *make_upper(void *context, struct pt_tree *tree, unsigned level)
{
    (void)context;
    return level == 0 ? NULL : table_take(tree->ram, level);
}

/* The last upper table on the way down to a missing leaf. */
static void note_upper(void *context, struct pt_tree *tree, const struct table *table,
                       const struct table *parent, unsigned parent_slot)
{
    const struct table **found = context;

    (void)tree;
    (void)parent;
    (void)parent_slot;
    if (table->level == 1)
        *found = table;
}

/*
 * The table in the child's tree that leaf tables near `leaf` hang from, made where it is missing.
 */
static const struct table *child_parent(struct pt_tree *child, const struct pt_leaf *leaf,
                                        struct share_cursor *cursor)
{
    static const struct pt_visitor visitor = {.absent = make_upper, .left = note_upper};

    if (cursor->from != leaf->parent) {
        va_t page = page_of(leaf->va);

        pt_walk(child, page, page + PAGE_BYTES, &visitor, &cursor->to);
        cursor->from = leaf->parent;
    }
    return cursor->to;
}

void table_share(struct pt_tree *parent, const struct pt_leaf *leaf, struct pt_tree *child,
                 struct share_cursor *cursor, bool all_shared)
{
    struct table *table = table_of_frame(parent->ram, leaf->table->pfn);

    if (!all_shared && leaf->upper_writable)
        tree_set_writable(parent, leaf->parent, leaf->parent_slot, false);
    tree_hook(child, child_parent(child, leaf, cursor), leaf->parent_slot, table, all_shared);
    event_count(parent->ram->events, EVENT_TABLE_SHARED, 1);
}

unsigned tables_share(struct pt_tree *parent, const struct pt_leaves *leaves, unsigned first,
                      unsigned end, struct pt_tree *child, struct share_cursor *cursor,
                      const struct share_rule *rule)
{
    struct pt_leaf leaf;
    uint32_t before = child->leaf_tables;

    first = table_next_used(leaves->parent, first, end);
    if (first == end)
        return end;
    pt_leaf_at(parent, leaves, first, &leaf);
    unsigned reached = tree_hook_shared(child, leaves->parent, child_parent(child, &leaf, cursor),
                                        first, end, rule->least_used, rule->all_shared);

    event_count(parent->ram->events, EVENT_TABLE_SHARED, child->leaf_tables - before);
    return reached;
}

struct table *table_for_copy(struct pt_tree *child, const struct pt_leaf *leaf,
                             struct share_cursor *cursor)
{
    struct table *table = table_take(child->ram, 0);

    tree_hook(child, child_parent(child, leaf, cursor), leaf->parent_slot, table, true);
    return table;
}

void table_drop(struct pt_tree *tree, const struct table *parent, unsigned slot)
{
    struct ram *ram = tree->ram;
    struct table *table = table_of_frame(ram, entry_pfn(table_entry(ram, parent, slot)));

    tree_unhook(tree, parent, slot);
    if (table->share_count > 0) {
        event_count(ram->events, EVENT_TABLE_DROPPED, 1);
        return;
    }
    table_release(ram, table, 0, geometry_slots(tree->geometry));
    table_give(ram, table);
}

static int drop_leaves(void *context, struct pt_tree *tree, const struct pt_leaves *leaves)
{
    unsigned slot = table_next_used(leaves->parent, leaves->first, leaves->end);

    (void)context;
    while (slot < leaves->end) {
        table_drop(tree, leaves->parent, slot);
        slot = table_next_used(leaves->parent, slot + 1, leaves->end);
    }
    return 0;
}

void tree_free_empty_upper(void *context, struct pt_tree *tree, const struct table *table,
                           const struct table *parent, unsigned parent_slot)
{
    struct table *upper = table_of_frame(tree->ram, table->pfn);

    (void)context;
    if (parent == NULL || table->used != 0)
        return;
    tree_unhook(tree, parent, parent_slot);
    table_give(tree->ram, upper);
}

void tree_drop_range(struct pt_tree *tree, va_t start, va_t end)
{
    static const struct pt_visitor visitor = {.leaves = drop_leaves, .left = tree_free_empty_upper};

    pt_walk(tree, start, end, &visitor, NULL);
}

void tree_destroy(struct pt_tree *tree)
{
    tree_drop_range(tree, 0, tree->geometry->user_end);
    assert(tree->leaf_tables == 0 && tree->upper_tables == 1);
    tree->root->share_count = 0;
    tree->root->owner = NULL;
    table_give(tree->ram, tree->root);
    tree->root = NULL;
}
