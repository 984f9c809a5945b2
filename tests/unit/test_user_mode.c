/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Entry to user mode and every way out of it, on both MMUs: the function returns, the task exits,
 * is killed, or execs and goes on in another function. Runs nest.
 */
#include <errno.h>
#include <string.h>

#include "tests/support/elf_file.h"
#include "tests/support/trap_fixture.h"

struct bench {
    struct trap trap;
    struct task *parent;
    struct task *child;
    struct object *program;
    va_t va;
    uint64_t seen[4];
    char bytes[32];
};

static void begin(struct bench *bench, enum mmu_kind mmu)
{
    *bench = (struct bench){0};
    trap_open(&bench->trap, kernel_find("modern-shared"), &geometry_x86_64, mmu, NULL);
    bench->parent = trap_first(&bench->trap);
    bench->va = bench->trap.base;
    trap_map(&bench->trap, bench->parent, bench->va, 2, RW);
    trap_write(&bench->trap, bench->parent, bench->va, 'a');
    bench->child = trap_fork(&bench->trap, bench->parent, 'C');
}

/* The child has ended: it is reaped, and how it ended returned. */
static struct task_status reap(struct bench *bench)
{
    struct task_status status = {0};

    trap_check(&bench->trap);
    assert_int_equal(task_run(bench->child, NULL, NULL), -ESRCH);
    assert_int_equal(sys_wait(bench->parent, bench->child, &status), 0);
    bench->trap.task_count--;
    assert_int_equal(sys_wait(bench->parent, NULL, &status), -ECHILD);
    trap_check(&bench->trap);
    return status;
}

static void on_both(void (*body)(struct bench *bench))
{
    for (int mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
        struct bench bench;

        begin(&bench, (enum mmu_kind)mmu);
        body(&bench);
        if (bench.program != NULL)
            object_close(bench.trap.machine, bench.program);
        trap_close(&bench.trap);
    }
}

#define ON_BOTH(name)                                                                              \
    static void in_##name(struct bench *bench);                                                    \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        on_both(in_##name);                                                                        \
    }                                                                                              \
    static void in_##name(struct bench *bench)

/* --- returning --- */

static void note_stack(struct forklab_user *user, void *argument)
{
    struct bench *bench = argument;
    va_t top = user_task(user)->mm->user_end;

    bench->seen[0]++;
    bench->seen[1] = forklab_load64(user, top - sizeof(uint64_t));
    bench->seen[2] = forklab_load8(user, bench->va);
}

ON_BOTH(test_return_leaves_the_task_alive)
{
    for (uint64_t times = 1; times <= 3; times++) {
        assert_int_equal(task_run(bench->child, note_stack, bench), 0);
        trap_check(&bench->trap);
        assert_int_equal(bench->seen[0], times);
        /* The return word lies on the emulated stack. */
        assert_int_equal(bench->seen[1], (uintptr_t)bench);
        assert_int_equal(bench->seen[2], 'a');
        assert_int_equal(bench->child->state, TASK_READY);
    }
    trap_expect(&bench->trap, bench->va, 2, "P:a. C:a.");
}

/* --- exiting --- */

static void exit_with_seven(struct forklab_user *user, void *argument)
{
    struct bench *bench = argument;

    forklab_store8(user, bench->va, 'x');
    user_exit(user, 7);
}

ON_BOTH(test_exit_code)
{
    assert_int_equal(task_run(bench->child, exit_with_seven, bench), 1);
    struct task_status status = reap(bench);

    assert_false(status.killed);
    assert_int_equal(status.exit_code, 7);
    trap_expect(&bench->trap, bench->va, 2, "P:a.");
}

ON_BOTH(test_exit_without_a_parent_reaps_at_once)
{
    trap_exit(&bench->trap, bench->parent);
    assert_int_equal(task_run(bench->child, exit_with_seven, bench), 1);
    bench->trap.task_count--;
    assert_int_equal(bench->trap.machine->tasks.used_count, 0);
}

/* --- being killed --- */

