/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several machines in one process, more tasks than windows, runs within runs; and what the handler
 * must leave to the process: a crash that is none of a task's, and Ctrl-C. Those are tried in a
 * process of their own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/self.h"
#include "tests/support/world.h"

#define MIB ((uint64_t)1 << 20)

/* --- several machines, few windows --- */

struct visit {
    struct task *other;
    uint8_t seen;
};

static void store_around_a_run(struct forklab_user *user, void *argument)
{
    struct visit *visit = argument;

    forklab_store8(user, WORLD_BASE, 1);
    visit->seen = world_load(visit->other, WORLD_BASE);
    forklab_store8(user, WORLD_BASE + 1, 2);
}

static void test_several_machines(void **state)
{
    enum { MACHINES = 4 };
    struct world worlds[MACHINES];
    struct task *tasks[MACHINES];

    (void)state;
    for (unsigned i = 0; i < MACHINES; i++) {
        struct machine_options options = {.kernel = &kernels[i % kernel_count],
                                          .mmu = i == 3 ? MMU_SOFT : MMU_HOST,
                                          .ram_bytes = 8 * MIB};

        tasks[i] = world_begin_family(&worlds[i], &options);
        world_store(tasks[i], WORLD_BASE, (uint8_t)(0x10 + i));
    }
    for (unsigned i = 0; i < MACHINES; i++) {
        struct visit visit = {.other = tasks[(i + 1) % MACHINES]};

        assert_int_equal(world_call(tasks[i], store_around_a_run, &visit), 0);
        assert_int_equal(visit.seen, i + 1 < MACHINES ? 0x11 + i : 1);
        assert_int_equal(world_load(tasks[i], WORLD_BASE + 1), 2);
        world_check(&worlds[i]);
    }
    world_end(&worlds[1]);
    assert_int_equal(world_load(tasks[0], WORLD_BASE), 1);
    world_end(&worlds[0]);
    world_end(&worlds[3]);
    assert_int_equal(world_load(tasks[2], WORLD_BASE), 1);
    world_end(&worlds[2]);
}

/* More tasks than windows take turns. */
static void test_windows_taken_back(void **state)
{
    enum { TASKS = 7, ROUNDS = 5 };
    struct machine_options options = {.ram_bytes = 8 * MIB, .host = {.most_windows = 2}};
    struct world world;
    struct task *tasks[TASKS] = {world_begin_family(&world, &options)};

    (void)state;
    for (unsigned i = 1; i < TASKS; i++)
        tasks[i] = world_fork(tasks[i - 1]);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < TASKS; i++) {
            world_store(tasks[i], WORLD_BASE + i * PAGE_BYTES, (uint8_t)(round * TASKS + i));
            world_check(&world);
        }
    }
    for (unsigned i = 0; i < TASKS; i++) {
        assert_int_equal(world_load(tasks[i], WORLD_BASE + i * PAGE_BYTES),
                         (ROUNDS - 1) * TASKS + i);
        assert_int_equal(world_load(tasks[i], WORLD_BASE + 20 * PAGE_BYTES), 21);
    }
    world_end(&world);
}

struct nest {
    struct task *inner;
    int result;
};

static void run_inner(struct forklab_user *user, void *argument)
{
    struct nest *nest = argument;
    struct nest deeper = {0};

    (void)user;
    nest->result = world_call(nest->inner, store_around_a_run, &deeper);
}

static void test_every_window_in_user_mode(void **state)
{
    struct machine_options options = {.ram_bytes = 8 * MIB, .host = {.most_windows = 1}};
    struct world world;
    struct task *parent = world_begin_family(&world, &options);
    struct nest nest = {.inner = world_fork(parent)};

    (void)state;
    assert_int_equal(world_call(parent, run_inner, &nest), 0);
    assert_int_equal(nest.result, -ENOSPC);
    assert_non_null(strstr(world.machine->mmu->problem, "every window is in use"));
    assert_int_equal(nest.inner->state, TASK_READY);
    assert_int_equal(world_load(nest.inner, WORLD_BASE), 1);
    world_end(&world);
}

/* A run within which others push its page out faults there again and again, and goes on. */
static void read_far_and_wide(struct forklab_user *user, void *argument)
{
    (void)argument;
    for (unsigned i = 0; i < 40; i++)
        (void)forklab_load8(user, WORLD_BASE + i * MIB);
}

static void read_between_runs(struct forklab_user *user, void *argument)
{
    for (unsigned round = 0; round < 6; round++) {
        (void)forklab_load8(user, WORLD_BASE);
        assert_int_equal(world_call(argument, read_far_and_wide, NULL), 0);
    }
}

static void test_pages_pushed_out_by_a_nested_run(void **state)
{
    struct machine_options options = {
        .ram_bytes = 8 * MIB, .map_ahead_pages = 1, .host = {.mapping_budget = 32}};
    struct world world;

    (void)state;
    world_begin(&world, &options);
    struct task *outer = world_fork(world.init);
    struct task *inner = world_fork(world.init);

    world_map(outer, WORLD_BASE, 64 * MIB);
    world_map(inner, WORLD_BASE, 64 * MIB);
    (void)world_load(outer, WORLD_BASE);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(world_call(inner, read_far_and_wide, NULL), 0);
    assert_int_equal(world_call(outer, read_between_runs, inner), 0);
    world_end(&world);
}

/* --- what ends a process --- */

static void touch_wild_pointer(struct forklab_user *user, void *argument)
{
    volatile uint8_t *volatile wild = (volatile uint8_t *)(uintptr_t)0x10;

    forklab_store8(user, WORLD_BASE, 1);
    (void)argument;
    *wild = 1;
}

/* A child is killed by a bad access, through the handler; its parent is returned. */
static struct task *kill_a_child(struct world *world)
{
    struct machine_options options = {.ram_bytes = 8 * MIB};
    struct task *parent = world_begin_family(world, &options);
    struct task *child = world_fork(parent);
    struct access_step step = {.va = WORLD_BASE + 512 * MIB, .bytes = 1};
    struct access_script script = {.steps = &step, .count = 1};

    if (world_access(child, &script) != 1)
        abort();
    return parent;
}

static int run_case(const char *name)
{
    struct world world;
    struct task *parent = kill_a_child(&world);

    if (strcmp(name, "wild pointer") == 0)
        (void)world_call(parent, touch_wild_pointer, NULL);
    else
        self_interrupt();
    return 0;
}

static void test_a_wild_pointer_is_a_crash(void **state)
{
    enum self_end end = self_run("wild pointer");

    (void)state;
    assert_true(end == SELF_CRASHED || end == SELF_FAILED);
}

static void test_an_interrupt_still_works(void **state)
{
    (void)state;
    assert_int_equal(self_run("interrupt"), SELF_INTERRUPTED);
}

int main(int argument_count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_several_machines),
        cmocka_unit_test(test_windows_taken_back),
        cmocka_unit_test(test_every_window_in_user_mode),
        cmocka_unit_test(test_pages_pushed_out_by_a_nested_run),
        cmocka_unit_test(test_a_wild_pointer_is_a_crash),
        cmocka_unit_test(test_an_interrupt_still_works),
    };

    if (argument_count == 2)
        return run_case(arguments[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
