/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The picture that random scenarios are made from; fuzz_picture.h has the terms. */
#include "scenario/fuzz_picture.h"

#include <string.h>

void place_scar(struct place *place, const struct scar *scar)
{
    if (scar->first >= place->pages)
        return;
    for (unsigned i = 0; i < place->scar_count && !scar->is_hole; i++)
        place->is_doubtful |= place->scars[i].is_hole;
    if (place->scar_count == PLACE_SCARS)
        place->is_doubtful = true; /* one is forgotten */
    place->scars[place->next_scar] = *scar;
    place->next_scar = (uint8_t)((place->next_scar + 1) % PLACE_SCARS);
    if (place->scar_count < PLACE_SCARS)
        place->scar_count++;
}

static uint8_t protection_at(const struct place *place, uint32_t page)
{
    for (unsigned i = 1; i <= place->scar_count; i++) {
        const struct scar *scar =
            &place->scars[(unsigned)(place->next_scar + PLACE_SCARS - i) % PLACE_SCARS];

        if (page >= scar->first && page - scar->first < scar->pages)
            return scar->is_hole ? ABI_PROT_NONE : scar->protection;
    }
    return place->protection;
}

static bool is_past_end(const struct picture *picture, const struct place *place, uint32_t page)
{
    if (!place->is_object || place->file >= PICTURE_FILES)
        return false;
    return (place->file_page + page) * PAGE_BYTES >= picture->files[place->file].bytes;
}

bool place_permits(const struct picture *picture, const struct place *place, uint32_t page,
                   bool write)
{
    uint8_t protection = protection_at(place, page);

    if (!place->is_there || page >= place->pages || is_past_end(picture, place, page))
        return false;
    return write ? (protection & ABI_PROT_WRITE) != 0 : protection != 0;
}

/* Does the place, at an address that is known, meet the range? */
static bool meets(const struct place *place, va_t start, va_t end)
{
    return place->is_there && place->start != 0 && place->start < end &&
           place->start + (uint64_t)place->pages * PAGE_BYTES > start;
}

bool picture_meets(const struct picture_task *task, va_t start, uint32_t pages)
{
    for (unsigned i = 0; i < PICTURE_REGIONS; i++) {
        if (meets(&task->places[i], start, start + (uint64_t)pages * PAGE_BYTES))
            return true;
    }
    return false;
}

void picture_cover(struct picture_task *task, const struct place *cause, va_t start,
                   const struct scar *scar)
{
    va_t end = start + (uint64_t)scar->pages * PAGE_BYTES;

    for (unsigned i = 0; i < PICTURE_REGIONS; i++) {
        struct place *place = &task->places[i];

        if (place == cause || !meets(place, start, end))
            continue;
        struct scar part = *scar;
        va_t from = max_u64(start, place->start);
        va_t to = min_u64(end, place->start + (uint64_t)place->pages * PAGE_BYTES);

        part.first = (uint32_t)((from - place->start) >> PAGE_SHIFT);
        part.pages = (uint32_t)((to - from) >> PAGE_SHIFT);
        place_scar(place, &part);
    }
}

void picture_fork(struct picture *picture, uint16_t parent, uint16_t child, bool vfork)
{
    struct picture_task *born = &picture->tasks[child];

    *born = picture->tasks[parent];
    born->is_suspended = false;
    born->is_vforked = vfork;
    born->parent = parent;
    born->depth++;
    picture->tasks[parent].is_suspended = vfork;
    picture->alive++;
    for (unsigned i = 0; i < PICTURE_REGIONS && !vfork; i++) {
        if (born->places[i].dont_fork)
            born->places[i].is_there = false;
    }
}

static bool scar_is_same(const struct scar *one, const struct scar *other)
{
    return one->first == other->first && one->pages == other->pages &&
           one->protection == other->protection && one->is_hole == other->is_hole;
}

static bool place_is_same(const struct place *one, const struct place *other)
{
    bool same = one->is_there == other->is_there && one->is_doubtful == other->is_doubtful &&
                one->is_shared == other->is_shared && one->is_object == other->is_object &&
                one->grows_down == other->grows_down && one->dont_fork == other->dont_fork &&
                one->may_write == other->may_write && one->protection == other->protection &&
                one->file == other->file && one->scar_count == other->scar_count &&
                one->next_scar == other->next_scar && one->pages == other->pages &&
                one->file_page == other->file_page && one->start == other->start;

    for (unsigned i = 0; same && i < PLACE_SCARS; i++)
        same = scar_is_same(&one->scars[i], &other->scars[i]);
    return same;
}

/* What the child did to the memory that they had in common the parent does not know. */
static void resume_parent(struct picture *picture, struct picture_task *task)
{
    bool has_parent = task->is_vforked && task->parent != SCENARIO_NOBODY;

    task->is_vforked = false;
    if (!has_parent)
        return;
    struct picture_task *parent = &picture->tasks[task->parent];

    parent->is_suspended = false;
    for (unsigned i = 0; i < PICTURE_REGIONS; i++) {
        if (!place_is_same(&parent->places[i], &task->places[i]))
            parent->places[i].is_doubtful = true;
    }
}

void picture_end(struct picture *picture, uint16_t number)
{
    struct picture_task *task = &picture->tasks[number];

    resume_parent(picture, task);
    task->life = task->parent == SCENARIO_NOBODY ? LIFE_REAPED : LIFE_ENDED;
    picture->alive--;
    for (unsigned i = 0; i < picture->task_count; i++) {
        struct picture_task *child = &picture->tasks[i];

        if (child->life == LIFE_NEVER || child->parent != number)
            continue;
        child->parent = SCENARIO_NOBODY;
        if (child->life == LIFE_ENDED)
            child->life = LIFE_REAPED;
    }
}

void picture_exec(struct picture *picture, uint16_t number)
{
    struct picture_task *task = &picture->tasks[number];

    resume_parent(picture, task);
    task->has_heap = false;
    task->heap_pages = 0;
    for (unsigned i = 0; i < PICTURE_REGIONS; i++)
        task->places[i].is_there = false;
}
