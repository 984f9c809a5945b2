/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * madvise that gives pages up (DONTNEED, DONTNEED_LOCKED, FREE, PAGEOUT), alone and under tables
 * that are shared. The errors and the parts that are done before one are those of Linux 6.18.
 */
#include <errno.h>

#include "pager/abi.h"
#include "pager/advise.h"
#include "tests/support/trap_fixture.h"

static int advise(struct task *task, va_t va, uint64_t pages, int advice)
{
    return sys_madvise(task, va, pages * PAGE_BYTES, advice);
}

/* P with three written pages: "P:abc". */
static struct task *abc(struct trap *trap)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    return parent;
}

static uint64_t resident(const struct task *task)
{
    struct mm_usage usage;

    mm_usage(task->mm, &usage);
    return usage.resident[FRAME_ANON] + usage.resident[FRAME_SHM] + usage.resident[FRAME_FILE];
}

TRAP(dontneed_gives_zeros_and_keeps_neighbours, ANYWHERE)
{
    struct task *parent = abc(trap);
    uint32_t used = trap_used(trap);

    trap_result(trap, advise(parent, trap_page(trap, 1), 1, ABI_MADV_DONTNEED), 0);
    assert_int_equal(trap_used(trap), used - 1);
    assert_true(entry_is_none(trap_entry(parent, trap_page(trap, 1))));
    trap_expect_loads(trap, trap->base, 3, "P:a.c");
    trap_write(trap, parent, trap_page(trap, 1), 'x');
    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_DONTNEED), 0);
    trap_expect_loads(trap, trap->base, 3, "P:...");
}

TRAP(p44_dontneed_after_fork_drops_the_callers_page_only, ANYWHERE)
{
    struct task *parent = abc(trap);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_result(trap, advise(child, trap_page(trap, 1), 1, ABI_MADV_DONTNEED), 0);
    trap_expect(trap, trap->base, 3, "P:abc C:a.c");
    trap_expect_loads(trap, trap->base, 3, "P:abc C:a.c");
    trap_result(trap, advise(parent, trap_page(trap, 2), 1, ABI_MADV_DONTNEED), 0);
    trap_write(trap, parent, trap_page(trap, 0), 'x');
    trap_expect_loads(trap, trap->base, 3, "P:xb. C:a.c");
}

/* Whole spans are dropped, not split: nothing is copied, and the others keep the table. */
TRAP(dontneed_of_whole_spans_drops_shared_tables, IN_SPAN)
{
    struct task *parent = trap_first(trap);
    va_t start = geometry_span_start(trap->geometry, trap->base);
    uint64_t pages = trap->span / PAGE_BYTES;

    trap_map(trap, parent, start, 3 * pages, RW);
    for (unsigned span = 0; span < 3; span++)
        trap_write(trap, parent, start + span * trap->span, (char)('a' + span));
    struct task *child = trap_fork(trap, parent, 'C');
    uint64_t copied = trap_count(trap, EVENT_ENTRY_COPIED);

    trap_result(trap, advise(child, start + PAGE_BYTES, 3 * pages - 1, ABI_MADV_DONTNEED), 0);
    trap_tables(trap, start, "P:1x1 C:2x1"); /* the first is emptied in part */
    trap_tables(trap, start + trap->span, trap_either(trap, "P:1x1 C:-", "P:1x1 C:2x1"));
    trap_tables(trap, start + 2 * trap->span, trap_either(trap, "P:1x1 C:-", "P:1x1 C:2x1"));
    assert_int_equal(trap_count(trap, EVENT_ENTRY_COPIED) - copied, trap->shares ? 1 : 0);
    trap_expect(trap, start, 1, "P:a C:a");
    trap_expect_loads(trap, start + trap->span, 1, "P:b C:.");
    trap_write(trap, child, start + 2 * trap->span, 'x');
    trap_expect_loads(trap, start + 2 * trap->span, 1, "P:c C:x");
}

