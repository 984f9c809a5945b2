/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures are taken here; what two of them differ in is said in show_diff.c. */
#include "scenario/picture_private.h"

#include <stdlib.h>

enum { FIRST_ROWS = 64 };

struct picture *picture_create(void)
{
    return calloc(1, sizeof(struct picture));
}

void picture_free(struct picture *picture)
{
    if (picture == NULL)
        return;
    for (unsigned kind = 0; kind < PICTURE_KINDS; kind++)
        free(picture->of[kind].rows);
    free(picture);
}

static void add_row(struct picture *picture, enum picture_kind kind, const struct picture_row *row)
{
    struct picture_rows *rows = &picture->of[kind];

    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity == 0 ? FIRST_ROWS : 2 * rows->capacity;
        struct picture_row *grown = reallocarray(rows->rows, capacity, sizeof(*grown));

        if (grown == NULL) {
            picture->failed = true;
            return;
        }
        rows->rows = grown;
        rows->capacity = capacity;
    }
    rows->rows[rows->count++] = *row;
}

/* --- address spaces --- */

struct painter {
    struct picture *picture;
    const struct emulated *emulated;
    uint16_t slot;
    va_t last_span; /* whose table was drawn last */
};

static void draw_vma(const struct painter *painter, const struct vma *vma)
{
    struct picture_row row = {.slot = painter->slot, .place = vma->start};

    row.as.vma.end = vma->end;
    row.as.vma.flags = vma->flags;
    row.as.vma.label = vma->object != NULL ? vma->object->label : UINT32_MAX;
    row.as.vma.object_page = vma->object != NULL ? vma->object_page : 0;
    add_row(painter->picture, PICTURE_VMAS, &row);
}

static void draw_frame(struct picture *picture, const struct ram *ram, pfn_t pfn)
{
    struct picture_row row = {.place = pfn};

    if (pfn == ram->zero_pfn)
        return;
    row.as.frame.kind = ram->frames[pfn].kind;
    row.as.frame.count = ram->frames[pfn].count;
    row.as.frame.pins = ram->frames[pfn].pins;
    add_row(picture, PICTURE_FRAMES, &row);
}

static void draw_entry(struct painter *painter, const struct ram *ram, va_t va, entry_t entry)
{
    struct picture_row row = {.slot = painter->slot, .place = va};

    row.as.entry.entry = entry;
    if (entry_is_present(entry)) {
        row.as.entry.kind = ram->frames[entry_pfn(entry)].kind;
        draw_frame(painter->picture, ram, entry_pfn(entry));
    }
    add_row(painter->picture, PICTURE_ENTRIES, &row);
}

static void draw_table(struct painter *painter, const struct pt_leaf *leaf, va_t span)
{
    struct picture_row row = {.slot = painter->slot, .place = span};

    row.as.table.pfn = leaf->table->pfn;
    row.as.table.share_count = leaf->table->share_count;
    row.as.table.writable = leaf->upper_writable;
    add_row(painter->picture, PICTURE_TABLES, &row);
}

/* Comes by once for each VMA in the table's span. */
static int draw_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct painter *painter = context;
    va_t span = geometry_span_start(tree->geometry, leaf->va);

    if (span != painter->last_span)
        draw_table(painter, leaf, span);
    painter->last_span = span;
    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        entry_t entry = table_entry(tree->ram, leaf->table, slot);

        if (!entry_is_none(entry))
            draw_entry(painter, tree->ram, leaf->va + (slot - leaf->first) * PAGE_BYTES, entry);
    }
    return 0;
}

static void draw_task(struct painter *painter, struct mm *mm)
{
    static const struct pt_visitor visitor = {.leaf = draw_leaf};

    painter->last_span = UINT64_MAX;
    for (struct vma *vma = vma_look(mm, 0); vma != NULL; vma = vma_next(vma)) {
        if (emulated_is_own(painter->emulated, vma))
            continue;
        draw_vma(painter, vma);
        pt_walk_const(&mm->tree, vma->start, vma->end, &visitor, painter);
    }
}

/* --- frames --- */

static void draw_objects(struct picture *picture, const struct emulated *emulated)
{
    for (const struct object *object = emulated->machine->object_list; object != NULL;
         object = object->next) {
        if (emulated_program_path(emulated, object->label) != NULL)
            continue;
        for (uint64_t page = 0; page < object->page_count; page++) {
            if (object->pages[page] != OBJECT_PAGE_ABSENT)
                draw_frame(picture, &emulated->machine->ram, object->pages[page]);
        }
    }
    for (unsigned i = 0; i < SCENARIO_MOST_PINS; i++) {
        if (emulated->pins[i].machine != NULL)
            draw_frame(picture, &emulated->machine->ram, emulated->pins[i].pfn);
    }
}

static int compare_rows(const void *one, const void *other)
{
    const struct picture_row *a = one;
    const struct picture_row *b = other;

    return (a->place > b->place) - (a->place < b->place);
}

/* A frame was drawn once for each that holds it. */
static void sort_frames(struct picture_rows *frames)
{
    size_t kept = 0;

    if (frames->count > 0)
        qsort(frames->rows, frames->count, sizeof(frames->rows[0]), compare_rows);
    for (size_t i = 0; i < frames->count; i++) {
        if (kept == 0 || frames->rows[kept - 1].place != frames->rows[i].place)
            frames->rows[kept++] = frames->rows[i];
    }
    frames->count = kept;
}

void picture_take_locked(struct picture *picture, struct emulated *emulated)
{
    struct painter painter = {.picture = picture, .emulated = emulated};

    for (unsigned kind = 0; kind < PICTURE_KINDS; kind++)
        picture->of[kind].count = 0;
    picture->failed = false;
    picture->taken = true;
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        painter.slot = (uint16_t)i;
        if (emulated->slots[i].is_alive)
            draw_task(&painter, emulated->slots[i].task->mm);
    }
    draw_objects(picture, emulated);
    sort_frames(&picture->of[PICTURE_FRAMES]);
}

void picture_take(struct picture *picture, struct emulated *emulated)
{
    machine_lock(emulated->machine);
    picture_take_locked(picture, emulated);
    machine_unlock(emulated->machine);
}
