/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scenarios on emulated machines: every verb, on every kernel and both MMUs, with all invariants
 * after each operation and nothing left at the end.
 */
#include "tests/support/emulated_fixture.h"

/* --- accesses --- */

static void tasks_see_their_own_copy(void **state)
{
    (void)state;
    holds_everywhere("P mmap A 16K rw private anon\n"
                     "P write A \"hello\"; P fork C\n"
                     "C write A+4K fill 0x41 4K\n"
                     "C write A \"HELLO\"\n"
                     "P read A 5 = \"hello\"\n"
                     "C read A 5 = \"HELLO\"\n"
                     "C read A+4K 4K = fill 0x41 4K\n"
                     "P peek A 16K = any\n"
                     "P peek A+4K 12K = 0\n"
                     "P poke A+4K 12K 7; P peek A+4K 12K = 7\n"
                     "P read A+8K 2 = hex:0700\n"
                     "C exit 3; P wait C = exit 3\n");
}

static void signals_tell_the_first_bad_byte(void **state)
{
    (void)state;
    holds_everywhere("P mmap A 8K rw private anon at=0x40000000 fixed\n"
                     "P mmap S 8K rw shared anon at=0x50000000 fixed\n"
                     "P mmap R 4K r private anon; P munmap A+4K 4K; P munmap S+4K 4K\n"
                     "P fork C; C read A+4090 12 = SIGSEGV maperr at A+4K\n"
                     "P wait C = signal SIGSEGV\n"
                     "P fork D; D write S+4090 \"123456789012\" = SIGSEGV maperr at S+4K\n"
                     "P read S+4090 6 = \"123456\"\n"
                     "P fork E; E write R+7 \"x\" = SIGSEGV accerr at R+7\n"
                     "P fork F; F poke R 4K 1 = SIGSEGV accerr at R\n"
                     "P fork G; G read 0x800000000000 1 = SIGSEGV kernel at 0\n"
                     "P wait D = signal SIGSEGV\n"
                     "P wait = signal SIGSEGV; P wait F = signal SIGSEGV; P wait = signal SIGSEGV\n"
                     "P wait = ECHILD\n");
}

static void faults_are_those_of_the_accesses(void **state)
{
    (void)state;
    holds_everywhere("P mmap A 16K rw private anon\n"
                     "P read A 1 = hex:00 faults 1\n"
                     "P write A \"x\" = ok faults 1\n"
                     "P write A \"y\" = ok faults 0\n"
                     "P poke A 16K 1 = ok faults 3\n"
                     "P fork C; C write A+4095 \"ab\" = ok faults 2\n"
                     "C write A+16383 \"ab\" = SIGSEGV maperr at A+16K faults 1\n"
                     "expect faults cow-copy = 4\n"
                     "expect faults maperr = 1\n");
}

static void the_kernel_stops_at_the_first_bad_byte(void **state)
{
    (void)state;
    holds_everywhere("P mmap A 8K rw private anon; P munmap A+4K 4K; P write A \"hello\"\n"
                     "P fork C\n"
                     "C kwrite A \"HEL\" = 3\n"
                     "P kread A 5 = \"hello\"\n"
                     "C kread A 5 = \"HELlo\"\n"
                     "C kwrite A+4094 \"abcd\" = 2\n"
                     "C kread A+4094 4 = \"ab\"\n"
                     "C kread A+4K 1 = EFAULT\n"
                     "C mprotect A 4K r; C kwrite A \"x\" = EFAULT\n"
                     "C kread A 3 = \"HEL\"\n");
}

/* --- tasks --- */

static void children_are_heard_of(void **state)
{
    (void)state;
    holds_everywhere("P fork C; P fork D; P fork E\n"
                     "E exit 1; D exit 2; P wait = exit 2; P wait = exit 1\n"
                     "C fork G; P kill C; P wait C = signal SIGKILL\n"
                     "G mmap A 4K rw private anon; G write A \"x\"; G exit 9\n"
                     "P wait G = ECHILD; P wait = ECHILD\n"
                     "task Q; Q kill P; Q kill Q = any\n");
}

static void a_zombie_may_be_killed_again(void **state)
{
    (void)state;
    holds_everywhere("P fork C; P fork D; C exit; D kill C; P wait C = exit 0; D kill C = ESRCH\n");
}

