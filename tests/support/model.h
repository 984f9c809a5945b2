/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flat model of memory: what every byte of every address space should be, kept in the plainest
 * way there is, so that the emulated kernel can be compared with it after every operation.
 *
 *   space    one address space: its mapped pages in order, each with its rights, with what backs
 *            it, and, once it was written privately, with the block of its own bytes
 *   object   the bytes of shared memory or of a file
 *   block    4 KiB that are one page's alone. fork gives the child a block of its own at once, so
 *            nothing is ever shared here but with a pin: what a pin sees is what its owner sees
 *
 * There are no tables, no sharing, no laziness. Where VMAs begin, which growth of a stack asks for,
 * is taken over from the real ones after each comparison.
 */
#ifndef FORKLAB_TESTS_MODEL_H
#define FORKLAB_TESTS_MODEL_H

#include "pager/mm.h"
#include "pager/object.h"

struct model_block {
    uint32_t references; /* a page and pins */
    uint8_t bytes[PAGE_BYTES];
};

struct model_object {
    struct model_object *next;
    struct object *real;
    uint64_t page_count;
    bool read_only;
    bool gone; /* nothing maps it any more, and it has no opener: `real` is stale */
    uint8_t *bytes;
    bool *written; /* by page: its contents differ from what is read in */
};

/* Flags of a page that the model knows. */
#define MODEL_FLAGS (VMA_PROTECTION | VMA_SHARED | VMA_MAY_WRITE | VMA_GROWS_DOWN)

struct model_page {
    uint64_t number;
    uint32_t flags;
    struct model_object *object; /* NULL: zeros */
    uint64_t object_page;
    bool begins; /* a mapping begins here: told by the real one, which knows what was merged */
    struct model_block *own; /* NULL: what backs it shows */
};

struct model_space {
    struct model_page *pages;
    size_t count;
    size_t capacity;
    va_t user_end;
    va_t map_base;
    va_t map_top;
    va_t heap_start;
    va_t heap_end;
    va_t stack_pointer;
    uint64_t stack_limit_bytes;
    uint64_t stack_gap_bytes;
    bool keeps_gaps; /* new mappings stay away from those that grow down */
};

/* What is mapped at a range. */
struct model_backing {
    uint32_t flags;
    struct model_object *object;
    uint64_t object_page;
};

/* An empty space with the layout of a real one; what fork makes of one; and its end. */
void space_begin(struct model_space *space, const struct mm *mm);
void space_copy(struct model_space *space, const struct model_space *from);
void space_end(struct model_space *space);

/* Mappings. */
void space_map(struct model_space *space, va_t start, uint64_t bytes,
               const struct model_backing *backing);
void space_unmap(struct model_space *space, va_t start, uint64_t bytes);

/* As mprotect(2): what lies before the first hole or refusal is changed. -ENOMEM, -EACCES. */
int space_protect(struct model_space *space, va_t start, uint64_t bytes, uint32_t protection);

/* The page that holds `va`, or NULL; the first page at or above it, as a position. */
struct model_page *space_page(const struct model_space *space, va_t va);
size_t space_position(const struct model_space *space, va_t va);

bool space_any_in(const struct model_space *space, va_t start, va_t end);
bool space_has_gap(const struct model_space *space, uint64_t bytes);

/* Up to where space below the page at a position is free for others. */
va_t space_free_below(const struct model_space *space, size_t position);

/* May the page be reached so? FAULT_PERMITTED, the stack having grown where it must; or why not. */
enum event space_resolve(struct model_space *space, va_t va, bool write);

/*
 * An access of up to 8 bytes, which may straddle two pages: all or nothing. The first page that
 * cannot be reached is told at `address`.
 */
enum event space_access(struct model_space *space, va_t va, unsigned bytes, bool write,
                        uint64_t *value, va_t *address);

/* The bytes of a mapped page; for writing, of one that may be written. */
const uint8_t *space_bytes(const struct model_page *page);
uint8_t *space_bytes_to_write(struct model_page *page);

/* Gives a page of a private mapping a block of its own, as a pin does. */
struct model_block *space_own(struct model_page *page);
void block_put(struct model_block *block);

/* An object with the bytes given (NULL: zeros). */
struct model_object *model_object_new(struct object *real, uint64_t page_count,
                                      const uint8_t *bytes);
void model_object_free(struct model_object *object);

/*
 * Does the real one agree, in its mappings and in every byte that is there? Looks without touching:
 * no page is faulted in. `why` says where not.
 */
bool space_agrees_with_mappings(const struct model_space *space, struct mm *mm, char *why,
                                size_t why_bytes);
/* Notes where the real one's VMAs begin; their mappings agree. */
void space_note_beginnings(struct model_space *space, struct mm *mm);

bool space_agrees_with_contents(const struct model_space *space, struct mm *mm, char *why,
                                size_t why_bytes);
bool object_agrees(const struct model_object *object, const struct ram *ram, char *why,
                   size_t why_bytes);

#endif
