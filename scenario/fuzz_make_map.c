/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments of random calls that change what is mapped where. */
#include "scenario/fuzz_maker.h"

enum { CROWD_PAGES = 16, SMALL_PAGES = 8, MIDDLE_PAGES = 64, HEAP_PAGES = 40 };

static uint32_t span_pages(const struct maker *maker)
{
    return (uint32_t)(maker->mix->span_bytes >> PAGE_SHIFT);
}

uint32_t maker_area_page(struct maker *maker)
{
    uint32_t spans = area_pages(maker) / span_pages(maker);
    uint64_t bound = below(maker, spans + 1u) * span_pages(maker);
    uint64_t near = below(maker, (uint64_t)2 * CROWD_PAGES);

    if (percent(maker, 20) || span_pages(maker) < 2 * CROWD_PAGES)
        return (uint32_t)below(maker, area_pages(maker));
    if (bound + near < CROWD_PAGES)
        return (uint32_t)near;
    return (uint32_t)((bound + near - CROWD_PAGES) % area_pages(maker));
}

uint32_t maker_size_pages(struct maker *maker)
{
    uint32_t span = span_pages(maker);
    unsigned small = maker->mix->low_memory ? 30 : 70;

    if (percent(maker, small) || span < MIDDLE_PAGES)
        return 1 + (uint32_t)below(maker, SMALL_PAGES);
    if (percent(maker, 70))
        return SMALL_PAGES + (uint32_t)below(maker, MIDDLE_PAGES);
    if (percent(maker, 30))
        return span;
    return 1 + (uint32_t)below(maker, span + span / 4);
}

unsigned maker_some_place(struct maker *maker)
{
    const struct picture_task *task = acting(maker);
    unsigned first = (unsigned)below(maker, PICTURE_REGIONS);

    for (unsigned i = 0; i < PICTURE_REGIONS; i++) {
        unsigned region = (first + i) % PICTURE_REGIONS;

        if (task->places[region].is_there)
            return region;
    }
    return PICTURE_REGIONS;
}

struct maker_range maker_range(struct maker *maker, unsigned whole_chance)
{
    unsigned region = maker_some_place(maker);
    struct maker_range range = {.region = region};

    if (region == PICTURE_REGIONS || percent(maker, 12)) {
        range.region = PICTURE_REGIONS;
        range.first = maker_area_page(maker);
        range.pages = (uint32_t)min_u64(maker_size_pages(maker), area_pages(maker) - range.first);
        return range;
    }
    uint32_t pages = acting(maker)->places[region].pages;

    range.pages = pages;
    if (percent(maker, whole_chance))
        return range;
    range.first = (uint32_t)below(maker, pages);
    range.pages = 1 + (uint32_t)below(maker, pages - range.first);
    if (percent(maker, 10))
        range.pages += (uint32_t)below(maker, SMALL_PAGES); /* over its end */
    return range;
}

void maker_keep_small(struct maker *maker, struct maker_range *range)
{
    if (!percent(maker, 3))
        range->pages = (uint32_t)min_u64(range->pages, MIDDLE_PAGES);
}

void maker_set_range(struct maker *maker, struct scenario_operation *operation,
                     const struct maker_range *range)
{
    struct scenario_address *address = &operation->address;

    operation->bytes = (uint64_t)range->pages * PAGE_BYTES;
    address->offset_bytes = (uint64_t)range->first * PAGE_BYTES;
    if (range->region < PICTURE_REGIONS) {
        address->base = BASE_REGION;
        address->region = (uint16_t)range->region;
    } else {
        address->base = BASE_ABSOLUTE;
        address->offset_bytes += maker->mix->area_start;
    }
}

uint32_t maker_protection(struct maker *maker)
{
    static const uint8_t protections[] = {ABI_PROT_READ | ABI_PROT_WRITE,
                                          ABI_PROT_READ | ABI_PROT_WRITE,
                                          ABI_PROT_READ | ABI_PROT_WRITE,
                                          ABI_PROT_READ | ABI_PROT_WRITE,
                                          ABI_PROT_READ,
                                          ABI_PROT_READ,
                                          ABI_PROT_NONE,
                                          ABI_PROT_WRITE,
                                          ABI_PROT_READ | ABI_PROT_EXEC,
                                          ABI_PROT_READ | ABI_PROT_WRITE | ABI_PROT_EXEC};

    return protections[below(maker, sizeof(protections))];
}

