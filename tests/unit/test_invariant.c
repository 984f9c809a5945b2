/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every invariant fails on a state that is broken on purpose, and says where; each damage is undone
 * afterwards, and then all hold. A damage names the predicate that must fail, and the text of it;
 * those before that predicate in the list must still hold.
 */
#include <stdio.h>
#include <string.h>

#include "pt/invariant.h"
#include "tests/support/ram_fixture.h"

enum { FRAMES = 64 };

/*
 * Two trees that share a table: anonymous page, the zero frame, swap, an object's page; and more.
 */
struct scene {
    struct ram_fixture fixture;
    struct pt_tree parent;
    struct pt_tree child;
    struct table *shared; /* of both, for the first span */
    struct table *own;    /* the parent's, for the second */
    struct table *upper;  /* the parent's, above both */
    pfn_t anon;           /* in the shared table, read-only */
    pfn_t written;        /* in the parent's own, writable */
    pfn_t shm;
    pfn_t idle; /* a free frame that was in use */
};

static void scene_begin(struct scene *scene)
{
    const va_t span = geometry_span_bytes(&geometry_tiny);
    struct ram_fixture *fixture = &scene->fixture;
    struct pt_leaf leaf;

    fixture_init(fixture, &geometry_tiny, FRAMES);
    fixture_tree(fixture, &scene->parent);
    fixture_tree(fixture, &scene->child);
    scene->anon = fixture_fill(fixture, &scene->parent, 0, FRAME_ANON, 1, 0);
    fixture_map(fixture, &scene->parent, PAGE_BYTES, entry_make(fixture->ram.zero_pfn, 0));
    fixture_map(fixture, &scene->parent, 2 * PAGE_BYTES, entry_make_swap(0, 5));
    assert_int_equal(fixture_share(&scene->parent, 0, &scene->child), 0);
    assert_int_equal(fixture_write(&scene->parent, span, 2), 0);
    scene->written = entry_pfn(pt_entry(&scene->parent, span));
    scene->shm = fixture_fill(fixture, &scene->parent, span + PAGE_BYTES, FRAME_SHM, 3, 0);
    fixture_hold(fixture, scene->shm);
    scene->idle = fixture_frame(fixture, FRAME_ANON, 4);
    frame_free(&fixture->ram, scene->idle);
    assert_true(pt_lookup(&scene->parent, 0, &leaf));
    scene->shared = table_of_frame(&fixture->ram, leaf.table->pfn);
    scene->upper = table_of_frame(&fixture->ram, leaf.parent->pfn);
    scene->own = fixture_own_table(&scene->parent, span);
    fixture_check(fixture);
}

static void scene_end(struct scene *scene)
{
    fixture_release(&scene->fixture, scene->shm);
    tree_destroy(&scene->child);
    tree_destroy(&scene->parent);
    fixture_destroy(&scene->fixture);
}

/* The predicate of that name is the first that fails, with this text. */
static void assert_fails(struct scene *scene, const char *name, const char *reason)
{
    const struct ram *ram = &scene->fixture.ram;
    char expected[256];
    char why[256];

    snprintf(expected, sizeof(expected), "%s: %s", name, reason);
    assert_false(pt_invariants_hold(ram, scene->fixture.outside, why, sizeof(why)));
    assert_string_equal(why, expected);
    /* By itself too, and with no room for the reason. */
    for (const struct pt_invariant *each = pt_invariants; each->name != NULL; each++) {
        if (strcmp(each->name, name) == 0) {
            assert_false(each->holds(ram, scene->fixture.outside, why, sizeof(why)));
            assert_string_equal(why, reason);
            assert_false(each->holds(ram, scene->fixture.outside, NULL, 0));
            return;
        }
    }
    fail_msg("no invariant is called %s", name);
}

/* Stores a value, expects a failure, and puts the old value back. */
#define BREAK(place, value, name, ...)                                                             \
    do {                                                                                           \
        char reason[256];                                                                          \
        __typeof__(place) kept = (place);                                                          \
                                                                                                   \
        (place) = (__typeof__(place))(value);                                                      \
        snprintf(reason, sizeof(reason), __VA_ARGS__);                                             \
        assert_fails(&scene, name, reason);                                                        \
        (place) = kept;                                                                            \
        fixture_check(&scene.fixture);                                                             \
    } while (0)

