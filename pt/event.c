/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and meanings of the events, from the one list. */
#include "pt/event.h"

#include <string.h>

const char *const event_names[EVENT_COUNT] = {
#define EVENT(name, text, meaning) [EVENT_##name] = (text),
#include "pt/event.def"
#undef EVENT
};

const char *const event_meanings[EVENT_COUNT] = {
#define EVENT(name, text, meaning) [EVENT_##name] = (meaning),
#include "pt/event.def"
#undef EVENT
};

enum event event_find(const char *name)
{
    for (unsigned event = 0; event < EVENT_COUNT; event++) {
        if (strcmp(event_names[event], name) == 0)
            return (enum event)event;
    }
    return EVENT_COUNT;
}

void event_print_latest(const struct event_log *log, unsigned most, FILE *out)
{
    uint64_t kept = min_u64(log->recorded, min_u64(most, EVENT_RING_RECORDS));

    for (uint64_t sequence = log->recorded - kept; sequence < log->recorded; sequence++) {
        const struct event_record *record = &log->ring[sequence % EVENT_RING_RECORDS];

        fprintf(out, "%llu task %u %s 0x%llx", (unsigned long long)record->sequence,
                (unsigned)record->task_id, event_names[record->event],
                (unsigned long long)record->va);
        if (record->pfn != PFN_NONE)
            fprintf(out, " frame %u", (unsigned)record->pfn);
        fputc('\n', out);
    }
}

void event_subtract(uint64_t difference[EVENT_COUNT], const uint64_t after[EVENT_COUNT],
                    const uint64_t before[EVENT_COUNT])
{
    for (unsigned event = 0; event < EVENT_COUNT; event++)
        difference[event] = after[event] - before[event];
}
