/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks, pages and objects of the model; model_memory.h has the terms. */
#include "scenario/model_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PAGES = 32 };

const uint8_t model_zeros[PAGE_BYTES];

/* --- blocks --- */

struct model_block *block_new(const uint8_t *bytes)
{
    struct model_block *block = malloc(sizeof(*block));

    if (block == NULL)
        return NULL;
    block->references = 0;
    block->pins = 0;
    memcpy(block->bytes, bytes != NULL ? bytes : model_zeros, PAGE_BYTES);
    return block;
}

static void block_free_if_unused(struct model_block *block)
{
    if (block->references == 0 && block->pins == 0)
        free(block);
}

void block_put(struct model_block *block)
{
    if (block == NULL)
        return;
    block->references--;
    block_free_if_unused(block);
}

void block_unpin(struct model_block *block)
{
    block->pins--;
    block_free_if_unused(block);
}

/* A copy for another owner: NULL when memory ends. */
static struct model_block *block_share(struct model_block *block)
{
    if (block->pins > 0)
        block = block_new(block->bytes);
    if (block != NULL)
        block->references++;
    return block;
}

/* --- pages --- */

size_t pages_position(const struct model_pages *pages, uint64_t number)
{
    size_t low = 0;
    size_t high = pages->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (pages->pages[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct model_page *pages_find(const struct model_pages *pages, uint64_t number)
{
    size_t position = pages_position(pages, number);

    if (position == pages->count || pages->pages[position].number != number)
        return NULL;
    return &pages->pages[position];
}

static int pages_reserve(struct model_pages *pages, size_t more)
{
    if (pages->count + more <= pages->capacity)
        return 0;
    size_t capacity = 2 * (pages->count + more) + FIRST_PAGES;
    void *grown = reallocarray(pages->pages, capacity, sizeof(*pages->pages));

    if (grown == NULL)
        return -ENOMEM;
    pages->pages = grown;
    pages->capacity = capacity;
    return 0;
}

int pages_put(struct model_pages *pages, uint64_t number, struct model_block *block)
{
    size_t position = pages_position(pages, number);
    struct model_page *page;

    if (position < pages->count && pages->pages[position].number == number) {
        page = &pages->pages[position];
        block_put(page->block);
    } else {
        if (pages_reserve(pages, 1) != 0)
            return -ENOMEM;
        page = &pages->pages[position];
        memmove(page + 1, page, (pages->count - position) * sizeof(*page));
        pages->count++;
    }
    *page = (struct model_page){.number = number, .block = block};
    if (block != NULL)
        block->references++;
    return 0;
}

void pages_remove(struct model_pages *pages, uint64_t first, uint64_t end, bool keeps_guards)
{
    size_t position = pages_position(pages, first);
    size_t kept = position;

    while (position < pages->count && pages->pages[position].number < end) {
        struct model_page page = pages->pages[position++];

        if (keeps_guards && page.block == NULL)
            pages->pages[kept++] = page;
        else
            block_put(page.block);
    }
    if (kept == position)
        return;
    memmove(&pages->pages[kept], &pages->pages[position],
            (pages->count - position) * sizeof(*pages->pages));
    pages->count -= position - kept;
}

int pages_move(struct model_pages *pages, uint64_t first, uint64_t end, uint64_t to)
{
    size_t position = pages_position(pages, first);
    size_t count = pages_position(pages, end) - position;

    if (count == 0)
        return 0;
    struct model_page *moved = malloc(count * sizeof(*moved));

    if (moved == NULL)
        return -ENOMEM;
    struct model_page *from = &pages->pages[position];

    memcpy(moved, from, count * sizeof(*moved));
    memmove(from, from + count, (pages->count - position - count) * sizeof(*from));
    pages->count -= count;
    for (size_t i = 0; i < count; i++)
        moved[i].number += to - first;
    struct model_page *place = &pages->pages[pages_position(pages, to)];

    memmove(place + count, place, (size_t)(&pages->pages[pages->count] - place) * sizeof(*place));
    memcpy(place, moved, count * sizeof(*moved));
    pages->count += count;
    free(moved);
    return 0;
}

int pages_append(struct model_pages *pages, const struct model_pages *from, uint64_t first,
                 uint64_t end)
{
    size_t position = pages_position(from, first);
    size_t count = pages_position(from, end) - position;

    if (pages_reserve(pages, count) != 0)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct model_page page = from->pages[position + i];

        if (page.block != NULL && (page.block = block_share(page.block)) == NULL)
            return -ENOMEM;
        pages->pages[pages->count++] = page;
    }
    return 0;
}

void pages_free(struct model_pages *pages)
{
    for (size_t i = 0; i < pages->count; i++)
        block_put(pages->pages[i].block);
    free(pages->pages);
    *pages = (struct model_pages){0};
}

struct model_block *pages_own(struct model_pages *pages, uint64_t number, const uint8_t *contents)
{
    struct model_page *page = pages_find(pages, number);

    if (page != NULL && page->block->references == 1)
        return page->block;
    struct model_block *block = block_new(page != NULL ? page->block->bytes : contents);

    if (block != NULL && pages_put(pages, number, block) != 0) {
        free(block);
        return NULL;
    }
    return block;
}

/* --- objects --- */

struct model_object *object_new(uint64_t bytes)
{
    struct model_object *object = calloc(1, sizeof(*object));

    if (object != NULL) {
        object->references = 1;
        object->bytes = bytes;
    }
    return object;
}

void object_release(struct model_object *object)
{
    if (object == NULL || --object->references > 0)
        return;
    pages_free(&object->pages);
    free(object);
}

const uint8_t *object_bytes(const struct model_object *object, uint64_t page)
{
    const struct model_page *found = pages_find(&object->pages, page);

    return found != NULL ? found->block->bytes : model_zeros;
}

void object_resize(struct model_object *object, uint64_t bytes)
{
    uint64_t last = bytes >> PAGE_SHIFT;
    uint64_t tail = bytes % PAGE_BYTES;

    if (bytes <= object->bytes) {
        pages_remove(&object->pages, last + (tail != 0), UINT64_MAX, false);
        struct model_page *page = pages_find(&object->pages, last);

        if (page != NULL) /* and nobody shares the page of an object */
            memset(page->block->bytes + tail, 0, PAGE_BYTES - tail);
    }
    object->bytes = bytes;
}

uint64_t object_read(const struct model_object *object, uint64_t offset, uint8_t *data,
                     uint64_t bytes)
{
    uint64_t done = 0;

    if (offset >= object->bytes)
        return 0;
    bytes = min_u64(bytes, object->bytes - offset);
    while (done < bytes) {
        uint64_t at = offset + done;
        uint64_t part = min_u64(bytes - done, PAGE_BYTES - at % PAGE_BYTES);

        memcpy(data + done, object_bytes(object, at >> PAGE_SHIFT) + at % PAGE_BYTES, part);
        done += part;
    }
    return done;
}

int object_write(struct model_object *object, uint64_t offset, const uint8_t *data, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t at = offset + done;
        uint64_t part = min_u64(bytes - done, PAGE_BYTES - at % PAGE_BYTES);
        struct model_block *block = pages_own(&object->pages, at >> PAGE_SHIFT, NULL);

        if (block == NULL)
            return -ENOMEM;
        memcpy(block->bytes + at % PAGE_BYTES, data + done, part);
        done += part;
    }
    if (bytes > 0)
        object->bytes = max_u64(object->bytes, offset + bytes);
    return 0;
}
