/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A VMA index by itself: no machine, no address space, VMAs of the bench's own.
 */
#ifndef FORKLAB_TESTS_SUPPORT_INDEX_BENCH_H
#define FORKLAB_TESTS_SUPPORT_INDEX_BENCH_H

#include "pager/vma.h"

struct index_bench {
    struct vma_index index;
    struct allocation_gate gate;
    struct pool vmas;
    struct pool nodes;
    uint64_t steps;
};

/* All indexes that there are, ended by NULL. */
extern const struct vma_index_ops *const all_indexes[];

/* An empty index of that kind. */
void index_bench_open(struct index_bench *bench, const struct vma_index_ops *ops);

/* Another empty one, of the same memory. */
void index_bench_another(struct index_bench *bench, struct vma_index *index);

/* Ends it; nothing may be lost: every VMA given back, and every node. */
void index_bench_close(struct index_bench *bench);

/* A VMA in no index. */
struct vma *index_bench_vma(struct index_bench *bench, va_t start, va_t end);

/* Reserves and inserts. */
struct vma *index_bench_insert(struct index_bench *bench, va_t start, va_t end);

/* Removes and gives back. */
void index_bench_remove(struct index_bench *bench, struct vma *vma);

/* Removes all. */
void index_bench_clear(struct index_bench *bench, struct vma_index *index);

void index_bench_set_range(struct index_bench *bench, struct vma *vma, va_t start, va_t end);

/* Fills `to`, which is empty, as fork does. */
void index_bench_duplicate(struct index_bench *bench, struct vma_index *to, vma_copier *copy,
                           void *context);

#endif
