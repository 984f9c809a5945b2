/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traps of a shared table whose span is mapped differently by one of its sharers, by their numbers
 * in the project's list: mmap, munmap, mprotect, brk and stack growth beside or over pages that
 * others share.
 *
 * P51.a (DONTFORK beside a copied mapping) waits for madvise, P12 for mlock, P44 for MADV_DONTNEED;
 * the parts of P67 about mlock and DONTFORK wait for the same. P51.e is about sharing that is
 * sought at a fault, which no kernel here does; its other half, that a mapping made read-only gains
 * no writable entry of somebody else's, is a test below.
 */
#include "tests/support/trap_fixture.h"

/* P and C share a table with the page 'a'; nothing is mapped in the span's other pages. */
static struct task *share_one_page(struct trap *trap, struct task **child)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 1, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    *child = trap_fork(trap, parent, 'C');
    return parent;
}

TRAP(p01_mapping_in_a_hole_of_a_shared_table, IN_SPAN)
{
    struct object *one = trap_file(trap, "AB");
    struct object *other = trap_file(trap, "XY");
    struct task *child;
    struct task *parent = share_one_page(trap, &child);

    trap_map_object(trap, child, trap_page(trap, 2), 1, 0, one, 0);
    trap_tables(trap, trap->base, "P:1x1 C:2x1");
    assert_int_equal(trap_read(trap, child, trap_page(trap, 2)), 'A');
    trap_expect(trap, trap->base, 3, "P:a!! C:a!A");
    trap_refuses(trap, parent, trap_page(trap, 2), ACCESS_READ);
    trap_map_object(trap, parent, trap_page(trap, 2), 1, 0, other, 1);
    trap_expect(trap, trap->base, 3, "P:a!Y C:a!A");
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 2)), 'Y');
    trap_map(trap, child, trap_page(trap, 1), 1, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'b');
    trap_write(trap, child, trap_page(trap, 1), 'c');
    trap_expect(trap, trap->base, 3, "P:b!Y C:acA");
    trap_expect_loads(trap, trap->base, 3, "P:b!Y C:acA");
}

/* Who has no mapping there faults, in user mode too. */
TRAP(p01_the_other_has_no_mapping_there, IN_SPAN)
{
    struct object *file = trap_file(trap, "AB");
    struct task *child;
    struct task *parent = share_one_page(trap, &child);

    trap_map_object(trap, parent, trap_page(trap, 1), 2, 0, file, 0);
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 1)), 'A');
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 2)), 'B');
    trap_expect(trap, trap->base, 3, "P:aAB C:a!!");
    trap_dies(trap, child, trap_page(trap, 2) + 7, ACCESS_READ, EVENT_BAD_MAPERR);
    trap_expect_loads(trap, trap->base, 3, "P:aAB");
}

/* The two ends of a mapping lie in two shared tables, whole spans between them. */
TRAP(p01_both_end_tables_of_a_long_mapping, IN_SPAN)
{
    struct task *parent = trap_first(trap);
    va_t far = trap->base + 2 * trap->span;
    struct object *file = trap_file(trap, "ABCDEFGH");

    trap_map(trap, parent, trap->base, 1, RW);
    trap_map(trap, parent, far + PAGE_BYTES, 1, RW);
    trap_write(trap, parent, trap->base, 'a');
    trap_write(trap, parent, far + PAGE_BYTES, 'b');
    struct task *child = trap_fork(trap, parent, 'C');
    uint64_t pages = (far - trap->base) / PAGE_BYTES;

    trap_map(trap, child, trap->base + PAGE_BYTES, pages, RW);
    trap_read(trap, child, far);
    trap_read(trap, child, trap->base + PAGE_BYTES);
    trap_expect(trap, trap->base, 2, "P:a! C:a.");
    trap_expect(trap, far, 2, "P:!b C:.b");
    trap_map_object(trap, parent, far, 1, 0, file, 3);
    trap_read(trap, parent, far);
    trap_expect(trap, far, 2, "P:Db C:.b");
    trap_expect_loads(trap, far, 2, "P:Db C:.b");
}

