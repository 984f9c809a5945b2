/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vfork: one address space for two, the parent suspended until the child is through with it, in
 * every way that a child or a parent can end.
 */
#include <errno.h>
#include <string.h>

#include "tests/support/elf_file.h"
#include "tests/support/trap_fixture.h"

static void touch_nothing(struct forklab_user *user, void *argument)
{
    (void)user;
    (void)argument;
}

/* Nothing that the task could do or have done to it goes on. */
static void expect_suspended(struct trap *trap, struct task *task)
{
    struct task_status status;
    struct task *child = NULL;
    uint8_t byte = 0;

    assert_int_equal(task_run(task, touch_nothing, NULL), -EBUSY);
    assert_int_equal(sys_munmap(task, trap->base, PAGE_BYTES), -EBUSY);
    assert_int_equal(sys_fork(task, &child), -EBUSY);
    assert_int_equal(sys_vfork(task, &child), -EBUSY);
    assert_int_equal(sys_wait(task, NULL, &status), -EBUSY);
    assert_int_equal(sys_exec(task, NULL, NULL, NULL, 0), -EBUSY);
    assert_int_equal(task_exit(task, 0), -EBUSY);
    assert_int_equal(copyin(task, &byte, trap->base, 1), -EBUSY);
    assert_null(child);
    trap_check(trap);
}

/* The parent with a page that holds 'p', and one beside it that is not there yet. */
static struct task *begin(struct trap *trap)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 2, RW);
    trap_write(trap, parent, trap->base, 'p');
    return parent;
}

/* Row 77: the child writes 42, the parent sees it. */
TRAP(row77_both_have_the_same_memory, ANYWHERE)
{
    struct task *parent = begin(trap);
    uint32_t used = trap_used(trap);
    struct task *child = trap_vfork(trap, parent, 'C');

    assert_ptr_equal(child->mm, parent->mm);
    assert_int_equal(parent->mm->users, 2);
    assert_int_equal(trap_used(trap), used);
    expect_suspended(trap, parent);
    assert_int_equal(trap_read(trap, child, trap->base), 'p');
    trap_write(trap, child, trap->base, 42);
    trap_write(trap, child, trap_page(trap, 1), 'c');
    trap_steps(trap, "zero-fill");
    expect_suspended(trap, parent);
    trap_exit(trap, child);
    assert_int_equal(parent->mm->users, 1);
    trap_expect_loads(trap, trap->base, 2, "P:*c");
    trap_write(trap, parent, trap->base, 'q');
    trap_expect_loads(trap, trap->base, 2, "P:qc");
}

/* What the child maps and unmaps, it does to its parent's address space. */
TRAP(mappings_of_the_child_are_the_parents, IN_SPAN)
{
    struct task *parent = begin(trap);
    struct task *child = trap_vfork(trap, parent, 'C');

    trap_unmap(trap, child, trap->base, 1);
    trap_map(trap, child, trap_page(trap, 2), 1, RW);
    trap_write(trap, child, trap_page(trap, 2), 'c');
    trap_exit(trap, child);
    trap_expect_loads(trap, trap->base, 3, "P:!.c");
}

TRAP(exec_leaves_the_address_space_to_the_parent, ANYWHERE)
{
    struct task *parent = begin(trap);
    struct task *child = trap_vfork(trap, parent, 'C');
    struct task_status status;

    trap_write(trap, child, trap_page(trap, 1), 'c');
    trap_exec(trap, child);
    assert_ptr_not_equal(child->mm, parent->mm);
    assert_int_equal(parent->mm->users, 1);
    assert_int_equal(child->mm->users, 1);
    assert_int_equal(trap_read(trap, child, 2 * PAGE_BYTES), 'D');
    trap_write(trap, parent, trap->base, 'q');
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 1)), 'c');
    assert_int_equal(sys_wait(parent, child, &status), -EDEADLK); /* nobody runs it */
    trap_exit(trap, child);
    trap_expect_loads(trap, trap->base, 2, "P:qc");
}

/* An exec that fails leaves the loan as it is. */
TRAP(failing_exec_keeps_the_parent_suspended, IN_SPAN)
{
    struct task *parent = begin(trap);
    struct task *child = trap_vfork(trap, parent, 'C');
    struct object *text = trap_file(trap, "x");
    char problem[160];

    assert_int_equal(sys_exec(child, text, NULL, problem, sizeof(problem)), -ENOEXEC);
    expect_suspended(trap, parent);
    trap_write(trap, child, trap->base, 'c');
    trap_exit(trap, child);
    trap_expect_loads(trap, trap->base, 1, "P:c");
}

TRAP(bad_access_of_the_child_leaves_the_parent_alone, IN_SPAN)
{
    struct task *parent = begin(trap);
    struct task *child = trap_vfork(trap, parent, 'C');

    trap_write(trap, child, trap_page(trap, 1), 'c');
    trap_dies(trap, child, trap_page(trap, 2), ACCESS_WRITE, EVENT_BAD_MAPERR);
    trap_expect_loads(trap, trap->base, 2, "P:pc");
    assert_int_equal(parent->mm->users, 1);
}

