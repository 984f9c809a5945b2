/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of madvise, for advise.c's table: what each kind of advice asks of a mapping and does.
 *
 * A call goes along the VMAs of its range and asks `check` of each; the first that refuses ends the
 * range. What lies before it, holes and all, is [start, end) below, up to user_end at most. Then
 * everything that can fail for want of memory is done by `prepare`, with nothing changed that user
 * code can see, and the rest by `commit`. All with the lock held.
 */
#ifndef FORKLAB_PAGER_ADVICE_H
#define FORKLAB_PAGER_ADVICE_H

#include <assert.h>

#include "pager/mm.h"

/* The next VMA's part of [*start, end), which moves *start to where the part ends; NULL at the end.
 * `*from` is where the part begins. */
struct vma *vma_part_next(struct mm *mm, va_t *start, va_t end, va_t *from);

/* DONTNEED: pages of this address space alone go, guard pages stay. */
int discard_prepare(struct mm *mm, va_t start, va_t end);
int discard_commit(struct mm *mm, va_t start, va_t end);

/* FREE: the pages may go when memory is short; until then they can be read, and a write keeps
 * them. Nothing here runs short, so none goes. */
int lazy_free_commit(struct mm *mm, va_t start, va_t end);

/* REMOVE: a hole in the object. -ENOMEM, from object_punch_locked(). */
int remove_commit(struct mm *mm, va_t start, va_t end);

/* PAGEOUT: what could be reclaimed without swap is. */
int page_out_commit(struct mm *mm, va_t start, va_t end);

/* GUARD_INSTALL, GUARD_REMOVE. */
int guard_install_prepare(struct mm *mm, va_t start, va_t end);
int guard_install_commit(struct mm *mm, va_t start, va_t end);
int guard_remove_commit(struct mm *mm, va_t start, va_t end);

/* Does the table hold guard pages? */
static inline bool table_has_guards(const struct table *table)
{
    return table->special > table->swapped;
}

/* The table of a leaf that was prepared, or that nobody shares: it is this address space's own. */
static inline struct table *table_made_own(struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct table *table;
    int error = table_for_one_at(tree, leaf, NULL, &table);

    assert(error == 0 && table == leaf->table);
    (void)error;
    return table;
}

/* POPULATE_READ and POPULATE_WRITE: -EINVAL where the mapping permits no such access, -EFAULT where
 * it is bad all the same, -ENOMEM. */
int populate_for_access(struct mm *mm, va_t start, va_t end, enum access access);

/*
 * Other flags for [start, end), which may have holes: `set` are set, `clear` cleared. Reserving
 * makes the tables one's own where flags that touch entries change; changing cuts and merges VMAs,
 * one by one, until there would be too many of them: -ENOMEM.
 */
struct flag_change {
    uint32_t set;
    uint32_t clear;
};

int flags_reserve(struct mm *mm, va_t start, va_t end, const struct flag_change *change);
int flags_change(struct mm *mm, va_t start, va_t end, const struct flag_change *change);

#endif