static void vfork_lends_the_address_space(void **state)
{
    (void)state;
    holds_everywhere("P mmap A 4K rw private anon; P vfork C\n"
                     "C write A \"42\"; C mmap B 4K rw private anon; C exit\n"
                     "P read A 2 = \"42\"; P wait C = exit 0\n"
                     "P vfork D; D exec; P write A \"43\"\n"
                     "D mmap A 4K rw private anon; D read A 1 = hex:00; D exit\n"
                     "P wait D = exit 0\n"
                     "P vfork E; E write 0 \"x\" = SIGSEGV maperr at 0\n"
                     "P wait E = signal SIGSEGV; P read A 2 = \"43\"\n");
}

static void exec_replaces_the_program(void **state)
{
    (void)state;
    holds_everywhere("file F 4K \"no program\"; directory D\n"
                     "P mmap A 4K rw private anon; P write A \"x\"\n"
                     "P exec F = ENOEXEC; P exec D = EACCES\n"
                     "P exec \"/nowhere/at/all\" = ENOENT; P exec \"/\" = EACCES\n"
                     "close F; P exec F = EBADF; P read A 1 = \"x\"\n"
                     "P fork C; C exec; C read 0x20000 1 = SIGSEGV maperr\n"
                     "P wait C = signal SIGSEGV\n"
                     "P brk heap+5 = heap+5; P write heap \"h\"; P exec\n"
                     "P brk 0 = heap; P brk heap+4K = heap+4K; P read heap 1 = hex:00\n"
                     "expect maps P heap 8K = \"rw-p 4K, - 4K\"\n");
}

/* --- files, pins --- */

static void files_are_read_written_and_cut(void **state)
{
    (void)state;
    holds_everywhere(
        "file F 4K \"abc\"; file R 4K ro; file W 4K wo; shm S 8K; directory D\n"
        "fread F 0 3 = \"abc\"; fread F 4094 9 = hex:0000; fread F 8K 1 = 0\n"
        "fwrite F 4K \"more\" = 4; fread F 4K 9 = \"more\"\n"
        "P mmap A 8K rw shared F; P read A+4K 5 = hex:6d6f726500\n"
        "P write A \"X\"; fread F 0 3 = \"Xbc\"\n"
        "P mmap B 4K rw private F; P write B \"Y\"; fread F 0 1 = \"X\"\n"
        "P mmap 4K rw shared R = EACCES; P mmap 4K r private W = EACCES\n"
        "P mmap 4K r private D = ENODEV; P mmap 4K r private fd=-1 = EBADF\n"
        "fread D 0 1 = EISDIR; truncate D 0 = EINVAL\n"
        "truncate F 4K; P fork C; C read A+4K 1 = SIGBUS adrerr at A+4K\n"
        "close F; P read A 1 = \"X\"; fread F 0 1 = EBADF; P mmap 4K r private F = EBADF\n"
        "P mmap M 8K rw shared S; task Q; Q mmap N 4K rw shared S offset=4K\n"
        "Q write N \"shm\"; P read M+4K 3 = \"shm\"\n"
        "expect frames = 3\n");
}

static void a_pin_keeps_its_page(void **state)
{
    (void)state;
    holds_everywhere(
        "P mmap A 4K rw private anon; P write A \"old\"; P fork C\n"
        "C pin K A read; C exit; P write A \"new\"\n"
        "pinread K 0 3 = \"old\"; pinread K 4095 1 = hex:00; pinread K 4095 2 = EFAULT\n"
        "P pin L A write; pinwrite L 1 \"EW\"; P read A 3 = \"nEW\"\n"
        "pinwrite L 4090 fill 1 7 = EFAULT\n"
        "P pin M 0x1000 read = EFAULT\n"
        "expect frames = 2; unpin K; expect frames = 1; unpin L\n");
}

/* --- calls --- */

static void calls_answer_as_linux_does(void **state)
{
    (void)state;
    holds_everywhere("P mmap A 16K rw private anon at=0x40000000 fixed = 0x40000000\n"
                     "P mmap A 0 rw private anon = EINVAL\n"
                     "P munmap A+1 4K = EINVAL; P mprotect A 4K prot=64 = EINVAL\n"
                     "P stripe A 16K r\n"
                     "expect maps P A 20K = \"r--p 4K, rw-p 4K, r--p 4K, rw-p 4K, - 4K\"\n"
                     "expect vmas P A 16K = 4; P mprotect A 16K rw; "
                     "expect vmas P A 16K = 1 on linux>=2.5\n"
                     "P mmap A 16K rw private anon at=0x40000000 fixed; P write A \"x\"\n"
                     "P mremap B A 16K 8K maymove fixed to=0x40100000 = 0x40100000\n"
                     "P read B 1 = \"x\"; expect maps P A 4K = \"- 4K\"\n"
                     "P brk heap+4K = heap+4K; P write heap \"h\"; P brk heap-1 = heap+4K\n");
}

