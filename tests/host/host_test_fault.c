/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fault handler: what it tells the kernel, what it leaves untouched, and what it does not take
 * for its own. What must end a process is tried in one: this program, started anew with the name of
 * the case as its argument.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "pager/host_arena.h"
#include "pager/host_fault.h"
#include "tests/host/fake_kernel.h"

#define MIB ((uint64_t)1 << 20)
#define PAGE ((va_t)0x400000)

struct fixture {
    struct fake_machine machine;
    struct fake_space space;
};

static void set_up(struct fixture *fixture)
{
    fake_machine_create(&fixture->machine, &geometry_x86_64, 16 * MIB, NULL);
    fake_space_create(&fixture->space, &fixture->machine);
    fake_map(&fixture->space, PAGE, ENTRY_WRITE);
}

static void tear_down(struct fixture *fixture)
{
    fake_space_destroy(&fixture->space);
    fake_machine_destroy(&fixture->machine);
}

static void nothing(struct forklab_user *user, void *argument)
{
    (void)user;
    (void)argument;
}

static void load(struct forklab_user *user, void *argument)
{
    (void)forklab_load8(user, *(const va_t *)argument);
}

static void store(struct forklab_user *user, void *argument)
{
    forklab_store8(user, *(const va_t *)argument, 1);
}

/* --- what the kernel is told --- */

static void keep_errno(struct forklab_user *user, void *argument)
{
    int *seen = argument;

    errno = ERANGE;
    forklab_store8(user, PAGE + 5, 1);
    *seen = errno;
}

static void test_errno_is_kept(void **state)
{
    struct fixture fixture;
    va_t absent = PAGE + 0x5000;
    int seen = 0;

    (void)state;
    set_up(&fixture);
    assert_false(fake_run(&fixture.space, keep_errno, &seen).killed);
    assert_int_equal(seen, ERANGE);
    errno = ENOTTY;
    assert_true(fake_run(&fixture.space, load, &absent).killed);
#ifndef __SANITIZE_THREAD__ /* which changes errno before the handler sees it */
    assert_int_equal(errno, ENOTTY);
#endif
    tear_down(&fixture);
}

static void assert_killed(struct fake_result result, va_t va, enum access access, bool wild)
{
    assert_int_equal(result.error, 0);
    assert_true(result.killed);
    assert_int_equal(result.va, va);
    assert_int_equal(result.access, access);
    assert_int_equal(result.wild, wild);
}

static void test_address_and_access_are_told(void **state)
{
    struct fixture fixture;
    va_t page = PAGE;
    va_t absent = PAGE + 0x5123;

    (void)state;
    set_up(&fixture);
    assert_killed(fake_run(&fixture.space, load, &absent), absent, ACCESS_READ, false);
    assert_killed(fake_run(&fixture.space, store, &absent), absent, ACCESS_WRITE, false);
    assert_false(fake_run(&fixture.space, load, &page).killed);
    assert_false(entry_is_dirty(pt_entry(&fixture.space.tree, PAGE)));
    assert_false(fake_run(&fixture.space, store, &page).killed);
    assert_true(entry_is_dirty(pt_entry(&fixture.space.tree, PAGE)));
    fake_write_protect(&fixture.space, PAGE, PAGE + PAGE_BYTES);
    assert_killed(fake_run(&fixture.space, store, &page), PAGE, ACCESS_WRITE, false);
    tear_down(&fixture);
}

static void load_straddling(struct forklab_user *user, void *argument)
{
    (void)argument;
    (void)forklab_load64(user, user->limit - 4);
}

/* Not through an accessor: straight into the slot beside one's own. */
static void store_beside(struct forklab_user *user, void *argument)
{
    uintptr_t distance = *(const uintptr_t *)argument;

    *(volatile uint8_t *)(user->base + distance) = 1;
}