TRAP(p01_break_grows_into_a_shared_table, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    parent->mm->heap_start = parent->mm->heap_end = trap->base;
    assert_int_equal(sys_brk(parent, trap->base + 100), trap->base + 100);
    trap_write(trap, parent, trap->base, 'a');
    struct task *child = trap_fork(trap, parent, 'C');

    assert_int_equal(sys_brk(child, trap->base + 2 * PAGE_BYTES), trap->base + 2 * PAGE_BYTES);
    trap_check(trap);
    trap_read(trap, child, trap_page(trap, 1));
    trap_expect(trap, trap->base, 3, "P:a!! C:a.!");
    trap_refuses(trap, parent, trap_page(trap, 1), ACCESS_READ);
    trap_map_object(trap, parent, trap_page(trap, 1), 1, 0, trap_file(trap, "X"), 0);
    trap_read(trap, parent, trap_page(trap, 1));
    trap_expect_loads(trap, trap->base, 3, "P:aX! C:a.!");
    assert_int_equal(sys_brk(child, trap->base), trap->base);
    trap_expect_loads(trap, trap->base, 3, "P:aX! C:!!!");
}

/*
 * A mapping grows down, because of a read even, which a shared table may be filled by. It is no
 * task's own stack: that one's table is split by the first word that user mode pushes.
 */
static void p01_stack_grows(struct trap *trap, enum access access)
{
    const bool writes = access == ACCESS_WRITE;
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap_page(trap, 2), 1, MAP_REQUEST_GROWSDOWN, NULL, 0);
    trap_write(trap, parent, trap_page(trap, 2), 'a');
    struct task *child = trap_fork(trap, parent, 'C');

    trap_tables(trap, trap->base, trap_either(trap, "P:1x2 C:1x2", "P:1x1 C:2x1"));
    if (writes)
        trap_write(trap, child, trap_page(trap, 1), 'x');
    else
        trap_read(trap, child, trap_page(trap, 1));
    trap_steps(trap, "stack-growth zero-fill");
    trap_tables(trap, trap->base, "P:1x1 C:2x1");
    trap_expect(trap, trap->base, 3, writes ? "P:!!a C:!xa" : "P:!!a C:!.a");
    trap_map_object(trap, parent, trap_page(trap, 1), 1, 0, trap_file(trap, "A"), 0);
    trap_read(trap, parent, trap_page(trap, 1));
    trap_expect_loads(trap, trap->base, 3, writes ? "P:!Aa C:!xa" : "P:!Aa C:!.a");
}

TRAP(p01_stack_grows_by_a_read, IN_SPAN)
{
    p01_stack_grows(trap, ACCESS_READ);
}

TRAP(p01_stack_grows_by_a_write, IN_SPAN)
{
    p01_stack_grows(trap, ACCESS_WRITE);
}

TRAP(p03_unmap_a_half_then_the_rest, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    struct task *child = trap_fork(trap, parent, 'C');

    trap_unmap(trap, child, trap_page(trap, 0), 1);
    trap_expect(trap, trap->base, 3, "P:abc C:!bc");
    trap_unmap(trap, child, trap_page(trap, 1), 2);
    trap_expect(trap, trap->base, 3, "P:abc C:!!!");
    trap_tables(trap, trap_page(trap, 2), "P:1x1 C:-");
    trap_unmap(trap, parent, trap_page(trap, 1), 2);
    trap_expect(trap, trap->base, 3, "P:a!! C:!!!");
    trap_unmap(trap, parent, trap_page(trap, 0), 1);
    trap_tables(trap, trap->base, "P:- C:-");
}

/* The parent first, so that the child is the one who takes the table back. */
TRAP(p03_parent_unmaps_a_half_then_the_rest, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    struct task *child = trap_fork(trap, parent, 'C');

    trap_unmap(trap, parent, trap_page(trap, 1), 1);
    trap_expect(trap, trap->base, 3, "P:a!c C:abc");
    trap_unmap(trap, parent, trap_page(trap, 0), 3);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, child, trap_page(trap, page), (char)('x' + page));
    trap_expect_loads(trap, trap->base, 3, "P:!!! C:xyz");
}

