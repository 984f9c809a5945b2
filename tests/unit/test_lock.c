/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlock and munlock, MAP_POPULATE and MADV_POPULATE_*: what is marked, what is brought in and how,
 * what is said; as seen on Linux 6.18. Row 123 and 20 of the list of behaviours, and trap P12.
 */
#include <errno.h>
#include <string.h>

#include "pager/abi.h"
#include "pager/advise.h"
#include "tests/support/trap_fixture.h"

static int lock(struct task *task, va_t va, uint64_t pages)
{
    return sys_mlock(task, va, pages * PAGE_BYTES);
}

static int unlock(struct task *task, va_t va, uint64_t pages)
{
    return sys_munlock(task, va, pages * PAGE_BYTES);
}

static int populate(struct task *task, va_t va, uint64_t pages, int advice)
{
    return sys_madvise(task, va, pages * PAGE_BYTES, advice);
}

/* For each page: 'L' locked, '-' not, '!' not mapped; then '1' present, '0' not. */
static void expect_pages(struct trap *trap, struct task *task, unsigned pages, const char *expected)
{
    char text[32] = "";

    for (unsigned page = 0; page < pages; page++) {
        va_t va = trap_page(trap, page);
        const struct vma *vma = vma_find(task->mm, va);
        char *cell = text + (size_t)3 * page;
        bool is_locked = vma != NULL && (vma->flags & VMA_LOCKED) != 0;

        cell[0] = vma == NULL || !vma_contains(vma, va) ? '!' : is_locked ? 'L' : '-';
        cell[1] = entry_is_present(trap_entry(task, va)) ? '1' : '0';
        cell[2] = page + 1 < pages ? ' ' : '\0';
    }
    if (strcmp(text, expected) != 0)
        fail_msg("%s: \"%s\", not \"%s\"", trap->where, text, expected);
}

TRAP(lock_marks_and_brings_in, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    trap_result(trap, lock(parent, trap->base, 2), 0);
    expect_pages(trap, parent, 3, "L1 L1 -0");
    for (unsigned page = 0; page < 2; page++)
        assert_int_equal(trap_faults(trap, parent, trap_page(trap, page), ACCESS_WRITE), 0);
    trap_result(trap, lock(parent, trap->base, 3), 0);
    expect_pages(trap, parent, 3, "L1 L1 L1");
    trap_result(trap, unlock(parent, trap_page(trap, 1), 1), 0);
    expect_pages(trap, parent, 3, "L1 -1 L1");
    trap_result(trap, unlock(parent, trap->base, 3), 0);
    expect_pages(trap, parent, 3, "-1 -1 -1");
    assert_int_equal(vma_find(parent->mm, trap->base)->end,
                     trap_page(trap, trap->merges_changes ? 3 : 1));
}

TRAP(lock_takes_any_address_and_length, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    trap_result(trap, sys_mlock(parent, trap_page(trap, 1) + 100, 10), 0);
    expect_pages(trap, parent, 3, "-0 L1 -0");
    trap_result(trap, sys_mlock(parent, trap_page(trap, 2) + 1, 0), 0);
    expect_pages(trap, parent, 3, "-0 L1 L1");
    trap_result(trap, sys_mlock(parent, trap->base, 0), 0);
    trap_result(trap, sys_mlock(parent, trap->base, UINT64_MAX), 0); /* it wraps to nothing */
    trap_result(trap, sys_munlock(parent, trap->base, UINT64_MAX), 0);
    expect_pages(trap, parent, 3, "-0 L1 L1");
    trap_result(trap, sys_mlock(parent, trap->base, UINT64_MAX - PAGE_BYTES + 1), -EINVAL);
    trap_result(trap, sys_munlock(parent, trap->base, UINT64_MAX - PAGE_BYTES + 1), -EINVAL);
    trap_result(trap, sys_mlock(parent, UINT64_MAX - 2 * PAGE_BYTES + 1, PAGE_BYTES), -ENOMEM);
    trap_unmap(trap, parent, trap->base, 3);
    trap_result(trap, lock(parent, trap->base, 1), -ENOMEM);
    trap_result(trap, unlock(parent, trap->base, 1), -ENOMEM);
    trap_result(trap, sys_mlock(parent, trap->base, 0), 0);
    trap_result(trap, sys_mlock(parent, trap->base + 1, 0), -ENOMEM);
}

