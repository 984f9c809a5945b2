/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments of random calls on ranges that stay; and what is wrong with arguments now and then. */
#include "scenario/fuzz_maker.h"

struct advice_weight {
    int advice;
    unsigned weight;
};

static const struct advice_weight advices[] = {
    {ABI_MADV_DONTNEED, 30},     {ABI_MADV_FREE, 10},          {ABI_MADV_REMOVE, 8},
    {ABI_MADV_DONTFORK, 7},      {ABI_MADV_DOFORK, 7},         {ABI_MADV_WIPEONFORK, 7},
    {ABI_MADV_KEEPONFORK, 5},    {ABI_MADV_COLD, 2},           {ABI_MADV_PAGEOUT, 2},
    {ABI_MADV_WILLNEED, 2},      {ABI_MADV_NORMAL, 1},         {ABI_MADV_RANDOM, 2},
    {ABI_MADV_SEQUENTIAL, 1},    {ABI_MADV_DONTDUMP, 1},       {ABI_MADV_DODUMP, 1},
    {ABI_MADV_POPULATE_READ, 6}, {ABI_MADV_POPULATE_WRITE, 7}, {ABI_MADV_DONTNEED_LOCKED, 4},
    {ABI_MADV_GUARD_INSTALL, 5}, {ABI_MADV_GUARD_REMOVE, 6},
};

/*
 * What PAGEOUT takes away at the real kernel depends on which of its lists the pages are in by
 * then; there it is COLD, which takes nothing.
 */
static int choose_advice(struct maker *maker)
{
    unsigned sum = 0;
    unsigned i = 0;

    for (unsigned k = 0; k < sizeof(advices) / sizeof(advices[0]); k++)
        sum += advices[k].weight;
    for (uint64_t left = below(maker, sum); left >= advices[i].weight; i++)
        left -= advices[i].weight;
    if (maker->mix->for_host && advices[i].advice == ABI_MADV_PAGEOUT)
        return ABI_MADV_COLD;
    return advices[i].advice;
}

/* What the picture has to know of it. */
static void note_advice(struct maker *maker, const struct maker_range *range, int advice)
{
    struct scar scar = {.first = range->first, .pages = range->pages, .is_hole = true};
    struct place *place;

    if (range->region >= PICTURE_REGIONS || maker->is_spoiled)
        return;
    place = &acting(maker)->places[range->region];
    if (advice == ABI_MADV_GUARD_INSTALL)
        place_scar(place, &scar);
    else if (advice == ABI_MADV_DONTFORK)
        place->dont_fork = true;
    else if (advice == ABI_MADV_DOFORK)
        place->dont_fork = false;
}

bool make_madvise(struct maker *maker, struct scenario_operation *operation)
{
    struct maker_range range = maker_range(maker, 25);
    int advice = choose_advice(maker);

    if (advice == ABI_MADV_GUARD_INSTALL)
        range.pages = (uint32_t)min_u64(range.pages, 2);
    else if (advice == ABI_MADV_POPULATE_READ || advice == ABI_MADV_POPULATE_WRITE)
        maker_keep_small(maker, &range);
    operation->advice = advice;
    maker_set_range(maker, operation, &range);
    note_advice(maker, &range, advice);
    return true;
}

/* Where memory is little, a lock that cannot be had is no lock for some and one for others. */
bool make_lock(struct maker *maker, struct scenario_operation *operation)
{
    struct maker_range range = maker_range(maker, 30);

    if (maker->mix->low_memory)
        return false;
    maker_keep_small(maker, &range);
    maker_set_range(maker, operation, &range);
    if (percent(maker, 5))
        operation->address.offset_bytes += below(maker, PAGE_BYTES);
    return true;
}

bool make_msync(struct maker *maker, struct scenario_operation *operation)
{
    static const uint8_t flags[] = {ABI_MS_SYNC,       ABI_MS_SYNC,
                                    ABI_MS_ASYNC,      ABI_MS_SYNC | ABI_MS_INVALIDATE,
                                    ABI_MS_INVALIDATE, 0};
    struct maker_range range = maker_range(maker, 50);

    operation->flags = flags[below(maker, sizeof(flags))];
    maker_set_range(maker, operation, &range);
    return true;
}

bool make_mincore(struct maker *maker, struct scenario_operation *operation)
{
    struct maker_range range = maker_range(maker, 50);

    maker_set_range(maker, operation, &range);
    if (percent(maker, 10)) {
        operation->has_target = true;
        operation->target.offset_bytes = UINT64_MAX - PAGE_BYTES;
    }
    return true;
}

/* --- mistakes --- */

/* A size that is nothing, or that wraps. */
static uint64_t wrong_size(struct maker *maker)
{
    static const uint64_t sizes[] = {0, UINT64_MAX - 5, UINT64_MAX - 3 * PAGE_BYTES + 1,
                                     UINT64_MAX / 2 + 1};

    return sizes[below(maker, sizeof(sizes) / sizeof(sizes[0]))];
}

/* Advice on all that there is would not spare what is nobody's business. */
static uint64_t wrong_size_of(struct maker *maker, enum scenario_verb verb)
{
    uint64_t bytes = wrong_size(maker);

    return verb == VERB_MADVISE && bytes == UINT64_MAX / 2 + 1 ? 0 : bytes;
}

static void spoil_mmap(struct maker *maker, struct scenario_operation *operation)
{
    uint64_t odd = 1 + below(maker, PAGE_BYTES - 1);

    switch (below(maker, 5)) {
    case 0:
        operation->flags &= ~ABI_MAP_TYPE;
        break;
    case 1: /* the one type that minds unknown flags; and anonymous memory is not of it */
        operation->flags |= ABI_MAP_SHARED_VALIDATE | 0x200000u;
        break;
    case 2:
        operation->offset_bytes += odd;
        break;
    case 3:
        operation->flags |= operation->has_target ? ABI_MAP_FIXED : 0;
        operation->target.offset_bytes += odd;
        operation->bytes = operation->has_target ? operation->bytes : 0;
        break;
    default:
        operation->bytes = wrong_size(maker);
        break;
    }
}

/* Unknown words where there are any; false where there are none. */
static bool spoil_word(struct maker *maker, struct scenario_operation *operation)
{
    if (operation->verb == VERB_MPROTECT)
        operation->protection |= 0x10;
    else if (operation->verb == VERB_MADVISE)
        operation->advice = percent(maker, 50) ? 77 : -1;
    else if (operation->verb == VERB_MREMAP)
        operation->flags |= 8u;
    else if (operation->verb == VERB_MSYNC)
        operation->flags |= percent(maker, 50) ? 8u : ABI_MS_SYNC | ABI_MS_ASYNC;
    else
        return false;
    return true;
}

void maker_spoil(struct maker *maker, struct scenario_operation *operation)
{
    enum scenario_verb verb = operation->verb;

    if (verb == VERB_MMAP)
        spoil_mmap(maker, operation);
    else if (percent(maker, 30) && spoil_word(maker, operation))
        return;
    else if (percent(maker, 50))
        operation->address.offset_bytes += 1 + below(maker, PAGE_BYTES - 1);
    else if (verb == VERB_MREMAP)
        operation->new_bytes = wrong_size(maker);
    else
        operation->bytes = wrong_size_of(maker, verb);
}