static entry_t *entry_at(struct scene *scene, const struct table *table, unsigned slot)
{
    return &((entry_t *)(void *)frame_data(&scene->fixture.ram, table->pfn))[slot];
}

static void test_frames_conserved(void **state)
{
    static const char name[] = "frames-conserved";
    struct scene scene;
    struct ram *ram = &scene.fixture.ram;

    (void)state;
    scene_begin(&scene);
    struct frame *frames = ram->frames;
    pfn_t pooled = ram->leaf_pool.head;

    BREAK(ram->watermark, FRAMES, name, "watermark %d, table floor %u of 64 frames", FRAMES,
          ram->table_floor);
    BREAK(ram->table_floor, FRAMES + 1, name, "watermark %u, table floor 65 of 64 frames",
          ram->watermark);
    BREAK(frames[scene.anon].kind, FRAME_KINDS, name, "frame %u is of unknown kind 7", scene.anon);
    BREAK(frames[scene.anon].pins, 2, name, "frame %u has 2 pins and count 1", scene.anon);
    BREAK(frames[scene.idle].count, 1, name, "frame %u is free or a table and has count 1",
          scene.idle);
    BREAK(frames[scene.own->pfn].count, 1, name, "frame %u is free or a table and has count 1",
          scene.own->pfn);
    BREAK(frames[scene.anon].kind, FRAME_ZERO, name, "frame %u: the zero frame is 0", scene.anon);
    BREAK(frames[0].kind, FRAME_ANON, name, "frame 0: the zero frame is 0");
    BREAK(frames[scene.own->pfn].table, NULL, name,
          "frame %u is a table's and has no header of its own", scene.own->pfn);
    BREAK(frames[pooled].table, scene.own, name,
          "frame %u is a table's and has no header of its own", pooled);
    BREAK(frames[scene.idle].kind, FRAME_ANON, name, "frame %u does not belong into the free list",
          scene.idle);
    BREAK(ram->free.head, 40, name, "frame 40 does not belong into the free list");
    BREAK(ram->leaf_pool.head, ram->upper_pool.head, name,
          "frame %u does not belong into the pool of leaf tables", ram->upper_pool.head);
    BREAK(ram->upper_pool.head, pooled, name,
          "frame %u does not belong into the pool of upper tables", pooled);
    BREAK(frames[pooled].previous, 3, name,
          "pool of leaf tables: frame %u says that 3 is before it, not 4294967295", pooled);
    BREAK(frames[scene.idle].next, scene.idle, name,
          "free list: of 1 frames 1 were found, the last is %u, not %u", scene.idle, scene.idle);
    BREAK(ram->free.tail, PFN_NONE, name,
          "free list: of 1 frames 1 were found, the last is %u, not 4294967295", scene.idle);
    BREAK(ram->free.count, 2, name, "free list: of 2 frames 1 were found, the last is %u, not %u",
          scene.idle, scene.idle);
    BREAK(frames[scene.anon].kind, FRAME_FREE, name, "frame %u is free or a table and has count 1",
          scene.anon);
    scene_end(&scene);
}

/* A frame that is in no list, though it says that it is free: lost. */
static void test_lost_frames(void **state)
{
    static const char name[] = "frames-conserved";
    struct scene scene;
    struct ram *ram = &scene.fixture.ram;
    struct ram kept;

    (void)state;
    scene_begin(&scene);
    kept = *ram;
    ram->free = (struct frame_list){.head = PFN_NONE, .tail = PFN_NONE};
    assert_fails(&scene, name, "1 frames are free, 0 of them in the list");
    *ram = kept;
    char reason[128];

    ram->leaf_pool = (struct frame_list){.head = PFN_NONE, .tail = PFN_NONE};
    snprintf(reason, sizeof(reason), "%u frames are pooled, 0 + %u of them in the pools",
             kept.leaf_pool.count + kept.upper_pool.count, kept.upper_pool.count);
    assert_fails(&scene, name, reason);
    *ram = kept;
    scene_end(&scene);
}

