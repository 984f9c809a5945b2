/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bare loop: an entry is read from one table, stored in another, and its frame counted; nothing
 * is checked, protected or mapped back. The records of frames are those of the emulator, in order,
 * as on a fresh machine.
 */
#include "demo/bare_loop.h"

#include <stdlib.h>

#include "demo/stats.h"
#include "pager/clock.h"
#include "pt/entry.h"
#include "pt/frame.h"

enum { PASSES = 101 };

struct tables {
    entry_t *from;
    entry_t *to;
    struct frame *frames;
};

/* The whole of it. Not inlined, so that nobody proves its results unused. */
static __attribute__((noinline)) void copy_and_count(const struct tables *tables, size_t entries)
{
    for (size_t i = 0; i < entries; i++) {
        entry_t entry = tables->from[i];

        tables->to[i] = entry;
        tables->frames[entry_pfn(entry)].count++;
    }
}

static double time_passes(const struct tables *tables, size_t entries, double passes_ns[PASSES])
{
    double ticks_per_ns = clock_ticks_per_ns();

    for (size_t i = 0; i < entries; i++)
        tables->from[i] = entry_make((pfn_t)i, ENTRY_ACCESSED | ENTRY_DIRTY);
    for (unsigned pass = 0; pass < PASSES; pass++) {
        uint64_t start_ticks = clock_ticks();

        copy_and_count(tables, entries);
        passes_ns[pass] = (double)(clock_ticks() - start_ticks) / ticks_per_ns;
    }
    return stats_median(passes_ns, PASSES) / (double)entries;
}

double bare_loop_entry_ns(size_t entries)
{
    double passes_ns[PASSES];
    double entry_ns = 0;
    struct tables tables = {.from = calloc(entries, sizeof(*tables.from)),
                            .to = calloc(entries, sizeof(*tables.to)),
                            .frames = calloc(entries, sizeof(*tables.frames))};

    if (entries > 0 && tables.from != NULL && tables.to != NULL && tables.frames != NULL)
        entry_ns = time_passes(&tables, entries, passes_ns);
    free(tables.from);
    free(tables.to);
    free(tables.frames);
    return entry_ns;
}
