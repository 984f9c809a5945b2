/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The three geometries: their figures, and the arithmetic on addresses. */
#include <setjmp.h>
#include <stdarg.h>

#include "pt/geometry.h"
#include "pt/random.h"

#include <cmocka.h>

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

static void test_figures(void **state)
{
    static const struct {
        const char *name;
        unsigned levels;
        unsigned slots;
        unsigned entry_bytes;
        unsigned pfn_bits;
        uint64_t span_bytes;
        va_t user_end;
    } expected[] = {
        {"x86-64", 4, 512, 8, 32, 2 * MIB, 131072 * GIB - 4096},
        {"i386", 2, 1024, 4, 20, 4 * MIB, 3 * GIB},
        {"tiny", 3, 4, 8, 32, 16 * KIB, 256 * KIB},
    };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const struct geometry *geometry = geometries[i];

        assert_string_equal(geometry->name, expected[i].name);
        assert_ptr_equal(geometry_find(expected[i].name), geometry);
        assert_int_equal(geometry->levels, expected[i].levels);
        assert_int_equal(geometry_slots(geometry), expected[i].slots);
        assert_int_equal(geometry->entry_bytes, expected[i].entry_bytes);
        assert_int_equal(geometry->pfn_bits, expected[i].pfn_bits);
        assert_int_equal(geometry_span_bytes(geometry), expected[i].span_bytes);
        assert_int_equal(geometry->user_end, expected[i].user_end);
        /* Every table is one frame at most, and the root covers the user's addresses. */
        assert_true((uint64_t)geometry_slots(geometry) * geometry->entry_bytes <= PAGE_BYTES);
        assert_true(geometry->user_end <=
                    geometry_entry_coverage_bytes(geometry, geometry->levels - 1) *
                        geometry_slots(geometry));
    }
    assert_null(geometries[3]);
}

static void test_find(void **state)
{
    (void)state;
    assert_null(geometry_find("vax"));
    assert_null(geometry_find(""));
    assert_null(geometry_find("tin"));
}

/* The slots of all levels, put together again, are the page's address. */
static void test_slots_make_the_address(void **state)
{
    struct random random = random_seeded(1);

    (void)state;
    for (size_t i = 0; geometries[i] != NULL; i++) {
        const struct geometry *geometry = geometries[i];

        for (int n = 0; n < 1000; n++) {
            va_t va = random_below(&random, geometry->user_end);
            va_t sum = va & PAGE_OFFSET_MASK;

            for (unsigned level = 0; level < geometry->levels; level++) {
                unsigned slot = geometry_slot(geometry, va, level);

                assert_true(slot < geometry_slots(geometry));
                sum += slot * geometry_entry_coverage_bytes(geometry, level);
            }
            assert_int_equal(sum, va);
        }
    }
}

static void test_edges(void **state)
{
    (void)state;
    for (size_t i = 0; geometries[i] != NULL; i++) {
        const struct geometry *geometry = geometries[i];
        uint64_t span = geometry_span_bytes(geometry);

        assert_int_equal(geometry_span_start(geometry, 0), 0);
        assert_int_equal(geometry_span_start(geometry, span - 1), 0);
        assert_int_equal(geometry_span_start(geometry, span), span);
        assert_int_equal(geometry_span_start(geometry, 2 * span - 1), span);
        assert_int_equal(geometry_slot(geometry, span - 1, 0), geometry_slots(geometry) - 1);
        assert_int_equal(geometry_slot(geometry, span - 1, 1), 0);
        assert_int_equal(geometry_slot(geometry, span, 0), 0);
        assert_int_equal(geometry_slot(geometry, span, 1), 1);
        assert_int_equal(geometry_shift(geometry, 0), PAGE_SHIFT);
        assert_int_equal(geometry_entry_coverage_bytes(geometry, 0), PAGE_BYTES);
    }
}

static void test_rounding(void **state)
{
    (void)state;
    assert_int_equal(round_down(0, 4096), 0);
    assert_int_equal(round_down(4095, 4096), 0);
    assert_int_equal(round_down(4096, 4096), 4096);
    assert_int_equal(round_up(0, 4096), 0);
    assert_int_equal(round_up(1, 4096), 4096);
    assert_int_equal(round_up(4096, 4096), 4096);
    assert_int_equal(round_up(UINT64_MAX, 4096), 0);
    assert_int_equal(page_of(0x12345678), 0x12345000);
    assert_int_equal(min_u64(3, 4), 3);
    assert_int_equal(min_u64(4, 3), 3);
    assert_int_equal(max_u64(3, 4), 4);
    assert_int_equal(max_u64(4, 3), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_slots_make_the_address),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_rounding),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
