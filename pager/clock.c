/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast ticks go, measured against the monotonic clock. */
#include "pager/clock.h"

enum { CALIBRATION_NS = 5000000 };

double clock_ticks_per_ns(void)
{
    uint64_t start_ns = clock_ns();
    uint64_t start_ticks = clock_ticks();
    uint64_t passed_ns = 0;

    while (passed_ns < CALIBRATION_NS)
        passed_ns = clock_ns() - start_ns;
    return (double)(clock_ticks() - start_ticks) / (double)passed_ns;
}
