/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a picture is made of: rows in the order of their keys, a list a kind. */
#ifndef FORKLAB_SCENARIO_PICTURE_PRIVATE_H
#define FORKLAB_SCENARIO_PICTURE_PRIVATE_H

#include "scenario/emulated_private.h"
#include "scenario/picture.h"

enum picture_kind { PICTURE_VMAS, PICTURE_TABLES, PICTURE_ENTRIES, PICTURE_FRAMES, PICTURE_KINDS };

/* One row of any kind. The key: `slot`, then `place`. */
struct picture_row {
    uint16_t slot;  /* the task; 0 of a frame */
    uint64_t place; /* start of a VMA or of a table's span, address of an entry, a pfn */
    union {
        struct {
            va_t end;
            uint32_t flags;
            uint32_t label; /* of its object; UINT32_MAX: it has none */
            uint64_t object_page;
        } vma;
        struct {
            pfn_t pfn;
            uint32_t share_count;
            bool writable; /* above */
        } table;
        struct {
            entry_t entry;
            uint32_t kind; /* enum frame_kind */
        } entry;
        struct {
            uint32_t kind;
            uint32_t count;
            uint32_t pins;
        } frame;
    } as;
};

struct picture_rows {
    struct picture_row *rows;
    size_t count;
    size_t capacity;
};

struct picture {
    struct picture_rows of[PICTURE_KINDS];
    bool taken;
    bool failed; /* memory ended: the picture is not complete */
};

void picture_take_locked(struct picture *picture, struct emulated *emulated);

#endif
