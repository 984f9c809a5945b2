/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Invariants between the VMAs, the tables, the windows and the reverse map. */
#include <stdlib.h>

#include "pager/invariant.h"
#include "pager/mm.h"
#include "pager/object.h"
#include "pager/task.h"

/* What a walk over one address space looks for, and what it found wrong. */
struct inspection {
    struct machine *machine;
    struct mm *mm;
    uint32_t task_id;
    char *why;
    size_t why_bytes;
};

/* Runs the visitor over every address space; true when it never said 1. */
static bool inspect_all(struct machine *machine, const struct pt_visitor *visitor, char *why,
                        size_t why_bytes)
{
    for (struct task *task = machine->task_list; task != NULL; task = task->next) {
        struct inspection inspection = {.machine = machine,
                                        .mm = task->mm,
                                        .task_id = task->id,
                                        .why = why,
                                        .why_bytes = why_bytes};

        if (task->mm == NULL)
            continue;
        if (pt_walk(&task->mm->tree, 0, machine->ram.geometry->user_end, visitor, &inspection) != 0)
            return false;
    }
    return true;
}

static bool entry_suits_vma(const struct machine *machine, const struct vma *vma, va_t va,
                            entry_t entry)
{
    const struct frame *frame = &machine->ram.frames[entry_pfn(entry)];

    if (vma->object != NULL && vma_object_page(vma, va) >= vma->object->page_count)
        return false;
    if (entry_is_writable(entry) && !vma_permits(vma, true))
        return false;
    if (entry_is_readable(entry) != vma_permits(vma, false))
        return false;
    if (entry_is_lazy_free(entry) && (frame->kind != FRAME_ANON || entry_is_dirty(entry)))
        return false;
    if (frame->kind == FRAME_ANON)
        return vma_is_private(vma);
    if (vma->object == NULL)
        return frame->kind == FRAME_ZERO;
    bool right_page = vma->object->pages[vma_object_page(vma, va)] == entry_pfn(entry);

    return right_page && !(vma_is_private(vma) && entry_is_writable(entry));
}

static int inspect_cover(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    const struct inspection *inspection = context;

    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        entry_t entry = table_entry(tree->ram, leaf->table, slot);
        va_t va = leaf->va + (slot - leaf->first) * PAGE_BYTES;

        if (entry_is_none(entry))
            continue;
        const struct vma *vma = vma_look(inspection->mm, va);

        if (vma != NULL && vma_contains(vma, va) &&
            (!entry_is_present(entry) || entry_suits_vma(inspection->machine, vma, va, entry)))
            continue;
        invariant_broken(inspection->why, inspection->why_bytes,
                         "task %u: the entry for 0x%llx (0x%llx) does not suit its VMA",
                         (unsigned)inspection->task_id, (unsigned long long)va,
                         (unsigned long long)entry);
        return 1;
    }
    return 0;
}

bool entries_are_covered(struct machine *machine, char *why, size_t why_bytes)
{
    static const struct pt_visitor visitor = {.leaf = inspect_cover};

    return inspect_all(machine, &visitor, why, why_bytes);
}

/* The VMA at an address, or NULL. */
static const struct vma *vma_at(struct mm *mm, va_t va)
{
    const struct vma *vma = vma_look(mm, va);

    return vma != NULL && vma_contains(vma, va) ? vma : NULL;
}

/* Are two VMAs, or none, alike at an address in all that entries depend on? */
static bool alike_at(const struct vma *one, const struct vma *other, va_t va)
{
    if (one == NULL || other == NULL)
        return one == other;
    if (((one->flags ^ other->flags) & VMA_LAYOUT_FLAGS) != 0 || one->object != other->object)
        return false;
    return one->object == NULL || vma_object_page(one, va) == vma_object_page(other, va);
}

/* Where the next VMA begins or this one ends; beyond every address when there is none. */
static va_t edge_after(struct mm *mm, va_t va)
{
    const struct vma *vma = vma_look(mm, va);

    if (vma == NULL)
        return UINT64_MAX;
    return vma->start > va ? vma->start : vma->end;
}

/* From edge to edge of either: where advice, which does not count, cuts VMAs, they are alike. */
static bool same_layout(struct mm *one, struct mm *other, va_t start, va_t end)
{
    for (va_t va = start; va < end; va = min_u64(edge_after(one, va), edge_after(other, va))) {
        if (!alike_at(vma_at(one, va), vma_at(other, va), va))
            return false;
    }
    return true;
}

struct comparison {
    struct inspection *inspection;
    va_t start;
    va_t end;
    bool differs;
};

static void compare_layout(void *context, struct pt_tree *tree)
{
    struct comparison *comparison = context;

    if (!same_layout(comparison->inspection->mm, mm_of_tree(tree), comparison->start,
                     comparison->end))
        comparison->differs = true;
}

static int inspect_layout(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct inspection *inspection = context;
    va_t start = geometry_span_start(tree->geometry, leaf->va);
    struct comparison comparison = {.inspection = inspection,
                                    .start = start,
                                    .end = start + geometry_span_bytes(tree->geometry)};

    table_for_each_tree(tree->ram, leaf->table, compare_layout, &comparison);
    if (!comparison.differs)
        return 0;
    invariant_broken(inspection->why, inspection->why_bytes,
                     "task %u: the table at 0x%llx is shared with another layout",
                     (unsigned)inspection->task_id, (unsigned long long)start);
    return 1;
}

bool layouts_are_same(struct machine *machine, char *why, size_t why_bytes)
{
    static const struct pt_visitor visitor = {.leaf = inspect_layout};

    return inspect_all(machine, &visitor, why, why_bytes);
}

