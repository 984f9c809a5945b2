/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pins; pin.h has the rule. */
#include "pager/pin.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "pager/fault.h"

static int pin_locked(struct mm *mm, va_t va, enum access access, pfn_t *pfn)
{
    struct fault fault = {.mm = mm, .va = va, .access = access};
    const struct vma *vma = vma_find(mm, va);
    struct ram *ram = mm->tree.ram;

    /* No stack grows for a pin, as in Linux. */
    if (vma == NULL || !vma_contains(vma, va))
        return -EFAULT;
    enum event result = fault_resolve_exclusive(&fault);

    if (result != FAULT_PERMITTED)
        return result == EVENT_BAD_OOM ? -ENOMEM : -EFAULT;
    *pfn = entry_pfn(fault.entry);
    frame_get(ram, *pfn);
    ram->frames[*pfn].pins++;
    if (ram->frames[*pfn].kind == FRAME_ANON)
        table_for_all(ram, fault.leaf.table)->may_hold_pin = true;
    return 0;
}

int sys_pin(struct task *task, va_t va, enum access access, struct pin *pin)
{
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    pin->machine = task->machine;
    error = pin_locked(task->mm, va, access, &pin->pfn);
    machine_unlock(task->machine);
    return error;
}

void unpin(struct pin *pin)
{
    struct machine *machine = pin->machine;

    machine_lock(machine);
    machine->ram.frames[pin->pfn].pins--;
    frame_put(&machine->ram, pin->pfn);
    machine_unlock(machine);
    pin->pfn = PFN_NONE;
}

void pin_read(const struct pin *pin, size_t offset, void *data, size_t bytes)
{
    assert(offset + bytes <= PAGE_BYTES);
    memcpy(data, frame_data(&pin->machine->ram, pin->pfn) + offset, bytes);
}

/* No entry tells of a device's write: the frame of an object is marked here. */
void pin_write(const struct pin *pin, size_t offset, const void *data, size_t bytes)
{
    struct machine *machine = pin->machine;
    struct frame *frame = &machine->ram.frames[pin->pfn];

    assert(offset + bytes <= PAGE_BYTES);
    machine_lock(machine);
    memcpy(frame_data(&machine->ram, pin->pfn) + offset, data, bytes);
    if (frame->kind != FRAME_ANON)
        frame->flags |= FRAME_DIRTY;
    machine_unlock(machine);
}
