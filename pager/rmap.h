/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The seam for reverse-map schemes: from a frame to the entries that map it.
 *
 * A scheme hangs its hooks into the tables (pt/frame.h), so that copying and releasing whole tables
 * tell it of ranges. Each table is visited once, however many address spaces share it.
 */
#ifndef FORKLAB_PAGER_RMAP_H
#define FORKLAB_PAGER_RMAP_H

#include "pt/table.h"

/* Called for each entry that maps a frame. */
typedef void rmap_visit(void *context, const struct table *table, unsigned slot);

struct rmap_scheme {
    const char *name;
    const struct rmap_hooks *hooks; /* NULL: nothing is kept */
    /* The context of the hooks for this RAM; -ENOMEM. */
    int (*create)(void **context, struct ram *ram);
    void (*destroy)(void *context);
    /* Every entry that maps the frame, in no order. */
    void (*visit)(const void *context, pfn_t pfn, rmap_visit *visit, void *visit_context);
    /* Shuffles free elements, as on a machine that has been up for long; -ENOMEM. */
    int (*age)(void *context, size_t elements, uint64_t seed);
};

extern const struct rmap_scheme rmap_none;
extern const struct rmap_scheme rmap_chains;
extern const struct rmap_scheme rmap_partial;

#endif
