/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The invariants of tables and trees; invariant.h lists them. */
#include "pt/invariant_check.h"

/* table-books */

static bool points_below(const struct check *check, const struct table *table, unsigned slot,
                         entry_t entry)
{
    const struct table *below = table_in_frame(check->ram, entry_pfn(entry));

    if (!entry_is_present(entry) || below == NULL || below->level + 1 != table->level)
        return check_fails(check, "table %u slot %u points at frame %u, no table of level %d",
                           table->pfn, slot, entry_pfn(entry), table->level - 1);
    return true;
}

/* Adds one entry to a recount, by the rules of the books. */
static bool recount_entry(const struct check *check, const struct table *table, unsigned slot,
                          entry_t entry, struct table *recount)
{
    recount->used++;
    if (table->level > 0) {
        recount->present[FRAME_TABLE]++;
        return entry_is_huge(entry) || points_below(check, table, slot, entry);
    }
    if (!entry_is_present(entry)) {
        recount->special++;
        recount->swapped = (uint16_t)(recount->swapped + entry_is_swap(entry));
        return entry_is_swap(entry) != entry_is_guard(entry) ||
               check_fails(check, "table %u slot %u is neither swap nor guard nor empty",
                           table->pfn, slot);
    }
    const struct frame *frame = mapped_frame(check->ram, table, entry);

    if (frame == NULL || frame->kind < FRAME_ZERO || frame->kind >= FRAME_KINDS)
        return check_fails(check, "table %u slot %u maps frame %u, which is not in use as memory",
                           table->pfn, slot, entry_pfn(entry));
    recount->present[frame->kind]++;
    return true;
}

static bool books_agree(const struct check *check, const struct table *table,
                        const struct table *recount)
{
    for (unsigned kind = 0; kind < FRAME_KINDS; kind++) {
        if (table->present[kind] != recount->present[kind])
            return check_fails(check, "table %u: %u entries of kind %u, recounted %u", table->pfn,
                               table->present[kind], kind, recount->present[kind]);
    }
    if (table->used != recount->used)
        return check_fails(check, "table %u: %u entries in use, recounted %u", table->pfn,
                           table->used, recount->used);
    if (table->special != recount->special || table->swapped != recount->swapped)
        return check_fails(check, "table %u: %u special, %u swapped, recounted %u and %u",
                           table->pfn, table->special, table->swapped, recount->special,
                           recount->swapped);
    return true;
}

/* What an upper table says of its slots, for walks that pass over empty ones. */
static bool map_of_slots_agrees(const struct check *check, const struct table *table)
{
    for (unsigned slot = 0; slot < geometry_slots(check->ram->geometry); slot++) {
        bool is_marked = (table->upper->used[slot / 64] >> slot % 64 & 1) != 0;

        if (is_marked == entry_is_none(table_entry(check->ram, table, slot)))
            return check_fails(check, "table %u slot %u is %s, and marked as if it were not",
                               table->pfn, slot, is_marked ? "empty" : "in use");
    }
    return true;
}

static bool table_is_right(const struct check *check, pfn_t pfn)
{
    const struct ram *ram = check->ram;
    const struct table *table = table_in_frame(ram, pfn);
    struct table recount = {0};

    if (ram->frames[pfn].kind == FRAME_POOL && !frame_is_all_zeros(ram, pfn))
        return check_fails(check, "frame %u is in a pool and not all zeros", pfn);
    if (table == NULL)
        return true;
    for (unsigned slot = 0; slot < geometry_slots(ram->geometry); slot++) {
        entry_t entry = table_entry(ram, table, slot);

        if (entry_is_none(entry))
            continue;
        if (slot < table->low || slot >= table->high)
            return check_fails(check, "table %u slot %u is not empty and not within [%u, %u)", pfn,
                               slot, table->low, table->high);
        if (!recount_entry(check, table, slot, entry, &recount))
            return false;
    }
    return books_agree(check, table, &recount) &&
           (table->level == 0 || map_of_slots_agrees(check, table));
}

bool invariant_table_books(const struct ram *ram, const uint32_t *outside, char *why,
                           size_t why_bytes)
{
    struct check check = check_of(ram, outside, why, why_bytes);

    return check_frames(&check, table_is_right);
}

/* share-counts */

static bool tally_table(const struct check *check, const struct table *table, unsigned slot,
                        entry_t entry)
{
    (void)slot;
    if (table->level > 0 && !entry_is_huge(entry) && frame_is_touched(check->ram, entry_pfn(entry)))
        check_tally(check, entry_pfn(entry))->references++;
    return true;
}

