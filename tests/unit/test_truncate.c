/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that become shorter or get holes while they are mapped: what goes, from whom, what stays,
 * and that no window shows what has gone.
 *
 * The results are those of Linux 6.18, seen there with the same sequences on tmpfs and on ext4.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pager/abi.h"
#include "pager/advise.h"
#include "pager/file.h"
#include "tests/support/trap_fixture.h"

static void truncate_to(struct trap *trap, struct object *object, uint64_t bytes)
{
    assert_int_equal(file_truncate(trap->machine, object, bytes), 0);
    assert_int_equal(object->bytes, bytes);
    assert_int_equal(object->page_count, pages_of_bytes(bytes));
    trap_check(trap);
}

static void punch(struct trap *trap, struct object *object, uint64_t first, uint64_t end)
{
    machine_lock(trap->machine);
    int error = object_punch_locked(trap->machine, object, first, end);

    machine_unlock(trap->machine);
    assert_int_equal(error, 0);
    trap_check(trap);
}

/* Every task alive is refused the page, for reading and for writing. */
static void all_are_refused(struct trap *trap, unsigned page)
{
    for (unsigned i = 0; i < trap->task_count; i++) {
        trap_refuses(trap, trap->tasks[i], trap_page(trap, page), ACCESS_READ);
        trap_refuses(trap, trap->tasks[i], trap_page(trap, page), ACCESS_WRITE);
    }
}

/* P and C both have the pages of the file in their windows, C by the same tables where it can. */
static struct task *begin_shared(struct trap *trap, struct object *file)
{
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, MAP_REQUEST_SHARED, file, 0);
    trap_expect_loads(trap, trap->base, 3, "P:ABC");
    struct task *child = trap_fork(trap, parent, 'C');

    trap_write(trap, parent, trap_page(trap, 2), 'c');
    trap_expect_loads(trap, trap->base, 3, "P:ABc C:ABc");
    return child;
}

/* P63: both have read the page, it goes, and neither sees it again. */
static void shrink_shared(struct trap *trap, struct object *file)
{
    struct task *child = begin_shared(trap, file);
    uint32_t used = trap_used(trap);

    truncate_to(trap, file, PAGE_BYTES);
    assert_in_range(trap_used(trap), 0, used - 2);
    trap_expect_loads(trap, trap->base, 3, "P:A!! C:A!!");
    all_are_refused(trap, 1);
    all_are_refused(trap, 2);
    trap_dies(trap, child, trap_page(trap, 2), ACCESS_WRITE, EVENT_BAD_BUS);
    /* Longer again: zeros. */
    truncate_to(trap, file, 3 * PAGE_BYTES);
    trap_expect_loads(trap, trap->base, 3, "P:A..");
    child = trap_fork(trap, trap->tasks[0], 'D');
    trap_write(trap, child, trap_page(trap, 1), 'x');
    trap_expect_loads(trap, trap->base, 3, "P:Ax. D:Ax.");
}

TRAP(p63_shared_memory_file_shrinks_and_grows, ANYWHERE)
{
    shrink_shared(trap, trap_memory_file(trap, "ABC"));
}

TRAP(p63_shared_host_file_shrinks_and_grows, ANYWHERE)
{
    struct object *file = trap_file(trap, "ABC");

    shrink_shared(trap, file);
    assert_int_equal(lseek(file->file, 0, SEEK_END), 3 * PAGE_BYTES);
}

TRAP(shared_memory_shrinks, IN_SPAN)
{
    struct object *shm = trap_shm(trap, 3);
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, MAP_REQUEST_SHARED, shm, 0);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), 's');
    trap_fork(trap, parent, 'C');
    trap_expect_loads(trap, trap->base, 3, "P:sss C:sss");
    truncate_to(trap, shm, 0);
    trap_expect(trap, trap->base, 3, "P:!!! C:!!!");
    all_are_refused(trap, 0);
    truncate_to(trap, shm, 2 * PAGE_BYTES);
    trap_expect_loads(trap, trap->base, 3, "P:..! C:..!");
}

