/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pins: what may be pinned, what that does to counts, and what the pin holds when all else goes. */
#include <errno.h>
#include <string.h>

#include "tests/support/map_bench.h"

static void begin(struct map_bench *bench)
{
    map_bench_begin(bench, "modern-shared", MMU_HOST);
}

static const struct frame *frame_of(const struct map_bench *bench, const struct pin *pin)
{
    return &bench->trap.machine->ram.frames[pin->pfn];
}

static void test_counts(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    trap_map(&bench.trap, bench.task, bench.base, 1, RW);
    struct pin one = trap_pin(&bench.trap, bench.task, bench.base, ACCESS_WRITE);
    struct pin two = trap_pin(&bench.trap, bench.task, bench.base + 4095, ACCESS_READ);

    assert_int_equal(one.pfn, two.pfn);
    assert_int_equal(frame_of(&bench, &one)->count, 3);
    assert_int_equal(frame_of(&bench, &one)->pins, 2);
    trap_picture(&bench.trap, bench.base, 1, "P: T1x1 rw | f1x3 rwADX p2\n");
    trap_unpin(&bench.trap, &two);
    assert_int_equal(two.pfn, PFN_NONE);
    trap_picture(&bench.trap, bench.base, 1, "P: T1x1 rw | f1x2 rwADX p1\n");
    pin_write(&one, 4, "pinned", 6);
    char text[7] = "";

    assert_int_equal(copyin(bench.task, text, bench.base + 4, 6), 0);
    assert_string_equal(text, "pinned");
    pin_write(&one, 4090, "tail!", 6);
    pin_read(&one, 4090, text, 6);
    assert_string_equal(text, "tail!");
    trap_unpin(&bench.trap, &one);
    trap_close(&bench.trap);
}

/* The pin is the last reference: the page is there until it goes. */
static void test_outlives_its_mapping_and_task(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    trap_map(&bench.trap, bench.task, bench.base, 2, RW);
    trap_write(&bench.trap, bench.task, bench.base, 'a');
    trap_write(&bench.trap, bench.task, bench.base + PAGE_BYTES, 'b');
    struct pin one = trap_pin(&bench.trap, bench.task, bench.base, ACCESS_READ);
    struct pin two = trap_pin(&bench.trap, bench.task, bench.base + PAGE_BYTES, ACCESS_READ);

    trap_unmap(&bench.trap, bench.task, bench.base, 1);
    assert_int_equal(frame_of(&bench, &one)->count, 1);
    trap_map(&bench.trap, bench.task, bench.base, 1, RW);
    trap_write(&bench.trap, bench.task, bench.base, 'x');
    assert_int_equal(pin_peek(&one), 'a');
    trap_exit(&bench.trap, bench.task);
    assert_int_equal(trap_used(&bench.trap), bench.trap.used_frames + 2);
    assert_int_equal(pin_peek(&one), 'a');
    assert_int_equal(pin_peek(&two), 'b');
    trap_unpin(&bench.trap, &one);
    trap_unpin(&bench.trap, &two);
    trap_close(&bench.trap);
}

static void test_refusals(void **state)
{
    struct map_bench bench;
    struct pin pin;
    struct task_status status;

    (void)state;
    begin(&bench);
    trap_map(&bench.trap, bench.task, bench.base, 1, VMA_READ);
    trap_map(&bench.trap, bench.task, bench.base + PAGE_BYTES, 1, 0);
    trap_map(&bench.trap, bench.task, bench.base + 3 * PAGE_BYTES, 1, RW);
    assert_int_equal(sys_pin(bench.task, bench.base, ACCESS_WRITE, &pin), -EFAULT);
    assert_int_equal(sys_pin(bench.task, bench.base + PAGE_BYTES, ACCESS_READ, &pin), -EFAULT);
    assert_int_equal(sys_pin(bench.task, bench.base + 2 * PAGE_BYTES, ACCESS_READ, &pin), -EFAULT);
    assert_int_equal(sys_pin(bench.task, bench.task->mm->user_end, ACCESS_READ, &pin), -EFAULT);
    trap_check(&bench.trap);
    struct allocation_gate *gate = &bench.trap.machine->ram.gate;
    int error = -ENOMEM;

    for (uint64_t at = 1; error != 0; at++) {
        gate->fail_at = gate->requests + at;
        error = sys_pin(bench.task, bench.base, ACCESS_READ, &pin);
        gate->fail_at = 0;
        assert_true(error == 0 || error == -ENOMEM);
        trap_check(&bench.trap);
        assert_in_range(at, 1, 6);
    }
    trap_unpin(&bench.trap, &pin);
    struct task *child = trap_fork(&bench.trap, bench.task, 'C');

    assert_int_equal(task_exit(child, 0), 0);
    bench.trap.task_count--;
    assert_int_equal(sys_pin(child, bench.base, ACCESS_READ, &pin), -ESRCH);
    assert_int_equal(sys_wait(bench.task, child, &status), 0);
    trap_close(&bench.trap);
}

/* A page of an object is pinned where it is, with its other references. */
static void test_pages_of_objects(void **state)
{
    struct map_bench bench;

    (void)state;
    begin(&bench);
    struct object *shm = trap_shm(&bench.trap, 2);

    trap_map_object(&bench.trap, bench.task, bench.base, 2, MAP_REQUEST_SHARED, shm, 0);
    struct pin pin = trap_pin(&bench.trap, bench.task, bench.base + PAGE_BYTES, ACCESS_READ);

    assert_int_equal(pin.pfn, shm->pages[1]);
    assert_int_equal(frame_of(&bench, &pin)->count, 3);
    pin_write(&pin, 0, "s", 1);
    trap_expect_loads(&bench.trap, bench.base, 2, "P:.s");
    trap_exit(&bench.trap, bench.task);
    object_close(bench.trap.machine, shm);
    bench.trap.object_count--;
    assert_int_equal(frame_of(&bench, &pin)->count, 1);
    assert_int_equal(pin_peek(&pin), 's');
    trap_unpin(&bench.trap, &pin);
    trap_close(&bench.trap);
}

/* Writes the mapping's pages until memory ends: how many were written. */
static uint64_t fill_memory(const struct map_bench *bench, uint64_t pages)
{
    for (uint64_t i = 0; i < pages; i++) {
        int error = copyout(bench->task, bench->base + i * PAGE_BYTES, "x", 1);

        if (error != 0) {
            assert_int_equal(error, -ENOMEM);
            return i;
        }
    }
    return pages;
}

/* Frames that the table pools gave back lie above all others: what they hold counts as well. */
static void test_where_tables_lay(void **state)
{
    enum { FRAMES = 256 };
    const struct trap_size size = {.frames = FRAMES};
    struct map_bench bench;

    (void)state;
    trap_open(&bench.trap, kernel_find("2.5.41"), &geometry_x86_64, MMU_SOFT, &size);
    bench.task = trap_first(&bench.trap);
    bench.base = bench.trap.base;
    trap_map(&bench.trap, bench.task, bench.base, FRAMES, RW);
    uint64_t written = fill_memory(&bench, FRAMES);

    assert_in_range(written, 1, FRAMES - 1);
    struct pin pin =
        trap_pin(&bench.trap, bench.task, bench.base + (written - 1) * PAGE_BYTES, ACCESS_READ);

    assert_true(pin.pfn >= bench.trap.machine->ram.table_floor);
    trap_check(&bench.trap);
    trap_unpin(&bench.trap, &pin);
    trap_close(&bench.trap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_outlives_its_mapping_and_task),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_pages_of_objects),
        cmocka_unit_test(test_where_tables_lay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
