/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a fault does: one function for each step that fault_classify() may name.
 *
 * Each reserves first, then takes its table through a door, then changes it. A page that this
 * address space alone gives up is revoked in its window before the reference to its frame goes.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "pager/anon_family.h"
#include "pager/fault.h"
#include "pager/fault_around.h"
#include "pager/map.h"
#include "pager/object.h"

static const struct ram_need one_page = {.frames = 1, .mappings = 1};

/*
 * The frame that suits the page best: the one its window had there before, so that one mprotect
 * installs it; else the one after its neighbour's, so that runs of pages are runs of frames.
 */
static pfn_t frame_hint(const struct fault *fault, const struct table *table, unsigned slot)
{
    const struct mm *mm = fault->mm;
    const struct ram *ram = mm->tree.ram;

    if (mm->space != NULL) {
        pfn_t sticky = mm->machine->mmu->ops->frame_hint(mm->space, page_of(fault->va));

        if (frame_is_touched(ram, sticky) && ram->frames[sticky].kind == FRAME_FREE)
            return sticky;
    }
    if (ram->aged || slot == 0)
        return PFN_NONE;
    entry_t before = table_entry(ram, table, slot - 1);

    return entry_is_present(before) ? entry_pfn(before) + 1 : PFN_NONE;
}

static unsigned slot_of(const struct fault *fault)
{
    return geometry_slot(fault->mm->tree.geometry, fault->va, 0);
}

/* This address space's own table for the page. */
static int own_table(const struct fault *fault, const struct ram_need *need, struct table **table)
{
    struct pt_tree *tree = &fault->mm->tree;

    if (fault->has_table)
        return table_for_one_at(tree, &fault->leaf, need, table);
    return table_for_one(tree, fault->va, need, table);
}

/* The table for a new entry: one's own, or everybody's where the step may fill for all. */
static int table_to_fill(struct fault *fault, const struct ram_need *need, struct table **table)
{
    struct pt_tree *tree = &fault->mm->tree;

    if (!fault->has_table || !table_is_shared(fault->leaf.table))
        return own_table(fault, need, table);
    int error = ram_reserve(tree->ram, need);

    if (error == 0)
        *table = table_for_all(tree->ram, fault->leaf.table);
    return error;
}

static int apply_split(struct fault *fault)
{
    va_t page = page_of(fault->va);

    return map_own_tables(fault->mm, page, page + PAGE_BYTES);
}

static int apply_stack_growth(struct fault *fault)
{
    va_t page = page_of(fault->va);
    struct vma *stack = fault->vma;
    int error = anon_family_reserve(stack);

    if (error == 0)
        error = map_own_end_tables(fault->mm, page, stack->start);
    if (error != 0)
        return error;
    anon_family_join(stack);
    stack->object_page -= (stack->start - page) >> PAGE_SHIFT;
    vma_set_range(stack, page, stack->end);
    vma_leave_apart(stack);
    return 0;
}

static int fill_with_zero_frame(struct fault *fault)
{
    struct ram *ram = fault->mm->tree.ram;
    struct ram_need none = {0};
    struct table *table;
    int error = table_to_fill(fault, &none, &table);

    if (error != 0)
        return error;
    table_fill(ram, table, slot_of(fault), entry_make(ram->zero_pfn, ENTRY_ACCESSED));
    fault->pfn = ram->zero_pfn;
    return 0;
}

/* Rights of an anonymous page that this address space holds alone. */
static entry_t exclusive_flags(const struct fault *fault)
{
    entry_t flags = ENTRY_ACCESSED | ENTRY_DIRTY | ENTRY_EXCLUSIVE;

    return fault->vma->flags & VMA_WRITE ? flags | ENTRY_WRITE : flags;
}

static int apply_zero_fill(struct fault *fault)
{
    struct ram *ram = fault->mm->tree.ram;
    unsigned slot = slot_of(fault);
    struct table *table;

    if (fault->access == ACCESS_READ && !fault->mm->machine->no_zero_page)
        return fill_with_zero_frame(fault);
    int error = anon_family_reserve(fault->vma);

    if (error == 0)
        error = table_to_fill(fault, &one_page, &table);
    if (error != 0)
        return error;
    pfn_t pfn = frame_take(ram, FRAME_ANON, frame_hint(fault, table, slot));

    frame_clear(ram, pfn);
    table_fill(ram, table, slot, entry_make(pfn, exclusive_flags(fault)));
    fault->pfn = pfn;
    anon_family_join(fault->vma); /* from now on fork has to hand the mapping's entries on */
    return 0;
}

