/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mmap, munmap and mprotect: results as Linux has them, and the whole list of mappings after
 * each call as a ruler. Compared with what was seen on Linux 6.18.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/elf_file.h"
#include "tests/support/map_bench.h"
#include "tests/support/ruler.h"

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

/* A file that may only be read. */
static struct object *read_only_file(struct map_bench *bench)
{
    struct object *object = trap_file(&bench->trap, "AB");

    object->read_only = true;
    return object;
}

static void test_mmap_refuses(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    struct object *file = trap_file(&bench.trap, "AB");
    struct object *read_only = read_only_file(&bench);
    va_t top = bench.task->mm->user_end;
    const struct {
        struct map_request request;
        int error;
    } rows[] = {
        {{.bytes = 0}, -EINVAL},
        {{.bytes = PAGE_BYTES, .offset_bytes = 1}, -EINVAL},
        {{.bytes = PAGE_BYTES, .object = file, .offset_bytes = 100}, -EINVAL},
        {{.address = map_bench_at(&bench, 0) + 1, .bytes = 1, .flags = MAP_REQUEST_FIXED}, -EINVAL},
        {{.address = map_bench_at(&bench, 0) + 1, .bytes = 1, .flags = MAP_REQUEST_NOREPLACE},
         -EINVAL},
        {{.bytes = UINT64_MAX}, -ENOMEM},
        {{.bytes = UINT64_MAX - PAGE_BYTES + 1}, -ENOMEM},
        {{.bytes = top}, -ENOMEM},
        {{.bytes = top + PAGE_BYTES}, -ENOMEM},
        {{.bytes = 1, .protection = RW, .flags = MAP_REQUEST_SHARED, .object = read_only}, -EACCES},
        {{.bytes = 2 * PAGE_BYTES, .object = file, .offset_bytes = UINT64_MAX - PAGE_BYTES + 1},
         -EOVERFLOW},
        {{.address = top, .bytes = 1, .flags = MAP_REQUEST_FIXED}, -ENOMEM},
        {{.address = top - PAGE_BYTES, .bytes = PAGE_BYTES + 1, .flags = MAP_REQUEST_FIXED},
         -ENOMEM},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(map(&bench, rows[i].request), rows[i].error);
        assert_ruler(&bench, "..........");
        assert_int_equal(bench.task->mm->index.count, 1);
    }
    map_bench_end(&bench);
}

static void test_mmap_grants(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    struct object *read_only = read_only_file(&bench);
    va_t address = 0;
    /* Private and writable from a file that may only be read: writes stay private. */
    trap_map_object(&bench.trap, bench.task, map_bench_at(&bench, 0), 2, 0, read_only, 0);
    trap_write(&bench.trap, bench.task, map_bench_at(&bench, 0), 'x');
    assert_ruler(&bench, "aa........ a:rw-p*@0");
    /* A hint is rounded down; the length up. */
    struct map_request hint = {.address = map_bench_at(&bench, 4) + 77,
                               .bytes = 3 * PAGE_BYTES - 1};

    assert_int_equal(sys_mmap(bench.task, &hint, &address), 0);
    assert_int_equal(address, map_bench_at(&bench, 4));
    assert_ruler(&bench, "aa..bbb... a:rw-p*@0 b:---p");
    /* Where something is mapped, a hint is no more than that. */
    assert_int_equal(sys_mmap(bench.task, &hint, &address), 0);
    assert_int_not_equal(address, map_bench_at(&bench, 4));
    trap_unmap(&bench.trap, bench.task, address, 3);
    struct map_request exact = {.address = map_bench_at(&bench, 2),
                                .bytes = 2 * PAGE_BYTES,
                                .flags = MAP_REQUEST_NOREPLACE};

    assert_int_equal(sys_mmap(bench.task, &exact, &address), 0);
    assert_int_equal(address, map_bench_at(&bench, 2));
    assert_ruler(&bench, "aabbbbb... a:rw-p*@0 b:---p");
    exact.address = map_bench_at(&bench, 6);
    assert_int_equal(sys_mmap(bench.task, &exact, &address), -EEXIST);
    assert_ruler(&bench, "aabbbbb... a:rw-p*@0 b:---p");
    map_bench_end(&bench);
}