/* Seen on Linux 6.18, too. */
static void advice_is_taken(void **state)
{
    (void)state;
    holds_everywhere(
        "P mmap A 16K rw private anon; P write A fill 1 16K\n"
        "P madvise A+4K 8K dontneed; P read A+4K 1 = hex:00; P read A 1 = hex:01\n"
        "P mincore A 16K = 1101\n"
        "P madvise A 4K 77 = EINVAL; P madvise A+1 4K dontneed = EINVAL\n"
        "P mmap B 4K rw private anon; P mincore A 16K into=B; P read B 4 = hex:01010001\n"
        "P mincore A+1 4K = EINVAL; P mincore 0x1000 4K = ENOMEM; P mincore A 4K into=0x1000 = "
        "EFAULT\n"
        "P mincore A 0x7000000000000000 = ENOMEM\n"
        "P mlock A 8K; expect locked P A 1 = 8K; expect vmas P A 16K = 2\n"
        "P madvise A 4K dontneed = EINVAL; P munlock A 8K; "
        "expect vmas P A 16K = 1 on linux>=2.5\n"
        "P msync A 16K sync; P msync A 4K sync async = EINVAL; P msync 0x1000 4K sync = ENOMEM\n"
        "P madvise A 4K dontfork; P fork C; C read A 1 = SIGSEGV maperr at A\n"
        "P madvise A 4K dofork; P madvise A 4K wipeonfork; P fork D; D read A 1 = hex:00\n"
        "P limit as 0; P mmap 4K rw private anon = ENOMEM; P munmap B 4K; P mmap 4K rw private "
        "anon\n");
}

static void numbers_are_those_of_smaps(void **state)
{
    (void)state;
    holds_everywhere("P mmap A 256K rw private anon; P poke A 256K 1; P fork C\n"
                     "expect rss P A 1 = 256K; expect shared P A 1 = 256K\n"
                     "expect pss P A 1 = 128K; expect private C A 1 = 0\n"
                     "P poke A 64K 2\n"
                     "expect shared P A 1 = 192K; expect private P A 1 = 64K\n"
                     "expect pss P A 1 = 160K; expect anonymous P A 1 = 256K\n"
                     "expect frames = 80\n"
                     "C exit; expect private P A 1 = 256K; expect swap P A 1 = 0\n"
                     "P fork D; P fork E; expect pss P A 1 = 85K; expect locked P A 1 = 0\n");
}

static void memory_that_is_refused_changes_nothing(void **state)
{
    (void)state;
    holds_everywhere("P mmap A 8K rw private anon; P write A \"x\"\n"
                     "P fork C fail=1 = ENOMEM; P read A 1 = \"x\"; P fork C\n"
                     "P write A+4K \"x\" fail=1 = SIGKILL; C read A 1 = \"x\"\n");
}

static void tables_are_counted(void **state)
{
    struct scenario_result result;
    struct told told;
    const char *text = "P mmap A 256K rw private anon; P poke A 256K 1\n"
                       "expect tables P = 1; expect shared-tables P = 0; P fork C\n"
                       "expect shared-tables P = 1 on modern-shared else 0\n"
                       "expect count tables-shared = any\n"
                       "expect tables C = 0 on modern-shared else 1\n"
                       "C write A \"x\"; expect shared-tables P = 0; expect tables C = 1\n";

    (void)state;
    run_at(kernel_find("modern-shared"), MMU_SOFT, text, &told, &result);
    assert_string_equal(told.text, "");
    run_at(kernel_find("modern"), MMU_HOST, text, &told, &result);
    assert_string_equal(told.text, "");
    assert_int_equal(result.end, SCENARIO_HELD);
}

/* --- the backend by itself --- */

static void unable(struct backend *backend, const struct scenario_operation *operation)
{
    struct scenario_outcome outcome;

    backend->ops->perform(backend, operation, &outcome);
    assert_int_equal(outcome.kind, OUTCOME_UNABLE);
    assert_true(outcome.why[0] != '\0');
}

