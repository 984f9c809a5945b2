/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small family: up to three tasks with two pages each in the tiny geometry, one pin, and a model
 * of what each page and the pin should hold. Actions are applied to both; then everything is
 * compared.
 *
 * A task that exits is reaped at once. Every write stores a value that the caller chooses.
 */
#ifndef FORKLAB_TESTS_SMALL_FAMILY_H
#define FORKLAB_TESTS_SMALL_FAMILY_H

#include "pager/pin.h"
#include "tests/support/world.h"

enum { FAMILY_TASKS = 3, FAMILY_PAGES = 2 };

enum family_kind {
    FAMILY_FORK,
    FAMILY_EXIT,
    FAMILY_READ,
    FAMILY_WRITE,
    FAMILY_UNMAP,
    FAMILY_PROTECT,   /* readable */
    FAMILY_UNPROTECT, /* readable and writable */
    FAMILY_DONTNEED,
    FAMILY_LOCK, /* mlock */
    FAMILY_PIN,  /* for reading */
    FAMILY_PIN_WRITE,
    FAMILY_UNPIN,
    FAMILY_KINDS
};

extern const char *const family_kind_names[FAMILY_KINDS];

struct family_action {
    uint8_t kind;
    uint8_t task;
    uint8_t page;
};

/* What a page of a task should hold. */
struct family_page {
    bool mapped;
    bool writable;
    bool locked;
    uint8_t value;
};

struct family {
    struct world world;
    uint32_t frames_before; /* in use when no task but init was there */
    struct kernel kernel;
    struct task *tasks[FAMILY_TASKS];
    struct task *parents[FAMILY_TASKS];
    struct family_page pages[FAMILY_TASKS][FAMILY_PAGES];
    struct pin pin;
    bool pinned;
    int pin_owner; /* whose page it still is, or -1 */
    unsigned pin_page;
    uint8_t pin_value;
};

/* A machine for families, under that kernel, which shares tables from the first entry on. */
void family_open(struct family *family, const char *kernel);
void family_close(struct family *family);

/* The first task, and the end of all: false when a frame is left. */
void family_begin(struct family *family);
bool family_end(struct family *family);

/* Does the action mean anything now? One that changes nothing by definition does not. */
bool family_can(const struct family *family, const struct family_action *action);

/* Does it; what does not work as it must fails the test. */
void family_do(struct family *family, const struct family_action *action, uint8_t value);

/* Does every page of every task, and the pin, hold what it should, and do all invariants hold? */
bool family_is_right(const struct family *family, char *why, size_t why_bytes);

#endif
