/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of a machine's invariants, and those about VMAs and objects. */
#include "pager/invariant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "pager/mm.h"
#include "pager/object.h"
#include "pager/task.h"
#include "pt/invariant.h"

const struct machine_invariant machine_invariants[] = {
    {"mm-users", mm_users_agree},
    {"vmas-ordered", vmas_are_ordered},
    {"vmas-merged", vmas_are_merged},
    {"families-agree", families_agree},
    {"object-lists", object_lists_agree},
    {"entries-covered", entries_are_covered},
    {"same-layout", layouts_are_same},
    {"upper-read-only", upper_entries_are_read_only},
    {"windows-agree", windows_agree},
    {"rmap-agrees", rmap_agrees},
    {NULL, NULL},
};

bool invariant_broken(char *why, size_t why_bytes, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, why_bytes, format, arguments);
    va_end(arguments);
    return false;
}

static uint32_t users_of(const struct machine *machine, const struct mm *mm)
{
    uint32_t users = 0;

    for (const struct task *task = machine->task_list; task != NULL; task = task->next)
        users += task->mm == mm;
    return users;
}

static bool loans_agree(const struct task *task)
{
    const struct task *lender = task->lender;
    const struct task *borrower = task->borrower;

    return (lender == NULL || (lender->borrower == task && lender->mm == task->mm)) &&
           (borrower == NULL || (borrower->lender == task && borrower->mm == task->mm));
}

bool mm_users_agree(struct machine *machine, char *why, size_t why_bytes)
{
    for (const struct task *task = machine->task_list; task != NULL; task = task->next) {
        if (!loans_agree(task))
            return invariant_broken(why, why_bytes, "task %u: lender and borrower disagree",
                                    (unsigned)task->id);
        if (task->mm != NULL && task->mm->users != users_of(machine, task->mm))
            return invariant_broken(why, why_bytes,
                                    "task %u: %u tasks have the address space of %u",
                                    (unsigned)task->id, (unsigned)users_of(machine, task->mm),
                                    (unsigned)task->mm->users);
    }
    return true;
}

static bool vma_is_in_order(const struct mm *mm, const struct vma *vma, va_t floor)
{
    return vma->start >= floor && vma->start < vma->end && vma->end <= mm->user_end &&
           vma->start % PAGE_BYTES == 0 && vma->end % PAGE_BYTES == 0 && vma->mm == mm;
}

static bool index_agrees(struct mm *mm, struct vma *vma, const struct vma *previous)
{
    return vma_look(mm, vma->start) == vma && vma_look(mm, vma->end - 1) == vma &&
           vma_previous(vma) == previous && (previous == NULL || vma_next(previous) == vma);
}

static bool mm_is_ordered(struct mm *mm, uint32_t task_id, char *why, size_t why_bytes)
{
    struct vma *previous = NULL;
    uint32_t count = 0;

    for (struct vma *vma = vma_first(mm); vma != NULL; vma = vma_next(vma)) {
        va_t floor = previous != NULL ? previous->end : 0;

        if (!vma_is_in_order(mm, vma, floor) || !index_agrees(mm, vma, previous))
            return invariant_broken(why, why_bytes, "task %u: VMA at 0x%llx is out of place",
                                    (unsigned)task_id, (unsigned long long)vma->start);
        previous = vma;
        count++;
    }
    if (mm->index.ops->is_sound != NULL && !mm->index.ops->is_sound(&mm->index))
        return invariant_broken(why, why_bytes, "task %u: the VMA index is not sound",
                                (unsigned)task_id);
    if (count != mm->index.count)
        return invariant_broken(why, why_bytes, "task %u: %u VMAs, the index says %u",
                                (unsigned)task_id, (unsigned)count, (unsigned)mm->index.count);
    return true;
}

bool vmas_are_ordered(struct machine *machine, char *why, size_t why_bytes)
{
    for (struct task *task = machine->task_list; task != NULL; task = task->next) {
        if (task->mm != NULL && !mm_is_ordered(task->mm, task->id, why, why_bytes))
            return false;
    }
    return true;
}

