/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of events, the counters and the ring of records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "pt/event.h"

#include <cmocka.h>

/* Every event has a name of its own, made of small letters, digits and hyphens, and a meaning. */
static void test_names(void **state)
{
    (void)state;
    for (unsigned event = 0; event < EVENT_COUNT; event++) {
        const char *name = event_names[event];

        assert_true(strlen(name) > 0);
        assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(name));
        assert_true(strlen(event_meanings[event]) > 0);
        assert_int_equal(event_find(name), event);
    }
    assert_int_equal(event_find("no-such-event"), EVENT_COUNT);
    assert_int_equal(event_find(""), EVENT_COUNT);
}

/* The steps of a fault, in the order in which they are looked for, stand at the head. */
static void test_order_of_steps(void **state)
{
    static const char *const steps[] = {
        "table-split", "table-take-back", "stack-growth", "zero-fill", "shm-fill",
        "file-fill",   "swap-in",         "cow-copy",     "cow-reuse", "mark-dirty",
        "maperr",      "accerr",          "bus",          "oom"};

    (void)state;
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        assert_int_equal(event_find(steps[i]), i);
    assert_int_equal(EVENT_FIRST_BAD, event_find("maperr"));
    assert_int_equal(EVENT_LAST_BAD, event_find("oom"));
}

static void test_count(void **state)
{
    struct event_log *log = calloc(1, sizeof(*log));
    uint64_t expected[EVENT_COUNT] = {0};

    (void)state;
    assert_non_null(log);
    for (unsigned event = 0; event < EVENT_COUNT; event++) {
        event_count(log, (enum event)event, event);
        event_count(log, (enum event)event, 1);
        expected[event] = event + 1;
    }
    assert_memory_equal(log->counts, expected, sizeof(expected));
    assert_int_equal(log->recorded, 0);
    free(log);
}

/* The ring holds the latest records, each at its sequence number. */
static void test_ring(void **state)
{
    const uint64_t total = 2 * (uint64_t)EVENT_RING_RECORDS + 5;
    struct event_log *log = calloc(1, sizeof(*log));

    (void)state;
    assert_non_null(log);
    for (uint64_t i = 0; i < total; i++)
        event_record(log, (enum event)(i % EVENT_COUNT), (uint32_t)i + 1, i << PAGE_SHIFT,
                     (pfn_t)i + 2);
    assert_int_equal(log->recorded, total);
    for (uint64_t i = total - EVENT_RING_RECORDS; i < total; i++) {
        const struct event_record *record = &log->ring[i % EVENT_RING_RECORDS];

        assert_int_equal(record->sequence, i);
        assert_int_equal(record->event, i % EVENT_COUNT);
        assert_int_equal(record->task_id, i + 1);
        assert_int_equal(record->va, i << PAGE_SHIFT);
        assert_int_equal(record->pfn, i + 2);
    }
    for (unsigned event = 0; event < EVENT_COUNT; event++)
        assert_int_equal(log->counts[event], total / EVENT_COUNT + (event < total % EVENT_COUNT));
    free(log);
}

/* What a crash prints: the latest records, oldest first, never more than there are. */
static void test_print_latest(void **state)
{
    struct event_log *log = calloc(1, sizeof(*log));
    char *text = NULL;
    size_t bytes;

    (void)state;
    assert_non_null(log);
    event_record(log, EVENT_FORK, 1, 0, PFN_NONE);
    event_record(log, EVENT_TABLE_SPLIT, 2, 0x600000, 7);
    event_record(log, EVENT_COW_COPY, 2, 0x600000, 8);
    for (unsigned most = 2; most <= 4; most += 2) {
        FILE *out = open_memstream(&text, &bytes);

        assert_non_null(out);
        event_print_latest(log, most, out);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(text, most == 2 ? "1 task 2 table-split 0x600000 frame 7\n"
                                              "2 task 2 cow-copy 0x600000 frame 8\n"
                                            : "0 task 1 fork 0x0\n"
                                              "1 task 2 table-split 0x600000 frame 7\n"
                                              "2 task 2 cow-copy 0x600000 frame 8\n");
        free(text);
    }
    free(log);
}

static void test_subtract(void **state)
{
    uint64_t before[EVENT_COUNT];
    uint64_t after[EVENT_COUNT];
    uint64_t difference[EVENT_COUNT];
    uint64_t expected[EVENT_COUNT];

    (void)state;
    for (unsigned event = 0; event < EVENT_COUNT; event++) {
        before[event] = 3 * (uint64_t)event;
        after[event] = 10 * (uint64_t)event + 1;
        expected[event] = 7 * (uint64_t)event + 1;
    }
    event_subtract(difference, after, before);
    assert_memory_equal(difference, expected, sizeof(expected));
    event_subtract(after, after, before);
    assert_memory_equal(after, expected, sizeof(expected));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),        cmocka_unit_test(test_order_of_steps),
        cmocka_unit_test(test_count),        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_print_latest), cmocka_unit_test(test_subtract),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
