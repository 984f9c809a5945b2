/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random scenarios: the same for a seed, good as files, and with all that a fuzzer is for:
 * every verb, deep families, wrong arguments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scenario/emulated.h"
#include "scenario/fuzz.h"
#include "scenario/reader.h"
#include "scenario/run.h"
#include "scenario/writer.h"

enum { EPISODES = 40, OPERATIONS = 300 };

static const struct fuzz_mix mixes[] = {
    {.operations = OPERATIONS},
    {.operations = OPERATIONS, .for_host = true},
    {.operations = OPERATIONS, .low_memory = true, .tasks = 3},
};

static void make(struct scenario *scenario, uint64_t seed, const struct fuzz_mix *mix)
{
    assert_int_equal(fuzz_make(scenario, seed, mix), 0);
}

/* The scenario as text: the caller's to free. */
static char *text_of(const struct scenario *scenario)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    assert_non_null(stream);
    scenario_write(scenario, stream);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static char *made_text(uint64_t seed, const struct fuzz_mix *mix)
{
    struct scenario scenario;

    make(&scenario, seed, mix);
    char *text = text_of(&scenario);

    scenario_free(&scenario);
    return text;
}

static void test_same_for_a_seed(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++) {
        char *one = made_text(7, &mixes[i]);
        char *again = made_text(7, &mixes[i]);
        char *other = made_text(8, &mixes[i]);

        assert_string_equal(one, again);
        assert_string_not_equal(one, other);
        free(one);
        free(again);
        free(other);
    }
}

/* The episode with the model's answers, as text: the caller's to free. */
static char *answered_text(const struct scenario *scenario)
{
    struct fuzz_options options = {.against = AGAINST_MODEL, .machine = {.mmu = MMU_SOFT}};
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    assert_non_null(stream);
    fuzz_write(&options, scenario, stream);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void failed(void *context, const struct scenario_operation *operation, const char *what)
{
    fail_msg("seed %llu, line %u: %s", *(unsigned long long *)context, operation->line, what);
}

static void run_text(const char *text, const char *kernel, unsigned long long seed)
{
    struct machine_options options = {
        .kernel = kernel_find(kernel), .mmu = MMU_SOFT, .ram_bytes = 64 << 20};
    struct scenario_report report = {.failed = failed, .context = &seed, .checks = true};
    char problem[SCENARIO_PROBLEM_BYTES] = "";
    struct backend *backend = NULL;
    struct scenario_result result;
    struct scenario read;

    if (scenario_read_text(&read, "made", text, strlen(text), problem, sizeof(problem)) != 0)
        fail_msg("seed %llu: %s", seed, problem);
    assert_int_equal(emulated_create(&backend, &options, problem, sizeof(problem)), 0);
    scenario_run(&read, backend, &report, &result);
    if (result.end != SCENARIO_HELD)
        fail_msg("seed %llu on %s: %s", seed, kernel, result.why);
    assert_true(backend->ops->end(backend, problem, sizeof(problem)));
    scenario_free(&read);
}

/* What is written with its answers is a file that `forklab run` reads, and every answer holds. */
static void test_written_answers_hold(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= EPISODES; seed++) {
        struct scenario scenario;

        make(&scenario, seed, &mixes[0]);
        char *text = answered_text(&scenario);

        run_text(text, "modern", seed);
        run_text(text, "modern-shared", seed);
        free(text);
        scenario_free(&scenario);
    }
}

/* An `expect` is written with what the oracle has of it, too. */
static void test_written_quantities(void **state)
{
    static const char text[] = "P mmap A 8K rw private anon at=0x10000000 fixed\n"
                               "P mprotect A 4K r\n"
                               "expect maps P 0x10000000 12K = any\n"
                               "expect vmas P 0x10000000 12K = any\n";
    static const char end[] = "expect maps P 0x10000000 12K = \"r--p 4K, rw-p 4K, - 4K\"\n"
                              "expect vmas P 0x10000000 12K = 2\n";
    char problem[SCENARIO_PROBLEM_BYTES] = "";
    struct scenario scenario;

    (void)state;
    if (scenario_read_text(&scenario, "t", text, strlen(text), problem, sizeof(problem)) != 0)
        fail_msg("%s", problem);
    for (size_t i = 0; i < scenario.count; i++)
        scenario.operations[i].answer_count = 0;
    char *written = answered_text(&scenario);

    assert_true(strlen(written) > strlen(end));
    assert_string_equal(written + strlen(written) - strlen(end), end);
    free(written);
    scenario_free(&scenario);
}

static void test_every_verb(void **state)
{
    unsigned counts[VERB_COUNT] = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= EPISODES; seed++) {
        struct scenario scenario;

        make(&scenario, seed, &mixes[0]);
        for (size_t i = 0; i < scenario.count; i++)
            counts[scenario.operations[i].verb]++;
        scenario_free(&scenario);
    }
    for (unsigned verb = 0; verb < VERB_COUNT; verb++) {
        if (verb != VERB_NEEDS && verb != VERB_EXPECT && verb != VERB_SHOW && counts[verb] == 0)
            fail_msg("never: %s", verb_descriptions[verb].word);
    }
}

/* The deepest chain of forks of a scenario. */
static unsigned fork_depth(const struct scenario *scenario)
{
    unsigned depths[SCENARIO_MOST_TASKS] = {0};
    unsigned deepest = 0;

    for (size_t i = 0; i < scenario->count; i++) {
        const struct scenario_operation *operation = &scenario->operations[i];

        if (operation->verb != VERB_FORK && operation->verb != VERB_VFORK)
            continue;
        depths[operation->other] = depths[operation->task] + 1;
        if (depths[operation->other] > deepest)
            deepest = depths[operation->other];
    }
    return deepest;
}

static void test_deep_families(void **state)
{
    unsigned deep = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= EPISODES; seed++) {
        struct scenario scenario;

        make(&scenario, seed, &mixes[0]);
        deep += fork_depth(&scenario) >= 3;
        scenario_free(&scenario);
    }
    assert_true(deep > EPISODES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_for_a_seed),    cmocka_unit_test(test_written_answers_hold),
        cmocka_unit_test(test_written_quantities), cmocka_unit_test(test_every_verb),
        cmocka_unit_test(test_deep_families),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
