/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random operations; operation_make.h says how they are chosen. */
#include "tests/support/operation_make.h"

#include "pager/map.h"

struct maker {
    struct random *random;
    const struct trial *trial;
    const struct operation_mix *mix;
    const struct trial_task *task; /* whose operation it is */
};

/* How often each kind is chosen. */
static const unsigned weights[OPERATION_KINDS] = {
    [OPERATION_FORK] = 12,    [OPERATION_ACCESS] = 50,   [OPERATION_MAP] = 12,
    [OPERATION_UNMAP] = 6,    [OPERATION_PROTECT] = 10,  [OPERATION_BRK] = 3,
    [OPERATION_COPYIN] = 2,   [OPERATION_COPYOUT] = 5,   [OPERATION_PIN] = 4,
    [OPERATION_PIN_READ] = 3, [OPERATION_PIN_WRITE] = 3, [OPERATION_UNPIN] = 3,
    [OPERATION_EXEC] = 1,     [OPERATION_EXIT] = 3,      [OPERATION_KILL] = 1,
    [OPERATION_WAIT] = 5};

static uint64_t below(const struct maker *maker, uint64_t limit)
{
    return random_below(maker->random, limit);
}

/* True in so many of a hundred cases. */
static bool percent(const struct maker *maker, unsigned chance)
{
    return below(maker, 100) < chance;
}

static bool is_tiny(const struct maker *maker)
{
    return maker->trial->world.machine->ram.geometry == &geometry_tiny;
}

static uint64_t span_pages(const struct maker *maker)
{
    return geometry_span_bytes(maker->trial->world.machine->ram.geometry) >> PAGE_SHIFT;
}

/* --- where --- */

/* A page of the area, often near the bound of a span. */
static uint64_t area_page(const struct maker *maker)
{
    uint64_t pages = maker->trial->area_bytes >> PAGE_SHIFT;

    if (is_tiny(maker) || percent(maker, 15))
        return below(maker, pages);
    uint64_t bound = below(maker, 4) * span_pages(maker);
    uint64_t page = bound + below(maker, 32);

    return page < 6 ? page : (page - 6) % pages;
}

static uint64_t range_pages(const struct maker *maker)
{
    if (is_tiny(maker))
        return 1 + below(maker, percent(maker, 80) ? 6 : 24);
    if (percent(maker, 55))
        return 1 + below(maker, 8);
    if (percent(maker, 60))
        return 8 + below(maker, OPERATION_MOST_PAGES);
    return 1 + below(maker, span_pages(maker) * 5 / 2);
}

/* A location's form of an address; false when it has none. */
static bool locate(const struct maker *maker, va_t va, struct location *location)
{
    const struct trial_task *task = maker->task;
    va_t area = maker->trial->area_start;

    *location = (struct location){0};
    for (unsigned i = 0; i < TRIAL_PLACES; i++) {
        const struct trial_place *place = &task->places[i];

        if (place->start == 0 || va < place->start || va - place->start >= place->bytes)
            continue;
        *location = (struct location){
            .region = REGION_PLACE, .place = i, .offset_bytes = va - place->start};
        return true;
    }
    if (va >= task->space.map_top)
        *location =
            (struct location){.region = REGION_STACK, .offset_bytes = task->space.user_end - va};
    else if (va >= area && va - area < maker->trial->area_bytes)
        location->offset_bytes = va - area;
    else
        return false;
    return true;
}

static struct location area_location(const struct maker *maker, uint64_t page)
{
    (void)maker;
    return (struct location){.offset_bytes = page * PAGE_BYTES};
}

/* Just below a stack, where it may grow. */
static struct location below_stack(const struct maker *maker)
{
    const struct model_space *space = &maker->task->space;
    va_t va = space->user_end;

    while (space_page(space, va - 1) != NULL)
        va -= PAGE_BYTES;
    va -= 1 + below(maker, (is_tiny(maker) ? 2 : 40) * PAGE_BYTES);
    return (struct location){.region = REGION_STACK, .offset_bytes = space->user_end - va};
}

