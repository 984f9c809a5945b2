/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts read, operations compared. */
#include "tests/support/scenario_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

void read_good(struct scenario *scenario, const char *text)
{
    char problem[SCENARIO_PROBLEM_BYTES];
    int error = scenario_read_text(scenario, "good", text, strlen(text), problem, sizeof(problem));

    if (error != 0)
        fail_msg("\"%s\": %s", text, problem);
    assert_string_equal(problem, "");
}

void assert_operation(const struct scenario *scenario, size_t at,
                      const struct scenario_operation *expected)
{
    struct scenario made = *scenario;
    struct scenario_operation operation = *expected;
    const char *difference;
    size_t place;

    assert_true(at < scenario->count);
    made.operations = &operation;
    made.count = 1;
    struct scenario read = *scenario;

    read.operations = &scenario->operations[at];
    read.count = 1;
    difference = scenario_difference(&read, &made, &place);
    if (difference != NULL)
        fail_msg("operation %zu differs in %s", at, difference);
}

struct scenario_address at_region(uint16_t region, uint64_t offset_bytes)
{
    return (struct scenario_address){
        .base = BASE_REGION, .region = region, .offset_bytes = offset_bytes};
}

struct scenario_address at_number(uint64_t offset_bytes)
{
    return (struct scenario_address){.base = BASE_ABSOLUTE, .offset_bytes = offset_bytes};
}

struct scenario_operation of_task(enum scenario_verb verb, uint16_t task)
{
    struct scenario_operation operation = scenario_operation_blank(verb);

    operation.task = task;
    return operation;
}
