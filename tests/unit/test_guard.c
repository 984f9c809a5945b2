/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guard pages (MADV_GUARD_INSTALL, MADV_GUARD_REMOVE), in private, shared and file mappings: an
 * access is SEGV_MAPERR, the VMA stays one, fork hands them on; as seen on Linux 6.18.
 */
#include <errno.h>

#include "pager/abi.h"
#include "pager/advise.h"
#include "pager/file.h"
#include "tests/support/ruler.h"
#include "tests/support/trap_fixture.h"

static int guard(struct task *task, va_t va, uint64_t pages)
{
    return sys_madvise(task, va, pages * PAGE_BYTES, ABI_MADV_GUARD_INSTALL);
}

static int unguard(struct task *task, va_t va, uint64_t pages)
{
    return sys_madvise(task, va, pages * PAGE_BYTES, ABI_MADV_GUARD_REMOVE);
}

static void refuses_both(struct trap *trap, struct task *task, unsigned page)
{
    trap_refuses(trap, task, trap_page(trap, page), ACCESS_READ);
    trap_refuses(trap, task, trap_page(trap, page), ACCESS_WRITE);
}

static struct task *abc(struct trap *trap)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    return parent;
}

TRAP(guard_takes_the_page_and_leaves_the_mapping_whole, ANYWHERE)
{
    struct task *parent = abc(trap);
    uint32_t used = trap_used(trap);

    trap_result(trap, guard(parent, trap_page(trap, 1), 1), 0);
    assert_int_equal(trap_used(trap), used - 1);
    struct ruler ruler = ruler_of(parent->mm, trap->base, 3);

    assert_string_equal(ruler.text, "aaa a:rw-p*");
    refuses_both(trap, parent, 1);
    trap_result(trap, guard(parent, trap_page(trap, 1), 1), 0);
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 0)), 'a');
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 2)), 'c');
    trap_result(trap, unguard(parent, trap->base, 3), 0);
    trap_expect_loads(trap, trap->base, 3, "P:a.c");
    trap_result(trap, unguard(parent, trap->base, 3), 0);
}

TRAP(guard_is_maperr_in_user_mode, ANYWHERE)
{
    struct task *parent = abc(trap);

    trap_result(trap, guard(parent, trap_page(trap, 1), 1), 0);
    trap_dies(trap, trap_fork(trap, parent, 'C'), trap_page(trap, 1) + 5, ACCESS_READ,
              EVENT_BAD_MAPERR);
    trap_dies(trap, trap_fork(trap, parent, 'D'), trap_page(trap, 1) + 6, ACCESS_WRITE,
              EVENT_BAD_MAPERR);
    trap_protect(trap, parent, trap->base, 3, 0);
    trap_dies(trap, trap_fork(trap, parent, 'E'), trap_page(trap, 1), ACCESS_READ,
              EVENT_BAD_ACCERR);
    trap_protect(trap, parent, trap->base, 3, VMA_READ);
    trap_dies(trap, trap_fork(trap, parent, 'F'), trap_page(trap, 1), ACCESS_READ,
              EVENT_BAD_MAPERR);
}

TRAP(guard_is_the_callers_alone_and_inherited, ANYWHERE)
{
    struct task *parent = abc(trap);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_result(trap, guard(child, trap_page(trap, 1), 1), 0);
    refuses_both(trap, child, 1);
    trap_expect_loads(trap, trap->base, 1, "P:a C:a");
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 1)), 'b');
    struct task *grandchild = trap_fork(trap, child, 'G');

    refuses_both(trap, grandchild, 1);
    trap_result(trap, unguard(child, trap_page(trap, 1), 1), 0);
    refuses_both(trap, grandchild, 1);
    assert_int_equal(trap_read(trap, child, trap_page(trap, 1)), 0);
    trap_exit(trap, grandchild);
    trap_write(trap, child, trap_page(trap, 1), 'x');
    trap_expect_loads(trap, trap->base, 3, "P:abc C:axc");
}