/* What lies before a hole is marked, and nothing is brought in. */
TRAP(lock_stops_at_a_hole, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    trap_unmap(trap, parent, trap_page(trap, 1), 1);
    trap_result(trap, lock(parent, trap->base, 3), -ENOMEM);
    expect_pages(trap, parent, 3, "L0 !0 -0");
    trap_result(trap, lock(parent, trap_page(trap, 2), 1), 0);
    trap_result(trap, unlock(parent, trap->base, 3), -ENOMEM);
    expect_pages(trap, parent, 3, "-0 !0 L1");
    trap_result(trap, lock(parent, trap_page(trap, 1), 2), -ENOMEM);
}

TRAP(lock_marks_what_it_cannot_bring_in, ANYWHERE)
{
    struct object *file = trap_file(trap, "A");
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    trap_protect(trap, parent, trap_page(trap, 1), 1, 0);
    trap_result(trap, lock(parent, trap->base, 3), -ENOMEM);
    expect_pages(trap, parent, 3, "L1 L0 L0");
    trap_map_object(trap, parent, trap->base, 3, MAP_REQUEST_SHARED, file, 0);
    trap_result(trap, lock(parent, trap->base, 3), -ENOMEM); /* past the end of the file */
    expect_pages(trap, parent, 3, "L1 L0 L0");
}

TRAP(lock_copies_private_pages_and_leaves_shared_ones_clean, ANYWHERE)
{
    struct object *file = trap_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap_page(trap, 0), 1, 0, file, 0);
    trap_map_object(trap, parent, trap_page(trap, 1), 1, MAP_REQUEST_SHARED, file, 1);
    trap_map_object(trap, parent, trap_page(trap, 2), 1, 0, file, 2);
    trap_protect(trap, parent, trap_page(trap, 2), 1, VMA_READ);
    trap_result(trap, lock(parent, trap->base, 3), 0);
    assert_true(entry_is_exclusive(trap_entry(parent, trap_page(trap, 0))));
    assert_false(entry_is_dirty(trap_entry(parent, trap_page(trap, 1))));
    assert_int_equal(entry_pfn(trap_entry(parent, trap_page(trap, 2))), file->pages[2]);
    /* Made writable later, it is copied then: a write to locked memory is no fault. */
    trap_protect(trap, parent, trap_page(trap, 2), 1, RW);
    assert_int_equal(trap_faults(trap, parent, trap_page(trap, 2), ACCESS_WRITE), 0);
    trap_expect_loads(trap, trap->base, 3, "P:ABf");
}

/* A lock is one address space's own, under tables that were shared. */
TRAP(p12_lock_and_unlock_are_the_callers, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    trap_result(trap, lock(parent, trap->base, 2), 0);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_tables(trap, trap->base, "P:1x1 C:2x1"); /* never shared while locked */
    expect_pages(trap, child, 3, "-1 -1 -1");
    trap_result(trap, unlock(child, trap->base, 3), 0);
    expect_pages(trap, parent, 3, "L1 L1 -1");
    trap_result(trap, unlock(parent, trap->base, 3), 0);
    struct task *grandchild = trap_fork(trap, child, 'G');

    trap_result(trap, lock(grandchild, trap->base, 3), 0);
    expect_pages(trap, grandchild, 3, "L1 L1 L1");
    expect_pages(trap, child, 3, "-1 -1 -1");
    for (unsigned page = 0; page < 3; page++)
        assert_int_equal(trap_faults(trap, grandchild, trap_page(trap, page), ACCESS_WRITE), 0);
    trap_expect_loads(trap, trap->base, 3, "P:abc C:abc G:fff");
    trap_result(trap, sys_madvise(child, trap->base, PAGE_BYTES, ABI_MADV_DONTNEED), 0);
    trap_expect_loads(trap, trap->base, 3, "P:abc C:.bc G:fff");
}

