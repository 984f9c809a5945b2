/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations of tasks on memory, as data: made from a seed, applied to an emulated kernel and to
 * the model at once, left out one by one when a failing stream is shrunk, and printed.
 *
 * An operation names tasks, pins and places by number, and addresses by region, so that it means
 * the same on every kernel and MMU, and something still when those before it are left out. One that
 * means nothing (the task is not there) is passed over.
 *
 *   area    a few spans at fixed addresses; the heap begins in it
 *   stack   counted downwards from the end of the address space
 *   place   a mapping whose address the kernel chose; a task has a few
 */
#ifndef FORKLAB_TESTS_OPERATION_H
#define FORKLAB_TESTS_OPERATION_H

#include "pt/random.h"
#include "pt/types.h"

enum operation_kind {
    OPERATION_CREATE, /* a task without anything */
    OPERATION_FORK,   /* with steps: the child makes them while its parent is in user mode */
    OPERATION_ACCESS, /* the steps; within another task's user mode if `other` names one */
    OPERATION_MAP,
    OPERATION_UNMAP,
    OPERATION_PROTECT,
    OPERATION_BRK,
    OPERATION_COPYIN,
    OPERATION_COPYOUT,
    OPERATION_PIN,
    OPERATION_PIN_READ,
    OPERATION_PIN_WRITE,
    OPERATION_UNPIN,
    OPERATION_EXEC,
    OPERATION_EXIT,
    OPERATION_KILL,
    OPERATION_WAIT,
    OPERATION_KINDS
};

enum region { REGION_AREA, REGION_STACK, REGION_PLACE };

struct location {
    enum region region;
    unsigned place;
    uint64_t offset_bytes;
};

/* Loads or stores of one width, one in each of `pages` pages in a row. */
struct operation_step {
    struct location location;
    uint64_t value; /* the first one to store; the next page gets one more */
    uint32_t pages;
    unsigned bytes;
    bool write;
    bool view;
};

enum {
    OPERATION_MOST_STEPS = 5,
    OPERATION_MOST_PAGES = 40, /* of a step */
    OPERATION_NOBODY = 255,    /* in `other`: nobody, anybody */
    OPERATION_TEXT_BYTES = 640,
};

struct operation {
    enum operation_kind kind;
    unsigned task;
    unsigned other;      /* child, outer task, pin: by number */
    bool inside;         /* called from the task's user code */
    unsigned fail_after; /* the n-th request for memory is refused; 0: none */
    struct location location;
    uint64_t bytes;
    uint32_t protection;
    uint32_t flags;  /* MAP_REQUEST_* */
    bool anywhere;   /* the kernel chooses the address: it becomes place location.place */
    bool write;      /* of a pin */
    unsigned object; /* number of a named object, 0 for none */
    uint64_t offset_bytes;
    uint64_t value; /* exit code; seed of bytes */
    unsigned step_count;
    struct operation_step steps[OPERATION_MOST_STEPS];
};

/* One line of text. */
void operation_format(char *text, size_t bytes, const struct operation *operation);

/* Bytes that a number stands for. */
void operation_bytes(uint64_t seed, uint8_t *bytes, size_t count);

#endif
