/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes of single entries and of whole ranges, against a recount of everything after each (the
 * invariants), in all geometries.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pt/random.h"
#include "tests/support/picture.h"
#include "tests/support/ram_fixture.h"

enum { FRAMES = 64, SLOTS = 4 };

struct scene {
    struct ram_fixture fixture;
    struct pt_tree tree;
    struct pt_tree other;
    struct table *table; /* tree's, for address 0 */
};

static void scene_begin(struct scene *scene, const struct geometry *geometry)
{
    fixture_init(&scene->fixture, geometry, FRAMES);
    fixture_tree(&scene->fixture, &scene->tree);
    fixture_tree(&scene->fixture, &scene->other);
    scene->table = fixture_own_table(&scene->tree, 0);
    fixture_check(&scene->fixture);
}

static void scene_end(struct scene *scene)
{
    tree_destroy(&scene->tree);
    tree_destroy(&scene->other);
    fixture_destroy(&scene->fixture);
}

static void assert_scene(struct scene *scene, const char *expected)
{
    const struct pt_tree *trees[] = {&scene->tree, &scene->other};

    fixture_check(&scene->fixture);
    assert_string_equal(picture_of(trees, "PC", 0, SLOTS).text, expected);
}

static void check_fill_change_clear(const struct geometry *geometry)
{
    struct scene scene;
    struct ram *ram = &scene.fixture.ram;

    scene_begin(&scene, geometry);
    assert_scene(&scene, "P: T1x1 rw | none | none | none | none\nC: no table\n");
    pfn_t pfn = fixture_fill(&scene.fixture, &scene.tree, 2 * PAGE_BYTES, FRAME_ANON, 1, 0);

    assert_scene(&scene, "P: T1x1 rw | none | none | f1x1 r- | none\nC: no table\n");
    fixture_map(&scene.fixture, &scene.tree, 0, entry_make(pfn, 0));
    assert_scene(&scene, "P: T1x1 rw | f1x2 r- | none | f1x2 r- | none\nC: no table\n");
    table_change(ram, scene.table, 0, entry_make(pfn, ENTRY_ACCESSED | ENTRY_LAZY_FREE));
    assert_scene(&scene, "P: T1x1 rw | f1x2 r-AL | none | f1x2 r- | none\nC: no table\n");
    entry_t old = table_clear(ram, scene.table, 0);

    assert_int_equal(old, entry_make(pfn, ENTRY_ACCESSED | ENTRY_LAZY_FREE));
    frame_put(ram, pfn);
    assert_scene(&scene, "P: T1x1 rw | none | none | f1x1 r- | none\nC: no table\n");
    assert_int_equal(table_clear(ram, scene.table, 1), ENTRY_NONE);
    assert_scene(&scene, "P: T1x1 rw | none | none | f1x1 r- | none\nC: no table\n");
    table_clear(ram, scene.table, 2);
    frame_put(ram, pfn);
    assert_scene(&scene, "P: T1x1 rw | none | none | none | none\nC: no table\n");
    assert_int_equal(scene.table->low, scene.table->high);
    scene_end(&scene);
}

static void check_special(const struct geometry *geometry)
{
    struct scene scene;
    struct ram *ram = &scene.fixture.ram;

    scene_begin(&scene, geometry);
    fixture_map(&scene.fixture, &scene.tree, 0, entry_make_swap(31, 0xfffff));
    fixture_map(&scene.fixture, &scene.tree, PAGE_BYTES, entry_make_guard());
    fixture_map(&scene.fixture, &scene.tree, 3 * PAGE_BYTES, entry_make(ram->zero_pfn, 0));
    assert_scene(&scene, "P: T1x1 rw | swap 31.1048575 | guard | none | zero r-\nC: no table\n");
    assert_int_equal(scene.table->used, 3);
    assert_int_equal(scene.table->special, 2);
    assert_int_equal(scene.table->swapped, 1);
    assert_int_equal(table_clear(ram, scene.table, 1), entry_make_guard());
    assert_int_equal(table_clear(ram, scene.table, 0), entry_make_swap(31, 0xfffff));
    assert_scene(&scene, "P: T1x1 rw | none | none | none | zero r-\nC: no table\n");
    assert_int_equal(scene.table->used, 1);
    scene_end(&scene);
}