TRAP(dontneed_of_a_file_mapping_shows_the_file_again, ANYWHERE)
{
    struct object *file = trap_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, 0, file, 0);
    trap_write(trap, parent, trap_page(trap, 0), 'x');
    trap_expect_loads(trap, trap->base, 3, "P:xBC");
    struct task *child = trap_fork(trap, parent, 'C');

    trap_result(trap, advise(child, trap->base, 2, ABI_MADV_DONTNEED), 0);
    trap_expect_loads(trap, trap->base, 3, "P:xBC C:ABC");
}

TRAP(dontneed_of_shared_memory_keeps_the_contents, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map_shared(trap, parent, trap->base, 3);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_write(trap, parent, trap_page(trap, 2), 'c');
    struct task *child = trap_fork(trap, parent, 'C');
    uint64_t before = resident(parent);

    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_DONTNEED), 0);
    assert_int_equal(resident(parent), before - 2);
    trap_expect_loads(trap, trap->base, 3, "P:a.c C:a.c");
    trap_write(trap, child, trap_page(trap, 1), 'b');
    trap_write(trap, parent, trap_page(trap, 0), 'x');
    trap_expect_loads(trap, trap->base, 3, "P:xbc C:xbc");
}

TRAP(dontneed_stops_at_locked_memory, ANYWHERE)
{
    struct task *parent = abc(trap);

    trap_result(trap, sys_mlock(parent, trap_page(trap, 1), PAGE_BYTES), 0);
    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_DONTNEED), -EINVAL);
    trap_expect(trap, trap->base, 3, "P:.bc");
    trap_result(trap, advise(parent, trap_page(trap, 1), 2, ABI_MADV_FREE), -EINVAL);
    trap_result(trap, advise(parent, trap_page(trap, 1), 2, ABI_MADV_COLD), -EINVAL);
    trap_result(trap, advise(parent, trap_page(trap, 1), 2, ABI_MADV_PAGEOUT), -EINVAL);
    trap_result(trap, advise(parent, trap_page(trap, 1), 2, ABI_MADV_DONTNEED_LOCKED), 0);
    trap_expect_loads(trap, trap->base, 3, "P:...");
}

TRAP(dontneed_goes_on_over_a_hole, ANYWHERE)
{
    struct task *parent = abc(trap);

    trap_unmap(trap, parent, trap_page(trap, 1), 1);
    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_DONTNEED), -ENOMEM);
    trap_expect(trap, trap->base, 3, "P:.!.");
    trap_write(trap, parent, trap_page(trap, 2), 'c');
    trap_result(trap, advise(parent, trap_page(trap, 1), 2, ABI_MADV_DONTNEED), -ENOMEM);
    trap_expect(trap, trap->base, 3, "P:.!.");
    trap_result(trap, advise(parent, trap_page(trap, 1), 1, ABI_MADV_DONTNEED), -ENOMEM);
}

TRAP(dontneed_needs_no_right, ANYWHERE)
{
    struct task *parent = abc(trap);

    trap_protect(trap, parent, trap->base, 3, 0);
    trap_result(trap, advise(parent, trap->base, 2, ABI_MADV_DONTNEED), 0);
    trap_protect(trap, parent, trap->base, 3, RW);
    trap_expect_loads(trap, trap->base, 3, "P:..c");
}

/* --- FREE --- */

static bool is_lazy(const struct task *task, va_t va)
{
    entry_t entry = trap_entry(task, va);

    return entry_is_lazy_free(entry) && !entry_is_dirty(entry);
}

TRAP(lazy_free_page_is_read_and_a_write_keeps_it, ANYWHERE)
{
    struct task *parent = abc(trap);

    trap_result(trap, advise(parent, trap->base, 2, ABI_MADV_FREE), 0);
    assert_true(is_lazy(parent, trap_page(trap, 0)) && is_lazy(parent, trap_page(trap, 1)));
    assert_false(is_lazy(parent, trap_page(trap, 2)));
    trap_expect_loads(trap, trap->base, 3, "P:abc");
    assert_true(is_lazy(parent, trap_page(trap, 0)));
    assert_int_equal(trap_faults(trap, parent, trap_page(trap, 0), ACCESS_WRITE), 0);
    trap_steps(trap, "mark-dirty");
    assert_false(entry_is_lazy_free(trap_entry(parent, trap_page(trap, 0))));
    assert_true(entry_is_dirty(trap_entry(parent, trap_page(trap, 0))));
    trap_expect_loads(trap, trap->base, 3, "P:fbc");
}

