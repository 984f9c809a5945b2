/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host backend under test: operations made in one line, and outcomes that are looked at whole.
 *
 * Tasks, regions, files and pins are numbers; the first of each are named here. Every operation's
 * outcome must have been expected, or the test fails with what came instead.
 */
#ifndef FORKLAB_TESTS_HOST_BENCH_H
#define FORKLAB_TESTS_HOST_BENCH_H

#include <setjmp.h>
#include <stdarg.h>

#include "scenario/host.h"

#include <cmocka.h>

enum { P, C, D, E };
enum { A, B, G };
enum { F, F2 };
enum { K };

#define BENCH_PAGE ((uint64_t)4096)
#define BENCH_RW (ABI_PROT_READ | ABI_PROT_WRITE)
#define BENCH_PRIVATE (ABI_MAP_PRIVATE | ABI_MAP_ANONYMOUS)
#define BENCH_SHARED (ABI_MAP_SHARED | ABI_MAP_ANONYMOUS)

/* What a test program's main() does: serves if it is a helper; skips, with the reason, where the
 * host does not allow the backend; else runs the tests. */
int bench_main(int argc, char **argv, const struct CMUnitTest *tests, size_t count);

/* Around each test: a backend with the task P. At the end nothing may be left. */
int bench_setup(void **state);
int bench_teardown(void **state);
#define BENCH_TEST(function) cmocka_unit_test_setup_teardown(function, bench_setup, bench_teardown)

struct bench {
    struct backend *backend;
    struct scenario_outcome outcome; /* the last one */
    struct scenario_snapshot snapshot;
};

/* Operations: on a range of a region, with an offset; on a task; on a file. */
struct scenario_operation bench_on(enum scenario_verb verb, uint16_t task, uint16_t region,
                                   uint64_t offset, uint64_t bytes);
struct scenario_operation bench_at(enum scenario_verb verb, uint16_t task, va_t va, uint64_t bytes);
struct scenario_operation bench_task(enum scenario_verb verb, uint16_t task, uint16_t other);
struct scenario_operation bench_file(enum scenario_verb verb, uint16_t file, uint64_t offset,
                                     uint64_t bytes);
struct scenario_operation bench_map(uint16_t task, uint16_t region, uint64_t bytes,
                                    uint32_t protection, uint32_t flags);
struct scenario_operation bench_write(uint16_t task, uint16_t region, uint64_t offset,
                                      const char *text);

/* Performs it and expects that outcome. */
uint64_t bench_ok(struct bench *bench, struct scenario_operation operation);
void bench_value(struct bench *bench, struct scenario_operation operation, uint64_t value);
void bench_error(struct bench *bench, struct scenario_operation operation, int error);
void bench_data(struct bench *bench, struct scenario_operation operation, const void *data,
                size_t bytes);
void bench_text(struct bench *bench, uint16_t task, uint16_t region, uint64_t offset,
                const char *text);
void bench_dies(struct bench *bench, struct scenario_operation operation, int signal, int code,
                va_t address);
void bench_unable(struct bench *bench, struct scenario_operation operation, const char *why);
void bench_exited(struct bench *bench, uint16_t task, uint16_t child, uint64_t status);
void bench_killed(struct bench *bench, uint16_t task, uint16_t child, int signal);

/* One byte into, or expected in, each page of the region's first ones. */
void bench_poke(struct bench *bench, uint16_t task, uint16_t region, uint64_t pages, uint8_t byte);
void bench_peek(struct bench *bench, uint16_t task, uint16_t region, uint64_t pages, uint8_t byte);

/* Where a region of the task is. */
va_t bench_address(struct bench *bench, uint16_t task, uint16_t region);

/* The mapping of the task that has the address; NULL: none. Until the next call. */
const struct scenario_vma *bench_vma(struct bench *bench, uint16_t task, va_t va);

/* How many mappings the task has. */
size_t bench_vmas(struct bench *bench, uint16_t task);

#endif
