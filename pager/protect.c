/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mprotect: rights are taken away at once; the right to write is given back at once only where the
 * next write has nothing to find out.
 *
 * An entry keeps its frame under every protection. Without any right it stops being the user's;
 * without the right to write it is read-only. With it, the write bit comes back
 *   - of a private page, if the kernel does so (restores_write) and the page is exclusive: nobody
 *     else's, so that COW survives any order of mprotect and fork
 *   - of an object's page in a shared mapping, if it is dirty or its writes are not noticed
 * Else the next write fault finds out whether the page may be written in place.
 */
#include <errno.h>

#include "pager/advise.h"
#include "pager/fault.h"
#include "pager/map.h"

/* Does a write to this page of a writable mapping need no fault? */
static bool may_write_at_once(const struct vma *vma, entry_t entry)
{
    if (vma_is_private(vma))
        return vma->mm->machine->kernel->restores_write && entry_is_exclusive(entry);
    return entry_is_dirty(entry) || fault_object_rights(vma) != 0;
}

static entry_t entry_for_vma(const struct vma *vma, entry_t entry)
{
    if ((vma->flags & VMA_PROTECTION) == 0)
        return entry_without(entry, ENTRY_USER | ENTRY_WRITE);
    entry = entry_with(entry, ENTRY_USER);
    if (!(vma->flags & VMA_WRITE))
        return entry_without(entry, ENTRY_WRITE);
    return may_write_at_once(vma, entry) ? entry_with(entry, ENTRY_WRITE) : entry;
}

static int protect_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    const struct vma *vma = context;
    struct table *table;

    if (table_for_one_at(tree, leaf, NULL, &table) != 0)
        return -ENOMEM;
    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        entry_t entry = table_entry(tree->ram, table, slot);

        if (entry_is_present(entry) && entry_for_vma(vma, entry) != entry)
            table_change(tree->ram, table, slot, entry_for_vma(vma, entry));
    }
    return 0;
}

static uint32_t protected_flags(const struct vma *vma, uint32_t protection)
{
    uint32_t flags = (vma->flags & ~VMA_PROTECTION) | protection;
    bool was_written = vma->object != NULL || (vma->flags & VMA_ANCESTRY) != 0;

    if (flags_need_account(flags))
        return flags | VMA_ACCOUNT;
    /* What was promised can be taken back only while nothing was written. */
    return (flags & VMA_WRITE) || was_written ? flags : flags & ~VMA_ACCOUNT;
}

/* A mapping that becomes writable counts as data, which may be limited. */
static bool may_become(struct mm *mm, const struct vma *vma, uint32_t flags, uint64_t pages)
{
    return !(flags & VMA_WRITE) || mm_may_expand(mm, flags, pages) ||
           !mm_may_expand(mm, vma->flags, pages);
}

/* Locked private memory has its pages at once, those that a write would copy too. */
static bool wants_pages(uint32_t before, uint32_t protection)
{
    return (before & (VMA_WRITE | VMA_SHARED | VMA_LOCKED)) == VMA_LOCKED &&
           (protection & VMA_WRITE);
}

/* Gives [start, end) of one VMA its new rights: -ENOMEM. */
static int protect_part(struct mm *mm, struct vma *vma, va_t start, va_t end, uint32_t protection)
{
    static const struct pt_visitor visitor = {.leaf = protect_leaf};

    uint32_t flags = protected_flags(vma, protection);

    if ((vma->flags & VMA_PROTECTION) == protection)
        return 0;
    if (!may_become(mm, vma, flags, (end - start) >> PAGE_SHIFT))
        return -ENOMEM;
    int error = vma_modify(&vma, start, end, flags);

    if (error != 0)
        return error;
    mm_revoke(mm, start, end);
    pt_walk(&mm->tree, start, end, &visitor, vma);
    return 0;
}

/* VMA by VMA, each joined with its neighbours before the next is looked at; reserved: two VMAs. */
static int protect_range(struct mm *mm, va_t start, va_t end, uint32_t protection)
{
    int error = 0;

    while (start < end && error == 0) {
        struct vma *vma = vma_look(mm, start);
        va_t to = min_u64(vma->end, end);
        bool fills = wants_pages(vma->flags, protection);

        error = protect_part(mm, vma, start, to, protection);
        if (error == 0 && fills) {
            (void)populate_locked(mm, start, to); /* as far as it can be had */
            error = to < end ? vma_reserve(mm, 2) : 0;
        }
        start = to;
    }
    return error;
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
    va_t reach;
    int result = protect_reach(mm, start, start + bytes, protection, &reach);
    int error = reach > start ? vma_reserve(mm, 2) : result;

    if (error == 0)
        error = map_own_tables(mm, start, reach);
    if (error == 0)
        error = protect_range(mm, start, reach, protection);
    return error != 0 ? error : result;
}

int sys_mprotect(struct task *task, va_t start, uint64_t bytes, uint32_t protection)
{
    uint64_t rounded = round_up(bytes, PAGE_BYTES);

    if (start % PAGE_BYTES != 0)
        return -EINVAL;
    if (bytes == 0)
        return 0;
    if (rounded == 0 || rounded > UINT64_MAX - start)
        return -ENOMEM;
    if ((protection & ~VMA_PROTECTION) != 0)
        return -EINVAL;
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    error = protect_locked(task->mm, start, rounded, protection);
    machine_unlock(task->machine);
    return error;
}
