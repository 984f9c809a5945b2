/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The allocator of frames: order, hints, pools, refusals, aging. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pt/invariant.h"
#include "tests/support/ram_fixture.h"

enum { FRAMES = 32 };

static pfn_t take(struct ram_fixture *fixture, pfn_t hint)
{
    fixture_reserve(fixture, (struct ram_need){.frames = 1});
    pfn_t pfn = frame_take(&fixture->ram, FRAME_ANON, hint);

    fixture_hold(fixture, pfn);
    fixture_check(fixture);
    return pfn;
}

static void give(struct ram_fixture *fixture, pfn_t pfn)
{
    fixture_release(fixture, pfn);
    fixture_check(fixture);
}

static void test_init(void **state)
{
    struct event_log events = {0};
    struct ram ram;
    uint64_t page[512] = {0};

    (void)state;
    assert_int_equal(ram_init(&ram, &geometry_tiny, page, 7 * PAGE_BYTES, &events), -EINVAL);
    assert_int_equal(
        ram_init(&ram, &geometry_i386, page, ((uint64_t)1 << 32) + PAGE_BYTES, &events), -EINVAL);
    assert_int_equal(ram_init(&ram, &geometry_x86_64, page, (uint64_t)PFN_NONE << 12, &events),
                     -EINVAL);
    /* A large RAM costs nothing but its records, and its checks look at what is in use. */
    assert_int_equal(ram_init(&ram, &geometry_i386, page, (uint64_t)1 << 32, &events), 0);
    assert_int_equal(ram.frame_count, 1 << 20);
    assert_int_equal(ram_free_frames(&ram), (1 << 20) - 1);
    assert_int_equal(ram.zero_pfn, 0);
    assert_true(pt_invariants_hold(&ram, NULL, NULL, 0));
    ram_destroy(&ram);
}

/* Frames never used come in address order; those given back come oldest first, and before them. */
static void test_oldest_first(void **state)
{
    struct ram_fixture fixture;
    pfn_t pfns[5];

    (void)state;
    fixture_init(&fixture, &geometry_tiny, FRAMES);
    for (int i = 0; i < 5; i++) {
        pfns[i] = take(&fixture, PFN_NONE);
        assert_int_equal(pfns[i], 1 + i);
    }
    give(&fixture, pfns[3]);
    give(&fixture, pfns[0]);
    give(&fixture, pfns[4]);
    assert_int_equal(take(&fixture, PFN_NONE), pfns[3]);
    assert_int_equal(take(&fixture, PFN_NONE), pfns[0]);
    assert_int_equal(take(&fixture, PFN_NONE), pfns[4]);
    assert_int_equal(take(&fixture, PFN_NONE), 6);
    for (pfn_t pfn = 1; pfn <= 6; pfn++)
        give(&fixture, pfn);
    fixture_destroy(&fixture);
}

/*
 * A hint is followed at the head, in the middle, at the tail, and at the edge of what was in use.
 */
static void test_hints(void **state)
{
    (void)state;
    for (pfn_t hint = 1; hint <= 7; hint++) {
        struct ram_fixture fixture;

        fixture_init(&fixture, &geometry_tiny, FRAMES);
        for (pfn_t pfn = 1; pfn <= 6; pfn++)
            assert_int_equal(take(&fixture, PFN_NONE), pfn);
        for (pfn_t pfn = 1; pfn <= 5; pfn++)
            give(&fixture, pfn);
        /* 6 is in use: the oldest instead. 7 was never in use, and continues a run. */
        assert_int_equal(take(&fixture, hint), hint == 6 ? 1 : hint);
        for (pfn_t pfn = 1; pfn <= 5; pfn++) {
            if (pfn != (hint == 6 ? 1 : hint))
                assert_int_equal(take(&fixture, PFN_NONE), pfn);
        }
        for (pfn_t pfn = 1; pfn <= (hint == 7 ? 7u : 6u); pfn++)
            give(&fixture, pfn);
        fixture_destroy(&fixture);
    }
}

/* Hints that name no frame that can be had: the zero frame, a table's, far away, beyond RAM. */
static void test_hints_that_cannot_be(void **state)
{
    static const pfn_t hints[] = {0, FRAMES - 1, 20, FRAMES, FRAMES + 1, PFN_NONE - 1};

    (void)state;
    for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
        struct ram_fixture fixture;

        fixture_init(&fixture, &geometry_tiny, FRAMES);
        give(&fixture, take(&fixture, PFN_NONE));
        assert_int_equal(take(&fixture, hints[i]), 1);
        give(&fixture, 1);
        fixture_destroy(&fixture);
    }
}

/* Frames that were in the pools and came back are free like any other, and may be hinted at. */
static void test_hint_from_the_pools(void **state)
{
    struct ram_fixture fixture;

    (void)state;
    fixture_init(&fixture, &geometry_tiny, FRAMES);
    /* All of RAM in the pool, then five frames out of it. */
    fixture_reserve(&fixture, (struct ram_need){.leaf_tables = FRAMES - 1});
    fixture_reserve(&fixture, (struct ram_need){.frames = 5});
    assert_int_equal(fixture.ram.free.count, 5);
    pfn_t tail = fixture.ram.free.tail;

    assert_int_equal(take(&fixture, tail), tail);
    give(&fixture, tail);
    fixture_destroy(&fixture);
}

