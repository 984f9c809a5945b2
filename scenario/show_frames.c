/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames with data: what they are, how often they are counted, and who holds them. Frames in a row
 * that are held alike make one line.
 *
 * A holder is an entry of a task's tables, by its address, or a page of an object. An entry of a
 * shared table is there for each of the tasks, and counts once: it has a star.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "pt/format.h"
#include "scenario/show.h"

struct holder {
    pfn_t pfn;
    uint32_t label; /* of an object, when `is_object` */
    uint64_t place; /* an address, or a page of the object */
    uint16_t slot;
    bool is_object;
    bool is_shared; /* through a shared table */
};

struct holders {
    struct holder *all;
    size_t count;
    size_t capacity;
    bool failed;
    uint16_t slot; /* of the task that is walked */
};

static void add_holder(struct holders *holders, const struct holder *holder)
{
    if (holders->count == holders->capacity) {
        size_t capacity = holders->capacity == 0 ? 256 : 2 * holders->capacity;
        struct holder *grown = reallocarray(holders->all, capacity, sizeof(*grown));

        if (grown == NULL) {
            holders->failed = true;
            return;
        }
        holders->all = grown;
        holders->capacity = capacity;
    }
    holders->all[holders->count++] = *holder;
}

static int add_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct holders *holders = context;

    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        entry_t entry = table_entry(tree->ram, leaf->table, slot);
        struct holder holder = {.pfn = entry_pfn(entry),
                                .slot = holders->slot,
                                .place = leaf->va + (slot - leaf->first) * PAGE_BYTES,
                                .is_shared = table_is_shared(leaf->table)};

        if (entry_is_present(entry) && holder.pfn != tree->ram->zero_pfn)
            add_holder(holders, &holder);
    }
    return 0;
}

static void add_object(struct holders *holders, const struct object *object)
{
    for (uint64_t page = 0; page < object->page_count; page++) {
        struct holder holder = {
            .pfn = object->pages[page], .label = object->label, .place = page, .is_object = true};

        if (holder.pfn != OBJECT_PAGE_ABSENT)
            add_holder(holders, &holder);
    }
}

/* By frame, objects first, then tasks in their order. */
static int compare_holders(const void *one, const void *other)
{
    const struct holder *a = one;
    const struct holder *b = other;

    if (a->pfn != b->pfn)
        return a->pfn < b->pfn ? -1 : 1;
    if (a->is_object != b->is_object)
        return a->is_object ? -1 : 1;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static void find_holders(struct emulated *emulated, struct holders *holders)
{
    static const struct pt_visitor visitor = {.leaf = add_leaf};

    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        if (!emulated->slots[i].is_alive)
            continue;
        const struct pt_tree *tree = &emulated->slots[i].task->mm->tree;

        holders->slot = (uint16_t)i;
        pt_walk_const(tree, 0, tree->geometry->user_end, &visitor, holders);
    }
    for (const struct object *object = emulated->machine->object_list; object != NULL;
         object = object->next)
        add_object(holders, object);
    if (holders->count > 0)
        qsort(holders->all, holders->count, sizeof(holders->all[0]), compare_holders);
}

/* The holders of one frame. */
struct span {
    const struct holder *first;
    size_t count;
};

/* Is `next`, `step` frames on, held as `frame` is, each place so many pages on? */
static bool held_alike(const struct span *frame, const struct span *next, pfn_t step)
{
    if (frame->count != next->count)
        return false;
    for (size_t i = 0; i < frame->count; i++) {
        const struct holder *a = &frame->first[i];
        const struct holder *b = &next->first[i];
        uint64_t distance = a->is_object ? step : (uint64_t)step << PAGE_SHIFT;

        if (a->is_object != b->is_object || a->slot != b->slot || a->label != b->label ||
            a->is_shared != b->is_shared || a->place + distance != b->place)
            return false;
    }
    return true;
}

static bool frames_alike(const struct frame *one, const struct frame *other)
{
    return one->kind == other->kind && one->count == other->count && one->pins == other->pins;
}

static void show_holder(const struct emulated *emulated, const struct holder *holder, FILE *out)
{
    char text[SHOW_NAME_BYTES];

    if (holder->is_object) {
        const struct object object = {.label = holder->label};

        show_object_name(emulated, &object, text);
        fprintf(out, "%s page %" PRIu64, text, holder->place);
        return;
    }
    show_address(emulated, holder->place, text);
    fprintf(out, "%s %s%s", emulated_task_name(emulated, holder->slot), text,
            holder->is_shared ? "*" : "");
}

static void show_run(const struct emulated *emulated, const struct span *span, pfn_t first,
                     pfn_t last, FILE *out)
{
    const struct frame *frame = &emulated->machine->ram.frames[first];
    char run[SHOW_RUN_BYTES];

    show_pfn_run(first, last, run);
    fprintf(out, "%-15s %-5s %5" PRIu32 " %5" PRIu32, run, frame_kind_names[frame->kind],
            frame->count, frame->pins);
    for (size_t i = 0; i < span->count; i++) {
        fputs(i == 0 ? "  " : ", ", out);
        show_holder(emulated, &span->first[i], out);
    }
    fputc('\n', out);
}

static struct span span_of(const struct holders *holders, pfn_t pfn, size_t *at)
{
    while (*at < holders->count && holders->all[*at].pfn < pfn)
        ++*at;
    struct span span = {.first = *at < holders->count ? &holders->all[*at] : NULL};

    while (*at < holders->count && holders->all[*at].pfn == pfn) {
        ++*at;
        span.count++;
    }
    return span;
}

static bool has_data(const struct frame *frame)
{
    return frame->kind == FRAME_ANON || frame->kind == FRAME_SHM || frame->kind == FRAME_FILE;
}

/* From `first` on, a run of frames that are alike and held alike: the frame after it. */
static pfn_t run_end(const struct emulated *emulated, const struct holders *holders, pfn_t first,
                     const struct span *span, size_t *at)
{
    const struct ram *ram = &emulated->machine->ram;
    pfn_t pfn = first + 1;

    while (frame_is_touched(ram, pfn) && frames_alike(&ram->frames[first], &ram->frames[pfn])) {
        size_t next_at = *at;
        struct span next = span_of(holders, pfn, &next_at);

        if (!held_alike(span, &next, pfn - first))
            break;
        *at = next_at;
        pfn++;
    }
    return pfn;
}

static void show_runs(const struct emulated *emulated, const struct holders *holders, FILE *out)
{
    const struct ram *ram = &emulated->machine->ram;
    size_t at = 0;
    pfn_t end;

    for (pfn_t first = 0; first < ram->frame_count; first = frame_touched_after(ram, end - 1)) {
        end = first + 1;
        if (!has_data(&ram->frames[first]))
            continue;
        struct span span = span_of(holders, first, &at);

        end = run_end(emulated, holders, first, &span, &at);
        show_run(emulated, &span, first, end - 1, out);
    }
}

void show_frames(struct emulated *emulated, FILE *out)
{
    struct holders holders = {0};
    const struct ram *ram = &emulated->machine->ram;

    find_holders(emulated, &holders);
    if (holders.failed) {
        fputs("memory ran out\n", out);
    } else {
        fprintf(out, "%-15s %-5s %5s %5s  %s\n", "frames", "kind", "count", "pins", "held by");
        show_runs(emulated, &holders, out);
        fprintf(out,
                "%" PRIu32 " of %" PRIu32 " frames are free; * through a shared table, which "
                "counts once\n",
                ram_free_frames(ram), ram->frame_count);
    }
    free(holders.all);
}
