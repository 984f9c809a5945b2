/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The soft MMU: a small software TLB for each address space, no signals and no host calls.
 *
 * User code's accessors find no window (limit 0) and take the slow path, which asks translate() and
 * goes to the kernel on a miss. A page stands in the one place that its number selects, so an
 * install may push another page out; pages ahead are not installed. The whole of the geometry's
 * user space can be used, and spaces are never taken away.
 */
#include <errno.h>
#include <stdlib.h>

#include "pager/mmu.h"
#include "pager/run.h"

enum { TLB_ENTRIES = 64 };

#define NO_PAGE UINT64_MAX

struct soft_entry {
    uint64_t page; /* NO_PAGE: nothing is let through here */
    uint8_t *data;
    pfn_t pfn;
    bool writable;
};

struct soft_mmu;

struct soft_space {
    struct soft_entry entries[TLB_ENTRIES];
    struct soft_mmu *mmu;
    struct mmu_space **place;
    struct soft_space *next_free;
};

struct soft_mmu {
    struct mmu mmu; /* first */
    struct soft_space *free;
};

static struct soft_space *soft_of(struct mmu_space *space)
{
    return (struct soft_space *)(void *)space;
}

static const struct soft_space *soft_of_const(const struct mmu_space *space)
{
    return (const struct soft_space *)(const void *)space;
}

static struct soft_entry *entry_for(struct soft_space *space, uint64_t page)
{
    return &space->entries[page % TLB_ENTRIES];
}

static void drop_entry(struct soft_space *space, struct soft_entry *entry)
{
    if (entry->page == NO_PAGE)
        return;
    entry->page = NO_PAGE;
    event_count(space->mmu->mmu.ram->events, EVENT_PAGE_REVOKED, 1);
}

static uint64_t soft_space_bytes(const struct mmu *mmu)
{
    return mmu->ram->geometry->user_end;
}

static int soft_bind(struct mmu *base, struct pt_tree *tree, struct mmu_space **place)
{
    struct soft_mmu *mmu = (struct soft_mmu *)(void *)base;
    struct soft_space *space = mmu->free;

    (void)tree;
    if (space != NULL)
        mmu->free = space->next_free;
    else
        space = malloc(sizeof(*space));
    if (space == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < TLB_ENTRIES; i++)
        space->entries[i].page = NO_PAGE;
    space->mmu = mmu;
    space->place = place;
    *place = (struct mmu_space *)(void *)space;
    return 0;
}

static void soft_revoke(struct mmu_space *base, va_t start, va_t end)
{
    struct soft_space *space = soft_of(base);
    uint64_t first = start >> PAGE_SHIFT;
    uint64_t end_page = (end >> PAGE_SHIFT) + ((end & PAGE_OFFSET_MASK) != 0);
    uint64_t most = min_u64(end_page, first + TLB_ENTRIES);

    for (uint64_t page = first; page < most; page++) {
        struct soft_entry *entry = entry_for(space, page);

        if (entry->page >= first && entry->page < end_page)
            drop_entry(space, entry);
    }
}

static void soft_write_protect(struct mmu_space *base, va_t start, va_t end)
{
    struct soft_space *space = soft_of(base);
    uint64_t first = start >> PAGE_SHIFT;
    uint64_t end_page = (end >> PAGE_SHIFT) + ((end & PAGE_OFFSET_MASK) != 0);
    uint64_t most = min_u64(end_page, first + TLB_ENTRIES);

    for (uint64_t page = first; page < most; page++) {
        struct soft_entry *entry = entry_for(space, page);

        if (entry->page >= first && entry->page < end_page)
            entry->writable = false;
    }
}

static void soft_release(struct mmu_space *base)
{
    struct soft_space *space = soft_of(base);

    for (unsigned i = 0; i < TLB_ENTRIES; i++)
        drop_entry(space, &space->entries[i]);
    *space->place = NULL;
    space->next_free = space->mmu->free;
    space->mmu->free = space;
}

static int soft_install(struct mmu_space *base, const struct mmu_install *install)
{
    struct soft_space *space = soft_of(base);
    struct ram *ram = space->mmu->mmu.ram;
    entry_t entry = table_entry(ram, install->table, install->slot);
    struct soft_entry *place = entry_for(space, install->va >> PAGE_SHIFT);

    if (!entry_is_present(entry))
        return -EINVAL;
    if (place->page != install->va >> PAGE_SHIFT)
        drop_entry(space, place);
    *place = (struct soft_entry){.page = install->va >> PAGE_SHIFT,
                                 .data = frame_data(ram, entry_pfn(entry)),
                                 .pfn = entry_pfn(entry),
                                 .writable = install->upper_writable && entry_is_writable(entry) &&
                                             entry_is_dirty(entry)};
    event_count(ram->events, EVENT_PAGE_INSTALLED, 1);
    return 0;
}

static pfn_t soft_frame_hint(const struct mmu_space *base, va_t va)
{
    (void)base;
    (void)va;
    return PFN_NONE;
}

static int soft_enter(struct mmu_space *base, struct run *run)
{
    run->space = base;
    run->outer = NULL;
    run->user = (struct forklab_user){.base = 0, .limit = 0};
    return 0;
}

static void soft_leave(struct mmu_space *base, struct run *run)
{
    (void)base;
    (void)run;
}

static uint8_t *soft_translate(struct mmu_space *base, va_t va, enum access access)
{
    const struct soft_entry *entry = entry_for(soft_of(base), va >> PAGE_SHIFT);

    if (entry->page != va >> PAGE_SHIFT || (access == ACCESS_WRITE && !entry->writable))
        return NULL;
    return entry->data + (va & PAGE_OFFSET_MASK);
}

/* The entry of the first page let through from `page` on, or NULL. */
static const struct soft_entry *first_from(const struct soft_space *space, uint64_t page)
{
    const struct soft_entry *found = NULL;

    for (unsigned i = 0; i < TLB_ENTRIES; i++) {
        const struct soft_entry *entry = &space->entries[i];

        if (entry->page == NO_PAGE || entry->page < page)
            continue;
        if (found == NULL || entry->page < found->page)
            found = entry;
    }
    return found;
}

static void soft_visit(const struct mmu_space *base, mmu_visit *visit, void *context)
{
    const struct soft_space *space = soft_of_const(base);
    const struct soft_entry *entry = first_from(space, 0);

    while (entry != NULL) {
        visit(context, entry->page << PAGE_SHIFT, entry->pfn, entry->writable);
        entry = first_from(space, entry->page + 1);
    }
}

static void soft_destroy(struct mmu *base)
{
    struct soft_mmu *mmu = (struct soft_mmu *)(void *)base;

    while (mmu->free != NULL) {
        struct soft_space *space = mmu->free;

        mmu->free = space->next_free;
        free(space);
    }
    free(mmu);
}

static const struct mmu_ops soft_ops = {
    .name = "soft",
    .destroy = soft_destroy,
    .space_bytes = soft_space_bytes,
    .bind = soft_bind,
    .release = soft_release,
    .install = soft_install,
    .revoke = soft_revoke,
    .write_protect = soft_write_protect,
    .frame_hint = soft_frame_hint,
    .enter = soft_enter,
    .leave = soft_leave,
    .translate = soft_translate,
    .visit = soft_visit,
};

int mmu_soft_create(struct mmu **mmu, struct ram *ram)
{
    struct soft_mmu *made = calloc(1, sizeof(*made));

    if (made == NULL)
        return -ENOMEM;
    made->mmu = (struct mmu){.ops = &soft_ops, .ram = ram};
    *mmu = &made->mmu;
    return 0;
}