/* A dirty entry of an object marks the frame, whichever way it goes; an anonymous one does not. */
static void check_dirty_moves_to_the_frame(const struct geometry *geometry)
{
    static const enum frame_kind kinds[] = {FRAME_SHM, FRAME_FILE, FRAME_ANON};

    for (unsigned i = 0; i < 12; i++) {
        struct scene scene;
        enum frame_kind kind = kinds[i / 4];
        bool dirty = (i & 1) != 0;

        scene_begin(&scene, geometry);
        pfn_t pfn =
            fixture_fill(&scene.fixture, &scene.tree, PAGE_BYTES, kind, 1, dirty ? ENTRY_DIRTY : 0);

        fixture_hold(&scene.fixture, pfn);
        if ((i & 2) != 0) {
            table_release(&scene.fixture.ram, scene.table, 0, SLOTS);
        } else {
            table_clear(&scene.fixture.ram, scene.table, 1);
            frame_put(&scene.fixture.ram, pfn);
        }
        fixture_check(&scene.fixture);
        assert_int_equal(scene.fixture.ram.frames[pfn].flags,
                         dirty && kind != FRAME_ANON ? FRAME_DIRTY : 0);
        fixture_release(&scene.fixture, pfn);
        scene_end(&scene);
    }
}

/* One of each kind of entry, in the four first slots. */
static void fill_all_kinds(struct scene *scene)
{
    const entry_t all = ENTRY_WRITE | ENTRY_ACCESSED | ENTRY_DIRTY;

    fixture_fill(&scene->fixture, &scene->tree, 0, FRAME_ANON, 'a', all | ENTRY_EXCLUSIVE);
    fixture_fill(&scene->fixture, &scene->tree, PAGE_BYTES, FRAME_FILE, 'f', all);
    fixture_map(&scene->fixture, &scene->tree, 2 * PAGE_BYTES, entry_make_swap(0, 3));
    fixture_map(&scene->fixture, &scene->tree, 3 * PAGE_BYTES,
                entry_make(scene->fixture.ram.zero_pfn, ENTRY_ACCESSED));
}

/* The copy's table, made where it is missing. */
static struct table *copy_of(struct scene *scene)
{
    struct share_cursor cursor = {0};
    struct pt_leaf leaf;

    if (pt_lookup(&scene->other, 0, &leaf))
        return table_of_frame(&scene->fixture.ram, leaf.table->pfn);
    fixture_reserve(
        &scene->fixture,
        (struct ram_need){.leaf_tables = 1, .upper_tables = tree_upper_need(scene->tree.geometry)});
    assert_true(pt_lookup(&scene->tree, 0, &leaf));
    return table_for_copy(&scene->other, &leaf, &cursor);
}

static void copy_range(struct scene *scene, unsigned first, unsigned end)
{
    struct table *copy = copy_of(scene);

    fixture_reserve(&scene->fixture, (struct ram_need){.mappings = end - first});
    table_copy(&scene->fixture.ram, scene->table, copy, first, end);
}

static const char *const kept[] = {"f1x1 rwADX", "file2x1 rwAD", "swap 0.3", "zero r-A"};
static const char *const left[] = {"f1x2 r-AD", "file2x2 rwAD", "swap 0.3", "zero r-A"};
static const char *const copied[] = {"f1x2 r-D", "file2x2 rw", "swap 0.3", "zero r-"};

static void add_row(char *text, size_t bytes, const char *head, const char *const cells[SLOTS])
{
    size_t used = strlen(text);

    snprintf(text + used, bytes - used, "%s | %s | %s | %s | %s\n", head, cells[0], cells[1],
             cells[2], cells[3]);
}

/* Every range: what lies in it is copied, the rest of both tables is as it was. */
static void check_copy_ranges(const struct geometry *geometry)
{
    for (unsigned first = 0; first < SLOTS; first++) {
        for (unsigned end = first; end <= SLOTS; end++) {
            struct scene scene;
            const char *parent[SLOTS];
            const char *child[SLOTS];
            char expected[256] = "";

            scene_begin(&scene, geometry);
            fill_all_kinds(&scene);
            copy_range(&scene, first, end);
            for (unsigned slot = 0; slot < SLOTS; slot++) {
                bool inside = slot >= first && slot < end;

                parent[slot] = inside ? left[slot] : kept[slot];
                child[slot] = inside ? copied[slot] : "none";
            }
            add_row(expected, sizeof(expected), "P: T1x1 rw", parent);
            add_row(expected, sizeof(expected), "C: T2x1 rw", child);
            assert_scene(&scene, expected);
            assert_int_equal(scene.fixture.events.counts[EVENT_ENTRY_COPIED], end - first);
            scene_end(&scene);
        }
    }
}

