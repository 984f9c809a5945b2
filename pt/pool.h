/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A pool of equal objects: warm memory for the small structures that fork makes and exit gives
 * back, and the one place where an allocation can be made to fail.
 *
 * The rule of the whole project is "reserve, then look, then change": pool_reserve() is the call
 * that can fail; pool_take() after it cannot. Objects come back zeroed by pool_take().
 *
 * An allocation gate is shared by all pools and by the frame allocator of a machine. Tests set
 * `fail_at` to n: the n-th request for memory is then refused, as if there were none.
 */
#ifndef FORKLAB_PT_POOL_H
#define FORKLAB_PT_POOL_H

#include "pt/types.h"

struct allocation_gate {
    uint64_t requests; /* requests seen so far */
    uint64_t fail_at;  /* the request to refuse, counted from 1; 0: none */
};

/* Counts a request for memory; true when this is the one that must fail. */
static inline bool gate_refuses(struct allocation_gate *gate)
{
    return ++gate->requests == gate->fail_at;
}

struct pool {
    struct allocation_gate *gate;
    size_t object_bytes;
    struct pool_object *free;
    size_t free_count;
    struct pool_slab *slabs;
    size_t used_count;
};

/* Sets up an empty pool; nothing is allocated yet. */
void pool_init(struct pool *pool, struct allocation_gate *gate, size_t object_bytes);

/* Frees all memory of the pool, that of objects still in use too. */
void pool_destroy(struct pool *pool);

/* After 0 the next `count` calls of pool_take succeed; -ENOMEM when memory ends. */
int pool_reserve(struct pool *pool, size_t count);

/* A zeroed object; there must be a reserved one. */
void *pool_take(struct pool *pool);

/* The same with whatever was left in it: for those who set all of it. */
void *pool_take_uncleared(struct pool *pool);

/* Gives an object back. NULL is not allowed. */
void pool_give(struct pool *pool, void *object);

#endif