/* A page of an object, and what lies around it. */
static int apply_object_fill(struct fault *fault)
{
    struct machine *machine = fault->mm->machine;
    const struct vma *vma = fault->vma;
    unsigned slot = slot_of(fault);
    struct fault_around around = fault_around_of(fault);
    struct ram_need need = {.frames = 1, .mappings = 1 + around.end - around.first};
    struct table *table;
    pfn_t pfn;
    int error = table_to_fill(fault, &need, &table);

    if (error == 0)
        error = object_page(machine, vma->object, vma_object_page(vma, fault->va),
                            frame_hint(fault, table, slot), &pfn);
    if (error != 0)
        return error;
    entry_t flags = ENTRY_ACCESSED | fault_object_rights(vma);

    if (fault->access == ACCESS_WRITE && !vma_is_private(vma))
        flags |= ENTRY_WRITE | ENTRY_DIRTY;
    table_fill(&machine->ram, table, slot, entry_make(pfn, flags));
    fault->pfn = pfn;
    fault_around_fill(fault, &around, table);
    return 0;
}

/* A mapping without any right keeps its pages out of the user's reach. */
static entry_t with_users_right(const struct fault *fault, entry_t entry)
{
    if ((fault->vma->flags & VMA_PROTECTION) == 0)
        return entry_without(entry, ENTRY_USER);
    return entry;
}

static int apply_cow_copy(struct fault *fault)
{
    struct mm *mm = fault->mm;
    struct ram *ram = mm->tree.ram;
    unsigned slot = slot_of(fault);
    struct table *table;
    int error = anon_family_reserve(fault->vma);

    if (error == 0)
        error = own_table(fault, &one_page, &table);
    if (error != 0)
        return error;
    pfn_t source = entry_pfn(table_entry(ram, table, slot));
    pfn_t copy = frame_take(ram, FRAME_ANON, frame_hint(fault, table, slot));

    if (source == ram->zero_pfn)
        frame_clear(ram, copy);
    else
        frame_copy(ram, copy, source);
    table_clear(ram, table, slot);
    mm_revoke(mm, page_of(fault->va), page_of(fault->va) + PAGE_BYTES);
    frame_put(ram, source);
    table_fill(ram, table, slot, with_users_right(fault, entry_make(copy, exclusive_flags(fault))));
    fault->pfn = copy;
    anon_family_join(fault->vma);
    return 0;
}

static int apply_cow_reuse(struct fault *fault)
{
    struct pt_tree *tree = &fault->mm->tree;
    unsigned slot = slot_of(fault);
    struct table *table;
    int error = own_table(fault, NULL, &table);

    if (error != 0)
        return error;
    entry_t entry = entry_without(table_entry(tree->ram, table, slot), ENTRY_LAZY_FREE);

    table_change(tree->ram, table, slot, entry_with(entry, exclusive_flags(fault)));
    fault->pfn = entry_pfn(entry);
    return 0;
}

static int apply_mark_dirty(struct fault *fault)
{
    struct ram *ram = fault->mm->tree.ram;
    struct table *table = table_for_all(ram, fault->leaf.table);
    entry_t entry = entry_without(fault->entry, ENTRY_LAZY_FREE);

    table_change(ram, table, slot_of(fault),
                 entry_with(entry, ENTRY_WRITE | ENTRY_ACCESSED | ENTRY_DIRTY));
    fault->pfn = entry_pfn(entry);
    return 0;
}

/*
 * A read past the end of an object is bad, but first Linux maps what lies around it.
 */
static void fill_around_nothing(struct fault *fault)
{
    struct fault_around around = fault_around_of(fault);
    struct ram_need need = {.mappings = around.end - around.first};
    bool for_all = fault->has_table && fault->leaf.upper_writable && fault_may_fill_for_all(fault);
    struct table *table;

    if (!fault_around_finds(fault, &around))
        return;
    int error = for_all ? table_to_fill(fault, &need, &table) : own_table(fault, &need, &table);

    if (error == 0)
        fault_around_fill(fault, &around, table);
}

int fault_apply(struct fault *fault, enum event step)
{
    fault->pfn = PFN_NONE;
    switch (step) {
    case EVENT_TABLE_SPLIT:
    case EVENT_TABLE_TAKE_BACK:
        return apply_split(fault);
    case EVENT_STACK_GROWTH:
        return apply_stack_growth(fault);
    case EVENT_ZERO_FILL:
        return apply_zero_fill(fault);
    case EVENT_SHM_FILL:
    case EVENT_FILE_FILL:
        return apply_object_fill(fault);
    case EVENT_COW_COPY:
        return apply_cow_copy(fault);
    case EVENT_COW_REUSE:
        return apply_cow_reuse(fault);
    case EVENT_MARK_DIRTY:
        return apply_mark_dirty(fault);
    default:
        assert(!"a step that fault_classify() never names");
        return -EINVAL;
    }
}

