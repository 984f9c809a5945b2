/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simplest VMA index: a sorted array with binary search.
 *
 * Insertion moves the tail, which is linear; with the few mappings of an ordinary process nothing
 * is faster. Where a VMA stands is remembered from the last question about a neighbour.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pager/vma.h"
#include "pager/vma_index.h"

enum { LEAST_CAPACITY = 16 };

struct array {
    struct vma **items;
    uint32_t capacity;
    uint32_t last_asked; /* position of the VMA that was asked for its neighbour */
};

_Static_assert(sizeof(struct array) <= VMA_INDEX_STATE_BYTES, "the state fits");

static struct array *array_of(struct vma_index *index)
{
    return (struct array *)(void *)index->state;
}

static void array_destroy(struct vma_index *index)
{
    free(array_of(index)->items);
}

static int array_reserve(struct vma_index *index, uint32_t more)
{
    struct array *array = array_of(index);
    uint64_t least = max_u64((uint64_t)index->count + more, LEAST_CAPACITY);

    if (least <= array->capacity)
        return 0;
    if (gate_refuses(index->nodes->gate))
        return -ENOMEM;
    uint32_t capacity = (uint32_t)max_u64(least, (uint64_t)array->capacity * 2);
    struct vma **items = realloc(array->items, capacity * sizeof(struct vma *));

    if (items == NULL)
        return -ENOMEM;
    array->items = items;
    array->capacity = capacity;
    return 0;
}

/* Position of the first VMA that ends above `va`; `count` if there is none. */
static uint32_t position_of(struct vma_index *index, va_t va)
{
    struct array *array = array_of(index);
    uint32_t low = 0;
    uint32_t high = index->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        ++*index->steps;
        if (array->items[middle]->end > va)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct vma *array_find(struct vma_index *index, va_t va)
{
    uint32_t position = position_of(index, va);

    return position < index->count ? array_of(index)->items[position] : NULL;
}

static struct vma *array_last(struct vma_index *index)
{
    return index->count > 0 ? array_of(index)->items[index->count - 1] : NULL;
}

/* Where a VMA of this index stands: most often at or after the last one asked for. */
static uint32_t position_of_vma(struct vma_index *index, const struct vma *vma)
{
    struct array *array = array_of(index);
    uint32_t position = array->last_asked;

    if (position < index->count && array->items[position] == vma)
        return position;
    if (position + 1 < index->count && array->items[position + 1] == vma)
        position++;
    else
        position = position_of(index, vma->start);
    array->last_asked = position;
    return position;
}

static struct vma *array_next(struct vma_index *index, const struct vma *vma)
{
    uint32_t position = position_of_vma(index, vma) + 1;

    return position < index->count ? array_of(index)->items[position] : NULL;
}

static struct vma *array_previous(struct vma_index *index, const struct vma *vma)
{
    uint32_t position = position_of_vma(index, vma);

    return position > 0 ? array_of(index)->items[position - 1] : NULL;
}

static void array_insert(struct vma_index *index, struct vma *vma)
{
    struct vma **place = &array_of(index)->items[position_of(index, vma->start)];
    struct vma **end = &array_of(index)->items[index->count];

    memmove(place + 1, place, (size_t)(end - place) * sizeof(struct vma *));
    *place = vma;
    index->count++;
}

static void array_remove(struct vma_index *index, struct vma *vma)
{
    struct vma **place = &array_of(index)->items[position_of(index, vma->start)];
    struct vma **end = &array_of(index)->items[index->count];

    memmove(place, place + 1, (size_t)(end - place - 1) * sizeof(struct vma *));
    index->count--;
}

static void array_append(struct vma_index *index, struct vma *vma)
{
    array_of(index)->items[index->count++] = vma;
}

const struct vma_index_ops vma_index_array = {
    .name = "array",
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
