/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fault-around; fault_around.h says which pages are mapped. */
#include "pager/fault_around.h"

#include "pager/object.h"

struct fault_around fault_around_of(const struct fault *fault)
{
    const struct geometry *geometry = fault->mm->tree.geometry;
    const struct vma *vma = fault->vma;
    unsigned most = fault->mm->machine->kernel->fault_around_pages;
    unsigned slot = geometry_slot(geometry, fault->va, 0);
    uint64_t before = (fault->va - vma->start) >> PAGE_SHIFT;
    uint64_t after = (vma->end - page_of(fault->va)) >> PAGE_SHIFT; /* the page itself included */

    if (vma->object == NULL || fault->access == ACCESS_WRITE || fault->for_pin || most < 2)
        return (struct fault_around){slot, slot};
    uint64_t first = max_u64(slot - min_u64(slot, before), round_down(slot, most));
    uint64_t end = min_u64(min_u64(first + most, geometry_slots(geometry)), slot + after);

    return (struct fault_around){(unsigned)first, (unsigned)end};
}

/* The page of the object that a slot stands for. */
static uint64_t object_page_of(const struct fault *fault, unsigned at)
{
    unsigned slot = geometry_slot(fault->mm->tree.geometry, fault->va, 0);

    return vma_object_page(fault->vma, fault->va) + at - slot;
}

static bool is_absent(const struct fault *fault, unsigned at)
{
    return !fault->has_table ||
           entry_is_none(table_entry(fault->mm->tree.ram, fault->leaf.table, at));
}

bool fault_around_finds(const struct fault *fault, const struct fault_around *around)
{
    for (unsigned at = around->first; at < around->end; at++) {
        if (object_has_page(fault->vma->object, object_page_of(fault, at)) && is_absent(fault, at))
            return true;
    }
    return false;
}

void fault_around_fill(const struct fault *fault, const struct fault_around *around,
                       struct table *table)
{
    struct machine *machine = fault->mm->machine;
    const struct object *object = fault->vma->object;
    entry_t rights = ENTRY_ACCESSED | fault_object_rights(fault->vma); /* accessed, as on x86 */
    unsigned filled = 0;

    for (unsigned at = around->first; at < around->end; at++) {
        uint64_t page = object_page_of(fault, at);

        if (!object_has_page(object, page) || !entry_is_none(table_entry(&machine->ram, table, at)))
            continue;
        table_fill(&machine->ram, table, at, entry_make(object->pages[page], rights));
        filled++;
    }
    event_count(&machine->events, EVENT_FILLED_AROUND, filled);
}
