/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The VMA index against a plain list: every query after every change, over many shapes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pager/vma.h"
#include "pager/vma_index.h"
#include "pt/random.h"

enum { SLOTS = 64, ROUNDS = 3000 };

/* The plain list: slot i begins at page 2i + 1, and every third is two pages wide. */
struct bench {
    struct vma_index index;
    struct allocation_gate gate;
    struct pool nodes;
    uint64_t steps;
    struct vma vmas[SLOTS];
    bool present[SLOTS];
};

static void begin(struct bench *bench)
{
    memset(bench, 0, sizeof(*bench));
    pool_init(&bench->nodes, &bench->gate, vma_index_array.node_bytes);
    bench->index.ops = &vma_index_array;
    bench->index.nodes = &bench->nodes;
    bench->index.steps = &bench->steps;
    for (unsigned i = 0; i < SLOTS; i++) {
        bool wide = i % 3 == 0;

        bench->vmas[i].start = (2 * i + 1) * PAGE_BYTES;
        bench->vmas[i].end = bench->vmas[i].start + (wide ? 2 : 1) * PAGE_BYTES;
    }
}

static struct vma *expected_find(struct bench *bench, va_t va)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        if (bench->present[i] && bench->vmas[i].end > va)
            return &bench->vmas[i];
    }
    return NULL;
}

static struct vma *expected_neighbour(struct bench *bench, unsigned slot, int step)
{
    for (int i = (int)slot + step; i >= 0 && i < SLOTS; i += step) {
        if (bench->present[i])
            return &bench->vmas[i];
    }
    return NULL;
}

static void check_all(struct bench *bench)
{
    const struct vma_index_ops *ops = bench->index.ops;
    uint32_t count = 0;

    for (unsigned page = 0; page < 2 * SLOTS + 3; page++) {
        va_t va = page * PAGE_BYTES;

        assert_ptr_equal(ops->find(&bench->index, va), expected_find(bench, va));
        assert_ptr_equal(ops->find(&bench->index, va + PAGE_BYTES - 1),
                         expected_find(bench, va + PAGE_BYTES - 1));
    }
    assert_null(ops->find(&bench->index, UINT64_MAX));
    for (unsigned i = 0; i < SLOTS; i++) {
        if (!bench->present[i])
            continue;
        count++;
        assert_ptr_equal(ops->next(&bench->index, &bench->vmas[i]),
                         expected_neighbour(bench, i, 1));
        assert_ptr_equal(ops->previous(&bench->index, &bench->vmas[i]),
                         expected_neighbour(bench, i, -1));
    }
    assert_int_equal(bench->index.count, count);
}

static void change(struct bench *bench, unsigned slot)
{
    const struct vma_index_ops *ops = bench->index.ops;

    if (bench->present[slot]) {
        ops->remove(&bench->index, &bench->vmas[slot]);
    } else {
        assert_int_equal(ops->reserve(&bench->index, 1), 0);
        ops->insert(&bench->index, &bench->vmas[slot]);
    }
    bench->present[slot] = !bench->present[slot];
}

static void test_empty(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench);
    check_all(&bench);
    bench.index.ops->destroy(&bench.index);
}

static void test_random_changes(void **state)
{
    struct random random = random_seeded(42);
    struct bench bench;

    (void)state;
    begin(&bench);
    for (unsigned round = 0; round < ROUNDS; round++) {
        change(&bench, (unsigned)random_below(&random, SLOTS));
        check_all(&bench);
    }
    bench.index.ops->destroy(&bench.index);
}

static void test_append_in_order(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench);
    assert_int_equal(bench.index.ops->reserve(&bench.index, SLOTS), 0);
    for (unsigned i = 0; i < SLOTS; i++) {
        bench.index.ops->append(&bench.index, &bench.vmas[i]);
        bench.present[i] = true;
        check_all(&bench);
    }
    bench.index.ops->destroy(&bench.index);
}

/* Memory is asked for in advance, and may be refused. */
static void test_reserve(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench);
    bench.gate.fail_at = 1;
    assert_int_equal(bench.index.ops->reserve(&bench.index, 1), -ENOMEM);
    check_all(&bench);
    assert_int_equal(bench.index.ops->reserve(&bench.index, SLOTS), 0);
    uint64_t requests = bench.gate.requests;

    for (unsigned i = 0; i < SLOTS; i++)
        change(&bench, i);
    assert_int_equal(bench.gate.requests, requests);
    check_all(&bench);
    bench.index.ops->destroy(&bench.index);
}

/* A VMA may move its ends, and be asked for right after: what was remembered must not mislead. */
static void test_moved_ends(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench);
    for (unsigned i = 0; i < SLOTS; i += 2)
        change(&bench, i);
    for (unsigned i = 0; i < SLOTS; i += 2) {
        struct vma *vma = &bench.vmas[i];

        assert_ptr_equal(bench.index.ops->find(&bench.index, vma->start), vma);
        vma->start -= PAGE_BYTES / 2;
        check_all(&bench);
        vma->end -= PAGE_BYTES / 4;
        check_all(&bench);
    }
    bench.index.ops->destroy(&bench.index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),           cmocka_unit_test(test_random_changes),
        cmocka_unit_test(test_append_in_order), cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_moved_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