TRAP(killed_child_leaves_the_parent_alone, IN_SPAN)
{
    struct task *parent = begin(trap);
    struct task *child = trap_vfork(trap, parent, 'C');
    struct task_status status = {0};

    trap_write(trap, child, trap_page(trap, 1), 'c');
    task_kill(child);
    trap->task_count--;
    trap_check(trap);
    trap_expect_loads(trap, trap->base, 2, "P:pc");
    assert_int_equal(sys_wait(parent, child, &status), 0);
    assert_true(status.killed);
    assert_int_equal(status.cause, EVENT_EXIT);
}

/* A fork of the child is a copy as any other. */
TRAP(child_forks, ANYWHERE)
{
    struct task *parent = begin(trap);
    struct task *child = trap_vfork(trap, parent, 'C');
    struct task *grandchild = trap_fork(trap, child, 'G');

    trap_write(trap, grandchild, trap->base, 'g');
    trap_write(trap, child, trap->base, 'c');
    trap_expect(trap, trap->base, 1, "P:c C:c G:g");
    trap_exit(trap, grandchild);
    trap_exit(trap, child);
    trap_expect_loads(trap, trap->base, 1, "P:c");
}

/* A child of vfork vforks: three have the address space, and one may run. */
TRAP(nested_vfork, ANYWHERE)
{
    struct task *parent = begin(trap);
    struct task *child = trap_vfork(trap, parent, 'C');
    struct task *grandchild = trap_vfork(trap, child, 'G');

    assert_int_equal(parent->mm->users, 3);
    expect_suspended(trap, parent);
    expect_suspended(trap, child);
    trap_write(trap, grandchild, trap->base, 'g');
    trap_exec(trap, grandchild);
    expect_suspended(trap, parent);
    trap_write(trap, child, trap_page(trap, 1), 'c');
    trap_exit(trap, grandchild);
    trap_exit(trap, child);
    trap_expect_loads(trap, trap->base, 2, "P:gc");
}

/* As in Linux: the first lender goes on beside the last borrower, in one address space. */
TRAP(killed_in_the_middle_of_nested_vforks, IN_SPAN)
{
    struct task *parent = begin(trap);
    struct task *child = trap_vfork(trap, parent, 'C');
    struct task *grandchild = trap_vfork(trap, child, 'G');
    struct task_status status = {0};

    task_kill(child);
    trap->tasks[1] = grandchild;
    trap->names[1] = 'G';
    trap->task_count = 2;
    trap_check(trap);
    assert_int_equal(parent->mm->users, 2);
    assert_int_equal(sys_wait(parent, child, &status), 0);
    assert_true(status.killed);
    trap_write(trap, parent, trap->base, 'q');
    trap_write(trap, grandchild, trap_page(trap, 1), 'g');
    trap_expect_loads(trap, trap->base, 2, "P:qg G:qg");
    /* Both fork, and each copy is its own. */
    struct task *copy = trap_fork(trap, parent, 'D');

    trap_write(trap, grandchild, trap->base, 'h');
    trap_expect_loads(trap, trap->base, 2, "P:hg G:hg D:qg");
    trap_exit(trap, copy);
    trap_exec(trap, grandchild);
    trap_write(trap, parent, trap->base, 'r');
    assert_int_equal(parent->mm->users, 1);
}

/* A suspended parent can be killed; the child keeps the address space. */
TRAP(killed_parent_leaves_the_address_space_to_the_child, ANYWHERE)
{
    struct task *first = trap_first(trap);
    struct task *parent = trap_fork(trap, first, 'Q');
    struct task_status status = {0};

    trap_map(trap, parent, trap->base, 1, RW);
    trap_write(trap, parent, trap->base, 'p');
    struct task *child = trap_vfork(trap, parent, 'C');

    task_kill(parent);
    trap->tasks[1] = child;
    trap->names[1] = 'C';
    trap->task_count = 2;
    trap_check(trap);
    assert_int_equal(sys_wait(first, parent, &status), 0);
    assert_true(status.killed);
    assert_null(child->parent);
    assert_int_equal(child->mm->users, 1);
    assert_int_equal(trap_read(trap, child, trap->base), 'p');
    trap_write(trap, child, trap->base, 'c');
    trap_expect_loads(trap, trap->base, 1, "P:! C:c");
}

/* Refused memory: no child, and the parent is not suspended. */
TRAP(vfork_is_refused_memory, IN_SPAN)
{
    struct allocation_gate *gate = &trap->machine->ram.gate;
    struct task *parent = begin(trap);
    struct task *child = NULL;
    int error = -ENOMEM;
    uint64_t at = 1;

    /* Until the pool of tasks has to grow. */
    for (; error == -ENOMEM; at++) {
        gate->fail_at = gate->requests + 1;
        error = sys_vfork(parent, &child);
        gate->fail_at = 0;
        trap_check(trap);
        if (error == -ENOMEM) {
            assert_null(child);
            assert_int_equal(parent->mm->users, 1);
            trap_expect_loads(trap, trap->base, 1, "P:p");
            error = sys_vfork(parent, &child);
        }
        assert_in_range(at, 1, 3);
    }
    assert_int_equal(error, 0);
    assert_int_equal(task_exit(child, 0), 0);
    trap_check(trap);
}