/* A mapped page, near the bounds of spans if there is one. */
static const struct model_page *mapped_page(const struct maker *maker)
{
    const struct model_space *space = &maker->task->space;

    for (unsigned attempt = 0; attempt < 4; attempt++) {
        va_t va = maker->trial->area_start + area_page(maker) * PAGE_BYTES;

        if (space_page(space, va) != NULL)
            return space_page(space, va);
    }
    return space->count > 0 ? &space->pages[below(maker, space->count)] : NULL;
}

static bool page_permits(const struct model_page *page, bool write)
{
    bool past_end =
        page->own == NULL && page->object != NULL && page->object_page >= page->object->page_count;

    return !past_end && (page->flags & (write ? VMA_WRITE : VMA_PROTECTION)) != 0;
}

/* Mostly a page that can be reached in this way; now and then any address. */
static struct location target(const struct maker *maker, bool write)
{
    struct location location;

    if (percent(maker, 2))
        return below_stack(maker);
    if (below(maker, 300) == 0)
        return area_location(maker, area_page(maker));
    for (unsigned attempt = 0; attempt < 12; attempt++) {
        const struct model_page *page = mapped_page(maker);

        if (page != NULL && (page_permits(page, write) || (attempt == 0 && percent(maker, 2))) &&
            locate(maker, page->number << PAGE_SHIFT, &location))
            return location;
    }
    return (struct location){.region = REGION_STACK, .offset_bytes = PAGE_BYTES};
}

/* --- what --- */

/* Pages in a row from the location on that can be reached so. */
static uint32_t reachable_pages(const struct maker *maker, const struct location *location,
                                bool write, uint32_t most)
{
    uint32_t pages = 1;
    va_t va;

    if (!trial_address(maker->trial, maker->task, location, &va))
        return 1;
    while (pages < most) {
        const struct model_page *page = space_page(&maker->task->space, va + pages * PAGE_BYTES);
        struct location next;

        if (page == NULL || !page_permits(page, write) ||
            !locate(maker, va + pages * PAGE_BYTES, &next) || next.region != location->region ||
            next.place != location->place)
            break;
        pages++;
    }
    return pages;
}

static struct operation_step make_step(const struct maker *maker)
{
    static const unsigned widths[] = {1, 2, 4, 8};
    struct operation_step step = {.bytes = widths[below(maker, 4)],
                                  .pages = 1,
                                  .write = percent(maker, 55),
                                  .value = random_next(maker->random),
                                  .view = percent(maker, 10)};
    bool sweeps = percent(maker, 35);

    step.location = target(maker, step.write);
    if (sweeps)
        step.pages = reachable_pages(maker, &step.location, step.write,
                                     1 + (uint32_t)below(maker, OPERATION_MOST_PAGES));
    if (step.location.offset_bytes % PAGE_BYTES != 0)
        return step;
    /* A few bytes over the end of the page, or anywhere in it. What lies behind a place is the
     * kernel's choice, and the last words of a stack are addresses. */
    bool may_straddle = !(maker->mix->portable && step.location.region == REGION_PLACE);
    uint64_t offset = below(maker, PAGE_BYTES / 8 - 16) * 8;

    if (!step.view && !sweeps && may_straddle && percent(maker, 15))
        offset = PAGE_BYTES - 1 - below(maker, step.bytes);
    if (step.location.region == REGION_STACK)
        step.location.offset_bytes -= offset;
    else
        step.location.offset_bytes += offset;
    return step;
}

static void make_access(const struct maker *maker, struct operation *operation)
{
    operation->step_count = 1 + (unsigned)below(maker, OPERATION_MOST_STEPS);
    for (unsigned i = 0; i < operation->step_count; i++)
        operation->steps[i] = make_step(maker);
    if (percent(maker, 12))
        operation->other = (unsigned)below(maker, TRIAL_TASKS);
}

static uint32_t make_protection(const struct maker *maker)
{
    static const uint32_t usual[] = {VMA_READ | VMA_WRITE, VMA_READ | VMA_WRITE, VMA_READ, 0};

    if (percent(maker, 20))
        return (uint32_t)below(maker, VMA_PROTECTION + 1);
    return usual[below(maker, 4)];
}

