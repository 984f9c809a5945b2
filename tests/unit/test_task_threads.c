/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks of one machine on several threads, and several machines on several threads: faults, forks,
 * kills, exits and waits at the same time, on both MMUs. cmocka belongs to the main thread, so the
 * others count what is wrong.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "pager/map.h"
#include "pager/user_copy.h"
#include "tests/support/world.h"

#define MIB ((uint64_t)1 << 20)

enum { THREADS = 4, ROUNDS = 25, OWN_PAGES = 20, SOME_MICROSECONDS = 2000 };

static _Atomic unsigned wrong;
static _Atomic bool stop;

/* True, or noted as wrong. */
static bool expect(bool holds)
{
    if (!holds)
        atomic_fetch_add(&wrong, 1);
    return holds;
}

static pthread_t start(void *(*function)(void *), void *argument)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, function, argument), 0);
    return thread;
}

static void join(pthread_t thread)
{
    assert_int_equal(pthread_join(thread, NULL), 0);
}

typedef void thread_test(const struct machine_options *options);

static void everywhere(thread_test *test)
{
    static const char *const names[] = {"2.5.41-mm2-shared", "modern", "modern-shared"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct kernel kernel = *kernel_find(names[i]);

        kernel.least_shared_entries = 1;
        for (enum mmu_kind mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
            struct machine_options options = {.kernel = &kernel,
                                              .mmu = mmu,
                                              .ram_bytes = 32 * MIB,
                                              .host = {.mapping_budget = 200}};

            atomic_store(&wrong, 0);
            atomic_store(&stop, false);
            test(&options);
            assert_int_equal(atomic_load(&wrong), 0);
        }
    }
}

/* --- families --- */

struct worker {
    struct task *root;
    unsigned number;
    pthread_t thread;
};

static uint64_t value_of(const struct worker *worker, unsigned page, unsigned generation)
{
    return ((uint64_t)worker->number << 32) | (generation << 16) | page;
}

static void write_pages(struct forklab_user *user, const struct worker *worker, unsigned generation)
{
    for (unsigned i = 0; i < OWN_PAGES; i++)
        forklab_store64(user, WORLD_BASE + i * PAGE_BYTES + 64, value_of(worker, i, generation));
}

static bool pages_are_of(struct forklab_user *user, const struct worker *worker,
                         unsigned generation)
{
    for (unsigned i = 0; i < OWN_PAGES; i++) {
        if (forklab_load64(user, WORLD_BASE + i * PAGE_BYTES + 64) !=
            value_of(worker, i, generation))
            return false;
    }
    return true;
}

static void be_grandchild(struct forklab_user *user, void *argument)
{
    const struct worker *worker = argument;

    expect(pages_are_of(user, worker, 1));
    write_pages(user, worker, 2);
    expect(pages_are_of(user, worker, 2));
    user_exit(user, 2);
}

/* Forks, runs its child within itself, and dies of a bad access. */
static void be_child(struct forklab_user *user, void *argument)
{
    const struct worker *worker = argument;
    struct task_status status = {0};
    struct task *child;

    write_pages(user, worker, 1);
    if (!expect(sys_fork(user_task(user), &child) == 0))
        return;
    expect(world_call(child, be_grandchild, argument) == 1);
    expect(sys_wait(user_task(user), child, &status) == 0);
    expect(!status.killed && status.exit_code == 2);
    expect(pages_are_of(user, worker, 1));
    (void)forklab_load8(user, 0);
}

static void *work(void *argument)
{
    const struct worker *worker = argument;

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct task_status status = {0};
        struct task *child;

        if (!expect(sys_fork(worker->root, &child) == 0))
            break;
        expect(world_call(child, be_child, argument) == 1);
        expect(sys_wait(worker->root, child, &status) == 0);
        expect(status.killed && status.cause == EVENT_BAD_MAPERR && status.address == 0);
    }
    return NULL;
}

/* The parent of all writes what they inherit, for as long as they come and go. */
static void be_root(struct forklab_user *user, void *argument)
{
    uint64_t count = 0;

    (void)argument;
    while (!atomic_load(&stop)) {
        va_t va = WORLD_BASE + (count % WORLD_FAMILY_PAGES) * PAGE_BYTES;

        forklab_store64(user, va, ++count);
        expect(forklab_load64(user, va) == count);
    }
}

