/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader: every form of an operation becomes the operation that it says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/scenario_fixture.h"

#include <cmocka.h>

/* The first task that a text uses is made by that; places are where things stand. */
static void test_first_task(void **state)
{
    struct scenario scenario;
    struct scenario_operation task = of_task(VERB_TASK, 0);
    struct scenario_operation brk = of_task(VERB_BRK, 0);

    (void)state;
    read_good(&scenario, "# a comment\n\n  P brk 5; ; P exit # the end");
    assert_int_equal(scenario.count, 3);
    assert_int_equal(scenario.tasks.count, 1);
    assert_string_equal(scenario.tasks.names[0], "P");
    brk.address = at_number(5);
    struct scenario_operation leave = of_task(VERB_EXIT, 0);

    assert_operation(&scenario, 0, &task);
    assert_operation(&scenario, 1, &brk);
    assert_operation(&scenario, 2, &leave);
    assert_int_equal(scenario.operations[0].line, 3);
    assert_int_equal(scenario.operations[0].column, 3);
    assert_int_equal(scenario.operations[1].line, 3);
    assert_int_equal(scenario.operations[1].column, 3);
    assert_int_equal(scenario.operations[2].line, 3);
    assert_int_equal(scenario.operations[2].column, 14);
    scenario_free(&scenario);

    read_good(&scenario, "task P\nP brk 5\r\n\r\ntask Q\nQ exit 3\r");
    assert_int_equal(scenario.count, 4);
    assert_operation(&scenario, 0, &task);
    assert_operation(&scenario, 1, &brk);
    task.task = 1;
    assert_operation(&scenario, 2, &task);
    leave.task = 1;
    leave.value = 3;
    assert_operation(&scenario, 3, &leave);
    scenario_free(&scenario);

    read_good(&scenario, "");
    assert_int_equal(scenario.count, 0);
    scenario_free(&scenario);
}

static void test_mmap(void **state)
{
    struct scenario scenario;
    struct scenario_operation mmap = of_task(VERB_MMAP, 0);

    (void)state;
    read_good(&scenario,
              "P mmap A 16K rw private anon\n"
              "P mmap 5 none shared_validate flags=0x80000 fd=-1 offset=4K fail=2 = EOPNOTSUPP\n"
              "file F 8K\n"
              "P mmap B 0x1000 prot=0x18 shared fixed noreplace populate nonblock growsdown "
              "noreserve stack locked F at=stack-1M = 0x400000");
    mmap.region = 0;
    mmap.bytes = 16384;
    mmap.protection = ABI_PROT_READ | ABI_PROT_WRITE;
    mmap.flags = ABI_MAP_PRIVATE | ABI_MAP_ANONYMOUS;
    assert_operation(&scenario, 1, &mmap);

    struct scenario_answer unsupported = {.kind = ANSWER_ERROR, .error = EOPNOTSUPP};

    mmap.region = SCENARIO_NOBODY;
    mmap.bytes = 5;
    mmap.protection = 0;
    mmap.flags = ABI_MAP_SHARED_VALIDATE | 0x80000u;
    mmap.offset_bytes = 4096;
    mmap.fail_after = 2;
    mmap.answer_count = 1;
    mmap.answers = &unsupported;
    assert_operation(&scenario, 2, &mmap);

    struct scenario_answer address = {.kind = ANSWER_ADDRESS, .address = at_number(0x400000)};

    mmap = of_task(VERB_MMAP, 0);
    mmap.region = 1;
    mmap.bytes = 4096;
    mmap.protection = 0x18;
    mmap.flags = ABI_MAP_SHARED | ABI_MAP_FIXED | ABI_MAP_FIXED_NOREPLACE | ABI_MAP_POPULATE |
                 ABI_MAP_NONBLOCK | ABI_MAP_GROWSDOWN | ABI_MAP_NORESERVE | ABI_MAP_STACK |
                 ABI_MAP_LOCKED;
    mmap.file = 0;
    mmap.has_target = true;
    mmap.target =
        (struct scenario_address){.base = BASE_STACK, .offset_bytes = -((uint64_t)1 << 20)};
    mmap.answer_count = 1;
    mmap.answers = &address;
    assert_operation(&scenario, 4, &mmap);
    scenario_free(&scenario);
}