static void test_mmap_read_only_file_shared(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    struct map_request request = {.address = map_bench_at(&bench, 0),
                                  .bytes = 2 * PAGE_BYTES,
                                  .protection = VMA_READ,
                                  .flags = MAP_REQUEST_FIXED | MAP_REQUEST_SHARED,
                                  .object = read_only_file(&bench)};

    assert_int_equal(map(&bench, request), 0);
    assert_ruler(&bench, "aa........ a:r--s!@0");
    assert_int_equal(sys_mprotect(bench.task, map_bench_at(&bench, 0), PAGE_BYTES, RW), -EACCES);
    assert_ruler(&bench, "aa........ a:r--s!@0");
    assert_int_equal(sys_mprotect(bench.task, map_bench_at(&bench, 0), PAGE_BYTES, VMA_EXEC), 0);
    assert_ruler(&bench, "ab........ a:--xs!@0 b:r--s!@1");
    map_bench_end(&bench);
}

/* Old pages are replaced at once, neighbours keep theirs; the same attributes are one VMA again. */
static void test_mmap_fixed_over_mappings(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 0), 5, RW);
    for (unsigned page = 0; page < 5; page++)
        trap_write(&bench.trap, bench.task, map_bench_at(&bench, page), (char)('a' + page));
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 1), 2, RW);
    trap_expect(&bench.trap, map_bench_at(&bench, 0), 6, "P:a..de!");
    assert_ruler(&bench, "aaaaa..... a:rw-p*");
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 3), 1, VMA_READ);
    assert_ruler(&bench, "aaabc..... a:rw-p* b:r--p c:rw-p*");
    trap_expect_loads(&bench.trap, map_bench_at(&bench, 0), 6, "P:a...e!");
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 2), 5, VMA_READ);
    assert_ruler(&bench, "aabbbbb... a:rw-p* b:r--p");
    map_bench_end(&bench);
}

static void test_mmap_populate(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    struct map_request request = {.address = map_bench_at(&bench, 0),
                                  .bytes = 3 * PAGE_BYTES,
                                  .protection = RW,
                                  .flags = MAP_REQUEST_FIXED | MAP_REQUEST_POPULATE};

    assert_int_equal(map(&bench, request), 0);
    assert_ruler(&bench, "aaa....... a:rw-p*");
    for (unsigned page = 0; page < 3; page++) {
        trap_write(&bench.trap, bench.task, map_bench_at(&bench, page), 'x');
        trap_steps(&bench.trap, "");
    }
    request.address = map_bench_at(&bench, 4);
    request.protection = 0;
    assert_int_equal(map(&bench, request), 0);
    assert_ruler(&bench, "aaa.bbb... a:rw-p* b:---p");
    assert_true(entry_is_none(trap_entry(bench.task, map_bench_at(&bench, 4))));
    map_bench_end(&bench);
}

/* Which neighbours one VMA can stand for. */
static void test_mmap_merges(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    struct object *file = trap_file(&bench.trap, "ABCDEFGH");

    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 0), 2, RW);
    trap_write(&bench.trap, bench.task, map_bench_at(&bench, 0), 'a');
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 4), 2, RW);
    assert_ruler(&bench, "aa..bb.... a:rw-p* b:rw-p");
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 2), 2, RW);
    assert_ruler(&bench, "aaaaaa.... a:rw-p*");
    trap_map_shared(&bench.trap, bench.task, map_bench_at(&bench, 6), 1);
    trap_map_shared(&bench.trap, bench.task, map_bench_at(&bench, 7), 1);
    assert_ruler(&bench, "aaaaaabc.. a:rw-p* b:rw-s@0 c:rw-s@0");
    trap_map_object(&bench.trap, bench.task, map_bench_at(&bench, 0), 2, 0, file, 2);
    trap_map_object(&bench.trap, bench.task, map_bench_at(&bench, 2), 2, 0, file, 4);
    assert_ruler(&bench, "aaaabbcd.. a:rw-p@2 b:rw-p* c:rw-s@0 d:rw-s@0");
    trap_map_object(&bench.trap, bench.task, map_bench_at(&bench, 4), 2, 0, file, 7);
    assert_ruler(&bench, "aaaabbcd.. a:rw-p@2 b:rw-p@7 c:rw-s@0 d:rw-s@0");
    map_bench_end(&bench);
}

static void test_munmap_refuses(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    va_t top = bench.task->mm->user_end;

    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 0), 3, RW);
    assert_int_equal(sys_munmap(bench.task, map_bench_at(&bench, 0), 0), -EINVAL);
    assert_int_equal(sys_munmap(bench.task, map_bench_at(&bench, 0) + 1, PAGE_BYTES), -EINVAL);
    assert_int_equal(sys_munmap(bench.task, map_bench_at(&bench, 0), UINT64_MAX), -EINVAL);
    assert_int_equal(sys_munmap(bench.task, map_bench_at(&bench, 0), UINT64_MAX - 2 * PAGE_BYTES),
                     -EINVAL);
    assert_int_equal(sys_munmap(bench.task, top, PAGE_BYTES), -EINVAL);
    assert_int_equal(sys_munmap(bench.task, top + PAGE_BYTES, PAGE_BYTES), -EINVAL);
    assert_int_equal(sys_munmap(bench.task, UINT64_MAX - PAGE_BYTES + 1, PAGE_BYTES), -EINVAL);
    assert_ruler(&bench, "aaa....... a:rw-p");
    map_bench_end(&bench);
}

