/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The allocator of frames; frame.h says what it promises. */
#include "pt/frame.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pt/random.h"
#include "pt/table.h"

/* A batch is a small part of what was never touched, so that little RAM is not all tables. */
enum { LEAST_FRAMES = 8, POOL_BATCH_FRAMES = 64, POOL_BATCH_PART = 8 };

static const struct frame_list empty_list = {.head = PFN_NONE, .tail = PFN_NONE};

int ram_init(struct ram *ram, const struct geometry *geometry, void *base, uint64_t bytes,
             struct event_log *events)
{
    uint64_t count = bytes >> PAGE_SHIFT;

    if (count < LEAST_FRAMES || count >= PFN_NONE || count > (uint64_t)1 << geometry->pfn_bits)
        return -EINVAL;
    *ram = (struct ram){.base = base,
                        .frames = calloc(count, sizeof(struct frame)),
                        .frame_count = (pfn_t)count,
                        .geometry = geometry,
                        .table_floor = (pfn_t)count,
                        .free = empty_list,
                        .leaf_pool = empty_list,
                        .upper_pool = empty_list,
                        .events = events};
    if (ram->frames == NULL)
        return -ENOMEM;
    table_headers_init(ram);
    ram->zero_pfn = ram->watermark++;
    ram->frames[ram->zero_pfn].kind = FRAME_ZERO;
    return 0;
}

void ram_destroy(struct ram *ram)
{
    table_headers_destroy(ram);
    free(ram->frames);
    *ram = (struct ram){0};
}

void frame_list_push(struct ram *ram, struct frame_list *list, pfn_t pfn)
{
    struct frame *frame = &ram->frames[pfn];

    frame->previous = PFN_NONE;
    frame->next = list->head;
    if (list->head != PFN_NONE)
        ram->frames[list->head].previous = pfn;
    else
        list->tail = pfn;
    list->head = pfn;
    list->count++;
}

void frame_list_append(struct ram *ram, struct frame_list *list, pfn_t pfn)
{
    struct frame *frame = &ram->frames[pfn];

    frame->next = PFN_NONE;
    frame->previous = list->tail;
    if (list->tail != PFN_NONE)
        ram->frames[list->tail].next = pfn;
    else
        list->head = pfn;
    list->tail = pfn;
    list->count++;
}

static void frame_list_remove(struct ram *ram, struct frame_list *list, pfn_t pfn)
{
    struct frame *frame = &ram->frames[pfn];

    if (frame->previous != PFN_NONE)
        ram->frames[frame->previous].next = frame->next;
    else
        list->head = frame->next;
    if (frame->next != PFN_NONE)
        ram->frames[frame->next].previous = frame->previous;
    else
        list->tail = frame->previous;
    list->count--;
}

pfn_t frame_list_pop(struct ram *ram, struct frame_list *list)
{
    pfn_t pfn = list->head;

    assert(pfn != PFN_NONE);
    frame_list_remove(ram, list, pfn);
    return pfn;
}

static uint32_t untouched_frames(const struct ram *ram)
{
    return ram->table_floor - ram->watermark;
}

static uint32_t data_frames_at_hand(const struct ram *ram)
{
    return ram->free.count + untouched_frames(ram);
}

uint32_t ram_free_frames(const struct ram *ram)
{
    return data_frames_at_hand(ram) + ram->leaf_pool.count + ram->upper_pool.count;
}

/* A zeroed frame for the table pools: never touched if possible, else a free one, cleared. */
static pfn_t frame_for_pool(struct ram *ram)
{
    if (untouched_frames(ram) > 0)
        return --ram->table_floor;
    pfn_t pfn = frame_list_pop(ram, &ram->free);

    frame_clear(ram, pfn);
    return pfn;
}

/* Puts one more frame, with a header of the right make, into the pool. */
static int pool_add_table(struct ram *ram, struct frame_list *pool, bool upper)
{
    struct table *header = table_header_new(ram, upper);

    if (header == NULL)
        return -ENOMEM;
    pfn_t pfn = frame_for_pool(ram);

    table_header_free(ram, ram->frames[pfn].table);
    ram->frames[pfn].table = header;
    ram->frames[pfn].kind = FRAME_POOL;
    header->pfn = pfn;
    frame_list_push(ram, pool, pfn);
    return 0;
}

