/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of entries and of whole trees, letter by letter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pt/format.h"
#include "tests/support/ram_fixture.h"

enum { FRAMES = 16 };

static const entry_t all_flags =
    ENTRY_WRITE | ENTRY_ACCESSED | ENTRY_DIRTY | ENTRY_HUGE | ENTRY_EXCLUSIVE | ENTRY_LAZY_FREE;

static void assert_entry(const struct ram *ram, entry_t entry, const char *expected)
{
    char text[ENTRY_TEXT_BYTES];

    assert_int_equal(entry_format(text, sizeof(text), entry, ram), strlen(expected));
    assert_string_equal(text, expected);
}

static void test_entries(void **state)
{
    struct ram_fixture fixture;
    struct ram *ram = &fixture.ram;

    (void)state;
    fixture_init(&fixture, &geometry_tiny, FRAMES);
    pfn_t anon = fixture_frame(&fixture, FRAME_ANON, 0);
    pfn_t shm = fixture_frame(&fixture, FRAME_SHM, 0);
    pfn_t file = fixture_frame(&fixture, FRAME_FILE, 0);

    assert_entry(ram, entry_make(anon, 0), "pfn 1 anon r-u");
    assert_entry(ram, entry_make(anon, ENTRY_WRITE), "pfn 1 anon rwu");
    assert_entry(ram, entry_without(entry_make(anon, 0), ENTRY_USER), "pfn 1 anon r--");
    assert_entry(ram, entry_make(shm, ENTRY_ACCESSED), "pfn 2 shm r-u A");
    assert_entry(ram, entry_make(file, ENTRY_DIRTY), "pfn 3 file r-u D");
    assert_entry(ram, entry_make(anon, ENTRY_HUGE), "pfn 1 anon r-u huge");
    assert_entry(ram, entry_make(anon, ENTRY_EXCLUSIVE), "pfn 1 anon r-u excl");
    assert_entry(ram, entry_make(anon, ENTRY_LAZY_FREE), "pfn 1 anon r-u lazy");
    assert_entry(ram, entry_make(anon, all_flags), "pfn 1 anon rwu A D huge excl lazy");
    assert_entry(ram, entry_make(ram->zero_pfn, 0), "pfn 0 zero r-u");
    assert_entry(ram, entry_make(9, 0), "pfn 9 free r-u");
    assert_entry(ram, entry_make(FRAMES, 0), "pfn 16 ? r-u");
    assert_entry(NULL, entry_make(0xfffffffe, all_flags), "pfn 4294967294 rwu A D huge excl lazy");
    assert_entry(ram, ENTRY_NONE, "none");
    assert_entry(ram, entry_make_guard(), "guard");
    assert_entry(ram, entry_make_swap(0, 0), "swap type 0 offset 0");
    assert_entry(NULL, entry_make_swap(31, UINT32_MAX), "swap type 31 offset 4294967295");
    assert_entry(ram, ENTRY_SWAP | ENTRY_GUARD, "malformed 0x600");
    assert_entry(ram, ENTRY_GUARD | ENTRY_WRITE, "malformed 0x402");
    assert_entry(ram, (entry_t)5 << 12, "malformed 0x5000");
    frame_free(ram, anon);
    frame_free(ram, shm);
    frame_free(ram, file);
    fixture_destroy(&fixture);
}

/* As snprintf: cut to what there is room for, and the whole length told. */
static void test_cut(void **state)
{
    static const char whole[] = "swap type 3 offset 77";

    (void)state;
    for (size_t bytes = 0; bytes <= sizeof(whole) + 1; bytes++) {
        char text[sizeof(whole) + 2];
        char expected[sizeof(whole) + 2];

        memset(text, '#', sizeof(text));
        memset(expected, '#', sizeof(expected));
        snprintf(expected, bytes, "%s", whole);
        assert_int_equal(
            entry_format(bytes == 0 ? NULL : text, bytes, entry_make_swap(3, 77), NULL),
            strlen(whole));
        assert_memory_equal(text, expected, sizeof(text));
    }
}

