/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traps of splitting a shared table and of taking it back, by their numbers in the project's list.
 * Each runs in every kernel, on both MMUs, in every geometry and at several places.
 *
 * Of P8 the half that needs two threads inside one machine's tables at once cannot happen here: a
 * machine has one lock. Every order in which sharers leave is run instead.
 */
#include "tests/support/trap_fixture.h"

/* P, and its two children C and D, have the pages "ab." in one table where tables are shared. */
struct family {
    struct task *parent;
    struct task *child;
    struct task *sibling;
};

static struct family three_sharers(struct trap *trap)
{
    struct family family = {.parent = trap_first(trap)};

    trap_map(trap, family.parent, trap_page(trap, 0), 3, RW);
    trap_write(trap, family.parent, trap_page(trap, 0), 'a');
    trap_write(trap, family.parent, trap_page(trap, 1), 'b');
    family.child = trap_fork(trap, family.parent, 'C');
    family.sibling = trap_fork(trap, family.parent, 'D');
    trap_expect(trap, trap->base, 3, "P:ab. C:ab. D:ab.");
    trap_tables(trap, trap->base, trap_either(trap, "P:1x3 C:1x3 D:1x3", "P:1x1 C:2x1 D:3x1"));
    return family;
}

/* What others see when a task left in this way. */
static const char *contents_of(enum trap_exit how, const char *gone, const char *unmapped)
{
    return how == LEAVE_BY_EXIT ? gone : unmapped;
}

static void p26_leave_by(struct trap *trap, enum trap_exit how)
{
    struct family family = three_sharers(trap);

    trap_write(trap, family.child, trap_page(trap, 0), 'x');
    trap_steps(trap, trap_either(trap, "table-split cow-copy", "cow-copy"));
    trap_expect(trap, trap->base, 3, "P:ab. C:xb. D:ab.");
    trap_tables(trap, trap->base, trap_either(trap, "P:1x2 C:2x1 D:1x2", "P:1x1 C:2x1 D:3x1"));
    trap_leave(trap, family.sibling, how);
    trap_expect(trap, trap->base, 3, contents_of(how, "P:ab. C:xb.", "P:ab. C:xb. D:!!!"));
    trap_write(trap, family.parent, trap_page(trap, 1), 'y');
    trap_steps(trap, trap_either(trap, "table-take-back cow-copy", "cow-copy"));
    trap_expect(trap, trap->base, 3, contents_of(how, "P:ay. C:xb.", "P:ay. C:xb. D:!!!"));
    trap_write(trap, family.parent, trap_page(trap, 0), 'z');
    trap_steps(trap, "cow-reuse");
    trap_write(trap, family.child, trap_page(trap, 1), 'w');
    trap_steps(trap, "cow-reuse");
    trap_expect(trap, trap->base, 3, contents_of(how, "P:zy. C:xw.", "P:zy. C:xw. D:!!!"));
    trap_expect_loads(trap, trap->base, 3, contents_of(how, "P:zy. C:xw.", "P:zy. C:xw. D:!!!"));
}

TRAP(p26_three_sharers_one_splits_another_exits, IN_SPAN)
{
    p26_leave_by(trap, LEAVE_BY_EXIT);
}

TRAP(p26_three_sharers_one_splits_another_unmaps, IN_SPAN)
{
    p26_leave_by(trap, LEAVE_BY_UNMAP);
}

TRAP(p26_three_sharers_one_splits_another_execs, IN_SPAN)
{
    p26_leave_by(trap, LEAVE_BY_EXEC);
}

/* The whole state of tables and frames at each step, where tables are shared. */
TRAP(p26_whole_pictures, IN_SPAN)
{
    struct family family = three_sharers(trap);

    if (!trap->shares)
        return;
    trap_picture(trap, trap->base, 3,
                 "P: T1x3 r- | f1x1 rwADX | f2x1 rwADX | none\n"
                 "C: T1x3 r- | f1x1 rwADX | f2x1 rwADX | none\n"
                 "D: T1x3 r- | f1x1 rwADX | f2x1 rwADX | none\n");
    trap_write(trap, family.child, trap_page(trap, 0), 'x');
    trap_picture(trap, trap->base, 3,
                 "P: T1x2 r- | f1x1 r-AD | f2x2 r-AD | none\n"
                 "C: T2x1 rw | f3x1 rwADX | f2x2 r-D | none\n"
                 "D: T1x2 r- | f1x1 r-AD | f2x2 r-AD | none\n");
    trap_exit(trap, family.sibling);
    trap_picture(trap, trap->base, 3,
                 "P: T1x1 r- | f1x1 r-AD | f2x2 r-AD | none\n"
                 "C: T2x1 rw | f3x1 rwADX | f2x2 r-D | none\n");
    trap_write(trap, family.parent, trap_page(trap, 1), 'y');
    trap_picture(trap, trap->base, 3,
                 "P: T1x1 rw | f1x1 r-AD | f2x1 rwADX | none\n"
                 "C: T2x1 rw | f3x1 rwADX | f4x1 r-D | none\n");
}

