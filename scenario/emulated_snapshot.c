/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a task has mapped, and the numbers that only an emulator knows.
 *
 * The own part of an address space is left out everywhere: stack and program, and the tables of
 * spans in which there is nothing else. So numbers are those of what a scenario maps.
 */
#include <errno.h>
#include <stdlib.h>

#include "scenario/emulated_private.h"
#include "scenario/usage.h"

const uint32_t *emulated_map_counts(struct emulated *emulated)
{
    struct machine *machine = emulated->machine;

    if (emulated->map_counts == NULL)
        emulated->map_counts = calloc(machine->ram.frame_count, sizeof(*emulated->map_counts));
    if (emulated->map_counts != NULL)
        usage_count_maps(machine, emulated->map_counts);
    return emulated->map_counts;
}

void emulated_rights(const struct vma *vma, char rights[5])
{
    rights[0] = vma->flags & VMA_READ ? 'r' : '-';
    rights[1] = vma->flags & VMA_WRITE ? 'w' : '-';
    rights[2] = vma->flags & VMA_EXEC ? 'x' : '-';
    rights[3] = vma->flags & VMA_SHARED ? 's' : 'p';
    rights[4] = '\0';
}

static void describe_usage(const struct vma *vma, const uint32_t *map_counts,
                           struct scenario_vma *out)
{
    struct usage usage;

    usage_of_vma(vma, map_counts, &usage);
    out->has_usage = true;
    out->rss = usage.rss;
    out->pss = usage.pss;
    out->shared = usage.shared_clean + usage.shared_dirty;
    out->private = usage.private_clean + usage.private_dirty;
    out->anonymous = usage.anonymous;
    out->locked = usage.locked;
}

/* An offset means nothing where there is no object. */
static int add_vma(const struct vma *vma, const uint32_t *map_counts,
                   struct scenario_snapshot *snapshot)
{
    struct scenario_vma *out = snapshot_add(snapshot);

    if (out == NULL)
        return -ENOMEM;
    out->start = vma->start;
    out->end = vma->end;
    emulated_rights(vma, out->rights);
    out->is_file = vma->object != NULL;
    out->offset_bytes = out->is_file ? vma->object_page << PAGE_SHIFT : 0;
    if (map_counts != NULL)
        describe_usage(vma, map_counts, out);
    return 0;
}

static int add_vmas(struct emulated *emulated, struct mm *mm, bool with_usage,
                    struct scenario_snapshot *snapshot)
{
    const uint32_t *map_counts = with_usage ? emulated_map_counts(emulated) : NULL;
    int error = with_usage && map_counts == NULL ? -ENOMEM : 0;

    for (struct vma *vma = vma_look(mm, 0); error == 0 && vma != NULL; vma = vma_next(vma)) {
        if (!emulated_is_own(emulated, vma))
            error = add_vma(vma, map_counts, snapshot);
    }
    return error;
}

int emulated_snapshot(struct backend *backend, uint16_t task, bool with_usage,
                      struct scenario_snapshot *snapshot)
{
    struct emulated *emulated = emulated_of(backend);
    const struct task *found = emulated_task(backend, task);

    snapshot->count = 0;
    if (found == NULL)
        return -ESRCH;
    machine_lock(emulated->machine);
    int error = add_vmas(emulated, found->mm, with_usage, snapshot);

    machine_unlock(emulated->machine);
    return error;
}

/* --- tables --- */

struct table_count {
    const struct emulated *emulated;
    uint64_t shared;
    uint64_t alone;
};

/* Does the task map something in the span, beside its own part? */
static bool span_is_used(const struct emulated *emulated, struct mm *mm, va_t va)
{
    const struct geometry *geometry = mm->tree.geometry;
    va_t start = geometry_span_start(geometry, va);
    va_t end = start + geometry_span_bytes(geometry);

    for (struct vma *vma = vma_look(mm, start); vma != NULL && vma->start < end;
         vma = vma_next(vma)) {
        if (!emulated_is_own(emulated, vma))
            return true;
    }
    return false;
}

static int count_table(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    struct table_count *count = context;

    if (!span_is_used(count->emulated, mm_of_tree(tree), leaf->va))
        return 0;
    if (table_is_shared(leaf->table))
        count->shared++;
    else
        count->alone++;
    return 0;
}