/* Memory that was never touched: tables are made for the guards, and fork hands them on. */
TRAP(guard_in_untouched_memory_is_inherited, ANYWHERE)
{
    struct object *file = trap_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 1, RW);
    trap_map_object(trap, parent, trap_page(trap, 1), 1, MAP_REQUEST_SHARED, file, 1);
    trap_map_object(trap, parent, trap_page(trap, 2), 1, 0, file, 2);
    trap_result(trap, guard(parent, trap->base, 3), 0);
    struct task *child = trap_fork(trap, parent, 'C');

    for (unsigned page = 0; page < 3; page++) {
        refuses_both(trap, parent, page);
        refuses_both(trap, child, page);
    }
    trap_result(trap, unguard(child, trap->base, 3), 0);
    for (unsigned page = 0; page < 3; page++) {
        trap_refuses(trap, parent, trap_page(trap, page), ACCESS_READ);
        assert_int_equal(trap_read(trap, child, trap_page(trap, page)), "\0BC"[page]);
    }
}

/* Where there were guards fork hands everything on, and nothing is kept apart by it. */
TRAP(guard_makes_fork_copy_the_mapping, ANYWHERE)
{
    struct object *file = trap_memory_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, 0, file, 0);
    trap_read(trap, parent, trap_page(trap, 0));
    trap_result(trap, guard(parent, trap_page(trap, 1), 1), 0);
    trap_result(trap, unguard(parent, trap_page(trap, 1), 1), 0);
    trap_result(trap, sys_madvise(parent, trap->base, PAGE_BYTES, ABI_MADV_DONTDUMP), 0);
    struct task *child = trap_fork(trap, parent, 'C');

    assert_true(entry_is_present(trap_entry(child, trap_page(trap, 0))));
    trap_result(trap, sys_madvise(child, trap->base, PAGE_BYTES, ABI_MADV_DODUMP), 0);
    struct ruler ruler = ruler_of(child->mm, trap->base, 3);

    /* Mappings of a file that change join where families are kept, as since 2.6.7. */
    enum family_rule rule = trap->kernel.merging->families;
    bool joins = rule == FAMILIES_SHARED || rule == FAMILIES_FORKED;

    assert_string_equal(ruler.text, joins ? "aaa a:rw-p@0" : "abb a:rw-p@0 b:rw-p@1");
    trap_expect_loads(trap, trap->base, 3, "P:ABC C:ABC");
}

TRAP(guard_in_shared_memory_keeps_the_contents, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map_shared(trap, parent, trap->base, 3);
    trap_write(trap, parent, trap_page(trap, 1), 'b');
    struct task *child = trap_fork(trap, parent, 'C');

    trap_result(trap, guard(parent, trap_page(trap, 1), 1), 0);
    refuses_both(trap, parent, 1);
    trap_write(trap, child, trap_page(trap, 1), 'x');
    trap_result(trap, unguard(parent, trap_page(trap, 1), 1), 0);
    trap_expect_loads(trap, trap->base, 3, "P:.x. C:.x.");
}

TRAP(guard_outlives_discarding_and_protecting, ANYWHERE)
{
    struct task *parent = abc(trap);

    trap_result(trap, guard(parent, trap_page(trap, 1), 1), 0);
    trap_result(trap, sys_madvise(parent, trap->base, 3 * PAGE_BYTES, ABI_MADV_FREE), 0);
    refuses_both(trap, parent, 1);
    trap_result(trap, sys_madvise(parent, trap->base, 3 * PAGE_BYTES, ABI_MADV_DONTNEED), 0);
    refuses_both(trap, parent, 1);
    trap_protect(trap, parent, trap->base, 3, 0);
    trap_protect(trap, parent, trap->base, 3, RW);
    refuses_both(trap, parent, 1);
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 0)), 0);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_result(trap, sys_madvise(child, trap->base, 3 * PAGE_BYTES, ABI_MADV_DONTNEED), 0);
    refuses_both(trap, child, 1);
    trap_map(trap, child, trap_page(trap, 1), 1, RW); /* a new mapping has none */
    assert_int_equal(trap_read(trap, child, trap_page(trap, 1)), 0);
    refuses_both(trap, parent, 1);
}