static void store_at(struct forklab_user *user, void *argument)
{
    struct bench *bench = argument;

    bench->seen[0] = 1;
    forklab_store8(user, bench->seen[3], 'k');
    bench->seen[0] = 2;
}

static void load_at(struct forklab_user *user, void *argument)
{
    struct bench *bench = argument;

    bench->seen[0] = 1;
    (void)forklab_load8(user, bench->seen[3]);
    bench->seen[0] = 2;
}

static void killed_at(struct bench *bench, user_function *function, va_t va, enum event cause)
{
    uint64_t faults = trap_count(&bench->trap, EVENT_FAULT);
    uint64_t bad = trap_count(&bench->trap, cause);

    bench->child =
        bench->child != NULL ? bench->child : trap_fork(&bench->trap, bench->parent, 'C');
    bench->seen[3] = va;
    assert_int_equal(task_run(bench->child, function, bench), 1);
    assert_int_equal(bench->seen[0], 1);
    struct task_status status = reap(bench);

    assert_true(status.killed);
    assert_string_equal(event_names[status.cause], event_names[cause]);
    assert_int_equal(status.address, va);
    assert_int_equal(trap_count(&bench->trap, cause), bad + 1);
    /* A bad access is a fault too: beside the stack's own. */
    assert_true(trap_count(&bench->trap, EVENT_FAULT) > faults + 1);
    bench->child = NULL;
}

ON_BOTH(test_killed_by_cause_and_address)
{
    struct object *file = trap_file(&bench->trap, "F");
    va_t top = bench->parent->mm->user_end;

    trap_map(&bench->trap, bench->parent, bench->va + 8 * PAGE_BYTES, 1, VMA_READ);
    trap_map(&bench->trap, bench->parent, bench->va + 9 * PAGE_BYTES, 1, 0);
    trap_map_object(&bench->trap, bench->parent, bench->va + 10 * PAGE_BYTES, 2, 0, file, 0);
    trap_exit(&bench->trap, bench->child);
    bench->child = NULL;
    killed_at(bench, store_at, bench->va + 2 * PAGE_BYTES + 123, EVENT_BAD_MAPERR);
    killed_at(bench, load_at, bench->va - 1, EVENT_BAD_MAPERR);
    killed_at(bench, load_at, 0, EVENT_BAD_MAPERR);
    killed_at(bench, store_at, bench->va + 8 * PAGE_BYTES + 5, EVENT_BAD_ACCERR);
    killed_at(bench, load_at, bench->va + 9 * PAGE_BYTES + 4095, EVENT_BAD_ACCERR);
    killed_at(bench, store_at, bench->va + 9 * PAGE_BYTES, EVENT_BAD_ACCERR);
    killed_at(bench, load_at, bench->va + 11 * PAGE_BYTES + 1, EVENT_BAD_BUS);
    killed_at(bench, load_at, top, EVENT_BAD_MAPERR);
    killed_at(bench, store_at, top + 12345, EVENT_BAD_MAPERR);
    killed_at(bench, load_at, UINT64_MAX, EVENT_BAD_MAPERR);
    killed_at(bench, load_at, (va_t)1 << 63, EVENT_BAD_MAPERR);
    trap_expect_loads(&bench->trap, bench->va, 2, "P:a.");
}

/* The word in front of the end of the address space may be used, the byte behind it may not. */
static void read_over_the_end(struct forklab_user *user, void *argument)
{
    struct bench *bench = argument;

    bench->seen[0] = 1;
    forklab_read(user, bench->bytes, bench->seen[3] - 8, 24);
    bench->seen[0] = 2;
}

static void load_over_the_end(struct forklab_user *user, void *argument)
{
    struct bench *bench = argument;

    bench->seen[0] = 1;
    (void)forklab_load64(user, bench->seen[3] - 4);
    bench->seen[0] = 2;
}

static void write_over_the_end(struct forklab_user *user, void *argument)
{
    struct bench *bench = argument;

    bench->seen[0] = 1;
    forklab_write(user, bench->seen[3] - 9, "123456789abc", 12);
    bench->seen[0] = 2;
}

