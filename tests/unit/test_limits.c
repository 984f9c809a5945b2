/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many, deep, full and far: 300 children, forks in forks, RAM that ends, addresses beyond a window,
 * and what is wrong with a call; on every kernel and both MMUs.
 */
#include <errno.h>

#include "pager/map.h"
#include "pager/pin.h"
#include "pager/user_copy.h"
#include "tests/support/world.h"

#define MIB ((uint64_t)1 << 20)

enum { CHILDREN = 300, DEPTH = 6 };

typedef void limit_test(const struct machine_options *options);

/* Runs the test on each kernel, sharing from the first entry on where it shares, and both MMUs. */
static void everywhere(limit_test *test, uint64_t ram_bytes)
{
    for (size_t i = 0; i < kernel_count; i++) {
        struct kernel kernel = kernels[i];

        kernel.least_shared_entries = 1;
        for (enum mmu_kind mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
            struct machine_options options = {
                .kernel = &kernel, .mmu = mmu, .ram_bytes = ram_bytes};

            test(&options);
        }
    }
}

static void reap(struct task *parent, struct task *child, int exit_code)
{
    struct task_status status;

    assert_int_equal(sys_wait(parent, child, &status), 0);
    assert_false(status.killed);
    assert_int_equal(status.exit_code, exit_code);
}

/* --- many --- */

/* A number in each of three orders: as they came, backwards, mixed. */
static unsigned in_order(unsigned order, unsigned number)
{
    static const unsigned stride = 7; /* has no divisor in common with 300 */

    if (order == 0)
        return number;
    return order == 1 ? CHILDREN - 1 - number : number * stride % CHILDREN;
}

static void many_children(const struct machine_options *options)
{
    static struct task *children[CHILDREN];

    for (unsigned order = 0; order < 3; order++) {
        struct world world;
        struct task *parent = world_begin_family(&world, options);

        for (unsigned i = 0; i < CHILDREN; i++)
            children[i] = world_fork(parent);
        for (unsigned i = 0; i < CHILDREN; i += 3)
            world_store(children[i], WORLD_BASE + (i % WORLD_FAMILY_PAGES) * PAGE_BYTES, 0xee);
        world_check(&world);
        world_store(parent, WORLD_BASE, 0xaa);
        for (unsigned i = 0; i < CHILDREN; i++) {
            struct task *child = children[in_order(order, i)];

            assert_int_equal(task_exit(child, (int)i), 0);
            reap(parent, child, (int)i);
        }
        assert_int_equal(world_load(parent, WORLD_BASE), 0xaa);
        assert_int_equal(world_load(parent, WORLD_BASE + PAGE_BYTES), 2);
        world_end(&world);
    }
}

static void test_many_children(void **state)
{
    (void)state;
    everywhere(many_children, 32 * MIB);
}

/* --- deep --- */

/* Each generation writes a page of its own and sees those of all before it, of none after it. */
static void deep_forks(const struct machine_options *options)
{
    for (unsigned first_end = 0; first_end < DEPTH; first_end++) {
        struct world world;
        struct task *tasks[DEPTH] = {world_begin_family(&world, options)};

        for (unsigned i = 1; i < DEPTH; i++) {
            tasks[i] = world_fork(tasks[i - 1]);
            world_store(tasks[i], WORLD_BASE + i * PAGE_BYTES, (uint8_t)(0x80 + i));
        }
        world_check(&world);
        assert_int_equal(task_exit(tasks[first_end], 0), 0);
        world_check(&world);
        for (unsigned i = 0; i < DEPTH; i++) {
            for (unsigned page = 1; i != first_end && page < DEPTH; page++)
                assert_int_equal(world_load(tasks[i], WORLD_BASE + page * PAGE_BYTES),
                                 page <= i ? 0x80 + page : page + 1);
        }
        world_end(&world);
    }
}

static void test_deep_forks(void **state)
{
    (void)state;
    everywhere(deep_forks, 16 * MIB);
}

/* --- full --- */

