/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mremap where leaf tables are shared: a shared table stays at one address, so every table at both
 * ends of a move becomes the mover's own first, and whoever else has it notices nothing. The same
 * sequences run where tables are copied, with the same contents.
 *
 * "Far" is a span of its own, four spans above the base.
 */
#include <errno.h>
#include <string.h>

#include "pager/abi.h"
#include "pager/remap.h"
#include "tests/support/trap_fixture.h"

#define FIXED (ABI_MREMAP_MAYMOVE | ABI_MREMAP_FIXED)
#define FIXED_KEEP (FIXED | ABI_MREMAP_DONTUNMAP)

static va_t far(const struct trap *trap, unsigned page)
{
    return geometry_span_start(trap->geometry, trap->base) + 4 * trap->span + page * PAGE_BYTES;
}

static int remap(struct task *task, struct remap_request request, va_t *address)
{
    return sys_mremap(task, &request, address);
}

/* A move that must be granted. */
static void move(struct trap *trap, struct task *task, va_t from, uint64_t pages, va_t to,
                 uint32_t flags)
{
    va_t address = 0;
    uint64_t bytes = pages * PAGE_BYTES;
    int error = remap(task, (struct remap_request){from, bytes, bytes, flags, to}, &address);

    if (error != 0)
        fail_msg("%s: mremap failed with %d", trap->where, error);
    assert_int_equal(address, to);
    trap_check(trap);
}

/* A change of size in place that must be granted. */
static void resize(struct trap *trap, struct task *task, va_t from, uint64_t pages,
                   uint64_t new_pages)
{
    va_t address = 0;
    int error =
        remap(task, (struct remap_request){from, pages * PAGE_BYTES, new_pages * PAGE_BYTES, 0, 0},
              &address);

    if (error != 0)
        fail_msg("%s: mremap failed with %d", trap->where, error);
    assert_int_equal(address, from);
    trap_check(trap);
}

/* P with the pages "abc", and its child C. */
struct pair {
    struct task *parent;
    struct task *child;
};

static struct pair two_sharers(struct trap *trap)
{
    struct pair pair = {.parent = trap_first(trap)};

    trap_map(trap, pair.parent, trap_page(trap, 0), 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, pair.parent, trap_page(trap, page), (char)('a' + page));
    pair.child = trap_fork(trap, pair.parent, 'C');
    trap_tables(trap, trap->base, trap_either(trap, "P:1x2 C:1x2", "P:1x1 C:2x1"));
    return pair;
}

/* Row 116 of the list of behaviours. */
TRAP(child_moves_a_page_and_writes_it, IN_SPAN)
{
    struct pair pair = two_sharers(trap);

    move(trap, pair.child, trap_page(trap, 1), 1, far(trap, 0), FIXED);
    trap_expect(trap, trap->base, 3, "P:abc C:a!c");
    trap_expect(trap, far(trap, 0), 1, "P:! C:b");
    trap_tables(trap, trap->base, "P:1x1 C:2x1");
    trap_write(trap, pair.child, far(trap, 0), 'x');
    trap_steps(trap, "cow-copy");
    trap_expect(trap, trap->base, 3, "P:abc C:a!c");
    trap_expect(trap, far(trap, 0), 1, "P:! C:x");
    trap_write(trap, pair.parent, trap_page(trap, 1), 'y');
    trap_expect_loads(trap, trap->base, 3, "P:ayc C:a!c");
    trap_expect_loads(trap, far(trap, 0), 1, "P:! C:x");
    trap_refuses(trap, pair.child, trap_page(trap, 1), ACCESS_READ);
}

TRAP(parent_moves_a_page_and_writes_it, IN_SPAN)
{
    struct pair pair = two_sharers(trap);

    move(trap, pair.parent, trap_page(trap, 0), 3, far(trap, 0), FIXED);
    trap_expect(trap, trap->base, 3, "P:!!! C:abc");
    trap_tables(trap, trap->base, "P:- C:1x1");
    trap_write(trap, pair.parent, far(trap, 2), 'x');
    trap_write(trap, pair.child, trap_page(trap, 0), 'y');
    trap_expect_loads(trap, trap->base, 3, "P:!!! C:ybc");
    trap_expect_loads(trap, far(trap, 0), 3, "P:abx C:!!!");
}

