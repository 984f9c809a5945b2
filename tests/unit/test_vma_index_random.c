/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random operations on each VMA index against a flat array that says what each page belongs to:
 * mapping at a place and in the highest or lowest gap, unmapping of any range, growing and
 * shrinking at both ends, fork, and every question after them.
 *
 * FORKLAB_OPS: how many for each index (a slice by default). FORKLAB_SEED: of them. The same seed
 * with the number of the operation that failed is the whole reproduction.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pt/random.h"
#include "tests/support/index_bench.h"

enum { PAGES = 32768, MOST_PAGES = 6, OPERATIONS = 100000, LOOK_EVERY = 2000, PHASE = 25000 };

struct field {
    struct index_bench bench;
    struct random random;
    struct vma *owner[PAGES + 1]; /* of each page; nobody's beyond the last */
    uint64_t at;
    uint32_t most; /* VMAs at once, as far as was looked */
};

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

static unsigned below(struct field *field, unsigned limit)
{
    return (unsigned)random_below(&field->random, limit);
}

static void own(struct field *field, va_t start, va_t end, struct vma *vma)
{
    for (va_t page = start >> PAGE_SHIFT; page < end >> PAGE_SHIFT; page++)
        field->owner[page] = vma;
}

static bool is_free(const struct field *field, unsigned first, unsigned pages)
{
    for (unsigned i = 0; i < pages; i++) {
        if (field->owner[first + i] != NULL)
            return false;
    }
    return true;
}

static void map(struct field *field, unsigned first, unsigned pages)
{
    va_t start = first * PAGE_BYTES;

    own(field, start, start + pages * PAGE_BYTES,
        index_bench_insert(&field->bench, start, start + pages * PAGE_BYTES));
}

static void map_at_place(struct field *field)
{
    unsigned pages = 1 + below(field, MOST_PAGES);
    unsigned first = 1 + below(field, PAGES - MOST_PAGES - 1);

    if (is_free(field, first, pages))
        map(field, first, pages);
}

/* The last page of the highest gap in [low, high) plus one, or 0; the first of the lowest. */
static unsigned highest(const struct field *field, unsigned low, unsigned high, unsigned pages)
{
    for (unsigned end = high; end >= low + pages; end--) {
        if (is_free(field, end - pages, pages))
            return end;
    }
    return 0;
}

static unsigned lowest(const struct field *field, unsigned low, unsigned high, unsigned pages)
{
    for (unsigned first = low; first + pages <= high; first++) {
        if (is_free(field, first, pages))
            return first;
    }
    return 0;
}

static void map_in_gap(struct field *field)
{
    const struct vma_index_ops *ops = field->bench.index.ops;
    unsigned pages = 1 + below(field, 2 * MOST_PAGES);
    unsigned low = 1 + below(field, PAGES / 2);
    unsigned high = low + pages + below(field, PAGES - low - pages);
    struct vma_gap gap = {
        .low = low * PAGE_BYTES, .high = high * PAGE_BYTES, .bytes = pages * PAGE_BYTES};
    bool up = below(field, 2) == 0;

    if (ops->highest_gap == NULL)
        return;
    unsigned expected = up ? lowest(field, low, high, pages) : highest(field, low, high, pages);
    va_t found = (up ? ops->lowest_gap : ops->highest_gap)(&field->bench.index, &gap);

    assert_int_equal(found, expected * PAGE_BYTES);
    if (found != 0)
        map(field, up ? expected : expected - pages, pages);
}

/* Cuts the VMA in two; the upper part. */
static struct vma *split(struct field *field, struct vma *vma, va_t at)
{
    va_t end = vma->end;

    index_bench_set_range(&field->bench, vma, vma->start, at);
    struct vma *upper = index_bench_insert(&field->bench, at, end);

    own(field, at, end, upper);
    return upper;
}

static void unmap_from(struct field *field, struct vma *vma, va_t start, va_t end)
{
    if (vma->start < start)
        vma = split(field, vma, start);
    if (vma->end > end)
        split(field, vma, end);
    own(field, vma->start, vma->end, NULL);
    index_bench_remove(&field->bench, vma);
}

static void unmap(struct field *field)
{
    unsigned pages = 1 + below(field, below(field, 50) == 0 ? PAGES / 8 : 2 * MOST_PAGES);
    unsigned first = below(field, PAGES - pages);

    for (unsigned page = first; page < first + pages; page++) {
        if (field->owner[page] != NULL)
            unmap_from(field, field->owner[page], first * PAGE_BYTES, (first + pages) * PAGE_BYTES);
    }
}

static struct vma *any_vma(struct field *field)
{
    unsigned page = below(field, PAGES);

    for (unsigned i = 0; i < PAGES; i++) {
        if (field->owner[(page + i) % PAGES] != NULL)
            return field->owner[(page + i) % PAGES];
    }
    return NULL;
}

/* Other ends: one of them moves by a page, out or in. */
static void resize(struct field *field)
{
    struct vma *vma = any_vma(field);

    if (vma == NULL)
        return;
    va_t start = vma->start;
    va_t end = vma->end;

    switch (below(field, 4)) {
    case 0:
        start -= start > PAGE_BYTES ? PAGE_BYTES : 0;
        break;
    case 1:
        end += end < PAGES * PAGE_BYTES ? PAGE_BYTES : 0;
        break;
    case 2:
        start += PAGE_BYTES;
        break;
    default:
        end -= PAGE_BYTES;
    }
    if (start >= end || (start < vma->start && field->owner[start >> PAGE_SHIFT] != NULL) ||
        (end > vma->end && field->owner[vma->end >> PAGE_SHIFT] != NULL))
        return;
    own(field, vma->start, vma->end, NULL);
    index_bench_set_range(&field->bench, vma, start, end);
    own(field, start, end, vma);
}