static void test_table_books(void **state)
{
    static const char name[] = "table-books";
    struct scene scene;
    struct ram *ram = &scene.fixture.ram;

    (void)state;
    scene_begin(&scene);
    pfn_t own = scene.own->pfn;
    pfn_t shared = scene.shared->pfn;

    BREAK(*entry_at(&scene, table_of_frame(ram, ram->leaf_pool.tail), 511), 1, name,
          "frame %u is in a pool and not all zeros", ram->leaf_pool.tail);
    BREAK(scene.own->low, 1, name, "table %u slot 0 is not empty and not within [1, 2)", own);
    BREAK(scene.own->high, 1, name, "table %u slot 1 is not empty and not within [0, 1)", own);
    BREAK(*entry_at(&scene, scene.own, 3), entry_make_guard(), name,
          "table %u slot 3 is not empty and not within [0, 2)", own);
    BREAK(scene.own->present[FRAME_SHM], 0, name, "table %u: 0 entries of kind 5, recounted 1",
          own);
    BREAK(scene.shared->present[FRAME_ZERO], 2, name, "table %u: 2 entries of kind 3, recounted 1",
          shared);
    BREAK(scene.shared->special, 2, name, "table %u: 2 special, 1 swapped, recounted 1 and 1",
          shared);
    BREAK(scene.shared->swapped, 0, name, "table %u: 1 special, 0 swapped, recounted 1 and 1",
          shared);
    BREAK(scene.upper->present[FRAME_TABLE], 1, name, "table %u: 1 entries of kind 2, recounted 2",
          scene.upper->pfn);
    BREAK(*entry_at(&scene, scene.own, 0), entry_make(40, 0), name,
          "table %u slot 0 maps frame 40, which is not in use as memory", own);
    BREAK(*entry_at(&scene, scene.own, 0), entry_make(PFN_NONE, 0), name,
          "table %u slot 0 maps frame 4294967295, which is not in use as memory", own);
    BREAK(*entry_at(&scene, scene.own, 0), entry_make(scene.idle, 0), name,
          "table %u slot 0 maps frame %u, which is not in use as memory", own, scene.idle);
    BREAK(*entry_at(&scene, scene.own, 0), entry_make(own, 0), name,
          "table %u slot 0 maps frame %u, which is not in use as memory", own, own);
    BREAK(*entry_at(&scene, scene.shared, 2), ENTRY_SWAP | ENTRY_GUARD, name,
          "table %u slot 2 is neither swap nor guard nor empty", shared);
    BREAK(*entry_at(&scene, scene.shared, 2), ENTRY_WRITE, name,
          "table %u slot 2 is neither swap nor guard nor empty", shared);
    BREAK(*entry_at(&scene, scene.upper, 1), entry_make(scene.anon, 0), name,
          "table %u slot 1 points at frame %u, no table of level 0", scene.upper->pfn, scene.anon);
    BREAK(*entry_at(&scene, scene.upper, 1), entry_make_swap(0, 5), name,
          "table %u slot 1 points at frame 5, no table of level 0", scene.upper->pfn);
    BREAK(*entry_at(&scene, scene.upper, 1), entry_make(scene.upper->pfn, 0), name,
          "table %u slot 1 points at frame %u, no table of level 0", scene.upper->pfn,
          scene.upper->pfn);
    BREAK(scene.upper->upper->used[0], 1, name,
          "table %u slot 1 is in use, and marked as if it were not", scene.upper->pfn);
    BREAK(scene.upper->upper->used[0], 7, name,
          "table %u slot 2 is empty, and marked as if it were not", scene.upper->pfn);
    scene_end(&scene);
}

