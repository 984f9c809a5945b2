/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The figures of "Fork timing numbers for shared page tables" (Dave McCracken, 10 October 2002). */
#ifndef FORKLAB_DEMO_POST_H
#define FORKLAB_DEMO_POST_H

#include "demo/column.h"

/* The post's milliseconds for this kernel of ours, or 0 if it has no such figure. */
double post_ms(const char *kernel, enum fork_memory memory, enum fork_mode mode,
               uint64_t size_bytes);

#endif
