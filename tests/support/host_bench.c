/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See host_bench.h. */
#include "tests/support/host_bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77 };

static const char *const kinds[] = {"done",   "error",  "signal", "data",
                                    "exited", "killed", "unable", "broken"};

int bench_main(int argc, char **argv, const struct CMUnitTest *tests, size_t count)
{
    struct backend *backend;
    char problem[SCENARIO_WHY_BYTES];

    host_backend_serve_if_helper(argc, argv);
    int error = host_backend_create(&backend, problem, sizeof(problem));

    if (error == -EOPNOTSUPP || error == -EPERM || error == -EACCES || error == -ENOSYS) {
        printf("skipped: %s\n", problem);
        return SKIPPED;
    }
    if (error != 0) {
        printf("%s\n", problem);
        return 1;
    }
    if (!backend->ops->end(backend, problem, sizeof(problem))) {
        printf("%s\n", problem);
        return 1;
    }
    return _cmocka_run_group_tests("host backend", tests, count, NULL, NULL);
}

int bench_setup(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    char problem[SCENARIO_WHY_BYTES];

    assert_non_null(bench);
    if (host_backend_create(&bench->backend, problem, sizeof(problem)) != 0)
        fail_msg("%s", problem);
    *state = bench;
    bench_ok(bench, bench_task(VERB_TASK, P, SCENARIO_NOBODY));
    return 0;
}

int bench_teardown(void **state)
{
    struct bench *bench = *state;
    char why[SCENARIO_WHY_BYTES] = "";
    bool complete = bench->backend->ops->end(bench->backend, why, sizeof(why));

    snapshot_free(&bench->snapshot);
    free(bench);
    if (!complete)
        print_error("%s\n", why);
    return complete ? 0 : -1;
}

/* --- operations --- */

struct scenario_operation bench_on(enum scenario_verb verb, uint16_t task, uint16_t region,
                                   uint64_t offset, uint64_t bytes)
{
    struct scenario_operation operation = scenario_operation_blank(verb);

    operation.task = task;
    operation.address =
        (struct scenario_address){.base = BASE_REGION, .region = region, .offset_bytes = offset};
    operation.bytes = bytes;
    return operation;
}

struct scenario_operation bench_at(enum scenario_verb verb, uint16_t task, va_t va, uint64_t bytes)
{
    struct scenario_operation operation = bench_on(verb, task, 0, va, bytes);

    operation.address.base = BASE_ABSOLUTE;
    return operation;
}

struct scenario_operation bench_task(enum scenario_verb verb, uint16_t task, uint16_t other)
{
    struct scenario_operation operation = scenario_operation_blank(verb);

    operation.task = task;
    operation.other = other;
    return operation;
}

struct scenario_operation bench_file(enum scenario_verb verb, uint16_t file, uint64_t offset,
                                     uint64_t bytes)
{
    struct scenario_operation operation = scenario_operation_blank(verb);

    operation.file = file;
    operation.offset_bytes = offset;
    operation.bytes = bytes;
    return operation;
}

struct scenario_operation bench_map(uint16_t task, uint16_t region, uint64_t bytes,
                                    uint32_t protection, uint32_t flags)
{
    struct scenario_operation operation = scenario_operation_blank(VERB_MMAP);

    operation.task = task;
    operation.region = region;
    operation.bytes = bytes;
    operation.protection = protection;
    operation.flags = flags;
    return operation;
}

struct scenario_operation bench_write(uint16_t task, uint16_t region, uint64_t offset,
                                      const char *text)
{
    struct scenario_operation operation = bench_on(VERB_WRITE, task, region, offset, 0);

    operation.data = (struct scenario_data){
        .kind = DATA_BYTES, .bytes = strlen(text), .content = (const uint8_t *)text};
    return operation;
}

/* --- outcomes --- */

static void perform(struct bench *bench, const struct scenario_operation *operation,
                    enum outcome_kind kind)
{
    const struct scenario_outcome *outcome = &bench->outcome;

    bench->backend->ops->perform(bench->backend, operation, &bench->outcome);
    if (outcome->kind != kind)
        fail_msg("%s: %s expected, %s came: errno %d, signal %d code %d, value %llu, %s",
                 verb_descriptions[operation->verb].word, kinds[kind], kinds[outcome->kind],
                 outcome->error, outcome->signal, outcome->code, (unsigned long long)outcome->value,
                 outcome->why);
}