static void numbers_beyond_the_tables_are_refused(void **state)
{
    struct backend *backend = backend_begin(kernel_find("modern"), MMU_SOFT);
    struct scenario_operation make = scenario_operation_blank(VERB_TASK);
    struct scenario_outcome outcome;

    (void)state;
    for (unsigned verb = 0; verb < VERB_COUNT; verb++) {
        struct scenario_operation operation = scenario_operation_blank((enum scenario_verb)verb);

        backend->ops->perform(backend, &operation, &outcome);
        assert_true(outcome.kind == OUTCOME_UNABLE || outcome.kind == OUTCOME_ERROR);
    }
    make.task = 0;
    backend->ops->perform(backend, &make, &outcome);
    assert_int_equal(outcome.kind, OUTCOME_DONE);
    unable(backend, &make);
    for (unsigned verb = VERB_MMAP; verb <= VERB_KWRITE; verb++) {
        struct scenario_operation operation = scenario_operation_blank((enum scenario_verb)verb);

        operation.task = 0;
        operation.address.base = BASE_REGION;
        operation.address.region = SCENARIO_NOBODY;
        operation.bytes = PAGE_BYTES;
        if (verb != VERB_MMAP && verb != VERB_LIMIT)
            unable(backend, &operation);
    }
    backend_end(backend);
}

static void one_operation_hands_out_so_much(void **state)
{
    struct backend *backend = backend_begin(kernel_find("modern"), MMU_SOFT);
    struct scenario_operation operation = scenario_operation_blank(VERB_TASK);
    struct scenario_outcome outcome;

    (void)state;
    operation.task = 0;
    backend->ops->perform(backend, &operation, &outcome);
    for (unsigned verb = VERB_READ; verb <= VERB_KREAD; verb++) {
        operation.verb = (enum scenario_verb)verb;
        operation.bytes = UINT64_MAX;
        if (verb != VERB_WRITE && verb != VERB_POKE)
            unable(backend, &operation);
    }
    operation.verb = VERB_POKE;
    backend->ops->perform(backend, &operation, &outcome);
    assert_int_equal(outcome.kind, OUTCOME_SIGNAL);
    assert_false(backend->ops->is_alive(backend, 0));
    assert_null(emulated_task(backend, 0));
    backend_end(backend);
}

/* The other geometries have room for scenarios, too. */
static void small_address_spaces_have_a_heap(void **state)
{
    const struct machine_options options = {
        .geometry = &geometry_tiny, .mmu = MMU_SOFT, .ram_bytes = (uint64_t)1 << 20};
    struct scenario_report report = {.checks = true};
    struct scenario_result result;
    struct scenario scenario;
    struct backend *backend;
    char problem[SCENARIO_WHY_BYTES];

    (void)state;
    assert_int_equal(emulated_create(&backend, &options, problem, sizeof(problem)), 0);
    scenario_of_text(&scenario,
                     "needs geometry tiny\n"
                     "P brk heap+4K = heap+4K; P write heap \"x\"; P fork C; C exec\n"
                     "P mmap A 8K rw private anon; P write A \"y\"; P read heap 1 = \"x\"\n"
                     "C brk heap+4K = heap+4K; C read heap 1 = hex:00\n"
                     "C read stack-8 8 = any; C read stack 1 = SIGSEGV maperr\n");
    scenario_run(&scenario, backend, &report, &result);
    assert_string_equal(result.why, "");
    assert_int_equal(result.end, SCENARIO_HELD);
    backend_end(backend);
    scenario_free(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_see_their_own_copy),
        cmocka_unit_test(signals_tell_the_first_bad_byte),
        cmocka_unit_test(faults_are_those_of_the_accesses),
        cmocka_unit_test(the_kernel_stops_at_the_first_bad_byte),
        cmocka_unit_test(children_are_heard_of),
        cmocka_unit_test(a_zombie_may_be_killed_again),
        cmocka_unit_test(vfork_lends_the_address_space),
        cmocka_unit_test(exec_replaces_the_program),
        cmocka_unit_test(files_are_read_written_and_cut),
        cmocka_unit_test(a_pin_keeps_its_page),
        cmocka_unit_test(calls_answer_as_linux_does),
        cmocka_unit_test(advice_is_taken),
        cmocka_unit_test(numbers_are_those_of_smaps),
        cmocka_unit_test(memory_that_is_refused_changes_nothing),
        cmocka_unit_test(tables_are_counted),
        cmocka_unit_test(numbers_beyond_the_tables_are_refused),
        cmocka_unit_test(one_operation_hands_out_so_much),
        cmocka_unit_test(small_address_spaces_have_a_heap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