/* Notes what becomes of a range of the acting task. */
static void note_range(struct maker *maker, const struct maker_range *range, uint32_t protection,
                       bool is_hole)
{
    struct picture_task *task = acting(maker);
    struct place *place = range->region < PICTURE_REGIONS ? &task->places[range->region] : NULL;
    va_t base = place != NULL ? place->start : maker->mix->area_start;
    struct scar scar = {.first = range->first,
                        .pages = range->pages,
                        .protection = (uint8_t)protection,
                        .is_hole = is_hole};

    if (maker->is_spoiled)
        return;
    if (place != NULL)
        place_scar(place, &scar);
    if (base != 0)
        picture_cover(task, place, base + (uint64_t)range->first * PAGE_BYTES, &scar);
}

/* A mapping stands now where others may have stood. */
static void note_mapping(struct maker *maker, const struct place *place)
{
    struct scar scar = {.pages = place->pages, .is_hole = true};

    picture_cover(acting(maker), place, place->start, &scar);
}

/* --- mmap --- */

static unsigned choose_name(struct maker *maker)
{
    unsigned region = (unsigned)below(maker, PICTURE_REGIONS);
    const struct picture_task *task = acting(maker);

    for (unsigned i = 0; i < PICTURE_REGIONS && task->places[region].is_there; i++)
        region = (region + 1) % PICTURE_REGIONS;
    return region;
}

/* An open file, sometimes any that ever was. */
static unsigned choose_file(struct maker *maker)
{
    unsigned first = (unsigned)below(maker, PICTURE_FILES);

    if (maker->picture.files[first].was_made && percent(maker, 2))
        return first;
    for (unsigned i = 0; i < PICTURE_FILES; i++) {
        unsigned file = (first + i) % PICTURE_FILES;

        if (maker->picture.files[file].is_open)
            return file;
    }
    return PICTURE_FILES;
}

static void choose_backing(struct maker *maker, struct scenario_operation *operation,
                           struct place *place)
{
    unsigned file = percent(maker, 42) ? choose_file(maker) : PICTURE_FILES;

    place->is_shared = percent(maker, file < PICTURE_FILES ? 45 : 25);
    place->is_object = place->is_shared || file < PICTURE_FILES;
    place->file = (uint8_t)file;
    operation->flags |= place->is_shared ? ABI_MAP_SHARED : ABI_MAP_PRIVATE;
    if (file == PICTURE_FILES) {
        operation->flags |= ABI_MAP_ANONYMOUS;
        return;
    }
    uint64_t pages = maker->picture.files[file].bytes >> PAGE_SHIFT;

    operation->file = (uint16_t)file;
    place->file_page = percent(maker, 70) ? 0 : below(maker, pages + 2);
    operation->offset_bytes = place->file_page * PAGE_BYTES;
    if (percent(maker, 80))
        place->pages = (uint32_t)min_u64(place->pages, pages + 1);
    if (place->is_shared && percent(maker, 8))
        operation->flags |= ABI_MAP_SHARED_VALIDATE;
}

static void choose_place(struct maker *maker, struct scenario_operation *operation,
                         struct place *place)
{
    unsigned way = (unsigned)below(maker, 100);
    uint32_t page = maker_area_page(maker);

    if (way >= 62)
        return;
    place->pages = (uint32_t)min_u64(place->pages, area_pages(maker) - page);
    operation->has_target = true;
    operation->target.offset_bytes = maker->mix->area_start + (uint64_t)page * PAGE_BYTES;
    if (way < 50)
        operation->flags |= ABI_MAP_FIXED;
    else if (way < 57)
        operation->flags |= ABI_MAP_FIXED_NOREPLACE;
    if (way < 57)
        place->start = operation->target.offset_bytes;
}

static void choose_extras(struct maker *maker, struct scenario_operation *operation,
                          struct place *place)
{
    /* To bring many pages in takes long, and shows no more than few do. */
    bool is_small = place->pages <= MIDDLE_PAGES || percent(maker, 2);

