/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every VMA index against a plain list: every query after every change, over many shapes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pt/random.h"
#include "tests/support/index_bench.h"

enum { SLOTS = 64, ROUNDS = 2000 };

/* The plain list: slot i begins at page 2i + 1, and every third is two pages wide. */
struct list {
    struct index_bench bench;
    struct vma *vmas[SLOTS]; /* NULL: not there */
};

static va_t start_of(unsigned slot)
{
    return (2 * slot + 1) * PAGE_BYTES;
}

static va_t end_of(unsigned slot)
{
    return start_of(slot) + (slot % 3 == 0 ? 2 : 1) * PAGE_BYTES;
}

static void begin(struct list *list, void **state)
{
    memset(list, 0, sizeof(*list));
    index_bench_open(&list->bench, *state);
}

static struct vma *expected_find(const struct list *list, va_t va)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        if (list->vmas[i] != NULL && list->vmas[i]->end > va)
            return list->vmas[i];
    }
    return NULL;
}

static struct vma *expected_neighbour(const struct list *list, int slot, int step)
{
    for (int i = slot + step; i >= 0 && i < SLOTS; i += step) {
        if (list->vmas[i] != NULL)
            return list->vmas[i];
    }
    return NULL;
}

static void check_neighbours(struct list *list)
{
    const struct vma_index_ops *ops = list->bench.index.ops;
    uint32_t count = 0;

    for (int i = 0; i < SLOTS; i++) {
        const struct vma *vma = list->vmas[i];

        if (vma == NULL)
            continue;
        count++;
        assert_ptr_equal(ops->next(&list->bench.index, vma), expected_neighbour(list, i, 1));
        assert_ptr_equal(ops->previous(&list->bench.index, vma), expected_neighbour(list, i, -1));
    }
    assert_int_equal(list->bench.index.count, count);
}

static void check_all(struct list *list)
{
    struct vma_index *index = &list->bench.index;

    for (unsigned page = 0; page < 2 * SLOTS + 3; page++) {
        va_t va = page * PAGE_BYTES;

        assert_ptr_equal(index->ops->find(index, va), expected_find(list, va));
        assert_ptr_equal(index->ops->find(index, va + PAGE_BYTES - 1),
                         expected_find(list, va + PAGE_BYTES - 1));
    }
    assert_null(index->ops->find(index, UINT64_MAX));
    assert_ptr_equal(index->ops->last(index), expected_neighbour(list, SLOTS, -1));
    check_neighbours(list);
    assert_true(index->ops->is_sound == NULL || index->ops->is_sound(index));
}

static void change(struct list *list, unsigned slot)
{
    if (list->vmas[slot] != NULL) {
        index_bench_remove(&list->bench, list->vmas[slot]);
        list->vmas[slot] = NULL;
    } else {
        list->vmas[slot] = index_bench_insert(&list->bench, start_of(slot), end_of(slot));
    }
}

static void test_empty(void **state)
{
    struct list list;

    begin(&list, state);
    check_all(&list);
    index_bench_close(&list.bench);
}

static void test_random_changes(void **state)
{
    struct random random = random_seeded(42);
    struct list list;

    begin(&list, state);
    for (unsigned round = 0; round < ROUNDS; round++) {
        change(&list, (unsigned)random_below(&random, SLOTS));
        check_all(&list);
    }
    index_bench_close(&list.bench);
}

static void test_append_in_order(void **state)
{
    struct list list;

    begin(&list, state);
    struct vma_index *index = &list.bench.index;

    if (index->ops->reserve != NULL)
        assert_int_equal(index->ops->reserve(index, SLOTS), 0);
    for (unsigned i = 0; i < SLOTS; i++) {
        list.vmas[i] = index_bench_vma(&list.bench, start_of(i), end_of(i));
        index->ops->append(index, list.vmas[i]);
        check_all(&list);
    }
    index_bench_close(&list.bench);
}

/* Memory is asked for in advance, and may be refused; then nothing has changed. */
static void test_reserve(void **state)
{
    struct list list;

    begin(&list, state);
    struct vma_index *index = &list.bench.index;

    if (index->ops->reserve == NULL) {
        index_bench_close(&list.bench);
        return;
    }
    list.bench.gate.fail_at = 1;
    assert_int_equal(index->ops->reserve(index, 1), -ENOMEM);
    check_all(&list);
    assert_int_equal(index->ops->reserve(index, SLOTS), 0);
    for (unsigned i = 0; i < SLOTS; i++)
        list.vmas[i] = index_bench_vma(&list.bench, start_of(i), end_of(i));
    uint64_t requests = list.bench.gate.requests;

    for (unsigned i = 0; i < SLOTS; i++)
        index->ops->insert(index, list.vmas[i * 37 % SLOTS]);
    assert_int_equal(list.bench.gate.requests, requests);
    check_all(&list);
    index_bench_close(&list.bench);
}

/* A VMA may move its ends, and be asked for right after: what was remembered must not mislead. */
static void test_moved_ends(void **state)
{
    struct list list;

    begin(&list, state);
    struct vma_index *index = &list.bench.index;

    for (unsigned i = 0; i < SLOTS; i += 2)
        change(&list, i);
    for (unsigned i = 0; i < SLOTS; i += 2) {
        struct vma *vma = list.vmas[i];

        assert_ptr_equal(index->ops->find(index, vma->start), vma);
        index_bench_set_range(&list.bench, vma, vma->start - PAGE_BYTES / 2, vma->end);
        check_all(&list);
        index_bench_set_range(&list.bench, vma, vma->start, vma->end - PAGE_BYTES / 4);
        check_all(&list);
    }
    index_bench_close(&list.bench);
}

int main(void)
{
    static const struct {
        const char *name;
        CMUnitTestFunction function;
    } tests[] = {
        {"empty", test_empty},
        {"random changes", test_random_changes},
        {"append in order", test_append_in_order},
        {"reserve", test_reserve},
        {"moved ends", test_moved_ends},
    };
    enum { TESTS = sizeof(tests) / sizeof(tests[0]), MOST_INDEXES = 16, NAME_BYTES = 64 };
    static char names[TESTS * MOST_INDEXES][NAME_BYTES];
    struct CMUnitTest units[TESTS * MOST_INDEXES];
    size_t count = 0;

    for (size_t i = 0; i < MOST_INDEXES && all_indexes[i] != NULL; i++) {
        for (size_t j = 0; j < TESTS; j++, count++) {
            (void)snprintf(names[count], NAME_BYTES, "%s: %s", all_indexes[i]->name, tests[j].name);
            units[count] = (struct CMUnitTest){.name = names[count],
                                               .test_func = tests[j].function,
                                               .initial_state = (void *)(uintptr_t)all_indexes[i]};
        }
    }
    return _cmocka_run_group_tests("vma_index", units, count, NULL, NULL);
}