static void test_mremap(void **state)
{
    struct scenario scenario;
    struct scenario_operation mremap = of_task(VERB_MREMAP, 0);

    (void)state;
    read_good(&scenario, "P mmap A 8K r private anon; P mmap B 8K r private anon\n"
                         "P mremap A 8K 16K maymove to=0x800000 fixed\n"
                         "P mremap B A+4K 0 1 flags=9 = B\n"
                         "P mremap C 0x1000 2 3\n");
    mremap.address = at_region(0, 0);
    mremap.bytes = 8192;
    mremap.new_bytes = 16384;
    mremap.flags = ABI_MREMAP_MAYMOVE | ABI_MREMAP_FIXED;
    mremap.has_target = true;
    mremap.target = at_number(0x800000);
    assert_operation(&scenario, 3, &mremap);

    struct scenario_answer answer = {.kind = ANSWER_ADDRESS, .address = at_region(1, 0)};

    mremap = of_task(VERB_MREMAP, 0);
    mremap.region = 1;
    mremap.address = at_region(0, 4096);
    mremap.new_bytes = 1;
    mremap.flags = 9;
    mremap.answer_count = 1;
    mremap.answers = &answer;
    assert_operation(&scenario, 4, &mremap);

    mremap = of_task(VERB_MREMAP, 0);
    mremap.region = 2;
    mremap.address = at_number(0x1000);
    mremap.bytes = 2;
    mremap.new_bytes = 3;
    assert_operation(&scenario, 5, &mremap);
    assert_string_equal(scenario.regions.names[2], "C");
    scenario_free(&scenario);
}

static void test_calls_on_ranges(void **state)
{
    struct scenario scenario;
    struct scenario_operation operation;

    (void)state;
    read_good(&scenario, "P mmap A 8K r private anon\n"
                         "P mprotect A-1 0xffffffffffffffff rwx\n"
                         "P madvise heap+5 3 guard_install; P madvise 0 0 4294967295\n"
                         "P msync A 4K sync async flags=8\n"
                         "P mincore A 8K into=heap = 01\n"
                         "P limit data 1G\n"
                         "P brk heap = heap+4K\n");
    operation = of_task(VERB_MPROTECT, 0);
    operation.address = at_region(0, UINT64_MAX);
    operation.bytes = UINT64_MAX;
    operation.protection = 7;
    assert_operation(&scenario, 2, &operation);
    operation = of_task(VERB_MADVISE, 0);
    operation.address = (struct scenario_address){.base = BASE_HEAP, .offset_bytes = 5};
    operation.bytes = 3;
    operation.advice = ABI_MADV_GUARD_INSTALL;
    assert_operation(&scenario, 3, &operation);
    operation.address = at_number(0);
    operation.bytes = 0;
    operation.advice = -1;
    assert_operation(&scenario, 4, &operation);
    operation = of_task(VERB_MSYNC, 0);
    operation.address = at_region(0, 0);
    operation.bytes = 4096;
    operation.flags = ABI_MS_SYNC | ABI_MS_ASYNC | 8;
    assert_operation(&scenario, 5, &operation);

    struct scenario_answer bits = {
        .kind = ANSWER_BITS,
        .data = {.kind = DATA_BYTES, .bytes = 2, .content = (const uint8_t *)"01"}};

    operation = of_task(VERB_MINCORE, 0);
    operation.address = at_region(0, 0);
    operation.bytes = 8192;
    operation.has_target = true;
    operation.target.base = BASE_HEAP;
    operation.answer_count = 1;
    operation.answers = &bits;
    assert_operation(&scenario, 6, &operation);
    operation = of_task(VERB_LIMIT, 0);
    operation.value = 1;
    operation.bytes = (uint64_t)1 << 30;
    assert_operation(&scenario, 7, &operation);

    struct scenario_answer place = {.kind = ANSWER_ADDRESS,
                                    .address = {.base = BASE_HEAP, .offset_bytes = 4096}};

    operation = of_task(VERB_BRK, 0);
    operation.address.base = BASE_HEAP;
    operation.answer_count = 1;
    operation.answers = &place;
    assert_operation(&scenario, 8, &operation);
    scenario_free(&scenario);
}

static void test_accesses(void **state)
{
    struct scenario scenario;
    struct scenario_operation operation = of_task(VERB_WRITE, 0);
    struct scenario_answer answer = {.kind = ANSWER_SIGNAL,
                                     .signal = ABI_SIGBUS,
                                     .code = ABI_BUS_ADRERR,
                                     .has_address = true,
                                     .address = at_number(0x1001),
                                     .has_faults = true,
                                     .faults = 7};

    (void)state;
    read_good(&scenario, "P write 1 \"a\\n\\t\\0\\\\\\\"\\x7f\xc3\xa9;#=\"\n"
                         "P write 1 hex:00fFa5; P kwrite 1 fill 0xff 1G = 3\n"
                         "P poke 1 2 255\n"
                         "P peek 1 4097 = 0\n"
                         "P read 1 2 = SIGBUS adrerr at 0x1001 faults 7\n");
    operation.address = at_number(1);
    operation.data = (struct scenario_data){
        .kind = DATA_BYTES, .bytes = 12, .content = (const uint8_t *)"a\n\t\0\\\"\x7f\xc3\xa9;#="};
    assert_operation(&scenario, 1, &operation);
    operation.data.bytes = 3;
    operation.data.content = (const uint8_t *)"\x00\xff\xa5";
    assert_operation(&scenario, 2, &operation);

    struct scenario_answer count = {.kind = ANSWER_NUMBER, .number = 3};

    operation.verb = VERB_KWRITE;
    operation.data = (struct scenario_data){.kind = DATA_FILL, .fill = 255, .bytes = 1u << 30};
    operation.answer_count = 1;
    operation.answers = &count;
    assert_operation(&scenario, 3, &operation);
    operation = of_task(VERB_POKE, 0);
    operation.address = at_number(1);
    operation.bytes = 2;
    operation.value = 255;
    assert_operation(&scenario, 4, &operation);

    struct scenario_answer zeros = {.kind = ANSWER_NUMBER};

    operation = of_task(VERB_PEEK, 0);
    operation.address = at_number(1);
    operation.bytes = 4097;
    operation.answer_count = 1;
    operation.answers = &zeros;
    assert_operation(&scenario, 5, &operation);
    operation.verb = VERB_READ;
    operation.bytes = 2;
    operation.answers = &answer;
    assert_operation(&scenario, 6, &operation);
    scenario_free(&scenario);
}

