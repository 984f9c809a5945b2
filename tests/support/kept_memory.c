/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kept memory; kept_memory.h says what for. */
#include "tests/support/kept_memory.h"

#include <stdlib.h>
#include <string.h>

static void keep_page(struct memory *memory, struct mm *mm, va_t va)
{
    entry_t entry = pt_entry(&mm->tree, va);

    if (!entry_is_present(entry))
        return;
    assert_true(memory->page_count < sizeof(memory->pages) / sizeof(memory->pages[0]));
    struct kept_page *page = &memory->pages[memory->page_count++];

    page->va = va;
    memcpy(page->bytes, frame_data(mm->tree.ram, entry_pfn(entry)), PAGE_BYTES);
}

struct memory *memory_of(const struct task *task)
{
    struct memory *memory = calloc(1, sizeof(*memory));

    assert_non_null(memory);
    for (struct vma *vma = vma_look(task->mm, 0); vma != NULL; vma = vma_next(vma)) {
        assert_true(memory->vma_count < sizeof(memory->vmas) / sizeof(memory->vmas[0]));
        memory->vmas[memory->vma_count++] =
            (struct kept_vma){.start = vma->start,
                              .end = vma->end,
                              .flags = vma->flags & ~(VMA_STICKY | VMA_NEEDS_COPY)};
        for (va_t va = vma->start; va < vma->end; va += PAGE_BYTES)
            keep_page(memory, task->mm, va);
    }
    return memory;
}

void assert_memory_is_kept(const struct memory *before, const struct task *task)
{
    struct memory *after = memory_of(task);

    assert_int_equal(after->vma_count, before->vma_count);
    assert_memory_equal(after->vmas, before->vmas, sizeof(after->vmas));
    for (size_t i = 0, j = 0; i < before->page_count; i++) {
        while (j < after->page_count && after->pages[j].va < before->pages[i].va)
            j++;
        assert_true(j < after->page_count);
        assert_memory_equal(&after->pages[j], &before->pages[i], sizeof(after->pages[j]));
    }
    free(after);
}