/* Before C is in user mode, and after it has all the pages in its window. */
TRAP(p16_nothing_stale_after_a_whole_span_was_unmapped, ANYWHERE)
{
    struct task *parent = trap_first(trap);
    va_t start = geometry_span_start(trap->geometry, trap->base);
    uint64_t pages = 2 * trap->span / PAGE_BYTES;

    trap_map(trap, parent, start, pages, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_write(trap, parent, trap_page(trap, 1), 'b');
    struct task *child = trap_fork(trap, parent, 'C');

    trap_expect_loads(trap, trap->base, 2, "P:ab C:ab");
    trap_unmap(trap, child, start, pages);
    trap_expect(trap, trap->base, 2, "P:ab C:!!");
    trap_unmap(trap, parent, start, pages);
    trap_expect(trap, trap->base, 2, "P:!! C:!!");
    trap_map(trap, parent, start, pages, RW);
    trap_write(trap, parent, trap_page(trap, 0), 's');
    trap_dies(trap, child, trap_page(trap, 0), ACCESS_READ, EVENT_BAD_MAPERR);
    trap_expect_loads(trap, trap->base, 2, "P:s.");
}

/* Nothing stale after the pages were replaced, either. */
TRAP(p16_nothing_stale_after_a_mapping_over_it, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    struct task *child = trap_fork(trap, parent, 'C');

    trap_expect_loads(trap, trap->base, 3, "P:abc C:abc");
    trap_map(trap, child, trap_page(trap, 1), 1, RW);
    trap_expect_loads(trap, trap->base, 3, "P:abc C:a.c");
    trap_map(trap, parent, trap_page(trap, 0), 3, VMA_READ);
    trap_expect_loads(trap, trap->base, 3, "P:... C:a.c");
    trap_refuses(trap, parent, trap_page(trap, 0), ACCESS_WRITE);
}

/* A private mapping over the middle of a shared one that fills a span and more. */
TRAP(p20_fixed_mapping_over_a_part_of_a_shared_span, ANYWHERE)
{
    struct task *parent = trap_first(trap);
    uint64_t pages = trap->span / PAGE_BYTES;
    uint64_t part = max_u64(pages / 8, 1);
    va_t middle = trap->base + part * PAGE_BYTES;

    trap_map_shared(trap, parent, trap->base, pages);
    for (uint64_t page = 0; page < 3 * part; page += part)
        trap_write(trap, parent, trap->base + page * PAGE_BYTES, (char)('a' + page / part));
    struct task *child = trap_fork(trap, parent, 'C');

    trap_expect_loads(trap, middle, 1, "P:b C:b");
    trap_map(trap, child, middle, part, RW);
    trap_write(trap, child, middle, 'x');
    trap_write(trap, child, trap->base, 'y');
    trap_expect(trap, middle, 1, "P:b C:x");
    trap_expect(trap, trap->base, 1, "P:y C:y");
    trap_write(trap, parent, middle + part * PAGE_BYTES, 'z');
    trap_expect_loads(trap, middle + part * PAGE_BYTES, 1, "P:z C:z");
    trap_expect_loads(trap, middle, 1, "P:b C:x");
    trap_exit(trap, child);
    trap_write(trap, parent, middle, 'w');
    trap_expect_loads(trap, middle, 1, "P:w");
}

/* Resident pages: the sum over a task's tables is what a count of entries finds. */
static void expect_resident(struct trap *trap, struct task *task, va_t va, unsigned pages,
                            uint64_t expected)
{
    struct mm_usage usage;
    uint64_t counted = 0;

    for (unsigned page = 0; page < pages; page++) {
        entry_t entry = trap_entry(task, va + page * PAGE_BYTES);

        counted += entry_is_present(entry) && entry_pfn(entry) != trap->machine->ram.zero_pfn;
    }
    mm_usage(task->mm, &usage);
    assert_int_equal(counted, expected);
    /* The stack's page beside them. */
    assert_int_equal(usage.resident[FRAME_ANON], expected + 1);
}

TRAP(p51b_resident_pages_after_a_part_was_unmapped, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 2, RW);
    trap_map(trap, parent, trap_page(trap, 2), 1, VMA_READ | VMA_WRITE | VMA_EXEC);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    struct task *child = trap_fork(trap, parent, 'C');

    expect_resident(trap, child, trap->base, 3, 3);
    trap_unmap(trap, child, trap_page(trap, 2), 1);
    expect_resident(trap, child, trap->base, 3, 2);
    expect_resident(trap, parent, trap->base, 3, 3);
    trap_unmap(trap, child, trap_page(trap, 0), 1);
    expect_resident(trap, child, trap->base, 3, 1);
    expect_resident(trap, parent, trap->base, 3, 3);
    trap_expect_loads(trap, trap->base, 3, "P:abc C:!b!");
}

