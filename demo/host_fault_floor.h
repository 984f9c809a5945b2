/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The floors of `forklab fault`: what each case costs with no emulator behind it. */
#ifndef FORKLAB_DEMO_HOST_FAULT_FLOOR_H
#define FORKLAB_DEMO_HOST_FAULT_FLOOR_H

#include "demo/fault_case.h"

struct fault_floor;

/* -errno with one line in `problem`. */
int fault_floor_create(struct fault_floor **floor, char *problem, size_t problem_bytes);
void fault_floor_destroy(struct fault_floor *floor);

/* One sample: of one fault, or of one page of a walk. */
int fault_floor_sample(struct fault_floor *floor, enum fault_case which, double *total_ns);

#endif
