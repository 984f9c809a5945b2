/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chains for some kinds of frames alone: what a scheme stands on that has another way to the rest.
 * Its hooks, and all but its creation and its visits, are those of rmap_chains.
 */
#ifndef FORKLAB_PAGER_RMAP_CHAINS_H
#define FORKLAB_PAGER_RMAP_CHAINS_H

#include "pager/rmap.h"

#define RMAP_KIND(kind) (1u << FRAME_##kind)

/* The context of rmap_chains, for frames of these kinds: -ENOMEM. */
int rmap_chains_create_for(void **context, struct ram *ram, uint32_t kinds);

/* Is the frame, as it is now, of such a kind? */
bool rmap_chains_has(const void *context, pfn_t pfn);

#endif