/* A VMA becomes its neighbour's. */
static void merge(struct field *field)
{
    struct vma *vma = any_vma(field);

    if (vma == NULL)
        return;
    struct vma *next = field->owner[vma->end >> PAGE_SHIFT];

    if (next == NULL)
        return;
    va_t end = next->end;

    index_bench_remove(&field->bench, next);
    index_bench_set_range(&field->bench, vma, vma->start, end);
    own(field, vma->start, end, vma);
}

struct copying {
    struct field *field;
    unsigned one_in; /* so many are left out; 0: none */
};

static struct vma *copy_some(void *context, struct vma *vma)
{
    struct copying *copying = context;

    if (copying->one_in != 0 && below(copying->field, copying->one_in) == 0)
        return NULL;
    struct vma *made = index_bench_vma(&copying->field->bench, vma->start, vma->end);

    made->object_page = 1; /* a copy */
    vma->object_page = 2;  /* has been copied */
    return made;
}

/* The child has what was copied, in order, and nothing else. */
static void fork_all(struct field *field)
{
    static const unsigned left_out[] = {0, 0, 2, 20, 1};
    struct copying copying = {.field = field, .one_in = left_out[below(field, 5)]};
    struct vma_index child;
    const struct vma_index_ops *ops = field->bench.index.ops;

    index_bench_another(&field->bench, &child);
    index_bench_duplicate(&field->bench, &child, copy_some, &copying);
    struct vma *copy = ops->find(&child, 0);

    for (struct vma *vma = ops->find(&field->bench.index, 0); vma != NULL;
         vma = ops->next(&field->bench.index, vma)) {
        if (vma->object_page != 2)
            continue;
        vma->object_page = 0;
        assert_non_null(copy);
        assert_true(copy->start == vma->start && copy->end == vma->end && copy->object_page == 1);
        copy = ops->next(&child, copy);
    }
    assert_null(copy);
    assert_true(ops->is_sound == NULL || ops->is_sound(&child));
    index_bench_clear(&field->bench, &child);
}

static const struct vma *owner_from(const struct field *field, unsigned page)
{
    while (page < PAGES && field->owner[page] == NULL)
        page++;
    return field->owner[page];
}

static const struct vma *owner_before(const struct field *field, unsigned page)
{
    while (page > 0 && field->owner[page - 1] == NULL)
        page--;
    return page > 0 ? field->owner[page - 1] : NULL;
}

static void ask(struct field *field)
{
    struct vma_index *index = &field->bench.index;
    unsigned page = below(field, PAGES);
    const struct vma *found = index->ops->find(index, page * PAGE_BYTES + below(field, 4096));

    assert_ptr_equal(found, owner_from(field, page));
    assert_ptr_equal(index->ops->last(index), owner_before(field, PAGES));
    if (found == NULL)
        return;
    assert_ptr_equal(index->ops->previous(index, found),
                     owner_before(field, (unsigned)(found->start >> PAGE_SHIFT)));
    assert_ptr_equal(index->ops->next(index, found),
                     owner_from(field, (unsigned)(found->end >> PAGE_SHIFT)));
}

/* All of them in order, and no more. */
static void look_at_all(struct field *field)
{
    struct vma_index *index = &field->bench.index;
    const struct vma *vma = index->ops->find(index, 0);
    uint32_t count = 0;

    for (unsigned page = 0; owner_from(field, page) != NULL; count++) {
        assert_ptr_equal(vma, owner_from(field, page));
        page = (unsigned)(vma->end >> PAGE_SHIFT);
        vma = index->ops->next(index, vma);
    }
    assert_null(vma);
    assert_int_equal(index->count, count);
    assert_true(index->ops->is_sound == NULL || index->ops->is_sound(index));
    if (count > field->most)
        field->most = count;
}

/* Phases in which there become more of them, and fewer, as a whole. */
static void operate(struct field *field)
{
    bool grows = field->at / PHASE % 2 == 0;
    unsigned kind = below(field, 100);

    if (kind < (grows ? 40u : 12u))
        map_at_place(field);
    else if (kind < (grows ? 48u : 18u))
        map_in_gap(field);
    else if (kind < 60)
        unmap(field);
    else if (kind < 72)
        resize(field);
    else if (kind < 78)
        merge(field);
    else
        ask(field);
    if (field->at % 997 == 0)
        fork_all(field);
}

static void test_index(void **state)
{
    static struct field field;
    uint64_t seed = number_from("FORKLAB_SEED", 1);
    uint64_t operations = number_from("FORKLAB_OPS", OPERATIONS);

    memset(&field, 0, sizeof(field));
    field.random = random_seeded(seed);
    index_bench_open(&field.bench, *state);
    printf("FORKLAB_SEED=%llu FORKLAB_OPS=%llu\n", (unsigned long long)seed,
           (unsigned long long)operations);
    for (field.at = 0; field.at < operations; field.at++) {
        operate(&field);
        if (field.at % LOOK_EVERY == 0)
            look_at_all(&field);
    }
    look_at_all(&field);
    printf("%u VMAs at once\n", (unsigned)field.most);
    assert_true(field.most > PAGES / 20 || operations < OPERATIONS);
    index_bench_close(&field.bench);
}

int main(void)
{
    enum { MOST_INDEXES = 16 };
    struct CMUnitTest tests[MOST_INDEXES];
    size_t count = 0;

    for (; count < MOST_INDEXES && all_indexes[count] != NULL; count++)
        tests[count] = (struct CMUnitTest){.name = all_indexes[count]->name,
                                           .test_func = test_index,
                                           .initial_state = (void *)(uintptr_t)all_indexes[count]};
    return _cmocka_run_group_tests("vma_index_random", tests, count, NULL, NULL);
}
