/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seam for VMA indexes: how an address space finds the mapping for an address.
 *
 * VMAs in an index are ordered and disjoint. An index may need memory for another VMA, so whoever
 * inserts reserves first; after that nothing fails.
 */
#ifndef FORKLAB_PAGER_VMA_INDEX_H
#define FORKLAB_PAGER_VMA_INDEX_H

#include "pt/pool.h"
#include "pt/types.h"

struct vma;

enum { VMA_INDEX_INLINE = 16 };

/* The state of one address space's index; its fields are the index policy's own. */
struct vma_index {
    const struct vma_index_ops *ops;
    struct allocation_gate *gate;
    struct vma **items; /* array: sorted by address */
    uint32_t count;
    uint32_t capacity;
    uint32_t last_hit; /* position of the last VMA found */
    struct vma *inline_items[VMA_INDEX_INLINE];
};

struct vma_index_ops {
    const char *name;
    void (*init)(struct vma_index *index);
    void (*destroy)(struct vma_index *index);
    /* After 0 the next `more` insertions succeed; -ENOMEM. */
    int (*reserve)(struct vma_index *index, uint32_t more);
    /* The first VMA that ends above `va`, or NULL. */
    struct vma *(*find)(struct vma_index *index, va_t va);
    /* Neighbours by address, or NULL. */
    struct vma *(*next)(struct vma_index *index, const struct vma *vma);
    struct vma *(*previous)(struct vma_index *index, const struct vma *vma);
    void (*insert)(struct vma_index *index, struct vma *vma);
    void (*remove)(struct vma_index *index, struct vma *vma);
    /* Inserts a VMA above all others: what fork does. */
    void (*append)(struct vma_index *index, struct vma *vma);
};

extern const struct vma_index_ops vma_index_array;

#endif
