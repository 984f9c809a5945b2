/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walker: whole lists of visits are compared, written as text. By hand for the hooks, huge
 * entries and edges in all geometries; exhaustively, against a flat array, in the tiny one.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/ram_fixture.h"

enum { FRAMES = 64, TINY_SPANS = 16, TINY_PAGES = 64, MODELLED_SPANS = 8 };

struct visits {
    char text[4096];
    size_t used;
    int stop_at; /* the leaf, counted from 1, that ends the walk; 0: none */
    int leaves;
    bool makes; /* absent tables are made, above the leaf level only when `makes_upper_only` */
    bool makes_upper_only;
};

__attribute__((format(printf, 2, 3))) static void note(struct visits *visits, const char *format,
                                                       ...)
{
    size_t room = sizeof(visits->text) - visits->used;
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(visits->text + visits->used, room, format, arguments);

    va_end(arguments);
    assert_true((size_t)length < room);
    visits->used += (size_t)length;
}

static int on_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct visits *visits = context;

    assert_int_equal(leaf->table->level, leaf->level);
    if (leaf->level == 0)
        assert_int_equal(entry_pfn(table_entry(tree->ram, leaf->parent, leaf->parent_slot)),
                         leaf->table->pfn);
    else
        assert_null(leaf->parent);
    note(visits, "%s %llx [%u,%u)%s\n", leaf->level == 0 ? "leaf" : "huge",
         (unsigned long long)leaf->va, leaf->first, leaf->end, leaf->upper_writable ? "" : " ro");
    return ++visits->leaves == visits->stop_at ? 42 : 0;
}

/* The same visits by a visitor that is given all leaves of a table at once. */
static int on_leaves(void *context, struct pt_tree *tree, const struct pt_leaves *leaves)
{
    unsigned slot = table_next_used(leaves->parent, leaves->first, leaves->end);
    int result = 0;

    for (; slot < leaves->end && result == 0;
         slot = table_next_used(leaves->parent, slot + 1, leaves->end)) {
        struct pt_leaf leaf;

        pt_leaf_at(tree, leaves, slot, &leaf);
        result = on_leaf(context, tree, &leaf);
    }
    return result;
}

static struct table *on_absent(void *context, struct pt_tree *tree, unsigned level)
{
    struct visits *visits = context;

    note(visits, "absent %u\n", level);
    if (!visits->makes || (visits->makes_upper_only && level == 0))
        return NULL;
    fixture_reserve(tree->ram->rmap_context,
                    (struct ram_need){.leaf_tables = 1, .upper_tables = 1});
    return table_take(tree->ram, level);
}

static void on_left(void *context, struct pt_tree *tree, const struct table *table,
                    const struct table *parent, unsigned parent_slot)
{
    if (parent == NULL)
        assert_ptr_equal(table, tree->root);
    else
        assert_int_equal(entry_pfn(table_entry(tree->ram, parent, parent_slot)), table->pfn);
    note(context, "left %u\n", table->level);
}

static const struct pt_visitor all_hooks = {.leaf = on_leaf, .absent = on_absent, .left = on_left};
static const struct pt_visitor no_absent = {.leaf = on_leaf, .left = on_left};
static const struct pt_visitor all_at_once = {.leaves = on_leaves, .left = on_left};
static const struct pt_visitor leaf_only = {.leaf = on_leaf};
static const struct pt_visitor absent_only = {.absent = on_absent};
static const struct pt_visitor left_only = {.left = on_left};
static const struct pt_visitor nothing = {0};

struct scene {
    struct ram_fixture fixture;
    struct pt_tree tree;
    struct visits visits;
};

static void scene_begin(struct scene *scene, const struct geometry *geometry)
{
    *scene = (struct scene){0};
    fixture_init(&scene->fixture, geometry, FRAMES);
    fixture_tree(&scene->fixture, &scene->tree);
}

static void scene_end(struct scene *scene)
{
    fixture_check(&scene->fixture);
    tree_destroy(&scene->tree);
    fixture_destroy(&scene->fixture);
}

static int walk(struct scene *scene, va_t start, va_t end, const struct pt_visitor *visitor)
{
    scene->visits.used = 0;
    scene->visits.leaves = 0;
    scene->visits.text[0] = '\0';
    return pt_walk(&scene->tree, start, end, visitor, &scene->visits);
}

