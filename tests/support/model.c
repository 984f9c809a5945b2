/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flat model: mappings and bytes. model_compare.c compares it with the real thing. */
#include "tests/support/model.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pager/fault.h"

/* A test without memory has nothing to say. */
static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

/* --- blocks and objects --- */

void block_put(struct model_block *block)
{
    if (block != NULL && --block->references == 0)
        free(block);
}

static struct model_block *block_copy(const uint8_t *bytes)
{
    struct model_block *block = must(malloc(sizeof(*block)));

    block->references = 1;
    memcpy(block->bytes, bytes, PAGE_BYTES);
    return block;
}

struct model_object *model_object_new(struct object *real, uint64_t page_count,
                                      const uint8_t *bytes)
{
    struct model_object *object = must(calloc(1, sizeof(*object)));

    object->real = real;
    object->page_count = page_count;
    object->bytes = must(calloc(page_count + 1, PAGE_BYTES));
    object->written = must(calloc(page_count + 1, sizeof(bool)));
    if (bytes != NULL)
        memcpy(object->bytes, bytes, page_count * PAGE_BYTES);
    return object;
}

void model_object_free(struct model_object *object)
{
    free(object->bytes);
    free(object->written);
    free(object);
}

/* --- spaces --- */

void space_begin(struct model_space *space, const struct mm *mm)
{
    *space = (struct model_space){.user_end = mm->user_end,
                                  .map_base = mm->map_base,
                                  .map_top = mm->map_top,
                                  .heap_start = mm->heap_start,
                                  .heap_end = mm->heap_end,
                                  .stack_pointer = mm->stack_pointer,
                                  .stack_limit_bytes = mm->stack_limit_bytes,
                                  .stack_gap_bytes = mm->stack_gap_bytes,
                                  .keeps_gaps = mm->machine->kernel->free_space->keeps_gaps};
}

void space_copy(struct model_space *space, const struct model_space *from)
{
    *space = *from;
    space->capacity = from->count + 1;
    space->pages = must(malloc(space->capacity * sizeof(*space->pages)));
    for (size_t i = 0; i < from->count; i++) {
        space->pages[i] = from->pages[i];
        if (space->pages[i].own != NULL)
            space->pages[i].own = block_copy(space->pages[i].own->bytes);
    }
}

void space_end(struct model_space *space)
{
    for (size_t i = 0; i < space->count; i++)
        block_put(space->pages[i].own);
    free(space->pages);
    *space = (struct model_space){0};
}