static void test_runs(void **state)
{
    char text[ENTRY_TEXT_BYTES];

    (void)state;
    entry_run_format(text, sizeof(text), entry_make(12, ENTRY_DIRTY), entry_make(15, ENTRY_DIRTY),
                     NULL);
    assert_string_equal(text, "pfn 12-15 r-u D");
    entry_run_format(text, sizeof(text), entry_make_swap(1, 7), entry_make_swap(1, 9), NULL);
    assert_string_equal(text, "swap type 1 offset 7-9");
    entry_run_format(text, sizeof(text), entry_make_guard(), entry_make_guard(), NULL);
    assert_string_equal(text, "guard");
}

static void assert_dump(const struct pt_tree *tree, const char *expected)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    tree_dump(tree, out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void test_empty_trees(void **state)
{
    static const char *const expected[] = {
        "x86-64 tree, tables: 1 upper, 0 leaf\n"
        "000000000000-7ffffffff000 level 3 table 15\n",
        "i386 tree, tables: 1 upper, 0 leaf\n"
        "00000000-c0000000 level 1 table 15\n",
        "tiny tree, tables: 1 upper, 0 leaf\n"
        "00000-40000 level 2 table 15\n",
    };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct ram_fixture fixture;
        struct pt_tree tree;

        fixture_init(&fixture, geometries[i], FRAMES);
        fixture_tree(&fixture, &tree);
        assert_dump(&tree, expected[i]);
        tree_destroy(&tree);
        fixture_destroy(&fixture);
    }
}

/* A tiny tree with all there is: runs and what ends them, sharing, a pin, an empty upper table. */
static void test_tree(void **state)
{
    struct ram_fixture fixture;
    struct pt_tree trees[3] = {0};
    const va_t span = geometry_span_bytes(&geometry_tiny);
    const entry_t flags = ENTRY_WRITE | ENTRY_ACCESSED | ENTRY_DIRTY | ENTRY_EXCLUSIVE;

    (void)state;
    fixture_init(&fixture, &geometry_tiny, 64);
    for (int i = 0; i < 3; i++)
        fixture_tree(&fixture, &trees[i]);
    /* Three in a row, and one that is not. */
    for (unsigned page = 0; page < 3; page++)
        fixture_fill(&fixture, &trees[0], page * PAGE_BYTES, FRAME_ANON, 1, flags);
    fixture_fill(&fixture, &trees[0], 3 * PAGE_BYTES, FRAME_ANON, 1, 0);
    /* Neighbours of another kind, and a gap. */
    fixture_fill(&fixture, &trees[0], span, FRAME_FILE, 1, 0);
    fixture_fill(&fixture, &trees[0], span + PAGE_BYTES, FRAME_SHM, 1, 0);
    fixture_fill(&fixture, &trees[0], span + 3 * PAGE_BYTES, FRAME_SHM, 1, 0);
    /* In another region: swap in a row, guards; the zero frame. */
    fixture_map(&fixture, &trees[0], 5 * span, entry_make_swap(1, 7));
    fixture_map(&fixture, &trees[0], 5 * span + PAGE_BYTES, entry_make_swap(1, 8));
    fixture_map(&fixture, &trees[0], 5 * span + 2 * PAGE_BYTES, entry_make_guard());
    fixture_map(&fixture, &trees[0], 5 * span + 3 * PAGE_BYTES, entry_make_guard());
    for (unsigned page = 0; page < 4; page++)
        fixture_map(&fixture, &trees[0], 6 * span + page * PAGE_BYTES,
                    entry_make(fixture.ram.zero_pfn, page < 3 ? 0 : ENTRY_ACCESSED));
    assert_int_equal(fixture_share(&trees[0], 0, &trees[1]), 0);
    assert_int_equal(fixture_share(&trees[0], 0, &trees[2]), 0);
    assert_int_equal(fixture_share(&trees[0], span, &trees[1]), 0);
    tree_drop_range(&trees[1], span, 2 * span);
    fixture_own_table(&trees[0], 5 * span)->may_hold_pin = true;
    assert_dump(&trees[0], "tiny tree, tables: 3 upper, 4 leaf\n"
                           "00000-40000 level 2 table 57\n"
                           "  00000-10000 level 1 table 60\n"
                           "    00000-04000 leaf table 51, shared by 3, read-only above\n"
                           "      00000-03000 pfn 1-3 anon rwu A D excl\n"
                           "      03000-04000 pfn 4 anon r-u\n"
                           "    04000-08000 leaf table 52, read-only above\n"
                           "      04000-05000 pfn 5 file r-u\n"
                           "      05000-06000 pfn 6 shm r-u\n"
                           "      07000-08000 pfn 7 shm r-u\n"
                           "  10000-20000 level 1 table 61\n"
                           "    14000-18000 leaf table 53, may hold a pin\n"
                           "      14000-16000 swap type 1 offset 7-8\n"
                           "      16000-18000 guard\n"
                           "    18000-1c000 leaf table 54\n"
                           "      18000-1b000 pfn 0 zero r-u\n"
                           "      1b000-1c000 pfn 0 zero r-u A\n");
    assert_dump(&trees[2], "tiny tree, tables: 2 upper, 1 leaf\n"
                           "00000-40000 level 2 table 59\n"
                           "  00000-10000 level 1 table 63\n"
                           "    00000-04000 leaf table 51, shared by 3, read-only above\n"
                           "      00000-03000 pfn 1-3 anon rwu A D excl\n"
                           "      03000-04000 pfn 4 anon r-u\n");
    for (int i = 0; i < 3; i++)
        tree_destroy(&trees[i]);
    fixture_destroy(&fixture);
}