/* Appends "left" for the upper levels from `from` to the root. */
static void add_left(struct visits *expected, const struct geometry *geometry, unsigned from)
{
    for (unsigned level = from; level < geometry->levels; level++)
        note(expected, "left %u\n", level);
}

static void check_leaves(const struct geometry *geometry)
{
    struct scene scene;
    struct visits expected = {0};
    uint64_t span = geometry_span_bytes(geometry);
    unsigned slots = geometry_slots(geometry);

    scene_begin(&scene, geometry);
    fixture_own_table(&scene.tree, 0);
    fixture_own_table(&scene.tree, span);
    assert_int_equal(walk(&scene, PAGE_BYTES, span + 2 * PAGE_BYTES, &no_absent), 0);
    note(&expected, "leaf 1000 [1,%u)\nleaf %llx [0,2)\n", slots, (unsigned long long)span);
    add_left(&expected, geometry, 1);
    assert_string_equal(scene.visits.text, expected.text);
    assert_int_equal(walk(&scene, PAGE_BYTES, span + 2 * PAGE_BYTES, &all_at_once), 0);
    assert_string_equal(scene.visits.text, expected.text);
    /* Hooks that are not there are not called; the others are, all the same. */
    walk(&scene, 0, geometry->user_end, &nothing);
    assert_string_equal(scene.visits.text, "");
    walk(&scene, span - PAGE_BYTES, span, &leaf_only);
    expected = (struct visits){0};
    note(&expected, "leaf %llx [%u,%u)\n", (unsigned long long)(span - PAGE_BYTES), slots - 1,
         slots);
    assert_string_equal(scene.visits.text, expected.text);
    walk(&scene, 0, 2 * span, &left_only);
    expected = (struct visits){0};
    add_left(&expected, geometry, 1);
    assert_string_equal(scene.visits.text, expected.text);
    /* Empty ranges. */
    assert_int_equal(walk(&scene, PAGE_BYTES, PAGE_BYTES, &all_hooks), 0);
    assert_string_equal(scene.visits.text, "");
    assert_int_equal(walk(&scene, span, 0, &all_hooks), 0);
    assert_string_equal(scene.visits.text, "");
    scene_end(&scene);
}

/* What a leaf returns ends the walk at once: nothing more is visited, and nothing is left. */
static void check_stop(const struct geometry *geometry)
{
    struct scene scene;
    uint64_t span = geometry_span_bytes(geometry);
    struct visits expected = {0};

    scene_begin(&scene, geometry);
    for (unsigned i = 0; i < 3; i++)
        fixture_own_table(&scene.tree, i * span);
    scene.visits.stop_at = 2;
    assert_int_equal(walk(&scene, 0, 3 * span, &all_hooks), 42);
    note(&expected, "leaf 0 [0,%u)\nleaf %llx [0,%u)\n", geometry_slots(geometry),
         (unsigned long long)span, geometry_slots(geometry));
    assert_string_equal(scene.visits.text, expected.text);
    scene_end(&scene);
}

/* Absent tables: told level by level; made where the visitor wants, and walked into at once. */
static void check_absent(const struct geometry *geometry)
{
    struct scene scene;
    struct visits made = {0};
    struct visits upper_made = {0};
    struct visits passed = {0};
    unsigned top = geometry->levels - 1;

    note(&passed, "absent %u\nleft %u\n", top - 1, top);
    for (unsigned level = top; level-- > 0;) {
        note(&made, "absent %u\n", level);
        note(&upper_made, "absent %u\n", level);
    }
    note(&made, "leaf 2000 [2,3)\n");
    add_left(&made, geometry, 1);
    add_left(&upper_made, geometry, 1);

    scene_begin(&scene, geometry);
    walk(&scene, 2 * PAGE_BYTES, 3 * PAGE_BYTES, &all_hooks);
    assert_string_equal(scene.visits.text, passed.text);
    assert_int_equal(scene.tree.upper_tables, 1);
    scene.visits.makes = scene.visits.makes_upper_only = true;
    walk(&scene, 2 * PAGE_BYTES, 3 * PAGE_BYTES, &all_hooks);
    assert_string_equal(scene.visits.text, upper_made.text);
    assert_int_equal(scene.tree.upper_tables, top);
    assert_int_equal(scene.tree.leaf_tables, 0);
    fixture_check(&scene.fixture);
    tree_drop_range(&scene.tree, 0, geometry->user_end);
    assert_int_equal(scene.tree.upper_tables, 1);
    scene.visits.makes_upper_only = false;
    walk(&scene, 2 * PAGE_BYTES, 3 * PAGE_BYTES, &all_hooks);
    assert_string_equal(scene.visits.text, made.text);
    assert_int_equal(scene.tree.leaf_tables, 1);
    walk(&scene, 2 * PAGE_BYTES, 3 * PAGE_BYTES, &absent_only);
    assert_string_equal(scene.visits.text, "");
    scene_end(&scene);
}

