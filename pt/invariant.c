/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The invariants of frames and of what entries permit, and the list of all; see invariant.h. */
#include "pt/invariant.h"

#include <stdio.h>

#include "pt/invariant_check.h"

/* frames-conserved */

static bool frame_is_sound(const struct check *check, pfn_t pfn)
{
    const struct frame *frame = &check->ram->frames[pfn];

    if (frame->kind >= FRAME_KINDS)
        return check_fails(check, "frame %u is of unknown kind %u", pfn, frame->kind);
    if (frame->pins > frame->count)
        return check_fails(check, "frame %u has %u pins and count %u", pfn, frame->pins,
                           frame->count);
    if (frame->kind <= FRAME_TABLE && frame->count != 0)
        return check_fails(check, "frame %u is free or a table and has count %u", pfn,
                           frame->count);
    if ((frame->kind == FRAME_ZERO) != (pfn == check->ram->zero_pfn))
        return check_fails(check, "frame %u: the zero frame is %u", pfn, check->ram->zero_pfn);
    if (frame->kind != FRAME_TABLE && frame->kind != FRAME_POOL)
        return true;
    if (frame->table == NULL || frame->table->pfn != pfn)
        return check_fails(check, "frame %u is a table's and has no header of its own", pfn);
    return true;
}

/* Does the frame belong into that list? */
static bool suits_list(const struct ram *ram, const struct frame_list *list, pfn_t pfn)
{
    const struct frame *frame = &ram->frames[pfn];

    if (list == &ram->free)
        return frame->kind == FRAME_FREE;
    return frame->kind == FRAME_POOL && frame->table != NULL &&
           (frame->table->upper != NULL) == (list == &ram->upper_pool);
}

static bool list_is_whole(const struct check *check, const struct frame_list *list,
                          const char *name)
{
    const struct ram *ram = check->ram;
    pfn_t previous = PFN_NONE;
    pfn_t pfn = list->head;
    uint32_t length = 0;

    for (; pfn != PFN_NONE && length < list->count; length++) {
        if (!frame_is_touched(ram, pfn) || !suits_list(ram, list, pfn))
            return check_fails(check, "frame %u does not belong into the %s", pfn, name);
        if (ram->frames[pfn].previous != previous)
            return check_fails(check, "%s: frame %u says that %u is before it, not %u", name, pfn,
                               ram->frames[pfn].previous, previous);
        previous = pfn;
        pfn = ram->frames[pfn].next;
    }
    if (length != list->count || pfn != PFN_NONE || list->tail != previous)
        return check_fails(check, "%s: of %u frames %u were found, the last is %u, not %u", name,
                           list->count, length, previous, list->tail);
    return true;
}

static bool frames_conserved(const struct ram *ram, const uint32_t *outside, char *why,
                             size_t why_bytes)
{
    struct check check = check_of(ram, outside, why, why_bytes);
    uint64_t by_kind[FRAME_KINDS] = {0};

    if (ram->watermark > ram->table_floor || ram->table_floor > ram->frame_count)
        return check_fails(&check, "watermark %u, table floor %u of %u frames", ram->watermark,
                           ram->table_floor, ram->frame_count);
    if (!check_frames(&check, frame_is_sound) || !list_is_whole(&check, &ram->free, "free list") ||
        !list_is_whole(&check, &ram->leaf_pool, "pool of leaf tables") ||
        !list_is_whole(&check, &ram->upper_pool, "pool of upper tables"))
        return false;
    for (pfn_t pfn = 0; pfn < ram->frame_count; pfn = frame_touched_after(ram, pfn))
        by_kind[ram->frames[pfn].kind]++;
    if (by_kind[FRAME_FREE] != ram->free.count)
        return check_fails(&check, "%llu frames are free, %u of them in the list",
                           (unsigned long long)by_kind[FRAME_FREE], ram->free.count);
    if (by_kind[FRAME_POOL] != (uint64_t)ram->leaf_pool.count + ram->upper_pool.count)
        return check_fails(&check, "%llu frames are pooled, %u + %u of them in the pools",
                           (unsigned long long)by_kind[FRAME_POOL], ram->leaf_pool.count,
                           ram->upper_pool.count);
    return true;
}

/* frame-counts */

static bool tally_frame(const struct check *check, const struct table *table, unsigned slot,
                        entry_t entry)
{
    (void)slot;
    if (mapped_frame(check->ram, table, entry) != NULL)
        check_tally(check, entry_pfn(entry))->references++;
    return true;
}

static bool count_is_right(const struct check *check, pfn_t pfn)
{
    const struct frame *frame = &check->ram->frames[pfn];
    uint32_t outside = check->outside == NULL ? 0 : check->outside[pfn];
    uint32_t entries = check_tally(check, pfn)->references;

    if (frame->kind <= FRAME_ZERO) {
        return outside == 0 ||
               check_fails(check, "frame %u is no data and is held from outside", pfn);
    }
    if (frame->count != entries + outside)
        return check_fails(check, "frame %u: count %u, but %u entries and %u from outside", pfn,
                           frame->count, entries, outside);
    return frame->count > 0 || check_fails(check, "frame %u is in use and nothing holds it", pfn);
}

