/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Four slots for each task: a mapping is noted in the slot that its address's page number chooses,
 * and all four are asked (mm/vmacache.c of Linux 3.15 to 6.0). They are the task's that entered the
 * kernel; on behalf of another address space nothing is asked or noted.
 */
#include "pager/find_cache.h"
#include "pager/task.h"

/* The slots of the running task, emptied if a mapping has left since; NULL: none are valid. */
static struct find_slots *slots_for(struct mm *mm)
{
    struct task *task = mm->machine->current;

    if (task == NULL || task->mm != mm)
        return NULL;
    if (task->find_slots.sequence != mm->find.sequence)
        task->find_slots = (struct find_slots){.sequence = mm->find.sequence};
    return &task->find_slots;
}

static unsigned slot_of(va_t va)
{
    return (va >> PAGE_SHIFT) % FIND_SLOTS;
}

static bool ask_slots(struct mm *mm, va_t va, struct vma **found)
{
    struct find_slots *slots = slots_for(mm);

    for (unsigned i = 0; slots != NULL && i < FIND_SLOTS; i++) {
        struct vma *vma = slots->vmas[(slot_of(va) + i) % FIND_SLOTS];

        if (vma == NULL || !vma_contains(vma, va))
            continue;
        event_count(&mm->machine->events, EVENT_LOOKUP_SLOT, 1);
        *found = vma;
        return true;
    }
    return false;
}

static void note_in_slot(struct mm *mm, va_t va, struct vma *found)
{
    struct find_slots *slots = slots_for(mm);

    if (slots != NULL)
        slots->vmas[slot_of(va)] = found;
}

const struct find_cache find_cache_slots = {
    .name = "slots",
    .ask = ask_slots,
    .note = note_in_slot,
};
