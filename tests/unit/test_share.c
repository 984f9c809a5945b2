/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sharing, splitting, taking back and dropping leaf tables, as whole pictures of the state, in all
 * geometries. P26 and the like are traps of shared page tables, by their numbers in the project's
 * list. Sequences at random are in test_share_random.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/picture.h"
#include "tests/support/ram_fixture.h"

enum { FRAMES = 64, FAMILY = 3 };

/* P, A and B, and one span. */
struct family {
    struct ram_fixture fixture;
    struct pt_tree trees[FAMILY];
    const struct pt_tree *const_trees[FAMILY];
    va_t va;
    pfn_t shm;
};

static const int orders[6][FAMILY] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                      {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static void assert_picture(const struct family *family, const char *expected)
{
    struct picture picture = picture_of(family->const_trees, "PAB", family->va, 4);

    assert_string_equal(picture.text, expected);
}

/* P has a written page, the zero frame, a swapped page and a page of an object. */
static void family_begin(struct family *family, const struct geometry *geometry)
{
    *family = (struct family){.va = geometry_span_bytes(geometry)};
    struct ram_fixture *fixture = &family->fixture;
    struct pt_tree *parent = &family->trees[0];

    fixture_init(fixture, geometry, FRAMES);
    for (int i = 0; i < FAMILY; i++) {
        fixture_tree(fixture, &family->trees[i]);
        family->const_trees[i] = &family->trees[i];
    }
    assert_int_equal(fixture_write(parent, family->va, 'a'), 0);
    fixture_map(fixture, parent, family->va + PAGE_BYTES, entry_make(fixture->ram.zero_pfn, 0));
    fixture_map(fixture, parent, family->va + 2 * PAGE_BYTES, entry_make_swap(1, 7));
    family->shm = fixture_frame(fixture, FRAME_SHM, 's');
    fixture_hold(fixture, family->shm);
    fixture_map(fixture, parent, family->va + 3 * PAGE_BYTES,
                entry_make(family->shm, ENTRY_WRITE | ENTRY_DIRTY));
    fixture_check(fixture);
}

static void family_end(struct family *family)
{
    for (int i = 0; i < FAMILY; i++) {
        if (family->trees[i].root != NULL)
            tree_destroy(&family->trees[i]);
    }
    fixture_release(&family->fixture, family->shm);
    fixture_destroy(&family->fixture);
}

static void share_with_all(struct family *family)
{
    for (int i = 1; i < FAMILY; i++)
        assert_int_equal(fixture_share(&family->trees[0], family->va, &family->trees[i]), 0);
    fixture_check(&family->fixture);
}

static void drop(struct family *family, int who)
{
    tree_drop_range(&family->trees[who], family->va,
                    family->va + geometry_span_bytes(family->trees[who].geometry));
    fixture_check(&family->fixture);
}

static void write_page(struct family *family, int who, uint8_t value)
{
    assert_int_equal(fixture_write(&family->trees[who], family->va, value), 0);
    fixture_check(&family->fixture);
}

static uint8_t read_page(const struct family *family, int who)
{
    return fixture_read(&family->trees[who], family->va);
}

static void check_share_touches_no_frame(const struct geometry *geometry)
{
    struct family family;

    family_begin(&family, geometry);
    assert_picture(&family, "P: T1x1 rw | f1x1 rwADX | zero r- | swap 1.7 | shm2x2 rwD\n"
                            "A: no table\n"
                            "B: no table\n");
    share_with_all(&family);
    assert_picture(&family, "P: T1x3 r- | f1x1 rwADX | zero r- | swap 1.7 | shm2x2 rwD\n"
                            "A: T1x3 r- | f1x1 rwADX | zero r- | swap 1.7 | shm2x2 rwD\n"
                            "B: T1x3 r- | f1x1 rwADX | zero r- | swap 1.7 | shm2x2 rwD\n");
    assert_int_equal(family.fixture.events.counts[EVENT_TABLE_SHARED], 2);
    assert_int_equal(family.fixture.events.counts[EVENT_ENTRY_COPIED], 0);
    family_end(&family);
}

static void check_split_protects_both(const struct geometry *geometry)
{
    struct family family;

    family_begin(&family, geometry);
    share_with_all(&family);
    fixture_own_table(&family.trees[1], family.va);
    fixture_check(&family.fixture);
    assert_picture(&family, "P: T1x2 r- | f1x2 r-AD | zero r- | swap 1.7 | shm2x3 rwD\n"
                            "A: T2x1 rw | f1x2 r-D | zero r- | swap 1.7 | shm2x3 rw\n"
                            "B: T1x2 r- | f1x2 r-AD | zero r- | swap 1.7 | shm2x3 rwD\n");
    assert_int_equal(family.fixture.events.counts[EVENT_ENTRY_COPIED], 4);
    family_end(&family);
}

static void check_split_of_all_but_last(const struct geometry *geometry)
{
    struct family family;

    family_begin(&family, geometry);
    share_with_all(&family);
    write_page(&family, 1, 'x');
    write_page(&family, 2, 'y');
    write_page(&family, 0, 'z');
    assert_picture(&family, "P: T1x1 rw | f1x1 rwAD | zero r- | swap 1.7 | shm2x4 rwD\n"
                            "A: T2x1 rw | f3x1 rwADX | zero r- | swap 1.7 | shm2x4 rw\n"
                            "B: T3x1 rw | f4x1 rwADX | zero r- | swap 1.7 | shm2x4 rw\n");
    assert_int_equal(read_page(&family, 0), 'z');
    assert_int_equal(read_page(&family, 1), 'x');
    assert_int_equal(read_page(&family, 2), 'y');
    family_end(&family);
}

static void check_take_back_in_place(const struct geometry *geometry)
{
    struct family family;

    family_begin(&family, geometry);
    share_with_all(&family);
    drop(&family, 0);
    drop(&family, 2);
    assert_picture(&family, "P: no table\n"
                            "A: T1x1 r- | f1x1 rwADX | zero r- | swap 1.7 | shm2x2 rwD\n"
                            "B: no table\n");
    uint32_t free_frames = ram_free_frames(&family.fixture.ram);

    write_page(&family, 1, 'x');
    assert_picture(&family, "P: no table\n"
                            "A: T1x1 rw | f1x1 rwADX | zero r- | swap 1.7 | shm2x2 rwD\n"
                            "B: no table\n");
    assert_int_equal(ram_free_frames(&family.fixture.ram), free_frames);
    assert_int_equal(family.fixture.events.counts[EVENT_FRAME_COPIED], 0);
    family_end(&family);
}

/* P26: one splits, another merely leaves, the last takes the table back and writes. */
static void check_p26(const struct geometry *geometry)
{
    for (int i = 0; i < 6; i++) {
        struct family family;
        int splitter = orders[i][0];
        int leaver = orders[i][1];
        int writer = orders[i][2];

        family_begin(&family, geometry);
        share_with_all(&family);
        fixture_own_table(&family.trees[splitter], family.va);
        drop(&family, leaver);
        write_page(&family, writer, 'w');
        assert_int_equal(read_page(&family, splitter), 'a');
        assert_int_equal(read_page(&family, writer), 'w');
        const struct pt_tree *both[] = {&family.trees[writer], &family.trees[splitter]};
        struct picture picture = picture_of(both, "WS", family.va, 4);

        assert_string_equal(picture.text,
                            "W: T1x1 rw | f1x1 rwADX | zero r- | swap 1.7 | shm2x3 rwD\n"
                            "S: T2x1 rw | f3x1 r-D | zero r- | swap 1.7 | shm2x3 rw\n");
        write_page(&family, splitter, 's');
        assert_int_equal(read_page(&family, splitter), 's');
        assert_int_equal(read_page(&family, writer), 'w');
        family_end(&family);
    }
}

/* P8: whoever leaves last frees the table, and nobody before. */
static void check_drop_in_every_order(const struct geometry *geometry)
{
    for (int i = 0; i < 6; i++) {
        struct family family;

        family_begin(&family, geometry);
        share_with_all(&family);
        for (int gone = 0; gone < FAMILY; gone++) {
            tree_destroy(&family.trees[orders[i][gone]]);
            fixture_check(&family.fixture);
            for (int left = gone + 1; left < FAMILY; left++)
                assert_int_equal(read_page(&family, orders[i][left]), 'a');
        }
        assert_int_equal(family.fixture.events.counts[EVENT_TABLE_DROPPED], 2);
        assert_int_equal(family.fixture.ram.frames[family.shm].count, 1);
        assert_int_equal(family.fixture.ram.frames[family.shm].flags, FRAME_DIRTY);
        family_end(&family);
    }
}

/* P27: a grandchild gets what its parent never wrote. */
static void check_grandchild(const struct geometry *geometry)
{
    struct family family;

    family_begin(&family, geometry);
    assert_int_equal(fixture_share(&family.trees[0], family.va, &family.trees[1]), 0);
    assert_int_equal(fixture_share(&family.trees[1], family.va, &family.trees[2]), 0);
    write_page(&family, 2, 'g');
    assert_picture(&family, "P: T1x2 r- | f1x1 r-AD | zero r- | swap 1.7 | shm2x3 rwD\n"
                            "A: T1x2 r- | f1x1 r-AD | zero r- | swap 1.7 | shm2x3 rwD\n"
                            "B: T2x1 rw | f3x1 rwADX | zero r- | swap 1.7 | shm2x3 rw\n");
    assert_int_equal(read_page(&family, 0), 'a');
    assert_int_equal(read_page(&family, 2), 'g');
    family_end(&family);
}

/* P66: fork copies a table which is itself shared; and one that was taken back is shared again. */
static void check_copy_of_shared(const struct geometry *geometry)
{
    struct family family;

    family_begin(&family, geometry);
    assert_int_equal(fixture_share(&family.trees[0], family.va, &family.trees[1]), 0);
    assert_int_equal(fixture_copy(&family.trees[0], family.va, &family.trees[2]), 0);
    fixture_check(&family.fixture);
    assert_picture(&family, "P: T1x2 r- | f1x2 r-AD | zero r- | swap 1.7 | shm2x3 rwD\n"
                            "A: T1x2 r- | f1x2 r-AD | zero r- | swap 1.7 | shm2x3 rwD\n"
                            "B: T2x1 rw | f1x2 r-D | zero r- | swap 1.7 | shm2x3 rw\n");
    drop(&family, 1);
    write_page(&family, 0, 'x');
    assert_int_equal(fixture_share(&family.trees[0], family.va, &family.trees[1]), 0);
    assert_picture(&family, "P: T1x2 r- | f1x1 rwADX | zero r- | swap 1.7 | shm2x3 rwD\n"
                            "A: T1x2 r- | f1x1 rwADX | zero r- | swap 1.7 | shm2x3 rwD\n"
                            "B: T2x1 rw | f3x1 r-D | zero r- | swap 1.7 | shm2x3 rw\n");
    assert_int_equal(read_page(&family, 2), 'a');
    family_end(&family);
}

/* P36: a pinned page stays its pinner's, and the child has a copy from the start. */
static void check_pinned_copied_at_once(const struct geometry *geometry)
{
    struct family family;

    family_begin(&family, geometry);
    pfn_t pinned = entry_pfn(pt_entry(&family.trees[0], family.va));

    fixture_pin(&family.fixture, pinned);
    assert_int_equal(fixture_copy(&family.trees[0], family.va, &family.trees[1]), 0);
    fixture_check(&family.fixture);
    assert_picture(&family, "P: T1x1 rw | f1x2 rwADX p1 | zero r- | swap 1.7 | shm2x3 rwD\n"
                            "A: T2x1 rw | f3x1 rwDX | zero r- | swap 1.7 | shm2x3 rw\n"
                            "B: no table\n");
    *frame_data(&family.fixture.ram, pinned) = 'd';
    assert_int_equal(read_page(&family, 0), 'd');
    assert_int_equal(read_page(&family, 1), 'a');
    fixture_unpin(&family.fixture, pinned);
    family_end(&family);
}

/* Every mapping of the span is shared: nothing is protected, and all see every write. */
static void check_all_shared(const struct geometry *geometry)
{
    struct family family;
    struct pt_leaf leaf;

    family_begin(&family, geometry);
    struct table *table = fixture_own_table(&family.trees[0], family.va);

    table_release(&family.fixture.ram, table, 0, 3);
    assert_true(pt_lookup(&family.trees[0], family.va, &leaf));
    for (int i = 1; i < FAMILY; i++) {
        fixture_reserve(&family.fixture,
                        (struct ram_need){.upper_tables = tree_upper_need(geometry)});
        table_share(&family.trees[0], &leaf, &family.trees[i], &(struct share_cursor){0}, true);
        fixture_check(&family.fixture);
    }
    assert_picture(&family, "P: T1x3 rw | none | none | none | shm1x2 rwD\n"
                            "A: T1x3 rw | none | none | none | shm1x2 rwD\n"
                            "B: T1x3 rw | none | none | none | shm1x2 rwD\n");
    family_end(&family);
}

/* An entry filled through table_for_all() is everybody's, and so is its removal. */
static void check_for_all(const struct geometry *geometry)
{
    struct family family;
    struct pt_leaf leaf;

    family_begin(&family, geometry);
    share_with_all(&family);
    assert_true(pt_lookup(&family.trees[1], family.va, &leaf));
    struct table *table = table_for_all(&family.fixture.ram, leaf.table);

    assert_ptr_equal(table, leaf.table);
    assert_int_equal(table_clear(&family.fixture.ram, table, leaf.first + 2),
                     entry_make_swap(1, 7));
    table_fill(&family.fixture.ram, table, leaf.first + 2,
               entry_make(family.fixture.ram.zero_pfn, 0));
    fixture_check(&family.fixture);
    assert_picture(&family, "P: T1x3 r- | f1x1 rwADX | zero r- | zero r- | shm2x2 rwD\n"
                            "A: T1x3 r- | f1x1 rwADX | zero r- | zero r- | shm2x2 rwD\n"
                            "B: T1x3 r- | f1x1 rwADX | zero r- | zero r- | shm2x2 rwD\n");
    family_end(&family);
}

/* P24: the n-th allocation fails: the same picture as before, for every n until none fails. */
static void check_refused(const struct geometry *geometry, int (*operation)(struct family *family))
{
    for (uint64_t n = 1;; n++) {
        struct family family;

        family_begin(&family, geometry);
        assert_int_equal(fixture_share(&family.trees[0], family.va, &family.trees[1]), 0);
        struct picture before = picture_of(family.const_trees, "PAB", family.va, 4);
        uint32_t free_frames = ram_free_frames(&family.fixture.ram);

        family.fixture.ram.gate.fail_at = family.fixture.ram.gate.requests + n;
        int error = operation(&family);

        fixture_check(&family.fixture);
        if (error != 0) {
            assert_int_equal(error, -ENOMEM);
            assert_picture(&family, before.text);
            assert_int_equal(ram_free_frames(&family.fixture.ram), free_frames);
        }
        family_end(&family);
        if (error == 0) {
            assert_true(n > 1);
            return;
        }
    }
}

static int do_split(struct family *family)
{
    struct table *table;

    return table_for_one(&family->trees[1], family->va, NULL, &table);
}

static int do_make(struct family *family)
{
    struct table *table;
    int error = table_for_one(&family->trees[2], family->va, NULL, &table);

    assert_int_equal(family->trees[2].leaf_tables, error == 0);
    return error;
}

static int do_write(struct family *family)
{
    return fixture_write(&family->trees[1], family->va, 'x');
}

static int do_share(struct family *family)
{
    return fixture_share(&family->trees[0], family->va, &family->trees[2]);
}

static int do_copy(struct family *family)
{
    return fixture_copy(&family->trees[0], family->va, &family->trees[2]);
}

static void check_refusals(const struct geometry *geometry)
{
    check_refused(geometry, do_split);
    check_refused(geometry, do_make);
    check_refused(geometry, do_write);
    check_refused(geometry, do_share);
    check_refused(geometry, do_copy);
}

/* Memory really ends, in the middle of a write that must split. */
static void check_memory_ends(const struct geometry *geometry)
{
    struct family family;
    struct ram_need one = {.frames = 1};
    pfn_t taken[FRAMES] = {0};
    int count = 0;

    family_begin(&family, geometry);
    share_with_all(&family);
    struct picture before = picture_of(family.const_trees, "PAB", family.va, 4);

    while (ram_reserve(&family.fixture.ram, &one) == 0) {
        taken[count] = frame_take(&family.fixture.ram, FRAME_ANON, PFN_NONE);
        fixture_hold(&family.fixture, taken[count++]);
    }
    assert_int_equal(ram_free_frames(&family.fixture.ram), 0);
    for (int freed = 0; fixture_write(&family.trees[1], family.va, 'x') != 0; freed++) {
        /* It needs a table and a frame. */
        assert_true(freed < 2);
        assert_picture(&family, before.text);
        fixture_release(&family.fixture, taken[--count]);
        fixture_check(&family.fixture);
    }
    assert_int_equal(read_page(&family, 0), 'a');
    assert_int_equal(read_page(&family, 1), 'x');
    while (count > 0)
        fixture_release(&family.fixture, taken[--count]);
    family_end(&family);
}

IN_EVERY_GEOMETRY(p26)
IN_EVERY_GEOMETRY(share_touches_no_frame)
IN_EVERY_GEOMETRY(split_protects_both)
IN_EVERY_GEOMETRY(split_of_all_but_last)
IN_EVERY_GEOMETRY(take_back_in_place)
IN_EVERY_GEOMETRY(drop_in_every_order)
IN_EVERY_GEOMETRY(grandchild)
IN_EVERY_GEOMETRY(copy_of_shared)
IN_EVERY_GEOMETRY(pinned_copied_at_once)
IN_EVERY_GEOMETRY(all_shared)
IN_EVERY_GEOMETRY(for_all)
IN_EVERY_GEOMETRY(refusals)
IN_EVERY_GEOMETRY(memory_ends)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_p26),
        cmocka_unit_test(test_share_touches_no_frame),
        cmocka_unit_test(test_split_protects_both),
        cmocka_unit_test(test_split_of_all_but_last),
        cmocka_unit_test(test_take_back_in_place),
        cmocka_unit_test(test_drop_in_every_order),
        cmocka_unit_test(test_grandchild),
        cmocka_unit_test(test_copy_of_shared),
        cmocka_unit_test(test_pinned_copied_at_once),
        cmocka_unit_test(test_all_shared),
        cmocka_unit_test(test_for_all),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_memory_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