static bool frame_counts(const struct ram *ram, const uint32_t *outside, char *why,
                         size_t why_bytes)
{
    struct check check = check_of(ram, outside, why, why_bytes);

    if (!check_begin_tally(&check))
        return false;
    check_entries(&check, tally_frame);
    bool holds = check_frames(&check, count_is_right);

    check_end_tally(&check);
    return holds;
}

/* The predicates of single entries. */

static bool entry_is_alone(const struct check *check, const struct table *table, unsigned slot,
                           entry_t entry)
{
    const struct frame *frame = mapped_frame(check->ram, table, entry);

    if (frame == NULL || frame->kind != FRAME_ANON || !entry_is_writable(entry) ||
        frame->count - frame->pins == 1)
        return true;
    return check_fails(check, "table %u slot %u may write frame %u, which has count %u, %u pins",
                       table->pfn, slot, entry_pfn(entry), frame->count, frame->pins);
}

static bool writable_alone(const struct ram *ram, const uint32_t *outside, char *why,
                           size_t why_bytes)
{
    struct check check = check_of(ram, outside, why, why_bytes);

    return check_entries(&check, entry_is_alone);
}

static bool pin_is_unshared(const struct check *check, const struct table *table, unsigned slot,
                            entry_t entry)
{
    const struct frame *frame = mapped_frame(check->ram, table, entry);

    if (frame == NULL || frame->kind != FRAME_ANON || frame->pins == 0 || !table_is_shared(table))
        return true;
    return check_fails(check, "table %u slot %u: frame %u has %u pins, the table %u sharers",
                       table->pfn, slot, entry_pfn(entry), frame->pins, table->share_count);
}

static bool pins_unshared(const struct ram *ram, const uint32_t *outside, char *why,
                          size_t why_bytes)
{
    struct check check = check_of(ram, outside, why, why_bytes);

    return check_entries(&check, pin_is_unshared);
}

static bool zero_is_read_only(const struct check *check, const struct table *table, unsigned slot,
                              entry_t entry)
{
    const struct frame *frame = mapped_frame(check->ram, table, entry);

    if (frame == NULL || frame->kind != FRAME_ZERO || !entry_is_writable(entry))
        return true;
    return check_fails(check, "table %u slot %u may write the zero frame", table->pfn, slot);
}

static bool zero_frame(const struct ram *ram, const uint32_t *outside, char *why, size_t why_bytes)
{
    struct check check = check_of(ram, outside, why, why_bytes);

    if (ram->frames[ram->zero_pfn].count != 0)
        return check_fails(&check, "frame %u is counted", ram->zero_pfn);
    if (!frame_is_all_zeros(ram, ram->zero_pfn))
        return check_fails(&check, "frame %u is not all zeros", ram->zero_pfn);
    return check_entries(&check, zero_is_read_only);
}

/* Only entries of private mappings name anonymous frames or the zero frame. */
static bool holds_private(const struct table *table)
{
    return table->present[FRAME_ANON] > 0 || table->present[FRAME_ZERO] > 0;
}

static bool above_is_read_only(const struct check *check, const struct table *table, unsigned slot,
                               entry_t entry)
{
    const struct table *below = table_in_frame(check->ram, entry_pfn(entry));

    if (table->level != 1 || entry_is_huge(entry) || below == NULL || !entry_is_writable(entry) ||
        !table_is_shared(below) || !holds_private(below))
        return true;
    return check_fails(check, "table %u slot %u lets writes through to table %u, shared by %u",
                       table->pfn, slot, below->pfn, below->share_count);
}

static bool shared_read_only(const struct ram *ram, const uint32_t *outside, char *why,
                             size_t why_bytes)
{
    struct check check = check_of(ram, outside, why, why_bytes);

    return check_entries(&check, above_is_read_only);
}

const struct pt_invariant pt_invariants[] = {
    {"frames-conserved", frames_conserved},   {"table-books", invariant_table_books},
    {"share-counts", invariant_share_counts}, {"tree-counts", invariant_tree_counts},
    {"frame-counts", frame_counts},           {"writable-alone", writable_alone},
    {"pins-unshared", pins_unshared},         {"zero-frame", zero_frame},
    {"shared-read-only", shared_read_only},   {NULL, NULL},
};

bool pt_invariants_hold(const struct ram *ram, const uint32_t *outside, char *why, size_t why_bytes)
{
    for (const struct pt_invariant *invariant = pt_invariants; invariant->name != NULL;
         invariant++) {
        int length = snprintf(why, why_bytes, "%s: ", invariant->name);
        size_t used = min_u64((uint64_t)length, why_bytes);

        if (!invariant->holds(ram, outside, why_bytes == 0 ? NULL : why + used, why_bytes - used))
            return false;
    }
    if (why_bytes > 0)
        why[0] = '\0';
    return true;
}