uint64_t bench_ok(struct bench *bench, struct scenario_operation operation)
{
    perform(bench, &operation, OUTCOME_DONE);
    return bench->outcome.value;
}

void bench_value(struct bench *bench, struct scenario_operation operation, uint64_t value)
{
    assert_int_equal(bench_ok(bench, operation), value);
}

void bench_error(struct bench *bench, struct scenario_operation operation, int error)
{
    perform(bench, &operation, OUTCOME_ERROR);
    assert_int_equal(bench->outcome.error, error);
}

void bench_data(struct bench *bench, struct scenario_operation operation, const void *data,
                size_t bytes)
{
    perform(bench, &operation, OUTCOME_DATA);
    assert_int_equal(bench->outcome.data_bytes, bytes);
    assert_memory_equal(bench->outcome.data, data, bytes);
}

void bench_text(struct bench *bench, uint16_t task, uint16_t region, uint64_t offset,
                const char *text)
{
    bench_data(bench, bench_on(VERB_READ, task, region, offset, strlen(text)), text, strlen(text));
}

void bench_dies(struct bench *bench, struct scenario_operation operation, int signal, int code,
                va_t address)
{
    perform(bench, &operation, OUTCOME_SIGNAL);
    assert_int_equal(bench->outcome.signal, signal);
    assert_int_equal(bench->outcome.code, code);
    assert_int_equal(bench->outcome.address, address);
    assert_false(bench->backend->ops->is_alive(bench->backend, operation.task));
}

void bench_unable(struct bench *bench, struct scenario_operation operation, const char *why)
{
    perform(bench, &operation, OUTCOME_UNABLE);
    if (strstr(bench->outcome.why, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", bench->outcome.why, why);
}

void bench_exited(struct bench *bench, uint16_t task, uint16_t child, uint64_t status)
{
    struct scenario_operation operation = bench_task(VERB_WAIT, task, child);

    perform(bench, &operation, OUTCOME_EXITED);
    assert_int_equal(bench->outcome.value, status);
    assert_int_equal(bench->outcome.child, child);
}

void bench_killed(struct bench *bench, uint16_t task, uint16_t child, int signal)
{
    struct scenario_operation operation = bench_task(VERB_WAIT, task, child);

    perform(bench, &operation, OUTCOME_KILLED);
    assert_int_equal(bench->outcome.signal, signal);
    assert_int_equal(bench->outcome.child, child);
}

void bench_poke(struct bench *bench, uint16_t task, uint16_t region, uint64_t pages, uint8_t byte)
{
    struct scenario_operation operation = bench_on(VERB_POKE, task, region, 0, pages * BENCH_PAGE);

    operation.value = byte;
    bench_ok(bench, operation);
}

void bench_peek(struct bench *bench, uint16_t task, uint16_t region, uint64_t pages, uint8_t byte)
{
    struct scenario_operation operation = bench_on(VERB_PEEK, task, region, 0, pages * BENCH_PAGE);

    perform(bench, &operation, OUTCOME_DATA);
    assert_int_equal(bench->outcome.data_bytes, pages);
    for (uint64_t page = 0; page < pages; page++)
        assert_int_equal(bench->outcome.data[page], byte);
}

/* --- mappings --- */

va_t bench_address(struct bench *bench, uint16_t task, uint16_t region)
{
    const struct scenario_address address = {.base = BASE_REGION, .region = region};
    va_t va = 0;

    assert_true(bench->backend->ops->resolve(bench->backend, task, &address, &va));
    return va;
}

static void take_snapshot(struct bench *bench, uint16_t task)
{
    snapshot_free(&bench->snapshot);
    assert_int_equal(bench->backend->ops->snapshot(bench->backend, task, true, &bench->snapshot),
                     0);
}

const struct scenario_vma *bench_vma(struct bench *bench, uint16_t task, va_t va)
{
    take_snapshot(bench, task);
    for (size_t i = 0; i < bench->snapshot.count; i++) {
        const struct scenario_vma *vma = &bench->snapshot.vmas[i];

        if (va >= vma->start && va < vma->end)
            return vma;
    }
    return NULL;
}

size_t bench_vmas(struct bench *bench, uint16_t task)
{
    take_snapshot(bench, task);
    return bench->snapshot.count;
}