/* --- in user mode: the parent runs, and its child in the same window, on the same thread --- */

struct story {
    struct trap *trap;
    struct object *program;
    bool kills_parent;
    bool execs;
    struct task *child;
    int parents_call;
    int wait_result;
    uint8_t seen;
    bool went_on;
};

static void run_program(struct forklab_user *user, void *argument)
{
    struct story *story = argument;

    assert_int_equal(forklab_load8(user, 2 * PAGE_BYTES), 'D');
    /* The parent goes on in this very moment, if somebody lets it. */
    story->parents_call =
        sys_munmap(user_task(user)->parent, trap_page(story->trap, 1), PAGE_BYTES);
    user_exit(user, 9);
}

static void run_child(struct forklab_user *user, void *argument)
{
    struct story *story = argument;
    struct task *parent = user_task(user)->parent;

    forklab_store8(user, story->trap->base, 42);
    story->parents_call = sys_munmap(parent, trap_page(story->trap, 1), PAGE_BYTES);
    assert_int_equal(story->parents_call, -EBUSY);
    if (story->kills_parent)
        task_kill(parent);
    /* Its own rights to the memory are as before. */
    forklab_store8(user, story->trap->base + 1, forklab_load8(user, story->trap->base));
    if (story->execs)
        (void)user_exec(user, story->program, NULL, run_program, story);
    user_exit(user, 9);
}

static void run_parent(struct forklab_user *user, void *argument)
{
    struct story *story = argument;
    struct task *parent = user_task(user);
    struct task_status status = {0};

    assert_int_equal(sys_vfork(parent, &story->child), 0);
    assert_int_equal(task_run(story->child, run_child, story), 1);
    story->seen = forklab_load8(user, story->trap->base + 1); /* where a killed one ends */
    story->wait_result = sys_wait(parent, story->child, &status);
    assert_false(status.killed);
    assert_int_equal(status.exit_code, 9);
    story->went_on = true;
}

static struct story tell(struct trap *trap, bool kills_parent, bool execs, int expected)
{
    struct elf_file elf;
    struct task *first = trap_first(trap);
    struct task *parent = trap_fork(trap, first, 'Q');
    struct story story = {.trap = trap, .kills_parent = kills_parent, .execs = execs};

    elf_file_init(&elf, PAGE_BYTES);
    story.program = elf_file_object(trap->machine, &elf);
    trap_map(trap, parent, trap->base, 2, RW);
    assert_int_equal(task_run(parent, run_parent, &story), expected);
    object_close(trap->machine, story.program);
    trap_check(trap);
    return story;
}

TRAP(child_runs_within_its_parents_run, IN_SPAN)
{
    struct story story = tell(trap, false, false, 0);

    assert_true(story.went_on);
    assert_int_equal(story.seen, 42);
    assert_int_equal(story.wait_result, 0);
    trap_expect_loads(trap, trap->base, 2, "P:!! Q:*.");
}

TRAP(child_execs_within_its_parents_run, IN_SPAN)
{
    struct story story = tell(trap, false, true, 0);

    assert_true(story.went_on);
    assert_int_equal(story.parents_call, 0);
    assert_int_equal(story.seen, 42);
    trap_expect_loads(trap, trap->base, 2, "P:!! Q:*!");
}

/* Marked, it ends at its next fault, when the child has been run to its end. */
TRAP(parent_is_killed_from_within_its_child, IN_SPAN)
{
    struct task_status status = {0};
    struct story story = tell(trap, true, false, 1);
    struct task *first = trap->tasks[0];

    assert_false(story.went_on);
    trap->task_count = 1;
    assert_int_equal(sys_wait(first, NULL, &status), 0);
    assert_true(status.killed);
    assert_int_equal(status.cause, EVENT_EXIT);
    trap_check(trap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row77_both_have_the_same_memory),
        cmocka_unit_test(mappings_of_the_child_are_the_parents),
        cmocka_unit_test(exec_leaves_the_address_space_to_the_parent),
        cmocka_unit_test(failing_exec_keeps_the_parent_suspended),
        cmocka_unit_test(bad_access_of_the_child_leaves_the_parent_alone),
        cmocka_unit_test(killed_child_leaves_the_parent_alone),
        cmocka_unit_test(child_forks),
        cmocka_unit_test(nested_vfork),
        cmocka_unit_test(killed_in_the_middle_of_nested_vforks),
        cmocka_unit_test(killed_parent_leaves_the_address_space_to_the_child),
        cmocka_unit_test(vfork_is_refused_memory),
        cmocka_unit_test(child_runs_within_its_parents_run),
        cmocka_unit_test(child_execs_within_its_parents_run),
        cmocka_unit_test(parent_is_killed_from_within_its_child),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
