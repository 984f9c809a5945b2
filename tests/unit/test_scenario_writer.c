/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer: what it writes reads as what was written, for texts by hand, for the documentation's
 * and for random scenarios. A random failure prints its seed; FORKLAB_SEED=N begins with that one.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/writer.h"
#include "tests/support/documented.h"
#include "tests/support/random_scenario.h"
#include "tests/support/scenario_fixture.h"

#include <cmocka.h>

enum { RANDOM_SCENARIOS = 200, RANDOM_OPERATIONS = 150, USUAL_SEED = 1 };

static char *written(const struct scenario *scenario)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    assert_non_null(stream);
    scenario_write(scenario, stream);
    fclose(stream);
    return text;
}

/* Writes, reads back, and compares. The text is the caller's to free. */
static char *assert_survives(const struct scenario *scenario)
{
    char *text = written(scenario);
    struct scenario again;
    size_t at;

    read_good(&again, text);
    const char *difference = scenario_difference(scenario, &again, &at);

    if (difference != NULL)
        fail_msg("operation %zu differs in %s in\n%s", at, difference, text);
    scenario_free(&again);
    return text;
}

/* What is written in the writer's own way stays as it is, to the letter. */
static void test_own_way(void **state)
{
    static const char text[] =
        "task P\n"
        "P mmap A 16K rw private anon\n"
        "file F 8K ro \"first\"\n"
        "P mmap 5000 prot=0x18 shared_validate anon fixed noreplace populate nonblock growsdown "
        "noreserve stack locked flags=0x80000 F offset=0x1000 at=stack-1M = EOPNOTSUPP\n"
        "P mmap B 0 none fd=-1 = 0x400000\n"
        "P mremap C A+4K 4K 8K maymove fixed dontunmap flags=0x8 to=heap-1 fail=3 = C\n"
        "P mremap A 4K 8K\n"
        "P brk 0x0\n"
        "P madvise A 4K dontneed\n"
        "P madvise A 4K 77\n"
        "P msync A 4K async sync invalidate\n"
        "P mincore A 16K into=A+12K = 1001\n"
        "P limit data 1G\n"
        "P write A \"a\\\"\\\\;#\"\n"
        "P write A hex:000a41\n"
        "P write A fill 0x41 4K\n"
        "P write A \"\"\n"
        "P poke A 16K 0xff\n"
        "P peek A 16K = 255 faults 4 on host,linux>=6.17,linux<2.5.41,modern else any\n"
        "P kread A 5 = 3\n"
        "P fork D\n"
        "D exit 3\n"
        "P wait D = exit 3 on modern else signal SIGKILL on host else signal 64 on 2.5.41 else "
        "EINTR\n"
        "P vfork E\n"
        "P kill E\n"
        "P wait\n"
        "P exec\n"
        "P exec F = ENOEXEC\n"
        "P exec \"/a b\\x09\" = ENOENT\n"
        "P pin K heap write\n"
        "pinread K 0 5 = \"abcde\"\n"
        "unpin K\n"
        "show maps P\n"
        "show diff\n"
        "expect pss P A 16K = 8K\n"
        "expect maps P A 16K = \"rw-p 16K\"\n"
        "expect shared-tables P = 1\n"
        "expect frames = 12\n"
        "expect faults cow-copy = 1\n"
        "expect count tables-shared = 2\n"
        "needs linux >= 6.17.3\n"
        "needs linux < 6.17\n"
        "needs kernel modern,2.5.41-mm2\n"
        "needs geometry tiny\n"
        "needs shared-tables\n"
        "needs host\n"
        "needs swap \"no device\"\n"
        "P read stack 1 = SIGSEGV accerr at stack\n";
    struct scenario scenario;

    (void)state;
    read_good(&scenario, text);
    char *again = assert_survives(&scenario);

    assert_string_equal(again, text);
    free(again);
    scenario_free(&scenario);
}

static void test_documentation(void **state)
{
    FILE *document = documented_open();
    unsigned count = 0;
    char *text;

    (void)state;
    assert_non_null(document);
    for (; (text = documented_next(document)) != NULL; count++) {
        struct scenario scenario;

        read_good(&scenario, text);
        free(assert_survives(&scenario));
        scenario_free(&scenario);
        free(text);
    }
    fclose(document);
    assert_true(count >= 5);
}

static void test_random(void **state)
{
    const char *chosen = getenv("FORKLAB_SEED");
    uint64_t first = chosen != NULL ? strtoull(chosen, NULL, 0) : USUAL_SEED;
    bool has_verb[VERB_COUNT] = {false};

    (void)state;
    for (uint64_t seed = first; seed < first + RANDOM_SCENARIOS; seed++) {
        struct scenario scenario;

        assert_int_equal(random_scenario(&scenario, seed, RANDOM_OPERATIONS), 0);
        print_message(seed == first ? "the first seed is %llu\n" : "", (unsigned long long)seed);
        free(assert_survives(&scenario));
        for (size_t i = 0; i < scenario.count; i++)
            has_verb[scenario.operations[i].verb] = true;
        scenario_free(&scenario);
    }
    for (unsigned verb = 0; verb < VERB_COUNT; verb++)
        assert_true(has_verb[verb]);
}

/* --- outcomes --- */

struct outcome_case {
    enum scenario_verb verb;
    struct scenario_outcome outcome;
    const char *text;
};