static void *run_root(void *argument)
{
    expect(world_call(argument, be_root, NULL) == 0);
    return NULL;
}

static void families(const struct machine_options *options)
{
    struct world world;
    struct task *root = world_begin_family(&world, options);
    struct worker workers[THREADS];
    pthread_t root_thread = start(run_root, root);

    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.root = root, .number = i + 1};
        workers[i].thread = start(work, &workers[i]);
    }
    for (unsigned i = 0; i < ROUNDS; i++)
        world_check(&world);
    for (unsigned i = 0; i < THREADS; i++)
        join(workers[i].thread);
    atomic_store(&stop, true);
    join(root_thread);
    world_end(&world);
}

static void test_families_on_threads(void **state)
{
    (void)state;
    everywhere(families);
}

/* --- kills --- */

struct victim {
    struct task *task;
    _Atomic bool runs;
    int result;
    pthread_t thread;
};

static void run_for_ever(struct forklab_user *user, void *argument)
{
    struct victim *victim = argument;

    for (uint64_t count = 0;; count++) {
        forklab_store64(user, WORLD_BASE + (count % WORLD_FAMILY_PAGES) * PAGE_BYTES, count);
        atomic_store(&victim->runs, true);
    }
}

static void *be_victim(void *argument)
{
    struct victim *victim = argument;

    victim->result = world_call(victim->task, run_for_ever, victim);
    return NULL;
}

static void await(const _Atomic bool *flag)
{
    while (!atomic_load(flag))
        (void)usleep(SOME_MICROSECONDS / 10);
}

/* Pages of the running tasks are changed by copyout meanwhile, and the tasks are forked. */
static void kills(const struct machine_options *options)
{
    struct world world;
    struct task *parent = world_begin_family(&world, options);
    struct victim victims[THREADS] = {0};
    struct task_status status;
    uint8_t byte = 9;

    for (unsigned i = 0; i < THREADS; i++) {
        victims[i].task = world_fork(parent);
        victims[i].thread = start(be_victim, &victims[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        struct task *task = victims[i].task;
        va_t last = WORLD_BASE + (WORLD_FAMILY_PAGES - 1) * PAGE_BYTES;

        await(&victims[i].runs);
        struct task *copy = world_fork(task);

        assert_int_equal(copyout(task, last + 100, &byte, 1), 0);
        assert_int_equal(copyin(copy, &byte, last + 100, 1), 0);
        assert_int_equal(byte, 0);
        byte = 9;
        (void)usleep(SOME_MICROSECONDS);
        world_check(&world);
        task_kill(task);
        join(victims[i].thread);
        assert_int_equal(victims[i].result, 1);
        assert_int_equal(sys_wait(parent, task, &status), 0);
        assert_true(status.killed);
        assert_int_equal(status.cause, EVENT_EXIT);
        task_kill(copy);
    }
    world_end(&world);
}

static void test_kills_of_running_tasks(void **state)
{
    (void)state;
    everywhere(kills);
}

/* --- waits --- */

struct waiting {
    struct task *child;
    _Atomic bool runs;
    int result;
    int wait_result;
    struct task_status status;
};

static void wait_for_child(struct forklab_user *user, void *argument)
{
    struct waiting *waiting = argument;

    atomic_store(&waiting->runs, true);
    waiting->wait_result = sys_wait(user_task(user), waiting->child, &waiting->status);
}

static void *be_waiting_parent(void *argument)
{
    struct waiting *waiting = argument;

    waiting->result = world_call(waiting->child->parent, wait_for_child, waiting);
    return NULL;
}

/* The child runs on one thread, its parent waits on another, and one of the two is killed. */
static void wait_and_kill(const struct machine_options *options, bool kill_parent)
{
    struct world world;
    struct task *parent = world_begin_family(&world, options);
    struct victim victim = {.task = world_fork(parent)};
    struct waiting waiting = {.child = victim.task, .wait_result = 1};
    struct task_status status;

    victim.thread = start(be_victim, &victim);
    await(&victim.runs);
    pthread_t parent_thread = start(be_waiting_parent, &waiting);

    await(&waiting.runs);
    (void)usleep(SOME_MICROSECONDS);
    task_kill(kill_parent ? parent : victim.task);
    join(parent_thread);
    if (kill_parent) {
        assert_int_equal(waiting.result, 1);
        assert_int_equal(sys_wait(world.init, parent, &status), 0);
        assert_int_equal(status.cause, EVENT_EXIT);
        task_kill(victim.task);
    } else {
        assert_int_equal(waiting.wait_result, 0);
        assert_int_equal(waiting.status.cause, EVENT_EXIT);
    }
    join(victim.thread);
    world_end(&world);
}

static void waits(const struct machine_options *options)
{
    wait_and_kill(options, false);
    wait_and_kill(options, true);
}

static void test_waits_across_threads(void **state)
{
    (void)state;
    everywhere(waits);
}

/* --- machines --- */

static bool use_machine(struct machine *machine, const struct worker *worker)
{
    struct map_request request = {.address = WORLD_BASE,
                                  .bytes = OWN_PAGES * PAGE_BYTES,
                                  .protection = VMA_READ | VMA_WRITE,
                                  .flags = MAP_REQUEST_FIXED};
    struct task_status status = {0};
    struct task *parent;
    struct task *child;
    va_t va;

    return task_create(machine, &parent) == 0 && sys_mmap(parent, &request, &va) == 0 &&
           sys_fork(parent, &child) == 0 &&
           world_call(child, be_child, (void *)(uintptr_t)worker) == 1 &&
           sys_wait(parent, child, &status) == 0 && status.cause == EVENT_BAD_MAPERR;
}

/* Machines come and go on every thread, and with them windows and the handler. */
static void *own_machines(void *argument)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct machine_options options = {.kernel = &kernels[round % kernel_count],
                                          .mmu = round % 4 == 3 ? MMU_SOFT : MMU_HOST,
                                          .ram_bytes = 4 * MIB};
        struct machine *machine;
        char problem[160];

        if (!expect(machine_create(&machine, &options, problem, sizeof(problem)) == 0))
            break;
        expect(use_machine(machine, argument));
        machine_destroy(machine);
    }
    return NULL;
}

