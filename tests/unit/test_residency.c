/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mincore and msync: rows 121 and 122 of the list of behaviours, as seen on Linux 6.18. */
#include <errno.h>
#include <string.h>

#include "pager/abi.h"
#include "pager/advise.h"
#include "tests/support/trap_fixture.h"

enum { MOST_PAGES = 8 };

/* A digit for each page, by the call that answers the host program. */
static void expect_core(struct trap *trap, struct task *task, unsigned pages, const char *expected)
{
    uint8_t told[MOST_PAGES] = {0};
    char text[MOST_PAGES + 1] = "";

    trap_result(trap, sys_mincore_to(task, trap->base, pages * PAGE_BYTES, told), 0);
    for (unsigned page = 0; page < pages; page++)
        text[page] = (char)('0' + told[page]);
    if (strcmp(text, expected) != 0)
        fail_msg("%s: \"%s\", not \"%s\"", trap->where, text, expected);
}

TRAP(core_of_anonymous_memory, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    expect_core(trap, parent, 3, "000");
    trap_read(trap, parent, trap_page(trap, 0)); /* the frame of zeros is there, too */
    trap_write(trap, parent, trap_page(trap, 2), 'c');
    expect_core(trap, parent, 3, "101");
    trap_protect(trap, parent, trap->base, 3, 0);
    expect_core(trap, parent, 3, "101");
    struct task *child = trap_fork(trap, parent, 'C');

    expect_core(trap, child, 3, "101");
    trap_result(trap, sys_madvise(child, trap->base, PAGE_BYTES, ABI_MADV_DONTNEED), 0);
    expect_core(trap, child, 3, "001");
    expect_core(trap, parent, 3, "101");
}

/* What the object has in memory counts, whoever brought it in. */
TRAP(core_of_objects, ANYWHERE)
{
    struct object *shm = trap_shm(trap, 2);
    struct task *parent = trap_first(trap);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_map_object(trap, parent, trap->base, 3, 0, shm, 0);
    trap_map_object(trap, child, trap->base, 3, MAP_REQUEST_SHARED, shm, 0);
    expect_core(trap, parent, 3, "000");
    trap_write(trap, child, trap_page(trap, 1), 'b');
    expect_core(trap, parent, 3, "010");
    trap_write(trap, parent, trap_page(trap, 0), 'a'); /* copied, through the object's page */
    expect_core(trap, child, 3, "110");
    trap_result(trap, sys_madvise(child, trap->base, 2 * PAGE_BYTES, ABI_MADV_GUARD_INSTALL), 0);
    expect_core(trap, child, 3, "110");
    trap_result(trap, sys_madvise(parent, trap->base, 2 * PAGE_BYTES, ABI_MADV_DONTNEED), 0);
    expect_core(trap, parent, 3, "110");
}

static int core(struct trap *trap, struct task *task, va_t va, uint64_t bytes, va_t vector)
{
    int result = sys_mincore(task, va, bytes, vector);

    trap_check(trap);
    return result;
}