static void p26_grandchild_by(struct trap *trap, enum trap_exit how)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 2, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_write(trap, parent, trap_page(trap, 1), 'b');
    struct task *child = trap_fork(trap, parent, 'C');
    struct task *grandchild = trap_fork(trap, child, 'G');

    trap_tables(trap, trap->base, trap_either(trap, "P:1x3 C:1x3 G:1x3", "P:1x1 C:2x1 G:3x1"));
    trap_write(trap, grandchild, trap_page(trap, 1), 'x');
    trap_expect(trap, trap->base, 2, "P:ab C:ab G:ax");
    trap_leave(trap, parent, how);
    trap_expect(trap, trap->base, 2, contents_of(how, "C:ab G:ax", "P:!! C:ab G:ax"));
    trap_write(trap, child, trap_page(trap, 0), 'y');
    trap_steps(trap, trap_either(trap, "table-take-back cow-copy", "cow-copy"));
    trap_write(trap, child, trap_page(trap, 1), 'z');
    trap_expect(trap, trap->base, 2, contents_of(how, "C:yz G:ax", "P:!! C:yz G:ax"));
    trap_expect_loads(trap, trap->base, 2, contents_of(how, "C:yz G:ax", "P:!! C:yz G:ax"));
}

TRAP(p26_grandchild_splits_grandparent_exits, IN_SPAN)
{
    p26_grandchild_by(trap, LEAVE_BY_EXIT);
}

TRAP(p26_grandchild_splits_grandparent_unmaps, IN_SPAN)
{
    p26_grandchild_by(trap, LEAVE_BY_UNMAP);
}

TRAP(p26_grandchild_splits_grandparent_execs, IN_SPAN)
{
    p26_grandchild_by(trap, LEAVE_BY_EXEC);
}

/* The forker itself leaves, and the page that was split away is the one written. */
TRAP(p26_split_page_is_written_by_the_last_sharer, ANYWHERE)
{
    struct family family = three_sharers(trap);

    trap_read(trap, family.sibling, trap_page(trap, 0));
    trap_write(trap, family.child, trap_page(trap, 2), 'x');
    trap_expect(trap, trap->base, 3, "P:ab. C:abx D:ab.");
    trap_exit(trap, family.parent);
    trap_write(trap, family.sibling, trap_page(trap, 0), 'y');
    trap_write(trap, family.sibling, trap_page(trap, 1), 'z');
    trap_expect(trap, trap->base, 3, "C:abx D:yz.");
    trap_expect_loads(trap, trap->base, 3, "C:abx D:yz.");
}

static void p22_with(struct trap *trap, uint32_t at_fork)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 3, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_write(trap, parent, trap_page(trap, 1), 'b');
    trap_protect(trap, parent, trap_page(trap, 0), 3, at_fork);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_refuses(trap, child, trap_page(trap, 0), ACCESS_WRITE);
    trap_protect(trap, parent, trap_page(trap, 0), 3, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'x');
    trap_protect(trap, child, trap_page(trap, 0), 3, RW);
    trap_expect(trap, trap->base, 3, "P:xb. C:ab.");
    trap_write(trap, child, trap_page(trap, 1), 'y');
    trap_expect(trap, trap->base, 3, "P:xb. C:ay.");
    trap_exit(trap, child);
    trap_write(trap, parent, trap_page(trap, 1), 'z');
    trap_steps(trap, "cow-reuse");
    trap_expect_loads(trap, trap->base, 3, "P:xz.");
}

TRAP(p22_read_only_at_fork_and_writable_after, ANYWHERE)
{
    p22_with(trap, VMA_READ);
}

TRAP(p22_no_right_at_fork_and_writable_after, ANYWHERE)
{
    p22_with(trap, 0);
}