/* Forks until RAM ends; the parent's pages lie far apart, so that every child needs many tables. */
static void forks_until_full(const struct machine_options *options, unsigned pins)
{
    enum { PLACES = 6 };
    struct world world;
    struct pin held[PLACES];
    struct task *child;
    int error = 0;

    world_begin(&world, options);
    struct task *parent = world_fork(world.init);

    for (unsigned i = 0; i < PLACES; i++) {
        va_t place = WORLD_BASE + ((va_t)i << 30);

        world_map(parent, place, 2 * PAGE_BYTES);
        world_store(parent, place, (uint8_t)i);
        world_store(parent, place + PAGE_BYTES, (uint8_t)i);
        if (i < pins)
            assert_int_equal(sys_pin(parent, place, ACCESS_READ, &held[i]), 0);
    }
    while (error == 0) {
        error = sys_fork(parent, &child);
        world_check(&world);
    }
    assert_int_equal(error, -ENOMEM);
    for (unsigned i = 0; i < pins; i++)
        unpin(&held[i]);
    /* By the kernel, for user code would need a stack of its own now. */
    for (unsigned i = 0; i < PLACES; i++) {
        uint8_t value;

        assert_int_equal(copyin(parent, &value, WORLD_BASE + ((va_t)i << 30), 1), 0);
        assert_int_equal(value, i);
    }
    world_end(&world);
}

static void test_forks_until_ram_is_full(void **state)
{
    enum { LEAST_PAGES = 56, MOST_PAGES = 120 };

    (void)state;
    for (size_t i = 0; i < kernel_count; i++) {
        struct kernel kernel = kernels[i];

        kernel.least_shared_entries = 1;
        for (uint64_t pages = LEAST_PAGES; pages < MOST_PAGES; pages++) {
            struct machine_options options = {
                .kernel = &kernel, .mmu = MMU_SOFT, .ram_bytes = pages * PAGE_BYTES};

            forks_until_full(&options, 0);
            forks_until_full(&options, 5);
        }
    }
}

struct fill {
    uint64_t stored;
};

static void store_for_ever(struct forklab_user *user, void *argument)
{
    struct fill *fill = argument;

    for (va_t va = WORLD_BASE + 8 * MIB;; va += PAGE_BYTES) {
        forklab_store8(user, va, 1);
        fill->stored++;
    }
}

/* A child that takes all memory is killed for it; then there is memory again. */
static void fills_ram(const struct machine_options *options)
{
    struct world world;
    struct task *parent = world_begin_family(&world, options);
    struct fill fill = {0};
    struct task_status status;

    world_map(parent, WORLD_BASE + 8 * MIB, 64 * MIB);
    struct task *child = world_fork(parent);

    assert_int_equal(world_call(child, store_for_ever, &fill), 1);
    assert_int_equal(sys_wait(parent, child, &status), 0);
    assert_int_equal(status.cause, EVENT_BAD_OOM);
    assert_int_equal(status.address, WORLD_BASE + 8 * MIB + fill.stored * PAGE_BYTES);
    assert_true(fill.stored * PAGE_BYTES > options->ram_bytes / 2);
    world_check(&world);
    for (unsigned i = 0; i < WORLD_FAMILY_PAGES; i++)
        world_store(parent, WORLD_BASE + i * PAGE_BYTES, 7);
    world_end(&world);
}

static void test_ram_that_is_full(void **state)
{
    (void)state;
    everywhere(fills_ram, 2 * MIB);
}

/* --- what is wrong with a call --- */

static void nothing(struct forklab_user *user, void *argument)
{
    (void)user;
    (void)argument;
}

struct errors {
    int run_itself;
    int exit_while_running;
    int exec_while_running;
};

static void call_badly(struct forklab_user *user, void *argument)
{
    struct errors *errors = argument;

    errors->run_itself = world_call(user_task(user), nothing, NULL);
    errors->exit_while_running = task_exit(user_task(user), 1);
    errors->exec_while_running = sys_exec(user_task(user), NULL, NULL, NULL, 0);
}