static void test_tasks(void **state)
{
    struct scenario scenario;
    struct scenario_operation operation = of_task(VERB_FORK, 0);
    struct scenario_answer status = {.kind = ANSWER_EXIT, .number = 255};
    struct scenario_answer killed = {.kind = ANSWER_KILLED, .signal = ABI_SIGKILL};

    (void)state;
    read_good(&scenario, "P fork C; C exit 255; P wait C = exit 255\n"
                         "P vfork C; P kill C; P wait = signal SIGKILL\n"
                         "file F 1; P exec \"/bin/true\" = ENOENT; P exec F = ENOEXEC; P exec");
    operation.other = 1;
    assert_operation(&scenario, 1, &operation);
    operation = of_task(VERB_WAIT, 0);
    operation.other = 1;
    operation.answer_count = 1;
    operation.answers = &status;
    assert_operation(&scenario, 3, &operation);
    operation = of_task(VERB_VFORK, 0);
    operation.other = 1;
    assert_operation(&scenario, 4, &operation);
    operation.verb = VERB_KILL;
    assert_operation(&scenario, 5, &operation);
    operation = of_task(VERB_WAIT, 0);
    operation.answer_count = 1;
    operation.answers = &killed;
    assert_operation(&scenario, 6, &operation);

    struct scenario_answer missing = {.kind = ANSWER_ERROR, .error = ENOENT};

    operation = of_task(VERB_EXEC, 0);
    operation.text = "/bin/true";
    operation.answer_count = 1;
    operation.answers = &missing;
    assert_operation(&scenario, 8, &operation);
    missing.error = ENOEXEC;
    operation.text = NULL;
    operation.file = 0;
    assert_operation(&scenario, 9, &operation);
    operation = of_task(VERB_EXEC, 0);
    assert_operation(&scenario, 10, &operation);
    scenario_free(&scenario);
}

static void test_files_and_pins(void **state)
{
    struct scenario scenario;
    struct scenario_operation operation = scenario_operation_blank(VERB_FILE);
    struct scenario_answer answer = {.kind = ANSWER_DATA, .data = {.kind = DATA_BYTES}};

    (void)state;
    read_good(&scenario, "file F 8K wo \"x\"; shm S 4K; directory D; close D\n"
                         "fread F 1 2 = \"\"; fwrite S 3 \"\" = 0; truncate F 0\n"
                         "P pin K heap write; pinread K 5 6; pinwrite K 5 \"x\"; unpin K\n");
    operation.file = 0;
    operation.bytes = 8192;
    operation.flags = SCENARIO_WRITE_ONLY;
    operation.data =
        (struct scenario_data){.kind = DATA_BYTES, .bytes = 1, .content = (const uint8_t *)"x"};
    assert_operation(&scenario, 0, &operation);
    operation = scenario_operation_blank(VERB_CLOSE);
    operation.file = 2;
    assert_operation(&scenario, 3, &operation);
    operation = scenario_operation_blank(VERB_FREAD);
    operation.file = 0;
    operation.offset_bytes = 1;
    operation.bytes = 2;
    operation.answer_count = 1;
    operation.answers = &answer;
    assert_operation(&scenario, 4, &operation);
    operation = scenario_operation_blank(VERB_FWRITE);
    operation.file = 1;
    operation.offset_bytes = 3;
    operation.data.kind = DATA_BYTES;
    answer = (struct scenario_answer){.kind = ANSWER_NUMBER};
    operation.answer_count = 1;
    operation.answers = &answer;
    assert_operation(&scenario, 5, &operation);
    operation = of_task(VERB_PIN, 0);
    operation.pin = 0;
    operation.address.base = BASE_HEAP;
    operation.write = true;
    assert_operation(&scenario, 8, &operation);
    operation = scenario_operation_blank(VERB_PINREAD);
    operation.pin = 0;
    operation.offset_bytes = 5;
    operation.bytes = 6;
    assert_operation(&scenario, 9, &operation);
    scenario_free(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_task),     cmocka_unit_test(test_mmap),
        cmocka_unit_test(test_mremap),         cmocka_unit_test(test_calls_on_ranges),
        cmocka_unit_test(test_accesses),       cmocka_unit_test(test_tasks),
        cmocka_unit_test(test_files_and_pins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