/* The operation's range, or all there is where it has none. */
static void range_of(struct backend *backend, const struct scenario_operation *operation,
                     va_t *start, va_t *end)
{
    va_t user_end = emulated_of(backend)->user_end;

    *start = 0;
    *end = user_end;
    if (operation->bytes == 0 ||
        !backend->ops->resolve(backend, operation->task, &operation->address, start))
        return;
    *start = min_u64(*start, user_end);
    *end = *start + min_u64(operation->bytes, user_end - *start);
}

static bool count_tables(struct backend *backend, const struct scenario_operation *operation,
                         uint64_t *value)
{
    static const struct pt_visitor visitor = {.leaf = count_table};
    struct table_count count = {.emulated = emulated_of(backend)};
    const struct task *task = emulated_task(backend, operation->task);
    va_t start;
    va_t end;

    if (task == NULL)
        return false;
    range_of(backend, operation, &start, &end);
    machine_lock(task->machine);
    pt_walk_const(&task->mm->tree, start, end, &visitor, &count);
    machine_unlock(task->machine);
    *value = operation->quantity == QUANTITY_TABLES ? count.alone : count.shared;
    return true;
}

/* --- frames --- */

struct frame_count {
    const struct ram *ram;
    uint8_t *seen; /* a bit for each frame */
    uint64_t count;
};

static void see_frame(struct frame_count *count, pfn_t pfn)
{
    uint8_t bit = (uint8_t)(1u << (pfn % 8));

    if (pfn == count->ram->zero_pfn || (count->seen[pfn / 8] & bit) != 0)
        return;
    count->seen[pfn / 8] |= bit;
    count->count++;
}

static int see_leaf(void *context, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    for (unsigned slot = leaf->first; slot < leaf->end; slot++) {
        entry_t entry = table_entry(tree->ram, leaf->table, slot);

        if (entry_is_present(entry))
            see_frame(context, entry_pfn(entry));
    }
    return 0;
}

static void see_mappings(const struct emulated *emulated, struct mm *mm, struct frame_count *count)
{
    static const struct pt_visitor visitor = {.leaf = see_leaf};

    for (struct vma *vma = vma_look(mm, 0); vma != NULL; vma = vma_next(vma)) {
        if (!emulated_is_own(emulated, vma))
            pt_walk_const(&mm->tree, vma->start, vma->end, &visitor, count);
    }
}

static void see_objects(const struct emulated *emulated, struct frame_count *count)
{
    for (const struct object *object = emulated->machine->object_list; object != NULL;
         object = object->next) {
        for (uint64_t page = 0; page < object->page_count; page++) {
            if (object->pages[page] != OBJECT_PAGE_ABSENT &&
                emulated_program_path(emulated, object->label) == NULL)
                see_frame(count, object->pages[page]);
        }
    }
}

/* Frames with data of the scenario: mapped by it, in its files, or pinned. */
static bool count_frames(struct emulated *emulated, uint64_t *value)
{
    const struct ram *ram = &emulated->machine->ram;
    struct frame_count count = {.ram = ram, .seen = calloc(ram->frame_count / 8 + 1, 1)};

    if (count.seen == NULL)
        return false;
    machine_lock(emulated->machine);
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        if (emulated->slots[i].is_alive)
            see_mappings(emulated, emulated->slots[i].task->mm, &count);
    }
    see_objects(emulated, &count);
    for (unsigned i = 0; i < SCENARIO_MOST_PINS; i++) {
        if (emulated->pins[i].machine != NULL)
            see_frame(&count, emulated->pins[i].pfn);
    }
    machine_unlock(emulated->machine);
    free(count.seen);
    *value = count.count;
    return true;
}

bool emulated_quantity(struct backend *backend, const struct scenario_operation *operation,
                       uint64_t *value)
{
    struct emulated *emulated = emulated_of(backend);
    enum event event;

    switch (operation->quantity) {
    case QUANTITY_TABLES:
    case QUANTITY_SHARED_TABLES:
        return count_tables(backend, operation, value);
    case QUANTITY_FRAMES:
        return count_frames(emulated, value);
    case QUANTITY_EVENT:
        event = operation->text != NULL ? event_find(operation->text) : EVENT_COUNT;
        if (event == EVENT_COUNT)
            return false;
        *value = emulated_events(emulated, event);
        return true;
    default:
        return false;
    }
}
