/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters: events by name, and those of /proc/vmstat that mean something here. */
#include <inttypes.h>

#include "scenario/show.h"

static void show_event(const struct emulated *emulated, enum event event, FILE *out)
{
    uint64_t count = emulated_events(emulated, event);

    if (count != 0)
        fprintf(out, "%-18s %10" PRIu64 "  %s\n", event_names[event], count, event_meanings[event]);
}

void show_faults(const struct emulated *emulated, FILE *out)
{
    bool any = false;

    for (unsigned event = 0; event < EVENT_COUNT; event++) {
        show_event(emulated, (enum event)event, out);
        any = any || emulated_events(emulated, (enum event)event) != 0;
    }
    if (!any)
        fputs("nothing happened yet\n", out);
}

/* --- vmstat --- */

struct census {
    uint64_t by_kind[FRAME_KINDS];
    uint64_t cached; /* frames of objects */
    uint64_t dirty;
    uint64_t pinned;
};

static void count_frame(struct census *census, const struct frame *frame)
{
    census->by_kind[frame->kind]++;
    census->cached += frame->kind == FRAME_SHM || frame->kind == FRAME_FILE;
    census->dirty += frame->kind == FRAME_FILE && (frame->flags & FRAME_DIRTY) != 0;
    census->pinned += frame->pins;
}

static void show_value(FILE *out, const char *name, uint64_t value)
{
    fprintf(out, "%s %" PRIu64 "\n", name, value);
}

void show_vmstat(const struct emulated *emulated, FILE *out)
{
    const struct ram *ram = &emulated->machine->ram;
    struct census census = {0};

    for (pfn_t pfn = 0; pfn < ram->frame_count; pfn = frame_touched_after(ram, pfn))
        count_frame(&census, &ram->frames[pfn]);
    show_value(out, "nr_free_pages", ram_free_frames(ram));
    show_value(out, "nr_anon_pages", census.by_kind[FRAME_ANON]);
    show_value(out, "nr_file_pages", census.cached);
    show_value(out, "nr_dirty", census.dirty);
    show_value(out, "nr_shmem", census.by_kind[FRAME_SHM]);
    show_value(out, "nr_page_table_pages", census.by_kind[FRAME_TABLE]);
    show_value(out, "nr_pinned", census.pinned);
    show_value(out, "pgfault", emulated_events(emulated, EVENT_FAULT));
}
