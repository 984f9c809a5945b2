/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The invariant of anonymous families: what each one counts is recounted from the VMAs of all
 * address spaces. Only tests run this; it takes the square of the number of families.
 */
#include <stdlib.h>

#include "pager/anon_family.h"
#include "pager/invariant.h"
#include "pager/mm.h"
#include "pager/task.h"

/* A family that was met, and what was counted of it. */
struct census_entry {
    const struct anon_family *family;
    uint32_t links;
    uint32_t active;
    uint32_t children;
};

struct census {
    struct census_entry *entries;
    size_t count;
    size_t capacity;
    size_t links;
};

static struct census_entry *entry_of(struct census *census, const struct anon_family *family)
{
    for (size_t i = 0; i < census->count; i++) {
        if (census->entries[i].family == family)
            return &census->entries[i];
    }
    if (census->count == census->capacity)
        return NULL;
    census->entries[census->count] = (struct census_entry){.family = family};
    return &census->entries[census->count++];
}

/* One VMA: false when its own account is wrong, or it has families that nobody made. */
static bool count_vma(struct census *census, const struct vma *vma, bool keeps_families)
{
    bool has_own = vma->family == NULL;

    if (keeps_families && ((vma->flags & VMA_ANCESTRY) != 0) != (vma->family != NULL))
        return false;
    if (vma->family == NULL && vma->links != NULL)
        return false;
    for (const struct anon_link *link = vma->links; link != NULL; link = link->next) {
        struct census_entry *entry = entry_of(census, link->family);

        if (entry == NULL)
            return false;
        entry->links++;
        entry->active += link->family == vma->family;
        has_own |= link->family == vma->family;
        census->links++;
    }
    return has_own;
}

/* An address space that several tasks have is counted with the first of them. */
static bool is_counted(const struct machine *machine, const struct task *task)
{
    const struct task *first = machine->task_list;

    while (first->mm != task->mm)
        first = first->next;
    return first != task;
}

static bool count_all(struct machine *machine, struct census *census, char *why, size_t why_bytes)
{
    for (struct task *task = machine->task_list; task != NULL; task = task->next) {
        if (task->mm == NULL || is_counted(machine, task))
            continue;
        for (struct vma *vma = vma_first(task->mm); vma != NULL; vma = vma_next(vma)) {
            if (!count_vma(census, vma, machine->kernel->merging->families != FAMILIES_NONE))
                return invariant_broken(why, why_bytes, "task %u: the family of VMA 0x%llx",
                                        (unsigned)task->id, (unsigned long long)vma->start);
        }
    }
    return true;
}

static bool counts_agree(struct census *census, char *why, size_t why_bytes)
{
    for (size_t i = 0; i < census->count; i++) {
        struct census_entry *parent = entry_of(census, census->entries[i].family->parent);

        if (parent == NULL)
            return invariant_broken(why, why_bytes, "a family outlives its parent");
        parent->children++;
    }
    for (size_t i = 0; i < census->count; i++) {
        const struct census_entry *entry = &census->entries[i];
        const struct anon_family *family = entry->family;

        if (!amap_is_sound(&family->amap))
            return invariant_broken(why, why_bytes, "the pieces of an amap do not follow");
        if (family->links != entry->links || family->active != entry->active ||
            family->children != entry->children)
            return invariant_broken(
                why, why_bytes, "a family counts %u links, %u active, %u children: %u, %u, %u",
                (unsigned)family->links, (unsigned)family->active, (unsigned)family->children,
                (unsigned)entry->links, (unsigned)entry->active, (unsigned)entry->children);
    }
    return true;
}

/* Where a walk over the tables of one address space found a page that belongs to nobody. */
struct page_search {
    struct mm *mm;
    va_t va;
};

static int search_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct page_search *search = context;

    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        entry_t entry = table_entry(tree->ram, leaf->table, slot);
        va_t va = leaf->va + (va_t)(slot - leaf->first) * PAGE_BYTES;

        if (!entry_is_present(entry) || tree->ram->frames[entry_pfn(entry)].kind != FRAME_ANON)
            continue;
        const struct vma *vma = vma_look(search->mm, va);

        search->va = va;
        if (vma != NULL && vma_contains(vma, va) && !(vma->flags & VMA_ANCESTRY))
            return 1;
    }
    return 0;
}

static bool pages_have_families(struct machine *machine, char *why, size_t why_bytes)
{
    static const struct pt_visitor visitor = {.leaf = search_leaf};

    for (struct task *task = machine->task_list; task != NULL; task = task->next) {
        struct page_search search = {.mm = task->mm};

        if (task->mm != NULL &&
            pt_walk(&task->mm->tree, 0, machine->ram.geometry->user_end, &visitor, &search) != 0)
            return invariant_broken(why, why_bytes,
                                    "task %u: 0x%llx was written, and its VMA does not know",
                                    (unsigned)task->id, (unsigned long long)search.va);
    }
    return true;
}

bool families_agree(struct machine *machine, char *why, size_t why_bytes)
{
    struct census census = {.capacity = machine->anon_families.used_count};

    census.entries = calloc(census.capacity + 1, sizeof(*census.entries));
    if (census.entries == NULL)
        return invariant_broken(why, why_bytes, "memory ran out");
    bool agree =
        count_all(machine, &census, why, why_bytes) && counts_agree(&census, why, why_bytes);

    if (agree &&
        (census.count != census.capacity || census.links != machine->anon_links.used_count))
        agree = invariant_broken(why, why_bytes, "%zu families and %zu links, %zu and %zu in use",
                                 census.count, census.links, census.capacity,
                                 machine->anon_links.used_count);
    free(census.entries);
    return agree && pages_have_families(machine, why, why_bytes);
}