static void test_machines_on_threads(void **state)
{
    struct worker workers[THREADS];

    (void)state;
    atomic_store(&wrong, 0);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i + 1};
        workers[i].thread = start(own_machines, &workers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        join(workers[i].thread);
    assert_int_equal(atomic_load(&wrong), 0);
}

/* --- few windows --- */

static void *take_turns(void *argument)
{
    const struct worker *worker = argument;
    struct task *tasks[3];

    for (unsigned i = 0; i < 3; i++)
        expect(sys_fork(worker->root, &tasks[i]) == 0);
    for (unsigned round = 0; round < 3 * ROUNDS; round++) {
        va_t va = WORLD_BASE + round % WORLD_FAMILY_PAGES * PAGE_BYTES;
        struct access_step steps[] = {{.va = va, .bytes = 8, .write = true, .value = round},
                                      {.va = va, .bytes = 8}};
        struct access_script script = {.steps = steps, .count = 2};

        expect(world_access(tasks[round % 3], &script) == 0);
        expect(steps[1].value == round);
    }
    return NULL;
}

/* As many windows as threads: a task that is about to run must not lose the one it was given. */
static void test_threads_share_few_windows(void **state)
{
    struct machine_options options = {.ram_bytes = 32 * MIB, .host = {.most_windows = THREADS}};
    struct worker workers[THREADS];
    struct world world;
    struct task *root = world_begin_family(&world, &options);

    (void)state;
    atomic_store(&wrong, 0);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.root = root, .number = i + 1};
        workers[i].thread = start(take_turns, &workers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        join(workers[i].thread);
    assert_int_equal(atomic_load(&wrong), 0);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families_on_threads),
        cmocka_unit_test(test_kills_of_running_tasks),
        cmocka_unit_test(test_waits_across_threads),
        cmocka_unit_test(test_machines_on_threads),
        cmocka_unit_test(test_threads_share_few_windows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
