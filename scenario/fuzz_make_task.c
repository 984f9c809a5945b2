/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random lives of tasks, and random files. */
#include "scenario/fuzz_maker.h"

enum { FILE_PAGES = 24, MOST_LETTERS = 12, STATUSES = 256 };

/* --- tasks --- */

bool make_fork(struct maker *maker, struct scenario_operation *operation)
{
    struct picture *picture = &maker->picture;

    if (picture->alive >= maker->mix->tasks || picture->task_count == SCENARIO_MOST_TASKS)
        return false;
    operation->other = maker_name_task(maker);
    picture_fork(picture, maker->task, operation->other, operation->verb == VERB_VFORK);
    return true;
}

bool make_exec(struct maker *maker, struct scenario_operation *operation)
{
    (void)operation;
    picture_exec(&maker->picture, maker->task);
    return true;
}

bool make_exit(struct maker *maker, struct scenario_operation *operation)
{
    if (maker->picture.alive < 2)
        return false;
    operation->value = below(maker, STATUSES);
    picture_end(&maker->picture, maker->task);
    return true;
}

/* A task in this state, mostly with that parent; false when there is none. */
static bool choose_other(struct maker *maker, enum life life, bool of_mine, uint16_t *number)
{
    const struct picture *picture = &maker->picture;
    unsigned first = (unsigned)below(maker, picture->task_count);

    for (unsigned i = 0; i < picture->task_count; i++) {
        *number = (uint16_t)((first + i) % picture->task_count);
        if (picture->tasks[*number].life == life &&
            (!of_mine || picture->tasks[*number].parent == maker->task))
            return true;
    }
    return false;
}

/* A task that waits for its vfork child is killed only by chance of the others. */
bool make_kill(struct maker *maker, struct scenario_operation *operation)
{
    if (maker->picture.alive < 2 || !choose_other(maker, LIFE_ALIVE, false, &operation->other) ||
        maker->picture.tasks[operation->other].is_suspended)
        return false;
    picture_end(&maker->picture, operation->other);
    return true;
}

bool make_wait(struct maker *maker, struct scenario_operation *operation)
{
    if (!choose_other(maker, LIFE_ENDED, true, &operation->other))
        return percent(maker, 5); /* which is refused, or would last for ever */
    maker->picture.tasks[operation->other].life = LIFE_REAPED;
    return true;
}

/* --- files --- */

/* A name for a new file, or a file that is open; false when there is none. */
static bool choose_file(struct maker *maker, bool is_open, uint16_t *number)
{
    unsigned first = (unsigned)below(maker, PICTURE_FILES);

    for (unsigned i = 0; i < PICTURE_FILES; i++) {
        *number = (uint16_t)((first + i) % PICTURE_FILES);
        if (maker->picture.files[*number].is_open == is_open)
            return true;
    }
    return false;
}

/* Whole pages, or a part of one more. */
static uint64_t choose_size(struct maker *maker)
{
    uint64_t bytes = below(maker, FILE_PAGES) * PAGE_BYTES;

    return percent(maker, 40) ? bytes + below(maker, PAGE_BYTES) : bytes;
}

bool make_file(struct maker *maker, struct scenario_operation *operation)
{
    if (!choose_file(maker, false, &operation->file))
        return false;
    operation->bytes = choose_size(maker);
    if (percent(maker, 15))
        operation->flags = percent(maker, 80) ? SCENARIO_READ_ONLY : SCENARIO_WRITE_ONLY;
    if (operation->bytes >= MOST_LETTERS && percent(maker, 60))
        maker_letters(maker, &operation->data, MOST_LETTERS);
    else if (operation->bytes > 0 && percent(maker, 50))
        operation->data = (struct scenario_data){
            .kind = DATA_FILL, .fill = (uint8_t)below(maker, 256), .bytes = operation->bytes};
    maker->picture.files[operation->file] =
        (struct picture_file){.was_made = true,
                              .is_open = true,
                              .readable = !(operation->flags & SCENARIO_WRITE_ONLY),
                              .writable = !(operation->flags & SCENARIO_READ_ONLY),
                              .bytes = operation->bytes};
    return true;
}

bool make_shm(struct maker *maker, struct scenario_operation *operation)
{
    if (!choose_file(maker, false, &operation->file))
        return false;
    operation->bytes = PAGE_BYTES + choose_size(maker);
    maker->picture.files[operation->file] = (struct picture_file){.was_made = true,
                                                                  .is_open = true,
                                                                  .readable = true,
                                                                  .writable = true,
                                                                  .bytes = operation->bytes};
    return true;
}

bool make_directory(struct maker *maker, struct scenario_operation *operation)
{
    if (!choose_file(maker, false, &operation->file))
        return false;
    maker->picture.files[operation->file] =
        (struct picture_file){.was_made = true, .is_open = true, .is_directory = true};
    return true;
}

bool make_close(struct maker *maker, struct scenario_operation *operation)
{
    if (!choose_file(maker, true, &operation->file))
        return false;
    maker->picture.files[operation->file].is_open = false;
    return true;
}

bool make_truncate(struct maker *maker, struct scenario_operation *operation)
{
    if (!choose_file(maker, true, &operation->file))
        return false;
    operation->bytes = choose_size(maker);
    maker->picture.files[operation->file].bytes = operation->bytes;
    return true;
}

bool make_fread(struct maker *maker, struct scenario_operation *operation)
{
    if (!choose_file(maker, true, &operation->file))
        return false;
    operation->bytes = percent(maker, 30) ? 2 * PAGE_BYTES : 1 + below(maker, MOST_LETTERS);
    operation->offset_bytes = below(maker, maker->picture.files[operation->file].bytes + 1);
    return true;
}

bool make_fwrite(struct maker *maker, struct scenario_operation *operation)
{
    struct picture_file *file;

    if (!choose_file(maker, true, &operation->file))
        return false;
    file = &maker->picture.files[operation->file];
    maker_letters(maker, &operation->data, 1 + (size_t)below(maker, MOST_LETTERS));
    operation->offset_bytes =
        below(maker, file->bytes + 1) + (percent(maker, 5) ? below(maker, 2 * PAGE_BYTES) : 0);
    file->bytes = max_u64(file->bytes, operation->offset_bytes + operation->data.bytes);
    return true;
}
