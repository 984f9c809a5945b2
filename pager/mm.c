/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces: made, laid out, measured, ended. */
#include "pager/mm.h"

#include <errno.h>

#define STACK_LIMIT_BYTES ((uint64_t)8 << 20)
#define STACK_GAP_BYTES (256 * PAGE_BYTES)
#define MAP_BASE ((va_t)512 << 20)
#define HUGE_PAGE_BYTES ((uint64_t)2 << 20)

/* The tiny geometry has 64 pages in all, so everything is also bounded by a share of the space. */
static void lay_out(struct mm *mm)
{
    const struct mmu *mmu = mm->machine->mmu;
    uint64_t most_bytes = min_u64(mmu->ops->space_bytes(mmu), mm->machine->most_space_bytes);
    va_t user_end = min_u64(mm->tree.geometry->user_end, most_bytes);

    mm->user_end = user_end;
    mm->stack_limit_bytes = round_down(min_u64(STACK_LIMIT_BYTES, user_end / 8), PAGE_BYTES);
    mm->stack_gap_bytes = round_up(min_u64(STACK_GAP_BYTES, user_end / 64), PAGE_BYTES);
    mm->map_base = round_down(min_u64(MAP_BASE, user_end / 4), PAGE_BYTES);
    mm->map_top = user_end - mm->stack_limit_bytes - mm->stack_gap_bytes;
    mm->stack_pointer = user_end;
    /* Linux aligns on 64-bit machines alone. */
    if (mm->machine->kernel->aligns_huge &&
        geometry_span_bytes(mm->tree.geometry) == HUGE_PAGE_BYTES)
        mm->huge_bytes = HUGE_PAGE_BYTES;
    mm->most_vmas = mm->machine->most_vmas;
    mm->most_pages = UINT64_MAX;
    mm->most_data_pages = UINT64_MAX;
}

int mm_create(struct machine *machine, struct mm **mm)
{
    struct ram_need need = {.upper_tables = 1};
    int error = pool_reserve(&machine->mms, 1);

    if (error == 0)
        error = ram_reserve(&machine->ram, &need);
    if (error != 0)
        return error;
    struct mm *made = pool_take(&machine->mms);

    made->machine = machine;
    made->users = 1;
    tree_init(&made->tree, &machine->ram, made);
    made->index.ops = machine->kernel->index;
    made->index.nodes = &machine->index_nodes;
    made->index.steps = &machine->events.counts[EVENT_INDEX_STEP];
    if (made->index.ops->init != NULL)
        made->index.ops->init(&made->index);
    find_cache_forget(made);
    lay_out(made);
    if (machine->kernel->free_space->begin != NULL)
        machine->kernel->free_space->begin(made);
    *mm = made;
    return 0;
}

void mm_destroy(struct mm *mm)
{
    if (mm->space != NULL)
        mm->machine->mmu->ops->release(mm->space);
    tree_destroy(&mm->tree);
    vma_remove_all(mm);
    pool_give(&mm->machine->mms, mm);
}

void mm_put(struct mm *mm)
{
    if (--mm->users == 0)
        mm_destroy(mm);
}

void mm_copy_limits(struct mm *mm, const struct mm *from)
{
    mm->most_pages = from->most_pages;
    mm->most_data_pages = from->most_data_pages;
}

void mm_copy_layout(struct mm *mm, const struct mm *from)
{
    mm->heap_start = from->heap_start;
    mm->heap_end = from->heap_end;
    mm->stack_pointer = from->stack_pointer;
    mm->most_vmas = from->most_vmas;
    mm_copy_limits(mm, from);
}

int mm_map_stack(struct mm *mm)
{
    struct vma_shape stack = {
        .start = mm->user_end - PAGE_BYTES,
        .end = mm->user_end,
        .flags = VMA_READ | VMA_WRITE | VMA_MAY_WRITE | VMA_GROWS_DOWN | VMA_ACCOUNT,
        .object_page = (mm->user_end - PAGE_BYTES) >> PAGE_SHIFT,
    };
    int error = vma_reserve(mm, 1);

    if (error == 0)
        vma_insert(mm, &stack);
    return error;
}

void mm_revoke(struct mm *mm, va_t start, va_t end)
{
    mm->machine->changes++;
    if (mm->space != NULL)
        mm->machine->mmu->ops->revoke(mm->space, start, end);
}

void mm_write_protect(struct mm *mm, va_t start, va_t end)
{
    mm->machine->changes++;
    if (mm->space != NULL)
        mm->machine->mmu->ops->write_protect(mm->space, start, end);
}

static int add_usage(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct mm_usage *usage = context;

    (void)tree;
    for (unsigned kind = 0; kind < FRAME_KINDS; kind++)
        usage->resident[kind] += leaf->table->present[kind];
    if (table_is_shared(leaf->table))
        usage->shared_tables++;
    else
        usage->own_tables++;
    return 0;
}

void mm_usage(struct mm *mm, struct mm_usage *usage)
{
    static const struct pt_visitor visitor = {.leaf = add_usage};

    *usage = (struct mm_usage){.own_tables = mm->tree.upper_tables};
    pt_walk(&mm->tree, 0, mm->tree.geometry->user_end, &visitor, usage);
}
