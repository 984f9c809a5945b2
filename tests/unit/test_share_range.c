/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sharing over several spans, and with more sharers than a byte can count. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/picture.h"
#include "tests/support/ram_fixture.h"

enum { SPANS = 3, SHARERS = 300 };

struct pair {
    struct ram_fixture fixture;
    struct pt_tree parent;
    struct pt_tree child;
    uint64_t span_bytes;
};

/* P has a page in each of three spans, from the second on, and shares all with C. */
static void pair_begin(struct pair *pair, const struct geometry *geometry)
{
    *pair = (struct pair){.span_bytes = geometry_span_bytes(geometry)};
    fixture_init(&pair->fixture, geometry, 64);
    fixture_tree(&pair->fixture, &pair->parent);
    fixture_tree(&pair->fixture, &pair->child);
    for (unsigned span = 1; span <= SPANS; span++) {
        va_t va = span * pair->span_bytes;

        assert_int_equal(fixture_write(&pair->parent, va, (uint8_t)('a' + span)), 0);
        assert_int_equal(fixture_share(&pair->parent, va, &pair->child), 0);
    }
    fixture_check(&pair->fixture);
}

static void pair_end(struct pair *pair)
{
    tree_destroy(&pair->child);
    tree_destroy(&pair->parent);
    fixture_destroy(&pair->fixture);
}

static void assert_span(const struct pair *pair, unsigned span, const char *expected)
{
    const struct pt_tree *trees[] = {&pair->parent, &pair->child};
    struct picture picture = picture_of(trees, "PC", span * pair->span_bytes, 1);

    assert_string_equal(picture.text, expected);
}

static const char whole[] = "P: T1x2 r- | f1x1 rwADX\n"
                            "C: T1x2 r- | f1x1 rwADX\n";
static const char dropped[] = "P: T1x1 r- | f1x1 rwADX\n"
                              "C: no table\n";

static void check_drop_range(const struct geometry *geometry)
{
    struct pair pair;

    pair_begin(&pair, geometry);
    tree_drop_range(&pair.child, 2 * pair.span_bytes, 3 * pair.span_bytes);
    fixture_check(&pair.fixture);
    assert_span(&pair, 1, whole);
    assert_span(&pair, 2, dropped);
    assert_span(&pair, 3, whole);
    assert_int_equal(pair.child.leaf_tables, SPANS - 1);
    tree_drop_range(&pair.child, 0, 4 * pair.span_bytes);
    fixture_check(&pair.fixture);
    for (unsigned span = 1; span <= SPANS; span++)
        assert_span(&pair, span, dropped);
    /* The upper tables went with the leaves; the root stays. */
    assert_int_equal(pair.child.leaf_tables, 0);
    assert_int_equal(pair.child.upper_tables, 1);
    pair_end(&pair);
}

/*
 * A fork by one cursor over spans of several parents, every other one copied, the rest shared: each
 * lands at its own address.
 */
static void check_cursor(const struct geometry *geometry)
{
    const unsigned slots = geometry_slots(geometry);
    const unsigned spans[] = {0, 1, slots - 1, slots, slots + 1, 3 * slots - 1};
    struct ram_fixture fixture;
    struct pt_tree parent;
    struct pt_tree child;
    struct share_cursor cursor = {0};
    unsigned count = 0;

    fixture_init(&fixture, geometry, 64);
    fixture_tree(&fixture, &parent);
    fixture_tree(&fixture, &child);
    for (unsigned i = 0; i < 6 && spans[i] * geometry_span_bytes(geometry) < geometry->user_end;
         i++, count++) {
        va_t va = spans[i] * geometry_span_bytes(geometry);

        assert_int_equal(fixture_write(&parent, va, (uint8_t)('a' + i)), 0);
    }
    fixture_reserve(&fixture,
                    (struct ram_need){.leaf_tables = 6, .upper_tables = 8, .mappings = 6});
    for (unsigned i = 0; i < count; i++) {
        struct pt_leaf leaf;

        assert_true(pt_lookup(&parent, spans[i] * geometry_span_bytes(geometry), &leaf));
        if (i % 2 == 0)
            table_share(&parent, &leaf, &child, &cursor, false);
        else
            table_copy(&fixture.ram, table_for_all(&fixture.ram, leaf.table),
                       table_for_copy(&child, &leaf, &cursor), 0, slots);
        fixture_check(&fixture);
    }
    for (unsigned i = 0; i < count; i++) {
        const struct pt_tree *trees[] = {&parent, &child};
        struct picture picture =
            picture_of(trees, "PC", spans[i] * geometry_span_bytes(geometry), 1);

        assert_string_equal(picture.text, i % 2 == 0 ? whole
                                                     : "P: T1x1 rw | f1x2 r-AD\n"
                                                       "C: T2x1 rw | f1x2 r-D\n");
    }
    assert_int_equal(child.leaf_tables, count);
    assert_int_equal(child.upper_tables, parent.upper_tables);
    tree_destroy(&parent);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(fixture_read(&child, spans[i] * geometry_span_bytes(geometry)), 'a' + i);
    tree_destroy(&child);
    fixture_destroy(&fixture);
}

