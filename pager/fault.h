/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults, in named steps.
 *
 * fault_classify() is pure: it looks from the top of the tree down and returns the next step that
 * the access needs, or that it is permitted, or why it is bad. fault_apply() does that step. They
 * alternate until the access is permitted; the record of a fault is its list of steps. The frame is
 * judged only in a table that this address space holds alone.
 *
 * The steps' names are events (pt/event.def): the same in code, counters, traces and documents.
 */
#ifndef FORKLAB_PAGER_FAULT_H
#define FORKLAB_PAGER_FAULT_H

#include "pager/mm.h"

/* The access needs no further step. */
#define FAULT_PERMITTED EVENT_COUNT

struct fault {
    struct mm *mm;
    va_t va;
    enum access access;
    uint32_t task_id; /* for the record */
    bool for_pin;     /* nothing is mapped around the page, as with a write */
    unsigned steps;   /* applied so far, without what a processor does by itself */
    /* what fault_classify() saw; stale after fault_apply() */
    struct vma *vma;
    struct pt_leaf leaf; /* valid if `has_table` */
    bool has_table;
    entry_t entry;
    /* what fault_apply() left: the frame that the page has now, PFN_NONE after a step that is about
     * none */
    pfn_t pfn;
};

static inline bool fault_is_bad(enum event step)
{
    return step >= EVENT_FIRST_BAD && step <= EVENT_LAST_BAD;
}

/* The next step, FAULT_PERMITTED, or a bad access (fault_is_bad). Changes only what it notes. */
enum event fault_classify(struct fault *fault);

/* Does the access lie below a mapping that grows down, with nothing between that would forbid it?
 * The limits are another matter. After fault_classify(). */
bool fault_meets_stack(const struct fault *fault);

/* Does the step: 0; -ENOMEM with nothing changed that user code can see; -EIO. */
int fault_apply(struct fault *fault, enum event step);

/*
 * Classifies and applies until the access is permitted, and marks the entry accessed: returns
 * FAULT_PERMITTED with `leaf` and `entry` up to date, or the bad access. Lets nothing through.
 */
enum event fault_resolve(struct fault *fault);

/* An absent entry of a shared table: does the kernel fill it in place, for all? After
 * fault_classify(), where the table is shared. */
bool fault_may_fill_for_all(const struct fault *fault);

/*
 * Rights of an entry that maps a page of the VMA's object unwritten. Where writes are to be
 * noticed (write_notify) a clean page is read-only; elsewhere the first write is the hardware's own
 * business, and no fault.
 */
entry_t fault_object_rights(const struct vma *vma);

/*
 * For pins: makes the page of a private mapping this address space's alone, as a write would,
 * though the mapping may be read-only; on objects it only brings the page in.
 */
enum event fault_resolve_exclusive(struct fault *fault);

#endif
