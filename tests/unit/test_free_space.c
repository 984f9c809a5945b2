/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a mapping without an address goes: up from where the last search ended, or down. */
#include <errno.h>

#include "tests/support/trap_fixture.h"

/* The space for mappings of the tiny geometry, in pages: 16 to 54, 39 of them. */
enum { BASE_PAGE = 16, TOP_PAGE = 55 };

struct bench {
    struct trap trap;
    struct task *task;
};

static void begin(struct bench *bench, const char *kernel)
{
    trap_open(&bench->trap, kernel_find(kernel), &geometry_tiny, MMU_SOFT, NULL);
    bench->task = trap_first(&bench->trap);
    assert_int_equal(bench->task->mm->map_base, BASE_PAGE * PAGE_BYTES);
    assert_int_equal(bench->task->mm->map_top, TOP_PAGE * PAGE_BYTES);
}

/* Maps pages where the kernel likes, each time with other rights than the last; the first page. */
static int place(struct bench *bench, uint64_t pages)
{
    static bool executable;
    struct map_request request = {.bytes = pages * PAGE_BYTES,
                                  .protection = executable ? VMA_EXEC : VMA_READ};
    va_t address = 0;
    int error = sys_mmap(bench->task, &request, &address);

    executable = !executable;
    trap_check(&bench->trap);
    return error != 0 ? error : (int)(address / PAGE_BYTES);
}

static void unmap(struct bench *bench, unsigned page, unsigned pages)
{
    trap_unmap(&bench->trap, bench->task, page * PAGE_BYTES, pages);
}

static void test_up(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "2.5.41");
    assert_int_equal(place(&bench, 4), 16);
    assert_int_equal(place(&bench, 4), 20);
    assert_int_equal(place(&bench, 2), 24);
    unmap(&bench, 20, 4);
    /* The search goes on from where the last one ended. */
    assert_int_equal(place(&bench, 2), 26);
    trap_map(&bench.trap, bench.task, 30 * PAGE_BYTES, 3, RW);
    assert_int_equal(place(&bench, 3), 33);
    assert_int_equal(place(&bench, 18), 36);
    /* Nothing above: from the base once more. */
    assert_int_equal(place(&bench, 3), 20);
    assert_int_equal(place(&bench, 2), 28);
    assert_int_equal(place(&bench, 1), 54);
    assert_int_equal(place(&bench, 1), 23);
    assert_int_equal(place(&bench, 1), -ENOMEM);
    trap_close(&bench.trap);
}

static void test_down(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "modern");
    assert_int_equal(place(&bench, 4), 51);
    assert_int_equal(place(&bench, 4), 47);
    assert_int_equal(place(&bench, 2), 45);
    unmap(&bench, 47, 4);
    /* The highest gap that is large enough. */
    assert_int_equal(place(&bench, 5), 40);
    assert_int_equal(place(&bench, 3), 48);
    assert_int_equal(place(&bench, 1), 47);
    trap_map(&bench.trap, bench.task, 20 * PAGE_BYTES, 2, RW);
    assert_int_equal(place(&bench, 18), 22);
    assert_int_equal(place(&bench, 5), -ENOMEM);
    assert_int_equal(place(&bench, 4), 16);
    assert_int_equal(place(&bench, 1), -ENOMEM);
    trap_close(&bench.trap);
}

/* A mapping over the top, and one below the base, are passed by. */
static void test_what_lies_outside(void **state)
{
    static const char *const names[] = {"2.5.41", "modern"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct bench bench;

        begin(&bench, names[i]);
        trap_map(&bench.trap, bench.task, (TOP_PAGE - 1) * PAGE_BYTES, 2, RW);
        trap_map(&bench.trap, bench.task, (BASE_PAGE - 1) * PAGE_BYTES, 2, RW);
        trap_map(&bench.trap, bench.task, PAGE_BYTES, 1, RW);
        assert_int_equal(place(&bench, 38), -ENOMEM);
        assert_int_equal(place(&bench, 37), BASE_PAGE + 1);
        assert_int_equal(place(&bench, 1), -ENOMEM);
        trap_close(&bench.trap);
    }
}

static void test_exact_fits(void **state)
{
    static const char *const names[] = {"2.5.41", "modern"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct bench bench;

        begin(&bench, names[i]);
        assert_int_equal(place(&bench, 40), -ENOMEM);
        assert_int_equal(place(&bench, 39), BASE_PAGE);
        assert_int_equal(place(&bench, 1), -ENOMEM);
        unmap(&bench, 30, 1);
        assert_int_equal(place(&bench, 2), -ENOMEM);
        assert_int_equal(place(&bench, 1), 30);
        trap_close(&bench.trap);
    }
}