TRAP(p51c_filled_by_one_that_splits_away, IN_SPAN)
{
    struct object *file = trap_file(trap, "AB");
    struct task *child;
    struct task *parent = share_one_page(trap, &child);

    trap_map_object(trap, child, trap_page(trap, 1), 2, 0, file, 0);
    trap_read(trap, child, trap_page(trap, 1));
    trap_read(trap, child, trap_page(trap, 2));
    trap_write(trap, child, trap_page(trap, 2), 'x');
    trap_exit(trap, parent);
    trap_expect_loads(trap, trap->base, 3, "C:aAx");
}

/* A fill that a sharer made for all goes with the table, whoever is the last to have it. */
TRAP(p51c_filled_for_all_then_split, ANYWHERE)
{
    struct object *file = trap_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, 0, file, 0);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    struct task *child = trap_fork(trap, parent, 'C');
    uint64_t splits = trap_count(trap, EVENT_TABLE_SPLIT);

    trap_read(trap, child, trap_page(trap, 1));
    if (trap->fills)
        assert_int_equal(trap_count(trap, EVENT_TABLE_SPLIT), splits + 1); /* the stack's alone */
    trap_read(trap, child, trap_page(trap, 2));
    trap_write(trap, child, trap_page(trap, 2), 'x');
    trap_expect(trap, trap->base, 3, "P:aBC C:aBx");
    trap_exit(trap, parent);
    trap_expect_loads(trap, trap->base, 3, "C:aBx");
}

/* A mapping made read-only, and one that is the neighbour of another's writable page. */
TRAP(p51e_read_only_gains_no_writable_entry, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 3, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_write(trap, parent, trap_page(trap, 1), 'b');
    struct task *child = trap_fork(trap, parent, 'C');

    trap_protect(trap, child, trap_page(trap, 0), 2, VMA_READ);
    trap_write(trap, parent, trap_page(trap, 1), 'c');
    trap_write(trap, child, trap_page(trap, 2), 'x');
    trap_expect(trap, trap->base, 3, "P:ac. C:abx");
    trap_refuses(trap, child, trap_page(trap, 0), ACCESS_WRITE);
    trap_exit(trap, parent);
    trap_refuses(trap, child, trap_page(trap, 1), ACCESS_WRITE);
    trap_protect(trap, child, trap_page(trap, 0), 1, RW);
    trap_write(trap, child, trap_page(trap, 0), 'y');
    trap_expect_loads(trap, trap->base, 3, "C:ybx");
}

