/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host backend: files and pins, as Linux has them. */
#include <errno.h>
#include <string.h>

#include "scenario/host_layout.h"
#include "tests/support/host_bench.h"

static struct scenario_operation map_file(uint16_t task, uint16_t region, uint16_t file,
                                          uint64_t bytes, uint32_t protection, uint32_t flags)
{
    struct scenario_operation operation = bench_map(task, region, bytes, protection, flags);

    operation.file = file;
    return operation;
}

static struct scenario_operation with_text(struct scenario_operation operation, const char *text)
{
    operation.data = (struct scenario_data){
        .kind = DATA_BYTES, .bytes = strlen(text), .content = (const uint8_t *)text};
    return operation;
}

static struct scenario_operation pin(enum scenario_verb verb, uint16_t task, uint64_t offset,
                                     uint64_t bytes)
{
    struct scenario_operation operation = bench_on(verb, task, A, offset, bytes);

    operation.pin = K;
    operation.offset_bytes = offset;
    operation.write = true;
    return operation;
}

/* --- files --- */

static void test_file_mappings(void **state)
{
    struct bench *bench = *state;
    static uint8_t tail[BENCH_PAGE] = {[95] = 'h', 'e', 'l', 'l', 'o'};
    uint64_t pages = 2 * BENCH_PAGE;

    bench_ok(bench, bench_file(VERB_FILE, F, 0, 100));
    bench_value(bench, with_text(bench_file(VERB_FWRITE, F, 95, 0), "hello"), 5);
    bench_ok(bench, map_file(P, A, F, pages, BENCH_RW, ABI_MAP_SHARED));
    bench_ok(bench, map_file(P, B, F, pages, BENCH_RW, ABI_MAP_PRIVATE));
    bench_data(bench, bench_on(VERB_READ, P, A, 0, BENCH_PAGE), tail, BENCH_PAGE);
    bench_ok(bench, bench_write(P, A, 95, "HE"));
    bench_text(bench, P, B, 95, "HEllo");
    bench_ok(bench, bench_write(P, B, 95, "own"));
    bench_ok(bench, bench_write(P, A, 95, "all"));
    bench_text(bench, P, B, 95, "ownlo");
    bench_data(bench, bench_file(VERB_FREAD, F, 95, 10), "alllo", 5);
    bench_ok(bench, bench_file(VERB_CLOSE, F, 0, 0));
    bench_error(bench, bench_file(VERB_FREAD, F, 95, 10), EBADF);
    bench_error(bench, map_file(P, G, F, pages, BENCH_RW, ABI_MAP_SHARED), EBADF);
    bench_text(bench, P, A, 95, "alllo");
    bench_ok(bench, bench_task(VERB_FORK, P, C));
    bench_dies(bench, bench_on(VERB_READ, C, A, BENCH_PAGE + 9, 1), ABI_SIGBUS, ABI_BUS_ADRERR,
               HOST_MAP_TOP - BENCH_PAGE + 9);
    bench_killed(bench, P, C, ABI_SIGBUS);
}

static void test_truncation(void **state)
{
    struct bench *bench = *state;
    uint64_t pages = 3 * BENCH_PAGE;

    bench_ok(bench, bench_file(VERB_SHM, F, 0, pages));
    bench_ok(bench, map_file(P, A, F, pages, BENCH_RW, ABI_MAP_SHARED));
    bench_ok(bench, map_file(P, B, F, pages, BENCH_RW, ABI_MAP_PRIVATE));
    bench_poke(bench, P, A, 3, 1);
    bench_poke(bench, P, B, 3, 2);
    bench_ok(bench, bench_file(VERB_TRUNCATE, F, 0, BENCH_PAGE));
    bench_ok(bench, bench_task(VERB_FORK, P, C));
    bench_dies(bench, bench_on(VERB_READ, C, B, 0, pages), ABI_SIGBUS, ABI_BUS_ADRERR,
               bench_address(bench, P, B) + BENCH_PAGE);
    bench_ok(bench, bench_file(VERB_TRUNCATE, F, 0, pages));
    bench_data(bench, bench_on(VERB_PEEK, P, A, 0, pages), "\1\0", 3);
    bench_data(bench, bench_on(VERB_PEEK, P, B, 0, pages), "\2\0", 3);
    bench_error(bench, bench_file(VERB_TRUNCATE, F, 0, UINT64_MAX), EINVAL);
}

