/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a mapping has resident, as Linux's /proc/PID/smaps counts it.
 *
 *   map count   of a frame: entries that map it, an entry of a shared table once for each address
 *               space that has the table. Found by a scan of all tables
 *   shared      pages whose map count is 2 or more; the others are private
 *   Pss         each page by its map count, summed in fixed point (12 bits behind the point)
 *
 * The zero frame is nobody's. The kernel prints whole kB, rounded down; so are all sums here, in
 * bytes.
 */
#ifndef FORKLAB_SCENARIO_USAGE_H
#define FORKLAB_SCENARIO_USAGE_H

#include "pager/mm.h"

struct usage {
    uint64_t rss;
    uint64_t pss;
    uint64_t pss_dirty;
    uint64_t shared_clean;
    uint64_t shared_dirty;
    uint64_t private_clean;
    uint64_t private_dirty;
    uint64_t referenced;
    uint64_t anonymous;
    uint64_t lazy_free;
    uint64_t locked;
};

/* The map count of every frame, into an array of ram->frame_count. Lock held, as below. */
void usage_count_maps(const struct machine *machine, uint32_t *map_counts);

void usage_of_vma(const struct vma *vma, const uint32_t *map_counts, struct usage *usage);

#endif