static void test_accesses_outside_the_window(void **state)
{
    struct fixture fixture;
    uint64_t limit;
    va_t last;
    uintptr_t above = host_arena_slot_bytes() + 0x1000;
    uintptr_t guard = host_arena_slot_bytes() - 1;
    struct fake_space other;

    (void)state;
    set_up(&fixture);
    fake_space_create(&other, &fixture.machine);
    limit = fixture.machine.mmu->ops->space_bytes(fixture.machine.mmu);
    assert_int_equal(limit, host_arena_slot_bytes() - PAGE_BYTES);
    last = limit - PAGE_BYTES;
    fake_map(&fixture.space, last, ENTRY_WRITE);
    assert_false(fake_run(&fixture.space, store, &last).killed);
    assert_killed(fake_run(&fixture.space, load_straddling, NULL), limit, ACCESS_READ, true);
    assert_killed(fake_run(&fixture.space, store_beside, &guard), guard, ACCESS_WRITE, true);
    assert_killed(fake_run(&fixture.space, store_beside, &above), above, ACCESS_WRITE, true);
    /* And below, for which the address is a negative one. */
    fake_map(&other, PAGE, ENTRY_WRITE);
    va_t page = PAGE;

    assert_false(fake_run(&other, store, &page).killed);
    uintptr_t distance =
        host_window_of(fixture.space.space)->base - host_window_of(other.space)->base + PAGE_BYTES;

    assert_killed(fake_run(&other, store_beside, &distance), distance, ACCESS_WRITE, true);
    fake_space_destroy(&other);
    tear_down(&fixture);
}

/* --- signals and stacks --- */

static volatile sig_atomic_t interrupts;

static void on_interrupt(int number)
{
    (void)number;
    interrupts++;
}

static void test_interrupt_after_a_kill(void **state)
{
    struct fixture fixture;
    struct sigaction action = {.sa_handler = on_interrupt};
    struct sigaction before;
    sigset_t mask_before;
    sigset_t mask_after;
    va_t absent = PAGE + 0x5000;

    (void)state;
    set_up(&fixture);
    assert_int_equal(sigaction(SIGINT, &action, &before), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask_before), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(fake_run(&fixture.space, store, &absent).killed);
        assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mask_after), 0);
        for (int number = 1; number < NSIG; number++)
            assert_int_equal(sigismember(&mask_before, number), sigismember(&mask_after, number));
        assert_int_equal(raise(SIGINT), 0);
        assert_int_equal(interrupts, i + 1);
    }
    assert_int_equal(sigaction(SIGINT, &before, NULL), 0);
    tear_down(&fixture);
}

struct nest {
    struct fake_space *inner;
    struct fake_result result;
    uint8_t seen;
};

static void run_inner(struct forklab_user *user, void *argument)
{
    struct nest *nest = argument;
    va_t absent = PAGE + 0x7000;

    forklab_store8(user, PAGE, 41);
    nest->result = fake_run(nest->inner, store, &absent);
    /* A fault of the outer run after the inner one was killed. */
    forklab_store8(user, PAGE + PAGE_BYTES, forklab_load8(user, PAGE));
    nest->seen = forklab_load8(user, PAGE + PAGE_BYTES);
}

static void test_nested_runs(void **state)
{
    struct fixture outer;
    struct fixture inner;
    struct nest nest = {.inner = &inner.space};

    (void)state;
    set_up(&outer);
    set_up(&inner);
    fake_map(&outer.space, PAGE + PAGE_BYTES, ENTRY_WRITE);
    assert_false(fake_run(&outer.space, run_inner, &nest).killed);
    assert_killed(nest.result, PAGE + 0x7000, ACCESS_WRITE, false);
    assert_int_equal(nest.seen, 41);
    assert_int_equal(outer.machine.faults, 2);
    tear_down(&inner);
    tear_down(&outer);
}

static pthread_key_t after_key;
static stack_t stack_at_end;

/* Runs after the host layer's own destructor: its key was made later. */
static void note_stack(void *unused)
{
    (void)unused;
    (void)sigaltstack(NULL, &stack_at_end);
}