static void test_munmap(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    assert_int_equal(sys_munmap(bench.task, map_bench_at(&bench, 0), 5 * PAGE_BYTES), 0);
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 0), 3, RW);
    trap_map_object(&bench.trap, bench.task, map_bench_at(&bench, 4), 4, 0,
                    trap_file(&bench.trap, "ABCD"), 0);
    trap_unmap(&bench.trap, bench.task, map_bench_at(&bench, 5), 1);
    assert_ruler(&bench, "aaa.b.cc.. a:rw-p b:rw-p@0 c:rw-p@2");
    trap_expect_loads(&bench.trap, map_bench_at(&bench, 4), 4, "P:A!CD");
    /* Several mappings and holes at once. */
    assert_int_equal(sys_munmap(bench.task, map_bench_at(&bench, 1), 6 * PAGE_BYTES - 5), 0);
    assert_ruler(&bench, "a......b.. a:rw-p b:rw-p@3");
    trap_expect_loads(&bench.trap, map_bench_at(&bench, 7), 1, "P:D");
    assert_int_equal(sys_munmap(bench.task, 0, map_bench_at(&bench, 10)), 0);
    assert_ruler(&bench, "..........");
    assert_int_equal(bench.task->mm->tree.leaf_tables, 1); /* the stack's */
    map_bench_end(&bench);
}

static void test_mprotect_refuses(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 0), 3, RW);
    assert_int_equal(sys_mprotect(bench.task, map_bench_at(&bench, 0) + 8, PAGE_BYTES, VMA_READ),
                     -EINVAL);
    assert_int_equal(sys_mprotect(bench.task, map_bench_at(&bench, 0), PAGE_BYTES, 1u << 20),
                     -EINVAL);
    assert_int_equal(sys_mprotect(bench.task, map_bench_at(&bench, 0), 0, VMA_READ), 0);
    assert_int_equal(sys_mprotect(bench.task, map_bench_at(&bench, 5), PAGE_BYTES, VMA_READ),
                     -ENOMEM);
    assert_int_equal(sys_mprotect(bench.task, map_bench_at(&bench, 0), UINT64_MAX, VMA_READ),
                     -ENOMEM);
    assert_ruler(&bench, "aaa....... a:rw-p");
    map_bench_end(&bench);
}

/* Pages before a hole, or before one that may not be written, are changed all the same. */
static void test_mprotect_in_part(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 0), 3, RW);
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 5), 2, RW);
    assert_int_equal(sys_mprotect(bench.task, map_bench_at(&bench, 2), 4 * PAGE_BYTES, VMA_READ),
                     -ENOMEM);
    assert_ruler(&bench, "aab..cc... a:rw-p b:r--p c:rw-p");
    struct map_request request = {.address = map_bench_at(&bench, 3),
                                  .bytes = 2 * PAGE_BYTES,
                                  .protection = VMA_READ,
                                  .flags = MAP_REQUEST_FIXED | MAP_REQUEST_SHARED,
                                  .object = read_only_file(&bench)};

    assert_int_equal(map(&bench, request), 0);
    assert_int_equal(sys_mprotect(bench.task, map_bench_at(&bench, 2), 4 * PAGE_BYTES, RW),
                     -EACCES);
    assert_ruler(&bench, "aaabbcc... a:rw-p b:r--s!@0 c:rw-p");
    map_bench_end(&bench);
}

/* The end of user addresses is a hole like any other. */
static void test_mprotect_past_the_end(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    va_t stack = bench.task->mm->user_end - PAGE_BYTES;

    assert_int_equal(sys_mprotect(bench.task, stack, 2 * PAGE_BYTES, VMA_READ), -ENOMEM);
    trap_check(&bench.trap);
    assert_string_equal(ruler_of(bench.task->mm, stack, 1).text, "a a:r--p*v");
    assert_int_equal(sys_mprotect(bench.task, stack, PAGE_BYTES, RW), 0);
    assert_int_equal(sys_mprotect(bench.task, stack + PAGE_BYTES, PAGE_BYTES, RW), -ENOMEM);
    assert_int_equal(sys_mprotect(bench.task, UINT64_MAX - PAGE_BYTES + 1, PAGE_BYTES, RW),
                     -ENOMEM);
    map_bench_end(&bench);
}

