/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a fault is: the pure half. fault_apply.c has the other one. */
#include "pager/fault.h"

#include <assert.h>

#include "pager/object.h"

/* Does the mapping below keep one that grows at a distance? Not if it grows itself, nor if nobody
 * may touch it anyway. */
static bool is_guarded(const struct mm *mm, const struct vma *below, va_t page)
{
    return below != NULL && !(below->flags & VMA_GROWS_DOWN) &&
           (below->flags & VMA_PROTECTION) != 0 && page - below->end < mm->stack_gap_bytes;
}

bool fault_meets_stack(const struct fault *fault)
{
    const struct vma *stack = fault->vma;

    return stack != NULL && fault->va < stack->start && (stack->flags & VMA_GROWS_DOWN) &&
           !is_guarded(fault->mm, vma_previous(stack), page_of(fault->va));
}

/* Can the mapping above the address grow down to it? */
static bool stack_can_grow(const struct fault *fault)
{
    struct mm *mm = fault->mm;
    const struct vma *stack = fault->vma;
    va_t page = page_of(fault->va);
    uint64_t pages = (stack->start - page) >> PAGE_SHIFT;

    return fault_meets_stack(fault) && stack->end - page <= mm->stack_limit_bytes &&
           pages <= stack->object_page && mm_may_expand(mm, stack->flags, pages);
}

/* What is missing above the tables: a mapping, a right. */
static enum event classify_mapping(const struct fault *fault)
{
    const struct vma *vma = fault->vma;

    if (vma == NULL)
        return EVENT_BAD_MAPERR;
    if (fault->va < vma->start)
        return stack_can_grow(fault) ? EVENT_STACK_GROWTH : EVENT_BAD_MAPERR;
    if (!vma_permits(vma, fault->access == ACCESS_WRITE))
        return EVENT_BAD_ACCERR;
    return FAULT_PERMITTED;
}

bool fault_may_fill_for_all(const struct fault *fault)
{
    if (fault->mm->machine->kernel->absent_entry != ABSENT_FILLED)
        return false; /* what the others have resident would change */
    if (fault->leaf.upper_writable)
        return true; /* every mapping of the span is shared: all see the same object */
    if (fault->access == ACCESS_WRITE)
        return false;
    /* A new anonymous page is this address space's alone. */
    return fault->vma->object != NULL || !fault->mm->machine->no_zero_page;
}

static enum event classify_absent(const struct fault *fault)
{
    const struct vma *vma = fault->vma;
    const struct object *object = vma->object;

    if (object != NULL && vma_object_page(vma, fault->va) >= object->page_count)
        return EVENT_BAD_BUS;
    if (fault->has_table && table_is_shared(fault->leaf.table) && !fault_may_fill_for_all(fault))
        return EVENT_TABLE_SPLIT;
    if (object == NULL)
        return EVENT_ZERO_FILL;
    return object->kind == FRAME_SHM ? EVENT_SHM_FILL : EVENT_FILE_FILL;
}

/* A write to a page that is there. */
static enum event classify_write(const struct fault *fault)
{
    const struct pt_leaf *leaf = &fault->leaf;
    const struct ram *ram = fault->mm->tree.ram;

    if (!leaf->upper_writable)
        return table_is_shared(leaf->table) ? EVENT_TABLE_SPLIT : EVENT_TABLE_TAKE_BACK;
    if (entry_is_writable(fault->entry))
        return entry_is_dirty(fault->entry) ? FAULT_PERMITTED : EVENT_MARK_DIRTY;
    if (!vma_is_private(fault->vma))
        return EVENT_MARK_DIRTY;
    const struct frame *frame = &ram->frames[entry_pfn(fault->entry)];
    bool alone = entry_is_exclusive(fault->entry) || frame->count == 1;

    return frame->kind == FRAME_ANON && alone ? EVENT_COW_REUSE : EVENT_COW_COPY;
}

entry_t fault_object_rights(const struct vma *vma)
{
    bool notices = vma->mm->machine->kernel->write_notify && vma->object->file >= 0;

    return !vma_is_private(vma) && (vma->flags & VMA_WRITE) && !notices ? ENTRY_WRITE : 0;
}

/* Looks at the tables for the page. */
static void look_up(struct fault *fault)
{
    const struct pt_tree *tree = &fault->mm->tree;

    fault->has_table = pt_lookup(tree, fault->va, &fault->leaf);
    fault->entry = ENTRY_NONE;
    if (fault->has_table)
        fault->entry = table_entry(tree->ram, fault->leaf.table, fault->leaf.first);
}

enum event fault_classify(struct fault *fault)
{
    if (fault->va >= fault->mm->user_end)
        return EVENT_BAD_MAPERR;
    fault->vma = vma_find(fault->mm, fault->va);
    enum event step = classify_mapping(fault);

    if (step != FAULT_PERMITTED)
        return step;
    look_up(fault);
    if (entry_is_guard(fault->entry))
        return EVENT_BAD_MAPERR;
    if (entry_is_none(fault->entry))
        return classify_absent(fault);
    assert(entry_is_present(fault->entry)); /* nothing is swapped out yet */
    return fault->access == ACCESS_WRITE ? classify_write(fault) : FAULT_PERMITTED;
}
