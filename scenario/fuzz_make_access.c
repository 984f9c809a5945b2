/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where random loads, stores and pins go, and what they store. */
#include "scenario/fuzz_maker.h"

enum { MOST_LETTERS = 12, SWEEP_PAGES = 12, LONG_SWEEP_PAGES = 96, ATTEMPTS = 6 };

/* What an access is about. */
struct target {
    unsigned region; /* PICTURE_REGIONS: the heap */
    uint32_t page;
    uint32_t pages; /* that can be reached from there on, the target's own included */
};

static bool permits(struct maker *maker, const struct target *target, uint32_t page, bool write)
{
    const struct picture_task *task = acting(maker);

    if (target->region == PICTURE_REGIONS)
        return page < task->heap_pages;
    return place_permits(&maker->picture, &task->places[target->region], page, write);
}

static bool is_doubtful(const struct picture_task *task, const struct target *target)
{
    return target->region < PICTURE_REGIONS && task->places[target->region].is_doubtful;
}

/* Near the ends, near the bound of a span, or anywhere. */
static uint32_t choose_page(struct maker *maker, const struct place *place)
{
    uint64_t span = maker->mix->span_bytes;
    uint64_t to_bound = (span - place->start % span) >> PAGE_SHIFT;

    if (percent(maker, 30))
        return (uint32_t)below(maker, min_u64(place->pages, 4));
    if (percent(maker, 25))
        return place->pages - 1 - (uint32_t)below(maker, min_u64(place->pages, 4));
    if (place->start != 0 && to_bound < place->pages && percent(maker, 50))
        return (uint32_t)(to_bound - below(maker, 2));
    return (uint32_t)below(maker, place->pages);
}

/* What the access asks of a target. */
struct wish {
    bool write;
    bool may_doubt; /* a bad address does no harm */
    uint32_t most;  /* pages */
};

/* Something that the picture says can be reached so. */
static bool find_target(struct maker *maker, const struct wish *wish, struct target *target)
{
    const struct picture_task *task = acting(maker);

    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        *target = (struct target){.region = maker_some_place(maker)};
        if (task->heap_pages > 0 && percent(maker, 8))
            target->region = PICTURE_REGIONS;
        if (target->region < PICTURE_REGIONS)
            target->page = choose_page(maker, &task->places[target->region]);
        else
            target->page = (uint32_t)below(maker, task->heap_pages + 1u);
        if (is_doubtful(task, target) && !wish->may_doubt)
            continue;
        while (target->pages < wish->most &&
               permits(maker, target, target->page + target->pages, wish->write))
            target->pages++;
        if (target->pages > 0)
            return true;
    }
    return false;
}

static void set_address(struct scenario_operation *operation, const struct target *target,
                        uint64_t offset)
{
    struct scenario_address *address = &operation->address;

    address->base = target->region < PICTURE_REGIONS ? BASE_REGION : BASE_HEAP;
    address->region =
        target->region < PICTURE_REGIONS ? (uint16_t)target->region : (uint16_t)SCENARIO_NOBODY;
    address->offset_bytes = (uint64_t)target->page * PAGE_BYTES + offset;
}

/* Where in the page: its start, its middle, or across its end if the next one can be reached. */
static uint64_t choose_offset(struct maker *maker, const struct target *target, uint64_t bytes)
{
    if (target->pages > 1 && percent(maker, 15))
        return PAGE_BYTES - 1 - below(maker, bytes > 1 ? bytes - 1 : 1);
    if (percent(maker, 50))
        return 0;
    return below(maker, PAGE_BYTES - bytes);
}

/* An access that may well kill: anywhere in the area, or below what grows downwards. */
static bool make_wild(struct maker *maker, struct scenario_operation *operation)
{
    unsigned region = maker_some_place(maker);

    operation->address.offset_bytes = maker->mix->area_start + below(maker, maker->mix->area_bytes);
    if (region < PICTURE_REGIONS && acting(maker)->places[region].grows_down) {
        operation->address.base = BASE_REGION;
        operation->address.region = (uint16_t)region;
        operation->address.offset_bytes = -(1 + below(maker, SWEEP_PAGES * PAGE_BYTES));
    }
    maker->may_have_died = operation->verb == VERB_READ || operation->verb == VERB_WRITE;
    return true;
}

/* Is it time for one? */
static bool goes_wild(struct maker *maker, struct scenario_operation *operation)
{
    const struct place *place = &acting(maker)->places[below(maker, PICTURE_REGIONS)];
    bool kernel = operation->verb == VERB_KREAD || operation->verb == VERB_KWRITE;

    if (place->is_there && place->grows_down && percent(maker, 20))
        return true;
    return below(maker, 1000) < (kernel ? 60u : 4u);
}

