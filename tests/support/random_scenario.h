/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random scenarios that say everything the language can say, and mean nothing: for the writer and
 * the reader, not for a kernel. The same for a seed on every machine.
 */
#ifndef FORKLAB_TESTS_SUPPORT_RANDOM_SCENARIO_H
#define FORKLAB_TESTS_SUPPORT_RANDOM_SCENARIO_H

#include "scenario/operation.h"

/* -ENOMEM. */
int random_scenario(struct scenario *scenario, uint64_t seed, size_t operations);

#endif