static void test_share_counts(void **state)
{
    static const char name[] = "share-counts";
    struct scene scene;

    (void)state;
    scene_begin(&scene);
    struct table *shared = scene.shared;
    struct table *own = scene.own;
    struct table *root = scene.parent.root;
    pfn_t first = shared->first_parent;
    pfn_t last = shared->last_parent;
    struct table_link *link = &scene.upper->upper->links[0];

    assert_int_equal(first, scene.upper->pfn);
    BREAK(shared->share_count, 1, name,
          "table %u: share count 1, 2 attachments, 2 entries above, last %u", shared->pfn, last);
    BREAK(shared->share_count, 3, name,
          "table %u: share count 3, 2 attachments, 2 entries above, last %u", shared->pfn, last);
    BREAK(shared->last_parent, first, name,
          "table %u: share count 2, 2 attachments, 2 entries above, last %u", shared->pfn, first);
    BREAK(link->next_parent, PFN_NONE, name,
          "table %u: share count 2, 1 attachments, 2 entries above, last %u", shared->pfn, last);
    BREAK(shared->first_parent, last, name,
          "table %u: parent %u says that %u is before it, not 4294967295", shared->pfn, last,
          first);
    BREAK(link->previous_parent, last, name,
          "table %u: parent %u says that %u is before it, not 4294967295", shared->pfn, first,
          last);
    BREAK(own->first_parent, last, name,
          "table %u is attached to table %u, whose slot 1 does not point at it", own->pfn, last);
    BREAK(own->first_parent, scene.anon, name,
          "table %u is attached to frame %u slot 1, no table of level 1", own->pfn, scene.anon);
    BREAK(own->slot, 4, name, "table %u is attached to frame %u slot 4, no table of level 1",
          own->pfn, first);
    BREAK(*entry_at(&scene, scene.upper, 1), entry_make(shared->pfn, 0), name,
          "table %u: share count 2, 2 attachments, 3 entries above, last %u", shared->pfn, last);
    BREAK(root->share_count, 2, name, "root table %u: share count 2, level 2, parent 4294967295",
          root->pfn);
    BREAK(root->first_parent, first, name, "root table %u: share count 1, level 2, parent %u",
          root->pfn, first);
    BREAK(root->owner, &scene.child, name,
          "root table %u is not its tree's, or an entry points at it", root->pfn);
    scene_end(&scene);
}

/* A table that was taken and hangs nowhere is lost. */
static void test_lost_table(void **state)
{
    struct scene scene;
    char reason[128];

    (void)state;
    scene_begin(&scene);
    fixture_reserve(&scene.fixture, (struct ram_need){.leaf_tables = 1});
    struct table *lost = table_take(&scene.fixture.ram, 0);

    snprintf(reason, sizeof(reason),
             "table %u: share count 0, 0 attachments, 0 entries above, last 4294967295", lost->pfn);
    assert_fails(&scene, "share-counts", reason);
    table_give(&scene.fixture.ram, lost);
    scene_end(&scene);
}

static void test_tree_counts(void **state)
{
    static const char name[] = "tree-counts";
    struct scene scene;

    (void)state;
    scene_begin(&scene);
    BREAK(scene.parent.leaf_tables, 1, name,
          "tree of root table %u: 1 leaf and 2 upper tables, recounted 2, 2",
          scene.parent.root->pfn);
    BREAK(scene.child.leaf_tables, 2, name,
          "tree of root table %u: 2 leaf and 2 upper tables, recounted 1, 2",
          scene.child.root->pfn);
    BREAK(scene.child.upper_tables, 1, name,
          "tree of root table %u: 1 leaf and 1 upper tables, recounted 1, 2",
          scene.child.root->pfn);
    scene_end(&scene);
}

static void test_frame_counts(void **state)
{
    static const char name[] = "frame-counts";
    struct scene scene;

    (void)state;
    scene_begin(&scene);
    struct frame *frames = scene.fixture.ram.frames;
    uint32_t *outside = scene.fixture.outside;

    BREAK(frames[scene.anon].count, 2, name, "frame %u: count 2, but 1 entries and 0 from outside",
          scene.anon);
    BREAK(frames[scene.anon].count, 0, name, "frame %u: count 0, but 1 entries and 0 from outside",
          scene.anon);
    BREAK(frames[scene.shm].count, 1, name, "frame %u: count 1, but 1 entries and 1 from outside",
          scene.shm);
    BREAK(outside[scene.shm], 0, name, "frame %u: count 2, but 1 entries and 0 from outside",
          scene.shm);
    BREAK(outside[scene.idle], 1, name, "frame %u is no data and is held from outside", scene.idle);
    BREAK(outside[0], 1, name, "frame 0 is no data and is held from outside");
    pfn_t lost = fixture_frame(&scene.fixture, FRAME_FILE, 1);
    char reason[64];

    snprintf(reason, sizeof(reason), "frame %u is in use and nothing holds it", lost);
    assert_fails(&scene, name, reason);
    frame_free(&scene.fixture.ram, lost);
    scene_end(&scene);
}

