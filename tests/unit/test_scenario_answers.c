/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader: statements about the run, answers and where they hold, what is told of lives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/documented.h"
#include "tests/support/scenario_fixture.h"

#include <cmocka.h>

static void test_about_the_run(void **state)
{
    struct scenario scenario;
    struct scenario_operation operation = of_task(VERB_EXPECT, 0);
    struct scenario_answer answer = {.kind = ANSWER_NUMBER, .number = 8192};

    (void)state;
    read_good(&scenario, "expect pss P 4K 16K = 8K\nexpect maps P 0 4K = \"- 4K\"\n"
                         "expect shared-tables P = 0; expect frames = 1\n"
                         "expect faults cow-copy = 1; expect count tables-shared = any\n"
                         "show smaps P; show vmstat\n"
                         "needs linux >= 6.17; needs linux<2.5.41; needs kernel modern, 2.5.41\n"
                         "needs geometry tiny; needs swap \"no device\"; needs host\n");
    operation.quantity = QUANTITY_PSS;
    operation.address = at_number(4096);
    operation.bytes = 16384;
    operation.answer_count = 1;
    operation.answers = &answer;
    assert_operation(&scenario, 1, &operation);
    operation.quantity = QUANTITY_MAPS;
    operation.address = at_number(0);
    operation.bytes = 4096;
    answer = (struct scenario_answer){
        .kind = ANSWER_DATA,
        .data = {.kind = DATA_BYTES, .bytes = 4, .content = (const uint8_t *)"- 4K"}};
    assert_operation(&scenario, 2, &operation);
    operation = of_task(VERB_EXPECT, SCENARIO_NOBODY);
    operation.quantity = QUANTITY_EVENT;
    operation.text = "tables-shared";
    operation.answer_count = 1;
    answer = (struct scenario_answer){.kind = ANSWER_ANY};
    operation.answers = &answer;
    assert_operation(&scenario, 6, &operation);
    operation = of_task(VERB_SHOW, 0);
    operation.show = SHOW_SMAPS;
    assert_operation(&scenario, 7, &operation);
    operation = scenario_operation_blank(VERB_NEEDS);
    operation.need = NEED_LINUX_BEFORE;
    operation.value = 2005041;
    operation.answer_count = 1;
    answer.selector_count = 1;
    answer.selectors[0] =
        (struct scenario_selector){.kind = SELECT_LINUX_BEFORE, .version = 2005041};
    operation.answers = &answer;
    assert_operation(&scenario, 10, &operation);
    operation.need = NEED_KERNEL;
    operation.value = 0;
    answer.selector_count = 2;
    answer.selectors[0] = (struct scenario_selector){.kind = SELECT_KERNEL, .kernel = "modern"};
    answer.selectors[1] = (struct scenario_selector){.kind = SELECT_KERNEL, .kernel = "2.5.41"};
    assert_operation(&scenario, 11, &operation);
    operation = scenario_operation_blank(VERB_NEEDS);
    operation.need = NEED_FEATURE;
    operation.text = "swap";
    operation.data = (struct scenario_data){
        .kind = DATA_BYTES, .bytes = 9, .content = (const uint8_t *)"no device"};
    assert_operation(&scenario, 13, &operation);
    scenario_free(&scenario);
}

static void test_alternatives(void **state)
{
    struct scenario scenario;
    struct scenario_operation operation = of_task(VERB_PEEK, 0);
    struct scenario_answer answers[3] = {
        {.kind = ANSWER_NUMBER,
         .number = 1,
         .has_faults = true,
         .faults = 2,
         .selector_count = 2,
         .selectors = {{.kind = SELECT_HOST}, {.kind = SELECT_LINUX_FROM, .version = 6017000}}},
        {.kind = ANSWER_SIGNAL,
         .signal = ABI_SIGSEGV,
         .selector_count = 1,
         .selectors = {{.kind = SELECT_KERNEL, .kernel = "2.5.41"}}},
        {.kind = ANSWER_ANY},
    };

    (void)state;
    read_good(&scenario, "P peek 0 4K = 1 faults 2 on host , linux >= 6.17 else SIGSEGV on 2.5.41 "
                         "else any; P exit");
    operation.bytes = 4096;
    operation.answer_count = 3;
    operation.answers = answers;
    assert_operation(&scenario, 1, &operation);
    assert_int_equal(scenario.count, 3);
    scenario_free(&scenario);
}

/* What is uncertain is let pass: the run will tell. */
static void test_lives_are_judged_with_care(void **state)
{
    static const char *const texts[] = {
        "P read 0 1 = SIGSEGV on modern; P read 0 1",
        "P read 0 1 = any; P read 0 1; P fork C = any; C exit",
        "P fork C = ENOMEM on modern else ok; C exit",
        "P fork C fail=1; P fork C; C exit",
        "P fork C; C exit; P wait; P fork C; P kill C; P wait C; P wait C = ECHILD",
        "P fork C; P kill C = ESRCH; C exit",
        "P pin K 0 read = EFAULT; P pin K 0 read; unpin K; P pin K 0 read",
        "file F 1; close F; P mmap 4K r shared F = EBADF; shm F 1",
        "P exit = ok on modern else any; P brk 0",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct scenario scenario;

        read_good(&scenario, texts[i]);
        scenario_free(&scenario);
    }
}

static void test_versions(void **state)
{
    (void)state;
    assert_int_equal(linux_version_parse("6.17"), 6017000);
    assert_int_equal(linux_version_parse("2.5.41"), 2005041);
    assert_int_equal(linux_version_parse("2.5.41-mm2-shared"), 2005041);
    assert_int_equal(linux_version_parse("6.1.0-18-amd64"), 6001000);
    assert_int_equal(linux_version_parse("5.15.167.4-wsl2+"), 5015167);
    assert_int_equal(linux_version_parse("6"), 0);
    assert_int_equal(linux_version_parse("6."), 0);
    assert_int_equal(linux_version_parse("6.1000"), 0);
    assert_int_equal(linux_version_parse(".6"), 0);
    assert_int_equal(linux_version_parse(""), 0);
    assert_int_equal(linux_version_parse("modern"), 0);
}

/* Every block of the documentation is read, and every verb has one. */
static void test_documentation(void **state)
{
    bool is_documented[VERB_COUNT] = {false};
    FILE *document = documented_open();
    char *text;

    (void)state;
    assert_non_null(document);
    while ((text = documented_next(document)) != NULL) {
        struct scenario scenario;

        read_good(&scenario, text);
        for (size_t i = 0; i < scenario.count; i++)
            is_documented[scenario.operations[i].verb] = true;
        scenario_free(&scenario);
        free(text);
    }
    fclose(document);
    for (unsigned verb = 0; verb < VERB_COUNT; verb++) {
        if (!is_documented[verb])
            fail_msg("docs/scenarios.md has no example of %s", verb_descriptions[verb].word);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_about_the_run),
        cmocka_unit_test(test_alternatives),
        cmocka_unit_test(test_lives_are_judged_with_care),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_documentation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
