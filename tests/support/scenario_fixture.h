/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of scenarios as text share. */
#ifndef FORKLAB_TESTS_SUPPORT_SCENARIO_FIXTURE_H
#define FORKLAB_TESTS_SUPPORT_SCENARIO_FIXTURE_H

#include "scenario/reader.h"
#include "tests/support/same_scenario.h"

/* Reads a text that must be right. */
void read_good(struct scenario *scenario, const char *text);

/* The operation at a position is this one; names have the numbers in which the text gives them. */
void assert_operation(const struct scenario *scenario, size_t at,
                      const struct scenario_operation *expected);

struct scenario_address at_region(uint16_t region, uint64_t offset_bytes);
struct scenario_address at_number(uint64_t offset_bytes);

/* A blank operation of that task. */
struct scenario_operation of_task(enum scenario_verb verb, uint16_t task);

#endif