/* What the mapping shows. */
static void choose_backing(const struct maker *maker, struct operation *operation)
{
    const struct model_object *object;

    if (percent(maker, 50))
        return;
    operation->object = (unsigned)below(maker, TRIAL_OBJECTS);
    if (percent(maker, 50))
        operation->flags |= MAP_REQUEST_SHARED;
    object = maker->trial->named[operation->object];
    uint64_t pages = object != NULL ? object->page_count : 2;

    operation->offset_bytes = below(maker, percent(maker, 85) ? 1 : pages + 2) * PAGE_BYTES;
    if (operation->object != 0 && percent(maker, 80))
        operation->bytes = min_u64(operation->bytes, pages * PAGE_BYTES);
}

/* A range that lies in the area, of which the location is set. */
static void choose_range(const struct maker *maker, struct operation *operation)
{
    uint64_t page = area_page(maker);
    uint64_t most = (maker->trial->area_bytes >> PAGE_SHIFT) - page;

    operation->location = area_location(maker, page);
    operation->bytes = min_u64(range_pages(maker), most) * PAGE_BYTES;
}

static void make_map(const struct maker *maker, struct operation *operation)
{
    bool may_choose = !(maker->mix->portable && is_tiny(maker));

    choose_range(maker, operation);
    operation->protection = percent(maker, 60) ? VMA_READ | VMA_WRITE : make_protection(maker);
    choose_backing(maker, operation);
    operation->flags |= percent(maker, 85) ? MAP_REQUEST_FIXED : MAP_REQUEST_NOREPLACE;
    if (operation->object == 0 && percent(maker, 4))
        operation->flags |= MAP_REQUEST_GROWSDOWN;
    if (operation->bytes <= OPERATION_MOST_PAGES * PAGE_BYTES && operation->fail_after == 0 &&
        percent(maker, 20))
        operation->flags |= MAP_REQUEST_POPULATE;
    if (percent(maker, 3))
        operation->bytes = percent(maker, 30) ? 0 : operation->bytes - 5;
    else if (percent(maker, 2))
        operation->location.offset_bytes += 8;
    if (!may_choose || !percent(maker, 15))
        return;
    operation->flags &= ~(MAP_REQUEST_FIXED | MAP_REQUEST_NOREPLACE | MAP_REQUEST_GROWSDOWN);
    operation->anywhere = true;
    operation->location = (struct location){.place = (unsigned)below(maker, TRIAL_PLACES)};
}

/* The whole of a place, or a range of the area, or now and then of the stack. */
static void make_range(const struct maker *maker, struct operation *operation, bool whole_place)
{
    unsigned number = (unsigned)below(maker, TRIAL_PLACES);
    const struct trial_place *place = &maker->task->places[number];

    choose_range(maker, operation);
    if (place->start != 0 && percent(maker, 25)) {
        uint64_t pages = place->bytes >> PAGE_SHIFT;
        uint64_t first = whole_place ? 0 : below(maker, pages);

        operation->location = (struct location){
            .region = REGION_PLACE, .place = number, .offset_bytes = first * PAGE_BYTES};
        operation->bytes = (whole_place ? pages : 1 + below(maker, pages - first)) * PAGE_BYTES;
    } else if (percent(maker, 4)) {
        uint64_t pages = 1 + below(maker, 4);

        operation->location =
            (struct location){.region = REGION_STACK, .offset_bytes = pages * PAGE_BYTES};
        operation->bytes = (1 + below(maker, pages)) * PAGE_BYTES;
    } else if (percent(maker, 3)) {
        operation->bytes = below(maker, 2) * PAGE_BYTES / 2;
        operation->location.offset_bytes += below(maker, 2);
    }
}

static void make_copy(const struct maker *maker, struct operation *operation)
{
    operation->location = target(maker, operation->kind == OPERATION_COPYOUT);
    operation->bytes = 1 + below(maker, operation->fail_after != 0 ? 64 : 2 * PAGE_BYTES);
    if (maker->mix->portable && operation->location.region != REGION_AREA)
        operation->bytes = 1 + below(maker, 64);
    else if (operation->location.region == REGION_AREA && operation->fail_after == 0)
        operation->location.offset_bytes += below(maker, PAGE_BYTES);
    operation->value = random_next(maker->random);
}

