/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The invariants of frames and page tables: named predicates, which look and change nothing. Tests
 * run them all after every operation; what breaks one is told by frame and slot.
 *
 *   frames-conserved   free, pooled, untouched and used frames are all the frames; lists are whole
 *   table-books        what a table says of its entries is what a recount finds; pools are zeros
 *   share-counts       share count = list of attachments = upper entries that point at the table
 *   tree-counts        a tree's numbers of tables are what a recount finds
 *   frame-counts       count of a frame = entries (each table once) + references from outside
 *   writable-alone     the frame of a writable anonymous entry has no other reference but pins
 *   pins-unshared      no pinned anonymous frame in a shared table
 *   zero-frame         never writable, never counted, all zeros
 *   shared-read-only   a shared table with private entries stands behind read-only entries
 *
 * A predicate may lean on those before it in the list. They read only what was ever in use, so a
 * large sparse RAM costs no more than what it holds.
 */
#ifndef FORKLAB_PT_INVARIANT_H
#define FORKLAB_PT_INVARIANT_H

#include "pt/frame.h"

/*
 * `outside[pfn]` is how many references to each frame are held from outside the tables: by objects,
 * by the swap cache, as pins; NULL: none at all. A predicate that does not hold says `why`, in at
 * most `why_bytes` with the final zero.
 */
struct pt_invariant {
    const char *name;
    bool (*holds)(const struct ram *ram, const uint32_t *outside, char *why, size_t why_bytes);
};

/* All of them, ended by a NULL name. */
extern const struct pt_invariant pt_invariants[];

/* Runs them all; at the first that does not hold, false and "name: reason". */
bool pt_invariants_hold(const struct ram *ram, const uint32_t *outside, char *why,
                        size_t why_bytes);

#endif