/* Private copies past the end go from all, also out of a table that several share. */
static void shrink_private(struct trap *trap, struct object *file)
{
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, 0, file, 0);
    trap_write(trap, parent, trap_page(trap, 1), 'p');
    trap_write(trap, parent, trap_page(trap, 2), 'q');
    struct task *child = trap_fork(trap, parent, 'C');
    struct task *copier = trap_fork(trap, parent, 'D');

    trap_write(trap, copier, trap_page(trap, 2), 'd');
    trap_expect_loads(trap, trap->base, 3, "P:Apq C:Apq D:Apd");
    truncate_to(trap, file, PAGE_BYTES);
    trap_expect_loads(trap, trap->base, 3, "P:A!! C:A!! D:A!!");
    all_are_refused(trap, 1);
    trap_dies(trap, child, trap_page(trap, 1), ACCESS_READ, EVENT_BAD_BUS);
    trap_dies(trap, copier, trap_page(trap, 2), ACCESS_WRITE, EVENT_BAD_BUS);
    truncate_to(trap, file, 3 * PAGE_BYTES);
    trap_expect_loads(trap, trap->base, 3, "P:A..");
    trap_write(trap, parent, trap_page(trap, 2), 'r');
    trap_expect_loads(trap, trap->base, 3, "P:A.r");
}

TRAP(private_copies_past_the_end_go, ANYWHERE)
{
    shrink_private(trap, trap_memory_file(trap, "ABC"));
}

TRAP(private_copies_past_the_end_of_a_host_file_go, IN_SPAN)
{
    shrink_private(trap, trap_file(trap, "ABC"));
}

/* A shared table stays shared: what went from it went for all. */
TRAP(shared_table_stays_shared, IN_SPAN)
{
    struct object *file = trap_memory_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, 0, file, 0);
    trap_write(trap, parent, trap_page(trap, 0), 'p');
    trap_write(trap, parent, trap_page(trap, 2), 'q');
    trap_fork(trap, parent, 'C');
    trap_expect_loads(trap, trap->base, 1, "P:p C:p");
    trap_tables(trap, trap->base, trap_either(trap, "P:1x2 C:1x2", "P:1x1 C:2x1"));
    truncate_to(trap, file, PAGE_BYTES);
    trap_tables(trap, trap->base, trap_either(trap, "P:1x2 C:1x2", "P:1x1 C:2x1"));
    trap_picture(trap, trap->base, 3,
                 trap_either(trap,
                             "P: T1x2 r- | f1x1 rwADX | none | none\n"
                             "C: T1x2 r- | f1x1 rwADX | none | none\n",
                             "P: T1x1 rw | f1x2 r-AD | none | none\n"
                             "C: T2x1 rw | f1x2 r-AD | none | none\n"));
}

/* The rest of the last page becomes zeros, but not in a private copy of it. */
static void cut_a_page(struct trap *trap, struct object *file)
{
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 2, MAP_REQUEST_SHARED, file, 0);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_map_object(trap, child, trap->base, 2, 0, file, 0);
    trap_write(trap, child, trap_page(trap, 1) + 3000, 'z');
    trap_read(trap, parent, trap_page(trap, 1));
    truncate_to(trap, file, PAGE_BYTES + 2000);
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 1) + 1999), 'B');
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 1) + 2000), 0);
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 1) + 4095), 0);
    assert_int_equal(trap_read(trap, child, trap_page(trap, 1) + 2000), 'B');
    assert_int_equal(trap_read(trap, child, trap_page(trap, 1) + 3000), 'z');
    truncate_to(trap, file, 2 * PAGE_BYTES);
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 1) + 1999), 'B');
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 1) + 3000), 0);
    assert_int_equal(trap_read(trap, child, trap_page(trap, 1) + 3000), 'z');
}

TRAP(last_page_of_a_memory_file_is_cut, IN_SPAN)
{
    cut_a_page(trap, trap_memory_file(trap, "AB"));
}

TRAP(last_page_of_a_host_file_is_cut, IN_SPAN)
{
    cut_a_page(trap, trap_file(trap, "AB"));
}

/* The page that is cut is not in the page cache: it comes with zeros. */
TRAP(absent_page_of_a_host_file_is_cut, IN_SPAN)
{
    struct object *file = trap_file(trap, "AB");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 2, 0, file, 0);
    truncate_to(trap, file, PAGE_BYTES + 10);
    truncate_to(trap, file, 2 * PAGE_BYTES);
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 1) + 9), 'B');
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 1) + 10), 0);
}

