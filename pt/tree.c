/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hanging tables into trees, and the lists of attachments.
 *
 * The list of a leaf table's parents runs through arrays of those parents (struct table_upper), at
 * the slot that they all share. The oldest attachment stays at the head.
 */
#include "pt/tree.h"

#include <assert.h>

void tree_init(struct pt_tree *tree, struct ram *ram, void *owner)
{
    *tree = (struct pt_tree){.ram = ram, .geometry = ram->geometry, .owner = owner};
    tree->root = table_take(ram, ram->geometry->levels - 1);
    tree->root->share_count = 1;
    tree->root->owner = tree;
    tree->upper_tables = 1;
}

/* A parent belongs to one tree, which may change it. */
static struct table *own_upper(const struct ram *ram, const struct table *parent)
{
    assert(parent->level > 0);
    return table_of_frame(ram, parent->pfn);
}

static struct table_link *link_of(const struct ram *ram, pfn_t parent, unsigned slot)
{
    return &table_of_frame(ram, parent)->upper->links[slot];
}

static void attach(const struct ram *ram, struct table *child, struct table *parent, unsigned slot)
{
    assert(child->share_count == 0 || child->slot == slot);
    child->slot = (uint16_t)slot;
    parent->upper->links[slot] =
        (struct table_link){.next_parent = PFN_NONE, .previous_parent = child->last_parent};
    if (child->last_parent != PFN_NONE)
        link_of(ram, child->last_parent, slot)->next_parent = parent->pfn;
    else
        child->first_parent = parent->pfn;
    child->last_parent = parent->pfn;
    child->share_count++;
}

static void detach(const struct ram *ram, struct table *child, const struct table *parent,
                   unsigned slot)
{
    struct table_link link = parent->upper->links[slot];

    if (link.previous_parent != PFN_NONE)
        link_of(ram, link.previous_parent, slot)->next_parent = link.next_parent;
    else
        child->first_parent = link.next_parent;
    if (link.next_parent != PFN_NONE)
        link_of(ram, link.next_parent, slot)->previous_parent = link.previous_parent;
    else
        child->last_parent = link.previous_parent;
    child->share_count--;
}

static void store_above(struct pt_tree *tree, struct table *parent, unsigned slot,
                        const struct table *child, bool writable)
{
    entry_t flags = ENTRY_ACCESSED | (writable ? ENTRY_WRITE : 0);

    table_store_upper(tree->ram, parent, slot, entry_make(child->pfn, flags));
}

void tree_hook(struct pt_tree *tree, const struct table *parent, unsigned slot, struct table *child,
               bool writable)
{
    struct table *upper = own_upper(tree->ram, parent);

    assert(entry_is_none(table_entry(tree->ram, parent, slot)));
    attach(tree->ram, child, upper, slot);
    store_above(tree, upper, slot, child, writable);
    if (child->level == 0)
        tree->leaf_tables++;
    else
        tree->upper_tables++;
}

static void use_slot(struct table *upper, unsigned slot)
{
    upper->upper->used[slot / 64] |= (uint64_t)1 << slot % 64;
    upper->present[FRAME_TABLE] = ++upper->used;
}

/* Fork's inner loop: what it does for each leaf table is all that sharing costs. */
unsigned tree_hook_shared(struct pt_tree *tree, const struct table *from, const struct table *to,
                          unsigned first, unsigned end, unsigned least_used, bool writable)
{
    struct ram *ram = tree->ram;
    struct table *upper = own_upper(ram, to);
    uint8_t *entries_from = frame_data(ram, from->pfn);
    uint8_t *entries_to = frame_data(ram, to->pfn);
    unsigned entry_bytes = tree->geometry->entry_bytes;
    unsigned slot = table_next_used(from, first, end);

    while (slot < end) {
        entry_t entry = stored_entry_get(entries_from, slot, entry_bytes);
        struct table *child = table_of_frame(ram, entry_pfn(entry));

        if (child->used < least_used || child->may_hold_pin)
            break;
        if (!writable && entry_is_writable(entry)) {
            entry = entry_without(entry, ENTRY_WRITE);
            stored_entry_put(entries_from, slot, entry_bytes, entry);
        }
        assert(entry_is_none(stored_entry_get(entries_to, slot, entry_bytes)));
        attach(ram, child, upper, slot);
        stored_entry_put(entries_to, slot, entry_bytes, entry);
        use_slot(upper, slot);
        tree->leaf_tables++;
        slot = table_next_used(from, slot + 1, end);
    }
    return slot;
}

void tree_unhook(struct pt_tree *tree, const struct table *parent, unsigned slot)
{
    struct table *child =
        table_of_frame(tree->ram, entry_pfn(table_entry(tree->ram, parent, slot)));

    detach(tree->ram, child, parent, slot);
    table_store_upper(tree->ram, own_upper(tree->ram, parent), slot, ENTRY_NONE);
    if (child->level == 0)
        tree->leaf_tables--;
    else
        tree->upper_tables--;
}

void tree_switch(struct pt_tree *tree, const struct table *parent, unsigned slot,
                 struct table *child)
{
    struct table *old = table_of_frame(tree->ram, entry_pfn(table_entry(tree->ram, parent, slot)));

    detach(tree->ram, old, parent, slot);
    struct table *upper = own_upper(tree->ram, parent);

    attach(tree->ram, child, upper, slot);
    store_above(tree, upper, slot, child, true);
}

void tree_set_writable(struct pt_tree *tree, const struct table *parent, unsigned slot,
                       bool writable)
{
    const struct table *child =
        table_of_frame(tree->ram, entry_pfn(table_entry(tree->ram, parent, slot)));

    store_above(tree, own_upper(tree->ram, parent), slot, child, writable);
}

struct pt_tree *tree_of_parent(const struct ram *ram, pfn_t parent)
{
    const struct table *table = table_of_frame(ram, parent);

    while (table->owner == NULL)
        table = table_of_frame(ram, table->first_parent);
    return table->owner;
}

void table_for_each_tree(const struct ram *ram, const struct table *table,
                         void (*visit)(void *context, struct pt_tree *tree), void *context)
{
    pfn_t parent = table->first_parent;

    while (parent != PFN_NONE) {
        pfn_t next = link_of(ram, parent, table->slot)->next_parent;

        visit(context, tree_of_parent(ram, parent));
        parent = next;
    }
}
