/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traps of pins, and of other ways in which the kernel holds or reaches a page, by their numbers in
 * the project's list. A pin stands for what vmsplice, O_DIRECT or a DMA transfer holds.
 *
 * Of P21 the pin is here; DONTFORK and WIPEONFORK wait for madvise. The half of P36 about a page
 * that is swapped out while it is pinned waits for swap.
 */
#include <string.h>

#include "tests/support/trap_fixture.h"

/* P has "ab." in three pages. */
static struct task *begin(struct trap *trap)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 3, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_write(trap, parent, trap_page(trap, 1), 'b');
    return parent;
}

static void expect_pin(const struct trap *trap, const struct pin *pin, char expected)
{
    if (pin_peek(pin) != expected)
        fail_msg("%s: the pin reads '%c', '%c' was expected", trap->where, pin_peek(pin), expected);
}

/* One side read-pins after fork and leaves; the other writes what the pin must not see. */
static void p60_pinner_leaves(struct trap *trap, bool parent_pins, enum trap_exit how)
{
    struct task *parent = begin(trap);
    struct task *child = trap_fork(trap, parent, 'C');
    struct task *pinner = parent_pins ? parent : child;
    struct task *writer = parent_pins ? child : parent;
    struct pin pin = trap_pin(trap, pinner, trap_page(trap, 0), ACCESS_READ);

    trap_tables(trap, trap->base, "P:1x1 C:2x1");
    trap_leave(trap, pinner, how);
    trap_write(trap, writer, trap_page(trap, 0), 'x');
    trap_write(trap, writer, trap_page(trap, 1), 'y');
    expect_pin(trap, &pin, 'a');
    assert_int_equal(trap->machine->ram.frames[pin.pfn].count, 1);
    trap_unpin(trap, &pin);
    assert_int_equal(trap_read(trap, writer, trap_page(trap, 0)), 'x');
    assert_int_equal(trap_read(trap, writer, trap_page(trap, 1)), 'y');
}

static void p60_every_pinner(struct trap *trap, enum trap_exit how)
{
    p60_pinner_leaves(trap, false, how);
    while (trap->task_count > 0)
        trap_exit(trap, trap->tasks[trap->task_count - 1]);
    p60_pinner_leaves(trap, true, how);
}

TRAP(p60_read_pin_then_the_pinner_exits, IN_SPAN)
{
    p60_every_pinner(trap, LEAVE_BY_EXIT);
}

TRAP(p60_read_pin_then_the_pinner_unmaps, IN_SPAN)
{
    p60_every_pinner(trap, LEAVE_BY_UNMAP);
}

TRAP(p60_read_pin_then_the_pinner_execs, IN_SPAN)
{
    p60_every_pinner(trap, LEAVE_BY_EXEC);
}

/* CVE-2020-29374: what is reused in place is judged by references, not by mappings. */
TRAP(p35_reader_unmaps_and_the_owner_writes, ANYWHERE)
{
    struct task *parent = begin(trap);
    struct task *child = trap_fork(trap, parent, 'C');
    struct pin pin = trap_pin(trap, child, trap_page(trap, 0), ACCESS_READ);

    trap_unmap(trap, child, trap->base, 3);
    trap_write(trap, parent, trap_page(trap, 0), 's');
    expect_pin(trap, &pin, 'a');
    trap_expect(trap, trap->base, 3, "P:sb. C:!!!");
    trap_unpin(trap, &pin);
    trap_expect_loads(trap, trap->base, 3, "P:sb. C:!!!");
}

TRAP(p36_pin_then_fork_then_write, ANYWHERE)
{
    struct task *parent = begin(trap);
    struct pin pin = trap_pin(trap, parent, trap_page(trap, 0), ACCESS_WRITE);
    struct task *child = trap_fork(trap, parent, 'C');

    assert_int_not_equal(entry_pfn(trap_entry(child, trap->base)), pin.pfn);
    trap_write(trap, parent, trap_page(trap, 0), 'x');
    expect_pin(trap, &pin, 'x');
    assert_int_equal(entry_pfn(trap_entry(parent, trap->base)), pin.pfn);
    pin_write(&pin, 0, "d", 1);
    trap_expect(trap, trap->base, 3, "P:db. C:ab.");
    trap_write(trap, child, trap_page(trap, 0), 'c');
    trap_steps(trap, "");
    expect_pin(trap, &pin, 'd');
    trap_expect_loads(trap, trap->base, 3, "P:db. C:cb.");
    trap_unpin(trap, &pin);
}