/* Frames and entries as they are after a move, where tables are shared. */
TRAP(whole_pictures_of_a_move, IN_SPAN)
{
    struct pair pair = two_sharers(trap);

    if (!trap->shares)
        return;
    move(trap, pair.child, trap_page(trap, 1), 1, far(trap, 1), FIXED);
    trap_picture(trap, trap->base, 3,
                 "P: T1x1 r- | f1x2 r-AD | f2x2 r-AD | f3x2 r-AD\n"
                 "C: T2x1 rw | f1x2 r-D | none | f3x2 r-D\n");
    trap_picture(trap, far(trap, 0), 3,
                 "P: no table\n"
                 "C: T1x1 rw | none | f1x2 r-D | none\n");
    trap_write(trap, pair.child, far(trap, 1), 'x');
    trap_picture(trap, far(trap, 0), 3,
                 "P: no table\n"
                 "C: T1x1 rw | none | f1x1 rwADX | none\n");
    move(trap, pair.child, far(trap, 1), 1, trap_page(trap, 1), FIXED);
    trap_picture(trap, far(trap, 0), 3, "P: no table\nC: no table\n");
    trap_picture(trap, trap->base, 3,
                 "P: T1x1 r- | f1x2 r-AD | f2x1 r-AD | f3x2 r-AD\n"
                 "C: T2x1 rw | f1x2 r-D | f4x1 rwADX | f3x2 r-D\n");
}

/* Within one leaf table, where there is room for it. */
TRAP(a_move_within_a_shared_table, IN_SPAN)
{
    struct pair pair = two_sharers(trap);

    move(trap, pair.child, trap_page(trap, 0), 1, trap_page(trap, 2), FIXED);
    trap_expect(trap, trap->base, 3, "P:abc C:!ba");
    trap_tables(trap, trap->base, "P:1x1 C:2x1");
    trap_write(trap, pair.child, trap_page(trap, 2), 'x');
    trap_write(trap, pair.parent, trap_page(trap, 0), 'y');
    trap_expect_loads(trap, trap->base, 3, "P:ybc C:!bx");
}

/* What is moved is the mover's alone, but not the table where it goes. */
TRAP(a_move_into_a_shared_table, IN_SPAN)
{
    struct pair pair = two_sharers(trap);

    trap_map(trap, pair.child, far(trap, 0), 2, RW);
    trap_write(trap, pair.child, far(trap, 0), 'x');
    move(trap, pair.child, far(trap, 0), 2, trap_page(trap, 1), FIXED);
    trap_expect(trap, trap->base, 3, "P:abc C:ax.");
    trap_tables(trap, trap->base, "P:1x1 C:2x1");
    trap_write(trap, pair.child, trap_page(trap, 2), 'y');
    trap_write(trap, pair.parent, trap_page(trap, 0), 'z');
    trap_expect_loads(trap, trap->base, 3, "P:zbc C:axy");
}

/* The same where the place in the shared table is free: nothing is unmapped there. */
TRAP(a_move_into_a_hole_of_a_shared_table, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 1, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    struct task *child = trap_fork(trap, parent, 'C');

    trap_map(trap, child, far(trap, 0), 2, RW);
    trap_write(trap, child, far(trap, 0), 'x');
    move(trap, child, far(trap, 0), 2, trap_page(trap, 1), FIXED);
    trap_expect(trap, trap->base, 3, "P:a!! C:ax.");
    trap_refuses(trap, parent, trap_page(trap, 1), ACCESS_READ);
    trap_read(trap, child, trap_page(trap, 2));
    trap_refuses(trap, parent, trap_page(trap, 2), ACCESS_READ);
    trap_write(trap, parent, trap_page(trap, 0), 'y');
    trap_expect_loads(trap, trap->base, 3, "P:y!! C:ax.");
}

/* P1's kin: a mapping that grew in one address space is not served into the other's table. */
TRAP(growth_in_a_shared_span, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 1, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    struct task *child = trap_fork(trap, parent, 'C');

    resize(trap, child, trap_page(trap, 0), 1, 3);
    trap_read(trap, child, trap_page(trap, 1));
    trap_write(trap, child, trap_page(trap, 2), 'c');
    trap_expect_loads(trap, trap->base, 3, "P:a!! C:a.c");
    trap_refuses(trap, parent, trap_page(trap, 1), ACCESS_READ);
    resize(trap, parent, trap_page(trap, 0), 1, 2);
    trap_expect_loads(trap, trap->base, 3, "P:a.! C:a.c");
}

TRAP(shrinking_in_a_shared_span, IN_SPAN)
{
    struct pair pair = two_sharers(trap);

    resize(trap, pair.child, trap_page(trap, 0), 3, 1);
    trap_expect(trap, trap->base, 3, "P:abc C:a!!");
    trap_write(trap, pair.parent, trap_page(trap, 0), 'x');
    trap_expect_loads(trap, trap->base, 3, "P:xbc C:a!!");
}

