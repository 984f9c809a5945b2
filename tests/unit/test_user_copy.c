/* SPDX-License-Identifier: GPL-2.0-or-later */
/* copyin, copyout and strnlen_user: over pages, up to a bad one, in every state of a page. */
#include <errno.h>
#include <string.h>

#include "tests/support/map_bench.h"

/* Two pages that may be written, one that may be read, one without rights, then nothing. */
static void begin(struct map_bench *bench)
{
    map_bench_begin(bench, "modern-shared", MMU_HOST);
    trap_map(&bench->trap, bench->task, bench->base, 2, RW);
    trap_map(&bench->trap, bench->task, bench->base + 2 * PAGE_BYTES, 1, VMA_READ);
    trap_map(&bench->trap, bench->task, bench->base + 3 * PAGE_BYTES, 1, 0);
}

static void test_there_and_back(void **state)
{
    struct map_bench bench;
    static uint8_t out[2 * PAGE_BYTES];
    static uint8_t in[2 * PAGE_BYTES];

    (void)state;
    begin(&bench);
    for (unsigned i = 0; i < sizeof(out); i++)
        out[i] = (uint8_t)(i * 7 + i / 256);
    for (unsigned start = 0; start < 5; start++) {
        for (size_t bytes = 0; bytes < 2 * PAGE_BYTES - 4; bytes += bytes < 20 ? 1 : 1021) {
            memset(in, 0, sizeof(in));
            assert_int_equal(copyout(bench.task, bench.base + start, out, bytes), 0);
            assert_int_equal(copyin(bench.task, in, bench.base + start, bytes), 0);
            assert_memory_equal(in, out, bytes);
            trap_check(&bench.trap);
        }
    }
    /* What user mode sees. */
    assert_int_equal((uint8_t)trap_read(&bench.trap, bench.task, bench.base + 5000), out[4996]);
    map_bench_end(&bench);
}

static void test_up_to_a_bad_page(void **state)
{
    struct map_bench bench;
    char bytes[64];

    (void)state;
    begin(&bench);
    va_t boundary = bench.base + 2 * PAGE_BYTES;
    va_t none = bench.base + 3 * PAGE_BYTES;
    va_t top = bench.task->mm->user_end;

    memset(bytes, 'x', sizeof(bytes));
    assert_int_equal(copyout(bench.task, boundary - 10, bytes, 20), -EFAULT);
    trap_check(&bench.trap);
    /* Bytes before the bad page may have been copied, none behind it. */
    assert_int_equal(copyin(bench.task, bytes, boundary - 10, 20), 0);
    assert_memory_equal(bytes, "xxxxxxxxxx\0\0\0\0\0\0\0\0\0\0", 20);
    assert_int_equal(copyin(bench.task, bytes, none - 10, 10), 0);
    assert_int_equal(copyin(bench.task, bytes, none - 10, 11), -EFAULT);
    assert_int_equal(copyin(bench.task, bytes, none, 1), -EFAULT);
    assert_int_equal(copyin(bench.task, bytes, bench.base - 1, 1), -EFAULT);
    assert_int_equal(copyin(bench.task, bytes, top - 4, 4), 0);
    assert_int_equal(copyin(bench.task, bytes, top - 4, 5), -EFAULT);
    assert_int_equal(copyin(bench.task, bytes, top, 1), -EFAULT);
    assert_int_equal(copyout(bench.task, UINT64_MAX - 5, bytes, 20), -EFAULT);
    assert_int_equal(copyout(bench.task, bench.base - 1, bytes, 0), 0);
    map_bench_end(&bench);
}

static void test_strnlen_user(void **state)
{
    struct map_bench bench;
    size_t length = 77;
    va_t end_of_two;

    (void)state;
    begin(&bench);
    end_of_two = bench.base + 2 * PAGE_BYTES;
    assert_int_equal(copyout(bench.task, bench.base + PAGE_BYTES - 3, "hello", 6), 0);
    assert_int_equal(strnlen_user(bench.task, bench.base + PAGE_BYTES - 3, 100, &length), 0);
    assert_int_equal(length, 5);
    assert_int_equal(strnlen_user(bench.task, bench.base + PAGE_BYTES - 3, 4, &length), 0);
    assert_int_equal(length, 4);
    assert_int_equal(strnlen_user(bench.task, bench.base + PAGE_BYTES - 3, 0, &length), 0);
    assert_int_equal(length, 0);
    assert_int_equal(strnlen_user(bench.task, bench.base, 100, &length), 0);
    assert_int_equal(length, 0);
    /* Without an end, into a page that may be read and then one that may not. */
    assert_int_equal(copyout(bench.task, end_of_two - 4, "abcd", 4), 0);
    assert_int_equal(strnlen_user(bench.task, end_of_two - 4, 100, &length), 0);
    assert_int_equal(length, 4);
    trap_protect(&bench.trap, bench.task, end_of_two, 1, 0);
    assert_int_equal(strnlen_user(bench.task, end_of_two - 4, 100, &length), -EFAULT);
    assert_int_equal(strnlen_user(bench.task, end_of_two - 4, 4, &length), 0);
    assert_int_equal(length, 4);
    map_bench_end(&bench);
}

/* Zeros go where the mapping forbids writing, into a page of one's own. */
static void test_clear_in_a_read_only_mapping(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    struct object *file = trap_file(&bench.trap, "F");

    trap_map_object(&bench.trap, bench.task, bench.base, 1, 0, file, 0);
    trap_protect(&bench.trap, bench.task, bench.base, 1, VMA_READ);
    struct task *child = trap_fork(&bench.trap, bench.task, 'C');

    assert_int_equal(user_clear_locked(bench.task->mm, bench.base, 100), 0);
    trap_check(&bench.trap);
    trap_expect_loads(&bench.trap, bench.base, 1, "P:. C:F");
    assert_int_equal(trap_read(&bench.trap, bench.task, bench.base + 100), 'F');
    trap_refuses(&bench.trap, bench.task, bench.base, ACCESS_WRITE);
    trap_exit(&bench.trap, child);
    map_bench_end(&bench);
}

static void test_no_memory_and_no_task(void **state)
{
    struct map_bench bench;
    char byte = 'x';
    size_t length;
    struct task_status status;

    (void)state;
    begin(&bench);
    struct allocation_gate *gate = &bench.trap.machine->ram.gate;

    gate->fail_at = gate->requests + 1;
    assert_int_equal(copyout(bench.task, bench.base, &byte, 1), -ENOMEM);
    gate->fail_at = 0;
    trap_check(&bench.trap);
    trap_expect(&bench.trap, bench.base, 2, "P:..");
    struct task *child = trap_fork(&bench.trap, bench.task, 'C');

    assert_int_equal(task_exit(child, 0), 0);
    bench.trap.task_count--;
    assert_int_equal(copyout(child, bench.base, &byte, 1), -ESRCH);
    assert_int_equal(copyin(child, &byte, bench.base, 1), -ESRCH);
    assert_int_equal(strnlen_user(child, bench.base, 1, &length), -ESRCH);
    assert_int_equal(sys_wait(bench.task, child, &status), 0);
    map_bench_end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_up_to_a_bad_page),
        cmocka_unit_test(test_strnlen_user),
        cmocka_unit_test(test_clear_in_a_read_only_mapping),
        cmocka_unit_test(test_no_memory_and_no_task),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
