/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Families; anon_family.h has the terms. Everything here is done with the machine's lock held. */
#include "pager/anon_family.h"

#include <assert.h>

#include "pager/mm.h"

static uint32_t links_of(const struct vma *vma)
{
    uint32_t count = 0;

    for (const struct anon_link *link = vma->links; link != NULL; link = link->next)
        count++;
    return count;
}

/* Links the VMA, which is linked with all older ones already. */
static void add_link(struct vma *vma, struct anon_family *family)
{
    struct anon_link **place = &vma->links;
    struct anon_link *link = pool_take(&vma->mm->machine->anon_links);

    while (*place != NULL)
        place = &(*place)->next;
    link->family = family;
    *place = link;
    family->links++;
}

static void note_longest(struct vma *vma)
{
    uint32_t links = links_of(vma);

    if (links > vma->mm->most_links)
        vma->mm->most_links = links;
}

static enum family_rule rule_of(const struct vma *vma)
{
    return vma->mm->machine->kernel->merging->families;
}

static uint64_t pages_of(const struct vma *vma)
{
    return (vma->end - vma->start) >> PAGE_SHIFT;
}

static struct event_log *events_of(const struct vma *vma)
{
    return &vma->mm->machine->events;
}

void anon_family_grow(const struct vma *vma, uint64_t first_page, uint64_t pages)
{
    if (vma->family != NULL && rule_of(vma) == FAMILIES_AMAP)
        amap_add(&vma->family->amap, first_page, pages, events_of(vma));
}

void anon_family_shrink(const struct vma *vma, uint64_t first_page, uint64_t pages)
{
    if (vma->family == NULL || rule_of(vma) != FAMILIES_AMAP)
        return;
    amap_cut(&vma->family->amap, 1);
    amap_drop(&vma->family->amap, first_page, pages, events_of(vma));
}

static struct anon_family *family_make(struct vma *vma, struct anon_family *parent)
{
    struct anon_family *family = pool_take(&vma->mm->machine->anon_families);

    family->parent = parent != NULL ? parent : family;
    family->parent->children++;
    return family;
}

static void set_family(struct vma *vma, struct anon_family *family)
{
    vma->family = family;
    vma->flags |= VMA_ANCESTRY;
    vma->mm->family_vmas++;
    family->active++;
}

bool anon_family_is_forked(const struct vma *vma)
{
    return vma->family != NULL && vma->links->next != NULL;
}

/* UVM: does somebody else refer to the amap, which the next write is not to change? */
static bool needs_copy(const struct vma *vma)
{
    return vma->family != NULL && (vma->flags & VMA_NEEDS_COPY) && vma->family->links > 1;
}

/* Will the VMA's next written page found a family, or join one? */
static bool lacks_family(const struct vma *vma)
{
    return rule_of(vma) != FAMILIES_NONE && (vma->family == NULL || needs_copy(vma));
}

/* Could the two be one VMA but for their rights? */
static bool are_kin(const struct vma *lower, const struct vma *upper)
{
    return lower->end == upper->start && lower->object == upper->object &&
           ((lower->flags ^ upper->flags) & ~(VMA_PROTECTION | VMA_STICKY)) == 0 &&
           vma_object_page(lower, lower->end) == upper->object_page;
}

static bool can_be_adopted(const struct vma *neighbour)
{
    return neighbour->family != NULL && !anon_family_is_forked(neighbour);
}

/* The neighbour above is asked first. */
static struct anon_family *find_to_adopt(const struct vma *vma)
{
    const struct vma *next = vma_next(vma);

    if (next != NULL && are_kin(vma, next) && can_be_adopted(next))
        return next->family;
    const struct vma *previous = vma_previous(vma);

    if (previous != NULL && are_kin(previous, vma) && can_be_adopted(previous))
        return previous->family;
    return NULL;
}

static int reserve(struct machine *machine, uint32_t families, uint32_t links)
{
    int error = pool_reserve(&machine->anon_families, families);

    return error != 0 ? error : pool_reserve(&machine->anon_links, links);
}

int anon_family_reserve(struct vma *vma)
{
    if (!lacks_family(vma))
        return 0;
    return reserve(vma->mm->machine, 1, 1);
}