/* Three spans: the table in the middle is no end table, and still must be the child's own. */
TRAP(p67_mprotect_over_three_spans, ANYWHERE)
{
    struct task *parent = trap_first(trap);
    va_t start = geometry_span_start(trap->geometry, trap->base);
    va_t middle = trap->base + trap->span;
    va_t last = middle + trap->span;

    trap_map(trap, parent, start, 4 * trap->span / PAGE_BYTES, RW);
    trap_write(trap, parent, trap->base, 'a');
    trap_write(trap, parent, middle, 'b');
    trap_write(trap, parent, last, 'c');
    struct task *child = trap_fork(trap, parent, 'C');
    entry_t before = trap_entry(parent, middle);

    trap_protect(trap, child, trap->base, 2 * trap->span / PAGE_BYTES + 1, VMA_READ);
    trap_tables(trap, middle, "P:1x1 C:2x1");
    assert_int_equal(entry_pfn(trap_entry(parent, middle)), entry_pfn(before));
    trap_refuses(trap, child, middle, ACCESS_WRITE);
    trap_write(trap, parent, trap->base, 'x');
    trap_write(trap, parent, middle, 'y');
    trap_write(trap, parent, last, 'z');
    trap_expect(trap, trap->base, 1, "P:x C:a");
    trap_expect(trap, middle, 1, "P:y C:b");
    trap_expect(trap, last, 1, "P:z C:c");
    trap_protect(trap, child, trap->base, 2 * trap->span / PAGE_BYTES + 1, RW);
    trap_write(trap, child, middle, 'w');
    trap_expect_loads(trap, middle, 1, "P:y C:w");
    trap_expect_loads(trap, last, 1, "P:z C:c");
}

/* Whole spans are dropped, the tables at the ends are split, and nobody else notices. */
TRAP(p67_munmap_over_three_spans, ANYWHERE)
{
    struct task *parent = trap_first(trap);
    va_t start = geometry_span_start(trap->geometry, trap->base);
    uint64_t pages = 2 * trap->span / PAGE_BYTES + 1;

    trap_map(trap, parent, start, 4 * trap->span / PAGE_BYTES, RW);
    for (unsigned span = 0; span < 4; span++)
        trap_write(trap, parent, trap->base + span * trap->span, (char)('a' + span));
    struct task *child = trap_fork(trap, parent, 'C');
    uint64_t dropped = trap_count(trap, EVENT_TABLE_DROPPED);

    trap_unmap(trap, child, trap->base, pages);
    assert_true(trap_count(trap, EVENT_TABLE_DROPPED) - dropped >= (trap->shares ? 1 : 0));
    trap_expect(trap, trap->base, 1, "P:a C:!");
    trap_expect(trap, trap->base + trap->span, 1, "P:b C:!");
    trap_expect(trap, trap->base + 2 * trap->span, 1, "P:c C:!");
    trap_write(trap, parent, trap->base + trap->span, 'x');
    trap_write(trap, parent, trap->base + 2 * trap->span, 'y');
    trap_expect_loads(trap, trap->base + trap->span, 1, "P:x C:!");
    trap_expect_loads(trap, trap->base + 2 * trap->span, 1, "P:y C:!");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p01_mapping_in_a_hole_of_a_shared_table),
        cmocka_unit_test(p01_the_other_has_no_mapping_there),
        cmocka_unit_test(p01_both_end_tables_of_a_long_mapping),
        cmocka_unit_test(p01_break_grows_into_a_shared_table),
        cmocka_unit_test(p01_stack_grows_by_a_read),
        cmocka_unit_test(p01_stack_grows_by_a_write),
        cmocka_unit_test(p03_unmap_a_half_then_the_rest),
        cmocka_unit_test(p03_parent_unmaps_a_half_then_the_rest),
        cmocka_unit_test(p16_nothing_stale_after_a_whole_span_was_unmapped),
        cmocka_unit_test(p16_nothing_stale_after_a_mapping_over_it),
        cmocka_unit_test(p20_fixed_mapping_over_a_part_of_a_shared_span),
        cmocka_unit_test(p51b_resident_pages_after_a_part_was_unmapped),
        cmocka_unit_test(p51c_filled_by_one_that_splits_away),
        cmocka_unit_test(p51c_filled_for_all_then_split),
        cmocka_unit_test(p51e_read_only_gains_no_writable_entry),
        cmocka_unit_test(p67_mprotect_over_three_spans),
        cmocka_unit_test(p67_munmap_over_three_spans),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
