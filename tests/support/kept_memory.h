/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a task has mapped and what is in it, kept to be compared with what it has after an operation
 * that failed.
 */
#ifndef FORKLAB_TESTS_KEPT_MEMORY_H
#define FORKLAB_TESTS_KEPT_MEMORY_H

#include "tests/support/world.h"

struct kept_page {
    va_t va;
    uint8_t bytes[PAGE_BYTES];
};

struct kept_vma {
    va_t start;
    va_t end;
    uint32_t flags;
};

/* The mappings of a task, and every page that is there. */
struct memory {
    size_t vma_count;
    size_t page_count;
    struct kept_vma vmas[32];
    struct kept_page pages[160];
};

/* Everything of the task now; freed by the caller. */
struct memory *memory_of(const struct task *task);

/* More pages may be there now, but none that was is gone or differs, and neither is a mapping. */
void assert_memory_is_kept(const struct memory *before, const struct task *task);

#endif
