/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The model against the emulated kernel: mappings VMA by VMA, contents entry by entry, read from
 * the direct map so that the comparison itself brings nothing in.
 */
#include <string.h>

#include "pager/invariant.h"
#include "tests/support/model.h"

/* --- mappings --- */

static bool page_suits_vma(const struct model_page *page, const struct vma *vma, va_t va)
{
    const struct object *object = page->object != NULL ? page->object->real : NULL;

    if (page->number != va >> PAGE_SHIFT || page->flags != (vma->flags & MODEL_FLAGS) ||
        object != vma->object)
        return false;
    return object == NULL || page->object_page == vma_object_page(vma, va);
}

bool space_agrees_with_mappings(const struct model_space *space, struct mm *mm, char *why,
                                size_t why_bytes)
{
    size_t position = 0;

    for (const struct vma *vma = vma_look(mm, 0); vma != NULL; vma = vma_next(vma)) {
        for (va_t va = vma->start; va < vma->end; va += PAGE_BYTES, position++) {
            if (position < space->count && page_suits_vma(&space->pages[position], vma, va))
                continue;
            return invariant_broken(why, why_bytes,
                                    "the mapping at 0x%llx (VMA 0x%llx-0x%llx %x) "
                                    "is not the model's",
                                    (unsigned long long)va, (unsigned long long)vma->start,
                                    (unsigned long long)vma->end, (unsigned)vma->flags);
        }
    }
    if (position == space->count && mm->heap_end == space->heap_end)
        return true;
    if (position == space->count)
        return invariant_broken(why, why_bytes, "the break is 0x%llx, the model's 0x%llx",
                                (unsigned long long)mm->heap_end,
                                (unsigned long long)space->heap_end);
    return invariant_broken(why, why_bytes, "the model's mapping at 0x%llx is missing",
                            (unsigned long long)space->pages[position].number << PAGE_SHIFT);
}

void space_note_beginnings(struct model_space *space, struct mm *mm)
{
    for (size_t i = 0; i < space->count; i++) {
        va_t va = space->pages[i].number << PAGE_SHIFT;

        space->pages[i].begins = vma_look(mm, va)->start == va;
    }
}

/* --- contents --- */

static unsigned first_difference(const uint8_t *one, const uint8_t *other)
{
    unsigned offset = 0;

    while (one[offset] == other[offset])
        offset++;
    return offset;
}

static bool same_bytes(const uint8_t *real, const uint8_t *model, va_t va, const char *what,
                       char *why, size_t why_bytes)
{
    if (memcmp(real, model, PAGE_BYTES) == 0)
        return true;
    unsigned offset = first_difference(real, model);

    return invariant_broken(why, why_bytes, "%s at 0x%llx is %02x, the model's %02x", what,
                            (unsigned long long)va + offset, real[offset], model[offset]);
}

struct comparison {
    const struct model_space *space;
    size_t own; /* pages with a block that were found */
    char *why;
    size_t why_bytes;
};

static int compare_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct comparison *comparison = context;
    const struct table *table = leaf->table;
    unsigned first = leaf->first > table->low ? leaf->first : table->low;
    unsigned end = leaf->end < table->high ? leaf->end : table->high;

    for (unsigned slot = first; slot < end; slot++) {
        entry_t entry = table_entry(tree->ram, table, slot);
        va_t va = leaf->va + (va_t)(slot - leaf->first) * PAGE_BYTES;
        const struct model_page *page =
            entry_is_present(entry) ? space_page(comparison->space, va) : NULL;

        if (page == NULL) /* what lies outside every mapping is an invariant's business */
            continue;
        comparison->own += page->own != NULL;
        if (!same_bytes(frame_data(tree->ram, entry_pfn(entry)), space_bytes(page), va, "the byte",
                        comparison->why, comparison->why_bytes))
            return 1;
    }
    return 0;
}

/* A page that was written must be there, for nothing is swapped out. */
static bool no_page_is_lost(const struct model_space *space, struct mm *mm, size_t found, char *why,
                            size_t why_bytes)
{
    size_t own = 0;

    for (size_t i = 0; i < space->count; i++)
        own += space->pages[i].own != NULL;
    if (own == found)
        return true;
    for (size_t i = 0; i < space->count; i++) {
        va_t va = space->pages[i].number << PAGE_SHIFT;

        if (space->pages[i].own != NULL && !entry_is_present(pt_entry(&mm->tree, va)))
            return invariant_broken(why, why_bytes, "the page at 0x%llx is lost",
                                    (unsigned long long)va);
    }
    return invariant_broken(why, why_bytes, "%zu pages written, %zu found", own, found);
}

bool space_agrees_with_contents(const struct model_space *space, struct mm *mm, char *why,
                                size_t why_bytes)
{
    static const struct pt_visitor visitor = {.leaf = compare_leaf};
    struct comparison comparison = {.space = space, .why = why, .why_bytes = why_bytes};

    if (pt_walk(&mm->tree, 0, mm->tree.geometry->user_end, &visitor, &comparison) != 0)
        return false;
    return no_page_is_lost(space, mm, comparison.own, why, why_bytes);
}

bool object_agrees(const struct model_object *object, const struct ram *ram, char *why,
                   size_t why_bytes)
{
    for (uint64_t page = 0; page < object->page_count && !object->gone; page++) {
        pfn_t pfn = object->real->pages[page];

        if (pfn == OBJECT_PAGE_ABSENT && object->written[page])
            return invariant_broken(why, why_bytes, "page %u of an object is lost", (unsigned)page);
        if (pfn != OBJECT_PAGE_ABSENT &&
            !same_bytes(frame_data(ram, pfn), object->bytes + page * PAGE_BYTES, page * PAGE_BYTES,
                        "an object's byte", why, why_bytes))
            return false;
    }
    return true;
}
