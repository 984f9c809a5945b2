/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random operations of families of tasks, against a flat model of bytes: every kernel, both MMUs,
 * every geometry, with much room for mappings of the host and with next to none. Everything is
 * compared and every invariant looked at after every operation.
 *
 * Random scenarios (`forklab fuzz`) know far more calls, and are asked of the real kernel, too.
 * These operations are here for what a scenario cannot say: user mode of one task within that of
 * another, accesses that the child makes while its parent stands in fork, views, loads and stores
 * of one width across pages, windows taken from tasks that nobody runs, budgets of mappings so tiny
 * that something is evicted all the time, and tables shared from the first entry on.
 *
 *   FORKLAB_SEED        the first seed, instead of the fixed ones
 *   FORKLAB_OPERATIONS  operations in a stream
 *   FORKLAB_STREAMS     streams for each set-up
 *   FORKLAB_TRACE       prints each operation before it is made: for what ends in a crash
 *
 * A stream that fails is shortened, by leaving out what the failure does not need, and printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/operation_make.h"

#define MIB ((uint64_t)1 << 20)

enum { USUAL_SEED = 1, USUAL_OPERATIONS = 260, USUAL_STREAMS = 2, TINY_BUDGET = 40 };

/* What a stream runs on. */
struct setup {
    struct machine_options options;
    struct operation_mix mix;
};

struct stream {
    uint64_t seed;
    struct operation *operations;
    size_t count;
};

static struct trial trial; /* too large for a stack */

static uint64_t number_from(const char *variable, uint64_t usual)
{
    const char *text = getenv(variable);

    return text != NULL ? strtoull(text, NULL, 0) : usual;
}

static void print_operation(const char *before, const struct operation *operation)
{
    char text[OPERATION_TEXT_BYTES];

    operation_format(text, sizeof(text), operation);
    print_error("%s%s\n", before, text);
}

/* --- running and shortening --- */

static bool apply(const struct operation *operation)
{
    if (getenv("FORKLAB_TRACE") != NULL)
        print_operation("> ", operation);
    return trial_apply(&trial, operation);
}

/* Makes the stream as it goes. False: it failed at its last operation. */
static bool make_stream(const struct setup *setup, struct stream *stream, size_t count)
{
    struct random random = random_seeded(stream->seed);
    bool agrees = true;

    stream->operations = malloc(count * sizeof(*stream->operations));
    assert_non_null(stream->operations);
    trial_begin(&trial, &setup->options, getenv("TINY"));
    for (stream->count = 0; agrees && stream->count < count;) {
        struct operation *operation = &stream->operations[stream->count++];

        *operation = operation_make(&random, &trial, &setup->mix);
        agrees = apply(operation);
    }
    return trial_end(&trial) && agrees;
}

/* Applies a stream that exists, without the operations marked; tells how far it came. */
static bool run_stream(const struct setup *setup, const struct stream *stream, const bool *left_out,
                       size_t *reached)
{
    bool agrees = true;

    trial_begin(&trial, &setup->options, getenv("TINY"));
    for (size_t i = 0; agrees && i < stream->count; i++) {
        if (left_out != NULL && left_out[i])
            continue;
        agrees = apply(&stream->operations[i]);
        *reached = i + 1;
    }
    return trial_end(&trial) && agrees;
}

/* Tries to do without some operations in a row; true when it fails all the same. */
static bool leave_out(const struct setup *setup, struct stream *stream, bool *left_out,
                      size_t first, size_t count)
{
    bool *tried = malloc(stream->count * sizeof(*tried));
    size_t reached = 0;

    assert_non_null(tried);
    memcpy(tried, left_out, stream->count * sizeof(*tried));
    for (size_t i = first; i < first + count && i < stream->count; i++)
        tried[i] = true;
    bool fails = !run_stream(setup, stream, tried, &reached);

    if (fails) {
        memcpy(left_out, tried, stream->count * sizeof(*tried));
        stream->count = reached;
    }
    free(tried);
    return fails;
}

static void shorten(const struct setup *setup, struct stream *stream, bool *left_out)
{
    for (size_t part = stream->count / 2; part > 0; part /= 2) {
        for (size_t first = 0; first < stream->count; first += part)
            (void)leave_out(setup, stream, left_out, first, part);
    }
    for (size_t first = 0; first < stream->count; first++)
        (void)leave_out(setup, stream, left_out, first, 1);
}

static void print_setup(const struct setup *setup, uint64_t seed)
{
    const struct machine_options *options = &setup->options;

    print_error("kernel %s (sharing from %u entries on), mmu %s, geometry %s, map-ahead %u, "
                "mapping budget %u, windows %u, seed %llu\n",
                options->kernel->name, options->kernel->least_shared_entries,
                mmu_names[options->mmu], options->geometry->name, options->map_ahead_pages,
                (unsigned)options->host.mapping_budget, (unsigned)options->host.most_windows,
                (unsigned long long)seed);
}