/* Below what grows down a gap is kept, which hints must keep, too, but no fixed address. */
static void test_guard_gap(void **state)
{
    struct bench bench;
    struct map_request stack = {.address = 50 * PAGE_BYTES,
                                .bytes = PAGE_BYTES,
                                .protection = RW,
                                .flags = MAP_REQUEST_FIXED | MAP_REQUEST_GROWSDOWN};
    struct map_request hint = {.address = 49 * PAGE_BYTES, .bytes = PAGE_BYTES};
    va_t address;

    (void)state;
    begin(&bench, "modern");
    assert_int_equal(bench.task->mm->stack_gap_bytes, PAGE_BYTES);
    assert_int_equal(sys_mmap(bench.task, &stack, &address), 0);
    assert_int_equal(place(&bench, 4), 51);
    assert_int_equal(place(&bench, 2), 47);
    unmap(&bench, 47, 2);
    assert_int_equal(sys_mmap(bench.task, &hint, &address), 0);
    assert_int_equal(address, 48 * PAGE_BYTES);
    hint.address = 47 * PAGE_BYTES;
    assert_int_equal(sys_mmap(bench.task, &hint, &address), 0);
    assert_int_equal(address, 47 * PAGE_BYTES);
    trap_map(&bench.trap, bench.task, 49 * PAGE_BYTES, 1, RW);
    /* One above the top reaches below it. */
    unmap(&bench, 51, 4);
    stack.address = 55 * PAGE_BYTES;
    assert_int_equal(sys_mmap(bench.task, &stack, &address), 0);
    assert_int_equal(place(&bench, 3), 51);
    assert_int_equal(place(&bench, 1), 46);
    trap_close(&bench.trap);
}

/* The lowest range that fits, each time from the base. */
static void test_first_fit(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "2.4.9");
    assert_int_equal(place(&bench, 4), 16);
    assert_int_equal(place(&bench, 2), 20);
    assert_int_equal(place(&bench, 1), 22);
    unmap(&bench, 16, 4);
    assert_int_equal(place(&bench, 3), 16);
    assert_int_equal(place(&bench, 2), 23);
    assert_int_equal(place(&bench, 1), 19);
    trap_close(&bench.trap);
}

/*
 * Below the last one, while that fits. What was unmapped above it raises the cache. A hole that was
 * passed by from the top is tried again by what is no larger.
 */
static void test_cached_down(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "2.6.28");
    assert_int_equal(place(&bench, 4), 51);
    assert_int_equal(place(&bench, 2), 49);
    unmap(&bench, 51, 2);
    assert_int_equal(place(&bench, 1), 52); /* the cache was raised to what is mapped at 53 */
    assert_int_equal(place(&bench, 3), 46); /* one page is left up there: too few */
    assert_int_equal(place(&bench, 1), 45); /* below the last one, not in the hole */
    unmap(&bench, 53, 2);
    assert_int_equal(place(&bench, 2), 53);
    assert_int_equal(place(&bench, 29), 16);
    assert_int_equal(place(&bench, 1), 51); /* nothing is left below: from the top */
    assert_int_equal(place(&bench, 1), 15); /* the base is a floor only to searches upwards */
    trap_close(&bench.trap);
}

static va_t map_anywhere(struct bench *bench, struct map_request request)
{
    va_t address = 0;

    assert_int_equal(sys_mmap(bench->task, &request, &address), 0);
    trap_check(&bench->trap);
    return address;
}

/* Private anonymous memory of whole huge pages lies at a multiple of them. */
static void test_huge_alignment(void **state)
{
    static const uint64_t huge_bytes = (uint64_t)2 << 20;
    struct bench bench;

    (void)state;
    trap_open(&bench.trap, kernel_find("modern"), &geometry_x86_64, MMU_SOFT, NULL);
    bench.task = trap_first(&bench.trap);
    va_t top = bench.task->mm->map_top;
    va_t below = round_down(top - PAGE_BYTES, huge_bytes);
    struct map_request page = {.bytes = PAGE_BYTES, .protection = VMA_READ};
    struct map_request huge = {.bytes = huge_bytes, .protection = VMA_WRITE};
    struct map_request shared = {
        .bytes = huge_bytes, .protection = VMA_READ, .flags = MAP_REQUEST_SHARED};
    struct map_request more = {.bytes = huge_bytes + PAGE_BYTES, .protection = VMA_EXEC};

    assert_int_equal(map_anywhere(&bench, page), top - PAGE_BYTES);
    assert_int_equal(map_anywhere(&bench, huge), below - huge_bytes);
    assert_int_equal(map_anywhere(&bench, shared), below - 2 * huge_bytes);
    assert_int_equal(map_anywhere(&bench, more), below - 3 * huge_bytes - PAGE_BYTES);
    /* Not with a hint, good or bad. */
    huge.address = below - 8 * huge_bytes - PAGE_BYTES;
    assert_int_equal(map_anywhere(&bench, huge), huge.address);
    assert_int_equal(map_anywhere(&bench, huge), below - 4 * huge_bytes - PAGE_BYTES);
    trap_close(&bench.trap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_up),
        cmocka_unit_test(test_first_fit),
        cmocka_unit_test(test_cached_down),
        cmocka_unit_test(test_down),
        cmocka_unit_test(test_what_lies_outside),
        cmocka_unit_test(test_exact_fits),
        cmocka_unit_test(test_guard_gap),
        cmocka_unit_test(test_huge_alignment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
