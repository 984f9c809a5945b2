/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one formatter of entries and trees: every text that shows them, for people and for tests,
 * comes from here.
 *
 *   present   pfn N KIND rwu FLAGS   r, w and u stand for read, write and user, '-' where not
 *                                    permitted; the flags set, in this order: A accessed, D dirty,
 *                                    huge, excl (anonymous, exclusive), lazy (lazy-free)
 *   swap      swap type N offset N
 *   guard     guard
 *   empty     none
 *   other     malformed 0xN
 *
 * A run of entries is written as one: "pfn 12-15 anon rwu A D" is four frames in a row.
 */
#ifndef FORKLAB_PT_FORMAT_H
#define FORKLAB_PT_FORMAT_H

#include <stdio.h>

#include "pt/walk.h"

/* Names of the kinds of frames: "free", "pool", "table", "zero", "anon", "shm", "file". */
extern const char *const frame_kind_names[FRAME_KINDS];

/* Room for the text of any entry or run, the final zero included. */
enum { ENTRY_TEXT_BYTES = 96 };

/*
 * Writes an entry as text, cut to `bytes` with the final zero; the length it has uncut, as snprintf
 * does. The kind of frame comes from `ram`; it is left out when `ram` is NULL, and "?" when RAM has
 * no such frame.
 */
size_t entry_format(char *text, size_t bytes, entry_t entry, const struct ram *ram);

/* The same for a run from `first` to `last`, which differ in nothing but the number that counts. */
size_t entry_run_format(char *text, size_t bytes, entry_t first, entry_t last,
                        const struct ram *ram);

/*
 * Writes the tree of tables: a table a line, two blanks a level, with the addresses that it covers,
 * its frame, who shares it and whether the entry above permits writing; below a leaf table its runs
 * of like entries.
 */
void tree_dump(const struct pt_tree *tree, FILE *out);

/* The same with something added to the line of each leaf table. */
typedef void table_note(void *context, const struct table *table, FILE *out);
void tree_dump_noted(const struct pt_tree *tree, FILE *out, table_note *note, void *context);

#endif
