/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the last operation changed, by kind: VMAs, leaf tables, entries, frames. A line begins with
 * the task that has the thing. "+" is new, "-" is gone; everything else is written "before ->
 * after".
 *
 * Entries, and frames, in a row that changed alike make one line. A shared table's entries are
 * those of each task that has it, and are written for each.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "pt/format.h"
#include "scenario/picture_private.h"
#include "scenario/show.h"

/* One row that differs: NULL stands for what is not there. */
struct change {
    const struct picture_row *old;
    const struct picture_row *new;
};

struct differ {
    const struct emulated *emulated;
    FILE *out;
    enum picture_kind kind;
    struct change first; /* of a run that is not written yet */
    struct change last;
    size_t written; /* lines of this kind */
};

static const struct picture_row *either(const struct change *change)
{
    return change->old != NULL ? change->old : change->new;
}

static char sign_of(const struct change *change)
{
    if (change->old == NULL)
        return '+';
    return change->new == NULL ? '-' : ' ';
}

/* Begins a line; before the first of its kind comes a heading. */
static void begin_line(struct differ *differ, const char *heading)
{
    if (differ->written++ == 0)
        fprintf(differ->out, "%s\n", heading);
    fputs("  ", differ->out);
}

/* --- VMAs --- */

static void write_vma(const struct differ *differ, const struct picture_row *row, char sign)
{
    const struct vma vma = {.flags = row->as.vma.flags};
    char start[SHOW_ADDRESS_BYTES];
    char end[SHOW_ADDRESS_BYTES];
    char name[SHOW_NAME_BYTES];
    char rights[5];

    show_address(differ->emulated, row->place, start);
    show_address(differ->emulated, row->as.vma.end, end);
    emulated_rights(&vma, rights);
    fprintf(differ->out, "%s %c %s-%s %s", emulated_task_name(differ->emulated, row->slot), sign,
            start, end, rights);
    if (row->as.vma.label != UINT32_MAX) {
        const struct object object = {.label = row->as.vma.label};

        show_object_name(differ->emulated, &object, name);
        fprintf(differ->out, " %s page %" PRIu64, name, row->as.vma.object_page);
    }
    fputc('\n', differ->out);
}

static void change_vma(struct differ *differ, const struct change *change)
{
    if (change->old != NULL) {
        begin_line(differ, "VMAs");
        write_vma(differ, change->old, '-');
    }
    if (change->new != NULL) {
        begin_line(differ, "VMAs");
        write_vma(differ, change->new, '+');
    }
}

/* --- tables --- */

static void write_table(const struct differ *differ, const struct picture_row *row)
{
    fprintf(differ->out, "table %" PRIu32, row->as.table.pfn);
    if (row->as.table.share_count > 1)
        fprintf(differ->out, " shared by %" PRIu32, row->as.table.share_count);
    if (!row->as.table.writable)
        fputs(" read-only above", differ->out);
}

static void change_table(struct differ *differ, const struct change *change)
{
    const struct picture_row *row = either(change);
    char span[SHOW_ADDRESS_BYTES];

    begin_line(differ, "leaf tables");
    show_address(differ->emulated, row->place, span);
    fprintf(differ->out, "%s %c %s ", emulated_task_name(differ->emulated, row->slot),
            sign_of(change), span);
    write_table(differ, row);
    if (change->old != NULL && change->new != NULL) {
        fputs(" -> ", differ->out);
        write_table(differ, change->new);
    }
    fputc('\n', differ->out);
}

/* --- entries --- */

static bool entry_continues(const struct picture_row *last, const struct picture_row *next)
{
    if (last == NULL || next == NULL)
        return last == next;
    entry_t step = (entry_t)1 << ENTRY_PFN_SHIFT;
    entry_t entry = last->as.entry.entry;
    bool counted = entry_is_present(entry) && last->as.entry.kind != FRAME_ZERO;

    return last->as.entry.kind == next->as.entry.kind &&
           next->as.entry.entry == entry + (counted ? step : 0);
}

/* The kind is the one that the frame had then, so it is written here. */
static void write_entries(const struct differ *differ, const struct picture_row *first,
                          const struct picture_row *last)
{
    char text[ENTRY_TEXT_BYTES] = "none";

    if (first != NULL && last != NULL) {
        entry_run_format(text, sizeof(text), first->as.entry.entry, last->as.entry.entry, NULL);
        if (entry_is_present(first->as.entry.entry))
            fprintf(differ->out, "%s ", frame_kind_names[first->as.entry.kind]);
    }
    fputs(text, differ->out);
}

static void write_entry_run(struct differ *differ)
{
    const struct picture_row *first = either(&differ->first);
    const struct picture_row *last = either(&differ->last);
    char start[SHOW_ADDRESS_BYTES];
    char end[SHOW_ADDRESS_BYTES];

    begin_line(differ, "entries");
    show_address(differ->emulated, first->place, start);
    show_address(differ->emulated, last->place + PAGE_BYTES, end);
    fprintf(differ->out, "%s   %s-%s ", emulated_task_name(differ->emulated, first->slot), start,
            end);
    write_entries(differ, differ->first.old, differ->last.old);
    fputs(" -> ", differ->out);
    write_entries(differ, differ->first.new, differ->last.new);
    fputc('\n', differ->out);
}

/* --- frames --- */

static bool frames_equal(const struct picture_row *one, const struct picture_row *other)
{
    if (one == NULL || other == NULL)
        return one == other;
    return one->as.frame.kind == other->as.frame.kind &&
           one->as.frame.count == other->as.frame.count &&
           one->as.frame.pins == other->as.frame.pins;
}