ON_BOTH(test_killed_at_the_first_bad_byte)
{
    va_t top = bench->parent->mm->user_end;

    killed_at(bench, read_over_the_end, top, EVENT_BAD_MAPERR);
    killed_at(bench, load_over_the_end, top, EVENT_BAD_MAPERR);
    killed_at(bench, write_over_the_end, top, EVENT_BAD_MAPERR);
    killed_at(bench, read_over_the_end, bench->va + 2 * PAGE_BYTES, EVENT_BAD_MAPERR);
    killed_at(bench, load_over_the_end, bench->va + 2 * PAGE_BYTES, EVENT_BAD_MAPERR);
    trap_expect(&bench->trap, bench->va, 2, "P:a.");
}

static void kill_oneself(struct forklab_user *user, void *argument)
{
    struct bench *bench = argument;

    task_kill(user_task(user));
    bench->seen[0] = 1;
    forklab_store8(user, bench->va, 'x');
    bench->seen[0] = 2;
}

ON_BOTH(test_task_kill)
{
    assert_int_equal(task_run(bench->child, kill_oneself, bench), 1);
    assert_int_equal(bench->seen[0], 1);
    struct task_status status = reap(bench);

    assert_true(status.killed);
    assert_int_equal(status.cause, EVENT_EXIT);
    bench->child = trap_fork(&bench->trap, bench->parent, 'C');
    task_kill(bench->child);
    status = reap(bench);
    assert_true(status.killed);
    assert_int_equal(status.cause, EVENT_EXIT);
    trap_expect(&bench->trap, bench->va, 2, "P:a.");
}

/* --- nesting --- */

static void run_the_child(struct forklab_user *user, void *argument)
{
    struct bench *bench = argument;

    forklab_store8(user, bench->va, 'p');
    bench->seen[1] = (uint64_t)task_run(user_task(user), note_stack, bench);
    bench->seen[3] = bench->va + 5 * PAGE_BYTES;
    bench->seen[2] = (uint64_t)task_run(bench->child, store_at, bench);
    forklab_store8(user, bench->va + PAGE_BYTES, 'q');
    bench->seen[0] = 5;
}

ON_BOTH(test_a_parent_runs_its_child)
{
    assert_int_equal(task_run(bench->parent, run_the_child, bench), 0);
    assert_int_equal(bench->seen[0], 5);
    assert_int_equal((int)bench->seen[1], -EBUSY);
    assert_int_equal((int)bench->seen[2], 1);
    struct task_status status = reap(bench);

    assert_true(status.killed);
    assert_int_equal(status.address, bench->va + 5 * PAGE_BYTES);
    trap_expect_loads(&bench->trap, bench->va, 2, "P:pq");
}

enum { DEEP = 5 };

/* Forks, runs the child, and each exits with its depth. */
static void go_deeper(struct forklab_user *user, void *argument)
{
    struct bench *bench = argument;
    struct task *child = NULL;
    struct task_status status = {0};
    uint64_t depth = ++bench->seen[0];

    forklab_store8(user, bench->va, (uint8_t)('0' + depth));
    if (depth < DEEP && sys_fork(user_task(user), &child) == 0) {
        if (task_run(child, go_deeper, bench) == 1 &&
            sys_wait(user_task(user), child, &status) == 0 && status.exit_code == (int)depth + 1)
            bench->seen[1]++;
    }
    bench->bytes[depth] = (char)forklab_load8(user, bench->va);
    user_exit(user, (int)depth);
}

ON_BOTH(test_five_deep)
{
    assert_int_equal(task_run(bench->child, go_deeper, bench), 1);
    struct task_status status = reap(bench);

    assert_int_equal(status.exit_code, 1);
    assert_int_equal(bench->seen[1], DEEP - 1);
    assert_string_equal(bench->bytes + 1, "12345");
    trap_expect(&bench->trap, bench->va, 2, "P:a.");
}

/* --- exec --- */