/* Permission is the AND over the levels. */
static void check_upper_writable(const struct geometry *geometry)
{
    for (unsigned level = 1; level < geometry->levels; level++) {
        struct scene scene;
        struct pt_leaf leaf;

        scene_begin(&scene, geometry);
        fixture_own_table(&scene.tree, 0);
        assert_true(pt_lookup(&scene.tree, 0, &leaf));
        assert_true(leaf.upper_writable);
        const struct table *upper = leaf.parent;

        while (upper->level < level)
            upper = table_of_frame(&scene.fixture.ram, upper->first_parent);
        tree_set_writable(&scene.tree, upper, 0, false);
        assert_true(pt_lookup(&scene.tree, 0, &leaf));
        assert_false(leaf.upper_writable);
        tree_set_writable(&scene.tree, upper, 0, true);
        assert_true(pt_lookup(&scene.tree, 0, &leaf));
        assert_true(leaf.upper_writable);
        scene_end(&scene);
    }
}

/* A huge entry at the second level, between two leaf tables: one visit, as a leaf of level 1. */
static void check_huge(const struct geometry *geometry)
{
    struct scene scene;
    struct visits expected = {0};
    struct pt_leaf leaf;
    uint64_t span = geometry_span_bytes(geometry);
    unsigned slots = geometry_slots(geometry);

    scene_begin(&scene, geometry);
    fixture_own_table(&scene.tree, 0);
    fixture_own_table(&scene.tree, 2 * span);
    assert_true(pt_lookup(&scene.tree, 0, &leaf));
    struct table *upper = table_of_frame(&scene.fixture.ram, leaf.parent->pfn);
    pfn_t pfn = fixture_frame(&scene.fixture, FRAME_SHM, 0);

    fixture_hold(&scene.fixture, pfn);
    entry_t huge = entry_make(pfn, ENTRY_HUGE | ENTRY_DIRTY);

    table_store_upper(&scene.fixture.ram, upper, 1, huge);
    frame_get(&scene.fixture.ram, pfn);
    fixture_check(&scene.fixture);
    walk(&scene, 0, 3 * span, &all_hooks);
    note(&expected, "leaf 0 [0,%u)\nhuge %llx [1,2) ro\nleaf %llx [0,%u)\n", slots,
         (unsigned long long)span, (unsigned long long)span * 2, slots);
    add_left(&expected, geometry, 1);
    assert_string_equal(scene.visits.text, expected.text);
    /* From the middle of it to its middle. */
    walk(&scene, span + 2 * PAGE_BYTES, span + 3 * PAGE_BYTES, &leaf_only);
    expected = (struct visits){0};
    note(&expected, "huge %llx [1,2) ro\n", (unsigned long long)span + 0x2000);
    assert_string_equal(scene.visits.text, expected.text);
    assert_int_equal(pt_entry(&scene.tree, span + 3 * PAGE_BYTES), huge);
    table_store_upper(&scene.fixture.ram, upper, 1, ENTRY_NONE);
    frame_put(&scene.fixture.ram, pfn);
    fixture_release(&scene.fixture, pfn);
    scene_end(&scene);
}