/* Three sharers: one moves, another leaves, the third is the last: P26 with a move as the split. */
static void three_sharers_by(struct trap *trap, enum trap_exit how)
{
    struct pair pair = two_sharers(trap);
    struct task *sibling = trap_fork(trap, pair.parent, 'D');

    trap_tables(trap, trap->base, trap_either(trap, "P:1x3 C:1x3 D:1x3", "P:1x1 C:2x1 D:3x1"));
    move(trap, pair.child, trap_page(trap, 0), 2, far(trap, 1), FIXED);
    trap_tables(trap, trap->base, trap_either(trap, "P:1x2 C:2x1 D:1x2", "P:1x1 C:2x1 D:3x1"));
    trap_leave(trap, sibling, how);
    trap_write(trap, pair.parent, trap_page(trap, 0), 'x');
    trap_steps(trap, trap_either(trap, "table-take-back cow-copy", "cow-copy"));
    trap_write(trap, pair.parent, trap_page(trap, 2), 'y');
    trap_write(trap, pair.child, far(trap, 2), 'z');
    trap_expect_loads(trap, trap->base, 3,
                      how == LEAVE_BY_EXIT ? "P:xby C:!!c" : "P:xby C:!!c D:!!!");
    trap_expect_loads(trap, far(trap, 1), 2, how == LEAVE_BY_EXIT ? "P:!! C:az" : "P:!! C:az D:!!");
}

TRAP(three_sharers_one_moves_another_exits, IN_SPAN)
{
    three_sharers_by(trap, LEAVE_BY_EXIT);
}

TRAP(three_sharers_one_moves_another_unmaps, IN_SPAN)
{
    three_sharers_by(trap, LEAVE_BY_UNMAP);
}

TRAP(three_sharers_one_moves_another_execs, IN_SPAN)
{
    three_sharers_by(trap, LEAVE_BY_EXEC);
}

/* P67: spans in part and whole; the tables in the middle are shared too, and stay the parent's. */
TRAP(p67_a_move_of_several_spans, IN_SPAN)
{
    struct task *parent = trap_first(trap);
    va_t start = geometry_span_start(trap->geometry, trap->base);
    va_t to = start + 3 * trap->span + PAGE_BYTES;
    uint64_t pages = 3 * trap->span / PAGE_BYTES - 1;

    trap_map(trap, parent, start, pages, RW);
    for (unsigned span = 0; span < 3; span++)
        trap_write(trap, parent, start + span * trap->span + 2 * PAGE_BYTES, (char)('a' + span));
    struct task *child = trap_fork(trap, parent, 'C');

    move(trap, child, start, pages, to, FIXED);
    for (unsigned span = 0; span < 3; span++) {
        va_t here = start + span * trap->span + 2 * PAGE_BYTES;
        va_t there = to + span * trap->span + 2 * PAGE_BYTES;
        const char *const before[] = {"P:a C:!", "P:b C:!", "P:c C:!"};
        const char *const moved[] = {"P:! C:a", "P:! C:b", "P:! C:c"};
        const char *const written[] = {"P:! C:A", "P:! C:B", "P:! C:C"};

        trap_tables(trap, here, "P:1x1 C:-");
        trap_expect(trap, here, 1, before[span]);
        trap_expect(trap, there, 1, moved[span]);
        trap_write(trap, child, there, (char)('A' + span));
        trap_expect_loads(trap, there, 1, written[span]);
        trap_expect_loads(trap, here, 1, before[span]);
    }
}

/* A span's table hangs where nothing is mapped any more: it is given back, as munmap does. */
TRAP(tables_of_what_was_moved_go, IN_SPAN)
{
    struct task *task = trap_first(trap);
    struct mm_usage before;
    struct mm_usage after;

    trap_map(trap, task, trap_page(trap, 0), 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, task, trap_page(trap, page), (char)('a' + page));
    mm_usage(task->mm, &before);
    uint32_t used = trap_used(trap);

    for (unsigned turn = 0; turn < 4; turn++) {
        move(trap, task, trap_page(trap, 0), 3, far(trap, 0), FIXED);
        trap_tables(trap, trap->base, "P:-");
        move(trap, task, far(trap, 0), 3, trap_page(trap, 0), FIXED);
        trap_tables(trap, far(trap, 0), "P:-");
    }
    mm_usage(task->mm, &after);
    assert_memory_equal(&before, &after, sizeof(before));
    assert_int_equal(trap_used(trap), used);
    assert_int_equal(trap_count(trap, EVENT_ENTRY_MOVED), 8 * 3);
    assert_int_equal(trap_count(trap, EVENT_FRAME_COPIED), 0);
    trap_write(trap, task, trap_page(trap, 0), 'x');
    trap_steps(trap, ""); /* writable, dirty, exclusive still */
}

