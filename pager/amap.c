/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts of an amap's slots; amap.h has the terms. */
#include "pager/amap.h"

#include <stdlib.h>
#include <string.h>

/* 16 GiB of pages: more would be a wild range, and counting it one by one no use. */
#define MOST_SLOTS ((uint64_t)4 << 20)

void amap_begin(struct amap *amap, uint64_t first_page, uint64_t pages)
{
    *amap = (struct amap){.first_page = first_page, .slots = pages};
    amap->given_up = pages > MOST_SLOTS;
}

static void give_up(struct amap *amap)
{
    free(amap->pieces);
    amap->pieces = NULL;
    amap->given_up = true;
}

void amap_end(struct amap *amap)
{
    give_up(amap);
}

void amap_cut(struct amap *amap, uint32_t references)
{
    if (amap->given_up || amap->pieces != NULL)
        return;
    amap->pieces = calloc(amap->slots, sizeof(*amap->pieces));
    if (amap->pieces == NULL) {
        give_up(amap);
        return;
    }
    amap->pieces[0] =
        (struct amap_piece){.references = references, .length = (uint32_t)amap->slots};
}

/* Cuts the piece that begins at `slot` after so many of its slots. */
static void cut_piece(const struct amap *amap, uint64_t slot, uint64_t length)
{
    struct amap_piece *piece = &amap->pieces[slot];

    amap->pieces[slot + length] = (struct amap_piece){.references = piece->references,
                                                      .length = piece->length - (uint32_t)length};
    piece->length = (uint32_t)length;
}

/* Walks to a slot, where a piece then begins: the piece before it, or NULL. */
static struct amap_piece *walk_to(const struct amap *amap, uint64_t slot, struct event_log *events)
{
    struct amap_piece *before = NULL;

    for (uint64_t at = 0; at < slot; at += before->length) {
        before = &amap->pieces[at];
        if (at + before->length > slot)
            cut_piece(amap, at, slot - at);
        event_count(events, EVENT_AMAP_PIECE, 1);
    }
    return before;
}

/* One count more or less for each slot of [first, end), which lies within the amap. The piece that
 * begins the range joins the one before it if they now count alike, and no other does. */
static void adjust(const struct amap *amap, uint64_t first, uint64_t end, int by,
                   struct event_log *events)
{
    struct amap_piece *before = walk_to(amap, first, events);

    for (uint64_t at = first; at < end; at += amap->pieces[at].length) {
        struct amap_piece *piece = &amap->pieces[at];

        if (at + piece->length > end)
            cut_piece(amap, at, end - at);
        piece->references += (uint32_t)by;
        event_count(events, EVENT_AMAP_PIECE, 1);
        if (at == first && before != NULL && before->references == piece->references)
            before->length += piece->length;
    }
}

/* More slots at the end, of which those from `first` on are referred to once. What is new is a
 * piece of its own, whatever the one before it counts. */
static void lengthen(struct amap *amap, uint64_t first, uint64_t slots, struct event_log *events)
{
    if (amap->pieces != NULL) {
        struct amap_piece *grown = realloc(amap->pieces, slots * sizeof(*grown));

        if (grown == NULL) {
            give_up(amap);
            return;
        }
        amap->pieces = grown;
        memset(&grown[amap->slots], 0, (slots - amap->slots) * sizeof(*grown));
        grown[amap->slots].length = (uint32_t)(first - amap->slots);
        grown[first] = (struct amap_piece){.references = 1, .length = (uint32_t)(slots - first)};
    }
    event_count(events, EVENT_AMAP_SLOT, slots - amap->slots);
    amap->slots = slots;
}

/* More slots at the beginning: all others move. */
static void lengthen_front(struct amap *amap, uint64_t pages, struct event_log *events)
{
    uint64_t slots = amap->slots + pages;

    if (amap->pieces != NULL) {
        struct amap_piece *grown = realloc(amap->pieces, slots * sizeof(*grown));

        if (grown == NULL) {
            give_up(amap);
            return;
        }
        memmove(grown + pages, grown, amap->slots * sizeof(*grown));
        memset(grown, 0, pages * sizeof(*grown));
        grown[0] = (struct amap_piece){.references = 1, .length = (uint32_t)pages};
        amap->pieces = grown;
    }
    event_count(events, EVENT_AMAP_SLOT, pages);
    amap->first_page -= pages;
    amap->slots = slots;
}

static uint64_t larger(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

static uint64_t smaller(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* Is the range the amap's? If not, nothing is counted from now on. */
static bool is_own(struct amap *amap, uint64_t first_page, uint64_t pages)
{
    if (amap->given_up)
        return false;
    if (first_page >= amap->first_page && first_page - amap->first_page + pages <= MOST_SLOTS)
        return true;
    give_up(amap);
    return false;
}

void amap_add(struct amap *amap, uint64_t first_page, uint64_t pages, struct event_log *events)
{
    if (!amap->given_up && first_page + pages == amap->first_page &&
        amap->slots + pages <= MOST_SLOTS) {
        lengthen_front(amap, pages, events);
        return;
    }
    if (!is_own(amap, first_page, pages))
        return;
    uint64_t first = first_page - amap->first_page;
    bool all_alike = amap->pieces == NULL && first == amap->slots;

    if (amap->pieces == NULL && !all_alike)
        amap_cut(amap, 1);
    uint64_t end = first + pages;
    uint64_t old_slots = amap->slots;

    if (!amap->given_up && end > old_slots)
        lengthen(amap, larger(first, old_slots), end, events);
    if (amap->pieces != NULL && first < old_slots)
        adjust(amap, first, smaller(end, old_slots), 1, events);
}

void amap_drop(struct amap *amap, uint64_t first_page, uint64_t pages, struct event_log *events)
{
    if (!is_own(amap, first_page, pages))
        return;
    uint64_t first = first_page - amap->first_page;

    if (first + pages > amap->slots) {
        give_up(amap);
        return;
    }
    amap_cut(amap, 1);
    if (amap->pieces != NULL)
        adjust(amap, first, first + pages, -1, events);
}

bool amap_is_sound(const struct amap *amap)
{
    uint64_t at = 0;

    if (amap->pieces == NULL)
        return true;
    while (at < amap->slots && amap->pieces[at].length > 0)
        at += amap->pieces[at].length;
    return at == amap->slots;
}
