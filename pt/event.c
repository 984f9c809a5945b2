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

void event_subtract(uint64_t difference[EVENT_COUNT], const uint64_t after[EVENT_COUNT],
                    const uint64_t before[EVENT_COUNT])
{
    for (unsigned event = 0; event < EVENT_COUNT; event++)
        difference[event] = after[event] - before[event];
}
