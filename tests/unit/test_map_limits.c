/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits: how many VMAs an address space may have, how much it may map, and how much of that may be
 * private and writable. Which calls they bind, and what a refused call leaves behind, was seen on
 * Linux 6.18.
 */
#include <errno.h>
#include <string.h>

#include "pager/abi_call.h"
#include "pager/advise.h"
#include "pager/remap.h"
#include "tests/support/map_bench.h"

enum { RULER_PAGES = 12, ADVICE_RANDOM = ABI_MADV_RANDOM };

static void begin(struct map_bench *bench, const char *kernel)
{
    map_bench_begin(bench, kernel, MMU_SOFT);
}

static void assert_ruler(struct map_bench *bench, const char *expected)
{
    map_bench_ruler(bench, RULER_PAGES, expected);
}

static int map_as(struct map_bench *bench, unsigned page, unsigned pages, uint32_t protection,
                  uint32_t flags)
{
    struct map_request request = {.address = map_bench_at(bench, page),
                                  .bytes = pages * PAGE_BYTES,
                                  .protection = protection,
                                  .flags = MAP_REQUEST_FIXED | flags};
    va_t address;

    return sys_mmap(bench->task, &request, &address);
}

static int map(struct map_bench *bench, unsigned page, unsigned pages)
{
    return map_as(bench, page, pages, RW, 0);
}

static int protect(struct map_bench *bench, unsigned page, unsigned pages, uint32_t protection)
{
    return sys_mprotect(bench->task, map_bench_at(bench, page), pages * PAGE_BYTES, protection);
}

static int unmap(struct map_bench *bench, unsigned page, unsigned pages)
{
    return sys_munmap(bench->task, map_bench_at(bench, page), pages * PAGE_BYTES);
}

/* --- VMAs --- */

/* The limit is where the address space stands, and so many VMAs more. */
static void limit_vmas(struct map_bench *bench, uint32_t more)
{
    bench->task->mm->most_vmas = bench->task->mm->index.count + more;
}

static void test_usual_limits(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench, "modern");
    assert_int_equal(bench.task->mm->most_vmas, 65530);
    trap_close(&bench.trap);
    begin(&bench, "2.5.41");
    assert_int_equal(bench.task->mm->most_vmas, 65536);
    trap_close(&bench.trap);
}

/* What cuts is refused at the limit; what joins, or gives a part to a neighbour, is not. */
static void test_cuts_at_the_limit(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench, "modern");
    assert_int_equal(map(&bench, 0, 10), 0);
    limit_vmas(&bench, 1);
    assert_int_equal(protect(&bench, 0, 1, VMA_READ), 0);
    assert_int_equal(protect(&bench, 4, 1, VMA_READ), -ENOMEM);
    assert_int_equal(protect(&bench, 9, 1, VMA_READ), -ENOMEM);
    assert_int_equal(unmap(&bench, 4, 1), -ENOMEM);
    assert_int_equal(map_as(&bench, 4, 1, VMA_READ, 0), -ENOMEM);
    assert_int_equal(map(&bench, 4, 1), -ENOMEM);
    assert_int_equal(sys_mlock(bench.task, map_bench_at(&bench, 4), PAGE_BYTES), -ENOMEM);
    assert_int_equal(sys_madvise(bench.task, map_bench_at(&bench, 4), PAGE_BYTES, ADVICE_RANDOM),
                     -EAGAIN);
    assert_ruler(&bench, "abbbbbbbbb.. a:r--p b:rw-p");
    assert_int_equal(protect(&bench, 1, 2, VMA_READ), 0);
    assert_ruler(&bench, "aaabbbbbbb.. a:r--p b:rw-p");
    assert_int_equal(unmap(&bench, 9, 1), 0);
    assert_int_equal(unmap(&bench, 2, 2), 0);
    assert_ruler(&bench, "aa..bbbbb... a:r--p b:rw-p");
    assert_int_equal(protect(&bench, 4, 5, VMA_READ), 0);
    assert_ruler(&bench, "aa..bbbbb... a:r--p b:r--p");
    trap_close(&bench.trap);
}

/* With room for one cut of two the first is made, and what it leaves can be one again. */
static void test_half_a_change(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench, "modern");
    assert_int_equal(map(&bench, 0, 8), 0);
    limit_vmas(&bench, 1);
    assert_int_equal(protect(&bench, 3, 2, VMA_READ), -ENOMEM);
    assert_ruler(&bench, "aaabbbbb.... a:rw-p b:rw-p");
    assert_int_equal(protect(&bench, 3, 5, VMA_READ), 0);
    assert_int_equal(protect(&bench, 3, 5, RW), 0);
    assert_ruler(&bench, "aaaaaaaa.... a:rw-p");
    trap_close(&bench.trap);
}