/* Whatever is asked for together fits, as long as it is not more than there is. */
static void test_reserve_all_there_is(void **state)
{
    const uint32_t total = FRAMES - 1;

    (void)state;
    for (uint32_t leaves = 0; leaves <= total; leaves += 3) {
        for (uint32_t uppers = 0; leaves + uppers <= total; uppers += 2) {
            struct ram_fixture fixture;
            struct ram_need need = {
                .frames = total - leaves - uppers, .leaf_tables = leaves, .upper_tables = uppers};
            struct ram_need other = {
                .frames = need.frames, .leaf_tables = uppers, .upper_tables = leaves};
            struct ram_need more = {
                .frames = need.frames + 1, .leaf_tables = leaves, .upper_tables = uppers};

            fixture_init(&fixture, &geometry_tiny, FRAMES);
            fixture_reserve(&fixture, need);
            fixture_check(&fixture);
            /* What lies idle in one pool serves the other. */
            fixture_reserve(&fixture, other);
            fixture_check(&fixture);
            assert_int_equal(ram_reserve(&fixture.ram, &more), -ENOMEM);
            fixture_check(&fixture);
            fixture_reserve(&fixture, need);
            assert_int_equal(fixture.ram.leaf_pool.count, leaves);
            assert_int_equal(fixture.ram.upper_pool.count, uppers);
            assert_int_equal(ram_free_frames(&fixture.ram), total);
            fixture_destroy(&fixture);
        }
    }
}

/* After a reserve, takes cannot fail, whatever was done before; tables come back zeroed. */
static void test_take_after_reserve(void **state)
{
    struct ram_fixture fixture;
    struct {
        struct table *tables[8];
        pfn_t frames[8];
    } use;

    (void)state;
    fixture_init(&fixture, &geometry_tiny, 18);
    for (uint32_t round = 0; round < 100; round++) {
        uint32_t leaves = round % 5;
        uint32_t uppers = round % 3;
        uint32_t frames = round % 8;

        fixture_reserve(
            &fixture,
            (struct ram_need){.frames = frames, .leaf_tables = leaves, .upper_tables = uppers});
        for (uint32_t i = 0; i < leaves + uppers; i++)
            use.tables[i] = table_take(&fixture.ram, i < leaves ? 0 : 1);
        for (uint32_t i = 0; i < frames; i++) {
            use.frames[i] = frame_take(&fixture.ram, FRAME_SHM, PFN_NONE);
            assert_int_equal(fixture.ram.frames[use.frames[i]].count, 0);
            assert_int_equal(fixture.ram.frames[use.frames[i]].kind, FRAME_SHM);
            memset(frame_data(&fixture.ram, use.frames[i]), 0xee, PAGE_BYTES);
        }
        for (uint32_t i = 0; i < frames; i++)
            frame_free(&fixture.ram, use.frames[i]);
        for (uint32_t i = 0; i < leaves + uppers; i++) {
            assert_int_equal(use.tables[i]->level, i < leaves ? 0 : 1);
            assert_int_equal(use.tables[i]->upper != NULL, i >= leaves);
            table_give(&fixture.ram, use.tables[i]);
        }
        fixture_check(&fixture);
    }
    fixture_destroy(&fixture);
}

/* Tables made of frames that data was in are zeroed; the invariants look. */
static void test_tables_of_used_frames(void **state)
{
    struct ram_fixture fixture;
    pfn_t pfns[FRAMES];

    (void)state;
    fixture_init(&fixture, &geometry_tiny, FRAMES);
    for (unsigned i = 0; i < FRAMES - 1; i++)
        pfns[i] = fixture_frame(&fixture, FRAME_ANON, 0xee);
    for (unsigned i = 0; i < FRAMES - 1; i++)
        frame_free(&fixture.ram, pfns[i]);
    fixture_reserve(&fixture, (struct ram_need){.leaf_tables = 12, .upper_tables = FRAMES - 13});
    assert_int_equal(fixture.ram.free.count, 0);
    fixture_check(&fixture);
    fixture_destroy(&fixture);
}

/* What shows of RAM: everything but how many frames lie where. */
static void test_gate(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 4; n++) {
        struct ram_fixture fixture;
        struct ram_need need = {.frames = 2, .leaf_tables = 1, .upper_tables = 2};

        fixture_init(&fixture, &geometry_i386, FRAMES);
        fixture.ram.gate.fail_at = n;
        for (uint64_t request = 1; request <= 5; request++) {
            struct ram before = fixture.ram;
            int result = ram_reserve(&fixture.ram, &need);

            assert_int_equal(result, request == n ? -ENOMEM : 0);
            before.gate.requests++;
            if (result != 0)
                assert_memory_equal(&fixture.ram, &before, sizeof(before));
            fixture_check(&fixture);
        }
        fixture_destroy(&fixture);
    }
}