/* It lies in the table, not in the object: holes and truncation leave it, also past the end. */
TRAP(guard_outlives_the_pages_of_its_object, ANYWHERE)
{
    struct object *file = trap_memory_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, MAP_REQUEST_SHARED, file, 0);
    trap_result(trap, guard(parent, trap_page(trap, 1), 2), 0);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_result(trap, sys_madvise(parent, trap->base, 3 * PAGE_BYTES, ABI_MADV_REMOVE), 0);
    refuses_both(trap, parent, 1);
    trap_result(trap, file_truncate(trap->machine, file, PAGE_BYTES), 0);
    trap_result(trap, guard(parent, trap->base, 1), 0);
    trap_result(trap, file_truncate(trap->machine, file, 3 * PAGE_BYTES), 0);
    for (unsigned page = 0; page < 3; page++)
        refuses_both(trap, parent, page);
    refuses_both(trap, child, 2);
    trap_result(trap, unguard(child, trap->base, 3), 0);
    trap_write(trap, child, trap_page(trap, 2), 'x');
    trap_result(trap, unguard(parent, trap->base, 3), 0);
    trap_expect_loads(trap, trap->base, 3, "P:..x C:..x");
}

TRAP(guard_and_what_forbids_it, ANYWHERE)
{
    struct task *parent = abc(trap);
    uint64_t bytes = 3 * PAGE_BYTES;

    trap_result(trap, sys_mlock(parent, trap_page(trap, 1), PAGE_BYTES), 0);
    trap_result(trap, guard(parent, trap->base, 3), -EINVAL);
    refuses_both(trap, parent, 0);
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 1)), 'b');
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 2)), 'c');
    trap_result(trap, unguard(parent, trap->base, 3), 0); /* locked or not */
    trap_result(trap, sys_munlock(parent, trap->base, bytes), 0);
    trap_unmap(trap, parent, trap_page(trap, 1), 1);
    trap_result(trap, guard(parent, trap->base, 3), -ENOMEM);
    refuses_both(trap, parent, 0);
    refuses_both(trap, parent, 2);
    trap_map(trap, parent, trap_page(trap, 1), 1, RW);
    /* What cannot be had is not brought in either. */
    trap_result(trap, sys_madvise(parent, trap->base, bytes, ABI_MADV_POPULATE_READ), -EFAULT);
    trap_result(trap, sys_madvise(parent, trap->base, bytes, ABI_MADV_POPULATE_WRITE), -EFAULT);
    trap_result(trap, sys_mlock(parent, trap->base, bytes), -ENOMEM);
}

TRAP(guard_ends_with_wipe_on_fork, ANYWHERE)
{
    struct task *parent = abc(trap);

    trap_result(trap, guard(parent, trap_page(trap, 1), 1), 0);
    trap_result(trap, sys_madvise(parent, trap->base, 3 * PAGE_BYTES, ABI_MADV_WIPEONFORK), 0);
    struct task *child = trap_fork(trap, parent, 'C');

    assert_int_equal(trap_read(trap, child, trap_page(trap, 1)), 0);
    refuses_both(trap, parent, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guard_takes_the_page_and_leaves_the_mapping_whole),
        cmocka_unit_test(guard_is_maperr_in_user_mode),
        cmocka_unit_test(guard_is_the_callers_alone_and_inherited),
        cmocka_unit_test(guard_in_untouched_memory_is_inherited),
        cmocka_unit_test(guard_makes_fork_copy_the_mapping),
        cmocka_unit_test(guard_in_shared_memory_keeps_the_contents),
        cmocka_unit_test(guard_outlives_discarding_and_protecting),
        cmocka_unit_test(guard_outlives_the_pages_of_its_object),
        cmocka_unit_test(guard_and_what_forbids_it),
        cmocka_unit_test(guard_ends_with_wipe_on_fork),
    };

    return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
