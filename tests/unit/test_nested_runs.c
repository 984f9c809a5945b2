/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs nest on a thread: user code of a parent runs its child. Killing the outer task from within
 * the inner one must not jump over the inner one's run.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "pager/invariant.h"
#include "pager/task.h"

#include <cmocka.h>

struct nest {
    struct task *outer;
    struct task *inner;
    int waits_for_itself;
    bool inner_ended;
    bool outer_went_on;
};

static void run_inner(struct forklab_user *user, void *argument)
{
    struct nest *nest = argument;
    struct task_status status;

    (void)user;
    nest->waits_for_itself = sys_wait(nest->outer, nest->inner, &status);
    task_kill(nest->outer);
    task_kill(nest->outer);
    assert_int_equal(sys_wait(nest->outer, NULL, &status), -EINTR);
    nest->inner_ended = true;
    user_exit(user, 7);
}

static void run_outer(struct forklab_user *user, void *argument)
{
    struct nest *nest = argument;

    assert_int_equal(sys_fork(user_task(user), &nest->inner), 0);
    assert_int_equal(task_run(nest->inner, run_inner, nest), 1);
    forklab_store64(user, 0x1000, 1); /* the next thing that needs the kernel: here it ends */
    nest->outer_went_on = true;
}

static void check_nest(enum mmu_kind mmu)
{
    struct machine_options options = {.mmu = mmu, .ram_bytes = (uint64_t)4 << 20};
    struct machine *machine;
    struct nest nest = {0};
    char why[256];

    assert_int_equal(machine_create(&machine, &options, why, sizeof(why)), 0);
    uint32_t before = machine_used_frames(machine);

    assert_int_equal(task_create(machine, &nest.outer), 0);
    assert_int_equal(task_run(nest.outer, run_outer, &nest), 1);
    assert_int_equal(nest.waits_for_itself, -EDEADLK);
    assert_true(nest.inner_ended);
    assert_false(nest.outer_went_on);
    assert_null(machine->task_list);
    if (!machine_invariants_hold(machine, why, sizeof(why)))
        fail_msg("%s", why);
    assert_int_equal(machine_used_frames(machine), before);
    machine_destroy(machine);
}

static void test_kill_of_the_outer_task(void **state)
{
    (void)state;
    check_nest(MMU_SOFT);
    check_nest(MMU_HOST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kill_of_the_outer_task)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