/* A new mapping may pass the limit by one. Then nothing is mapped, not even what would join. */
static void test_new_mappings_at_the_limit(void **state)
{
    struct map_bench bench;
    va_t break_at;

    (void)state;
    begin(&bench, "modern");
    assert_int_equal(map(&bench, 0, 2), 0);
    bench.task->mm->heap_start = bench.task->mm->heap_end = break_at = map_bench_at(&bench, 100);
    limit_vmas(&bench, 0);
    assert_int_equal(map(&bench, 4, 1), 0);
    assert_int_equal(map(&bench, 8, 1), -ENOMEM);
    assert_int_equal(map(&bench, 5, 1), -ENOMEM);
    assert_int_equal(sys_brk(bench.task, break_at + PAGE_BYTES), break_at);
    assert_ruler(&bench, "aa..b....... a:rw-p b:rw-p");
    assert_int_equal(unmap(&bench, 4, 1), 0);
    assert_int_equal(sys_brk(bench.task, break_at + PAGE_BYTES), break_at + PAGE_BYTES);
    assert_int_equal(map(&bench, 2, 1), -ENOMEM);
    trap_close(&bench.trap);
}

/* munmap at two edges makes none more, and may pass the limit on its way. */
static void test_unmapping_at_the_limit(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench, "modern");
    assert_int_equal(map(&bench, 0, 4), 0);
    assert_int_equal(map_as(&bench, 4, 4, VMA_READ, 0), 0);
    limit_vmas(&bench, 0);
    assert_int_equal(unmap(&bench, 2, 4), 0);
    assert_ruler(&bench, "aa....bb.... a:rw-p b:r--p");
    trap_close(&bench.trap);
}

/* --- pages --- */

static void limit(struct map_bench *bench, enum limit which, uint64_t bytes)
{
    assert_int_equal(task_limit(bench->task, which, bytes), 0);
}

static void test_address_space(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench, "modern");
    assert_int_equal(map(&bench, 0, 4), 0);
    limit(&bench, LIMIT_ADDRESS_SPACE, 3 * PAGE_BYTES - 1);
    assert_int_equal(map_as(&bench, 6, 3, 0, 0), -ENOMEM);
    assert_int_equal(map_as(&bench, 6, 1, 0, MAP_REQUEST_SHARED), 0);
    assert_int_equal(map(&bench, 7, 2), -ENOMEM);
    /* What is replaced does not count. */
    assert_int_equal(map(&bench, 0, 5), 0);
    assert_ruler(&bench, "aaaaa.b..... a:rw-p b:---s@0");
    assert_int_equal(map(&bench, 5, 1), -ENOMEM);
    assert_int_equal(map(&bench, 1, 2), 0);
    assert_int_equal(unmap(&bench, 0, 1), 0);
    assert_int_equal(map(&bench, 5, 1), 0);
    assert_ruler(&bench, ".aaaaab..... a:rw-p b:---s@0");
    /* A limit is taken anew from where it stands. */
    limit(&bench, LIMIT_ADDRESS_SPACE, UINT64_MAX);
    assert_int_equal(map(&bench, 7, 5), 0);
    trap_close(&bench.trap);
}

/* A call that is refused for the limit has cut what lies in its range from what lies beside it. */
static void test_refused_replacement_leaves_cuts(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench, "modern");
    assert_int_equal(map(&bench, 0, 4), 0);
    assert_int_equal(map(&bench, 8, 4), 0);
    limit(&bench, LIMIT_ADDRESS_SPACE, 3 * PAGE_BYTES);
    assert_int_equal(map_as(&bench, 2, 8, VMA_READ, 0), -ENOMEM);
    assert_ruler(&bench, "aabb....ccdd a:rw-p b:rw-p c:rw-p d:rw-p");
    assert_int_equal(protect(&bench, 2, 2, VMA_READ), 0);
    assert_int_equal(protect(&bench, 2, 2, RW), 0);
    assert_ruler(&bench, "aaaa....bbcc a:rw-p b:rw-p c:rw-p");
    trap_close(&bench.trap);
}

