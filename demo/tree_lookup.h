/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looking things up among very many mappings: what `forklab tree --find` measures.
 *
 *   find    the mapping of a random address, by the kernel's index; beside it a binary search in a
 *           plain sorted array of the mappings' ends, in the same turn
 *   space   two pages of free space where only one hole is large enough, half-way up
 */
#ifndef FORKLAB_DEMO_TREE_LOOKUP_H
#define FORKLAB_DEMO_TREE_LOOKUP_H

#include "demo/tree_bench.h"

struct tree_lookup {
    double find_ns;
    double array_ns;
    double find_steps;
    double space_ns;
    double space_steps;
};

/* Measures one turn on a bench of TREE_UP with so many maps. -errno. */
int tree_bench_look_up(struct tree_bench *bench, uint64_t maps, struct tree_lookup *lookup);

/* Makes the hole. -errno. */
int tree_bench_make_hole(struct tree_bench *bench, uint64_t maps);

#endif