static void check_release_ranges(const struct geometry *geometry)
{
    for (unsigned first = 0; first < SLOTS; first++) {
        for (unsigned end = first; end <= SLOTS; end++) {
            struct scene scene;
            const char *cells[SLOTS];
            char expected[256] = "";

            scene_begin(&scene, geometry);
            fill_all_kinds(&scene);
            table_release(&scene.fixture.ram, scene.table, first, end);
            for (unsigned slot = 0; slot < SLOTS; slot++)
                cells[slot] = slot >= first && slot < end ? "none" : kept[slot];
            /* The file's frame is the first one met when the anonymous one is gone. */
            if (first == 0 && end == 1)
                cells[1] = "file1x1 rwAD";
            add_row(expected, sizeof(expected), "P: T1x1 rw", cells);
            size_t used = strlen(expected);

            snprintf(expected + used, sizeof(expected) - used, "C: no table\n");
            assert_scene(&scene, expected);
            assert_int_equal(scene.fixture.events.counts[EVENT_ENTRY_RELEASED], end - first);
            scene_end(&scene);
        }
    }
}

/* Every range to every place of another table: entries as they were, and nothing left behind. */
static void move_range(const struct geometry *geometry, unsigned first, unsigned count, unsigned to)
{
    struct scene scene;
    const char *source[SLOTS];
    const char *destination[SLOTS] = {"none", "none", "none", "none"};
    char expected[256] = "";

    scene_begin(&scene, geometry);
    fill_all_kinds(&scene);
    struct table_move move = {.source = scene.table,
                              .from = first,
                              .destination = copy_of(&scene),
                              .to = to,
                              .count = count};

    table_move(&scene.fixture.ram, &move);
    for (unsigned slot = 0; slot < SLOTS; slot++)
        source[slot] = slot >= first && slot < first + count ? "none" : kept[slot];
    for (unsigned i = 0; i < count; i++)
        destination[to + i] = kept[first + i];
    /* The file's frame is the first one met when the anonymous one alone has gone. */
    if (first == 0 && count == 1) {
        source[1] = "file1x1 rwAD";
        destination[to] = "f2x1 rwADX";
    }
    add_row(expected, sizeof(expected), "P: T1x1 rw", source);
    add_row(expected, sizeof(expected), "C: T2x1 rw", destination);
    assert_scene(&scene, expected);
    assert_int_equal(scene.fixture.events.counts[EVENT_ENTRY_MOVED], count);
    scene_end(&scene);
}

static void check_move_ranges(const struct geometry *geometry)
{
    for (unsigned first = 0; first < SLOTS; first++) {
        for (unsigned count = 1; first + count <= SLOTS; count++) {
            for (unsigned to = 0; to + count <= SLOTS; to++)
                move_range(geometry, first, count, to);
        }
    }
}

/* Within one table; and a pinned page takes its table's mark along. */
static void check_move_within(const struct geometry *geometry)
{
    struct scene scene;
    struct ram *ram = &scene.fixture.ram;

    scene_begin(&scene, geometry);
    pfn_t pfn = fixture_fill(&scene.fixture, &scene.tree, 0, FRAME_ANON, 1, ENTRY_DIRTY);
    struct table_move within = {
        .source = scene.table, .from = 0, .destination = scene.table, .to = 2, .count = 2};

    table_move(ram, &within);
    assert_scene(&scene, "P: T1x1 rw | none | none | f1x1 r-D | none\nC: no table\n");
    assert_int_equal(scene.table->low, 2);
    assert_int_equal(scene.table->high, 3);
    fixture_pin(&scene.fixture, pfn);
    scene.table->may_hold_pin = true;
    struct table_move away = {
        .source = scene.table, .from = 0, .destination = copy_of(&scene), .to = 0, .count = SLOTS};

    table_move(ram, &away);
    assert_true(away.destination->may_hold_pin);
    assert_scene(&scene, "P: T1x1 rw | none | none | none | none\n"
                         "C: T2x1 rw | none | none | f1x2 r-D p1 | none\n");
    fixture_unpin(&scene.fixture, pfn);
    scene_end(&scene);
}

/* Two ranges copied one after the other make one table, as two mappings of a span do at fork. */
static void check_copy_in_pieces(const struct geometry *geometry)
{
    struct scene scene;
    char expected[256] = "";

    scene_begin(&scene, geometry);
    fill_all_kinds(&scene);
    copy_range(&scene, 2, 4);
    copy_range(&scene, 0, 1);
    copy_range(&scene, 1, 2);
    add_row(expected, sizeof(expected), "P: T1x1 rw", left);
    add_row(expected, sizeof(expected), "C: T2x1 rw", copied);
    assert_scene(&scene, expected);
    scene_end(&scene);
}