/* The first and the last page of the user's addresses; nothing lies beyond. */
static void check_edges(const struct geometry *geometry)
{
    struct scene scene;
    va_t last = geometry->user_end - PAGE_BYTES;
    struct pt_leaf leaf;

    scene_begin(&scene, geometry);
    assert_false(pt_lookup(&scene.tree, 0, &leaf));
    assert_int_equal(pt_entry(&scene.tree, last), ENTRY_NONE);
    fixture_fill(&scene.fixture, &scene.tree, 0, FRAME_ANON, 1, 0);
    fixture_fill(&scene.fixture, &scene.tree, last, FRAME_ANON, 2, 0);
    fixture_check(&scene.fixture);
    assert_int_equal(fixture_read(&scene.tree, 0), 1);
    assert_int_equal(fixture_read(&scene.tree, last + 4095), 2);
    assert_int_equal(fixture_read(&scene.tree, last - PAGE_BYTES), 0);
    assert_int_equal(scene.tree.leaf_tables, 2);
    assert_true(pt_lookup(&scene.tree, last + 5, &leaf));
    assert_int_equal(leaf.va, last);
    assert_int_equal(leaf.end, leaf.first + 1);
    /* An address beyond does not wrap round to one within. */
    assert_false(pt_lookup(&scene.tree, geometry->user_end, &leaf));
    assert_int_equal(pt_entry(&scene.tree, (va_t)1 << 48), ENTRY_NONE);
    assert_int_equal(pt_entry(&scene.tree, ~(va_t)0), ENTRY_NONE);
    scene_end(&scene);
}

/* What a walk over [first, end) must visit: by a flat array of the spans that have a table. */
static void model_walk(struct visits *expected, unsigned tables, unsigned first, unsigned end,
                       bool absent)
{
    *expected = (struct visits){0};
    for (unsigned region = first / 16; region <= (end - 1) / 16; region++) {
        if ((tables >> region * 4 & 15) == 0) {
            if (absent)
                note(expected, "absent 1\n");
            continue;
        }
        for (unsigned span = region * 4; span < region * 4 + 4; span++) {
            unsigned from = span * 4 < first ? first : span * 4;
            unsigned to = span * 4 + 4 > end ? end : span * 4 + 4;

            if (from >= to)
                continue;
            if ((tables >> span & 1) != 0)
                note(expected, "leaf %x [%u,%u)\n", from << PAGE_SHIFT, from % 4, (to - 1) % 4 + 1);
            else if (absent)
                note(expected, "absent 0\n");
        }
        note(expected, "left 1\n");
    }
    note(expected, "left 2\n");
}

static void compare_all_ranges(struct scene *scene, unsigned tables)
{
    static struct visits expected;

    for (unsigned first = 0; first < TINY_PAGES; first++) {
        for (unsigned end = first + 1; end <= TINY_PAGES; end++) {
            model_walk(&expected, tables, first, end, true);
            walk(scene, first * PAGE_BYTES, end * PAGE_BYTES, &all_hooks);
            if (strcmp(scene->visits.text, expected.text) != 0)
                fail_msg("tables %04x, pages [%u,%u):\n%sand not\n%s", tables, first, end,
                         scene->visits.text, expected.text);
            model_walk(&expected, tables, first, end, false);
            walk(scene, first * PAGE_BYTES, end * PAGE_BYTES, &no_absent);
            if (strcmp(scene->visits.text, expected.text) != 0)
                fail_msg("tables %04x, pages [%u,%u), no absent:\n%sand not\n%s", tables, first,
                         end, scene->visits.text, expected.text);
            walk(scene, first * PAGE_BYTES, end * PAGE_BYTES, &all_at_once);
            if (strcmp(scene->visits.text, expected.text) != 0)
                fail_msg("tables %04x, pages [%u,%u), at once:\n%sand not\n%s", tables, first, end,
                         scene->visits.text, expected.text);
        }
    }
}

/* Every set of tables in two regions of the tiny tree (the second and the last), every range. */
static void test_tiny_exhaustively(void **state)
{
    (void)state;
    for (unsigned pattern = 0; pattern < 1u << MODELLED_SPANS; pattern++) {
        struct scene scene;
        unsigned tables = (pattern & 15) << 4 | (pattern >> 4) << 12;

        scene_begin(&scene, &geometry_tiny);
        for (unsigned span = 0; span < TINY_SPANS; span++) {
            if ((tables >> span & 1) != 0)
                fixture_own_table(&scene.tree, span * geometry_span_bytes(&geometry_tiny));
        }
        compare_all_ranges(&scene, tables);
        scene_end(&scene);
    }
}

IN_EVERY_GEOMETRY(leaves)
IN_EVERY_GEOMETRY(stop)
IN_EVERY_GEOMETRY(absent)
IN_EVERY_GEOMETRY(upper_writable)
IN_EVERY_GEOMETRY(huge)
IN_EVERY_GEOMETRY(edges)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaves),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_upper_writable),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_tiny_exhaustively),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