int anon_family_reserve_range(struct mm *mm, va_t start, va_t end)
{
    uint32_t new_families = 0;

    for (struct vma *vma = vma_look(mm, start); vma != NULL && vma->start < end;
         vma = vma_next(vma))
        new_families += lacks_family(vma);
    return reserve(mm->machine, new_families, new_families);
}

void anon_family_join(struct vma *vma)
{
    if (rule_of(vma) == FAMILIES_NONE)
        vma->flags |= VMA_ANCESTRY;
    if (!lacks_family(vma))
        return;
    if (needs_copy(vma))
        anon_family_leave(vma);
    struct anon_family *family = rule_of(vma) != FAMILIES_AMAP ? find_to_adopt(vma) : NULL;

    vma->flags &= ~VMA_NEEDS_COPY;
    if (family == NULL) {
        family = family_make(vma, NULL);
        if (rule_of(vma) == FAMILIES_AMAP)
            amap_begin(&family->amap, vma->object_page, pages_of(vma));
    }
    add_link(vma, family);
    set_family(vma, family);
    note_longest(vma);
}

static void copy_links(struct vma *to, const struct vma *from)
{
    for (const struct anon_link *link = from->links; link != NULL; link = link->next)
        add_link(to, link->family);
}

void anon_family_copy(struct vma *to, const struct vma *from)
{
    assert(to->family == NULL);
    if (from->family == NULL)
        return;
    copy_links(to, from);
    set_family(to, from->family);
    if (rule_of(from) == FAMILIES_AMAP)
        amap_cut(&from->family->amap, 1);
}

int anon_family_reserve_fork(struct mm *parent)
{
    uint32_t vmas = parent->family_vmas;

    if (vmas == 0)
        return 0;
    return reserve(parent->machine, vmas, vmas * (parent->most_links + 1));
}

/*
 * A family that nobody's own it is any more, with at most one below it: an endless line of forks
 * whose parents have gone would otherwise make endlessly many. A root counts itself as a child, so
 * it is never handed on.
 */
static struct anon_family *find_unused(const struct vma *vma)
{
    for (const struct anon_link *link = vma->links; link != NULL; link = link->next) {
        if (link->family->active == 0 && link->family->children < 2)
            return link->family;
    }
    return NULL;
}

void anon_family_fork(struct vma *child, struct vma *parent)
{
    if (parent->family == NULL)
        return;
    copy_links(child, parent);
    if (rule_of(parent) == FAMILIES_AMAP) {
        parent->flags |= VMA_NEEDS_COPY;
        child->flags |= VMA_NEEDS_COPY;
        amap_add(&parent->family->amap, child->object_page, pages_of(child), events_of(child));
    }
    struct anon_family *family =
        rule_of(parent) == FAMILIES_FORKED ? find_unused(child) : parent->family;

    if (family == NULL) {
        family = family_make(child, parent->family);
        add_link(child, family);
    }
    set_family(child, family);
    note_longest(child);
}

/* Takes the VMA off its families. Those that are left empty are still there after it. */
static void unlink_all(const struct vma *vma)
{
    for (const struct anon_link *link = vma->links; link != NULL; link = link->next) {
        if (--link->family->links == 0)
            link->family->parent->children--;
    }
}

void anon_family_leave(struct vma *vma)
{
    struct machine *machine = vma->mm->machine;
    struct anon_link *link = vma->links;

    if (vma->family != NULL) {
        vma->family->active--;
        vma->mm->family_vmas--;
        if (rule_of(vma) == FAMILIES_AMAP && vma->family->links > 1)
            amap_drop(&vma->family->amap, vma->object_page, pages_of(vma), events_of(vma));
    }
    unlink_all(vma);
    while (link != NULL) {
        struct anon_link *next = link->next;

        if (link->family->links == 0) {
            assert(link->family->active == 0 && link->family->children == 0);
            amap_end(&link->family->amap);
            pool_give(&machine->anon_families, link->family);
        }
        pool_give(&machine->anon_links, link);
        link = next;
    }
    vma->family = NULL;
    vma->links = NULL;
    vma->flags &= ~VMA_ANCESTRY;
}