bool vmas_are_merged(struct machine *machine, char *why, size_t why_bytes)
{
    if (machine->kernel->merging->is_passing)
        return true;
    for (struct task *task = machine->task_list; task != NULL; task = task->next) {
        struct vma *vma = task->mm != NULL ? vma_first(task->mm) : NULL;

        for (; vma != NULL; vma = vma_next(vma)) {
            const struct vma *next = vma_next(vma);

            if (next != NULL && !next->left_apart && vma_continues(vma, next))
                return invariant_broken(why, why_bytes, "task %u: VMAs meet at 0x%llx unmerged",
                                        (unsigned)task->id, (unsigned long long)vma->end);
        }
    }
    return true;
}

/* Was the task's address space met at a task before it in the list? */
static bool mm_was_met(const struct task *task)
{
    if (task->mm->users == 1)
        return false;
    for (const struct task *other = task->previous; other != NULL; other = other->previous) {
        if (other->mm == task->mm)
            return true;
    }
    return false;
}

static uint32_t vmas_that_map(const struct machine *machine, const struct object *object)
{
    uint32_t count = 0;

    for (struct task *task = machine->task_list; task != NULL; task = task->next) {
        if (task->mm == NULL || mm_was_met(task))
            continue;
        for (struct vma *vma = vma_first(task->mm); vma != NULL; vma = vma_next(vma))
            count += vma->object == object;
    }
    return count;
}

bool object_lists_agree(struct machine *machine, char *why, size_t why_bytes)
{
    for (const struct object *object = machine->object_list; object != NULL;
         object = object->next) {
        uint32_t listed = 0;

        for (const struct vma *vma = object->vmas; vma != NULL; vma = vma->object_next)
            listed += vma->object == object;
        uint32_t mapped = vmas_that_map(machine, object);

        if (listed != mapped || object->references < listed)
            return invariant_broken(why, why_bytes,
                                    "an object of %llu pages lists %u VMAs, %u map it, %u refer",
                                    (unsigned long long)object->page_count, (unsigned)listed,
                                    (unsigned)mapped, (unsigned)object->references);
    }
    return true;
}

/* References to frames from outside the tables: objects' pages, and pins. */
static uint32_t *outside_references(const struct machine *machine)
{
    const struct ram *ram = &machine->ram;
    uint32_t *outside = calloc(ram->frame_count, sizeof(*outside));

    if (outside == NULL)
        return NULL;
    for (const struct object *object = machine->object_list; object != NULL;
         object = object->next) {
        for (uint64_t page = 0; page < object->page_count; page++)
            outside[object->pages[page]] += object->pages[page] != OBJECT_PAGE_ABSENT;
    }
    for (pfn_t pfn = 0; pfn < ram->frame_count; pfn = frame_touched_after(ram, pfn))
        outside[pfn] += ram->frames[pfn].pins;
    return outside;
}

static bool own_invariants_hold(struct machine *machine, char *why, size_t why_bytes)
{
    char reason[256];

    for (const struct machine_invariant *invariant = machine_invariants; invariant->name != NULL;
         invariant++) {
        if (!invariant->holds(machine, reason, sizeof(reason)))
            return invariant_broken(why, why_bytes, "%s: %s", invariant->name, reason);
    }
    return true;
}

bool machine_invariants_hold(struct machine *machine, char *why, size_t why_bytes)
{
    machine_lock(machine);
    uint64_t steps = machine->events.counts[EVENT_INDEX_STEP];
    uint32_t *outside = outside_references(machine);
    bool hold = outside != NULL ? pt_invariants_hold(&machine->ram, outside, why, why_bytes)
                                : invariant_broken(why, why_bytes, "memory ran out");

    if (hold)
        hold = own_invariants_hold(machine, why, why_bytes);
    machine->events.counts[EVENT_INDEX_STEP] = steps; /* onlookers count for nothing */
    machine_unlock(machine);
    free(outside);
    return hold;
}
