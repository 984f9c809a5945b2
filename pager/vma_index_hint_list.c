/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sorted list with a hint: NetBSD's UVM up to 1.6 and in 2003 (uvm_map_lookup_entry() of
 * sys/uvm/uvm_map.c).
 *
 * The hint is the entry that was found last, or the one before the hole that was found. A lookup at
 * or above it goes on from there, one below it begins with the first entry; there is no tree, so
 * what lies far from the hint takes as many steps as there are entries on the way.
 */
#include "pager/vma.h"

struct hint_links {
    struct vma *next;
    struct vma *previous;
};

struct hint_list {
    struct vma *first;
    struct vma *last;
    struct vma *hint; /* NULL: what lies before the first entry */
};

_Static_assert(sizeof(struct hint_list) <= VMA_INDEX_STATE_BYTES, "the state fits");

static struct hint_list *list_of(struct vma_index *index)
{
    return (struct hint_list *)(void *)index->state;
}

static struct hint_links *links_of(const struct vma *vma)
{
    return vma_links(vma);
}

static struct vma *hint_find(struct vma_index *index, va_t va)
{
    struct hint_list *list = list_of(index);
    struct vma *vma = list->hint;

    if (vma == NULL || va < vma->start)
        vma = list->first;
    for (; vma != NULL && vma->end <= va; vma = links_of(vma)->next)
        ++*index->steps;
    ++*index->steps;
    if (vma == NULL)
        list->hint = list->last;
    else
        list->hint = vma->start <= va ? vma : links_of(vma)->previous;
    return vma;
}

static struct vma *hint_last(struct vma_index *index)
{
    return list_of(index)->last;
}

static struct vma *hint_next(struct vma_index *index, const struct vma *vma)
{
    (void)index;
    return links_of(vma)->next;
}

static struct vma *hint_previous(struct vma_index *index, const struct vma *vma)
{
    (void)index;
    return links_of(vma)->previous;
}

static void link_after(struct vma_index *index, struct vma *vma, struct vma *previous)
{
    struct hint_list *list = list_of(index);
    struct hint_links *links = links_of(vma);

    links->previous = previous;
    links->next = previous != NULL ? links_of(previous)->next : list->first;
    if (previous != NULL)
        links_of(previous)->next = vma;
    else
        list->first = vma;
    if (links->next != NULL)
        links_of(links->next)->previous = vma;
    else
        list->last = vma;
    index->count++;
}

static void hint_insert(struct vma_index *index, struct vma *vma)
{
    const struct vma *next = hint_find(index, vma->start);

    link_after(index, vma, next != NULL ? links_of(next)->previous : list_of(index)->last);
}

static void hint_append(struct vma_index *index, struct vma *vma)
{
    link_after(index, vma, list_of(index)->last);
}

static void hint_remove(struct vma_index *index, struct vma *vma)
{
    struct hint_list *list = list_of(index);
    struct hint_links *links = links_of(vma);

    if (links->previous != NULL)
        links_of(links->previous)->next = links->next;
    else
        list->first = links->next;
    if (links->next != NULL)
        links_of(links->next)->previous = links->previous;
    else
        list->last = links->previous;
    if (list->hint == vma)
        list->hint = links->previous;
    index->count--;
}

static bool hint_is_sound(struct vma_index *index)
{
    const struct hint_list *list = list_of(index);
    const struct vma *previous = NULL;
    bool has_hint = list->hint == NULL;
    uint32_t count = 0;

    for (const struct vma *vma = list->first; vma != NULL; vma = links_of(vma)->next) {
        if (links_of(vma)->previous != previous || (previous != NULL && previous->end > vma->start))
            return false;
        has_hint |= vma == list->hint;
        previous = vma;
        count++;
    }
    return has_hint && previous == list->last && count == index->count;
}

const struct vma_index_ops vma_index_hint_list = {
    .name = "hint+list",
    .links_bytes = sizeof(struct hint_links),
    .find = hint_find,
    .last = hint_last,
    .next = hint_next,
    .previous = hint_previous,
    .insert = hint_insert,
    .remove = hint_remove,
    .append = hint_append,
    .is_sound = hint_is_sound,
};
