/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shortening of scenarios that fail: what is left is little, fails still, and is a file that
 * the reader takes. No task is left without the fork that made it.
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
#include "scenario/writer.h"

/* What is looked for: that somebody does this, and it works. */
struct wanted {
    enum scenario_verb verb;
    bool by_child; /* by a task that is not the first */
    uint64_t least_bytes;
    unsigned tries; /* counted */
};

static bool is_wanted(const struct wanted *wanted, const struct scenario_operation *operation)
{
    return operation->verb == wanted->verb && (!wanted->by_child || operation->task != 0) &&
           operation->bytes >= wanted->least_bytes;
}

static bool happens(void *context, const struct scenario *scenario)
{
    struct wanted *wanted = context;
    struct machine_options options = {
        .kernel = kernel_find("modern-shared"), .mmu = MMU_SOFT, .ram_bytes = 1 << 22};
    char why[SCENARIO_WHY_BYTES];
    struct backend *backend;
    struct scenario_outcome outcome;
    bool found = false;

    wanted->tries++;
    assert_int_equal(emulated_create(&backend, &options, why, sizeof(why)), 0);
    for (size_t i = 0; i < scenario->count; i++) {
        backend->ops->perform(backend, &scenario->operations[i], &outcome);
        found |= is_wanted(wanted, &scenario->operations[i]) && outcome.kind == OUTCOME_DONE;
    }
    assert_true(backend->ops->end(backend, why, sizeof(why)));
    return found;
}

static void read_text(struct scenario *scenario, const char *text)
{
    char problem[SCENARIO_PROBLEM_BYTES];

    if (scenario_read_text(scenario, "t", text, strlen(text), problem, sizeof(problem)) != 0)
        fail_msg("%s", problem);
}

static char *written(const struct scenario *scenario)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    assert_non_null(stream);
    scenario_write(scenario, stream);
    assert_int_equal(fclose(stream), 0);
    return text;
}

/* `long_text`, shortened as far as the wanted still happens, is `expected`; and that is a file. */
static void assert_shrinks(const char *long_text, struct wanted wanted, const char *expected)
{
    struct scenario scenario;
    struct scenario again;

    read_text(&scenario, long_text);
    fuzz_shrink(&scenario, happens, &wanted);
    char *text = written(&scenario);

    assert_string_equal(text, expected);
    read_text(&again, text);
    assert_true(happens(&wanted, &again));
    scenario_free(&again);
    scenario_free(&scenario);
    free(text);
}

static const char family[] = "P mmap A 64K rw private anon\n"
                             "P mmap B 16K r shared anon populate\n"
                             "P poke A 64K 3\n"
                             "P fork C\n"
                             "P munmap B 8K\n"
                             "C fork D\n"
                             "C mprotect A+16K 8K r\n"
                             "D write A+8201 \"hello\"\n"
                             "D exit 7\n"
                             "C wait D\n"
                             "P kill C\n"
                             "P wait\n";

static void test_a_child_keeps_its_fork(void **state)
{
    (void)state;
    assert_shrinks(family, (struct wanted){.verb = VERB_WRITE, .by_child = true},
                   "task T0\n"
                   "T0 mmap A0 4K rw private anon\n"
                   "T0 fork T1\n"
                   "T1 write A0 \"h\"\n");
}

static void test_a_parent_does_it_itself(void **state)
{
    (void)state;
    assert_shrinks(family, (struct wanted){.verb = VERB_WRITE},
                   "task T0\n"
                   "T0 mmap A0 4K rw private anon\n"
                   "T0 write A0 \"h\"\n");
}

/* Who is killed has to have been made. */
static void test_the_killed_keeps_its_fork(void **state)
{
    (void)state;
    assert_shrinks(family, (struct wanted){.verb = VERB_KILL},
                   "task T0\n"
                   "T0 fork T1\n"
                   "T0 kill T1\n");
}

static void test_who_borrowed_keeps_its_vfork(void **state)
{
    (void)state;
    assert_shrinks("P mmap A 8K rw private anon\n"
                   "P vfork C\n"
                   "C write A \"both\"\n"
                   "C fork D\n"
                   "D munmap A 4K\n"
                   "C exit 3\n"
                   "P wait C\n",
                   (struct wanted){.verb = VERB_FORK, .by_child = true},
                   "task T0\n"
                   "T0 vfork T1\n"
                   "T1 fork T2\n");
}

/* A size of millions of pages that half of does not do is not tried page by page. */
static void test_a_huge_size_ends(void **state)
{
    struct wanted wanted = {.verb = VERB_MUNMAP, .least_bytes = (uint64_t)60 << 30};
    struct scenario scenario;

    (void)state;
    read_text(&scenario, "P munmap 0x10000 100G\n");
    fuzz_shrink(&scenario, happens, &wanted);
    assert_true(wanted.tries < 1000);
    uint64_t bytes = scenario.operations[scenario.count - 1].bytes;

    assert_true(bytes >= wanted.least_bytes && bytes - bytes / 16 <= wanted.least_bytes);
    scenario_free(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_child_keeps_its_fork),
        cmocka_unit_test(test_a_parent_does_it_itself),
        cmocka_unit_test(test_the_killed_keeps_its_fork),
        cmocka_unit_test(test_who_borrowed_keeps_its_vfork),
        cmocka_unit_test(test_a_huge_size_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
