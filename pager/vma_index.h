/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seam for VMA indexes: how an address space finds the mapping for an address, its neighbours,
 * and free space.
 *
 *   links   what an index keeps beside each VMA (vma_links()): list pointers, the node of a tree
 *   nodes   what it keeps apart, for several VMAs each; from the machine's pool of them
 *   state   what it keeps once for an address space
 *
 * VMAs in an index are ordered and disjoint. An index may need nodes for another VMA, so whoever
 * inserts reserves first; after that nothing fails. The ends of a VMA are changed through
 * set_range() alone, since an index may hold copies of them or what follows from them (gaps).
 *
 * An index counts its steps (EVENT_INDEX_STEP): VMAs or nodes looked at on the way to an answer.
 */
#ifndef FORKLAB_PAGER_VMA_INDEX_H
#define FORKLAB_PAGER_VMA_INDEX_H

#include "pt/pool.h"
#include "pt/types.h"

struct vma;

enum { VMA_INDEX_STATE_BYTES = 160 };

struct vma_index {
    const struct vma_index_ops *ops;
    struct pool *nodes;
    uint64_t *steps; /* counted here */
    uint32_t count;
    _Alignas(max_align_t) unsigned char state[VMA_INDEX_STATE_BYTES]; /* the policy's own */
};

/* A search for free space: `bytes` of it within [low, high). */
struct vma_gap {
    va_t low;
    va_t high;
    uint64_t bytes;
};

/* Makes the copy of a VMA for a child, or returns NULL if the child gets none. */
typedef struct vma *vma_copier(void *context, struct vma *vma);

struct vma_index_ops {
    const char *name;
    size_t links_bytes;
    size_t node_bytes;
    /* The state of an empty index is zeros; what needs more sets it up here. NULL: none. */
    void (*init)(struct vma_index *index);
    /* Gives back nodes and memory; the VMAs have gone already. NULL: there are none. */
    void (*destroy)(struct vma_index *index);
    /* After 0 the next `more` insertions succeed; -ENOMEM. NULL: they need nothing. */
    int (*reserve)(struct vma_index *index, uint32_t more);
    /* The same for copies of all that another index holds. NULL: reserve() knows enough. */
    int (*reserve_copy)(struct vma_index *index, const struct vma_index *from);
    /* The first VMA that ends above `va`, and the highest of all, or NULL. */
    struct vma *(*find)(struct vma_index *index, va_t va);
    struct vma *(*last)(struct vma_index *index);
    /* Neighbours by address, or NULL. Who walks to the end by next() may give back the VMAs that he
     * has passed; nothing looks at them again. */
    struct vma *(*next)(struct vma_index *index, const struct vma *vma);
    struct vma *(*previous)(struct vma_index *index, const struct vma *vma);
    void (*insert)(struct vma_index *index, struct vma *vma);
    void (*remove)(struct vma_index *index, struct vma *vma);
    /* Inserts a VMA above all others: what fork does. */
    void (*append)(struct vma_index *index, struct vma *vma);
    /* Gives a VMA other ends, between the same neighbours. NULL: nothing but the VMA knows them. */
    void (*set_range)(struct vma_index *index, struct vma *vma, va_t start, va_t end);
    /* Fills an empty index with copies of all VMAs of another, in order; reserved for as many.
     * NULL: they are appended one by one. */
    void (*duplicate)(struct vma_index *index, struct vma_index *from, vma_copier *copy,
                      void *context);
    /* The end of the highest, or the start of the lowest, gap that the request fits in; 0: none.
     * NULL: the index knows nothing of gaps, and neighbours are asked one by one. */
    va_t (*highest_gap)(struct vma_index *index, const struct vma_gap *gap);
    va_t (*lowest_gap)(struct vma_index *index, const struct vma_gap *gap);
    /* Is what the index keeps as it should be? NULL: there is nothing that the VMAs do not tell. */
    bool (*is_sound)(struct vma_index *index);
};

extern const struct vma_index_ops vma_index_list_avl;
extern const struct vma_index_ops vma_index_list_rb;
extern const struct vma_index_ops vma_index_double_rb;
extern const struct vma_index_ops vma_index_gap_rb;
extern const struct vma_index_ops vma_index_hint_list;
extern const struct vma_index_ops vma_index_maple;

#endif