TRAP(lazy_free_then_fork_then_write, ANYWHERE)
{
    struct task *parent = abc(trap);

    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_FREE), 0);
    struct task *child = trap_fork(trap, parent, 'C');

    assert_true(is_lazy(child, trap_page(trap, 0)));
    trap_write(trap, child, trap_page(trap, 0), 'x');
    trap_write(trap, parent, trap_page(trap, 1), 'y');
    trap_expect_loads(trap, trap->base, 3, "P:ayc C:xbc");
    assert_true(is_lazy(parent, trap_page(trap, 0)) && is_lazy(child, trap_page(trap, 1)));
    trap_write(trap, parent, trap_page(trap, 0), 'z');
    trap_exit(trap, child);
    trap_write(trap, parent, trap_page(trap, 2), 'w');
    for (unsigned page = 0; page < 3; page++)
        assert_false(entry_is_lazy_free(trap_entry(parent, trap_page(trap, page))));
    trap_expect_loads(trap, trap->base, 3, "P:zyw");
}

/* Under a shared table the advice is the caller's alone. */
TRAP(lazy_free_after_fork_is_the_callers, ANYWHERE)
{
    struct task *parent = abc(trap);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_result(trap, advise(child, trap->base, 2, ABI_MADV_FREE), 0);
    assert_true(is_lazy(child, trap_page(trap, 1)));
    assert_false(entry_is_lazy_free(trap_entry(parent, trap_page(trap, 1))));
    trap_write(trap, child, trap_page(trap, 1), 'x');
    trap_expect_loads(trap, trap->base, 3, "P:abc C:axc");
}

TRAP(lazy_free_survives_protection, ANYWHERE)
{
    struct task *parent = abc(trap);

    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_FREE), 0);
    trap_protect(trap, parent, trap->base, 3, VMA_READ);
    trap_protect(trap, parent, trap->base, 3, RW);
    assert_true(is_lazy(parent, trap_page(trap, 1)));
    trap_write(trap, parent, trap_page(trap, 1), 'x');
    assert_false(entry_is_lazy_free(trap_entry(parent, trap_page(trap, 1))));
    trap_expect_loads(trap, trap->base, 3, "P:axc");
}

TRAP(lazy_free_is_for_private_anonymous_memory, ANYWHERE)
{
    struct object *file = trap_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 1, RW);
    trap_map_object(trap, parent, trap_page(trap, 1), 1, 0, file, 0);
    trap_map_shared(trap, parent, trap_page(trap, 2), 1);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_result(trap, advise(parent, trap_page(trap, 0), 3, ABI_MADV_FREE), -EINVAL);
    assert_true(is_lazy(parent, trap_page(trap, 0)));
    trap_result(trap, advise(parent, trap_page(trap, 1), 1, ABI_MADV_FREE), -EINVAL);
    trap_result(trap, advise(parent, trap_page(trap, 2), 1, ABI_MADV_FREE), -EINVAL);
}

/* --- REMOVE --- */

TRAP(removed_pages_are_zeros_for_all_but_private_copies, ANYWHERE)
{
    struct object *file = trap_memory_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, 0, file, 0);
    trap_write(trap, parent, trap_page(trap, 0), 'x');
    trap_expect_loads(trap, trap->base, 3, "P:xBC");
    struct task *child = trap_fork(trap, parent, 'C');

    trap_map_object(trap, child, trap->base, 3, MAP_REQUEST_SHARED, file, 0);
    trap_protect(trap, child, trap->base, 3, VMA_READ); /* it need not be writable now */
    trap_expect_loads(trap, trap->base, 3, "P:xBC C:ABC");
    trap_result(trap, advise(child, trap->base, 2, ABI_MADV_REMOVE), 0);
    assert_false(object_has_page(file, 0) || object_has_page(file, 1));
    trap_expect_loads(trap, trap->base, 3, "P:x.C C:..C");
    trap_result(trap, advise(parent, trap_page(trap, 2), 1, ABI_MADV_REMOVE), -EACCES);
}

