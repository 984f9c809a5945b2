/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one walker. Everything that goes down a tree of tables does it through pt_walk(): a range and
 * a visitor; a lookup is a walk over one page.
 *
 * The visitor's functions, each of which may be NULL, in the order of addresses:
 *   leaf    once for each leaf table (or huge entry) that the range meets, with the slots of the
 *           range; a non-zero result ends the walk and is what pt_walk() returns. It may change the
 *           entries of its leaf through a door, or drop the leaf itself
 *   leaves  in place of `leaf`, once for each second-level table: for visitors that do little to
 *           each of many leaf tables. They go over the used slots themselves (table_next_used) and
 *           ask pt_leaf_at() for what they want to know more of; then `absent` is not asked for
 *           leaf tables
 *   absent  an upper entry of the range is empty; may return a new table, which is then hooked in
 *           and walked into, or NULL to pass over it
 *   left    after everything below an upper table was visited; may free the table, when it clears
 *           the entry above first. The root is left too, with no parent
 */
#ifndef FORKLAB_PT_WALK_H
#define FORKLAB_PT_WALK_H

#include "pt/tree.h"

/* What a walk found at the bottom: the slots of one table that lie in the range. */
struct pt_leaf {
    const struct table *table;  /* a leaf table; with a huge entry the second-level table */
    const struct table *parent; /* that it hangs from; NULL with a huge entry */
    unsigned parent_slot;
    unsigned first; /* slots of the range: [first, end) */
    unsigned end;
    unsigned level;      /* 0; 1 for a huge entry */
    bool upper_writable; /* every entry above permits writing */
    va_t va;             /* address of slot `first` */
};

/*
 * All leaf tables of the range that hang from one second-level table: the used slots among these.
 */
struct pt_leaves {
    const struct table *parent;
    unsigned first; /* slots of the parent: [first, end) */
    unsigned end;
    bool upper_writable; /* every entry above the parent permits writing */
    va_t base;           /* address of the parent's slot 0 */
    va_t start;          /* the range's part below the parent */
    va_t past;
};

struct pt_visitor {
    int (*leaves)(void *context, struct pt_tree *tree, const struct pt_leaves *leaves);
    int (*leaf)(void *context, struct pt_tree *tree, const struct pt_leaf *leaf);
    struct table *(*absent)(void *context, struct pt_tree *tree, unsigned level);
    void (*left)(void *context, struct pt_tree *tree, const struct table *table,
                 const struct table *parent, unsigned parent_slot);
};

/* Walks [start, end), which lies in the geometry's user space; 0, or what ended it: what `leaf` or
 * `leaves` returned. */
int pt_walk(struct pt_tree *tree, va_t start, va_t end, const struct pt_visitor *visitor,
            void *context);

/* The same for a tree that is only looked at: the visitor changes nothing and has no `absent`. */
int pt_walk_const(const struct pt_tree *tree, va_t start, va_t end,
                  const struct pt_visitor *visitor, void *context);

/* The leaf table at a used slot of the leaves. */
void pt_leaf_at(const struct pt_tree *tree, const struct pt_leaves *leaves, unsigned slot,
                struct pt_leaf *leaf);

/*
 * Fills in the leaf for one page; false when there is no leaf table there, as beyond the user's
 * addresses.
 */
bool pt_lookup(const struct pt_tree *tree, va_t va, struct pt_leaf *leaf);

/* The entry that translates `va`, ENTRY_NONE where no table is. */
entry_t pt_entry(const struct pt_tree *tree, va_t va);

#endif