static void assert_outcome(const struct outcome_case *outcome)
{
    const struct scenario scenario = {0};
    const struct scenario_operation operation = scenario_operation_blank(outcome->verb);
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);

    assert_non_null(stream);
    outcome_write(&scenario, &operation, &outcome->outcome, stream);
    fclose(stream);
    assert_string_equal(text, outcome->text);
    free(text);
}

static void test_outcomes(void **state)
{
    static const uint8_t zeros[20000];
    static uint8_t mixed[20000] = {1};
    const struct outcome_case cases[] = {
        {VERB_MUNMAP, {.kind = OUTCOME_DONE}, "ok"},
        {VERB_MMAP, {.kind = OUTCOME_DONE, .value = 0x400000}, "0x400000"},
        {VERB_BRK, {.kind = OUTCOME_DONE, .value = 0x1000005}, "0x1000005"},
        {VERB_KWRITE, {.kind = OUTCOME_DONE, .value = 5}, "5"},
        {VERB_WRITE, {.kind = OUTCOME_DONE, .faults = 3}, "ok"},
        {VERB_MMAP, {.kind = OUTCOME_ERROR, .error = ENOMEM}, "ENOMEM"},
        {VERB_MMAP, {.kind = OUTCOME_ERROR, .error = 517}, ""},
        {VERB_READ,
         {.kind = OUTCOME_SIGNAL, .signal = ABI_SIGSEGV, .code = ABI_SEGV_MAPERR, .address = 5},
         "SIGSEGV maperr at 0x5"},
        {VERB_READ,
         {.kind = OUTCOME_SIGNAL, .signal = ABI_SIGSEGV, .code = ABI_SI_KERNEL},
         "SIGSEGV kernel"},
        {VERB_READ, {.kind = OUTCOME_SIGNAL, .signal = ABI_SIGKILL}, "SIGKILL"},
        {VERB_READ,
         {.kind = OUTCOME_DATA, .data = (const uint8_t *)"a\"b", .data_bytes = 3},
         "\"a\\\"b\""},
        {VERB_READ, {.kind = OUTCOME_DATA, .data = (const uint8_t *)"", .data_bytes = 0}, "\"\""},
        {VERB_PEEK, {.kind = OUTCOME_DATA, .data = mixed, .data_bytes = 3}, "hex:010000"},
        {VERB_READ, {.kind = OUTCOME_DATA, .data = zeros, .data_bytes = 16}, "fill 0x00 16"},
        {VERB_READ, {.kind = OUTCOME_DATA, .data = zeros, .data_bytes = 20000}, "fill 0x00 20000"},
        {VERB_READ, {.kind = OUTCOME_DATA, .data = mixed, .data_bytes = 20000}, "ok"},
        {VERB_MINCORE, {.kind = OUTCOME_DATA, .data = mixed, .data_bytes = 3}, "100"},
        {VERB_WAIT, {.kind = OUTCOME_EXITED, .value = 3}, "exit 3"},
        {VERB_WAIT, {.kind = OUTCOME_KILLED, .signal = ABI_SIGBUS}, "signal SIGBUS"},
        {VERB_WAIT, {.kind = OUTCOME_KILLED, .signal = 40}, "signal 40"},
        {VERB_MMAP, {.kind = OUTCOME_UNABLE, .why = "no"}, ""},
        {VERB_MMAP, {.kind = OUTCOME_BROKEN, .why = "no"}, ""},
        {VERB_TASK, {.kind = OUTCOME_DONE}, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_outcome(&cases[i]);
}

static void test_words(void **state)
{
    (void)state;
    for (int error = 1; error < 200; error++) {
        const char *word = errno_word(error);

        if (word != NULL)
            assert_int_equal(errno_from_word(word), error);
    }
    assert_string_equal(errno_word(EINVAL), "EINVAL");
    assert_string_equal(errno_word(EOPNOTSUPP), "EOPNOTSUPP");
    assert_int_equal(errno_from_word("ENOTSUP"), EOPNOTSUPP);
    assert_int_equal(errno_from_word("EWOULDBLOCK"), EAGAIN);
    assert_int_equal(errno_from_word("EFOO"), 0);
    assert_int_equal(errno_from_word(""), 0);
    assert_null(errno_word(0));
    assert_null(errno_word(-EINVAL));
    assert_null(errno_word(134));
    for (int signal = 1; signal < 32; signal++) {
        if (signal_word(signal) != NULL)
            assert_int_equal(signal_from_word(signal_word(signal)), signal);
    }
    assert_string_equal(signal_word(ABI_SIGSEGV), "SIGSEGV");
    assert_int_equal(signal_from_word("SEGV"), 0);
    assert_null(signal_word(0));
    assert_null(signal_word(64));
    for (int advice = 0; advice < 200; advice++) {
        if (advice_word(advice) != NULL)
            assert_int_equal(advice_from_word(advice_word(advice)), advice);
    }
    assert_string_equal(advice_word(ABI_MADV_NORMAL), "normal");
    assert_int_equal(advice_from_word("guard_remove"), ABI_MADV_GUARD_REMOVE);
    assert_int_equal(advice_from_word("none"), -1);
    assert_null(advice_word(-1));
    assert_null(advice_word(77));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_way), cmocka_unit_test(test_documentation),
        cmocka_unit_test(test_random),  cmocka_unit_test(test_outcomes),
        cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