static void check_pinned_frames(const struct geometry *geometry)
{
    struct scene scene;

    scene_begin(&scene, geometry);
    fill_all_kinds(&scene);
    assert_int_equal(table_pinned_frames(&scene.fixture.ram, scene.table), 0);
    pfn_t anon = entry_pfn(table_entry(&scene.fixture.ram, scene.table, 0));
    pfn_t file = entry_pfn(table_entry(&scene.fixture.ram, scene.table, 1));

    fixture_pin(&scene.fixture, file);
    assert_int_equal(table_pinned_frames(&scene.fixture.ram, scene.table), 0);
    fixture_pin(&scene.fixture, anon);
    fixture_pin(&scene.fixture, anon);
    assert_int_equal(table_pinned_frames(&scene.fixture.ram, scene.table), 1);
    fixture_unpin(&scene.fixture, anon);
    fixture_unpin(&scene.fixture, anon);
    fixture_unpin(&scene.fixture, file);
    scene_end(&scene);
}

/* The next slot in use of an upper table, from every slot to every end, against its entries. */
static void check_next_used(const struct geometry *geometry)
{
    const unsigned slots = geometry_slots(geometry);
    const unsigned used[] = {1, 2, 63, 64, 130, slots - 1};
    struct scene scene;

    scene_begin(&scene, geometry);
    fixture_reserve(&scene.fixture, (struct ram_need){.upper_tables = 1});
    struct table *upper = table_take(&scene.fixture.ram, 1);

    assert_int_equal(table_next_used(upper, 0, slots), slots);
    for (size_t i = 0; i < 6; i++) {
        if (used[i] < slots)
            table_store_upper(&scene.fixture.ram, upper, used[i], entry_make(1, ENTRY_HUGE));
    }
    for (unsigned end = 0; end <= slots; end += end < 4 ? 1 : 7) {
        unsigned expected = end;

        for (unsigned slot = end; slot-- > 0;) {
            if (!entry_is_none(table_entry(&scene.fixture.ram, upper, slot)))
                expected = slot;
            assert_int_equal(table_next_used(upper, slot, end), expected);
        }
    }
    for (size_t i = 0; i < 6; i++) {
        if (used[i] < slots && !entry_is_none(table_entry(&scene.fixture.ram, upper, used[i])))
            table_store_upper(&scene.fixture.ram, upper, used[i], ENTRY_NONE);
    }
    assert_int_equal(table_next_used(upper, 0, slots), slots);
    table_give(&scene.fixture.ram, upper);
    scene_end(&scene);
}

/* Slots filled and cleared at random, over the whole table: books and bounds stay right. */
static void check_books_at_random(const struct geometry *geometry)
{
    struct scene scene;
    struct random random = random_seeded(3);
    struct ram *ram = &scene.fixture.ram;

    scene_begin(&scene, geometry);
    for (int step = 0; step < 400; step++) {
        unsigned slot = (unsigned)random_below(&random, geometry_slots(geometry));
        unsigned length = (unsigned)random_below(&random, geometry_slots(geometry) - slot) + 1;

        if (random_below(&random, 40) == 0)
            table_release(ram, scene.table, slot, slot + length);
        else if (!entry_is_none(table_entry(ram, scene.table, slot)))
            table_release(ram, scene.table, slot, slot + 1);
        else if (random_below(&random, 3) == 0)
            table_put(ram, scene.table, slot, entry_make_swap(1, slot));
        else if (ram_free_frames(ram) > 4)
            fixture_fill(&scene.fixture, &scene.tree, slot * PAGE_BYTES, FRAME_ANON, 1, 0);
        fixture_check(&scene.fixture);
    }
    scene_end(&scene);
}

IN_EVERY_GEOMETRY(fill_change_clear)
IN_EVERY_GEOMETRY(special)
IN_EVERY_GEOMETRY(dirty_moves_to_the_frame)
IN_EVERY_GEOMETRY(copy_ranges)
IN_EVERY_GEOMETRY(copy_in_pieces)
IN_EVERY_GEOMETRY(release_ranges)
IN_EVERY_GEOMETRY(move_ranges)
IN_EVERY_GEOMETRY(move_within)
IN_EVERY_GEOMETRY(pinned_frames)
IN_EVERY_GEOMETRY(next_used)
IN_EVERY_GEOMETRY(books_at_random)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill_change_clear),
        cmocka_unit_test(test_special),
        cmocka_unit_test(test_dirty_moves_to_the_frame),
        cmocka_unit_test(test_copy_ranges),
        cmocka_unit_test(test_copy_in_pieces),
        cmocka_unit_test(test_release_ranges),
        cmocka_unit_test(test_move_ranges),
        cmocka_unit_test(test_move_within),
        cmocka_unit_test(test_pinned_frames),
        cmocka_unit_test(test_next_used),
        cmocka_unit_test(test_books_at_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