/* Aging gives every frame out once, in an order that the seed decides and that is not theirs. */
static void test_age(void **state)
{
    pfn_t orders[3][FRAMES];
    static const uint64_t seeds[3] = {7, 7, 8};

    (void)state;
    for (int run = 0; run < 3; run++) {
        struct ram_fixture fixture;
        bool seen[FRAMES] = {false};

        fixture_init(&fixture, &geometry_tiny, FRAMES);
        assert_int_equal(ram_age(&fixture.ram, 20, seeds[run]), 0);
        fixture_check(&fixture);
        assert_true(fixture.ram.aged);
        assert_int_equal(fixture.ram.free.count, 20);
        for (int i = 0; i < 20; i++) {
            orders[run][i] = take(&fixture, PFN_NONE);
            assert_in_range(orders[run][i], 1, 20);
            assert_false(seen[orders[run][i]]);
            seen[orders[run][i]] = true;
        }
        for (int i = 0; i < 20; i++)
            give(&fixture, orders[run][i]);
        /* More than there is: all there is. */
        assert_int_equal(ram_age(&fixture.ram, FRAMES, 1), 0);
        assert_int_equal(fixture.ram.free.count, FRAMES - 1);
        fixture_destroy(&fixture);
    }
    assert_memory_equal(orders[0], orders[1], 20 * sizeof(pfn_t));
    assert_memory_not_equal(orders[0], orders[2], 20 * sizeof(pfn_t));
}

static void test_counts(void **state)
{
    struct ram_fixture fixture;

    (void)state;
    fixture_init(&fixture, &geometry_tiny, FRAMES);
    pfn_t pfn = take(&fixture, PFN_NONE);

    fixture.ram.frames[pfn].flags = FRAME_DIRTY;
    fixture_hold(&fixture, pfn);
    fixture_release(&fixture, pfn);
    assert_int_equal(fixture.ram.frames[pfn].kind, FRAME_ANON);
    give(&fixture, pfn);
    assert_int_equal(fixture.ram.frames[pfn].kind, FRAME_FREE);
    /* The next user sees nothing of the last one. */
    assert_int_equal(take(&fixture, pfn), pfn);
    assert_int_equal(fixture.ram.frames[pfn].flags, 0);
    give(&fixture, pfn);
    /* The zero frame is not counted. */
    frame_get(&fixture.ram, fixture.ram.zero_pfn);
    frame_put(&fixture.ram, fixture.ram.zero_pfn);
    frame_put(&fixture.ram, fixture.ram.zero_pfn);
    assert_int_equal(fixture.ram.frames[fixture.ram.zero_pfn].count, 0);
    fixture_destroy(&fixture);
}

static void test_contents(void **state)
{
    struct ram_fixture fixture;
    uint8_t expected[PAGE_BYTES];

    (void)state;
    fixture_init(&fixture, &geometry_tiny, FRAMES);
    pfn_t source = fixture_frame(&fixture, FRAME_ANON, 0x11);
    pfn_t copy = fixture_frame(&fixture, FRAME_ANON, 0x22);

    frame_copy(&fixture.ram, copy, source);
    memset(expected, 0x11, sizeof(expected));
    assert_memory_equal(frame_data(&fixture.ram, copy), expected, PAGE_BYTES);
    frame_clear(&fixture.ram, source);
    assert_memory_equal(frame_data(&fixture.ram, copy), expected, PAGE_BYTES);
    memset(expected, 0, sizeof(expected));
    assert_memory_equal(frame_data(&fixture.ram, source), expected, PAGE_BYTES);
    assert_int_equal(fixture.events.counts[EVENT_FRAME_COPIED], 1);
    assert_int_equal(fixture.events.counts[EVENT_FRAME_CLEARED], 1);
    frame_free(&fixture.ram, source);
    frame_free(&fixture.ram, copy);
    fixture_destroy(&fixture);
}

/* Tables are made ahead from the other end of RAM, yet not so many that data is short of runs. */
static void test_batches(void **state)
{
    static const uint32_t frames[] = {8, 32, 512, 1024};
    static const uint32_t pooled[] = {1, 3, 63, 64};

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct ram_fixture fixture;

        fixture_init(&fixture, &geometry_tiny, frames[i]);
        fixture_reserve(&fixture, (struct ram_need){.leaf_tables = 1});
        assert_int_equal(fixture.ram.leaf_pool.count, pooled[i]);
        assert_int_equal(fixture.ram.table_floor, frames[i] - pooled[i]);
        fixture_destroy(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_oldest_first),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_hints_that_cannot_be),
        cmocka_unit_test(test_hint_from_the_pools),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_reserve_all_there_is),
        cmocka_unit_test(test_take_after_reserve),
        cmocka_unit_test(test_tables_of_used_frames),
        cmocka_unit_test(test_gate),
        cmocka_unit_test(test_age),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_contents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