static void in_the_new_program(struct forklab_user *user, void *argument)
{
    struct bench *bench = argument;

    bench->seen[0] = forklab_load8(user, 2 * PAGE_BYTES);
    forklab_store8(user, 2 * PAGE_BYTES, 'n');
    bench->seen[1] = forklab_load8(user, 2 * PAGE_BYTES);
    bench->seen[2] = forklab_load64(user, user_task(user)->mm->stack_pointer);
    user_exit(user, 11);
}

static void exec_the_program(struct forklab_user *user, void *argument)
{
    static const char *const arguments[] = {"tiny", "two", NULL};
    struct bench *bench = argument;

    forklab_store8(user, bench->va, 'o');
    bench->seen[3] =
        (uint64_t)user_exec(user, bench->program, arguments, in_the_new_program, bench);
}

static void open_program(struct bench *bench, bool good)
{
    struct elf_file file;

    elf_file_init(&file, PAGE_BYTES);
    if (!good)
        file.header.e_ident[0] = 'x';
    bench->program = elf_file_object(bench->trap.machine, &file);
}

ON_BOTH(test_exec_goes_on_in_the_new_function)
{
    open_program(bench, true);
    assert_int_equal(task_run(bench->child, exec_the_program, bench), 1);
    struct task_status status = reap(bench);

    assert_false(status.killed);
    assert_int_equal(status.exit_code, 11);
    assert_int_equal(bench->seen[0], 'D');
    assert_int_equal(bench->seen[1], 'n');
    assert_int_equal(bench->seen[2], 2);
    assert_int_equal(bench->seen[3], 0);
    trap_expect(&bench->trap, bench->va, 2, "P:a.");
}

ON_BOTH(test_a_failing_exec_returns)
{
    open_program(bench, false);
    assert_int_equal(task_run(bench->child, exec_the_program, bench), 0);
    assert_int_equal((int)bench->seen[3], -ENOEXEC);
    trap_expect_loads(&bench->trap, bench->va, 2, "P:a. C:o.");
}

/* An exec inside a nested run: the outer one goes on where it was. */
ON_BOTH(test_exec_in_a_nested_run)
{
    open_program(bench, true);
    assert_int_equal(task_run(bench->child, exec_the_program, bench), 1);
    (void)reap(bench);
    bench->child = trap_fork(&bench->trap, bench->parent, 'C');
    assert_int_equal(task_run(bench->parent, run_the_child, bench), 0);
    (void)reap(bench);
    trap_expect_loads(&bench->trap, bench->va, 2, "P:pq");
}

ON_BOTH(test_wait)
{
    struct task_status status;

    assert_int_equal(sys_wait(bench->parent, bench->child, &status), -EDEADLK);
    assert_int_equal(sys_wait(bench->parent, NULL, &status), -EDEADLK);
    assert_int_equal(sys_wait(bench->child, NULL, &status), -ECHILD);
    assert_int_equal(sys_wait(bench->child, bench->parent, &status), -ECHILD);
    assert_int_equal(task_exit(bench->child, 300), 0);
    assert_int_equal(task_exit(bench->child, 300), -ESRCH);
    struct task *child = NULL;

    assert_int_equal(sys_fork(bench->child, &child), -ESRCH);
    assert_int_equal(sys_wait(bench->parent, NULL, &status), 0);
    assert_int_equal(status.exit_code, 300);
    bench->trap.task_count--;
    assert_int_equal(sys_wait(bench->parent, NULL, &status), -ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_return_leaves_the_task_alive),
        cmocka_unit_test(test_exit_code),
        cmocka_unit_test(test_exit_without_a_parent_reaps_at_once),
        cmocka_unit_test(test_killed_by_cause_and_address),
        cmocka_unit_test(test_killed_at_the_first_bad_byte),
        cmocka_unit_test(test_task_kill),
        cmocka_unit_test(test_a_parent_runs_its_child),
        cmocka_unit_test(test_five_deep),
        cmocka_unit_test(test_exec_goes_on_in_the_new_function),
        cmocka_unit_test(test_a_failing_exec_returns),
        cmocka_unit_test(test_exec_in_a_nested_run),
        cmocka_unit_test(test_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