static void errors_of_tasks(const struct machine_options *options)
{
    struct world world;
    struct task *parent = world_begin_family(&world, options);
    struct task *child = world_fork(parent);
    struct task_status status;
    struct errors errors = {0};
    struct access_script empty = {0};

    assert_int_equal(sys_wait(child, NULL, &status), -ECHILD);
    assert_int_equal(sys_wait(child, parent, &status), -ECHILD);
    assert_int_equal(sys_wait(parent, child, &status), -EDEADLK);
    assert_int_equal(sys_wait(parent, NULL, &status), -EDEADLK);
    assert_int_equal(world_call(child, call_badly, &errors), 0);
    assert_int_equal(errors.run_itself, -EBUSY);
    assert_int_equal(errors.exit_while_running, -EBUSY);
    assert_int_equal(errors.exec_while_running, -EBUSY);
    assert_int_equal(task_exit(child, 5), 0);
    assert_int_equal(world_access(child, &empty), -ESRCH);
    assert_int_equal(task_exit(child, 5), -ESRCH);
    assert_int_equal(sys_fork(child, &child), -ESRCH);
    assert_int_equal(sys_munmap(child, WORLD_BASE, PAGE_BYTES), -ESRCH);
    assert_int_equal(sys_wait(child, NULL, &status), -ESRCH);
    reap(parent, child, 5);
    world_end(&world);
}

static void test_errors_of_tasks(void **state)
{
    (void)state;
    everywhere(errors_of_tasks, 8 * MIB);
}

/* --- far --- */

/* Without a window there are 47 bits of addresses. */
static void test_beyond_any_window(void **state)
{
    static const va_t places[] = {(va_t)33 << 30, (va_t)1 << 40, ((va_t)1 << 46) + 5 * PAGE_BYTES};
    enum { PLACES = sizeof(places) / sizeof(places[0]) };
    struct machine_options options = {.mmu = MMU_SOFT, .ram_bytes = 8 * MIB};
    struct world world;

    (void)state;
    world_begin(&world, &options);
    struct task *parent = world_fork(world.init);

    for (unsigned i = 0; i < PLACES; i++) {
        world_map(parent, places[i], 4 * PAGE_BYTES);
        world_store(parent, places[i] + PAGE_BYTES, (uint8_t)(i + 1));
    }
    struct task *child = world_fork(parent);

    for (unsigned i = 0; i < PLACES; i++) {
        world_store(child, places[i] + PAGE_BYTES, 9);
        assert_int_equal(world_load(parent, places[i] + PAGE_BYTES), i + 1);
        world_check(&world);
    }
    world_end(&world);
}

/* On the host MMU those addresses are refused by name, and an access to one ends the task. */
static void test_beyond_the_window(void **state)
{
    struct machine_options options = {.ram_bytes = 8 * MIB};
    struct world world;
    struct task *parent = world_begin_family(&world, &options);
    struct access_step step = {.va = parent->mm->user_end + 5 * MIB, .bytes = 4, .write = true};
    struct access_script script = {.steps = &step, .count = 1};
    struct map_request request = {.address = page_of(step.va),
                                  .bytes = PAGE_BYTES,
                                  .protection = VMA_READ,
                                  .flags = MAP_REQUEST_FIXED};
    struct task_status status;

    (void)state;
    assert_int_equal(sys_mmap(parent, &request, &request.address), -ENOMEM);
    assert_int_equal(world_access(parent, &script), 1);
    assert_int_equal(sys_wait(world.init, parent, &status), 0);
    assert_int_equal(status.cause, EVENT_BAD_MAPERR);
    assert_int_equal(status.address, step.va);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_children),           cmocka_unit_test(test_deep_forks),
        cmocka_unit_test(test_forks_until_ram_is_full), cmocka_unit_test(test_ram_that_is_full),
        cmocka_unit_test(test_errors_of_tasks),         cmocka_unit_test(test_beyond_any_window),
        cmocka_unit_test(test_beyond_the_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
