/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host backend: tasks, as Linux has them; what it says of itself. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scenario/host_layout.h"
#include "tests/support/host_bench.h"

static struct scenario_operation exit_with(uint16_t task, uint64_t status)
{
    struct scenario_operation operation = bench_task(VERB_EXIT, task, SCENARIO_NOBODY);

    operation.value = status;
    return operation;
}

static struct scenario_operation with_text(struct scenario_operation operation, const char *text)
{
    operation.data = (struct scenario_data){
        .kind = DATA_BYTES, .bytes = strlen(text), .content = (const uint8_t *)text};
    return operation;
}

/* --- fork, exit, wait, kill --- */

static void test_copy_on_write(void **state)
{
    struct bench *bench = *state;

    bench_ok(bench, bench_map(P, A, 2 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_ok(bench, bench_map(P, B, BENCH_PAGE, BENCH_RW, BENCH_SHARED));
    bench_ok(bench, bench_write(P, A, 0, "one"));
    bench_ok(bench, bench_task(VERB_FORK, P, C));
    bench_ok(bench, bench_task(VERB_FORK, C, D));
    bench_ok(bench, bench_write(D, A, 0, "three"));
    bench_ok(bench, bench_write(P, A, 0, "ONE"));
    bench_ok(bench, bench_write(C, B, 0, "shared"));
    bench_text(bench, P, A, 0, "ONE");
    bench_text(bench, C, A, 0, "one");
    bench_text(bench, D, A, 0, "three");
    bench_text(bench, D, B, 0, "shared");
    bench_ok(bench, exit_with(C, 3));
    bench_text(bench, D, A, 0, "three");
    bench_exited(bench, P, C, 3);
    bench_error(bench, bench_task(VERB_WAIT, P, C), ECHILD);
    bench_error(bench, bench_task(VERB_WAIT, P, SCENARIO_NOBODY), ECHILD);
}

static void test_waiting(void **state)
{
    struct bench *bench = *state;
    const struct scenario_operation any = bench_task(VERB_WAIT, P, SCENARIO_NOBODY);

    bench_ok(bench, bench_task(VERB_FORK, P, C));
    bench_ok(bench, bench_task(VERB_FORK, P, D));
    bench_unable(bench, any, "for ever");
    bench_unable(bench, bench_task(VERB_WAIT, P, C), "for ever");
    bench_unable(bench, bench_task(VERB_FORK, P, C), "already");
    bench_ok(bench, exit_with(D, 259));
    bench_unable(bench, bench_task(VERB_FORK, P, D), "already");
    bench_ok(bench, bench_task(VERB_KILL, P, C));
    bench_ok(bench, bench_task(VERB_KILL, P, C)); /* a zombie may be killed */
    bench->backend->ops->perform(bench->backend, &any, &bench->outcome);
    assert_int_equal(bench->outcome.kind, OUTCOME_KILLED);
    assert_int_equal(bench->outcome.child, C); /* the older one first */
    bench_exited(bench, P, D, 3);
    bench_error(bench, bench_task(VERB_KILL, P, C), ESRCH);
    bench_ok(bench, bench_task(VERB_FORK, P, C));
    bench_ok(bench, bench_task(VERB_KILL, C, C)); /* oneself: the call works, and wait tells */
    bench_killed(bench, P, C, ABI_SIGKILL);
}

/* Children of a task that ends are the helper's; it reaps them at the end. */
static void test_orphans(void **state)
{
    struct bench *bench = *state;

    bench_ok(bench, bench_task(VERB_FORK, P, C));
    bench_ok(bench, bench_task(VERB_FORK, C, D));
    bench_ok(bench, bench_task(VERB_FORK, C, E));
    bench_ok(bench, exit_with(D, 0));
    bench_ok(bench, bench_task(VERB_KILL, P, C));
    bench_error(bench, bench_task(VERB_KILL, P, D), ESRCH);
    bench_ok(bench, bench_map(E, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_ok(bench, bench_task(VERB_TASK, D, SCENARIO_NOBODY));
    assert_int_equal(bench_vmas(bench, D), 0);
    bench_ok(bench, exit_with(P, 0));
    bench_ok(bench, bench_task(VERB_FORK, E, P));
    bench_ok(bench, bench_write(P, A, 0, "x"));
}

/* SEMANTICS: 256 kB written before fork, 64 after it by the parent, then the child ends. */
static void test_usage(void **state)
{
    struct bench *bench = *state;
    const struct scenario_vma *vma;

    bench_ok(bench, bench_map(P, A, 64 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_poke(bench, P, A, 64, 1);
    bench_ok(bench, bench_task(VERB_FORK, P, C));
    for (unsigned task = P; task <= C; task++) {
        vma = bench_vma(bench, (uint16_t)task, HOST_MAP_TOP - 1);
        assert_int_equal(vma->rss, 256 << 10);
        assert_int_equal(vma->shared, 256 << 10);
        assert_int_equal(vma->private, 0);
        assert_int_equal(vma->pss, 128 << 10);
        assert_int_equal(vma->anonymous, 256 << 10);
        assert_int_equal(vma->swap, 0);
    }
    bench_poke(bench, P, A, 16, 2);
    vma = bench_vma(bench, P, HOST_MAP_TOP - 1);
    assert_int_equal(vma->shared, 192 << 10);
    assert_int_equal(vma->private, 64 << 10);
    assert_int_equal(vma->pss, 160 << 10);
    bench_ok(bench, exit_with(C, 0));
    vma = bench_vma(bench, P, HOST_MAP_TOP - 1);
    assert_int_equal(vma->shared, 0);
    assert_int_equal(vma->private, 256 << 10);
}

/* --- vfork and exec --- */

static void test_vfork(void **state)
{
    struct bench *bench = *state;

    bench_ok(bench, bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_ok(bench, bench_task(VERB_VFORK, P, C));
    bench_unable(bench, bench_on(VERB_READ, P, A, 0, 1), "suspended");
    assert_true(bench->backend->ops->is_alive(bench->backend, P));
    bench_ok(bench, bench_write(C, A, 0, "42"));
    bench_ok(bench, bench_map(C, B, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_ok(bench, exit_with(C, 7));
    bench_text(bench, P, A, 0, "42");
    assert_int_equal(bench_vmas(bench, P), 1);
    assert_int_equal(bench->snapshot.vmas[0].end - bench->snapshot.vmas[0].start, 2 * BENCH_PAGE);
    bench_exited(bench, P, C, 7);
    /* A child that is killed by its own access lets its parent go on, too. */
    bench_ok(bench, bench_task(VERB_VFORK, P, C));
    bench_dies(bench, bench_at(VERB_READ, C, 0x1000, 1), ABI_SIGSEGV, ABI_SEGV_MAPERR, 0x1000);
    bench_text(bench, P, A, 0, "42");
    bench_killed(bench, P, C, ABI_SIGSEGV);
}

/* Children of children, three of which stand still; the one in the middle is killed. */
static void test_nested_vfork(void **state)
{
    struct bench *bench = *state;

    bench_ok(bench, bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_ok(bench, bench_task(VERB_TASK, 9, SCENARIO_NOBODY));
    bench_ok(bench, bench_task(VERB_VFORK, P, C));
    bench_ok(bench, bench_task(VERB_VFORK, C, D));
    bench_ok(bench, bench_task(VERB_VFORK, D, E));
    bench_ok(bench, bench_task(VERB_FORK, E, 5));
    bench_ok(bench, bench_write(5, A, 0, "own"));
    bench_ok(bench, bench_write(E, A, 0, "all"));
    bench_ok(bench, bench_task(VERB_KILL, 9, C));
    bench_text(bench, P, A, 0, "all");
    bench_unable(bench, exit_with(D, 0), "suspended");
    bench_ok(bench, bench_task(VERB_EXEC, E, SCENARIO_NOBODY));
    bench_ok(bench, bench_write(D, A, 0, "ALL"));
    bench_text(bench, P, A, 0, "ALL");
    bench_text(bench, 5, A, 0, "own");
    assert_int_equal(bench_vmas(bench, E), 0);
    bench_killed(bench, P, C, ABI_SIGKILL);
}

/* Killing a suspended parent leaves its memory to the child. */
static void test_killed_while_suspended(void **state)
{
    struct bench *bench = *state;

    bench_ok(bench, bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_ok(bench, bench_task(VERB_VFORK, P, C));
    bench_ok(bench, bench_task(VERB_KILL, C, P));
    bench_ok(bench, bench_write(C, A, 0, "on"));
    bench_text(bench, C, A, 0, "on");
    bench_ok(bench, bench_task(VERB_EXEC, C, SCENARIO_NOBODY));
    assert_int_equal(bench_vmas(bench, C), 0);
}

static void test_exec(void **state)
{
    struct bench *bench = *state;
    struct scenario_operation exec = bench_task(VERB_EXEC, P, SCENARIO_NOBODY);
    struct scenario_operation file = bench_file(VERB_FILE, F, 0, 10);
    va_t top = HOST_MAP_TOP;

    bench_ok(bench, bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_ok(bench, bench_write(P, A, 0, "kept"));
    exec.text = "no/such/program";
    bench_error(bench, exec, ENOENT);
    exec.text = "/";
    bench_error(bench, exec, EACCES);
    exec.text = "/proc/self/exe";
    bench_unable(bench, exec, "the one that serves");
    exec.text = NULL;
    exec.file = F;
    bench_error(bench, exec, EBADF);
    bench_ok(bench, with_text(file, "no program"));
    bench_error(bench, exec, ENOEXEC);
    bench_text(bench, P, A, 0, "kept");
    exec.file = SCENARIO_NOBODY;
    bench_ok(bench, exec);
    assert_int_equal(bench_vmas(bench, P), 0);
    bench_unable(bench, bench_on(VERB_READ, P, A, 0, 1), "no region");
    bench_value(bench, bench_map(P, B, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE), top - BENCH_PAGE);
    bench_text(bench, P, B, 0, "");
    bench_ok(bench, exit_with(P, 1));
}

/* --- about itself --- */

static void test_judging(void **state)
{
    struct bench *bench = *state;
    struct backend *backend = bench->backend;
    struct scenario_selector selectors[] = {
        {.kind = SELECT_HOST},
        {.kind = SELECT_LINUX_FROM, .version = 5006000},
        {.kind = SELECT_LINUX_BEFORE, .version = 5006000},
        {.kind = SELECT_KERNEL, .kernel = "modern"},
    };
    struct scenario_answer answer = {.selector_count = 1, .selectors = {selectors[1]}};
    struct scenario_operation needs = scenario_operation_blank(VERB_NEEDS);
    char why[SCENARIO_WHY_BYTES];
    uint64_t value;

    for (size_t i = 0; i < sizeof(selectors) / sizeof(selectors[0]); i++)
        assert_int_equal(backend->ops->selects(backend, &selectors[i]), i < 2);
    needs.need = NEED_LINUX_FROM;
    needs.answer_count = 1;
    needs.answers = &answer;
    assert_true(backend->ops->meets(backend, &needs, why, sizeof(why)));
    answer.selectors[0] = selectors[2];
    assert_false(backend->ops->meets(backend, &needs, why, sizeof(why)));
    needs.need = NEED_EMULATED;
    assert_false(backend->ops->meets(backend, &needs, why, sizeof(why)));
    needs.need = NEED_HOST;
    assert_true(backend->ops->meets(backend, &needs, why, sizeof(why)));
    assert_false(backend->ops->quantity(backend, &needs, &value));
    assert_true(backend->ops->is_sound(backend, why, sizeof(why)));
    needs = bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE);
    needs.fail_after = 1;
    bench_unable(bench, needs, "run out of memory");
}

static void test_show(void **state)
{
    struct bench *bench = *state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    assert_non_null(stream);
    bench_ok(bench, bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench->backend->ops->show(bench->backend, SHOW_MAPS, P, stream);
    bench->backend->ops->show(bench->backend, SHOW_TABLES, P, stream);
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(text, "7ff6fe000-7ff6ff000 rw-p 00000000 00:00 0 \n"
                              "the real kernel does not tell that\n");
    free(text);
}

/* The only child of a process, as the kernel lists it; 0 where it does not. */
static int child_of(int process)
{
    char path[64];
    char text[64] = "";

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", process, process);
    FILE *stream = fopen(path, "re");

    if (stream == NULL)
        return 0;
    (void)fgets(text, sizeof(text), stream);
    (void)fclose(stream);
    return (int)strtol(text, NULL, 10);
}

/* A task that is gone without our doing breaks the run: that is said, and what is left is ended. */
static void test_unexpected_end(void **state)
{
    struct bench *bench = *state;
    const struct scenario_operation map = bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE);
    int helper = child_of(getpid());
    int task = helper == 0 ? 0 : child_of(helper);

    if (task == 0)
        skip();
    bench_ok(bench, map);
    bench_ok(bench, bench_task(VERB_FORK, P, C));
    assert_int_equal(syscall(SYS_kill, task, ABI_SIGKILL), 0);
    for (unsigned i = 0; i < 2; i++) {
        bench->backend->ops->perform(bench->backend, &map, &bench->outcome);
        assert_int_equal(bench->outcome.kind, OUTCOME_BROKEN);
        assert_non_null(strstr(bench->outcome.why, "before its time"));
    }
}

/* Two at once know nothing of each other. */
static void test_two_backends(void **state)
{
    struct bench *bench = *state;
    void *other_state = NULL;

    assert_int_equal(bench_setup(&other_state), 0);
    struct bench *other = other_state;

    bench_ok(bench, bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_SHARED));
    bench_ok(other, bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_SHARED));
    bench_ok(bench, bench_write(P, A, 0, "one"));
    bench_ok(other, bench_write(P, A, 0, "two"));
    bench_ok(bench, bench_task(VERB_FORK, P, C));
    assert_int_equal(bench_teardown(&other_state), 0);
    bench_text(bench, C, A, 0, "one");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(test_copy_on_write),
        BENCH_TEST(test_waiting),
        BENCH_TEST(test_orphans),
        BENCH_TEST(test_usage),
        BENCH_TEST(test_vfork),
        BENCH_TEST(test_nested_vfork),
        BENCH_TEST(test_killed_while_suspended),
        BENCH_TEST(test_exec),
        BENCH_TEST(test_judging),
        BENCH_TEST(test_show),
        BENCH_TEST(test_unexpected_end),
        BENCH_TEST(test_two_backends),
    };

    return bench_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