/* Would a processor do the step by itself? It marks the page dirty where it may write. */
static bool is_processors_own(const struct fault *fault, enum event step)
{
    return step == EVENT_MARK_DIRTY && entry_is_writable(fault->entry);
}

/* One step done and recorded; what it says when it could not be done. */
static enum event take_step(struct fault *fault, enum event step)
{
    struct machine *machine = fault->mm->machine;
    bool by_processor = is_processors_own(fault, step);
    int error = fault_apply(fault, step);

    if (error != 0)
        return error == -EIO ? EVENT_BAD_BUS : EVENT_BAD_OOM;
    event_record(&machine->events, step, fault->task_id, fault->va, fault->pfn);
    machine->changes++;
    fault->steps += by_processor ? 0 : 1;
    return FAULT_PERMITTED;
}

/* The hardware's accessed bit: it is meant for all that share the table. */
static void mark_accessed(struct fault *fault)
{
    struct ram *ram = fault->mm->tree.ram;

    if (entry_is_accessed(fault->entry))
        return;
    fault->entry = entry_with(fault->entry, ENTRY_ACCESSED);
    table_change(ram, table_for_all(ram, fault->leaf.table), slot_of(fault), fault->entry);
}

/*
 * Linux founds the family of a mapping that is to grow before it asks whether the limits allow, and
 * that of a private one before it asks whether there is a page to copy.
 */
static void note_refusal(struct fault *fault, enum event bad)
{
    bool to_copy = bad == EVENT_BAD_BUS && fault->access == ACCESS_WRITE;
    bool to_grow = bad == EVENT_BAD_MAPERR && fault_meets_stack(fault);

    if ((to_grow || (to_copy && vma_is_private(fault->vma))) &&
        anon_family_reserve(fault->vma) == 0)
        anon_family_join(fault->vma);
}

/* The events of looking for a mapping, which stand together. */
struct lookup_counts {
    uint64_t counts[EVENT_INDEX_STEP - EVENT_VMA_LOOKUP + 1];
};

static struct lookup_counts lookups_so_far(const struct fault *fault)
{
    struct lookup_counts lookups;

    memcpy(&lookups, &fault->mm->machine->events.counts[EVENT_VMA_LOOKUP], sizeof(lookups));
    return lookups;
}

static void set_lookups(const struct fault *fault, const struct lookup_counts *lookups)
{
    memcpy(&fault->mm->machine->events.counts[EVENT_VMA_LOOKUP], lookups, sizeof(*lookups));
}

/* Applies steps, the first of which is classified, until the access is permitted or bad. */
static enum event resolve_from(struct fault *fault, enum event step)
{
    while (step != FAULT_PERMITTED) {
        if (step == EVENT_BAD_BUS)
            fill_around_nothing(fault);
        if (fault_is_bad(step)) {
            note_refusal(fault, step);
            return step;
        }
        step = take_step(fault, step);
        if (fault_is_bad(step))
            return step;
        step = fault_classify(fault);
    }
    mark_accessed(fault);
    return FAULT_PERMITTED;
}

/* A fault looks for its mapping once, however many steps it takes; a refill is no fault. */
enum event fault_resolve(struct fault *fault)
{
    struct lookup_counts none = lookups_so_far(fault);
    enum event step = fault_classify(fault);
    struct lookup_counts once = lookups_so_far(fault);

    step = resolve_from(fault, step);
    set_lookups(fault, step == FAULT_PERMITTED && fault->steps == 0 ? &none : &once);
    return step;
}

/* Is the page this address space's alone already? */
static bool is_exclusive(const struct fault *fault)
{
    return fault->leaf.upper_writable && !table_is_shared(fault->leaf.table) &&
           entry_is_exclusive(fault->entry);
}

enum event fault_resolve_exclusive(struct fault *fault)
{
    fault->for_pin = true;
    enum event step = fault_resolve(fault);

    while (step == FAULT_PERMITTED && vma_is_private(fault->vma) && !is_exclusive(fault)) {
        const struct ram *ram = fault->mm->tree.ram;
        const struct frame *frame = &ram->frames[entry_pfn(fault->entry)];
        enum event next = EVENT_COW_COPY;

        if (table_is_shared(fault->leaf.table))
            next = EVENT_TABLE_SPLIT;
        else if (!fault->leaf.upper_writable)
            next = EVENT_TABLE_TAKE_BACK;
        else if (frame->kind == FRAME_ANON && frame->count == 1)
            next = EVENT_COW_REUSE;
        step = take_step(fault, next);
        if (step == FAULT_PERMITTED)
            step = fault_resolve(fault);
    }
    return step;
}