bool make_load(struct maker *maker, struct scenario_operation *operation)
{
    struct target target;
    struct wish wish = {.may_doubt = operation->verb == VERB_KREAD, .most = 3};

    operation->bytes = 1 + below(maker, MOST_LETTERS);
    if (goes_wild(maker, operation))
        return make_wild(maker, operation);
    if (!find_target(maker, &wish, &target))
        return false;
    set_address(operation, &target, choose_offset(maker, &target, operation->bytes));
    if (target.pages > 2 && percent(maker, 10))
        operation->bytes = PAGE_BYTES + below(maker, PAGE_BYTES);
    return true;
}

bool make_store(struct maker *maker, struct scenario_operation *operation)
{
    struct target target;
    struct wish wish = {.write = true, .may_doubt = operation->verb == VERB_KWRITE, .most = 3};
    size_t bytes = 1 + (size_t)below(maker, MOST_LETTERS);

    maker_letters(maker, &operation->data, bytes);
    if (goes_wild(maker, operation))
        return make_wild(maker, operation);
    if (!find_target(maker, &wish, &target))
        return false;
    set_address(operation, &target, choose_offset(maker, &target, bytes));
    if (target.pages > 2 && percent(maker, 5))
        operation->data = (struct scenario_data){.kind = DATA_FILL,
                                                 .fill = (uint8_t)below(maker, 256),
                                                 .bytes = PAGE_BYTES + below(maker, PAGE_BYTES)};
    return true;
}

static bool make_sweep(struct maker *maker, struct scenario_operation *operation, bool write)
{
    struct target target;
    unsigned most = maker->mix->low_memory || percent(maker, 5) ? LONG_SWEEP_PAGES : SWEEP_PAGES;
    struct wish wish = {.write = write, .most = 1 + (uint32_t)below(maker, most)};

    if (!find_target(maker, &wish, &target))
        return false;
    set_address(operation, &target, percent(maker, 90) ? 0 : below(maker, PAGE_BYTES));
    operation->bytes =
        (uint64_t)target.pages * PAGE_BYTES - operation->address.offset_bytes % PAGE_BYTES;
    return true;
}

bool make_peek(struct maker *maker, struct scenario_operation *operation)
{
    return make_sweep(maker, operation, false);
}

bool make_poke(struct maker *maker, struct scenario_operation *operation)
{
    operation->value = below(maker, 256);
    return make_sweep(maker, operation, true);
}

/* --- pins --- */

/* A pin that is in use, or one that is not; false when there is none. */
static bool choose_pin(struct maker *maker, bool in_use, uint16_t *pin)
{
    unsigned first = (unsigned)below(maker, PICTURE_PINS);

    for (unsigned i = 0; i < PICTURE_PINS; i++) {
        *pin = (uint16_t)((first + i) % PICTURE_PINS);
        if (maker->picture.pins[*pin] == in_use)
            return true;
    }
    return false;
}

bool make_pin(struct maker *maker, struct scenario_operation *operation)
{
    struct target target;
    struct wish wish = {.may_doubt = true, .most = 1};

    /* What pins on the real kernel pins for writing. */
    operation->write = maker->mix->for_host || percent(maker, 50);
    wish.write = operation->write;
    if (!choose_pin(maker, false, &operation->pin) || !find_target(maker, &wish, &target))
        return false;
    set_address(operation, &target, 0);
    maker->picture.pins[operation->pin] = true;
    return true;
}

bool make_unpin(struct maker *maker, struct scenario_operation *operation)
{
    if (!choose_pin(maker, true, &operation->pin))
        return false;
    maker->picture.pins[operation->pin] = false;
    return true;
}

bool make_pinread(struct maker *maker, struct scenario_operation *operation)
{
    operation->bytes = percent(maker, 30) ? PAGE_BYTES : 1 + below(maker, MOST_LETTERS);
    operation->offset_bytes =
        percent(maker, 50) ? 0 : below(maker, PAGE_BYTES - operation->bytes + 1);
    return choose_pin(maker, true, &operation->pin);
}

bool make_pinwrite(struct maker *maker, struct scenario_operation *operation)
{
    size_t bytes = 1 + (size_t)below(maker, MOST_LETTERS);

    if (!choose_pin(maker, true, &operation->pin))
        return false;
    maker_letters(maker, &operation->data, bytes);
    operation->offset_bytes = percent(maker, 50) ? 0 : below(maker, PAGE_BYTES - bytes);
    return true;
}
