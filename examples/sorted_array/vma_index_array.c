/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A VMA index of one's own: a sorted array with binary search. docs/new-policy.md goes through it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pager/vma.h"

/* What an address space keeps of it; an empty one is zeros. */
struct array {
    struct vma **items;
    uint32_t capacity;
    uint32_t asked; /* position of the VMA that was asked for its neighbour last */
};

static struct array *array_of(struct vma_index *index)
{
    return (struct array *)(void *)index->state;
}

static void array_destroy(struct vma_index *index)
{
    free(array_of(index)->items);
}

/* All memory is asked for in advance, so that nothing fails between a look and a change. */
static int array_reserve(struct vma_index *index, uint32_t more)
{
    struct array *array = array_of(index);
    uint32_t capacity = 2 * (index->count + more);

    if (index->count + more <= array->capacity)
        return 0;
    struct vma **items = gate_refuses(index->nodes->gate)
                             ? NULL
                             : realloc(array->items, capacity * sizeof(struct vma *));

    if (items == NULL)
        return -ENOMEM;
    array->items = items;
    array->capacity = capacity;
    return 0;
}

/* Position of the first VMA that ends above `va`; `count` if there is none. */
static uint32_t position_of(struct vma_index *index, va_t va)
{
    uint32_t low = 0;
    uint32_t high = index->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        ++*index->steps;
        if (array_of(index)->items[middle]->end > va)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct vma *item(struct vma_index *index, uint32_t position)
{
    return position < index->count ? array_of(index)->items[position] : NULL;
}

static struct vma *array_find(struct vma_index *index, va_t va)
{
    return item(index, position_of(index, va));
}

static struct vma *array_last(struct vma_index *index)
{
    return item(index, index->count - 1);
}

/* Most often it stands where the last one was found, or right behind it. A walk in order must not
 * search: it may give back each VMA that it has passed. */
static uint32_t position_of_vma(struct vma_index *index, const struct vma *vma)
{
    uint32_t *asked = &array_of(index)->asked;

    if (item(index, *asked + 1) == vma)
        ++*asked;
    else if (item(index, *asked) != vma)
        *asked = position_of(index, vma->start);
    return *asked;
}

static struct vma *array_next(struct vma_index *index, const struct vma *vma)
{
    return item(index, position_of_vma(index, vma) + 1);
}

static struct vma *array_previous(struct vma_index *index, const struct vma *vma)
{
    return item(index, position_of_vma(index, vma) - 1); /* below 0 there is none either */
}

static void array_insert(struct vma_index *index, struct vma *vma)
{
    uint32_t position = position_of(index, vma->start);
    struct vma **place = array_of(index)->items + position;

    memmove(place + 1, place, (index->count - position) * sizeof(struct vma *));
    *place = vma;
    index->count++;
}

static void array_remove(struct vma_index *index, struct vma *vma)
{
    uint32_t position = position_of(index, vma->start);
    struct vma **place = array_of(index)->items + position;

    index->count--;
    memmove(place, place + 1, (index->count - position) * sizeof(struct vma *));
}

static void array_append(struct vma_index *index, struct vma *vma)
{
    array_of(index)->items[index->count++] = vma;
}

const struct vma_index_ops vma_index_array = {
    .name = "sorted array",
    .destroy = array_destroy,
    .reserve = array_reserve,
    .find = array_find,
    .last = array_last,
    .next = array_next,
    .previous = array_previous,
    .insert = array_insert,
    .remove = array_remove,
    .append = array_append,
};