/* P31: more sharers than 255, of a table and then of a frame. */
static void check_many_sharers(const struct geometry *geometry)
{
    struct ram_fixture fixture;
    struct pt_tree *trees = calloc(SHARERS, sizeof(*trees));
    va_t va = geometry_span_bytes(geometry);

    assert_non_null(trees);
    fixture_init(&fixture, geometry, 2048);
    for (int i = 0; i < SHARERS; i++)
        fixture_tree(&fixture, &trees[i]);
    assert_int_equal(fixture_write(&trees[0], va, 'a'), 0);
    pfn_t pfn = entry_pfn(pt_entry(&trees[0], va));
    struct pt_leaf leaf;

    for (int i = 1; i < SHARERS; i++)
        assert_int_equal(fixture_share(&trees[i - 1], va, &trees[i]), 0);
    fixture_check(&fixture);
    assert_true(pt_lookup(&trees[0], va, &leaf));
    assert_int_equal(leaf.table->share_count, SHARERS);
    assert_int_equal(fixture.ram.frames[pfn].count, 1);
    for (int i = 0; i < SHARERS - 1; i++)
        fixture_own_table(&trees[i], va);
    fixture_check(&fixture);
    assert_int_equal(fixture.ram.frames[pfn].count, SHARERS);
    for (int i = 1; i < SHARERS; i += 2)
        tree_destroy(&trees[i]);
    fixture_check(&fixture);
    assert_int_equal(fixture.ram.frames[pfn].count, SHARERS / 2);
    assert_int_equal(fixture_write(&trees[0], va, 'b'), 0);
    for (int i = 2; i < SHARERS; i += 2) {
        assert_int_equal(fixture_read(&trees[i], va), 'a');
        tree_destroy(&trees[i]);
    }
    assert_int_equal(fixture_read(&trees[0], va), 'b');
    tree_destroy(&trees[0]);
    fixture_destroy(&fixture);
    free(trees);
}

/* The same trees that hang there, the oldest attachment first, after any of them left. */
struct visited {
    const struct pt_tree *trees[4];
    unsigned count;
};

static void note_tree(void *context, struct pt_tree *tree)
{
    struct visited *visited = context;

    assert_true(visited->count < 4);
    visited->trees[visited->count++] = tree;
}

static void check_for_each_tree(const struct geometry *geometry)
{
    for (int leaver = 0; leaver < 4; leaver++) {
        struct ram_fixture fixture;
        struct pt_tree trees[4];
        struct visited expected = {.count = 0};
        struct visited visited = {.count = 0};
        struct pt_leaf leaf;

        fixture_init(&fixture, geometry, 64);
        for (int i = 0; i < 4; i++)
            fixture_tree(&fixture, &trees[i]);
        assert_int_equal(fixture_write(&trees[0], 0, 'a'), 0);
        for (int i = 1; i < 4; i++)
            assert_int_equal(fixture_share(&trees[0], 0, &trees[i]), 0);
        tree_destroy(&trees[leaver]);
        for (int i = 0; i < 4; i++) {
            if (i != leaver)
                expected.trees[expected.count++] = &trees[i];
        }
        assert_true(pt_lookup(&trees[leaver == 0], 0, &leaf));
        table_for_each_tree(&fixture.ram, leaf.table, note_tree, &visited);
        assert_memory_equal(&visited, &expected, sizeof(expected));
        for (int i = 0; i < 4; i++) {
            if (i != leaver)
                tree_destroy(&trees[i]);
        }
        fixture_destroy(&fixture);
    }
}

IN_EVERY_GEOMETRY(drop_range)
IN_EVERY_GEOMETRY(cursor)
IN_EVERY_GEOMETRY(many_sharers)
IN_EVERY_GEOMETRY(for_each_tree)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drop_range),
        cmocka_unit_test(test_cursor),
        cmocka_unit_test(test_many_sharers),
        cmocka_unit_test(test_for_each_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
