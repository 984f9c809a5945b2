/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the model's memory is made of.
 *
 *   block    the 4 KiB of one page. A page that is copied keeps the block until somebody writes, so
 *            a block with more than one reference never changes
 *   pages    blocks by page number: of a file, or of what a task has written privately
 *   object   the bytes of a file or of shared memory; a page that is not there reads as zeros
 *   pin      a reference to a block whose page stays its owner's alone: whoever copies a pinned
 *            page copies the bytes at once, and so the pin sees what the owner sees
 *
 * Everything that allocates returns -ENOMEM when memory ends; the model is then half changed, and
 * its backend broken.
 */
#ifndef FORKLAB_SCENARIO_MODEL_MEMORY_H
#define FORKLAB_SCENARIO_MODEL_MEMORY_H

#include "pt/types.h"

struct model_block {
    uint32_t references; /* pages */
    uint32_t pins;
    uint8_t bytes[PAGE_BYTES];
};

struct model_page {
    uint64_t number;
    struct model_block *block; /* NULL: a guard, which any access dies of */
};

/* In the order of their numbers. */
struct model_pages {
    size_t count;
    size_t capacity;
    struct model_page *pages;
};

struct model_object {
    uint32_t references; /* its name, and the ranges that map it */
    uint64_t bytes;
    struct model_pages pages;
};

/* A block of these bytes (NULL: zeros) without a reference; NULL when memory ends. */
struct model_block *block_new(const uint8_t *bytes);

/* Gives up a page's reference, or a pin. NULL is allowed. */
void block_put(struct model_block *block);
void block_unpin(struct model_block *block);

/* The position of the first page at or above this number; the page of just this number, or NULL. */
size_t pages_position(const struct model_pages *pages, uint64_t number);
struct model_page *pages_find(const struct model_pages *pages, uint64_t number);

/* Puts a block, or a guard, there in place of what was there. */
int pages_put(struct model_pages *pages, uint64_t number, struct model_block *block);

/* Removes what lies in [first, end); with `keeps_guards` no guard. */
void pages_remove(struct model_pages *pages, uint64_t first, uint64_t end, bool keeps_guards);

/* Moves [first, end) to `to`, where nothing is. */
int pages_move(struct model_pages *pages, uint64_t first, uint64_t end, uint64_t to);

/* Adds copies of [first, end), which lies above all that is there. */
int pages_append(struct model_pages *pages, const struct model_pages *from, uint64_t first,
                 uint64_t end);

void pages_free(struct model_pages *pages);

/* The page's block, its owner's alone from now on, with those contents (NULL: zeros) if it was not
 * there; NULL when memory ends. The page is no guard. */
struct model_block *pages_own(struct model_pages *pages, uint64_t number, const uint8_t *contents);

/* An object with one reference, or NULL; references given up. NULL is allowed. */
struct model_object *object_new(uint64_t bytes);
void object_release(struct model_object *object);

/* The bytes of a page: of zeros where there is none. */
const uint8_t *object_bytes(const struct model_object *object, uint64_t page);

/* Does the page lie wholly past the end? */
static inline bool object_ends_before(const struct model_object *object, uint64_t page)
{
    return page >= (object->bytes >> PAGE_SHIFT) + (object->bytes % PAGE_BYTES != 0);
}

/* A new size; what lies past a new end becomes zeros. */
void object_resize(struct model_object *object, uint64_t bytes);

/* read(2) and write(2) within the object; a write past its end makes it longer. */
uint64_t object_read(const struct model_object *object, uint64_t offset, uint8_t *data,
                     uint64_t bytes);
int object_write(struct model_object *object, uint64_t offset, const uint8_t *data, uint64_t bytes);

/* A page of zeros. */
extern const uint8_t model_zeros[PAGE_BYTES];

#endif