static bool root_is_right(const struct check *check, const struct table *table)
{
    const struct pt_tree *tree = table->owner;

    if (table->share_count != 1 || table->first_parent != PFN_NONE ||
        table->last_parent != PFN_NONE || table->level + 1u != check->ram->geometry->levels)
        return check_fails(check, "root table %u: share count %u, level %u, parent %u", table->pfn,
                           table->share_count, table->level, table->first_parent);
    if (tree->root != table || check_tally(check, table->pfn)->references != 0)
        return check_fails(check, "root table %u is not its tree's, or an entry points at it",
                           table->pfn);
    return true;
}

/* One attachment: an upper table whose entry in the slot points back. */
static bool attachment_is_right(const struct check *check, const struct table *table, pfn_t parent)
{
    const struct ram *ram = check->ram;
    const struct table *upper = table_in_frame(ram, parent);

    if (upper == NULL || upper->level != table->level + 1 || upper->upper == NULL ||
        table->slot >= geometry_slots(ram->geometry))
        return check_fails(check, "table %u is attached to frame %u slot %u, no table of level %d",
                           table->pfn, parent, table->slot, table->level + 1);
    entry_t entry = table_entry(ram, upper, table->slot);

    if (!entry_is_present(entry) || entry_is_huge(entry) || entry_pfn(entry) != table->pfn)
        return check_fails(check,
                           "table %u is attached to table %u, whose slot %u does not point at it",
                           table->pfn, parent, table->slot);
    return true;
}

static bool attachments_agree(const struct check *check, const struct table *table)
{
    uint32_t pointers = check_tally(check, table->pfn)->references;
    pfn_t previous = PFN_NONE;
    pfn_t parent = table->first_parent;
    uint32_t length = 0;

    for (; parent != PFN_NONE && length <= table->share_count; length++) {
        if (!attachment_is_right(check, table, parent))
            return false;
        const struct table_upper *upper = table_in_frame(check->ram, parent)->upper;
        const struct table_link *link = &upper->links[table->slot];

        if (link->previous_parent != previous)
            return check_fails(check, "table %u: parent %u says that %u is before it, not %u",
                               table->pfn, parent, link->previous_parent, previous);
        previous = parent;
        parent = link->next_parent;
    }
    if (table->share_count == 0 || length != table->share_count || pointers != length ||
        table->last_parent != previous)
        return check_fails(check,
                           "table %u: share count %u, %u attachments, %u entries above, last %u",
                           table->pfn, table->share_count, length, pointers, table->last_parent);
    return true;
}

static bool share_count_is_right(const struct check *check, pfn_t pfn)
{
    const struct table *table = table_in_frame(check->ram, pfn);

    if (table == NULL)
        return true;
    return table->owner != NULL ? root_is_right(check, table) : attachments_agree(check, table);
}

bool invariant_share_counts(const struct ram *ram, const uint32_t *outside, char *why,
                            size_t why_bytes)
{
    struct check check = check_of(ram, outside, why, why_bytes);

    if (!check_begin_tally(&check))
        return false;
    check_entries(&check, tally_table);
    bool holds = check_frames(&check, share_count_is_right);

    check_end_tally(&check);
    return holds;
}

/* tree-counts */

/* Counts what hangs from an upper table under the root of its tree. */
static bool tally_tree(const struct check *check, const struct table *table, unsigned slot,
                       entry_t entry)
{
    (void)slot;
    if (table->level == 0 || entry_is_huge(entry))
        return true;
    struct tally *tally = check_tally(check, tree_of_parent(check->ram, table->pfn)->root->pfn);

    if (table->level == 1)
        tally->leaf_tables++;
    else
        tally->upper_tables++;
    return true;
}

static bool tree_agrees(const struct check *check, pfn_t pfn)
{
    const struct table *table = table_in_frame(check->ram, pfn);
    const struct pt_tree *tree = table == NULL ? NULL : table->owner;

    if (tree == NULL)
        return true;
    const struct tally *tally = check_tally(check, pfn);

    if (tree->leaf_tables == tally->leaf_tables && tree->upper_tables == tally->upper_tables + 1)
        return true;
    return check_fails(
        check, "tree of root table %u: %u leaf and %u upper tables, recounted %u, %u", pfn,
        tree->leaf_tables, tree->upper_tables, tally->leaf_tables, tally->upper_tables + 1);
}

bool invariant_tree_counts(const struct ram *ram, const uint32_t *outside, char *why,
                           size_t why_bytes)
{
    struct check check = check_of(ram, outside, why, why_bytes);

    if (!check_begin_tally(&check))
        return false;
    check_entries(&check, tally_tree);
    bool holds = check_frames(&check, tree_agrees);

    check_end_tally(&check);
    return holds;
}
