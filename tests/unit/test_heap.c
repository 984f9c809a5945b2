/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * brk and mappings that grow down: results as Linux has them, and the whole list of mappings after
 * each call as a ruler.
 */
#include <errno.h>
#include <string.h>

#include "tests/support/map_bench.h"

enum { RULER_PAGES = 10 };

static void begin(struct map_bench *bench)
{
    map_bench_begin(bench, "modern", MMU_SOFT);
}

static void assert_ruler(struct map_bench *bench, const char *expected)
{
    map_bench_ruler(bench, RULER_PAGES, expected);
}

static int map(struct map_bench *bench, struct map_request request)
{
    va_t address = 0;

    return sys_mmap(bench->task, &request, &address);
}

static void test_brk(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    struct mm *mm = bench.task->mm;

    /* No program, no heap. */
    assert_int_equal(sys_brk(bench.task, map_bench_at(&bench, 1)), 0);
    mm->heap_start = mm->heap_end = map_bench_at(&bench, 1);
    assert_int_equal(sys_brk(bench.task, 0), map_bench_at(&bench, 1));
    assert_int_equal(sys_brk(bench.task, map_bench_at(&bench, 1) - 1), map_bench_at(&bench, 1));
    assert_int_equal(sys_brk(bench.task, mm->map_top + 1), map_bench_at(&bench, 1));
    assert_int_equal(sys_brk(bench.task, UINT64_MAX), map_bench_at(&bench, 1));
    assert_ruler(&bench, "..........");
    /* The value is kept as given, the page rounded up. */
    assert_int_equal(sys_brk(bench.task, map_bench_at(&bench, 1) + 5), map_bench_at(&bench, 1) + 5);
    assert_ruler(&bench, ".a........ a:rw-p");
    assert_int_equal(sys_brk(bench.task, map_bench_at(&bench, 4)), map_bench_at(&bench, 4));
    assert_ruler(&bench, ".aaa...... a:rw-p");
    for (unsigned page = 1; page < 4; page++)
        trap_write(&bench.trap, bench.task, map_bench_at(&bench, page), (char)('a' + page));
    assert_int_equal(sys_brk(bench.task, map_bench_at(&bench, 2) + 1), map_bench_at(&bench, 2) + 1);
    assert_ruler(&bench, ".aa....... a:rw-p*");
    assert_int_equal(sys_brk(bench.task, map_bench_at(&bench, 4)), map_bench_at(&bench, 4));
    trap_expect_loads(&bench.trap, map_bench_at(&bench, 1), 3, "P:bc.");
    /* Something in the way. */
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 6), 1, VMA_READ);
    assert_int_equal(sys_brk(bench.task, map_bench_at(&bench, 7)), map_bench_at(&bench, 4));
    assert_ruler(&bench, ".aaa..b... a:rw-p* b:r--p");
    /* A page is kept free. */
    assert_int_equal(sys_brk(bench.task, map_bench_at(&bench, 5) + 1), map_bench_at(&bench, 4));
    assert_int_equal(sys_brk(bench.task, map_bench_at(&bench, 5)), map_bench_at(&bench, 5));
    assert_ruler(&bench, ".aaaa.b... a:rw-p* b:r--p");
    /* What is gone cannot shrink. */
    trap_unmap(&bench.trap, bench.task, map_bench_at(&bench, 3), 2);
    assert_int_equal(sys_brk(bench.task, map_bench_at(&bench, 4)), map_bench_at(&bench, 5));
    assert_int_equal(sys_brk(bench.task, map_bench_at(&bench, 2)), map_bench_at(&bench, 2));
    assert_ruler(&bench, ".a....b... a:rw-p* b:r--p");
    assert_int_equal(sys_brk(bench.task, map_bench_at(&bench, 1)), map_bench_at(&bench, 1));
    assert_ruler(&bench, "......a... a:r--p");
    map_bench_end(&bench);
}

/* A mapping that grows down page by page, up to the gap that is kept below it. */
static void test_stack_growth(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    struct mm *mm = bench.task->mm;
    va_t stack = mm->user_end - PAGE_BYTES;
    va_t limit = mm->user_end - mm->stack_limit_bytes;

    trap_write(&bench.trap, bench.task, stack - 3 * PAGE_BYTES, 'a');
    trap_steps(&bench.trap, "stack-growth zero-fill");
    trap_write(&bench.trap, bench.task, limit, 'b');
    assert_int_equal(vma_find(mm, limit)->start, limit);
    trap_refuses(&bench.trap, bench.task, limit - 1, ACCESS_READ);
    struct map_request request = {.address = map_bench_at(&bench, 9),
                                  .bytes = PAGE_BYTES,
                                  .protection = RW,
                                  .flags = MAP_REQUEST_FIXED | MAP_REQUEST_GROWSDOWN};

    assert_int_equal(map(&bench, request), 0);
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 0), 1, VMA_READ);
    mm->stack_gap_bytes = 4 * PAGE_BYTES;
    assert_ruler(&bench, "a........b a:r--p b:rw-pv");
    trap_refuses(&bench.trap, bench.task, map_bench_at(&bench, 4), ACCESS_READ);
    trap_write(&bench.trap, bench.task, map_bench_at(&bench, 5), 'c');
    assert_ruler(&bench, "a....bbbbb a:r--p b:rw-p*v");
    trap_refuses(&bench.trap, bench.task, map_bench_at(&bench, 4), ACCESS_WRITE);
    map_bench_end(&bench);
}

/* Only private anonymous memory grows. */
static void test_growing_down_is_refused_to_objects(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    struct map_request request = {.address = map_bench_at(&bench, 5),
                                  .bytes = 2 * PAGE_BYTES,
                                  .protection = RW,
                                  .flags = MAP_REQUEST_FIXED | MAP_REQUEST_GROWSDOWN,
                                  .object = trap_file(&bench.trap, "ABCDE")};

    assert_int_equal(map(&bench, request), -EINVAL);
    request.object = NULL;
    request.flags |= MAP_REQUEST_SHARED;
    assert_int_equal(map(&bench, request), -EINVAL);
    assert_ruler(&bench, "..........");
    map_bench_end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brk),
        cmocka_unit_test(test_stack_growth),
        cmocka_unit_test(test_growing_down_is_refused_to_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