static void test_rights(void **state)
{
    struct bench *bench = *state;
    struct scenario_operation file = bench_file(VERB_FILE, F, 0, BENCH_PAGE);

    file.flags = SCENARIO_READ_ONLY;
    bench_ok(bench, with_text(file, "read"));
    bench_unable(bench, file, "already");
    bench_error(bench, map_file(P, A, F, BENCH_PAGE, BENCH_RW, ABI_MAP_SHARED), EACCES);
    bench_ok(bench, map_file(P, A, F, BENCH_PAGE, BENCH_RW, ABI_MAP_PRIVATE));
    bench_text(bench, P, A, 0, "read");
    bench_ok(bench, map_file(P, B, F, BENCH_PAGE, ABI_PROT_READ, ABI_MAP_SHARED));
    struct scenario_operation protect = bench_on(VERB_MPROTECT, P, B, 0, BENCH_PAGE);

    protect.protection = BENCH_RW;
    bench_error(bench, protect, EACCES);
    file.file = F2;
    file.flags = SCENARIO_WRITE_ONLY;
    bench_ok(bench, file);
    bench_error(bench, map_file(P, A, F2, BENCH_PAGE, ABI_PROT_READ, ABI_MAP_PRIVATE), EACCES);
    bench_ok(bench, bench_file(VERB_CLOSE, F2, 0, 0));
    bench_ok(bench, bench_file(VERB_DIRECTORY, F2, 0, 0));
    bench_error(bench, map_file(P, A, F2, BENCH_PAGE, ABI_PROT_READ, ABI_MAP_PRIVATE), ENODEV);
    bench_error(bench, bench_file(VERB_FREAD, F2, 0, 1), EISDIR);
    struct scenario_operation exec = bench_task(VERB_EXEC, P, SCENARIO_NOBODY);

    exec.file = F2;
    bench_error(bench, exec, EACCES);
}

/* --- pins --- */

/* False where the host has no way to pin. */
static bool try_pin(struct bench *bench, uint16_t task)
{
    const struct scenario_operation take = pin(VERB_PIN, task, 100, 0);

    bench->backend->ops->perform(bench->backend, &take, &bench->outcome);
    if (bench->outcome.kind == OUTCOME_UNABLE)
        print_message("pins: %s\n", bench->outcome.why);
    else
        assert_int_equal(bench->outcome.kind, OUTCOME_DONE);
    return bench->outcome.kind == OUTCOME_DONE;
}

/* The pin sees what its owner sees, after a fork, too; and holds the page when all else goes. */
static void test_pin(void **state)
{
    struct bench *bench = *state;

    bench_ok(bench, bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_ok(bench, bench_write(P, A, 0, "old"));
    if (!try_pin(bench, P))
        skip();
    assert_int_equal(bench_vmas(bench, P), 1);
    bench_unable(bench, pin(VERB_PIN, P, 0, 0), "already");
    bench_ok(bench, bench_task(VERB_FORK, P, C));
    bench_ok(bench, bench_write(P, A, 0, "new"));
    bench_data(bench, pin(VERB_PINREAD, SCENARIO_NOBODY, 0, 3), "new", 3);
    bench_value(bench, with_text(pin(VERB_PINWRITE, SCENARIO_NOBODY, 1, 0), "EW"), 0);
    bench_text(bench, P, A, 0, "nEW");
    bench_text(bench, C, A, 0, "old");
    bench_error(bench, pin(VERB_PINREAD, SCENARIO_NOBODY, BENCH_PAGE - 1, 2), EFAULT);
    bench_ok(bench, bench_task(VERB_EXIT, P, SCENARIO_NOBODY));
    bench_data(bench, pin(VERB_PINREAD, SCENARIO_NOBODY, 0, 4), "nEW\0", 4);
    bench_ok(bench, pin(VERB_UNPIN, SCENARIO_NOBODY, 0, 0));
    bench_unable(bench, pin(VERB_UNPIN, SCENARIO_NOBODY, 0, 0), "no page");
}

static void test_pin_after_fork(void **state)
{
    struct bench *bench = *state;

    bench_ok(bench, bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_ok(bench, bench_write(P, A, 0, "old"));
    bench_ok(bench, bench_task(VERB_FORK, P, C));
    if (!try_pin(bench, C))
        skip();
    bench_ok(bench, bench_on(VERB_MUNMAP, C, A, 0, BENCH_PAGE));
    bench_ok(bench, bench_write(P, A, 0, "new"));
    bench_data(bench, pin(VERB_PINREAD, SCENARIO_NOBODY, 0, 3), "old", 3);
}

static void test_refused_pins(void **state)
{
    struct bench *bench = *state;
    struct scenario_operation read = pin(VERB_PIN, P, 0, 0);

    bench_ok(bench, bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    if (!try_pin(bench, P))
        skip();
    bench_ok(bench, pin(VERB_UNPIN, SCENARIO_NOBODY, 0, 0));
    bench_ok(bench, bench_map(P, A, BENCH_PAGE, ABI_PROT_READ, BENCH_PRIVATE));
    bench_error(bench, read, EFAULT);
    read.write = false;
    bench_unable(bench, read, "for reading alone");
    bench_ok(bench, bench_on(VERB_MUNMAP, P, A, 0, BENCH_PAGE));
    bench_error(bench, read, EFAULT);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(test_file_mappings),  BENCH_TEST(test_truncation),
        BENCH_TEST(test_rights),         BENCH_TEST(test_pin),
        BENCH_TEST(test_pin_after_fork), BENCH_TEST(test_refused_pins),
    };

    return bench_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
