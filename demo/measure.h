/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The driver of rounds: fills the cells of one memory and one size. */
#ifndef FORKLAB_DEMO_MEASURE_H
#define FORKLAB_DEMO_MEASURE_H

#include "demo/experiment.h"

/* Sets every column up and measures all modes. -errno with one line in `problem`. */
int measure_setup(struct experiment *experiment, size_t memory, size_t size, char *problem,
                  size_t problem_bytes);

#endif
