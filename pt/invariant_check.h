/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the predicates of invariant.h are made of: loops over the frames that were ever in use and
 * over the entries of all tables, which stop at the first that is wrong.
 *
 * A predicate must survive the states that it is there to find, so nothing that was read from an
 * entry or a link is followed before it was checked here. For the invariants alone.
 */
#ifndef FORKLAB_PT_INVARIANT_CHECK_H
#define FORKLAB_PT_INVARIANT_CHECK_H

#include "pt/tree.h"

/* What a recount found for one frame. */
struct tally {
    uint32_t references;
    uint32_t leaf_tables; /* a root's: of its tree */
    uint32_t upper_tables;
};

struct check {
    const struct ram *ram;
    const uint32_t *outside;
    char *why;
    size_t why_bytes;
    struct tally *tallies; /* between check_begin_tally() and check_end_tally() */
};

typedef bool (*frame_predicate)(const struct check *check, pfn_t pfn);
typedef bool (*entry_predicate)(const struct check *check, const struct table *table, unsigned slot,
                                entry_t entry);

static inline struct check check_of(const struct ram *ram, const uint32_t *outside, char *why,
                                    size_t why_bytes)
{
    return (struct check){.ram = ram, .outside = outside, .why = why, .why_bytes = why_bytes};
}

/* Says why, and returns false. */
__attribute__((format(printf, 2, 3))) bool check_fails(const struct check *check,
                                                       const char *format, ...);

/* Every frame that was ever in use; every entry that is not empty, of every table, once. */
bool check_frames(const struct check *check, frame_predicate holds);
bool check_entries(const struct check *check, entry_predicate holds);

/* A recount starts at zero; false, and says why, when there is no memory for it. */
bool check_begin_tally(struct check *check);
struct tally *check_tally(const struct check *check, pfn_t pfn);
void check_end_tally(struct check *check);

bool frame_is_all_zeros(const struct ram *ram, pfn_t pfn);

/* The table in that frame, NULL where the frame is none. */
const struct table *table_in_frame(const struct ram *ram, pfn_t pfn);

/* The frame of memory that an entry maps; NULL when it maps none, or one that cannot be. */
const struct frame *mapped_frame(const struct ram *ram, const struct table *table, entry_t entry);

/* The predicates of invariant_table.c. */
bool invariant_table_books(const struct ram *ram, const uint32_t *outside, char *why,
                           size_t why_bytes);
bool invariant_share_counts(const struct ram *ram, const uint32_t *outside, char *why,
                            size_t why_bytes);
bool invariant_tree_counts(const struct ram *ram, const uint32_t *outside, char *why,
                           size_t why_bytes);

#endif