/* Returns the stack that it found, or set when there was none; NULL: something went wrong. */
static void *run_on_thread(void *argument)
{
    struct fixture *fixture = argument;
    static uint8_t own[65536];
    stack_t mine = {.ss_sp = own, .ss_size = sizeof(own)};
    stack_t before, now;
    va_t page = PAGE;

    if (sigaltstack(NULL, &before) != 0 || pthread_setspecific(after_key, own) != 0)
        return NULL;
    if ((before.ss_flags & SS_DISABLE) != 0) {
        if (sigaltstack(&mine, NULL) != 0)
            return NULL;
        before = mine;
    }
    struct fake_result result = fake_run(&fixture->space, store, &page);

    if (sigaltstack(NULL, &now) != 0 || now.ss_sp == before.ss_sp || now.ss_size < sizeof(own))
        return NULL;
    return result.error == 0 && !result.killed ? before.ss_sp : NULL;
}

static void test_alternate_stack_is_put_back(void **state)
{
    struct fixture fixture;
    pthread_t thread;
    void *own;

    (void)state;
    set_up(&fixture);
    assert_int_equal(fake_run(&fixture.space, nothing, NULL).error, 0);
    assert_int_equal(pthread_key_create(&after_key, note_stack), 0);
    assert_int_equal(pthread_create(&thread, NULL, run_on_thread, &fixture), 0);
    assert_int_equal(pthread_join(thread, &own), 0);
    assert_non_null(own);
    assert_ptr_equal(stack_at_end.ss_sp, own);
    assert_int_equal(pthread_key_delete(after_key), 0);
    tear_down(&fixture);
}

/* --- whose handler it is --- */

static void foreign_handler(int number)
{
    (void)number;
}

static void *handler_now(void)
{
    struct sigaction now;

    assert_int_equal(sigaction(SIGSEGV, NULL, &now), 0);
    return (void *)(uintptr_t)now.sa_handler;
}

static void test_handler_comes_and_goes(void **state)
{
    struct fixture fixture;
    void *before = handler_now();

    (void)state;
    set_up(&fixture);
    assert_ptr_equal(handler_now(), before);
    assert_int_equal(fake_run(&fixture.space, nothing, NULL).error, 0);
    assert_ptr_not_equal(handler_now(), before);
    fake_space_release(&fixture.space);
    assert_ptr_equal(handler_now(), before);
    tear_down(&fixture);
}

static void test_foreign_handler_is_named(void **state)
{
    struct fixture fixture;
    struct sigaction foreign = {.sa_handler = foreign_handler};
    struct sigaction ours;

    (void)state;
    set_up(&fixture);
    assert_int_equal(fake_run(&fixture.space, nothing, NULL).error, 0);
    assert_int_equal(sigaction(SIGSEGV, &foreign, &ours), 0);
    assert_int_equal(fake_run(&fixture.space, nothing, NULL).error, -EPERM);
    assert_non_null(strstr(fixture.machine.mmu->problem, "was replaced"));
    assert_non_null(strstr(fixture.machine.mmu->problem, program_invocation_short_name));
    /* It is not ours to remove. */
    fake_space_release(&fixture.space);
    assert_ptr_equal(handler_now(), (void *)(uintptr_t)foreign_handler);
    /* With the next first window we go in front of it. */
    va_t page = PAGE;

    assert_false(fake_run(&fixture.space, store, &page).killed);
    fake_space_release(&fixture.space);
    assert_ptr_equal(handler_now(), (void *)(uintptr_t)foreign_handler);
    tear_down(&fixture);
}

static void test_pause(void **state)
{
    struct fixture fixture;
    void *before = handler_now();
    va_t page = PAGE;

    (void)state;
    set_up(&fixture);
    host_fault_pause();
    assert_int_equal(fake_run(&fixture.space, nothing, NULL).error, -EPERM);
    assert_ptr_equal(handler_now(), before);
    assert_int_equal(host_fault_resume(), 0);
    assert_false(fake_run(&fixture.space, store, &page).killed);
    host_fault_pause();
    assert_ptr_equal(handler_now(), before);
    fake_space_release(&fixture.space);
    assert_int_equal(host_fault_resume(), 0);
    assert_ptr_equal(handler_now(), before);
    tear_down(&fixture);
}

/* --- what ends a process --- */

static void crash_null(struct forklab_user *user, void *argument)
{
    static volatile uintptr_t nowhere = 8;

    (void)user;
    (void)argument;
    *(volatile uint8_t *)nowhere = 1;
}

