/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sharing leaf tables, and the two doors to a table that may be changed.
 *
 * A leaf table may hang in several trees. Frames are referenced by tables, not by address spaces,
 * so sharing touches no frame, no reverse map and no count of pages. The entry above a shared table
 * is read-only while any mapping of its span is private; the pager tells which.
 *
 *   split       one tree gets its own copy. Private writable entries become read-only in BOTH
 *               tables, whatever the count, before the entry above is switched with one store
 *   take back   the last sharer keeps the table: the entry above becomes writable. That is safe
 *               only because of that "both"
 *   drop        one tree gives up its reference; the last one releases what the table holds
 *
 * The two doors, and there is no third:
 *   table_for_one   for a change meant for one address space: takes back, or splits
 *   table_for_all   for a change meant for every sharer; what is changed through it is revoked in
 *                   the window of every address space attached
 * After either, whatever was known of tables and entries of the span is stale.
 */
#ifndef FORKLAB_PT_SHARE_H
#define FORKLAB_PT_SHARE_H

#include "pt/walk.h"

/*
 * The leaf table for `va`, held by this tree alone; made where there is none. -ENOMEM with nothing
 * changed. Reserves for itself; what else the caller needs at the same time it names in `more`
 * (NULL: nothing), so that both are sure together.
 */
int table_for_one(struct pt_tree *tree, va_t va, const struct ram_need *more, struct table **table);

/* The same for a leaf that was just looked up: nothing has changed or been allocated since. */
int table_for_one_at(struct pt_tree *tree, const struct pt_leaf *leaf, const struct ram_need *more,
                     struct table **table);

/*
 * The same where nothing may fail any more: the table is this tree's own already, or is not there
 * yet and was reserved with all above it.
 */
struct table *table_for_one_reserved(struct pt_tree *tree, va_t va);

/* A table whose change is meant for all that share it. */
struct table *table_for_all(const struct ram *ram, const struct table *table);

/*
 * Where fork stands in the child's tree: the parent of leaf tables there that corresponds to the
 * one it last came from. Starts out as zeros; valid while both trees only gain tables.
 */
struct share_cursor {
    const struct table *from;
    const struct table *to;
};

/* What fork asks of many tables at once. */
struct share_rule {
    unsigned least_used; /* a table with fewer entries is not worth it */
    bool all_shared;     /* every mapping of the spans is MAP_SHARED */
};

/*
 * Shares the table found at `leaf` with `child`, in whose tree the slot is empty. The entry above
 * becomes read-only in both trees unless `all_shared` (every mapping of the span is MAP_SHARED).
 * Upper tables were reserved.
 */
void table_share(struct pt_tree *parent, const struct pt_leaf *leaf, struct pt_tree *child,
                 struct share_cursor *cursor, bool all_shared);

/*
 * Shares the leaf tables in used slots of [first, end), whose spans lie in one mapping, up to the
 * first that has fewer than `least_used` entries or may hold a pinned private frame: returns its
 * slot, or `end`. Otherwise as table_share().
 */
unsigned tables_share(struct pt_tree *parent, const struct pt_leaves *leaves, unsigned first,
                      unsigned end, struct pt_tree *child, struct share_cursor *cursor,
                      const struct share_rule *rule);

/* An empty leaf table at the place of `leaf` in the child's tree, for fork's copies. Reserved. */
struct table *table_for_copy(struct pt_tree *child, const struct pt_leaf *leaf,
                             struct share_cursor *cursor);

/* Gives up this tree's reference to the leaf table that hangs in that slot. */
void table_drop(struct pt_tree *tree, const struct table *parent, unsigned slot);

/* A visitor's `left`: frees an upper table that has become empty, except the root. */
void tree_free_empty_upper(void *context, struct pt_tree *tree, const struct table *table,
                           const struct table *parent, unsigned parent_slot);

/*
 * Drops every leaf table in [start, end), which covers whole spans, and frees empty upper tables.
 */
void tree_drop_range(struct pt_tree *tree, va_t start, va_t end);

/* Drops everything, the root too. What windows let through was revoked before. */
void tree_destroy(struct pt_tree *tree);

#endif