/* From one to three and back to one; and nothing is cut where nothing changes. */
static void test_mprotect_cuts_and_joins(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 0), 5, RW);
    assert_int_equal(sys_mprotect(bench.task, map_bench_at(&bench, 2), PAGE_BYTES, RW), 0);
    assert_ruler(&bench, "aaaaa..... a:rw-p");
    for (int touched = 0; touched < 2; touched++) {
        const char *whole = touched ? "aaaaa..... a:rw-p*" : "aaaaa..... a:rw-p";

        trap_protect(&bench.trap, bench.task, map_bench_at(&bench, 1), 2, VMA_READ);
        assert_ruler(&bench, touched ? "abbcc..... a:rw-p* b:r--p* c:rw-p*"
                                     : "abbcc..... a:rw-p b:r--p c:rw-p");
        trap_protect(&bench.trap, bench.task, map_bench_at(&bench, 2), 1, VMA_EXEC);
        assert_int_equal(bench.task->mm->index.count, 5);
        trap_protect(&bench.trap, bench.task, map_bench_at(&bench, 0), 5, RW);
        assert_ruler(&bench, whole);
        trap_write(&bench.trap, bench.task, map_bench_at(&bench, 1), 'x');
    }
    trap_protect(&bench.trap, bench.task, map_bench_at(&bench, 0), 2, VMA_READ);
    trap_protect(&bench.trap, bench.task, map_bench_at(&bench, 1), 3, VMA_READ);
    assert_ruler(&bench, "aaaab..... a:r--p* b:rw-p*");
    trap_expect_loads(&bench.trap, map_bench_at(&bench, 0), 5, "P:.x...");
    map_bench_end(&bench);
}

/* Contents stay while there is no right to them. */
static void test_mprotect_none_and_back(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    trap_map(&bench.trap, bench.task, map_bench_at(&bench, 0), 3, RW);
    trap_write(&bench.trap, bench.task, map_bench_at(&bench, 0), 'a');
    trap_read(&bench.trap, bench.task, map_bench_at(&bench, 1));
    trap_protect(&bench.trap, bench.task, map_bench_at(&bench, 0), 3, 0);
    trap_expect(&bench.trap, map_bench_at(&bench, 0), 3, "P:###");
    trap_refuses(&bench.trap, bench.task, map_bench_at(&bench, 0), ACCESS_READ);
    trap_protect(&bench.trap, bench.task, map_bench_at(&bench, 0), 3, VMA_READ);
    trap_expect_loads(&bench.trap, map_bench_at(&bench, 0), 3, "P:a..");
    trap_refuses(&bench.trap, bench.task, map_bench_at(&bench, 0), ACCESS_WRITE);
    /* Writable alone is readable too, as on x86. */
    trap_protect(&bench.trap, bench.task, map_bench_at(&bench, 0), 3, VMA_WRITE);
    trap_expect_loads(&bench.trap, map_bench_at(&bench, 0), 3, "P:a..");
    map_bench_end(&bench);
}

/* Calls for a task that has ended. */
static void test_no_task(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    struct task *child = trap_fork(&bench.trap, bench.task, 'C');
    struct task_status status;
    va_t address;

    assert_int_equal(task_exit(child, 0), 0);
    bench.trap.task_count--;
    assert_int_equal(sys_mmap(child, &(struct map_request){.bytes = 1}, &address), -ESRCH);
    assert_int_equal(sys_munmap(child, 0, PAGE_BYTES), -ESRCH);
    assert_int_equal(sys_mprotect(child, 0, PAGE_BYTES, 0), -ESRCH);
    assert_int_equal(sys_brk(child, PAGE_BYTES), 0);
    assert_int_equal(sys_wait(bench.task, child, &status), 0);
    map_bench_end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mmap_refuses),
        cmocka_unit_test(test_mmap_grants),
        cmocka_unit_test(test_mmap_read_only_file_shared),
        cmocka_unit_test(test_mmap_fixed_over_mappings),
        cmocka_unit_test(test_mmap_populate),
        cmocka_unit_test(test_mmap_merges),
        cmocka_unit_test(test_munmap_refuses),
        cmocka_unit_test(test_munmap),
        cmocka_unit_test(test_mprotect_refuses),
        cmocka_unit_test(test_mprotect_in_part),
        cmocka_unit_test(test_mprotect_past_the_end),
        cmocka_unit_test(test_mprotect_cuts_and_joins),
        cmocka_unit_test(test_mprotect_none_and_back),
        cmocka_unit_test(test_no_task),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