/* The pin is held over mprotect, a second fork and the child's exit. */
TRAP(p36_pin_through_everything, ANYWHERE)
{
    struct task *parent = begin(trap);
    struct pin pin = trap_pin(trap, parent, trap_page(trap, 0), ACCESS_READ);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_protect(trap, parent, trap->base, 3, VMA_READ);
    struct task *second = trap_fork(trap, parent, 'D');

    trap_protect(trap, parent, trap->base, 3, RW);
    trap_exit(trap, child);
    trap_write(trap, parent, trap_page(trap, 0), 'x');
    trap_steps(trap, trap->kernel.restores_write ? "" : "cow-reuse");
    expect_pin(trap, &pin, 'x');
    trap_exit(trap, second);
    trap_write(trap, parent, trap_page(trap, 1), 'y');
    pin_write(&pin, 0, "z", 1);
    trap_expect_loads(trap, trap->base, 3, "P:zy.");
    trap_unpin(trap, &pin);
}

TRAP(p21_pinned_page_in_the_span_is_copied_at_fork, IN_SPAN)
{
    struct task *parent = begin(trap);
    struct pin pin = trap_pin(trap, parent, trap_page(trap, 1), ACCESS_WRITE);
    uint64_t copied = trap_count(trap, EVENT_FRAME_COPIED);

    trap_fork(trap, parent, 'C');
    trap_tables(trap, trap->base, "P:1x1 C:2x1");
    assert_int_equal(trap_count(trap, EVENT_FRAME_COPIED), copied + 1);
    trap_picture(trap, trap->base, 3,
                 "P: T1x1 rw | f1x2 r-AD | f2x2 rwADX p1 | none\n"
                 "C: T2x1 rw | f1x2 r-D | f3x1 rwDX | none\n");
    trap_unpin(trap, &pin);
    /* The mark on the table was sticky, the pin is gone. */
    trap_fork(trap, parent, 'D');
    trap_tables(trap, trap->base, trap_either(trap, "P:1x2 C:2x1 D:1x2", "P:1x1 C:2x1 D:3x1"));
    trap_expect_loads(trap, trap->base, 3, "P:ab. C:ab. D:ab.");
}

TRAP(p53_pin_owner_breaks_the_table, IN_SPAN)
{
    struct task *parent = begin(trap);
    struct pin pin = trap_pin(trap, parent, trap_page(trap, 0), ACCESS_WRITE);

    trap_fork(trap, parent, 'C');
    trap_write(trap, parent, trap_page(trap, 1), 'x');
    pin_write(&pin, 0, "d", 1);
    trap_expect(trap, trap->base, 3, "P:dx. C:ab.");
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 0)), 'd');
    trap_unpin(trap, &pin);
    trap_expect_loads(trap, trap->base, 3, "P:dx. C:ab.");
}

TRAP(p53_fork_then_pin_breaks_the_table_first, IN_SPAN)
{
    struct task *parent = begin(trap);
    struct task *child = trap_fork(trap, parent, 'C');
    struct pin pin = trap_pin(trap, parent, trap_page(trap, 0), ACCESS_READ);

    trap_steps(trap, trap_either(trap, "table-split cow-copy", "cow-copy"));
    assert_int_equal(trap_references(trap, child, trap->base), 1);
    struct pin second = trap_pin(trap, child, trap_page(trap, 0), ACCESS_READ);

    trap_steps(trap, trap_either(trap, "table-take-back cow-reuse", "cow-reuse"));
    pin_write(&pin, 0, "d", 1);
    pin_write(&second, 0, "e", 1);
    trap_expect(trap, trap->base, 3, "P:db. C:eb.");
    trap_write(trap, child, trap_page(trap, 0), 'f');
    expect_pin(trap, &pin, 'd');
    expect_pin(trap, &second, 'f');
    trap_unpin(trap, &pin);
    trap_unpin(trap, &second);
    trap_expect_loads(trap, trap->base, 3, "P:db. C:fb.");
}

/* The zero page and a file's page, read-pinned through private mappings, become one's own. */
TRAP(p53_pin_of_what_was_never_written, IN_SPAN)
{
    struct object *file = trap_file(trap, "F");
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 1, VMA_READ);
    trap_map_object(trap, parent, trap_page(trap, 1), 1, 0, file, 0);
    struct pin zero = trap_pin(trap, parent, trap_page(trap, 0), ACCESS_READ);

    trap_steps(trap, "zero-fill cow-copy");
    struct pin page = trap_pin(trap, parent, trap_page(trap, 1), ACCESS_READ);

    trap_steps(trap, "file-fill cow-copy");
    struct task *child = trap_fork(trap, parent, 'C');

    pin_write(&zero, 0, "z", 1);
    pin_write(&page, 0, "p", 1);
    trap_expect(trap, trap->base, 3, "P:zp! C:.F!");
    trap_refuses(trap, parent, trap_page(trap, 0), ACCESS_WRITE);
    trap_expect_loads(trap, trap->base, 3, "P:zp! C:.F!");
    trap_unpin(trap, &zero);
    trap_unpin(trap, &page);
    trap_exit(trap, child);
}