static void test_writable_alone(void **state)
{
    static const char name[] = "writable-alone";
    struct scene scene;
    char reason[96];

    (void)state;
    scene_begin(&scene);
    fixture_hold(&scene.fixture, scene.written);
    snprintf(reason, sizeof(reason),
             "table %u slot 0 may write frame %u, which has count 2, 0 pins", scene.own->pfn,
             scene.written);
    assert_fails(&scene, name, reason);
    fixture_release(&scene.fixture, scene.written);
    /* A pin is no such reference; an object's frame may be written by many. */
    fixture_pin(&scene.fixture, scene.written);
    fixture_check(&scene.fixture);
    fixture_unpin(&scene.fixture, scene.written);
    *entry_at(&scene, scene.own, 1) |= ENTRY_WRITE;
    fixture_check(&scene.fixture);
    scene_end(&scene);
}

static void test_pins_unshared(void **state)
{
    struct scene scene;
    char reason[96];

    (void)state;
    scene_begin(&scene);
    fixture_pin(&scene.fixture, scene.anon);
    snprintf(reason, sizeof(reason), "table %u slot 0: frame %u has 1 pins, the table 2 sharers",
             scene.shared->pfn, scene.anon);
    assert_fails(&scene, "pins-unshared", reason);
    fixture_unpin(&scene.fixture, scene.anon);
    /* An object's frame may be pinned anywhere. */
    fixture_pin(&scene.fixture, scene.shm);
    fixture_check(&scene.fixture);
    fixture_unpin(&scene.fixture, scene.shm);
    scene_end(&scene);
}

static void test_zero_frame(void **state)
{
    static const char name[] = "zero-frame";
    struct scene scene;

    (void)state;
    scene_begin(&scene);
    BREAK(*frame_data(&scene.fixture.ram, 0), 1, name, "frame 0 is not all zeros");
    BREAK(frame_data(&scene.fixture.ram, 0)[4095], 1, name, "frame 0 is not all zeros");
    BREAK(scene.fixture.ram.frames[0].count, 1, name, "frame 0 is counted");
    BREAK(*entry_at(&scene, scene.shared, 1), entry_make(0, ENTRY_WRITE), name,
          "table %u slot 1 may write the zero frame", scene.shared->pfn);
    scene_end(&scene);
}

static void test_shared_read_only(void **state)
{
    struct scene scene;
    char reason[96];

    (void)state;
    scene_begin(&scene);
    struct pt_tree *trees[] = {&scene.parent, &scene.child};

    for (int i = 0; i < 2; i++) {
        struct pt_leaf leaf;

        assert_true(pt_lookup(trees[i], 0, &leaf));
        tree_set_writable(trees[i], leaf.parent, 0, true);
        snprintf(reason, sizeof(reason),
                 "table %u slot 0 lets writes through to table %u, shared by 2", leaf.parent->pfn,
                 scene.shared->pfn);
        assert_fails(&scene, "shared-read-only", reason);
        tree_set_writable(trees[i], leaf.parent, 0, false);
    }
    /* The zero frame alone is reason enough; without it, nothing private is left. */
    table_release(&scene.fixture.ram, scene.shared, 0, 1);
    tree_set_writable(&scene.parent, scene.upper, 0, true);
    snprintf(reason, sizeof(reason), "table %u slot 0 lets writes through to table %u, shared by 2",
             scene.upper->pfn, scene.shared->pfn);
    assert_fails(&scene, "shared-read-only", reason);
    table_release(&scene.fixture.ram, scene.shared, 1, 2);
    fixture_check(&scene.fixture);
    scene_end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_conserved), cmocka_unit_test(test_lost_frames),
        cmocka_unit_test(test_table_books),      cmocka_unit_test(test_share_counts),
        cmocka_unit_test(test_lost_table),       cmocka_unit_test(test_tree_counts),
        cmocka_unit_test(test_frame_counts),     cmocka_unit_test(test_writable_alone),
        cmocka_unit_test(test_pins_unshared),    cmocka_unit_test(test_zero_frame),
        cmocka_unit_test(test_shared_read_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
