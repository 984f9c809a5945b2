/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our own generator of random numbers, so that a seed means the same on every machine: the
 * SplitMix64 sequence (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
 * OOPSLA 2014). Not for secrets.
 */
#ifndef FORKLAB_PT_RANDOM_H
#define FORKLAB_PT_RANDOM_H

#include "pt/types.h"

struct random {
    uint64_t state;
};

static inline struct random random_seeded(uint64_t seed)
{
    return (struct random){.state = seed};
}

static inline uint64_t random_next(struct random *random)
{
    uint64_t mixed = random->state += 0x9e3779b97f4a7c15u;

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
}

/* A number below `limit`, which is not 0. The bias is below limit / 2^64. */
static inline uint64_t random_below(struct random *random, uint64_t limit)
{
    return random_next(random) % limit;
}

/* Puts `count` numbers into random order. */
static inline void random_shuffle(uint32_t *numbers, size_t count, uint64_t seed)
{
    struct random random = random_seeded(seed);

    for (size_t left = count; left > 1; left--) {
        size_t pick = (size_t)random_below(&random, left);
        uint32_t swapped = numbers[pick];

        numbers[pick] = numbers[left - 1];
        numbers[left - 1] = swapped;
    }
}

#endif