TRAP(removing_stops_at_a_mapping_that_refuses, ANYWHERE)
{
    struct task *parent = abc(trap);

    trap_map_shared(trap, parent, trap_page(trap, 0), 1);
    trap_map_shared(trap, parent, trap_page(trap, 2), 1);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_write(trap, parent, trap_page(trap, 2), 'c');
    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_REMOVE), -EINVAL);
    trap_expect_loads(trap, trap->base, 3, "P:.bc");
    trap_result(trap, sys_mlock(parent, trap_page(trap, 2), PAGE_BYTES), 0);
    trap_result(trap, advise(parent, trap_page(trap, 2), 1, ABI_MADV_REMOVE), -EINVAL);
    trap_result(trap, sys_munlock(parent, trap_page(trap, 2), PAGE_BYTES), 0);
    trap_unmap(trap, parent, trap_page(trap, 1), 1);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_REMOVE), -ENOMEM);
    trap_expect_loads(trap, trap->base, 3, "P:.!.");
}

/* --- PAGEOUT --- */

TRAP(paged_out_pages_of_objects_come_back, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map_shared(trap, parent, trap->base, 2);
    trap_map(trap, parent, trap_page(trap, 2), 1, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    uint64_t before = resident(parent);
    struct pin pin = trap_pin(trap, parent, trap_page(trap, 1), ACCESS_READ);

    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_PAGEOUT), 0);
    assert_int_equal(resident(parent), before - 1); /* neither what is pinned nor what is private */
    trap_unpin(trap, &pin);
    trap_expect_loads(trap, trap->base, 3, "P:abc");
    struct task *child = trap_fork(trap, parent, 'C');

    trap_expect_loads(trap, trap->base, 3, "P:abc C:abc");
    trap_result(trap, advise(child, trap->base, 3, ABI_MADV_PAGEOUT), 0);
    assert_int_equal(resident(parent), before); /* several map it: nothing goes */
    trap_expect_loads(trap, trap->base, 3, "P:abc C:abc");
}

TRAP(paged_out_clean_pages_leave_the_page_cache, ANYWHERE)
{
    struct object *file = trap_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, MAP_REQUEST_SHARED, file, 0);
    trap_expect_loads(trap, trap->base, 3, "P:ABC");
    trap_write(trap, parent, trap_page(trap, 1), 'x');
    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_PAGEOUT), 0);
    assert_false(object_has_page(file, 0));
    assert_true(object_has_page(file, 1));
    trap_expect_loads(trap, trap->base, 3, "P:AxC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dontneed_gives_zeros_and_keeps_neighbours),
        cmocka_unit_test(p44_dontneed_after_fork_drops_the_callers_page_only),
        cmocka_unit_test(dontneed_of_whole_spans_drops_shared_tables),
        cmocka_unit_test(dontneed_of_a_file_mapping_shows_the_file_again),
        cmocka_unit_test(dontneed_of_shared_memory_keeps_the_contents),
        cmocka_unit_test(dontneed_stops_at_locked_memory),
        cmocka_unit_test(dontneed_goes_on_over_a_hole),
        cmocka_unit_test(dontneed_needs_no_right),
        cmocka_unit_test(lazy_free_page_is_read_and_a_write_keeps_it),
        cmocka_unit_test(lazy_free_then_fork_then_write),
        cmocka_unit_test(lazy_free_after_fork_is_the_callers),
        cmocka_unit_test(lazy_free_survives_protection),
        cmocka_unit_test(lazy_free_is_for_private_anonymous_memory),
        cmocka_unit_test(removed_pages_are_zeros_for_all_but_private_copies),
        cmocka_unit_test(removing_stops_at_a_mapping_that_refuses),
        cmocka_unit_test(paged_out_pages_of_objects_come_back),
        cmocka_unit_test(paged_out_clean_pages_leave_the_page_cache),
    };

    return cmocka_run_group_tests_name("discard", tests, NULL, NULL);
}
