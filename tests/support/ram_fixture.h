/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RAM for tests: over memory from calloc, with a reverse map that records what it was told and
 * checks every call against that record.
 *
 * Everything that a test took must be given back before fixture_destroy(), which fails the test
 * when a frame is lost. References from outside the tables go through fixture_hold() and
 * fixture_pin(), so that the invariants know of them.
 */
#ifndef FORKLAB_TESTS_RAM_FIXTURE_H
#define FORKLAB_TESTS_RAM_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>

#include "pt/share.h"

#include <cmocka.h>

struct ram_fixture {
    struct ram ram;
    struct event_log events;
    void *memory;
    uint32_t *outside; /* by pfn: references from outside the tables, pins among them */
    pfn_t *recorded;   /* the reverse map, by table frame and slot: the frame mapped there */
    size_t credit;     /* additions to the reverse map that were reserved */
    char note[80];     /* where the test is, for the message of a check that fails */
};

/* RAM of so many frames; the reverse map is on. */
void fixture_init(struct ram_fixture *fixture, const struct geometry *geometry, uint32_t frames);

/* All frames must be back, and the reverse map empty. */
void fixture_destroy(struct ram_fixture *fixture);

/* All invariants hold, and the reverse map has what the tables have: else the test fails. */
void fixture_check(struct ram_fixture *fixture);

/* What ram_reserve() must grant. */
void fixture_reserve(struct ram_fixture *fixture, struct ram_need need);

/* A new tree, its own owner. */
void fixture_tree(struct ram_fixture *fixture, struct pt_tree *tree);

/* A reserved frame of this kind, every byte of it `value`, not yet referenced. */
pfn_t fixture_frame(struct ram_fixture *fixture, enum frame_kind kind, uint8_t value);

/* References from outside, as an object has them, and pins. */
void fixture_hold(struct ram_fixture *fixture, pfn_t pfn);
void fixture_release(struct ram_fixture *fixture, pfn_t pfn);
void fixture_pin(struct ram_fixture *fixture, pfn_t pfn);
void fixture_unpin(struct ram_fixture *fixture, pfn_t pfn);

/* The leaf table for `va`, this tree's alone; it must be granted. */
struct table *fixture_own_table(struct pt_tree *tree, va_t va);

/* Fills the absent page with a new frame of that kind, full of `value`; the frame. */
pfn_t fixture_fill(struct ram_fixture *fixture, struct pt_tree *tree, va_t va, enum frame_kind kind,
                   uint8_t value, entry_t flags);

/* Fills the absent page with a frame that exists, or with an entry that is not present. */
void fixture_map(struct ram_fixture *fixture, struct pt_tree *tree, va_t va, entry_t entry);

/*
 * Shares, or copies, the leaf table for `va` with a tree that has none there: what fork does with
 * one table. The result is ram_reserve()'s.
 */
int fixture_share(struct pt_tree *parent, va_t va, struct pt_tree *child);
int fixture_copy(struct pt_tree *parent, va_t va, struct pt_tree *child);

/*
 * A private anonymous write of `value` to the page, as a kernel does it: zero-fill, reuse in place
 * or copy; -ENOMEM with nothing changed.
 */
int fixture_write(struct pt_tree *tree, va_t va, uint8_t value);

/* Runs a test in each geometry. */
void in_every_geometry(void (*body)(const struct geometry *geometry));

/* Makes a cmocka test, test_NAME, of check_NAME. */
#define IN_EVERY_GEOMETRY(name)                                                                    \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        in_every_geometry(check_##name);                                                           \
    }

/* The first byte of the page, 0 when nothing is mapped there. */
uint8_t fixture_read(const struct pt_tree *tree, va_t va);

#endif
