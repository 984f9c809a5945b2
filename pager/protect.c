/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mprotect: rights are taken away at once, and given back one fault at a time.
 *
 * An entry keeps its frame under every protection. Without any right it stops being the user's;
 * without the right to write it is read-only. A right that is given back never sets the write bit:
 * whether the page may be written in place or must be copied first is for the next write fault to
 * find out. So COW survives any order of mprotect and fork.
 */
#include <errno.h>

#include "pager/map.h"

static entry_t entry_for_flags(entry_t entry, uint32_t flags)
{
    if ((flags & VMA_PROTECTION) == 0)
        return entry_without(entry, ENTRY_USER | ENTRY_WRITE);
    entry = entry_with(entry, ENTRY_USER);
    return flags & VMA_WRITE ? entry : entry_without(entry, ENTRY_WRITE);
}

static int protect_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    const uint32_t *flags = context;
    struct table *table;

    if (table_for_one_at(tree, leaf, NULL, &table) != 0)
        return -ENOMEM;
    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        entry_t entry = table_entry(tree->ram, table, slot);

        if (entry_is_present(entry) && entry_for_flags(entry, *flags) != entry)
            table_change(tree->ram, table, slot, entry_for_flags(entry, *flags));
    }
    return 0;
}

/* Cuts the VMA to the range, gives it its new rights and merges it; returns where it ended. */
static va_t protect_vma(struct mm *mm, struct vma *vma, va_t start, va_t end, uint32_t protection)
{
    static const struct pt_visitor visitor = {.leaf = protect_leaf};

    va_t from = max_u64(vma->start, start);
    va_t to = min_u64(vma->end, end);

    if ((vma->flags & VMA_PROTECTION) == protection)
        return to;
    if (vma->start < from)
        vma = vma_split(vma, from);
    if (vma->end > to)
        vma_split(vma, to);
    vma->flags = (vma->flags & ~VMA_PROTECTION) | protection;
    mm_revoke(mm, from, to);
    pt_walk(&mm->tree, from, to, &visitor, &vma->flags);
    vma_merge(vma);
    return to;
}

/*
 * How far the change may go: up to the first hole (-ENOMEM) or the first mapping that may never be
 * written (-EACCES). What lies before it is changed all the same: Linux defines it so.
 */
static int protect_reach(struct mm *mm, va_t start, va_t end, uint32_t protection, va_t *reach)
{
    struct vma *vma = vma_find(mm, start);

    for (*reach = start; *reach < end; vma = vma_next(vma)) {
        if (vma == NULL || vma->start > *reach)
            return -ENOMEM;
        if ((protection & VMA_WRITE) && !(vma->flags & VMA_MAY_WRITE))
            return -EACCES;
        *reach = min_u64(vma->end, end);
    }
    return 0;
}

static int protect_locked(struct mm *mm, va_t start, uint64_t bytes, uint32_t protection)
{
    uint64_t rounded = round_up(bytes, PAGE_BYTES);
    va_t reach;

    if (rounded == 0 || rounded > UINT64_MAX - start)
        return -ENOMEM;
    int result = protect_reach(mm, start, start + rounded, protection, &reach);
    int error = reach > start ? vma_reserve(mm, 2) : result;

    if (error == 0)
        error = map_own_tables(mm, start, reach);
    if (error != 0)
        return error;
    while (start < reach)
        start = protect_vma(mm, vma_find(mm, start), start, reach, protection);
    return result;
}

int sys_mprotect(struct task *task, va_t start, uint64_t bytes, uint32_t protection)
{
    if (start % PAGE_BYTES != 0 || (protection & ~VMA_PROTECTION) != 0)
        return -EINVAL;
    if (bytes == 0)
        return 0;
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    error = protect_locked(task->mm, start, bytes, protection);
    machine_unlock(task->machine);
    return error;
}
