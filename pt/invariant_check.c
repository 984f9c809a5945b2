/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loops of the invariants; see invariant_check.h. */
#include "pt/invariant_check.h"

#include <string.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool check_fails(const struct check *check, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(check->why, check->why_bytes, format, arguments);
    va_end(arguments);
    return false;
}

bool frame_is_all_zeros(const struct ram *ram, pfn_t pfn)
{
    const uint8_t *bytes = frame_data(ram, pfn);

    /* All bytes are like the first one if the frame is like itself one byte on. */
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, PAGE_BYTES - 1) == 0;
}

const struct table *table_in_frame(const struct ram *ram, pfn_t pfn)
{
    if (!frame_is_touched(ram, pfn) || ram->frames[pfn].kind != FRAME_TABLE)
        return NULL;
    return table_of_frame(ram, pfn);
}

const struct frame *mapped_frame(const struct ram *ram, const struct table *table, entry_t entry)
{
    bool maps_memory = entry_is_present(entry) && (table->level == 0 || entry_is_huge(entry));

    if (!maps_memory || !frame_is_touched(ram, entry_pfn(entry)))
        return NULL;
    return &ram->frames[entry_pfn(entry)];
}

bool check_frames(const struct check *check, frame_predicate holds)
{
    const struct ram *ram = check->ram;

    for (pfn_t pfn = 0; pfn < ram->frame_count; pfn = frame_touched_after(ram, pfn)) {
        if (!holds(check, pfn))
            return false;
    }
    return true;
}

static bool check_table(const struct check *check, const struct table *table, entry_predicate holds)
{
    unsigned end = (unsigned)min_u64(table->high, geometry_slots(check->ram->geometry));

    for (unsigned slot = table->low; slot < end; slot++) {
        entry_t entry = table_entry(check->ram, table, slot);

        if (!entry_is_none(entry) && !holds(check, table, slot, entry))
            return false;
    }
    return true;
}

bool check_entries(const struct check *check, entry_predicate holds)
{
    const struct ram *ram = check->ram;

    for (pfn_t pfn = 0; pfn < ram->frame_count; pfn = frame_touched_after(ram, pfn)) {
        const struct table *table = table_in_frame(ram, pfn);

        if (table != NULL && !check_table(check, table, holds))
            return false;
    }
    return true;
}

bool check_begin_tally(struct check *check)
{
    const struct ram *ram = check->ram;
    size_t touched = (size_t)ram->watermark + (ram->frame_count - ram->table_floor);

    check->tallies = calloc(touched, sizeof(*check->tallies));
    return check->tallies != NULL || check_fails(check, "no memory for the check itself");
}

/* The array leaves out the frames that were never in use. */
struct tally *check_tally(const struct check *check, pfn_t pfn)
{
    const struct ram *ram = check->ram;

    return &check->tallies[pfn < ram->watermark ? pfn : ram->watermark + (pfn - ram->table_floor)];
}

void check_end_tally(struct check *check)
{
    free(check->tallies);
    check->tallies = NULL;
}