static void make_fork(const struct maker *maker, struct operation *operation)
{
    operation->other = (unsigned)below(maker, TRIAL_TASKS);
    for (unsigned i = 0; i < TRIAL_TASKS; i++) {
        unsigned number = (operation->other + i) % TRIAL_TASKS;

        if (maker->trial->tasks[number].state != TRIAL_ABSENT)
            continue;
        operation->other = number;
        break;
    }
    if (operation->inside && percent(maker, 60)) {
        operation->step_count = 1 + (unsigned)below(maker, 3);
        for (unsigned i = 0; i < operation->step_count; i++)
            operation->steps[i] = make_step(maker);
    }
}

static void make_details(const struct maker *maker, struct operation *operation)
{
    switch (operation->kind) {
    case OPERATION_FORK:
        make_fork(maker, operation);
        break;
    case OPERATION_ACCESS:
        make_access(maker, operation);
        break;
    case OPERATION_MAP:
        make_map(maker, operation);
        break;
    case OPERATION_UNMAP:
        make_range(maker, operation, true);
        break;
    case OPERATION_PROTECT:
        make_range(maker, operation, false);
        operation->protection = make_protection(maker);
        break;
    case OPERATION_BRK:
        operation->location.offset_bytes = below(maker, (is_tiny(maker) ? 16 : 64) * PAGE_BYTES);
        break;
    case OPERATION_COPYIN:
    case OPERATION_COPYOUT:
        make_copy(maker, operation);
        break;
    case OPERATION_PIN:
        operation->write = percent(maker, 40);
        operation->location = target(maker, operation->write);
        break;
    case OPERATION_WAIT:
        if (percent(maker, 60))
            operation->other = (unsigned)below(maker, TRIAL_TASKS);
        break;
    default:
        break;
    }
}

static enum operation_kind choose_kind(const struct maker *maker)
{
    const struct model_space *space = &maker->task->space;
    unsigned sum = 0;
    unsigned kind = 0;

    /* A task with little memory does little. */
    if (space->count < (is_tiny(maker) ? 10 : 60) && percent(maker, 50))
        return OPERATION_MAP;
    for (unsigned i = 0; i < OPERATION_KINDS; i++)
        sum += weights[i];
    for (uint64_t left = below(maker, sum); left >= weights[kind]; kind++)
        left -= weights[kind];
    return kind;
}

/* A task that lives, the deepest ones more often, so that families grow downwards. */
static unsigned choose_task(const struct maker *maker)
{
    const struct trial_task *tasks = maker->trial->tasks;
    unsigned best = OPERATION_NOBODY;

    for (unsigned attempt = 0; attempt < 24; attempt++) {
        unsigned number = (unsigned)below(maker, TRIAL_TASKS);

        if (tasks[number].state != TRIAL_ALIVE)
            continue;
        if (best == OPERATION_NOBODY ||
            (percent(maker, 30) && tasks[number].depth > tasks[best].depth))
            best = number;
        else if (percent(maker, 60))
            break;
    }
    return best;
}

static bool may_be_inside(enum operation_kind kind)
{
    return kind != OPERATION_ACCESS && kind != OPERATION_PIN_READ && kind != OPERATION_PIN_WRITE &&
           kind != OPERATION_UNPIN && kind != OPERATION_CREATE;
}

struct operation operation_make(struct random *random, const struct trial *trial,
                                const struct operation_mix *mix)
{
    struct maker maker = {.random = random, .trial = trial, .mix = mix};
    struct operation operation = {.other = OPERATION_NOBODY};

    operation.task = choose_task(&maker);
    if (operation.task == OPERATION_NOBODY || percent(&maker, 1)) {
        operation.kind = OPERATION_CREATE;
        operation.task = (unsigned)below(&maker, TRIAL_TASKS);
        return operation;
    }
    maker.task = &trial->tasks[operation.task];
    operation.kind = choose_kind(&maker);
    operation.inside = may_be_inside(operation.kind) && percent(&maker, 30);
    operation.value = below(&maker, 1000);
    if (mix->refuses_memory && percent(&maker, 15))
        operation.fail_after = 1 + (unsigned)below(&maker, 6);
    if (operation.kind >= OPERATION_PIN && operation.kind <= OPERATION_UNPIN)
        operation.other = (unsigned)below(&maker, TRIAL_PINS);
    make_details(&maker, &operation);
    return operation;
}
