/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine with one task, for calls on its mappings: the kernel asked for, x86-64, one MMU. */
#ifndef FORKLAB_TESTS_MAP_BENCH_H
#define FORKLAB_TESTS_MAP_BENCH_H

#include "tests/support/trap_fixture.h"

struct map_bench {
    struct trap trap;
    struct task *task;
    va_t base; /* where mappings are made, page by page */
};

void map_bench_begin(struct map_bench *bench, const char *kernel, enum mmu_kind mmu);
void map_bench_end(struct map_bench *bench);

/* The address of a page, counted from the base. */
va_t map_bench_at(const struct map_bench *bench, unsigned page);

/* Every invariant holds, and the mappings of so many pages from the base on are these (ruler.h). */
void map_bench_ruler(struct map_bench *bench, unsigned pages, const char *expected);

#endif