/* Is some VMA of the span private? */
static bool span_has_private(struct mm *mm, va_t start, va_t end)
{
    for (struct vma *vma = vma_look(mm, start); vma != NULL && vma->start < end;
         vma = vma_next(vma)) {
        if (vma_is_private(vma))
            return true;
    }
    return false;
}

/* May a write pass through this table as it hangs here? */
static bool upper_permits_write(const struct mm *mm, const struct pt_leaf *leaf)
{
    const struct geometry *geometry = mm->tree.geometry;
    va_t start = geometry_span_start(geometry, leaf->va);

    return !table_is_shared(leaf->table) ||
           !span_has_private((struct mm *)(uintptr_t)mm, start,
                             start + geometry_span_bytes(geometry));
}

static int inspect_upper(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct inspection *inspection = context;

    (void)tree;
    if (!leaf->upper_writable || upper_permits_write(inspection->mm, leaf))
        return 0;
    invariant_broken(inspection->why, inspection->why_bytes,
                     "task %u: the shared table at 0x%llx can be written through",
                     (unsigned)inspection->task_id, (unsigned long long)leaf->va);
    return 1;
}

bool upper_entries_are_read_only(struct machine *machine, char *why, size_t why_bytes)
{
    static const struct pt_visitor visitor = {.leaf = inspect_upper};

    return inspect_all(machine, &visitor, why, why_bytes);
}

struct window_check {
    const struct mm *mm;
    bool wrong;
    va_t va;
};

/* Read from the direct map on purpose, by the walker: not what the MMU was told, but what is. */
static void check_page(void *context, va_t va, pfn_t pfn, bool writable)
{
    struct window_check *check = context;
    struct pt_leaf leaf;
    entry_t entry = ENTRY_NONE;

    if (pt_lookup(&check->mm->tree, va, &leaf))
        entry = table_entry(check->mm->tree.ram, leaf.table, leaf.first);
    bool may_read = entry_is_readable(entry) && entry_pfn(entry) == pfn;
    bool may_write = may_read && leaf.upper_writable && entry_is_writable(entry) &&
                     entry_is_dirty(entry) && upper_permits_write(check->mm, &leaf);

    if (may_read && (may_write || !writable))
        return;
    check->wrong = true;
    check->va = va;
}

bool windows_agree(struct machine *machine, char *why, size_t why_bytes)
{
    for (struct task *task = machine->task_list; task != NULL; task = task->next) {
        struct window_check check = {.mm = task->mm};

        if (task->mm == NULL || task->mm->space == NULL)
            continue;
        machine->mmu->ops->visit(task->mm->space, check_page, &check);
        if (check.wrong)
            return invariant_broken(
                why, why_bytes, "task %u: the window lets more through at 0x%llx than the tables",
                (unsigned)task->id, (unsigned long long)check.va);
    }
    return true;
}

/* Where the reverse map should lead: is it there, just once, and how many are there in all? */
struct rmap_search {
    const struct table *table;
    unsigned slot;
    unsigned found;
    unsigned all;
};

static void search_rmap(void *context, const struct table *table, unsigned slot)
{
    struct rmap_search *search = context;

    search->all++;
    search->found += table == search->table && slot == search->slot;
}

/* Each entry of each leaf table is found once; so with equal numbers nothing else is found. */
static bool table_is_in_rmap(struct machine *machine, const struct table *table, uint32_t *entries,
                             char *why, size_t why_bytes)
{
    for (unsigned slot = table->low; slot < table->high; slot++) {
        entry_t entry = table_entry(&machine->ram, table, slot);
        struct rmap_search search = {.table = table, .slot = slot};

        if (!entry_is_present(entry) || entry_pfn(entry) == machine->ram.zero_pfn)
            continue;
        machine->kernel->rmap->visit(machine->rmap_context, entry_pfn(entry), search_rmap, &search);
        if (search.found != 1)
            return invariant_broken(why, why_bytes, "frame %u: slot %u of table %u found %u times",
                                    (unsigned)entry_pfn(entry), slot, (unsigned)table->pfn,
                                    search.found);
        entries[entry_pfn(entry)]++;
    }
    return true;
}

static bool no_other_in_rmap(struct machine *machine, const uint32_t *entries, char *why,
                             size_t why_bytes)
{
    const struct ram *ram = &machine->ram;

    for (pfn_t pfn = 0; pfn < ram->frame_count; pfn = frame_touched_after(ram, pfn)) {
        struct rmap_search search = {0};

        if (ram->frames[pfn].kind != FRAME_TABLE)
            machine->kernel->rmap->visit(machine->rmap_context, pfn, search_rmap, &search);
        if (search.all != entries[pfn])
            return invariant_broken(why, why_bytes, "frame %u: %u in the reverse map, %u entries",
                                    (unsigned)pfn, search.all, (unsigned)entries[pfn]);
    }
    return true;
}

bool rmap_agrees(struct machine *machine, char *why, size_t why_bytes)
{
    const struct ram *ram = &machine->ram;

    if (machine->kernel->rmap->hooks == NULL)
        return true;
    uint32_t *entries = calloc(ram->frame_count, sizeof(*entries));

    if (entries == NULL)
        return invariant_broken(why, why_bytes, "memory ran out");
    bool agrees = true;

    for (pfn_t pfn = 0; pfn < ram->frame_count && agrees; pfn++) {
        const struct frame *frame = &ram->frames[pfn];

        if (frame->kind == FRAME_TABLE && frame->table->level == 0)
            agrees = table_is_in_rmap(machine, frame->table, entries, why, why_bytes);
    }
    agrees = agrees && no_other_in_rmap(machine, entries, why, why_bytes);
    free(entries);
    return agrees;
}
