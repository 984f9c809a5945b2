/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two clocks: nanoseconds of the monotonic clock for what is reported, and ticks for the splits
 * inside a round, which must cost next to nothing. Where there is no cycle counter that runs at a
 * constant rate, a tick is a nanosecond.
 */
#ifndef FORKLAB_PAGER_CLOCK_H
#define FORKLAB_PAGER_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if defined(__x86_64__)
static inline uint64_t clock_ticks(void)
{
    return __builtin_ia32_rdtsc();
}
#else
static inline uint64_t clock_ticks(void)
{
    return clock_ns();
}
#endif

/* Ticks in a nanosecond, measured once over some milliseconds. */
double clock_ticks_per_ns(void);

#endif