/* Shows a failing stream in its shortest form, and fails the test. */
static _Noreturn void report(const struct setup *setup, struct stream *stream)
{
    bool *left_out = calloc(stream->count, sizeof(*left_out));
    size_t reached;

    print_setup(setup, stream->seed);
    print_error("failed after %zu operations: %s\n", stream->count, trial.why);
    assert_non_null(left_out);
    if (run_stream(setup, stream, NULL, &reached))
        fail_msg("the same operations do not fail again");
    shorten(setup, stream, left_out);
    (void)run_stream(setup, stream, left_out, &reached);
    for (size_t i = 0; i < stream->count; i++) {
        if (!left_out[i])
            print_operation("  ", &stream->operations[i]);
    }
    fail_msg("%s", trial.why);
    abort();
}

static void run_setup(const struct setup *setup)
{
    uint64_t first = number_from("FORKLAB_SEED", USUAL_SEED);
    size_t count = (size_t)number_from("FORKLAB_OPERATIONS", USUAL_OPERATIONS);
    uint64_t streams = number_from("FORKLAB_STREAMS", USUAL_STREAMS);

    for (uint64_t i = 0; i < streams; i++) {
        struct stream stream = {.seed = first + i};

        if (!make_stream(setup, &stream, count))
            report(setup, &stream);
        free(stream.operations);
    }
}

/* --- what they run on --- */

static uint64_t ram_for(const struct geometry *geometry)
{
    return geometry == &geometry_tiny ? 8 * MIB : 48 * MIB;
}

static void run_on_mmus(const struct kernel *kernel, const struct geometry *geometry)
{
    struct setup setup = {
        .options = {.kernel = kernel, .geometry = geometry, .ram_bytes = ram_for(geometry)},
        .mix = {.refuses_memory = true}};

    for (enum mmu_kind mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
        setup.options.mmu = mmu;
        run_setup(&setup);
    }
    setup.options.mmu = MMU_HOST;
    setup.options.map_ahead_pages = 1;
    setup.options.host.mapping_budget = TINY_BUDGET;
    run_setup(&setup);
    setup.options.map_ahead_pages = 16;
    setup.options.host.most_windows = 2;
    run_setup(&setup);
}

/* A kernel as it stands in the table; one that shares, sharing from the first entry on, too. */
static void run_kernel(size_t number)
{
    struct kernel eager = kernels[number];

    eager.least_shared_entries = 1;
    for (size_t i = 0; geometries[i] != NULL; i++) {
        print_message("  %s\n", geometries[i]->name);
        run_on_mmus(&kernels[number], geometries[i]);
        if (kernels[number].sharing != SHARING_NONE)
            run_on_mmus(&eager, geometries[i]);
    }
}

static void test_kernel(void **state)
{
    size_t number = *(const size_t *)*state;

    run_kernel(number);
}

/* --- the same stream everywhere --- */

/* The digest of a stream on one kernel and MMU. */
static uint64_t digest_on(const struct setup *setup, struct stream *stream)
{
    size_t reached;

    if (!run_stream(setup, stream, NULL, &reached))
        report(setup, stream);
    return trial.digest;
}

static void compare_everywhere(const struct stream *stream, struct setup *setup, uint64_t expected)
{
    for (size_t i = 0; i < kernel_count; i++) {
        for (enum mmu_kind mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
            struct stream same = *stream;

            setup->options.kernel = &kernels[i];
            setup->options.mmu = mmu;
            if (digest_on(setup, &same) == expected)
                continue;
            print_setup(setup, stream->seed);
            fail_msg("what user code sees differs from the first kernel's on the soft MMU");
        }
    }
}

static void test_all_kernels_agree(void **state)
{
    (void)state;
    for (size_t i = 0; geometries[i] != NULL; i++) {
        struct setup setup = {.options = {.kernel = &kernels[0],
                                          .mmu = MMU_SOFT,
                                          .geometry = geometries[i],
                                          .ram_bytes = ram_for(geometries[i])},
                              .mix = {.portable = true}};
        struct stream stream = {.seed = number_from("FORKLAB_SEED", USUAL_SEED) + 1000};
        size_t count = (size_t)number_from("FORKLAB_OPERATIONS", USUAL_OPERATIONS);

        if (!make_stream(&setup, &stream, count))
            report(&setup, &stream);
        compare_everywhere(&stream, &setup, trial.digest);
        free(stream.operations);
    }
}

int main(void)
{
    enum { MOST_KERNELS = 32 };
    struct CMUnitTest tests[MOST_KERNELS];
    size_t numbers[MOST_KERNELS];
    size_t count = 0;

    for (size_t i = 0; i < kernel_count && count < MOST_KERNELS - 1; i++, count++) {
        numbers[i] = i;
        tests[count] = (struct CMUnitTest){
            .name = kernels[i].name, .test_func = test_kernel, .initial_state = &numbers[i]};
    }
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_all_kernels_agree);
    return _cmocka_run_group_tests("random operations", tests, count, NULL, NULL);
}