/* Only a part of the mapping lies past the end, and it maps the file from its second page on. */
TRAP(mapping_with_an_offset, ANYWHERE)
{
    struct object *file = trap_memory_file(trap, "ABCD");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, MAP_REQUEST_SHARED, file, 1);
    trap_map_object(trap, parent, trap_page(trap, 3), 1, 0, file, 0);
    trap_expect_loads(trap, trap->base, 4, "P:BCDA");
    trap_fork(trap, parent, 'C');
    truncate_to(trap, file, 2 * PAGE_BYTES + 1);
    trap_expect_loads(trap, trap->base, 4, "P:BC!A C:BC!A");
    truncate_to(trap, file, 1);
    trap_expect_loads(trap, trap->base, 4, "P:!!!A C:!!!A");
}

/* A pinned page is no longer the file's; it is the pin's until it is given up. */
TRAP(pinned_pages_outlive_the_truncation, IN_SPAN)
{
    struct object *file = trap_memory_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, 0, file, 0);
    struct pin of_file = trap_pin(trap, parent, trap_page(trap, 1), ACCESS_READ);
    struct pin of_copy = trap_pin(trap, parent, trap_page(trap, 2), ACCESS_WRITE);

    pin_write(&of_copy, 0, "w", 1);
    trap_fork(trap, parent, 'C');
    trap_expect_loads(trap, trap->base, 3, "P:ABw C:ABw");
    truncate_to(trap, file, PAGE_BYTES);
    assert_int_equal(pin_peek(&of_file), 'B');
    assert_int_equal(pin_peek(&of_copy), 'w');
    trap_expect_loads(trap, trap->base, 3, "P:A!! C:A!!");
    truncate_to(trap, file, 3 * PAGE_BYTES);
    trap_write(trap, parent, trap_page(trap, 2), 'n');
    pin_write(&of_copy, 0, "v", 1);
    trap_expect_loads(trap, trap->base, 3, "P:A.n C:A..");
    uint32_t used = trap_used(trap);

    trap_unpin(trap, &of_file);
    trap_unpin(trap, &of_copy);
    assert_int_equal(trap_used(trap), used - 2);
}

/* A hole: what the file itself had goes, private copies stay. */
static void make_holes(struct trap *trap, struct object *file)
{
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, 0, file, 0);
    trap_write(trap, parent, trap_page(trap, 0), 'p');
    trap_expect_loads(trap, trap->base, 3, "P:pBC");
    struct task *child = trap_fork(trap, parent, 'C');
    struct task *sharer = trap_fork(trap, parent, 'S');

    trap_write(trap, child, trap_page(trap, 1), 'c');
    trap_map_object(trap, sharer, trap->base, 3, MAP_REQUEST_SHARED, file, 0);
    trap_write(trap, sharer, trap_page(trap, 1), 's');
    trap_expect_loads(trap, trap->base, 3, "P:psC C:pcC S:AsC");
    punch(trap, file, 0, 2);
    trap_expect_loads(trap, trap->base, 3, "P:p.C C:pcC S:..C");
    trap_write(trap, sharer, trap_page(trap, 1), 't');
    trap_expect_loads(trap, trap->base, 3, "P:ptC C:pcC S:.tC");
    /* Past the end there is nothing to do. */
    punch(trap, file, 2, UINT64_MAX);
    punch(trap, file, 3, 9);
    punch(trap, file, 1, 1);
    trap_expect_loads(trap, trap->base, 3, "P:pt. C:pc. S:.t.");
    assert_int_equal(file->bytes, 3 * PAGE_BYTES);
}

TRAP(row103_hole_in_a_memory_file, ANYWHERE)
{
    make_holes(trap, trap_memory_file(trap, "ABC"));
}

TRAP(row103_hole_in_a_host_file, IN_SPAN)
{
    make_holes(trap, trap_file(trap, "ABC"));
}

/* Mappings beyond the end are there before the file is. */
TRAP(file_grows_into_its_mapping, ANYWHERE)
{
    struct object *file = trap_memory_file(trap, "A");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, MAP_REQUEST_SHARED, file, 0);
    trap_fork(trap, parent, 'C');
    all_are_refused(trap, 1);
    truncate_to(trap, file, PAGE_BYTES + 1);
    trap_write(trap, parent, trap_page(trap, 1) + PAGE_BYTES - 1, 'x');
    trap_expect_loads(trap, trap->base, 3, "P:A.! C:A.!");
    all_are_refused(trap, 2);
}