/* An upper table with nothing below it, and a huge entry, stand in the tree too. */
static void test_odd_trees(void **state)
{
    struct ram_fixture fixture;
    struct pt_tree tree;
    struct pt_leaf leaf;

    (void)state;
    fixture_init(&fixture, &geometry_i386, FRAMES);
    fixture_tree(&fixture, &tree);
    fixture_own_table(&tree, 0xbfc00000);
    assert_dump(&tree, "i386 tree, tables: 1 upper, 1 leaf\n"
                       "00000000-c0000000 level 1 table 15\n"
                       "  bfc00000-c0000000 leaf table 14\n");
    assert_true(pt_lookup(&tree, 0xbfc00000, &leaf));
    struct table *root = table_of_frame(&fixture.ram, leaf.parent->pfn);
    pfn_t pfn = fixture_frame(&fixture, FRAME_SHM, 0);

    fixture_hold(&fixture, pfn);
    table_store_upper(&fixture.ram, root, 2, entry_make(pfn, ENTRY_HUGE | ENTRY_WRITE));
    assert_dump(&tree, "i386 tree, tables: 1 upper, 1 leaf\n"
                       "00000000-c0000000 level 1 table 15\n"
                       "  00800000-00c00000 pfn 1 shm rwu huge\n"
                       "  bfc00000-c0000000 leaf table 14\n");
    table_store_upper(&fixture.ram, root, 2, ENTRY_NONE);
    fixture_release(&fixture, pfn);
    tree_destroy(&tree);
    fixture_destroy(&fixture);

    fixture_init(&fixture, &geometry_tiny, FRAMES);
    fixture_tree(&fixture, &tree);
    fixture_own_table(&tree, 0x24000);
    assert_true(pt_lookup(&tree, 0x24000, &leaf));
    table_drop(&tree, leaf.parent, leaf.parent_slot);
    assert_dump(&tree, "tiny tree, tables: 2 upper, 0 leaf\n"
                       "00000-40000 level 2 table 15\n"
                       "  20000-30000 level 1 table 13\n");
    tree_destroy(&tree);
    fixture_destroy(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_runs),    cmocka_unit_test(test_empty_trees),
        cmocka_unit_test(test_tree),    cmocka_unit_test(test_odd_trees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
