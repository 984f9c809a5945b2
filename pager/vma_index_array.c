/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simplest VMA index: a sorted array with binary search and a cache of the last hit.
 *
 * Insertion moves the tail, which is linear; with the few mappings of an ordinary process nothing
 * is faster. Up to VMA_INDEX_INLINE of them take no memory of their own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pager/vma.h"
#include "pager/vma_index.h"

static void array_init(struct vma_index *index)
{
    index->items = index->inline_items;
    index->capacity = VMA_INDEX_INLINE;
}

static void array_destroy(struct vma_index *index)
{
    if (index->items != index->inline_items)
        free(index->items);
}

static int array_reserve(struct vma_index *index, uint32_t more)
{
    if (index->count + more <= index->capacity)
        return 0;
    if (gate_refuses(index->gate))
        return -ENOMEM;
    uint32_t capacity = (uint32_t)max_u64(index->count + more, (uint64_t)index->capacity * 2);
    struct vma **items = malloc(capacity * sizeof(struct vma *));

    if (items == NULL)
        return -ENOMEM;
    memcpy(items, index->items, index->count * sizeof(struct vma *));
    array_destroy(index);
    index->items = items;
    index->capacity = capacity;
    return 0;
}

/* Position of the first VMA that ends above `va`; `count` if there is none. */
static uint32_t position_of(const struct vma_index *index, va_t va)
{
    uint32_t low = 0;
    uint32_t high = index->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (index->items[middle]->end > va)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static struct vma *array_find(struct vma_index *index, va_t va)
{
    uint32_t hit = index->last_hit;

    if (hit < index->count && vma_contains(index->items[hit], va))
        return index->items[hit];
    uint32_t position = position_of(index, va);

    if (position == index->count)
        return NULL;
    index->last_hit = position;
    return index->items[position];
}

/* Where a VMA of this index stands: most often at or after the last one asked for. */
static uint32_t position_of_vma(struct vma_index *index, const struct vma *vma)
{
    uint32_t position = index->last_hit;

    if (position < index->count && index->items[position] == vma)
        return position;
    if (position + 1 < index->count && index->items[position + 1] == vma)
        position++;
    else
        position = position_of(index, vma->start);
    index->last_hit = position;
    return position;
}

static struct vma *array_next(struct vma_index *index, const struct vma *vma)
{
    uint32_t position = position_of_vma(index, vma) + 1;

    return position < index->count ? index->items[position] : NULL;
}

static struct vma *array_previous(struct vma_index *index, const struct vma *vma)
{
    uint32_t position = position_of_vma(index, vma);

    return position > 0 ? index->items[position - 1] : NULL;
}

static void array_insert(struct vma_index *index, struct vma *vma)
{
    uint32_t position = position_of(index, vma->start);

    memmove(&index->items[position + 1], &index->items[position],
            (index->count - position) * sizeof(struct vma *));
    index->items[position] = vma;
    index->count++;
}

static void array_remove(struct vma_index *index, struct vma *vma)
{
    uint32_t position = position_of(index, vma->start);

    index->count--;
    memmove(&index->items[position], &index->items[position + 1],
            (index->count - position) * sizeof(struct vma *));
}

static void array_append(struct vma_index *index, struct vma *vma)
{
    index->items[index->count++] = vma;
}

const struct vma_index_ops vma_index_array = {
    .name = "array",
    .init = array_init,
    .destroy = array_destroy,
    .reserve = array_reserve,
    .find = array_find,
    .next = array_next,
    .previous = array_previous,
    .insert = array_insert,
    .remove = array_remove,
    .append = array_append,
};
