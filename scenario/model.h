/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The backend that is a flat model of memory: every byte of every address space, and what each call
 * answers, in the plainest way there is. It has no tables, no sharing, no laziness and no machine,
 * and so none of their faults. Tells of mappings, never of what is resident.
 *
 * It follows Linux 6.18, like the kernel `modern`.
 */
#ifndef FORKLAB_SCENARIO_MODEL_H
#define FORKLAB_SCENARIO_MODEL_H

#include "scenario/backend.h"

/* Where things go in an address space: what the backend compared with has. */
/* Where a mapping without an address goes (model_place.c). */
enum model_placement { MODEL_FIRST_FIT, MODEL_CACHED_UP, MODEL_CACHED_DOWN, MODEL_GAPS };

struct model_layout {
    va_t user_end;     /* of this address space */
    va_t geometry_end; /* of the widest that there can be */
    va_t map_base;
    va_t map_top;
    va_t heap_start;
    uint64_t stack_limit_bytes;
    uint64_t stack_gap_bytes;       /* kept free below what grows downwards */
    enum model_placement placement; /* of a mapping without an address */
    bool keeps_gaps;                /* below what grows down, for hints */
    uint64_t huge_bytes; /* anonymous memory in multiples of it is aligned to it; 0: not */
};

/* -ENOMEM. */
int model_create(struct backend **backend, const struct model_layout *layout);

/* Ends all tasks, files and pins, and begins anew. */
void model_renew(struct backend *backend);

#endif