/* What cannot be granted changes nothing. */
TRAP(growth_is_refused_memory, IN_SPAN)
{
    struct allocation_gate *gate = &trap->machine->ram.gate;
    struct object *file = trap_memory_file(trap, "AB");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, MAP_REQUEST_SHARED, file, 0);
    trap_expect_loads(trap, trap->base, 3, "P:AB!");
    gate->fail_at = gate->requests + 1;
    int error = file_truncate(trap->machine, file, 400 * PAGE_BYTES);

    gate->fail_at = 0;
    assert_int_equal(error, -ENOMEM);
    assert_int_equal(file->bytes, 2 * PAGE_BYTES);
    assert_int_equal(file_truncate(trap->machine, file, FILE_MOST_BYTES + 1), -EFBIG);
    assert_int_equal(file_truncate(trap->machine, file, UINT64_MAX), -EFBIG);
    assert_int_equal(file->page_count, 2);
    trap_expect_loads(trap, trap->base, 3, "P:AB!");
    /* Shrinking asks for nothing. */
    gate->fail_at = gate->requests + 1;
    truncate_to(trap, file, PAGE_BYTES);
    gate->fail_at = 0;
    trap_expect_loads(trap, trap->base, 3, "P:A!!");
}

/* Guard entries stay, as in Linux. */
TRAP(guards_outlive_the_truncation, IN_SPAN)
{
    struct object *file = trap_memory_file(trap, "AB");
    struct task *parent = trap_first(trap);
    va_t guarded = trap_page(trap, 1);

    trap_map_object(trap, parent, trap->base, 2, MAP_REQUEST_SHARED, file, 0);
    trap_read(trap, parent, trap->base);
    trap_result(trap, sys_madvise(parent, guarded, PAGE_BYTES, ABI_MADV_GUARD_INSTALL), 0);
    truncate_to(trap, file, 0);
    assert_true(entry_is_guard(trap_entry(parent, trap_page(trap, 1))));
    punch(trap, file, 0, 1);
    truncate_to(trap, file, 2 * PAGE_BYTES);
    punch(trap, file, 0, 2);
    assert_true(entry_is_guard(trap_entry(parent, trap_page(trap, 1))));
    trap_refuses(trap, parent, trap_page(trap, 1), ACCESS_READ);
}

/* Much longer than its array of pages was, and back: what it held in between stays. */
static void test_long_files(void **state)
{
    struct trap trap;
    char byte = 0;

    (void)state;
    trap_open(&trap, kernel_find("modern"), &geometry_x86_64, MMU_SOFT, NULL);
    struct object *file = trap_memory_file(&trap, "AB");

    truncate_to(&trap, file, (uint64_t)1 << 30);
    assert_int_equal(file_write(trap.machine, file, ((uint64_t)1 << 30) - 1, "e", 1), 1);
    assert_int_equal(file_read(trap.machine, file, PAGE_BYTES, &byte, 1), 1);
    assert_int_equal(byte, 'B');
    assert_int_equal(file_read(trap.machine, file, ((uint64_t)1 << 30) - 1, &byte, 1), 1);
    assert_int_equal(byte, 'e');
    truncate_to(&trap, file, 3);
    truncate_to(&trap, file, (uint64_t)1 << 31);
    assert_int_equal(file_read(trap.machine, file, ((uint64_t)1 << 30) - 1, &byte, 1), 1);
    assert_int_equal(byte, 0);
    trap_close(&trap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p63_shared_memory_file_shrinks_and_grows),
        cmocka_unit_test(p63_shared_host_file_shrinks_and_grows),
        cmocka_unit_test(shared_memory_shrinks),
        cmocka_unit_test(private_copies_past_the_end_go),
        cmocka_unit_test(private_copies_past_the_end_of_a_host_file_go),
        cmocka_unit_test(shared_table_stays_shared),
        cmocka_unit_test(last_page_of_a_memory_file_is_cut),
        cmocka_unit_test(last_page_of_a_host_file_is_cut),
        cmocka_unit_test(absent_page_of_a_host_file_is_cut),
        cmocka_unit_test(mapping_with_an_offset),
        cmocka_unit_test(pinned_pages_outlive_the_truncation),
        cmocka_unit_test(row103_hole_in_a_memory_file),
        cmocka_unit_test(row103_hole_in_a_host_file),
        cmocka_unit_test(file_grows_into_its_mapping),
        cmocka_unit_test(growth_is_refused_memory),
        cmocka_unit_test(guards_outlive_the_truncation),
        cmocka_unit_test(test_long_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