TRAP(core_into_user_memory, IN_SPAN)
{
    struct task *parent = trap_first(trap);
    va_t vector = trap_page(trap, 2) - 2; /* it straddles two pages */
    uint8_t told[3];

    trap_map(trap, parent, trap->base, 3, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_result(trap, core(trap, parent, trap->base, 2 * PAGE_BYTES + 1, vector), 0);
    trap_result(trap, copyin(parent, told, vector, 3), 0);
    assert_memory_equal(told, "\1\0\0", 3);
    trap_result(trap, core(trap, parent, trap->base, 3 * PAGE_BYTES, vector), 0);
    trap_result(trap, copyin(parent, told, vector, 3), 0);
    assert_memory_equal(told, "\1\1\1", 3);
    trap_protect(trap, parent, trap_page(trap, 1), 2, VMA_READ);
    trap_result(trap, core(trap, parent, trap->base, PAGE_BYTES, vector), -EFAULT);
    trap_result(trap, core(trap, parent, trap->base, PAGE_BYTES, 8), -EFAULT);
    trap_unmap(trap, parent, trap_page(trap, 1), 1);
    /* What was told before the hole stays told. */
    va_t place = trap->base + 100;

    trap_write(trap, parent, place, '9');
    trap_result(trap, core(trap, parent, trap->base, 3 * PAGE_BYTES, place), -ENOMEM);
    assert_int_equal(trap_read(trap, parent, place), 1);
    assert_int_equal(trap_read(trap, parent, place + 1), 0);
}

TRAP(core_and_bad_arguments, ANYWHERE)
{
    struct task *parent = trap_first(trap);
    va_t end = parent->mm->user_end;
    uint8_t told[2];

    trap_map(trap, parent, trap->base, 1, RW);
    trap_result(trap, core(trap, parent, trap->base + 1, PAGE_BYTES, trap->base), -EINVAL);
    trap_result(trap, core(trap, parent, trap->base + 1, 0, trap->base), -EINVAL);
    trap_result(trap, core(trap, parent, trap->base, 0, 8), 0);
    trap_result(trap, core(trap, parent, trap->base, 0, UINT64_MAX), -EFAULT);
    trap_result(trap, core(trap, parent, trap_page(trap, 1), 0, trap->base), 0);
    trap_result(trap, core(trap, parent, trap_page(trap, 1), PAGE_BYTES, 8), -ENOMEM);
    trap_result(trap, core(trap, parent, trap_page(trap, 1), PAGE_BYTES, UINT64_MAX), -EFAULT);
    trap_result(trap, core(trap, parent, trap->base, UINT64_MAX, trap->base), -ENOMEM);
    trap_result(trap, core(trap, parent, end, PAGE_BYTES, trap->base), -ENOMEM);
    trap_result(trap, core(trap, parent, trap->base, PAGE_BYTES, end), -EFAULT);
    trap_result(trap, core(trap, parent, UINT64_MAX - PAGE_BYTES + 1, 1, trap->base), -ENOMEM);
    trap_result(trap, sys_mincore_to(parent, trap->base, 2 * PAGE_BYTES, told), -ENOMEM);
    trap_result(trap, sys_mincore_to(parent, trap->base + 1, PAGE_BYTES, told), -EINVAL);
}

/* --- msync --- */

TRAP(sync_and_bad_arguments, ANYWHERE)
{
    struct task *parent = trap_first(trap);
    static const int by_flags[] = {0, 0, 0, 0, 0, -EINVAL, 0, -EINVAL, -EINVAL};

    trap_map(trap, parent, trap->base, 3, RW);
    for (uint32_t flags = 0; flags < sizeof(by_flags) / sizeof(by_flags[0]); flags++)
        trap_result(trap, sys_msync(parent, trap->base, PAGE_BYTES, flags), by_flags[flags]);
    trap_result(trap, sys_msync(parent, trap->base + 1, PAGE_BYTES, ABI_MS_SYNC), -EINVAL);
    trap_result(trap, sys_msync(parent, trap->base + 1, 0, ABI_MS_SYNC), -EINVAL);
    trap_result(trap, sys_msync(parent, trap->base, 0, ABI_MS_SYNC), 0);
    trap_result(trap, sys_msync(parent, trap->base, 0, ABI_MS_SYNC | ABI_MS_ASYNC), -EINVAL);
    trap_result(trap, sys_msync(parent, trap->base, UINT64_MAX, ABI_MS_SYNC), 0);
    trap_result(trap, sys_msync(parent, trap->base, -PAGE_BYTES, ABI_MS_SYNC), -ENOMEM);
    trap_result(trap, sys_msync(parent, parent->mm->user_end, PAGE_BYTES, ABI_MS_SYNC), -ENOMEM);
    trap_unmap(trap, parent, trap_page(trap, 1), 1);
    trap_result(trap, sys_msync(parent, trap->base, 3 * PAGE_BYTES, ABI_MS_SYNC), -ENOMEM);
    trap_result(trap, sys_msync(parent, trap->base, 3 * PAGE_BYTES, ABI_MS_ASYNC), -ENOMEM);
    trap_result(trap, sys_msync(parent, trap->base, 3 * PAGE_BYTES, 0), -ENOMEM);
    trap_result(trap, sys_msync(parent, trap_page(trap, 1), PAGE_BYTES, 0), -ENOMEM);
}

TRAP(sync_invalidates_nothing_that_is_locked, ANYWHERE)
{
    struct task *parent = trap_first(trap);
    uint64_t bytes = 3 * PAGE_BYTES;

    trap_map(trap, parent, trap->base, 3, RW);
    trap_result(trap, sys_mlock(parent, trap_page(trap, 2), PAGE_BYTES), 0);
    trap_result(trap, sys_msync(parent, trap->base, bytes, ABI_MS_INVALIDATE), -EBUSY);
    trap_result(trap, sys_msync(parent, trap->base, bytes, ABI_MS_INVALIDATE | ABI_MS_SYNC),
                -EBUSY);
    trap_result(trap, sys_msync(parent, trap->base, bytes, ABI_MS_SYNC), 0);
    trap_result(trap, sys_msync(parent, trap->base, 2 * PAGE_BYTES, ABI_MS_INVALIDATE), 0);
    /* A hole is passed over; with MS_ASYNC alone it ends the call. */
    trap_unmap(trap, parent, trap_page(trap, 1), 1);
    trap_result(trap, sys_msync(parent, trap->base, bytes, ABI_MS_INVALIDATE), -EBUSY);
    trap_result(trap, sys_msync(parent, trap->base, bytes, ABI_MS_INVALIDATE | ABI_MS_ASYNC),
                -EBUSY);
    trap_result(trap, sys_msync(parent, trap->base, bytes, ABI_MS_ASYNC), -ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(core_of_anonymous_memory),
        cmocka_unit_test(core_of_objects),
        cmocka_unit_test(core_into_user_memory),
        cmocka_unit_test(core_and_bad_arguments),
        cmocka_unit_test(sync_and_bad_arguments),
        cmocka_unit_test(sync_invalidates_nothing_that_is_locked),
    };

    return cmocka_run_group_tests_name("residency", tests, NULL, NULL);
}
