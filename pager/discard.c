/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * madvise that gives pages up: DONTNEED, FREE, REMOVE, PAGEOUT; advice.h has the terms.
 *
 * DONTNEED drops a shared table as a whole where nothing else lies in its span; one that it empties
 * in part, or that holds guard pages, which stay, it first makes this address space's own.
 */
#include "pager/advice.h"
#include "pager/file.h"
#include "pager/map.h"

struct range {
    va_t start;
    va_t end;
};

/* Does a table go with all that it holds? */
static bool goes_whole(struct mm *mm, const struct pt_leaf *leaf, const struct range *range)
{
    const struct geometry *geometry = mm->tree.geometry;
    va_t start = geometry_span_start(geometry, leaf->va);
    va_t end = start + geometry_span_bytes(geometry);

    if (!table_is_shared(leaf->table) || table_has_guards(leaf->table))
        return false;
    return !(start < range->start && vma_any_in(mm, start, range->start)) &&
           !(range->end < end && vma_any_in(mm, range->end, end));
}

static int own_what_stays(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct mm *mm = mm_of_tree(tree);

    if (goes_whole(mm, leaf, context))
        return 0;
    return map_own_tables(mm, leaf->va, leaf->va + PAGE_BYTES);
}

int discard_prepare(struct mm *mm, va_t start, va_t end)
{
    static const struct pt_visitor visitor = {.leaf = own_what_stays};
    struct range range = {start, end};

    return pt_walk(&mm->tree, start, end, &visitor, &range);
}

static void release_but_guards(struct ram *ram, struct table *table, unsigned first, unsigned end)
{
    for (unsigned slot = first; slot < end; slot++) {
        if (entry_is_present(table_entry(ram, table, slot)))
            table_release(ram, table, slot, slot + 1);
    }
}

static int discard_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    if (goes_whole(mm_of_tree(tree), leaf, context)) {
        table_drop(tree, leaf->parent, leaf->parent_slot);
        return 0;
    }
    struct table *table = table_made_own(tree, leaf);

    if (table_has_guards(table))
        release_but_guards(tree->ram, table, leaf->first, leaf->end);
    else
        table_release(tree->ram, table, leaf->first, leaf->end);
    return 0;
}

int discard_commit(struct mm *mm, va_t start, va_t end)
{
    static const struct pt_visitor visitor = {.leaf = discard_leaf, .left = tree_free_empty_upper};
    struct range range = {start, end};

    mm_revoke(mm, start, end);
    return pt_walk(&mm->tree, start, end, &visitor, &range);
}

/* From now on a page is clean: its next write, which must be seen, keeps it. */
static int lazy_free_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct table *table = table_made_own(tree, leaf);

    (void)context;
    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        entry_t entry = table_entry(tree->ram, table, slot);

        if (!entry_is_present(entry) || tree->ram->frames[entry_pfn(entry)].kind != FRAME_ANON)
            continue;
        entry = entry_without(entry, ENTRY_ACCESSED | ENTRY_DIRTY);
        table_change(tree->ram, table, slot, entry_with(entry, ENTRY_LAZY_FREE));
    }
    return 0;
}

int lazy_free_commit(struct mm *mm, va_t start, va_t end)
{
    static const struct pt_visitor visitor = {.leaf = lazy_free_leaf};

    mm_revoke(mm, start, end);
    return pt_walk(&mm->tree, start, end, &visitor, NULL);
}

int remove_commit(struct mm *mm, va_t start, va_t end)
{
    const struct vma *vma;
    int error = 0;
    va_t from;

    while (error == 0 && (vma = vma_part_next(mm, &start, end, &from)) != NULL) {
        uint64_t first = vma_object_page(vma, from);

        error = object_punch_locked(mm->machine, vma->object, first,
                                    first + ((start - from) >> PAGE_SHIFT));
    }
    return error;
}

/* An object's page that this entry alone maps, and no device holds. */
static bool can_be_paged_out(const struct ram *ram, entry_t entry)
{
    if (!entry_is_present(entry))
        return false;
    const struct frame *frame = &ram->frames[entry_pfn(entry)];

    return (frame->kind == FRAME_SHM || frame->kind == FRAME_FILE) && frame->count == 2 &&
           frame->pins == 0;
}

/* The page goes from the address space, and from memory if the host's file has the same. */
static void page_out(struct mm *mm, va_t va, struct table *table, unsigned slot)
{
    struct ram *ram = mm->tree.ram;
    struct object *object = vma_look(mm, va)->object;
    pfn_t pfn = entry_pfn(table_clear(ram, table, slot));

    mm_revoke(mm, va, va + PAGE_BYTES);
    frame_put(ram, pfn);
    if (object->file < 0 || (ram->frames[pfn].flags & FRAME_DIRTY))
        return;
    object->pages[vma_object_page(vma_look(mm, va), va)] = OBJECT_PAGE_ABSENT;
    frame_put(ram, pfn);
}

static int page_out_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    (void)context;
    if (table_is_shared(leaf->table))
        return 0; /* then several address spaces map each of its pages */
    struct table *table = table_made_own(tree, leaf);

    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        if (can_be_paged_out(tree->ram, table_entry(tree->ram, table, slot)))
            page_out(mm_of_tree(tree), leaf->va + (slot - leaf->first) * PAGE_BYTES, table, slot);
    }
    return 0;
}

int page_out_commit(struct mm *mm, va_t start, va_t end)
{
    static const struct pt_visitor visitor = {.leaf = page_out_leaf};

    return pt_walk(&mm->tree, start, end, &visitor, NULL);
}
