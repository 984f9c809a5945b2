/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Are two scenarios the same? Numbers of names and places in a file may differ; what is said, not.
 */
#ifndef FORKLAB_TESTS_SUPPORT_SAME_SCENARIO_H
#define FORKLAB_TESTS_SUPPORT_SAME_SCENARIO_H

#include "scenario/operation.h"

/* NULL when they are the same; else what differs first, and `*at` is the operation's position. */
const char *scenario_difference(const struct scenario *one, const struct scenario *other,
                                size_t *at);

#endif
