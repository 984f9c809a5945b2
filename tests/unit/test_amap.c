/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of an amap's slots against a plain array of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pager/amap.h"
#include "pt/random.h"

enum { FIRST_PAGE = 1000, PAGES = 40, MOST_PAGES = 200, ROUNDS = 2000 };

/* The count of each page, as the pieces have it. */
static uint32_t count_of(const struct amap *amap, uint64_t page)
{
    uint64_t slot = page - amap->first_page;
    uint64_t at = 0;

    while (at + amap->pieces[at].length <= slot)
        at += amap->pieces[at].length;
    return amap->pieces[at].references;
}

static void test_growing_keeps_it_whole(void **state)
{
    struct event_log events = {0};
    struct amap amap;

    (void)state;
    amap_begin(&amap, FIRST_PAGE, 4);
    amap_add(&amap, FIRST_PAGE + 4, 6, &events);
    assert_int_equal(amap.slots, 10);
    assert_null(amap.pieces);
    amap_add(&amap, FIRST_PAGE - 5, 5, &events);
    assert_int_equal(amap.first_page, FIRST_PAGE - 5);
    assert_int_equal(amap.slots, 15);
    assert_null(amap.pieces);
    assert_int_equal(events.counts[EVENT_AMAP_SLOT], 11);
    assert_int_equal(events.counts[EVENT_AMAP_PIECE], 0);
    amap_end(&amap);
}

static unsigned pieces_of(const struct amap *amap)
{
    unsigned count = 0;

    for (uint64_t at = 0; at < amap->slots; at += amap->pieces[at].length)
        count++;
    return count;
}

/* The first piece of a range joins the one before it, and later ones do not. */
static void test_only_the_first_piece_joins(void **state)
{
    struct event_log events = {0};
    struct amap amap;

    (void)state;
    amap_begin(&amap, FIRST_PAGE, 10);
    amap_drop(&amap, FIRST_PAGE + 2, 2, &events);
    amap_drop(&amap, FIRST_PAGE + 4, 2, &events);
    assert_int_equal(pieces_of(&amap), 3);
    amap_add(&amap, FIRST_PAGE + 2, 4, &events);
    assert_int_equal(pieces_of(&amap), 2);
    amap_drop(&amap, FIRST_PAGE + 4, 4, &events);
    assert_int_equal(pieces_of(&amap), 4);
    assert_int_equal(amap.pieces[4].length, 2);
    assert_int_equal(amap.pieces[6].length, 2);
    assert_int_equal(amap.pieces[6].references, 0);
    amap_end(&amap);
}

/* The program of `forklab mmap`, with fewer mappings: what comes at `first` goes again but for a
 * page. */
static void one_round(struct amap *amap, uint64_t first, struct event_log *events)
{
    amap_add(amap, first, 1, events);
    for (uint64_t pages = 2; pages <= 16; pages *= 2)
        amap_add(amap, first + pages - 1, pages, events);
    for (uint64_t pages = 2; pages <= 16; pages *= 2)
        amap_drop(amap, first + pages - 1, pages, events);
    assert_true(amap_is_sound(amap));
}

/* Where a page more stays each time, the slot that is new at the end is one piece more. */
static void test_new_slots_stay_apart(void **state)
{
    struct event_log events = {0};
    struct amap amap;

    (void)state;
    amap_begin(&amap, FIRST_PAGE, 1);
    for (unsigned round = 0; round < 8; round++) {
        one_round(&amap, FIRST_PAGE + 1 + round, &events);
        assert_int_equal(pieces_of(&amap), 2 + round);
    }
    amap_end(&amap);
}

/* Where all goes again, there are no more pieces after many rounds than after one. */
static void test_what_comes_and_goes_leaves_nothing(void **state)
{
    struct event_log events = {0};
    struct amap amap;

    (void)state;
    amap_begin(&amap, FIRST_PAGE, 1);
    for (unsigned round = 0; round < 8; round++) {
        one_round(&amap, FIRST_PAGE + 1, &events);
        amap_drop(&amap, FIRST_PAGE + 1, 1, &events);
        assert_int_equal(amap.slots, 32);
        assert_int_equal(pieces_of(&amap), 3);
    }
    amap_end(&amap);
}

static void test_random_ranges(void **state)
{
    struct random random = random_seeded(3);
    struct event_log events = {0};
    uint32_t counts[MOST_PAGES] = {0};
    struct amap amap;

    (void)state;
    amap_begin(&amap, FIRST_PAGE, PAGES);
    amap_cut(&amap, 1);
    for (unsigned page = 0; page < PAGES; page++)
        counts[page] = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t first = random_below(&random, amap.slots + 1);
        uint64_t pages = 1 + random_below(&random, 10);
        bool adds = random_below(&random, 2) == 0 && first + pages <= MOST_PAGES;
        uint32_t least = UINT32_MAX;

        for (uint64_t i = first; i < first + pages && i < amap.slots; i++)
            least = counts[i] < least ? counts[i] : least;
        if (!adds && (first + pages > amap.slots || least == 0))
            continue;
        if (adds)
            amap_add(&amap, FIRST_PAGE + first, pages, &events);
        else
            amap_drop(&amap, FIRST_PAGE + first, pages, &events);
        for (uint64_t i = first; i < first + pages; i++)
            counts[i] += adds ? 1 : UINT32_MAX;
        assert_true(amap_is_sound(&amap));
        for (uint64_t i = 0; i < amap.slots; i++)
            assert_int_equal(count_of(&amap, FIRST_PAGE + i), counts[i]);
    }
    assert_false(amap.given_up);
    amap_end(&amap);
}

/* What cannot be is not counted any more, and does no harm. */
static void test_wild_ranges(void **state)
{
    struct event_log events = {0};
    struct amap amap;

    (void)state;
    amap_begin(&amap, FIRST_PAGE, PAGES);
    amap_drop(&amap, FIRST_PAGE + PAGES, 1, &events);
    assert_true(amap.given_up);
    amap_begin(&amap, FIRST_PAGE, PAGES);
    amap_add(&amap, 5, 1, &events);
    assert_true(amap.given_up);
    amap_add(&amap, FIRST_PAGE, 1, &events);
    amap_begin(&amap, 0, UINT64_MAX);
    assert_true(amap.given_up);
    amap_end(&amap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing_keeps_it_whole),
        cmocka_unit_test(test_only_the_first_piece_joins),
        cmocka_unit_test(test_new_slots_stay_apart),
        cmocka_unit_test(test_what_comes_and_goes_leaves_nothing),
        cmocka_unit_test(test_random_ranges),
        cmocka_unit_test(test_wild_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