    if (is_small && percent(maker, 10))
        operation->flags |= ABI_MAP_POPULATE;
    if (percent(maker, 5))
        operation->flags |= ABI_MAP_NORESERVE;
    if (is_small && percent(maker, 3) && !maker->mix->low_memory)
        operation->flags |= ABI_MAP_LOCKED;
    if (percent(maker, 1))
        operation->flags |= ABI_MAP_STACK | ABI_MAP_NONBLOCK;
    if (!place->is_object && percent(maker, 5)) {
        operation->flags |= ABI_MAP_GROWSDOWN;
        place->grows_down = true;
    }
}

/* Will it be done, as far as the picture tells? */
static bool will_be_mapped(struct maker *maker, const struct scenario_operation *operation,
                           const struct place *place)
{
    if (operation->flags & ABI_MAP_FIXED_NOREPLACE) {
        if ((operation->flags & ABI_MAP_TYPE) == ABI_MAP_SHARED_VALIDATE ||
            picture_meets(acting(maker), place->start, place->pages))
            return false;
    }
    if (operation->file == SCENARIO_NOBODY)
        return !maker->is_spoiled && (operation->flags & ABI_MAP_ANONYMOUS);
    const struct picture_file *file = &maker->picture.files[operation->file];
    bool writes = place->is_shared && (place->protection & ABI_PROT_WRITE);

    return !maker->is_spoiled && file->is_open && file->readable && !file->is_directory &&
           (file->writable || !writes);
}

bool make_mmap(struct maker *maker, struct scenario_operation *operation)
{
    unsigned region = choose_name(maker);
    struct place place = {.is_there = true, .may_write = true, .pages = maker_size_pages(maker)};

    operation->region = (uint16_t)region;
    operation->protection = maker_protection(maker);
    place.protection = (uint8_t)operation->protection;
    choose_backing(maker, operation, &place);
    choose_place(maker, operation, &place);
    choose_extras(maker, operation, &place);
    operation->bytes = (uint64_t)place.pages * PAGE_BYTES - (percent(maker, 3) ? 100 : 0);
    if (operation->file < PICTURE_FILES && place.is_shared)
        place.may_write = maker->picture.files[operation->file].writable;
    if (!will_be_mapped(maker, operation, &place))
        return true;
    acting(maker)->places[region] = place;
    if (operation->flags & ABI_MAP_FIXED)
        note_mapping(maker, &acting(maker)->places[region]);
    return true;
}

/* --- munmap, mprotect --- */

bool make_munmap(struct maker *maker, struct scenario_operation *operation)
{
    struct maker_range range = maker_range(maker, 45);

    maker_set_range(maker, operation, &range);
    note_range(maker, &range, ABI_PROT_NONE, true);
    if (!maker->is_spoiled && range.region < PICTURE_REGIONS && range.first == 0 &&
        range.pages >= acting(maker)->places[range.region].pages)
        acting(maker)->places[range.region].is_there = false;
    return true;
}

bool make_mprotect(struct maker *maker, struct scenario_operation *operation)
{
    struct maker_range range = maker_range(maker, 35);
    bool may_write =
        range.region == PICTURE_REGIONS || acting(maker)->places[range.region].may_write;

    maker_set_range(maker, operation, &range);
    operation->protection = maker_protection(maker);
    if (may_write || !(operation->protection & ABI_PROT_WRITE))
        note_range(maker, &range, operation->protection, false);
    return true;
}

bool make_stripe(struct maker *maker, struct scenario_operation *operation)
{
    struct maker_range range = maker_range(maker, 20);

    range.pages = (uint32_t)min_u64(range.pages, MIDDLE_PAGES);
    maker_set_range(maker, operation, &range);
    operation->protection = percent(maker, 50) ? ABI_PROT_READ : ABI_PROT_READ | ABI_PROT_WRITE;
    note_range(maker, &range, ABI_PROT_READ, false);
    return true;
}

/* --- mremap --- */

