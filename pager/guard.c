/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guard pages: pages that no access may touch, within a mapping that stays whole.
 *
 * A guard is an entry of the table, so it costs no VMA. It takes the place of a page, which goes as
 * by DONTNEED; it stays under every protection, DONTNEED and truncation, and fork hands it on. It
 * ends with GUARD_REMOVE, munmap or a new mapping. advice.h has the terms.
 */
#include "pager/advice.h"
#include "pager/anon_family.h"
#include "pager/map.h"

/* Tables for all of [start, end), made where there is none. */
static int own_made_tables(struct mm *mm, va_t start, va_t end)
{
    const struct geometry *geometry = mm->tree.geometry;
    int error = map_own_tables(mm, start, end);

    while (error == 0 && start < end) {
        struct table *table;

        error = table_for_one(&mm->tree, start, NULL, &table);
        start = geometry_span_start(geometry, start) + geometry_span_bytes(geometry);
    }
    return error;
}

int guard_install_prepare(struct mm *mm, va_t start, va_t end)
{
    int error = anon_family_reserve_range(mm, start, end);
    va_t from;

    while (error == 0 && vma_part_next(mm, &start, end, &from) != NULL)
        error = own_made_tables(mm, from, start);
    return error;
}

static int install_in_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct table *table = table_made_own(tree, leaf);

    (void)context;
    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        if (entry_is_guard(table_entry(tree->ram, table, slot)))
            continue;
        table_release(tree->ram, table, slot, slot + 1);
        table_put(tree->ram, table, slot, entry_make_guard());
    }
    return 0;
}

int guard_install_commit(struct mm *mm, va_t start, va_t end)
{
    static const struct pt_visitor visitor = {.leaf = install_in_leaf};
    struct vma *vma;
    va_t from;

    mm_revoke(mm, start, end);
    while ((vma = vma_part_next(mm, &start, end, &from)) != NULL) {
        pt_walk(&mm->tree, from, start, &visitor, NULL);
        vma->flags |= VMA_MAYBE_GUARD;
        if (vma->object == NULL)
            anon_family_join(vma); /* as Linux does, though here nothing needs it */
    }
    return 0;
}

static int remove_from_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct table *table = table_made_own(tree, leaf);

    (void)context;
    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        if (entry_is_guard(table_entry(tree->ram, table, slot)))
            table_clear(tree->ram, table, slot);
    }
    return 0;
}

int guard_remove_commit(struct mm *mm, va_t start, va_t end)
{
    static const struct pt_visitor visitor = {.leaf = remove_from_leaf};

    mm->machine->changes++;
    return pt_walk(&mm->tree, start, end, &visitor, NULL);
}