/* Frames of objects may be pinned in a shared table, which stays shared. */
TRAP(p53_pin_of_a_shared_object, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map_shared(trap, parent, trap->base, 3);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    struct task *child = trap_fork(trap, parent, 'C');
    struct pin pin = trap_pin(trap, child, trap_page(trap, 0), ACCESS_WRITE);

    pin_write(&pin, 0, "d", 1);
    trap_expect_loads(trap, trap->base, 3, "P:d.. C:d..");
    trap_fork(trap, child, 'G');
    trap_write(trap, parent, trap_page(trap, 0), 'e');
    expect_pin(trap, &pin, 'e');
    trap_exit(trap, child);
    trap_unpin(trap, &pin);
    trap_expect_loads(trap, trap->base, 3, "P:e.. G:e..");
}

static void write_both_sides_of_a_fork(struct forklab_user *user, void *argument)
{
    struct trap *trap = argument;
    struct task *child = NULL;
    void *view = NULL;
    bool direct = forklab_view(user, trap->base, 16, true, &view) == 16 && user->limit > 0;

    memcpy(view, "before", 6);
    if (sys_fork(user_task(user), &child) != 0)
        return;
    trap->tasks[trap->task_count] = child;
    trap->names[trap->task_count++] = 'C';
    /* In a window a pointer goes on being checked; elsewhere a new view is needed. */
    if (!direct)
        (void)forklab_view(user, trap->base, 16, true, &view);
    memcpy(view, "after!", 6);
}

static char *memory_of(struct trap *trap, struct task *task, va_t va, char text[7])
{
    memset(text, 0, 7);
    assert_int_equal(copyin(task, text, va, 6), 0);
    trap_check(trap);
    return text;
}

TRAP(p50_no_write_through_an_old_pointer_after_fork, ANYWHERE)
{
    struct task *parent = begin(trap);
    char text[7];

    assert_int_equal(task_run(parent, write_both_sides_of_a_fork, trap), 0);
    trap_check(trap);
    assert_int_equal(trap->task_count, 2);
    assert_string_equal(memory_of(trap, parent, trap->base, text), "after!");
    assert_string_equal(memory_of(trap, trap->tasks[1], trap->base, text), "before");
}

/* A copy by the kernel over two pages, with a fork between two of them. */
TRAP(p50_kernel_copies_around_a_fork, ANYWHERE)
{
    struct task *parent = begin(trap);
    va_t va = trap_page(trap, 1) - 3;
    char text[7];

    assert_int_equal(copyout(parent, va, "before", 6), 0);
    trap_check(trap);
    struct task *child = trap_fork(trap, parent, 'C');

    assert_int_equal(copyout(parent, va, "after!", 6), 0);
    trap_check(trap);
    assert_string_equal(memory_of(trap, parent, va, text), "after!");
    assert_string_equal(memory_of(trap, child, va, text), "before");
    assert_int_equal(copyout(child, va, "child!", 6), 0);
    assert_string_equal(memory_of(trap, parent, va, text), "after!");
    assert_string_equal(memory_of(trap, child, va, text), "child!");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p60_read_pin_then_the_pinner_exits),
        cmocka_unit_test(p60_read_pin_then_the_pinner_unmaps),
        cmocka_unit_test(p60_read_pin_then_the_pinner_execs),
        cmocka_unit_test(p35_reader_unmaps_and_the_owner_writes),
        cmocka_unit_test(p36_pin_then_fork_then_write),
        cmocka_unit_test(p36_pin_through_everything),
        cmocka_unit_test(p21_pinned_page_in_the_span_is_copied_at_fork),
        cmocka_unit_test(p53_pin_owner_breaks_the_table),
        cmocka_unit_test(p53_fork_then_pin_breaks_the_table_first),
        cmocka_unit_test(p53_pin_of_what_was_never_written),
        cmocka_unit_test(p53_pin_of_a_shared_object),
        cmocka_unit_test(p50_no_write_through_an_old_pointer_after_fork),
        cmocka_unit_test(p50_kernel_copies_around_a_fork),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