TRAP(populate_for_reading_and_writing, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    trap_result(trap, populate(parent, trap->base, 3, ABI_MADV_POPULATE_READ), 0);
    expect_pages(trap, parent, 3, "-1 -1 -1");
    assert_false(entry_is_writable(trap_entry(parent, trap->base)));
    trap_result(trap, populate(parent, trap->base, 3, ABI_MADV_POPULATE_WRITE), 0);
    assert_int_equal(trap_faults(trap, parent, trap_page(trap, 2), ACCESS_WRITE), 0);
    trap_protect(trap, parent, trap_page(trap, 0), 1, VMA_READ);
    trap_protect(trap, parent, trap_page(trap, 1), 1, VMA_WRITE);
    trap_protect(trap, parent, trap_page(trap, 2), 1, 0);
    static const int results[2][3] = {{0, -EINVAL, -EINVAL}, {-EINVAL, 0, -EINVAL}};

    for (unsigned page = 0; page < 3; page++) {
        trap_result(trap, populate(parent, trap_page(trap, page), 1, ABI_MADV_POPULATE_READ),
                    results[0][page]);
        trap_result(trap, populate(parent, trap_page(trap, page), 1, ABI_MADV_POPULATE_WRITE),
                    results[1][page]);
    }
}

TRAP(populate_stops_at_the_first_refusal, ANYWHERE)
{
    struct object *file = trap_file(trap, "A");
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    trap_protect(trap, parent, trap_page(trap, 1), 1, VMA_READ);
    trap_result(trap, populate(parent, trap->base, 3, ABI_MADV_POPULATE_WRITE), -EINVAL);
    expect_pages(trap, parent, 3, "-1 -0 -0");
    trap_unmap(trap, parent, trap_page(trap, 1), 1);
    trap_result(trap, populate(parent, trap->base, 3, ABI_MADV_POPULATE_WRITE), -ENOMEM);
    expect_pages(trap, parent, 3, "-1 !0 -0");
    trap_map_object(trap, parent, trap->base, 3, 0, file, 0);
    trap_result(trap, populate(parent, trap->base, 3, ABI_MADV_POPULATE_READ), -EFAULT);
    trap_result(trap, populate(parent, trap->base, 3, ABI_MADV_POPULATE_WRITE), -EFAULT);
    expect_pages(trap, parent, 3, "-1 -0 -0");
}

static void map_populated(struct trap *trap, struct task *task, struct map_request request)
{
    va_t address;

    request.address = trap->base;
    request.bytes = 3 * PAGE_BYTES;
    request.flags |= MAP_REQUEST_FIXED | MAP_REQUEST_POPULATE;
    trap_result(trap, sys_mmap(task, &request, &address), 0);
}

TRAP(mapping_with_populate, ANYWHERE)
{
    struct object *file = trap_file(trap, "AB");
    struct task *parent = trap_first(trap);

    map_populated(trap, parent, (struct map_request){.protection = RW});
    assert_int_equal(trap_faults(trap, parent, trap_page(trap, 1), ACCESS_WRITE), 0);
    map_populated(trap, parent, (struct map_request){.protection = 0});
    expect_pages(trap, parent, 3, "-0 -0 -0");
    map_populated(trap, parent, (struct map_request){.protection = VMA_READ});
    expect_pages(trap, parent, 3, "-1 -1 -1");
    map_populated(trap, parent, (struct map_request){.protection = RW, .object = file});
    expect_pages(trap, parent, 3, "-1 -1 -0"); /* what cannot be had is left out */
    map_populated(
        trap, parent,
        (struct map_request){.protection = RW, .flags = MAP_REQUEST_SHARED, .object = file});
    expect_pages(trap, parent, 3, "-1 -1 -0");
    assert_false(entry_is_dirty(trap_entry(parent, trap->base)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lock_marks_and_brings_in),
        cmocka_unit_test(lock_takes_any_address_and_length),
        cmocka_unit_test(lock_stops_at_a_hole),
        cmocka_unit_test(lock_marks_what_it_cannot_bring_in),
        cmocka_unit_test(lock_copies_private_pages_and_leaves_shared_ones_clean),
        cmocka_unit_test(p12_lock_and_unlock_are_the_callers),
        cmocka_unit_test(populate_for_reading_and_writing),
        cmocka_unit_test(populate_stops_at_the_first_refusal),
        cmocka_unit_test(mapping_with_populate),
    };

    return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