TRAP(p27_fork_again_before_any_write, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 3, RW);
    trap_write(trap, parent, trap_page(trap, 0), '1');
    struct task *child = trap_fork(trap, parent, 'C');
    struct task *grandchild = trap_fork(trap, child, 'G');

    trap_write(trap, grandchild, trap_page(trap, 0), '3');
    trap_expect(trap, trap->base, 3, "P:1.. C:1.. G:3..");
    trap_write(trap, child, trap_page(trap, 0), '2');
    trap_expect(trap, trap->base, 3, "P:1.. C:2.. G:3..");
    trap_write(trap, parent, trap_page(trap, 2), '4');
    trap_expect(trap, trap->base, 3, "P:1.4 C:2.. G:3..");
    trap_expect_loads(trap, trap->base, 3, "P:1.4 C:2.. G:3..");
}

TRAP(p07_three_mappings_in_one_span, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    trap_protect(trap, parent, trap_page(trap, 1), 1, VMA_READ);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_write(trap, child, trap_page(trap, 0), 'x');
    trap_steps(trap, trap_either(trap, "table-split cow-copy", "cow-copy"));
    trap_expect(trap, trap->base, 3, "P:abc C:xbc");
    trap_refuses(trap, child, trap_page(trap, 1), ACCESS_WRITE);
    trap_write(trap, parent, trap_page(trap, 2), 'y');
    trap_expect(trap, trap->base, 3, "P:aby C:xbc");
    trap_protect(trap, child, trap_page(trap, 1), 1, RW);
    trap_write(trap, child, trap_page(trap, 1), 'z');
    trap_expect(trap, trap->base, 3, "P:aby C:xzc");
    trap_expect_loads(trap, trap->base, 3, "P:aby C:xzc");
    trap_dies(trap, child, trap_page(trap, 3) + 5, ACCESS_READ, EVENT_BAD_MAPERR);
    trap_expect(trap, trap->base, 3, "P:aby");
}

