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
struct model_layout {
    va_t user_end;     /* of this address space */
    va_t geometry_end; /* of the widest that there can be */
    va_t map_base;
    va_t map_top;
    va_t heap_start;
    uint64_t stack_limit_bytes;
    uint64_t stack_gap_bytes; /* kept free below what grows downwards */
    bool places_upwards;      /* without an address: from map_base up, not from map_top down */
    uint64_t huge_bytes;      /* anonymous memory in multiples of it is aligned to it; 0: not */
};

/* -ENOMEM. */
int model_create(struct backend **backend, const struct model_layout *layout);

/* Ends all tasks, files and pins, and begins anew. */
void model_renew(struct backend *backend);

#endif