static uint32_t new_size(struct maker *maker, uint32_t pages)
{
    if (percent(maker, 35))
        return pages;
    if (percent(maker, 30))
        return 1 + (uint32_t)below(maker, pages);
    return pages + 1 + (uint32_t)below(maker, percent(maker, 80) ? SMALL_PAGES : MIDDLE_PAGES);
}

/* The old place, and what is left there. */
static void leave_place(struct maker *maker, const struct maker_range *range, uint32_t flags)
{
    struct place *place = &acting(maker)->places[range->region];

    if (flags & ABI_MREMAP_DONTUNMAP)
        return;
    note_range(maker, range, ABI_PROT_NONE, true);
    if (range->first == 0 && range->pages >= place->pages)
        place->is_there = false;
}

static void choose_remap_flags(struct maker *maker, struct scenario_operation *operation,
                               uint32_t new_pages)
{
    if (percent(maker, 78))
        operation->flags = ABI_MREMAP_MAYMOVE;
    if (operation->flags == 0)
        return;
    if (percent(maker, 40)) {
        uint32_t page = maker_area_page(maker);

        operation->flags |= ABI_MREMAP_FIXED;
        operation->has_target = true;
        page = (uint32_t)min_u64(page, area_pages(maker) - min_u64(new_pages, area_pages(maker)));
        operation->target.offset_bytes = maker->mix->area_start + (uint64_t)page * PAGE_BYTES;
    }
    if (percent(maker, 10)) {
        operation->flags |= ABI_MREMAP_DONTUNMAP;
        operation->new_bytes = operation->bytes;
    }
}

/* Where the scenario says that it goes, it takes what is there away. */
static void note_remap(struct maker *maker, const struct scenario_operation *operation,
                       const struct maker_range *range)
{
    struct picture_task *task = acting(maker);
    struct place moved = task->places[range->region];
    struct place *place = &task->places[operation->region];
    bool is_plain = moved.scar_count == 0 && range->first + range->pages <= moved.pages;

    if (operation->bytes != 0)
        leave_place(maker, range, operation->flags);
    moved.pages = (uint32_t)(operation->new_bytes >> PAGE_SHIFT);
    moved.is_there = moved.pages > 0;
    moved.is_doubtful |= !is_plain || operation->flags != (ABI_MREMAP_MAYMOVE);
    moved.file_page += range->first;
    moved.start = operation->flags & ABI_MREMAP_FIXED ? operation->target.offset_bytes : 0;
    moved.scar_count = 0;
    moved.next_scar = 0;
    *place = moved;
    if (moved.start != 0)
        note_mapping(maker, place);
}

bool make_mremap(struct maker *maker, struct scenario_operation *operation)
{
    struct maker_range range = maker_range(maker, 65);

    if (range.region == PICTURE_REGIONS)
        return false;
    maker_set_range(maker, operation, &range);
    if (acting(maker)->places[range.region].is_shared && percent(maker, 6))
        operation->bytes = 0;
    uint32_t pages = new_size(maker, range.pages);

    operation->new_bytes = (uint64_t)pages * PAGE_BYTES;
    choose_remap_flags(maker, operation, pages);
    operation->region = (uint16_t)(percent(maker, 70) ? range.region : choose_name(maker));
    if (!maker->is_spoiled)
        note_remap(maker, operation, &range);
    return true;
}

/* --- brk, limit --- */

bool make_brk(struct maker *maker, struct scenario_operation *operation)
{
    struct picture_task *task = acting(maker);

    if (!task->has_heap || maker->mix->has_no_heap)
        return false;
    operation->address.base = BASE_HEAP;
    task->heap_pages = (uint32_t)below(maker, HEAP_PAGES);
    operation->address.offset_bytes = (uint64_t)task->heap_pages * PAGE_BYTES;
    if (percent(maker, 10))
        operation->address.offset_bytes += below(maker, PAGE_BYTES);
    else if (percent(maker, 3))
        operation->address = (struct scenario_address){.base = BASE_ABSOLUTE};
    return true;
}

bool make_limit(struct maker *maker, struct scenario_operation *operation)
{
    operation->value = below(maker, 2);
    operation->bytes = (MIDDLE_PAGES + below(maker, (uint64_t)16 * MIDDLE_PAGES)) * PAGE_BYTES;
    return true;
}
