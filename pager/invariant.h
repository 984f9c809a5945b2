/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The invariants of a whole machine: named predicates, run one by one after every operation in
 * tests, beside those of pt/invariant.h.
 *
 *   mm-users          an address space counts the tasks that have it; the lender and the borrower
 *                     of a vfork name each other and have the same one
 *   vmas-ordered      VMAs are ordered, disjoint, page-aligned, in the address space; the index
 *                     finds each from both of its ends
 *   vmas-merged       no two neighbours that could be one VMA, by the kernel's policy, but for
 *                     those that the kernel is known to leave apart
 *   families-agree    a family's counts are what its VMAs say; a VMA has a family if it was written
 *                     privately, where families are kept; an anonymous page lies in such a VMA
 *   object-lists      an object's list holds just the VMAs that map it
 *   entries-covered   every entry lies in a VMA of each address space that has the table, is no
 *                     more permissive than the VMA, and maps the right kind of frame; past the end
 *                     of an object nothing is mapped, private copies neither
 *   same-layout       clipped to its span, all address spaces attached to a shared table have the
 *                     same VMAs
 *   upper-read-only   a shared table with a private VMA in its span stands behind a read-only entry
 *   windows-agree     what a window lets through, the tables allow
 *   rmap-agrees       the reverse map of a frame is what a full scan finds
 *
 * That a freed frame is let through nowhere follows from windows-agree and the count of frames: a
 * frame that an entry maps is in use.
 */
#ifndef FORKLAB_PAGER_INVARIANT_H
#define FORKLAB_PAGER_INVARIANT_H

#include "pager/machine.h"

struct machine_invariant {
    const char *name;
    bool (*holds)(struct machine *machine, char *why, size_t why_bytes);
};

/* All of this layer, ended by a NULL name. Lock held. */
extern const struct machine_invariant machine_invariants[];

/* Runs these and those of pt/: false and "name: reason" at the first that does not hold. Takes the
 * lock. Memory that ends is reported as a reason. */
bool machine_invariants_hold(struct machine *machine, char *why, size_t why_bytes);

/* The two files' halves. */
bool mm_users_agree(struct machine *machine, char *why, size_t why_bytes);
bool vmas_are_ordered(struct machine *machine, char *why, size_t why_bytes);
bool vmas_are_merged(struct machine *machine, char *why, size_t why_bytes);
bool families_agree(struct machine *machine, char *why, size_t why_bytes);
bool object_lists_agree(struct machine *machine, char *why, size_t why_bytes);
bool entries_are_covered(struct machine *machine, char *why, size_t why_bytes);
bool layouts_are_same(struct machine *machine, char *why, size_t why_bytes);
bool upper_entries_are_read_only(struct machine *machine, char *why, size_t why_bytes);
bool windows_agree(struct machine *machine, char *why, size_t why_bytes);
bool rmap_agrees(struct machine *machine, char *why, size_t why_bytes);

/* Writes the reason like printf; returns false. */
bool invariant_broken(char *why, size_t why_bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