/* The source that is kept is empty in the mover alone. */
TRAP(a_kept_source_in_a_shared_table, IN_SPAN)
{
    struct pair pair = two_sharers(trap);

    move(trap, pair.child, trap_page(trap, 0), 2, far(trap, 0), FIXED_KEEP);
    trap_expect(trap, trap->base, 3, "P:abc C:..c");
    trap_expect(trap, far(trap, 0), 2, "P:!! C:ab");
    trap_read(trap, pair.child, trap_page(trap, 0));
    trap_write(trap, pair.child, trap_page(trap, 1), 'x');
    trap_write(trap, pair.child, far(trap, 1), 'y');
    trap_expect_loads(trap, trap->base, 3, "P:abc C:.xc");
    trap_expect_loads(trap, far(trap, 0), 2, "P:!! C:ay");
    struct task *grandchild = trap_fork(trap, pair.child, 'G');

    trap_write(trap, grandchild, trap_page(trap, 0), 'z');
    trap_expect_loads(trap, trap->base, 3, "P:abc C:.xc G:zxc");
}

/* Several mappings at once, with a hole between them, out of a shared table. */
TRAP(several_mappings_of_a_shared_table, IN_SPAN)
{
    struct pair pair = two_sharers(trap);

    trap_unmap(trap, pair.parent, trap_page(trap, 1), 1);
    struct task *other = trap_fork(trap, pair.parent, 'D');

    trap_map(trap, other, far(trap, 1), 1, RW);
    trap_write(trap, other, far(trap, 1), 'x');
    move(trap, other, trap_page(trap, 0), 3, far(trap, 0), FIXED);
    trap_expect(trap, trap->base, 3, "P:a!c C:abc D:!!!");
    trap_expect(trap, far(trap, 0), 3, "P:!!! C:!!! D:axc");
    trap_write(trap, other, far(trap, 2), 'y');
    trap_expect_loads(trap, trap->base, 3, "P:a!c C:abc D:!!!");
    trap_expect_loads(trap, far(trap, 0), 3, "P:!!! C:!!! D:axy");
}

/* Where every mapping of a span is shared, its table is written through, and not moved either. */
TRAP(shared_memory_moves_in_one, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map_shared(trap, parent, trap_page(trap, 0), 3);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    struct task *child = trap_fork(trap, parent, 'C');

    trap_write(trap, child, trap_page(trap, 1), 'b');
    move(trap, child, trap_page(trap, 0), 3, far(trap, 0), FIXED);
    trap_expect(trap, trap->base, 3, "P:ab. C:!!!");
    trap_expect_loads(trap, far(trap, 0), 3, "P:!!! C:ab.");
    trap_write(trap, child, far(trap, 1), 'x');
    trap_write(trap, parent, trap_page(trap, 2), 'y');
    trap_expect_loads(trap, trap->base, 3, "P:axy C:!!!");
    trap_expect_loads(trap, far(trap, 0), 3, "P:!!! C:axy");
}

/* A page that was written privately and its file's page, which is mapped too. */
TRAP(a_private_file_moves, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap_page(trap, 0), 3, 0, trap_file(trap, "FGH"), 0);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_read(trap, parent, trap_page(trap, 1));
    struct task *child = trap_fork(trap, parent, 'C');

    move(trap, child, trap_page(trap, 0), 2, far(trap, 1), FIXED_KEEP);
    trap_expect(trap, trap->base, 3, "P:aGH C:FGH");
    trap_expect(trap, far(trap, 1), 2, "P:!! C:aG");
    trap_write(trap, child, far(trap, 1), 'x');
    trap_write(trap, child, far(trap, 2), 'y');
    trap_expect_loads(trap, trap->base, 3, "P:aGH C:FGH");
    trap_expect_loads(trap, far(trap, 1), 2, "P:!! C:xy");
}

