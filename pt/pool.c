/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pools of equal objects: slabs from malloc, a free list in last-in first-out order (warm). */
#include "pt/pool.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SLAB_OBJECTS = 32 };

struct pool_object {
    struct pool_object *next;
};

struct pool_slab {
    struct pool_slab *next;
    max_align_t objects[];
};

void pool_init(struct pool *pool, struct allocation_gate *gate, size_t object_bytes)
{
    size_t least = sizeof(struct pool_object);
    size_t bytes = object_bytes < least ? least : object_bytes;

    *pool = (struct pool){.gate = gate, .object_bytes = round_up(bytes, sizeof(max_align_t))};
}

void pool_destroy(struct pool *pool)
{
    while (pool->slabs != NULL) {
        struct pool_slab *slab = pool->slabs;

        pool->slabs = slab->next;
        free(slab);
    }
    pool_init(pool, pool->gate, pool->object_bytes);
}

static int pool_grow(struct pool *pool)
{
    struct pool_slab *slab = malloc(sizeof(*slab) + SLAB_OBJECTS * pool->object_bytes);

    if (slab == NULL)
        return -ENOMEM;
    slab->next = pool->slabs;
    pool->slabs = slab;
    for (size_t i = SLAB_OBJECTS; i-- > 0;) {
        struct pool_object *object = (void *)((char *)slab->objects + i * pool->object_bytes);

        object->next = pool->free;
        pool->free = object;
    }
    pool->free_count += SLAB_OBJECTS;
    return 0;
}

int pool_reserve(struct pool *pool, size_t count)
{
    if (count > 0 && gate_refuses(pool->gate))
        return -ENOMEM;
    while (pool->free_count < count) {
        int error = pool_grow(pool);

        if (error != 0)
            return error;
    }
    return 0;
}

void *pool_take_uncleared(struct pool *pool)
{
    struct pool_object *object = pool->free;

    assert(object != NULL);
    pool->free = object->next;
    pool->free_count--;
    pool->used_count++;
    return object;
}

void *pool_take(struct pool *pool)
{
    return memset(pool_take_uncleared(pool), 0, pool->object_bytes);
}

void pool_give(struct pool *pool, void *object)
{
    struct pool_object *given = object;

    assert(pool->used_count > 0);
    given->next = pool->free;
    pool->free = given;
    pool->free_count++;
    pool->used_count--;
}