static void write_counts(const struct differ *differ, const struct picture_row *row)
{
    fprintf(differ->out, "count %" PRIu32, row->as.frame.count);
    if (row->as.frame.pins != 0)
        fprintf(differ->out, " pins %" PRIu32, row->as.frame.pins);
}

static void write_frame_run(struct differ *differ)
{
    const struct change *change = &differ->first;
    const struct picture_row *row = either(change);
    char run[SHOW_RUN_BYTES];

    begin_line(differ, "frames");
    show_pfn_run((pfn_t)row->place, (pfn_t)either(&differ->last)->place, run);
    fprintf(differ->out, "%c %s %s ", sign_of(change), run, frame_kind_names[row->as.frame.kind]);
    write_counts(differ, row);
    if (change->old != NULL && change->new != NULL) {
        fputs(" -> ", differ->out);
        write_counts(differ, change->new);
    }
    fputc('\n', differ->out);
}

/* --- runs of entries or frames --- */

static bool continues_run(const struct differ *differ, const struct change *next)
{
    const struct change *last = &differ->last;
    const struct picture_row *a = either(last);
    const struct picture_row *b = either(next);

    if (differ->kind == PICTURE_FRAMES)
        return a->place + 1 == b->place && frames_equal(last->old, next->old) &&
               frames_equal(last->new, next->new);
    return a->slot == b->slot && a->place + PAGE_BYTES == b->place &&
           entry_continues(last->old, next->old) && entry_continues(last->new, next->new);
}

static bool has_run(const struct differ *differ)
{
    return either(&differ->first) != NULL;
}

static void write_run(struct differ *differ)
{
    if (differ->kind == PICTURE_FRAMES)
        write_frame_run(differ);
    else
        write_entry_run(differ);
    differ->first = (struct change){0};
}

static void add_to_run(struct differ *differ, const struct change *change)
{
    if (has_run(differ) && !continues_run(differ, change))
        write_run(differ);
    if (!has_run(differ))
        differ->first = *change;
    differ->last = *change;
}

/* --- rows of any kind --- */

typedef void write_change(struct differ *differ, const struct change *change);

static int compare_keys(const struct picture_row *one, const struct picture_row *other)
{
    if (one->slot != other->slot)
        return one->slot < other->slot ? -1 : 1;
    return (one->place > other->place) - (one->place < other->place);
}

static bool vmas_equal(const struct picture_row *one, const struct picture_row *other)
{
    return one->as.vma.end == other->as.vma.end && one->as.vma.label == other->as.vma.label &&
           one->as.vma.object_page == other->as.vma.object_page &&
           ((one->as.vma.flags ^ other->as.vma.flags) & ~VMA_STICKY) == 0;
}

static bool rows_equal(enum picture_kind kind, const struct picture_row *one,
                       const struct picture_row *other)
{
    switch (kind) {
    case PICTURE_VMAS:
        return vmas_equal(one, other);
    case PICTURE_TABLES:
        return one->as.table.pfn == other->as.table.pfn &&
               one->as.table.share_count == other->as.table.share_count &&
               one->as.table.writable == other->as.table.writable;
    case PICTURE_ENTRIES:
        return one->as.entry.entry == other->as.entry.entry;
    default:
        return frames_equal(one, other);
    }
}

static size_t compare_lists(struct differ *differ, enum picture_kind kind,
                            const struct picture *before, const struct picture *after)
{
    static write_change *const writers[PICTURE_KINDS] = {
        [PICTURE_VMAS] = change_vma,
        [PICTURE_TABLES] = change_table,
        [PICTURE_ENTRIES] = add_to_run,
        [PICTURE_FRAMES] = add_to_run,
    };
    const struct picture_rows *old = &before->of[kind];
    const struct picture_rows *new = &after->of[kind];
    size_t i = 0;
    size_t j = 0;

    differ->kind = kind;
    differ->written = 0;
    while (i < old->count || j < new->count) {
        int order = i == old->count   ? 1
                    : j == new->count ? -1
                                      : compare_keys(&old->rows[i], &new->rows[j]);
        struct change change = {.old = order <= 0 ? &old->rows[i] : NULL,
                                .new = order >= 0 ? &new->rows[j] : NULL};

        i += order <= 0;
        j += order >= 0;
        if (order != 0 || !rows_equal(kind, change.old, change.new))
            writers[kind](differ, &change);
    }
    if (has_run(differ))
        write_run(differ);
    return differ->written;
}

static void compare_pictures(const struct picture *old, const struct picture *new,
                             const struct emulated *emulated, FILE *out)
{
    struct differ differ = {.emulated = emulated, .out = out};
    size_t written = 0;

    for (unsigned kind = 0; kind < PICTURE_KINDS; kind++)
        written += compare_lists(&differ, (enum picture_kind)kind, old, new);
    if (written == 0)
        fputs("nothing changed\n", out);
}

void picture_show_diff(const struct picture *before, struct emulated *emulated, FILE *out)
{
    struct picture *now = picture_create();

    if (before == NULL || !before->taken) {
        fputs("no operation was watched yet\n", out);
    } else if (now != NULL) {
        picture_take_locked(now, emulated);
        if (before->failed || now->failed)
            fputs("memory ran out\n", out);
        else
            compare_pictures(before, now, emulated, out);
    }
    picture_free(now);
}
