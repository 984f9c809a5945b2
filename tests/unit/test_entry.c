/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entries: the list of accessors, each asked about every kind of entry with every combination of
 * flags, and what both widths of storage keep.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "pt/table.h"

#include <cmocka.h>

/* A predicate and the bits that decide it: `set` must be, `clear` must not. */
struct predicate {
    const char *name;
    bool (*is)(entry_t entry);
    entry_t set;
    entry_t clear;
};

/* The list of entry.h; the bits are written out, so that a changed layout is noticed. */
static const struct predicate predicates[] = {
    {"present", entry_is_present, 1u << 0, 0},
    {"writable", entry_is_writable, 1u << 0 | 1u << 1, 0},
    {"accessed", entry_is_accessed, 1u << 0 | 1u << 5, 0},
    {"dirty", entry_is_dirty, 1u << 0 | 1u << 6, 0},
    {"huge", entry_is_huge, 1u << 0 | 1u << 7, 0},
    {"exclusive", entry_is_exclusive, 1u << 0 | 1u << 9, 0},
    {"lazy-free", entry_is_lazy_free, 1u << 0 | 1u << 10, 0},
    {"swap", entry_is_swap, 1u << 9, 1u << 0},
    {"guard", entry_is_guard, 1u << 10, 1u << 0},
};

enum { PREDICATES = sizeof(predicates) / sizeof(predicates[0]) };

static const pfn_t pfns[] = {0, 1, 0x54321, 0xfffff};

static void test_predicates(void **state)
{
    (void)state;
    for (entry_t flags = 0; flags < (entry_t)1 << 12; flags++) {
        for (size_t i = 0; i < 4; i++) {
            entry_t entry = (entry_t)pfns[i] << 12 | flags;

            assert_int_equal(entry_is_none(entry), entry == 0);
            for (size_t p = 0; p < PREDICATES; p++) {
                bool expected = (flags & predicates[p].set) == predicates[p].set &&
                                (flags & predicates[p].clear) == 0;

                if (predicates[p].is(entry) != expected)
                    fail_msg("%s of 0x%llx is not %d", predicates[p].name,
                             (unsigned long long)entry, expected);
            }
        }
    }
}

/* The names of the bits, in x86-64's layout, which i386 shares; all lie below the pfn. */
static void test_bits(void **state)
{
    (void)state;
    assert_int_equal(ENTRY_PRESENT, 1 << 0);
    assert_int_equal(ENTRY_WRITE, 1 << 1);
    assert_int_equal(ENTRY_USER, 1 << 2);
    assert_int_equal(ENTRY_ACCESSED, 1 << 5);
    assert_int_equal(ENTRY_DIRTY, 1 << 6);
    assert_int_equal(ENTRY_HUGE, 1 << 7);
    assert_int_equal(ENTRY_EXCLUSIVE, 1 << 9);
    assert_int_equal(ENTRY_LAZY_FREE, 1 << 10);
    assert_int_equal(ENTRY_SWAP, 1 << 9);
    assert_int_equal(ENTRY_GUARD, 1 << 10);
    assert_int_equal(ENTRY_FLAGS_MASK, 0xfff);
}

static void test_make(void **state)
{
    static const pfn_t wide[] = {0, 1, 0xfffff, 0x100000, 0xfffffffe};

    (void)state;
    for (entry_t flags = 0; flags < (entry_t)1 << 12; flags++) {
        for (size_t i = 0; i < 5; i++) {
            entry_t entry = entry_make(wide[i], flags);

            assert_int_equal(entry, (entry_t)wide[i] << 12 | flags | 1 | 4);
            assert_int_equal(entry_pfn(entry), wide[i]);
        }
    }
}

static void test_swap(void **state)
{
    static const uint32_t offsets[] = {0, 1, 0x12345, 0xfffff, 0xffffffff};

    (void)state;
    for (unsigned type = 0; type < 32; type++) {
        for (size_t i = 0; i < 5; i++) {
            entry_t entry = entry_make_swap(type, offsets[i]);

            assert_int_equal(entry, (entry_t)offsets[i] << 12 | 1u << 9 | type << 1);
            assert_int_equal(entry_swap_type(entry), type);
            assert_int_equal(entry_swap_offset(entry), offsets[i]);
            assert_true(entry_is_swap(entry));
            assert_false(entry_is_none(entry) || entry_is_present(entry) || entry_is_guard(entry));
        }
    }
    assert_int_equal(entry_swap_type(entry_make_swap(33, 5)), 1);
}

static void test_guard(void **state)
{
    (void)state;
    assert_int_equal(entry_make_guard(), 1 << 10);
    assert_true(entry_is_guard(entry_make_guard()));
    assert_false(entry_is_swap(entry_make_guard()));
}

static void test_with_and_without(void **state)
{
    (void)state;
    for (entry_t flags = 0; flags < (entry_t)1 << 12; flags++) {
        for (unsigned bit = 0; bit < 12; bit++) {
            entry_t entry = (entry_t)0x54321 << 12 | flags;
            entry_t one = (entry_t)1 << bit;

            assert_int_equal(entry_with(entry, one), entry | one);
            assert_int_equal(entry_without(entry, one), entry & ~one);
        }
    }
}

/* What a width keeps: every flag and a pfn of 20 bits in 4 bytes, all of it in 8. */
static void check_storage(unsigned entry_bytes, entry_t highest)
{
    static const unsigned slots[] = {0, 1, 2, 511};
    uint64_t page[512];
    uint8_t expected[sizeof(page)];

    for (size_t s = 0; s < 4; s++) {
        for (entry_t flags = 0; flags < (entry_t)1 << 12; flags += 7) {
            entry_t entry = (highest << 12) | flags;

            memset(page, 0xa5, sizeof(page));
            memset(expected, 0xa5, sizeof(expected));
            for (unsigned byte = 0; byte < entry_bytes; byte++)
                expected[slots[s] * entry_bytes + byte] = (uint8_t)(entry >> 8 * byte);
            stored_entry_put(page, slots[s], entry_bytes, entry);
            assert_int_equal(stored_entry_get(page, slots[s], entry_bytes), entry);
            assert_memory_equal(page, expected, sizeof(page));
        }
    }
}

static void test_storage(void **state)
{
    (void)state;
    check_storage(4, 0xfffff);
    check_storage(4, 0);
    check_storage(8, 0xfffffffe);
    check_storage(8, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_predicates), cmocka_unit_test(test_bits),
        cmocka_unit_test(test_make),       cmocka_unit_test(test_swap),
        cmocka_unit_test(test_guard),      cmocka_unit_test(test_with_and_without),
        cmocka_unit_test(test_storage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
