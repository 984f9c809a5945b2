/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/support/index_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Not the library's own: examples/sorted_array. */
extern const struct vma_index_ops vma_index_array;

const struct vma_index_ops *const all_indexes[] = {
    &vma_index_array,  &vma_index_list_avl,  &vma_index_list_rb, &vma_index_double_rb,
    &vma_index_gap_rb, &vma_index_hint_list, &vma_index_maple,   NULL,
};

void index_bench_another(struct index_bench *bench, struct vma_index *index)
{
    *index =
        (struct vma_index){.ops = bench->index.ops, .nodes = &bench->nodes, .steps = &bench->steps};
    if (index->ops->init != NULL)
        index->ops->init(index);
}

void index_bench_open(struct index_bench *bench, const struct vma_index_ops *ops)
{
    *bench = (struct index_bench){.index = {.ops = ops}};
    pool_init(&bench->vmas, &bench->gate, sizeof(struct vma) + ops->links_bytes);
    pool_init(&bench->nodes, &bench->gate, ops->node_bytes);
    index_bench_another(bench, &bench->index);
}

void index_bench_clear(struct index_bench *bench, struct vma_index *index)
{
    struct vma *vma = index->ops->find(index, 0);

    while (vma != NULL) {
        struct vma *next = index->ops->next(index, vma);

        memset(vma, 0xee, sizeof(*vma)); /* nothing of it may be needed any more */
        pool_give(&bench->vmas, vma);
        vma = next;
    }
    if (index->ops->destroy != NULL)
        index->ops->destroy(index);
}

void index_bench_close(struct index_bench *bench)
{
    index_bench_clear(bench, &bench->index);
    assert_int_equal(bench->vmas.used_count, 0);
    assert_int_equal(bench->nodes.used_count, 0);
    pool_destroy(&bench->vmas);
    pool_destroy(&bench->nodes);
}

/* The links hold whatever was left in them: an index has to set them all. */
struct vma *index_bench_vma(struct index_bench *bench, va_t start, va_t end)
{
    assert_int_equal(pool_reserve(&bench->vmas, 1), 0);
    struct vma *vma = pool_take_uncleared(&bench->vmas);

    memset(vma, 0xee, sizeof(*vma) + bench->index.ops->links_bytes);
    *vma = (struct vma){.start = start, .end = end};
    return vma;
}

struct vma *index_bench_insert(struct index_bench *bench, va_t start, va_t end)
{
    const struct vma_index_ops *ops = bench->index.ops;
    struct vma *vma = index_bench_vma(bench, start, end);

    if (ops->reserve != NULL)
        assert_int_equal(ops->reserve(&bench->index, 1), 0);
    ops->insert(&bench->index, vma);
    return vma;
}

void index_bench_remove(struct index_bench *bench, struct vma *vma)
{
    bench->index.ops->remove(&bench->index, vma);
    memset(vma, 0xee, sizeof(*vma));
    pool_give(&bench->vmas, vma);
}

void index_bench_set_range(struct index_bench *bench, struct vma *vma, va_t start, va_t end)
{
    const struct vma_index_ops *ops = bench->index.ops;

    if (ops->set_range != NULL) {
        ops->set_range(&bench->index, vma, start, end);
        return;
    }
    vma->start = start;
    vma->end = end;
}

void index_bench_duplicate(struct index_bench *bench, struct vma_index *to, vma_copier *copy,
                           void *context)
{
    struct vma_index *from = &bench->index;
    const struct vma_index_ops *ops = from->ops;

    if (ops->reserve != NULL)
        assert_int_equal(ops->reserve(to, from->count), 0);
    if (ops->duplicate != NULL) {
        ops->duplicate(to, from, copy, context);
        return;
    }
    for (struct vma *vma = ops->find(from, 0); vma != NULL; vma = ops->next(from, vma)) {
        struct vma *made = copy(context, vma);

        if (made != NULL)
            ops->append(to, made);
    }
}