/* The case `name`, in a process of its own; does not come back from most. */
static int run_case(const char *name)
{
    struct fixture fixture;
    va_t page = PAGE;

    (void)signal(SIGSEGV, SIG_DFL);
    set_up(&fixture);
    if (strcmp(name, "outside-the-arena") == 0) {
        (void)fake_run(&fixture.space, crash_null, NULL);
    } else if (strcmp(name, "no-run") == 0) {
        (void)fake_run(&fixture.space, store, &page);
        *(volatile uint8_t *)(host_window_of(fixture.space.space)->base + PAGE + 0x5000) = 1;
    } else if (strcmp(name, "in-the-kernel") == 0) {
        fixture.machine.crash_in_fault = true;
        (void)fake_run(&fixture.space, store, &page);
    } else if (strcmp(name, "sent") == 0) {
        (void)fake_run(&fixture.space, store, &page);
        (void)raise(SIGSEGV);
    } else if (strcmp(name, "forked") == 0) {
        (void)fake_run(&fixture.space, store, &page);
        if (fork() == 0)
            *(volatile uint8_t *)(host_window_of(fixture.space.space)->base + PAGE) = 1;
        int status = 0;

        if (wait(&status) > 0 && WIFSIGNALED(status))
            (void)raise(WTERMSIG(status));
    }
    return 0;
}

/* The signal that the case ended with, 0 for none; what it said goes to `words`. */
static int signal_of_case(const char *name, char *words, size_t bytes)
{
    int pipe_ends[2];
    int status;

    assert_int_equal(pipe(pipe_ends), 0);
    pid_t pid = fork();

    if (pid == 0) {
        (void)dup2(pipe_ends[1], STDERR_FILENO);
        (void)execl("/proc/self/exe", "host_test_fault", name, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    close(pipe_ends[1]);
    ssize_t got = read(pipe_ends[0], words, bytes - 1);

    words[got > 0 ? got : 0] = '\0';
    close(pipe_ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_foreign_faults_crash(void **state)
{
    static const char *const cases[] = {"outside-the-arena", "no-run", "sent", "forked"};
    char words[4096];

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        assert_int_equal(signal_of_case(cases[i], words, sizeof(words)), SIGSEGV);
}

static void test_fault_in_the_handler_aborts(void **state)
{
    char words[4096];

    (void)state;
#ifdef __SANITIZE_THREAD__ /* whose handler in front of ours blocks all signals */
    skip();
#endif
    assert_int_equal(signal_of_case("in-the-kernel", words, sizeof(words)), SIGABRT);
    assert_non_null(strstr(words, "a fault in the fault handler"));
}

/* A process forked by the host has neither the windows nor RAM. */
static void test_forked_process_has_no_windows(void **state)
{
    struct fixture fixture;
    va_t page = PAGE;
    int status;

    (void)state;
    set_up(&fixture);
    assert_false(fake_run(&fixture.space, store, &page).killed);
    uintptr_t address = host_window_of(fixture.space.space)->base + PAGE;
    pid_t pid = fork();

    if (pid == 0) {
        unsigned char resident;
        struct mmu *mmu;
        char problem[160];
        bool gone = mincore((void *)address, PAGE_BYTES, &resident) != 0;
        int error = mmu_host_create(&mmu, &fixture.machine.ram, fixture.machine.host_ram, NULL,
                                    problem, sizeof(problem));

        _exit(gone && error == -EPERM && strstr(problem, "forked") != NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    tear_down(&fixture);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errno_is_kept),
        cmocka_unit_test(test_address_and_access_are_told),
        cmocka_unit_test(test_accesses_outside_the_window),
        cmocka_unit_test(test_interrupt_after_a_kill),
        cmocka_unit_test(test_nested_runs),
        cmocka_unit_test(test_alternate_stack_is_put_back),
        cmocka_unit_test(test_handler_comes_and_goes),
        cmocka_unit_test(test_foreign_handler_is_named),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_foreign_faults_crash),
        cmocka_unit_test(test_fault_in_the_handler_aborts),
        cmocka_unit_test(test_forked_process_has_no_windows),
    };

    if (argc > 1)
        return run_case(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
