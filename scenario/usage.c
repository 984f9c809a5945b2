/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What mappings have resident; usage.h has the terms. */
#include "scenario/usage.h"

#include <string.h>

enum { PSS_SHIFT = 12, KB_SHIFT = 10 };

/* --- map counts --- */

static void count_leaf(const struct ram *ram, const struct table *table, uint32_t *map_counts)
{
    for (unsigned slot = table->low; slot < table->high; slot++) {
        entry_t entry = table_entry(ram, table, slot);

        if (entry_is_present(entry))
            map_counts[entry_pfn(entry)] += table->share_count;
    }
}

void usage_count_maps(const struct machine *machine, uint32_t *map_counts)
{
    const struct ram *ram = &machine->ram;

    memset(map_counts, 0, ram->frame_count * sizeof(*map_counts));
    for (pfn_t pfn = 0; pfn < ram->frame_count; pfn = frame_touched_after(ram, pfn)) {
        if (ram->frames[pfn].kind == FRAME_TABLE && table_of_frame(ram, pfn)->level == 0)
            count_leaf(ram, table_of_frame(ram, pfn), map_counts);
    }
}

/* --- one mapping --- */

struct counting {
    const uint32_t *map_counts;
    struct usage *usage; /* Pss and Locked in fixed point */
};

static void add_page(const struct counting *counting, const struct ram *ram, entry_t entry)
{
    struct usage *usage = counting->usage;
    const struct frame *frame = &ram->frames[entry_pfn(entry)];
    uint32_t maps = counting->map_counts[entry_pfn(entry)];
    bool dirty = entry_is_dirty(entry) || (frame->flags & FRAME_DIRTY) != 0;
    uint64_t part = (PAGE_BYTES << PSS_SHIFT) / max_u64(maps, 1);

    usage->rss += PAGE_BYTES;
    usage->pss += part;
    usage->pss_dirty += dirty ? part : 0;
    if (maps > 1)
        *(dirty ? &usage->shared_dirty : &usage->shared_clean) += PAGE_BYTES;
    else
        *(dirty ? &usage->private_dirty : &usage->private_clean) += PAGE_BYTES;
    usage->referenced += entry_is_accessed(entry) ? PAGE_BYTES : 0;
    usage->anonymous += frame->kind == FRAME_ANON ? PAGE_BYTES : 0;
    usage->lazy_free += entry_is_lazy_free(entry) && !dirty ? PAGE_BYTES : 0;
}

static int add_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        entry_t entry = table_entry(tree->ram, leaf->table, slot);

        if (entry_is_present(entry) && entry_pfn(entry) != tree->ram->zero_pfn)
            add_page(context, tree->ram, entry);
    }
    return 0;
}

/* From fixed point to bytes, as many as there are in the kB that the kernel prints. */
static uint64_t whole_kb(uint64_t fixed)
{
    return fixed >> (PSS_SHIFT + KB_SHIFT) << KB_SHIFT;
}

void usage_of_vma(const struct vma *vma, const uint32_t *map_counts, struct usage *usage)
{
    static const struct pt_visitor visitor = {.leaf = add_leaf};
    struct counting counting = {.map_counts = map_counts, .usage = usage};

    *usage = (struct usage){0};
    pt_walk_const(&vma->mm->tree, vma->start, vma->end, &visitor, &counting);
    if ((vma->flags & VMA_LOCKED) != 0)
        usage->locked = whole_kb(usage->pss);
    usage->pss = whole_kb(usage->pss);
    usage->pss_dirty = whole_kb(usage->pss_dirty);
}
