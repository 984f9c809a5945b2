/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moving entries; remap_move.h says what for.
 *
 * The two places may lie differently within their spans, so a source table's entries go to two
 * tables, or to another part of the very same table. They are moved in pieces: slots in a row of a
 * source table that go to one destination table. Where nothing is mapped in, there are no pieces:
 * a large empty range costs nothing.
 *
 * No walk is under way while a piece is moved: tables may be made for it.
 */
#include "pager/remap_move.h"

#include "pager/map.h"

/* Slots in a row of one table that go to slots in a row of one other. */
struct piece {
    const struct table *source;
    unsigned slot; /* the first one */
    unsigned slots;
    va_t from;
    va_t to;
};

static int note_used_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct piece *piece = context;
    unsigned first = (unsigned)max_u64(leaf->first, leaf->table->low);
    unsigned end = (unsigned)min_u64(leaf->end, leaf->table->high);

    (void)tree;
    if (first >= end)
        return 0;
    *piece = (struct piece){.source = leaf->table,
                            .slot = first,
                            .slots = end - first,
                            .from = leaf->va + (first - leaf->first) * PAGE_BYTES};
    return 1;
}

/* The first piece at or above `va`, an address of the source; false when there is none. */
static bool next_piece(const struct pt_tree *tree, const struct entry_move *move, va_t va,
                       struct piece *piece)
{
    static const struct pt_visitor visitor = {.leaf = note_used_leaf};

    if (pt_walk_const(tree, va, move->from + move->bytes, &visitor, piece) == 0)
        return false;
    piece->to = move->to + (piece->from - move->from);
    unsigned slot_there = geometry_slot(tree->geometry, piece->to, 0);

    piece->slots =
        (unsigned)min_u64(piece->slots, geometry_slots(tree->geometry) - (uint64_t)slot_there);
    return true;
}

static va_t piece_end(const struct piece *piece)
{
    return piece->from + piece->slots * PAGE_BYTES;
}

/* Counts the tables on the way to `to` that the way to `before` (0: none) does not pass. */
static void add_tables(const struct geometry *geometry, va_t before, va_t to, struct ram_need *need)
{
    for (unsigned level = 0; level + 1 < geometry->levels; level++) {
        uint64_t table_bytes = geometry_entry_coverage_bytes(geometry, level + 1);

        if (before != 0 && round_down(before, table_bytes) == round_down(to, table_bytes))
            return;
        if (level == 0)
            need->leaf_tables++;
        else
            need->upper_tables++;
    }
}

/*
 * At most so many tables are made. Those that are there already count too: what is unmapped at the
 * new place takes its tables away.
 */
static struct ram_need tables_needed(const struct pt_tree *tree, const struct entry_move *move)
{
    struct ram_need need = {0};
    struct piece piece = {0};
    va_t before = 0;

    for (va_t va = move->from; next_piece(tree, move, va, &piece); va = piece_end(&piece)) {
        add_tables(tree->geometry, before, piece.to, &need);
        before = piece.to;
    }
    return need;
}

int entries_move_reserve(struct mm *mm, const struct entry_move *move)
{
    int error = map_own_tables(mm, move->from, move->from + move->bytes);

    if (error != 0)
        return error;
    struct ram_need need = tables_needed(&mm->tree, move);

    return need.leaf_tables != 0 ? ram_reserve(mm->tree.ram, &need) : 0;
}

static void move_piece(struct pt_tree *tree, const struct piece *piece)
{
    struct table_move move = {.source = table_for_one_reserved(tree, piece->from),
                              .from = piece->slot,
                              .destination = table_for_one_reserved(tree, piece->to),
                              .to = geometry_slot(tree->geometry, piece->to, 0),
                              .count = piece->slots};

    table_move(tree->ram, &move);
}

void entries_move(struct mm *mm, const struct entry_move *move)
{
    struct piece piece = {0};

    mm_revoke(mm, move->from, move->from + move->bytes);
    for (va_t va = move->from; next_piece(&mm->tree, move, va, &piece); va = piece_end(&piece))
        move_piece(&mm->tree, &piece);
}
