/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures of a span; see picture.h. */
#include "tests/support/picture.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Numbers from 1 for the frames met so far. */
struct numbering {
    pfn_t met[512];
    unsigned count;
};

struct drawing {
    struct picture picture;
    struct numbering tables;
    struct numbering frames;
};

static unsigned number_of(struct numbering *numbering, pfn_t pfn)
{
    for (unsigned i = 0; i < numbering->count; i++) {
        if (numbering->met[i] == pfn)
            return i + 1;
    }
    numbering->met[numbering->count++] = pfn;
    return numbering->count;
}

__attribute__((format(printf, 2, 3))) static void draw(struct drawing *drawing, const char *format,
                                                       ...)
{
    size_t used = strlen(drawing->picture.text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(drawing->picture.text + used, sizeof(drawing->picture.text) - used, format,
              arguments);
    va_end(arguments);
}

static void draw_present(struct drawing *drawing, const struct ram *ram, entry_t entry)
{
    static const char *const names[FRAME_KINDS] = {
        [FRAME_ANON] = "f", [FRAME_SHM] = "shm", [FRAME_FILE] = "file"};
    const struct frame *frame = &ram->frames[entry_pfn(entry)];

    if (entry_pfn(entry) == ram->zero_pfn)
        draw(drawing, " | zero");
    else
        draw(drawing, " | %s%ux%u", names[frame->kind],
             number_of(&drawing->frames, entry_pfn(entry)), frame->count);
    draw(drawing, " r%c%s%s%s%s", entry_is_writable(entry) ? 'w' : '-',
         entry_is_accessed(entry) ? "A" : "", entry_is_dirty(entry) ? "D" : "",
         entry_is_exclusive(entry) ? "X" : "", entry_is_lazy_free(entry) ? "L" : "");
    if (frame->pins > 0)
        draw(drawing, " p%u", frame->pins);
}

static void draw_entry(struct drawing *drawing, const struct ram *ram, entry_t entry)
{
    if (entry_is_present(entry))
        draw_present(drawing, ram, entry);
    else if (entry_is_swap(entry))
        draw(drawing, " | swap %u.%u", entry_swap_type(entry), entry_swap_offset(entry));
    else
        draw(drawing, " | %s", entry_is_guard(entry) ? "guard" : "none");
}

static void draw_tree(struct drawing *drawing, const struct pt_tree *tree, va_t va, unsigned pages)
{
    struct pt_leaf leaf;

    if (!pt_lookup(tree, va, &leaf)) {
        draw(drawing, "no table\n");
        return;
    }
    draw(drawing, "T%ux%u r%c", number_of(&drawing->tables, leaf.table->pfn),
         leaf.table->share_count, leaf.upper_writable ? 'w' : '-');
    for (unsigned page = 0; page < pages; page++)
        draw_entry(drawing, tree->ram, table_entry(tree->ram, leaf.table, leaf.first + page));
    draw(drawing, "\n");
}

struct picture picture_of(const struct pt_tree *const trees[], const char *names, va_t va,
                          unsigned pages)
{
    struct drawing drawing = {0};

    for (size_t i = 0; i < strlen(names); i++) {
        draw(&drawing, "%c: ", names[i]);
        draw_tree(&drawing, trees[i], va, pages);
    }
    return drawing.picture;
}
