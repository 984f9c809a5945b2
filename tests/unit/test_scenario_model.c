/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flat model, verb by verb: scenarios whose answers were seen on Linux 6.18. (At random it is
 * compared with the emulated kernels by `forklab fuzz`, and they with the real one.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "scenario/model.h"
#include "scenario/reader.h"
#include "scenario/run.h"

static const struct model_layout layout = {.user_end = ((va_t)32 << 30) - PAGE_BYTES,
                                           .geometry_end = ((va_t)1 << 47) - PAGE_BYTES,
                                           .map_base = (va_t)512 << 20,
                                           .map_top =
                                               ((va_t)32 << 30) - PAGE_BYTES - ((va_t)9 << 20),
                                           .placement = MODEL_GAPS,
                                           .keeps_gaps = true,
                                           .heap_start = (va_t)16 << 20,
                                           .stack_limit_bytes = (va_t)8 << 20,
                                           .stack_gap_bytes = (va_t)1 << 20,
                                           .huge_bytes = (va_t)2 << 20};

enum { TOLD_BYTES = 4096 };

struct told {
    char text[TOLD_BYTES];
    size_t length;
};

static void failed(void *context, const struct scenario_operation *operation, const char *what)
{
    struct told *told = context;

    (void)operation;
    if (told->length < sizeof(told->text))
        told->length += (size_t)snprintf(told->text + told->length,
                                         sizeof(told->text) - told->length, "%s\n", what);
}

static void run(const char *text, struct told *told, struct scenario_result *result)
{
    struct scenario_report report = {.failed = failed, .context = told, .checks = true};
    char problem[SCENARIO_PROBLEM_BYTES];
    struct scenario scenario;
    struct backend *backend = NULL;

    *told = (struct told){0};
    if (scenario_read_text(&scenario, "t", text, strlen(text), problem, sizeof(problem)) != 0)
        fail_msg("%s", problem);
    assert_int_equal(model_create(&backend, &layout), 0);
    scenario_run(&scenario, backend, &report, result);
    assert_true(backend->ops->end(backend, problem, sizeof(problem)));
    scenario_free(&scenario);
}

static void holds(const char *text)
{
    struct scenario_result result;
    struct told told;

    run(text, &told, &result);
    if (result.end != SCENARIO_HELD)
        fail_msg("%s%s", told.text, result.why);
}

/* A wrong expectation is noticed, so that the other tests can fail. */
static void test_can_fail(void **state)
{
    struct scenario_result result;
    struct told told;

    (void)state;
    run("P mmap A 4K rw private anon\nP read A 1 = \"x\"", &told, &result);
    assert_int_equal(result.end, SCENARIO_FAILED);
    assert_int_equal(result.failures, 1);
}

static void test_mmap(void **state)
{
    (void)state;
    holds("P mmap A 4K rw private anon at=0x10000000 fixed = 0x10000000\n"
          "P mmap B 0 rw private anon = EINVAL\n"
          "P mmap B 4K rw anon = EINVAL\n"
          "P mmap B 4K rw private fd=-1 = EBADF\n"
          "P mmap B 4K rw private anon offset=1 = EINVAL\n"
          "P mmap B 4K rw private anon fixed at=0x10000001 = EINVAL\n"
          "P mmap B 0xffffffffffffff00 rw private anon = ENOMEM\n"
          "P mmap B 4K rw private anon fixed at=0x800000000000 = ENOMEM\n"
          "P mmap B 4K rw private anon noreplace at=0x10000000 = EEXIST\n"
          "P mmap B 4K rw private anon noreplace at=0x10001000 = 0x10001000\n"
          "P mmap B 12287 rw private anon\n"
          "P write B+12287 \"x\"\n"
          "file F 8K ro\nfile W 8K wo\ndirectory D\n"
          "P mmap C 4K rw shared F = EACCES\n"
          "P mmap C 4K r shared F\n"
          "P mprotect C 4K rw = EACCES\n"
          "P mmap C 4K r private W = EACCES\n"
          "P mmap C 4K r private D = ENODEV\n"
          "P mmap C 4K rw shared_validate flags=0x200000 F = EOPNOTSUPP\n"
          "P mmap C 4K r shared F offset=0x7ffffffffffff000 = EOVERFLOW\n"
          "P mmap C 4K rw shared anon growsdown = EINVAL\n");
}

/* Top-down, below what is there; whole huge pages are aligned; below what grows a gap stays. */
static void test_places(void **state)
{
    (void)state;
    holds("P mmap A 8K rw private anon = 0x7ff6fd000\n"
          "P mmap B 4K rw private anon = 0x7ff6fc000\n"
          "P munmap A 8K\n"
          "P mmap C 12K rw private anon = 0x7ff6f9000\n"
          "P mmap D 4K rw private anon = 0x7ff6fe000\n"
          "P mmap E 2M rw private anon = 0x7ff400000\n"
          "P mmap F 2M rw shared anon = 0x7ff200000\n"
          "P mmap G 4K rw private anon growsdown fixed at=0x7f0000000 = 0x7f0000000\n"
          "P mmap H 4K rw private anon at=0x7efeff000 = 0x7efeff000\n"
          "P mmap I 4K rw private anon at=0x7eff00000 = 0x7ff6fd000\n");
}

static void test_munmap_and_mprotect(void **state)
{
    (void)state;
    holds("P mmap A 16K rw private anon\nP poke A 16K 7\n"
          "P munmap A 0 = EINVAL\nP munmap A+1 4K = EINVAL\n"
          "P munmap A 0xffffffffffffffff = EINVAL\n"
          "P munmap A+4K 4K\n"
          "P mprotect A 16K r = ENOMEM\n"
          "P fork C\nC write A \"x\" = SIGSEGV accerr at A\n"
          "P fork D\nD read A+4K 1 = SIGSEGV maperr at A+4K\n"
          "P write A+8K \"x\"\n"
          "P mprotect A+1 4K r = EINVAL\nP mprotect A 0 r\nP mprotect A 4K prot=0x10 = EINVAL\n"
          "P mprotect A+8K 4K none\nP kread A+8K 1 = EFAULT\n"
          "P mprotect A+8K 4K rw\nP read A+8K 1 = \"x\"\n");
}

static void test_mremap(void **state)
{
    (void)state;
    holds("P mmap A 16K rw private anon fixed at=0x10000000\nP poke A 16K 7\n"
          "P mremap A+1 4K 4K = EINVAL\nP mremap A 4K 0 = EINVAL\n"
          "P mremap A 4K 4K fixed to=0x10010000 = EINVAL\n"
          "P mremap A 8K 8K maymove fixed to=0x10001000 = EINVAL\n"
          "P mremap A 4K 8K = ENOMEM\n"
          "P mremap A 32K 4K = 0x10000000\n"
          "P read A+4K 1 = any\n"
          "task Q\n"
          "Q mmap A 8K rw private anon fixed at=0x10000000\n"
          "Q mmap B 8K r private anon fixed at=0x10002000\n"
          "Q poke A 8K 5\n"
          "Q mremap A 16K 20K maymove = EFAULT\n"
          "Q mremap A 16K 16K maymove fixed to=0x10010000 = 0x10010000\n"
          "Q read 0x10010000 1 = hex:05\nQ kread 0x10000000 1 = EFAULT\n"
          "Q mremap A 0x10010000 8K 8K maymove fixed dontunmap to=0x10020000 = 0x10020000\n"
          "Q read A 1 = hex:05\nQ read 0x10010000 1 = hex:00\n"
          "Q mremap 0x10012000 0 4K maymove = EINVAL\n"
          "Q mmap S 8K rw shared anon fixed at=0x10030000\n"
          "Q write S \"s\"\n"
          "Q mremap T S 0 8K maymove fixed to=0x10040000 = 0x10040000\n"
          "Q read T 1 = \"s\"\nQ write T \"t\"\nQ read S 1 = \"t\"\n");
}

static void test_brk(void **state)
{
    (void)state;
    holds("P brk 0 = heap\nP brk heap+5 = heap+5\nP write heap+4095 \"x\"\n"
          "P brk heap+12K = heap+12K\nP write heap+8K \"y\"\n"
          "P brk heap+8K = heap+8K\nP brk heap+12K = heap+12K\nP read heap+8K 1 = hex:00\n"
          "P brk heap-1 = heap+12K\nP brk 0xfffffffffffff000 = heap+12K\n"
          "P mmap A 4K rw private anon fixed at=0x1006000\n"
          "P brk heap+24K = heap+12K\nP brk heap+20K = heap+20K\n"
          "P munmap heap+12K 8K\nP brk heap+12K = heap+20K\nP brk heap+8K = heap+8K\n");
}

static void test_madvise(void **state)
{
    (void)state;
    holds("P mmap A 12K rw private anon\nP poke A 12K 7\nP fork C\n"
          "C madvise A 4K dontneed\nC read A 1 = hex:00\nP read A 1 = hex:07\n"
          "P madvise A 4K free\nP read A 1 = hex:07\n"
          "P madvise A 4K remove = EINVAL\nP madvise A+1 4K dontneed = EINVAL\n"
          "P madvise A 4K 77 = EINVAL\nP madvise A 0 77 = EINVAL\nP madvise A 0 dontneed\n"
          "P madvise A+4K 4K dontfork\nP madvise A+8K 4K wipeonfork\nP fork D\n"
          "D read A+8K 1 = hex:00\nD read A+4K 1 = SIGSEGV maperr\n"
          "P mlock A 4K\nP madvise A 4K dontneed = EINVAL\nP madvise A 4K dontneed_locked\n"
          "P madvise A 4K cold = EINVAL\nP munlock A 4K\nP madvise A 4K cold\n"
          "P mmap R 4K r private anon\nP madvise R 4K populate_write = EINVAL\n"
          "file F 4K \"f\"\nP mmap M 8K rw shared F\nP mmap N 4K rw private F\n"
          "P madvise M 8K populate_read = EFAULT\nP madvise N 4K remove = EACCES\n"
          "P madvise N 4K wipeonfork = EINVAL\nP madvise N 4K free = EINVAL\n"
          "P madvise M 4K remove\nP read M 1 = hex:00\n");
}

static void test_guards(void **state)
{
    (void)state;
    holds("P mmap A 12K rw private anon\nP poke A 12K 7\n"
          "P madvise A+4K 4K guard_install\nP madvise A 12K dontneed\n"
          "P fork C\nC write A+4K \"x\" = SIGSEGV maperr at A+4K\n"
          "P madvise A+4K 4K populate_write = EFAULT\nP mlock A 12K = ENOMEM\n"
          "P madvise A+4K 4K guard_install = EINVAL\nP munlock A 12K\n"
          "P madvise A+4K 4K guard_remove\nP read A+4K 1 = hex:00\n"
          "P madvise A 4K wipeonfork\nP madvise A 4K guard_install\n"
          "P fork D\nD read A 1 = hex:00\n");
}

static void test_lock_sync_residency(void **state)
{
    (void)state;
    holds("P mmap A 8K rw private anon fixed at=0x10000000\n"
          "P mmap N 4K none private anon fixed at=0x10003000\n"
          "P mlock A 16K = ENOMEM\nP madvise A 4K dontneed = EINVAL\nP munlock A 8K\n"
          "P mlock A+1 4K\nP munlock A 8K\nP mlock A+8K 4K = ENOMEM\nP mlock N 4K = ENOMEM\n"
          "P mlock A 0xffffffffffffe000 = EINVAL\n"
          "P msync A 4K sync async = EINVAL\nP msync A 4K flags=8 = EINVAL\n"
          "P msync A+1 4K sync = EINVAL\nP msync A 16K sync = ENOMEM\nP msync A 0 sync\n"
          "P mlock A 4K\nP msync A 4K invalidate = EBUSY\n"
          "P mincore A+1 4K = EINVAL\nP mincore A 12K = ENOMEM\nP mincore A 8K = any\n"
          "P mincore A 4K into=0xfffffffffffff000 = EFAULT\n");
}

/* What is brought in for writing is copied, and blind to the file from then on. */
static void test_populate_copies(void **state)
{
    (void)state;
    holds("file F 4K \"f\"\n"
          "P mmap A 4K rw private F\nP mmap B 4K rw private populate F\n"
          "P mmap C 4K rw private locked F\nP mmap D 4K r private populate F\n"
          "P mmap E 4K r private locked F\nP mprotect E 4K rw\n"
          "P mmap G 4K rw private F\nP mlock G 4K\n"
          "fwrite F 0 \"g\" = 1\n"
          "P read A 1 = \"g\"\nP read B 1 = \"f\"\nP read C 1 = \"f\"\nP read D 1 = \"g\"\n"
          "P read E 1 = \"f\"\nP read G 1 = \"f\"\n");
}

static void test_fork(void **state)
{
    (void)state;
    holds("P mmap A 8K rw private anon\nP mmap S 4K rw shared anon\nP write A \"one\"\n"
          "P fork C\nC write A \"two\"\nC fork G\nG write A \"six\"\n"
          "P read A 3 = \"one\"\nC read A 3 = \"two\"\nG read A 3 = \"six\"\n"
          "G write S \"s\"\nP read S 1 = \"s\"\n"
          "G exit 3\nC wait G = exit 3\nC kill C = any\nP wait = signal SIGKILL\n"
          "P wait = ECHILD\n");
}

static void test_vfork_and_exec(void **state)
{
    (void)state;
    holds("P mmap A 4K rw private anon\nP vfork C\nC write A \"42\"\nC exit 42\n"
          "P wait C = exit 42\nP read A 2 = \"42\"\n"
          "P vfork D\nD exec\nP write A \"p\"\nD exit 0\nP wait = exit 0\n"
          "P exec\nP mmap A 4K rw private anon\nP read A 1 = hex:00\n");
}

static void test_kernel_access(void **state)
{
    (void)state;
    holds("P mmap A 8K rw private anon fixed at=0x10000000\nP fork C\n"
          "C kwrite A+8190 \"abcd\" = 2\nC kread A+8190 4 = \"ab\"\nP kread A 1 = hex:00\n"
          "P kread A+8K 1 = EFAULT\nP mprotect A 4K r\nP kwrite A \"x\" = EFAULT\n"
          "P mmap G 4K rw private anon growsdown fixed at=0x10200000\n"
          "P write 0x101f0000 \"g\"\nP fork D\nD read 0x10101000 1 = SIGSEGV maperr\n");
}

static void test_pins(void **state)
{
    (void)state;
    holds("P mmap A 8K rw private anon\nP write A \"old\"\nP fork C\n"
          "C pin K A read\nC munmap A 8K\nP write A \"new\"\npinread K 0 3 = \"old\"\nunpin K\n"
          "P pin W A write\nP fork D\nP write A \"abc\"\npinread W 0 3 = \"abc\"\n"
          "pinwrite W 0 \"xyz\"\nP read A 3 = \"xyz\"\nD read A 3 = \"new\"\n"
          "P exit\npinread W 0 3 = \"xyz\"\nunpin W\n");
}

static void test_files(void **state)
{
    (void)state;
    holds("file F 5000 \"f\"\nP mmap S 16K rw shared F\nP mmap A 16K rw private F\n"
          "P write S \"s\"\nP read A 1 = \"s\"\nP write A \"a\"\nfread F 0 1 = \"s\"\n"
          "P write A+4K \"tail\"\nfread F 4096 4 = hex:00000000\n"
          "P fork C\nC read S+8K 1 = SIGBUS adrerr at S+8K\n"
          "truncate F 100\nP read A 1 = \"a\"\nP fork D\nD read A+4K 1 = SIGBUS adrerr\n"
          "truncate F 8K\nP read A+4K 4 = hex:00000000\n"
          "fwrite F 8190 \"abcd\" = 4\nP read S+8190 4 = \"abcd\"\nfread F 8192 100 = \"cd\"\n"
          "close F\nP read S 1 = \"s\"\nfread F 0 1 = EBADF\n"
          "directory E\nfread E 0 1 = EISDIR\nfwrite E 0 \"x\" = EBADF\ntruncate E 0 = EINVAL\n"
          "shm M 4K\nP mmap T 4K rw shared M\nP write T \"m\"\nfread M 0 1 = \"m\"\n");
}

/* Written through a mapping past the end of a file, bytes come to light when it grows; they are
 * zeroed when it is cut, be it to the same size. */
static void test_bytes_past_end(void **state)
{
    (void)state;
    holds("file F 100\nP mmap S 4K rw shared F\nP write S+200 \"x\"\n"
          "truncate F 4K\nP read S+200 1 = \"x\"\n"
          "truncate F 100\nP write S+200 \"y\"\ntruncate F 100\nP read S+200 1 = hex:00\n");
}

/* Where it cannot know, it says so and changes nothing. */
static void test_unable(void **state)
{
    struct backend *backend = NULL;
    struct scenario_outcome outcome;
    struct scenario_operation task = scenario_operation_blank(VERB_TASK);
    struct scenario_operation limit = scenario_operation_blank(VERB_LIMIT);
    struct scenario_operation map = scenario_operation_blank(VERB_MMAP);
    struct scenario_operation protect = scenario_operation_blank(VERB_MPROTECT);
    struct scenario_operation remap = scenario_operation_blank(VERB_MREMAP);
    char why[SCENARIO_WHY_BYTES];

    (void)state;
    task.task = limit.task = map.task = protect.task = remap.task = 0;
    map.region = protect.address.region = remap.address.region = 0;
    protect.address.base = remap.address.base = BASE_REGION;
    map.protection = ABI_PROT_READ | ABI_PROT_WRITE;
    map.flags = ABI_MAP_PRIVATE | ABI_MAP_ANONYMOUS;
    map.bytes = 2 * PAGE_BYTES;
    protect.bytes = PAGE_BYTES;
    remap.bytes = 2 * PAGE_BYTES;
    remap.new_bytes = 3 * PAGE_BYTES;
    remap.flags = ABI_MREMAP_MAYMOVE;
    assert_int_equal(model_create(&backend, &layout), 0);
    backend->ops->perform(backend, &limit, &outcome);
    assert_int_equal(outcome.kind, OUTCOME_UNABLE);
    backend->ops->perform(backend, &task, &outcome);
    assert_int_equal(outcome.kind, OUTCOME_DONE);
    backend->ops->perform(backend, &limit, &outcome);
    assert_int_equal(outcome.kind, OUTCOME_UNABLE);
    backend->ops->perform(backend, &map, &outcome);
    backend->ops->perform(backend, &protect, &outcome);
    backend->ops->perform(backend, &remap, &outcome); /* two VMAs for certain */
    assert_int_equal(outcome.kind, OUTCOME_ERROR);
    protect.protection = map.protection;
    backend->ops->perform(backend, &protect, &outcome);
    backend->ops->perform(backend, &remap, &outcome); /* one again, or still two */
    assert_int_equal(outcome.kind, OUTCOME_UNABLE);
    assert_true(backend->ops->end(backend, why, sizeof(why)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_can_fail),
        cmocka_unit_test(test_mmap),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_munmap_and_mprotect),
        cmocka_unit_test(test_mremap),
        cmocka_unit_test(test_brk),
        cmocka_unit_test(test_madvise),
        cmocka_unit_test(test_guards),
        cmocka_unit_test(test_lock_sync_residency),
        cmocka_unit_test(test_populate_copies),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_vfork_and_exec),
        cmocka_unit_test(test_kernel_access),
        cmocka_unit_test(test_pins),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_bytes_past_end),
        cmocka_unit_test(test_unable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
