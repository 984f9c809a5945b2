/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events: counters for all of them, and a ring of the latest ones.
 *
 * event.def is the one list; the enum, the names and the meanings below come from it. Counting and
 * recording take no lock of their own (the machine's lock is held), allocate nothing and are safe
 * in a signal handler; printing is done outside it.
 */
#ifndef FORKLAB_PT_EVENT_H
#define FORKLAB_PT_EVENT_H

#include <stdio.h>

#include "pt/types.h"

#ifdef FORKLAB_HAVE_SDT
#include <sys/sdt.h>
#define EVENT_PROBE(event, va, number) DTRACE_PROBE3(forklab, event, event, va, number)
#else
#define EVENT_PROBE(event, va, number) ((void)0)
#endif

enum event {
#define EVENT(name, text, meaning) EVENT_##name,
#include "pt/event.def"
#undef EVENT
    EVENT_COUNT
};

/* The bad accesses and the steps stand at the head of the list. */
#define EVENT_FIRST_BAD EVENT_BAD_MAPERR
#define EVENT_LAST_BAD EVENT_BAD_OOM

/* One step of one fault: who, where, and the frame concerned (PFN_NONE where there is none). */
struct event_record {
    uint64_t sequence; /* counted from 0 since the log was made */
    va_t va;
    uint32_t task_id;
    pfn_t pfn;
    enum event event;
};

#define EVENT_RING_RECORDS 256u

struct event_log {
    uint64_t counts[EVENT_COUNT];
    uint64_t recorded; /* records ever written; the ring holds the latest of them */
    struct event_record ring[EVENT_RING_RECORDS];
};

extern const char *const event_names[EVENT_COUNT];
extern const char *const event_meanings[EVENT_COUNT];

static inline void event_count(struct event_log *log, enum event event, uint64_t number)
{
    log->counts[event] += number;
}

/* Counts the event and keeps a record of it. */
static inline void event_record(struct event_log *log, enum event event, uint32_t task_id, va_t va,
                                pfn_t pfn)
{
    log->counts[event]++;
    log->ring[log->recorded % EVENT_RING_RECORDS] = (struct event_record){
        .sequence = log->recorded, .va = va, .task_id = task_id, .pfn = pfn, .event = event};
    log->recorded++;
    EVENT_PROBE(event, va, pfn);
}

/* The event of that name, or EVENT_COUNT. */
enum event event_find(const char *name);

/* Prints the latest records, at most so many, oldest first. Not from a signal handler, unless the
 * process is about to abort. */
void event_print_latest(const struct event_log *log, unsigned most, FILE *out);

/* after - before, for every event. `difference` may be either of the two. */
void event_subtract(uint64_t difference[EVENT_COUNT], const uint64_t after[EVENT_COUNT],
                    const uint64_t before[EVENT_COUNT]);

#endif
