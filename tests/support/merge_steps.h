/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps that make mappings and change them, as text, and the VMAs that they leave.
 *
 * Steps, made by the parent, or by its child where they begin with C; numbers are pages, the first
 * and how many:
 *
 *   map 2 3 rw [FLAG]   private anonymous memory: noreserve, stack, grows, locked
 *   file 2 3 rw 5       a file, from its page 5 on; share: the same, shared
 *   unmap 2 3; protect 2 3 r; write 2; lock 2 3; unlock 2 3; fork
 *   advise 2 3 ADVICE   wipe, keep, dontfork, dofork, random, normal
 *   move 2 3 7          mremap to page 7; keep: the same, which keeps the source mapped
 *   grow 2 3 5          mremap in place
 *
 * VMAs are drawn as a ruler: a letter a page, a dot where nothing is mapped, then the rights by
 * letter: "..aabb...... a:rw-p b:r--p".
 */
#ifndef FORKLAB_TESTS_SUPPORT_MERGE_STEPS_H
#define FORKLAB_TESTS_SUPPORT_MERGE_STEPS_H

#include "tests/support/trap_fixture.h"

enum { MERGE_RANGE_PAGES = 12 };

struct merge_bench {
    struct trap trap;
    struct task *parent;
    struct task *child;
    struct object *file;
};

void merge_bench_open(struct merge_bench *bench, const struct kernel *kernel, enum mmu_kind mmu);
void merge_bench_close(struct merge_bench *bench);

/* Takes steps, with ";" between them. */
void merge_bench_take(struct merge_bench *bench, const char *steps);

/* The VMAs of a task are these. */
void merge_bench_expect(const struct merge_bench *bench, const struct task *task,
                        const char *expected);

#endif