size_t space_position(const struct model_space *space, va_t va)
{
    size_t low = 0;
    size_t high = space->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (space->pages[middle].number < va >> PAGE_SHIFT)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct model_page *space_page(const struct model_space *space, va_t va)
{
    size_t position = space_position(space, va);

    if (position == space->count || space->pages[position].number != va >> PAGE_SHIFT)
        return NULL;
    return &space->pages[position];
}

bool space_any_in(const struct model_space *space, va_t start, va_t end)
{
    size_t position = space_position(space, start);

    return position < space->count && space->pages[position].number < end >> PAGE_SHIFT;
}

va_t space_free_below(const struct model_space *space, size_t position)
{
    const struct model_page *page = &space->pages[position];
    va_t start = page->number << PAGE_SHIFT;

    if (!space->keeps_gaps || !(page->flags & VMA_GROWS_DOWN))
        return start;
    return start > space->stack_gap_bytes ? start - space->stack_gap_bytes : 0;
}

bool space_has_gap(const struct model_space *space, uint64_t bytes)
{
    va_t from = space->map_base;
    va_t top = space->map_top;
    size_t i = space_position(space, from);

    for (; i < space->count && space->pages[i].number << PAGE_SHIFT < top; i++) {
        if (space_free_below(space, i) >= from + bytes)
            return true;
        from = (space->pages[i].number + 1) << PAGE_SHIFT;
    }
    if (i < space->count)
        top = min_u64(top, space_free_below(space, i));
    return from <= top && top - from >= bytes;
}

/* Room for `more` pages at a position. */
static struct model_page *open_gap(struct model_space *space, size_t position, size_t more)
{
    if (space->count + more > space->capacity) {
        space->capacity = (space->count + more) * 2;
        space->pages = must(realloc(space->pages, space->capacity * sizeof(*space->pages)));
    }
    memmove(&space->pages[position + more], &space->pages[position],
            (space->count - position) * sizeof(*space->pages));
    space->count += more;
    return &space->pages[position];
}

void space_unmap(struct model_space *space, va_t start, uint64_t bytes)
{
    size_t first = space_position(space, start);
    size_t end = space_position(space, start + bytes);

    for (size_t i = first; i < end; i++)
        block_put(space->pages[i].own);
    if (end > first)
        memmove(&space->pages[first], &space->pages[end],
                (space->count - end) * sizeof(*space->pages));
    space->count -= end - first;
}

void space_map(struct model_space *space, va_t start, uint64_t bytes,
               const struct model_backing *backing)
{
    size_t more = (size_t)(bytes >> PAGE_SHIFT);

    space_unmap(space, start, bytes);
    struct model_page *page = open_gap(space, space_position(space, start), more);

    for (size_t i = 0; i < more; i++)
        page[i] = (struct model_page){.number = (start >> PAGE_SHIFT) + i,
                                      .flags = backing->flags,
                                      .object = backing->object,
                                      .object_page = backing->object_page + i};
}

int space_protect(struct model_space *space, va_t start, uint64_t bytes, uint32_t protection)
{
    size_t position = space_position(space, start);

    for (va_t va = start; va < start + bytes; va += PAGE_BYTES, position++) {
        struct model_page *page = &space->pages[position];

        if (position == space->count || page->number != va >> PAGE_SHIFT)
            return -ENOMEM;
        if ((protection & VMA_WRITE) && !(page->flags & VMA_MAY_WRITE))
            return -EACCES;
        page->flags = (page->flags & ~VMA_PROTECTION) | protection;
    }
    return 0;
}

/* --- accesses --- */

/* Where the mapping that the page belongs to ends. */
static va_t mapping_end(const struct model_space *space, size_t position)
{
    const struct model_page *page = &space->pages[position];

    while (position + 1 < space->count) {
        const struct model_page *next = &space->pages[++position];

        if (next->number != page->number + 1 || next->begins)
            break;
        page = next;
    }
    return (page->number + 1) << PAGE_SHIFT;
}

/* Does the page below keep one that grows at a distance? */
static bool is_guarded(const struct model_space *space, const struct model_page *below, va_t page)
{
    if ((below->flags & VMA_GROWS_DOWN) || (below->flags & VMA_PROTECTION) == 0)
        return false;
    return page - ((below->number + 1) << PAGE_SHIFT) < space->stack_gap_bytes;
}

/* Grows the mapping above the page down to it, if it is one that grows. */
static bool grow_down(struct model_space *space, va_t va, size_t position)
{
    va_t page = page_of(va);

    if (position == space->count || !(space->pages[position].flags & VMA_GROWS_DOWN) ||
        mapping_end(space, position) - page > space->stack_limit_bytes)
        return false;
    if (position > 0 && is_guarded(space, &space->pages[position - 1], page))
        return false;
    struct model_backing backing = {.flags = space->pages[position].flags};
    uint64_t bytes = (space->pages[position].number << PAGE_SHIFT) - page;

    space->pages[position].begins = false;
    space_map(space, page, bytes, &backing);
    space_page(space, page)->begins = true;
    return true;
}

enum event space_resolve(struct model_space *space, va_t va, bool write)
{
    if (va >= space->user_end)
        return EVENT_BAD_MAPERR;
    if (space_page(space, va) == NULL && !grow_down(space, va, space_position(space, va)))
        return EVENT_BAD_MAPERR;
    const struct model_page *page = space_page(space, va);

    if ((page->flags & (write ? VMA_WRITE : VMA_PROTECTION)) == 0)
        return EVENT_BAD_ACCERR;
    if (page->own == NULL && page->object != NULL && page->object_page >= page->object->page_count)
        return EVENT_BAD_BUS;
    return FAULT_PERMITTED;
}

const uint8_t *space_bytes(const struct model_page *page)
{
    static const uint8_t zeros[PAGE_BYTES];

    if (page->own != NULL)
        return page->own->bytes;
    if (page->object != NULL)
        return page->object->bytes + page->object_page * PAGE_BYTES;
    return zeros;
}

struct model_block *space_own(struct model_page *page)
{
    if (page->own == NULL)
        page->own = block_copy(space_bytes(page));
    return page->own;
}

uint8_t *space_bytes_to_write(struct model_page *page)
{
    if (!(page->flags & VMA_SHARED))
        return space_own(page)->bytes;
    page->object->written[page->object_page] = true;
    return page->object->bytes + page->object_page * PAGE_BYTES;
}

enum event space_access(struct model_space *space, va_t va, unsigned bytes, bool write,
                        uint64_t *value, va_t *address)
{
    va_t places[2] = {va, page_of(va + bytes - 1)};
    uint8_t data[sizeof(*value)];

    for (unsigned i = 0; i < (places[1] > va ? 2u : 1u); i++) {
        enum event result = space_resolve(space, places[i], write);

        *address = places[i];
        if (result != FAULT_PERMITTED)
            return result;
    }
    memcpy(data, value, sizeof(data));
    if (!write)
        memset(data, 0, sizeof(data));
    for (unsigned i = 0; i < bytes; i++) {
        struct model_page *page = space_page(space, va + i);
        size_t offset = (size_t)((va + i) % PAGE_BYTES);

        if (write)
            space_bytes_to_write(page)[offset] = data[i];
        else
            data[i] = space_bytes(page)[offset];
    }
    if (!write)
        memcpy(value, data, sizeof(data));
    return FAULT_PERMITTED;
}