/* The heap, a stack, mremap and children are bound, too. */
static void test_who_is_bound(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench, "modern");
    struct mm *mm = bench.task->mm;
    va_t heap = map_bench_at(&bench, 100);
    va_t stack = mm->user_end - PAGE_BYTES;
    struct remap_request growth = {
        .address = map_bench_at(&bench, 0), .old_bytes = PAGE_BYTES, .new_bytes = 3 * PAGE_BYTES};
    va_t address;

    mm->heap_start = mm->heap_end = heap;
    assert_int_equal(map(&bench, 0, 1), 0);
    limit(&bench, LIMIT_ADDRESS_SPACE, 2 * PAGE_BYTES);
    assert_int_equal(sys_brk(bench.task, heap + 3 * PAGE_BYTES), heap);
    assert_int_equal(sys_brk(bench.task, heap + PAGE_BYTES), heap + PAGE_BYTES);
    trap_refuses(&bench.trap, bench.task, stack - 2 * PAGE_BYTES, ACCESS_WRITE);
    assert_int_equal(sys_mremap(bench.task, &growth, &address), -ENOMEM);
    trap_write(&bench.trap, bench.task, stack - PAGE_BYTES, 's');
    trap_refuses(&bench.trap, bench.task, stack - 2 * PAGE_BYTES, ACCESS_WRITE);
    struct task *parent = bench.task;

    bench.task = trap_fork(&bench.trap, parent, 'C');
    assert_int_equal(map(&bench, 4, 1), -ENOMEM);
    assert_int_equal(unmap(&bench, 0, 1), 0);
    assert_int_equal(map(&bench, 4, 1), 0);
    bench.task = parent;
    assert_int_equal(map(&bench, 4, 1), -ENOMEM);
    trap_close(&bench.trap);
}

/* Only what is private and writable, and no stack, counts as data. */
static void test_data(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench, "modern");
    limit(&bench, LIMIT_DATA, 2 * PAGE_BYTES);
    assert_int_equal(map_as(&bench, 0, 3, RW, 0), -ENOMEM);
    assert_int_equal(map_as(&bench, 0, 3, RW, MAP_REQUEST_NORESERVE), -ENOMEM);
    assert_int_equal(map_as(&bench, 0, 3, RW, MAP_REQUEST_SHARED), 0);
    assert_int_equal(map_as(&bench, 3, 3, RW, MAP_REQUEST_GROWSDOWN), 0);
    assert_int_equal(map_as(&bench, 6, 3, VMA_READ | VMA_EXEC, 0), 0);
    assert_ruler(&bench, "aaabbbccc... a:rw-s@0 b:rw-pv c:r-xp");
    /* What becomes writable counts from then on. */
    assert_int_equal(protect(&bench, 6, 3, RW), -ENOMEM);
    assert_int_equal(protect(&bench, 6, 2, RW), 0);
    assert_int_equal(protect(&bench, 8, 1, RW), -ENOMEM);
    assert_ruler(&bench, "aaabbbccd... a:rw-s@0 b:rw-pv c:rw-p d:r-xp");
    assert_int_equal(protect(&bench, 6, 1, VMA_READ), 0);
    assert_int_equal(map(&bench, 9, 1), 0);
    assert_int_equal(map(&bench, 10, 1), -ENOMEM);
    /* What is writable already stays so. */
    limit(&bench, LIMIT_DATA, 0);
    assert_int_equal(protect(&bench, 7, 1, RW | VMA_EXEC), 0);
    trap_close(&bench.trap);
}

static void test_no_task(void **state)
{
    struct map_bench bench;
    struct task_status status;

    (void)state;
    begin(&bench, "modern");
    struct task *child = trap_fork(&bench.trap, bench.task, 'C');

    assert_int_equal(task_exit(child, 0), 0);
    bench.trap.task_count--;
    assert_int_equal(task_limit(child, LIMIT_DATA, 0), -ESRCH);
    assert_int_equal(sys_wait(bench.task, child, &status), 0);
    trap_close(&bench.trap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usual_limits),
        cmocka_unit_test(test_cuts_at_the_limit),
        cmocka_unit_test(test_half_a_change),
        cmocka_unit_test(test_new_mappings_at_the_limit),
        cmocka_unit_test(test_unmapping_at_the_limit),
        cmocka_unit_test(test_address_space),
        cmocka_unit_test(test_refused_replacement_leaves_cuts),
        cmocka_unit_test(test_who_is_bound),
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_no_task),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