/* A pinned page moves with its frame, and fork copies it at its new place as at the old one. */
TRAP(a_pinned_page_moves, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 3, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_write(trap, parent, trap_page(trap, 1), 'b');
    struct pin pin = trap_pin(trap, parent, trap_page(trap, 0), ACCESS_WRITE);

    move(trap, parent, trap_page(trap, 0), 2, far(trap, 1), FIXED);
    pin_write(&pin, 0, "x", 1);
    trap_expect(trap, far(trap, 1), 2, "P:xb");
    struct task *child = trap_fork(trap, parent, 'C');

    trap_tables(trap, far(trap, 1), "P:1x1 C:2x1");
    pin_write(&pin, 0, "y", 1);
    trap_write(trap, parent, far(trap, 1), 'z');
    assert_int_equal(pin_peek(&pin), 'z');
    trap_expect_loads(trap, far(trap, 1), 2, "P:zb C:xb");
    move(trap, child, far(trap, 1), 2, trap_page(trap, 0), FIXED);
    trap_expect_loads(trap, trap->base, 3, "P:!!. C:xb.");
    trap_unpin(trap, &pin);
}

/* What a window let through at the old place, it lets through no longer. */
TRAP(the_old_place_is_revoked, IN_SPAN)
{
    struct pair pair = two_sharers(trap);

    for (unsigned page = 0; page < 3; page++) {
        trap_read(trap, pair.child, trap_page(trap, page));
        trap_read(trap, pair.parent, trap_page(trap, page));
    }
    move(trap, pair.child, trap_page(trap, 1), 2, far(trap, 0), FIXED);
    trap_expect_loads(trap, far(trap, 0), 2, "P:!! C:bc");
    trap_write(trap, pair.child, trap_page(trap, 0), 'x');
    trap_dies(trap, pair.child, trap_page(trap, 2), ACCESS_READ, EVENT_BAD_MAPERR);
    trap_expect_loads(trap, trap->base, 3, "P:abc");
}

/* And at the new place what was there before. */
TRAP(the_new_place_is_revoked, IN_SPAN)
{
    struct pair pair = two_sharers(trap);

    trap_map(trap, pair.child, far(trap, 0), 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, pair.child, far(trap, page), (char)('x' + page));
    move(trap, pair.child, trap_page(trap, 0), 2, far(trap, 1), FIXED);
    trap_expect_loads(trap, far(trap, 0), 3, "P:!!! C:xab");
    trap_write(trap, pair.child, far(trap, 1), 'q');
    trap_expect_loads(trap, trap->base, 3, "P:abc C:!!c");
}

/* Pages without any right keep their contents where they go. */
TRAP(a_page_without_right_moves, IN_SPAN)
{
    struct pair pair = two_sharers(trap);

    trap_protect(trap, pair.child, trap_page(trap, 0), 2, 0);
    move(trap, pair.child, trap_page(trap, 0), 2, far(trap, 0), FIXED);
    trap_expect(trap, far(trap, 0), 2, "P:!! C:##");
    trap_refuses(trap, pair.child, far(trap, 0), ACCESS_READ);
    trap_protect(trap, pair.child, far(trap, 0), 2, RW);
    trap_write(trap, pair.child, far(trap, 0), 'x');
    trap_expect_loads(trap, far(trap, 0), 2, "P:!! C:xb");
    trap_expect_loads(trap, trap->base, 3, "P:abc C:!!c");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_moves_a_page_and_writes_it),
        cmocka_unit_test(parent_moves_a_page_and_writes_it),
        cmocka_unit_test(whole_pictures_of_a_move),
        cmocka_unit_test(a_move_within_a_shared_table),
        cmocka_unit_test(a_move_into_a_shared_table),
        cmocka_unit_test(a_move_into_a_hole_of_a_shared_table),
        cmocka_unit_test(growth_in_a_shared_span),
        cmocka_unit_test(shrinking_in_a_shared_span),
        cmocka_unit_test(three_sharers_one_moves_another_exits),
        cmocka_unit_test(three_sharers_one_moves_another_unmaps),
        cmocka_unit_test(three_sharers_one_moves_another_execs),
        cmocka_unit_test(p67_a_move_of_several_spans),
        cmocka_unit_test(tables_of_what_was_moved_go),
        cmocka_unit_test(a_kept_source_in_a_shared_table),
        cmocka_unit_test(several_mappings_of_a_shared_table),
        cmocka_unit_test(shared_memory_moves_in_one),
        cmocka_unit_test(a_private_file_moves),
        cmocka_unit_test(a_pinned_page_moves),
        cmocka_unit_test(the_old_place_is_revoked),
        cmocka_unit_test(the_new_place_is_revoked),
        cmocka_unit_test(a_page_without_right_moves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