static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                      {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* The last to leave frees everything, whoever it is and in whatever state. */
TRAP(p08_every_order_of_leaving, IN_SPAN)
{
    for (unsigned order = 0; order < 6; order++) {
        struct family family = three_sharers(trap);
        struct task *tasks[3] = {family.parent, family.child, family.sibling};
        uint64_t dropped = trap_count(trap, EVENT_TABLE_DROPPED);

        for (unsigned i = 0; i < 3; i++)
            trap_exit(trap, tasks[orders[order][i]]);
        assert_int_equal(trap_used(trap), trap->used_frames);
        /* The stack's table is shared beside the trap's. */
        assert_int_equal(trap_count(trap, EVENT_TABLE_DROPPED) - dropped, trap->shares ? 4 : 0);
    }
}

/* The same when one of them has split, or all have. */
TRAP(p08_every_order_of_leaving_after_a_split, IN_SPAN)
{
    for (unsigned order = 0; order < 6; order++) {
        struct family family = three_sharers(trap);
        struct task *tasks[3] = {family.parent, family.child, family.sibling};

        for (unsigned i = 0; i < 3; i++) {
            trap_write(trap, tasks[orders[order][i]], trap_page(trap, i), 'w');
            trap_exit(trap, tasks[orders[order][i]]);
        }
        assert_int_equal(trap_used(trap), trap->used_frames);
    }
}

/* Whether a table is shared is asked of its counter: VMAs were cut since. */
TRAP(p09_shared_after_a_mapping_was_cut, ANYWHERE)
{
    struct task *parent = trap_first(trap);
    va_t start = geometry_span_start(trap->geometry, trap->base);
    uint64_t pages = 2 * trap->span / PAGE_BYTES;

    trap_map(trap, parent, start, pages, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    struct task *child = trap_fork(trap, parent, 'C');

    trap_protect(trap, child, trap_page(trap, 1), 1, VMA_READ);
    trap_expect(trap, trap->base, 3, "P:abc C:abc");
    trap_unmap(trap, child, start, pages);
    trap_expect(trap, trap->base, 3, "P:abc C:!!!");
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('x' + page));
    trap_expect(trap, trap->base, 3, "P:xyz C:!!!");
    trap_expect_loads(trap, trap->base, 3, "P:xyz C:!!!");
}

TRAP(p66_take_back_then_fork_again, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 2, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    struct task *child = trap_fork(trap, parent, 'C');

    trap_exit(trap, child);
    trap_write(trap, parent, trap_page(trap, 0), 'b');
    trap_steps(trap, trap_either(trap, "table-take-back", "cow-reuse"));
    child = trap_fork(trap, parent, 'C');
    trap_tables(trap, trap->base, trap_either(trap, "P:1x2 C:1x2", "P:1x1 C:2x1"));
    trap_write(trap, parent, trap_page(trap, 0), 'c');
    trap_steps(trap, trap_either(trap, "table-split cow-copy", "cow-copy"));
    trap_write(trap, child, trap_page(trap, 1), 'd');
    trap_expect(trap, trap->base, 2, "P:c. C:bd");
    struct task *grandchild = trap_fork(trap, child, 'G');

    trap_write(trap, grandchild, trap_page(trap, 0), 'e');
    trap_exit(trap, child);
    trap_write(trap, grandchild, trap_page(trap, 1), 'f');
    trap_expect(trap, trap->base, 2, "P:c. G:ef");
    trap_expect_loads(trap, trap->base, 2, "P:c. G:ef");
}

/*
 * A table that is shared is copied at fork, since it has come to hold too few entries: a kernel's
 * threshold is raised between two forks.
 */
TRAP(p66_fork_copies_a_shared_table, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 3, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_write(trap, parent, trap_page(trap, 1), 'b');
    struct task *child = trap_fork(trap, parent, 'C');

    trap_read(trap, parent, trap_page(trap, 0));
    trap->kernel.least_shared_entries = 100;
    struct task *grandchild = trap_fork(trap, child, 'G');

    trap_expect(trap, trap->base, 3, "P:ab. C:ab. G:ab.");
    trap_tables(trap, trap->base, trap_either(trap, "P:1x2 C:1x2 G:2x1", "P:1x1 C:2x1 G:3x1"));
    trap_exit(trap, child);
    trap_write(trap, parent, trap_page(trap, 0), 'x');
    trap_steps(trap, trap_either(trap, "table-take-back cow-copy", "cow-copy"));
    trap_write(trap, grandchild, trap_page(trap, 1), 'y');
    trap_expect(trap, trap->base, 3, "P:xb. G:ay.");
    trap_expect_loads(trap, trap->base, 3, "P:xb. G:ay.");
}

/* And since a sibling has a pin: the sibling's own table, with the pin, is copied. */
TRAP(p66_fork_after_a_sibling_pinned, IN_SPAN)
{
    struct family family = three_sharers(trap);
    struct pin pin = trap_pin(trap, family.sibling, trap_page(trap, 0), ACCESS_WRITE);

    trap_tables(trap, trap->base, trap_either(trap, "P:1x2 C:1x2 D:2x1", "P:1x1 C:2x1 D:3x1"));
    trap_fork(trap, family.sibling, 'E');
    trap_tables(trap, trap->base,
                trap_either(trap, "P:1x2 C:1x2 D:2x1 E:3x1", "P:1x1 C:2x1 D:3x1 E:4x1"));
    trap_fork(trap, family.child, 'F');
    trap_tables(
        trap, trap->base,
        trap_either(trap, "P:1x3 C:1x3 D:2x1 E:3x1 F:1x3", "P:1x1 C:2x1 D:3x1 E:4x1 F:5x1"));
    pin_write(&pin, 0, "x", 1);
    trap_expect(trap, trap->base, 3, "P:ab. C:ab. D:xb. E:ab. F:ab.");
    trap_unpin(trap, &pin);
    trap_fork(trap, family.sibling, 'G');
    trap_tables(trap, trap->base,
                trap_either(trap, "P:1x3 C:1x3 D:2x2 E:3x1 F:1x3 G:2x2",
                            "P:1x1 C:2x1 D:3x1 E:4x1 F:5x1 G:6x1"));
    trap_expect_loads(trap, trap->base, 3, "P:ab. C:ab. D:xb. E:ab. F:ab. G:xb.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p26_three_sharers_one_splits_another_exits),
        cmocka_unit_test(p26_three_sharers_one_splits_another_unmaps),
        cmocka_unit_test(p26_three_sharers_one_splits_another_execs),
        cmocka_unit_test(p26_whole_pictures),
        cmocka_unit_test(p26_grandchild_splits_grandparent_exits),
        cmocka_unit_test(p26_grandchild_splits_grandparent_unmaps),
        cmocka_unit_test(p26_grandchild_splits_grandparent_execs),
        cmocka_unit_test(p26_split_page_is_written_by_the_last_sharer),
        cmocka_unit_test(p22_read_only_at_fork_and_writable_after),
        cmocka_unit_test(p22_no_right_at_fork_and_writable_after),
        cmocka_unit_test(p27_fork_again_before_any_write),
        cmocka_unit_test(p07_three_mappings_in_one_span),
        cmocka_unit_test(p08_every_order_of_leaving),
        cmocka_unit_test(p08_every_order_of_leaving_after_a_split),
        cmocka_unit_test(p09_shared_after_a_mapping_was_cut),
        cmocka_unit_test(p66_take_back_then_fork_again),
        cmocka_unit_test(p66_fork_copies_a_shared_table),
        cmocka_unit_test(p66_fork_after_a_sibling_pinned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
