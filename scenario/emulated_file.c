/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and shared memory of a scenario: made, closed, read and written by nobody in particular.
 *
 * A descriptor's rights bind mappings alone; reading, writing and truncating are done by the file's
 * maker, who may do all of it.
 */
#include <errno.h>

#include "scenario/emulated_private.h"

/* Offsets in a file are signed: neither one nor the end of an access may pass their largest. */
static bool is_within_offsets(uint64_t offset, uint64_t bytes)
{
    return offset <= INT64_MAX && bytes <= INT64_MAX - offset;
}

/* The place for a new file; NULL, and answered, when there is one of that name or no such size. */
static struct emulated_file *free_file(struct emulated *emulated,
                                       const struct scenario_operation *operation,
                                       struct scenario_outcome *outcome)
{
    uint16_t number = operation->file;
    struct emulated_file *file = number < SCENARIO_MOST_FILES ? &emulated->files[number] : NULL;

    if (file == NULL || file->is_open)
        outcome_unable(outcome, "there is a file of that name already");
    else if (!is_within_offsets(0, operation->bytes))
        outcome_error(outcome, -EINVAL);
    else
        return file;
    return NULL;
}

/* Writes all of the data from `offset` on: the bytes written, or an error where there are none. */
static int64_t write_data(struct emulated *emulated, struct object *object, uint64_t offset,
                          const struct scenario_data *data)
{
    uint64_t done = 0;
    int64_t written = 0;

    if (data->kind == DATA_BYTES)
        return file_write(emulated->machine, object, offset, data->content, (size_t)data->bytes);
    emulated_fill(emulated, data);
    while (done < data->bytes) {
        written = file_write(emulated->machine, object, offset + done, emulated->fill,
                             (size_t)min_u64(data->bytes - done, PAGE_BYTES));
        if (written <= 0)
            break;
        done += (uint64_t)written;
    }
    return done > 0 ? (int64_t)done : written;
}

static void open_file(struct emulated_file *file, const struct scenario_operation *operation,
                      struct object *object)
{
    file->is_open = true;
    /* A directory can be opened for reading alone. */
    bool writable = object != NULL && (operation->flags & SCENARIO_READ_ONLY) == 0;

    file->open = (struct open_file){.object = object,
                                    .readable = (operation->flags & SCENARIO_WRITE_ONLY) == 0,
                                    .writable = writable};
    if (object != NULL)
        object->label = operation->file + 1u;
}

void emulated_file(struct emulated *emulated, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    struct emulated_file *file = free_file(emulated, operation, outcome);
    struct object *object;

    if (file == NULL)
        return;
    int64_t result = memory_file_create(emulated->machine, operation->bytes, &object);

    if (result == 0) {
        if (operation->data.kind != DATA_NONE)
            result = write_data(emulated, object, 0, &operation->data);
        /* A part of what was asked for is no file. */
        if (result >= 0 && (uint64_t)result < operation->data.bytes)
            result = -ENOMEM;
        if (result >= 0)
            open_file(file, operation, object);
        else
            object_close(emulated->machine, object);
    }
    outcome_of_call(emulated, operation, result < 0 ? (int)result : 0, 0, outcome);
}

void emulated_shm(struct emulated *emulated, const struct scenario_operation *operation,
                  struct scenario_outcome *outcome)
{
    struct emulated_file *file = free_file(emulated, operation, outcome);
    struct object *object;

    if (file == NULL)
        return;
    int error = shm_create(emulated->machine, operation->bytes, &object);

    if (error == 0)
        open_file(file, operation, object);
    outcome_of_call(emulated, operation, error, 0, outcome);
}

void emulated_directory(struct emulated *emulated, const struct scenario_operation *operation,
                        struct scenario_outcome *outcome)
{
    struct emulated_file *file = free_file(emulated, operation, outcome);

    if (file == NULL)
        return;
    open_file(file, operation, NULL);
    outcome_done(outcome, 0);
}

/* The open file that the operation names: NULL, and the outcome is EBADF. */
static struct emulated_file *named_file(struct emulated *emulated,
                                        const struct scenario_operation *operation,
                                        struct scenario_outcome *outcome)
{
    struct emulated_file *file =
        operation->file < SCENARIO_MOST_FILES ? &emulated->files[operation->file] : NULL;

    if (file != NULL && file->is_open)
        return file;
    outcome_error(outcome, -EBADF);
    return NULL;
}

void emulated_close(struct emulated *emulated, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    struct emulated_file *file = named_file(emulated, operation, outcome);

    if (file == NULL)
        return;
    if (file->open.object != NULL)
        object_close(emulated->machine, file->open.object);
    *file = (struct emulated_file){0};
    outcome_done(outcome, 0);
}

/* The object that is read or written; a directory refuses with `refusal`. */
static struct object *named_object(struct emulated *emulated,
                                   const struct scenario_operation *operation, int refusal,
                                   struct scenario_outcome *outcome)
{
    struct emulated_file *file = named_file(emulated, operation, outcome);

    if (file == NULL)
        return NULL;
    if (file->open.object == NULL)
        outcome_error(outcome, refusal);
    else if (!is_within_offsets(operation->offset_bytes,
                                max_u64(operation->bytes, operation->data.bytes)))
        outcome_error(outcome, -EINVAL);
    else
        return file->open.object;
    return NULL;
}

void emulated_truncate(struct emulated *emulated, const struct scenario_operation *operation,
                       struct scenario_outcome *outcome)
{
    struct object *object = named_object(emulated, operation, -EINVAL, outcome);

    if (object == NULL)
        return;
    int error = file_truncate(emulated->machine, object, operation->bytes);

    outcome_of_call(emulated, operation, error, 0, outcome);
}

void emulated_fread(struct emulated *emulated, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    struct object *object = named_object(emulated, operation, -EISDIR, outcome);

    if (object == NULL || !emulated_reserve(emulated, operation->bytes, outcome))
        return;
    int64_t got = file_read(emulated->machine, object, operation->offset_bytes, emulated->buffer,
                            (size_t)operation->bytes);

    if (got >= 0)
        outcome_data(outcome, emulated->buffer, (size_t)got);
    else
        outcome_error(outcome, (int)got);
}

void emulated_fwrite(struct emulated *emulated, const struct scenario_operation *operation,
                     struct scenario_outcome *outcome)
{
    /* A directory is never open for writing. */
    struct object *object = named_object(emulated, operation, -EBADF, outcome);

    if (object == NULL)
        return;
    int64_t written = write_data(emulated, object, operation->offset_bytes, &operation->data);

    if (written >= 0)
        outcome_done(outcome, (uint64_t)written);
    else
        outcome_error(outcome, (int)written);
}
