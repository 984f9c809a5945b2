/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The digest of a machine's state; see machine_digest.h. */
#include "tests/support/machine_digest.h"

enum { MOST_NAMES = 256, FNV_PRIME_LOW = 0x1b3 };

#define FNV_BASE ((uint64_t)0xcbf29ce484222325)
#define FNV_PRIME (((uint64_t)1 << 40) + FNV_PRIME_LOW)

/* Numbers given to frames and values in the order in which they are met. */
struct names {
    uint64_t items[MOST_NAMES];
    unsigned count;
};

struct digest {
    struct machine *machine;
    uint64_t hash;
    struct names frames;
    struct names values;
};

static void add(struct digest *digest, uint64_t number)
{
    for (unsigned byte = 0; byte < sizeof(number); byte++) {
        digest->hash ^= (number >> (8 * byte)) & 0xff;
        digest->hash *= FNV_PRIME;
    }
}

/* The number of an item; `*is_new` when it was not met before. Beyond the table all are one. */
static unsigned name_of(struct names *names, uint64_t item, bool *is_new)
{
    for (unsigned i = 0; i < names->count; i++) {
        if (names->items[i] == item) {
            *is_new = false;
            return i;
        }
    }
    *is_new = true;
    if (names->count < MOST_NAMES)
        names->items[names->count++] = item;
    return names->count - 1;
}

static void add_frame(struct digest *digest, pfn_t pfn)
{
    const struct ram *ram = &digest->machine->ram;
    const struct frame *frame = &ram->frames[pfn];
    bool is_new;
    bool is_new_value;

    add(digest, name_of(&digest->frames, pfn, &is_new));
    if (!is_new)
        return;
    add(digest, frame->kind);
    add(digest, frame->count);
    add(digest, frame->pins);
    if (frame->kind != FRAME_TABLE)
        add(digest, name_of(&digest->values, *frame_data(ram, pfn), &is_new_value));
}

static int add_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct digest *digest = context;
    const struct ram *ram = tree->ram;

    add(digest, leaf->va);
    add_frame(digest, leaf->table->pfn);
    add(digest, leaf->table->share_count);
    add(digest, leaf->upper_writable);
    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        entry_t entry = table_entry(ram, leaf->table, slot);

        add(digest, entry & ENTRY_FLAGS_MASK);
        if (entry_is_present(entry))
            add_frame(digest, entry_pfn(entry));
    }
    return 0;
}

static void add_let_through(void *context, va_t va, pfn_t pfn, bool writable)
{
    struct digest *digest = context;

    add(digest, va);
    add_frame(digest, pfn);
    add(digest, writable);
}

static void add_task(struct digest *digest, struct task *task)
{
    static const struct pt_visitor visitor = {.leaf = add_leaf};
    struct mm *mm = task->mm;

    for (const struct vma *vma = vma_look(mm, 0); vma != NULL; vma = vma_next(vma)) {
        add(digest, vma->start);
        add(digest, vma->end);
        add(digest, vma->flags);
    }
    pt_walk(&mm->tree, 0, mm->tree.geometry->user_end, &visitor, digest);
    if (mm->space != NULL)
        digest->machine->mmu->ops->visit(mm->space, add_let_through, digest);
}

uint64_t machine_digest(struct machine *machine, struct task *const tasks[], unsigned count,
                        const struct pin *pin)
{
    struct digest digest = {.machine = machine, .hash = FNV_BASE};

    machine_lock(machine);
    for (unsigned i = 0; i < count; i++) {
        add(&digest, tasks[i] != NULL);
        if (tasks[i] != NULL)
            add_task(&digest, tasks[i]);
    }
    add(&digest, pin != NULL);
    if (pin != NULL)
        add_frame(&digest, pin->pfn);
    machine_unlock(machine);
    return digest.hash;
}