static void unpool_frame(struct ram *ram, struct frame_list *pool)
{
    pfn_t pfn = frame_list_pop(ram, pool);

    ram->frames[pfn].kind = FRAME_FREE;
    frame_list_push(ram, &ram->free, pfn);
}

/* Frames that lie idle in the pools, beyond what is needed there, are as good as free. */
static int reserve_frames(struct ram *ram, const struct ram_need *need, uint32_t frames)
{
    while (data_frames_at_hand(ram) < frames) {
        if (ram->leaf_pool.count > need->leaf_tables)
            unpool_frame(ram, &ram->leaf_pool);
        else if (ram->upper_pool.count > need->upper_tables)
            unpool_frame(ram, &ram->upper_pool);
        else
            return -ENOMEM;
    }
    return 0;
}

static int reserve_tables(struct ram *ram, const struct ram_need *need, bool upper)
{
    struct frame_list *pool = upper ? &ram->upper_pool : &ram->leaf_pool;
    uint32_t needed = upper ? need->upper_tables : need->leaf_tables;

    if (pool->count >= needed)
        return 0;
    uint32_t batch = (uint32_t)min_u64(POOL_BATCH_FRAMES, untouched_frames(ram) / POOL_BATCH_PART);
    uint32_t wanted = (uint32_t)max_u64(needed, batch);

    while (pool->count < wanted) {
        int error = reserve_frames(ram, need, 1);

        if (error == 0)
            error = pool_add_table(ram, pool, upper);
        if (error != 0)
            return pool->count >= needed ? 0 : error;
    }
    return 0;
}

int ram_reserve(struct ram *ram, const struct ram_need *need)
{
    if (gate_refuses(&ram->gate))
        return -ENOMEM;
    int error = reserve_tables(ram, need, false);

    if (error == 0)
        error = reserve_tables(ram, need, true);
    if (error == 0)
        error = reserve_frames(ram, need, need->frames);
    if (error == 0 && ram->rmap != NULL)
        error = ram->rmap->reserve(ram->rmap_context, need->mappings);
    ram->refusals += error != 0;
    return error;
}

static pfn_t choose_frame(struct ram *ram, pfn_t hint)
{
    if (frame_is_touched(ram, hint) && ram->frames[hint].kind == FRAME_FREE) {
        frame_list_remove(ram, &ram->free, hint);
        return hint;
    }
    bool continues_run = hint == ram->watermark && untouched_frames(ram) > 0;

    if (ram->free.count > 0 && !continues_run)
        return frame_list_pop(ram, &ram->free);
    assert(untouched_frames(ram) > 0);
    return ram->watermark++;
}

pfn_t frame_take(struct ram *ram, enum frame_kind kind, pfn_t hint)
{
    pfn_t pfn = choose_frame(ram, hint);
    struct frame *frame = &ram->frames[pfn];

    frame->kind = (uint8_t)kind;
    frame->count = 0;
    frame->flags = 0;
    return pfn;
}

void frame_free(struct ram *ram, pfn_t pfn)
{
    struct frame *frame = &ram->frames[pfn];

    assert(frame->count == 0 && frame->pins == 0);
    frame->kind = FRAME_FREE;
    frame_list_append(ram, &ram->free, pfn);
}

int ram_age(struct ram *ram, uint32_t frames, uint64_t seed)
{
    uint32_t count = (uint32_t)min_u64(frames, untouched_frames(ram));
    pfn_t *order = malloc((size_t)count * sizeof(*order) + 1);

    if (order == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        order[i] = ram->watermark + i;
    random_shuffle(order, count, seed);
    ram->watermark += count;
    for (uint32_t i = 0; i < count; i++)
        frame_list_append(ram, &ram->free, order[i]);
    ram->aged = true;
    free(order);
    return 0;
}

void frame_clear(struct ram *ram, pfn_t pfn)
{
    memset(frame_data(ram, pfn), 0, PAGE_BYTES);
    event_count(ram->events, EVENT_FRAME_CLEARED, 1);
}

void frame_copy(struct ram *ram, pfn_t destination, pfn_t source)
{
    memcpy(frame_data(ram, destination), frame_data(ram, source), PAGE_BYTES);
    event_count(ram->events, EVENT_FRAME_COPIED, 1);
}
