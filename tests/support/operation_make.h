/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random operations: the next one of a stream, chosen with an eye on the model, so that most mean
 * something. A stream once made is data and can be applied anywhere.
 *
 * Addresses crowd around the bounds of spans, and ranges are a few pages, or enough for a table to
 * be worth sharing, or whole spans.
 */
#ifndef FORKLAB_TESTS_OPERATION_MAKE_H
#define FORKLAB_TESTS_OPERATION_MAKE_H

#include "tests/support/trial.h"

struct operation_mix {
    bool portable;       /* means the same whatever address a kernel chooses */
    bool refuses_memory; /* now and then a request for memory fails */
};

struct operation operation_make(struct random *random, const struct trial *trial,
                                const struct operation_mix *mix);

#endif
