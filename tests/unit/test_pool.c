/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pools of objects, the gate that refuses memory, and our generator of random numbers. */
#include <errno.h>
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <string.h>

#include "pt/pool.h"
#include "pt/random.h"

#include <cmocka.h>

enum { OBJECTS = 100, OBJECT_BYTES = 40 };

static void test_objects_are_zeroed_and_apart(void **state)
{
    struct allocation_gate gate = {0};
    struct pool pool;
    uint8_t *objects[OBJECTS];
    static const uint8_t zeros[OBJECT_BYTES];

    (void)state;
    pool_init(&pool, &gate, OBJECT_BYTES);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(pool_reserve(&pool, OBJECTS), 0);
        for (int i = 0; i < OBJECTS; i++) {
            objects[i] = pool_take(&pool);
            assert_int_equal((uintptr_t)objects[i] % alignof(max_align_t), 0);
            assert_memory_equal(objects[i], zeros, OBJECT_BYTES);
            memset(objects[i], i + 1, OBJECT_BYTES);
        }
        for (int i = 0; i < OBJECTS; i++) {
            for (int byte = 0; byte < OBJECT_BYTES; byte++)
                assert_int_equal(objects[i][byte], i + 1);
        }
        assert_int_equal(pool.used_count, OBJECTS);
        for (int i = 0; i < OBJECTS; i++)
            pool_give(&pool, objects[i]);
        assert_int_equal(pool.used_count, 0);
    }
    pool_destroy(&pool);
}

/* The object given back last is warm, and is the next one taken. */
static void test_last_in_first_out(void **state)
{
    struct allocation_gate gate = {0};
    struct pool pool;

    (void)state;
    pool_init(&pool, &gate, sizeof(uint64_t));
    assert_int_equal(pool_reserve(&pool, 3), 0);
    void *first = pool_take(&pool);
    void *second = pool_take(&pool);

    pool_give(&pool, second);
    pool_give(&pool, first);
    assert_ptr_equal(pool_take(&pool), first);
    assert_ptr_equal(pool_take(&pool), second);
    pool_destroy(&pool);
}

/* What was reserved is there, whatever was reserved before; nothing grows that is there already. */
static void test_reserve(void **state)
{
    struct allocation_gate gate = {0};
    struct pool pool;

    (void)state;
    pool_init(&pool, &gate, 1);
    assert_int_equal(pool_reserve(&pool, 0), 0);
    assert_int_equal(gate.requests, 0);
    assert_null(pool.slabs);
    for (size_t count = 1; count < 200; count += 13) {
        assert_int_equal(pool_reserve(&pool, count), 0);
        assert_true(pool.free_count >= count);
    }
    size_t free_count = pool.free_count;

    assert_int_equal(pool_reserve(&pool, free_count), 0);
    assert_int_equal(pool.free_count, free_count);
    pool_destroy(&pool);
    assert_int_equal(pool.free_count, 0);
    assert_null(pool.slabs);
}

/* The n-th request is refused, that one alone, and the pool is as it was. */
static void test_gate(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 5; n++) {
        struct allocation_gate gate = {.fail_at = n};
        struct pool pool;

        pool_init(&pool, &gate, OBJECT_BYTES);
        for (uint64_t request = 1; request <= 7; request++) {
            size_t free_count = pool.free_count;
            int result = pool_reserve(&pool, 40 * request);

            assert_int_equal(result, request == n ? -ENOMEM : 0);
            if (result != 0)
                assert_int_equal(pool.free_count, free_count);
        }
        assert_int_equal(gate.requests, 7);
        pool_destroy(&pool);
    }
}

/* The published values of SplitMix64 for the seed 1234567. */
static void test_random_sequence(void **state)
{
    static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u,
                                        9817491932198370423u, 4593380528125082431u,
                                        16408922859458223821u};
    struct random random = random_seeded(1234567);

    (void)state;
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(random_next(&random), expected[i]);
    for (int i = 0; i < 1000; i++)
        assert_in_range(random_below(&random, 7), 0, 6);
}

static void test_random_shuffle(void **state)
{
    uint32_t numbers[64];
    uint32_t again[64];
    bool seen[64] = {false};
    int in_place = 0;

    (void)state;
    for (uint32_t i = 0; i < 64; i++)
        numbers[i] = again[i] = i;
    random_shuffle(numbers, 64, 42);
    random_shuffle(again, 64, 42);
    assert_memory_equal(numbers, again, sizeof(numbers));
    for (uint32_t i = 0; i < 64; i++) {
        assert_false(seen[numbers[i]]);
        seen[numbers[i]] = true;
        in_place += numbers[i] == i;
    }
    assert_true(in_place < 16);
    random_shuffle(numbers, 0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_are_zeroed_and_apart),
        cmocka_unit_test(test_last_in_first_out),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_random_sequence),
        cmocka_unit_test(test_random_shuffle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
