/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and shared memory objects of the model. */
#include <errno.h>
#include <string.h>

#include "scenario/model_state.h"

#define MOST_FILE_BYTES ((uint64_t)INT64_MAX)

/* --- what becomes of mappings --- */

static void cut_range(struct model_space *space, const struct model_range *range,
                      uint64_t first_page)
{
    uint64_t skipped = first_page > range->object_page ? first_page - range->object_page : 0;
    uint64_t first = (range->start >> PAGE_SHIFT) + skipped;

    if (first < range->end >> PAGE_SHIFT)
        pages_remove(&space->own, first, range->end >> PAGE_SHIFT, true);
}

void model_cut_object(struct model *model, const struct model_object *object, uint64_t first_page)
{
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        struct model_space *space = model->tasks[i].space;

        for (size_t r = 0; space != NULL && r < space->count; r++) {
            if (space->ranges[r].object == object)
                cut_range(space, &space->ranges[r], first_page);
        }
    }
}

/* --- names --- */

/* The slot of a new name; NULL, and answered, if it is in use. */
static struct model_file *new_file(struct model_call *call)
{
    uint16_t number = call->operation->file;

    if (number >= SCENARIO_MOST_FILES || call->model->files[number].is_open) {
        answer_unable(call, "the name is in use");
        return NULL;
    }
    return &call->model->files[number];
}

/* The open file of a name: NULL, and EBADF, if there is none. */
static struct model_file *open_file(struct model_call *call)
{
    uint16_t number = call->operation->file;

    if (number < SCENARIO_MOST_FILES && call->model->files[number].is_open)
        return &call->model->files[number];
    answer_error(call, EBADF);
    return NULL;
}

static struct model_object *create(struct model_call *call, uint64_t bytes)
{
    struct model_object *object = object_new(bytes);

    answer_host_error(call, object == NULL ? -ENOMEM : 0);
    return object;
}

static int write_data(struct model_object *object, uint64_t offset,
                      const struct scenario_data *data)
{
    uint8_t filled[PAGE_BYTES];
    int error = 0;

    if (data->kind == DATA_BYTES)
        return object_write(object, offset, data->content, data->bytes);
    memset(filled, data->fill, sizeof(filled));
    for (uint64_t done = 0; error == 0 && done < data->bytes; done += sizeof(filled))
        error = object_write(object, offset + done, filled,
                             min_u64(sizeof(filled), data->bytes - done));
    return error;
}

void model_file_new(struct model_call *call)
{
    const struct scenario_operation *operation = call->operation;
    struct model_file *file = new_file(call);

    if (file == NULL)
        return;
    if (operation->bytes > MOST_FILE_BYTES) {
        answer_unable(call, "no file is so long");
        return;
    }
    struct model_object *object = create(call, operation->bytes);

    if (object == NULL)
        return;
    *file = (struct model_file){.is_open = true,
                                .readable = !(operation->flags & SCENARIO_WRITE_ONLY),
                                .writable = !(operation->flags & SCENARIO_READ_ONLY),
                                .object = object};
    if (operation->data.kind != DATA_NONE)
        answer_host_error(call, write_data(object, 0, &operation->data));
}

void model_shm(struct model_call *call)
{
    struct model_file *file = new_file(call);

    if (file == NULL)
        return;
    if (call->operation->bytes == 0 || call->operation->bytes > MOST_FILE_BYTES) {
        answer_unable(call, "no shared memory is so long");
        return;
    }
    struct model_object *object = create(call, call->operation->bytes);

    if (object != NULL)
        *file = (struct model_file){
            .is_open = true, .readable = true, .writable = true, .object = object};
}

void model_directory(struct model_call *call)
{
    struct model_file *file = new_file(call);

    if (file != NULL)
        *file = (struct model_file){.is_open = true, .readable = true};
}

void model_close(struct model_call *call)
{
    struct model_file *file = open_file(call);

    if (file == NULL)
        return;
    object_release(file->object);
    file->object = NULL;
    file->is_open = false;
}

/* --- contents --- */

/*
 * Reading, writing and truncating is done by the file's maker, who may do all of it. A directory
 * refuses. The object, or NULL, and answered.
 */
static struct model_object *object_of(struct model_call *call, int refusal)
{
    const struct scenario_operation *operation = call->operation;
    const struct model_file *file = open_file(call);

    if (file == NULL)
        return NULL;
    if (file->object == NULL)
        answer_error(call, refusal);
    else if (operation->offset_bytes > MOST_FILE_BYTES ||
             max_u64(operation->bytes, operation->data.bytes) >
                 MOST_FILE_BYTES - operation->offset_bytes)
        answer_error(call, EINVAL);
    else
        return file->object;
    return NULL;
}

void model_truncate(struct model_call *call)
{
    struct model_object *object = object_of(call, EINVAL);
    uint64_t bytes = call->operation->bytes;

    if (object == NULL)
        return;
    if (bytes < object->bytes)
        model_cut_object(call->model, object, (bytes >> PAGE_SHIFT) + (bytes % PAGE_BYTES != 0));
    object_resize(object, bytes);
}

void model_fread(struct model_call *call)
{
    const struct scenario_operation *operation = call->operation;
    const struct model_object *object = object_of(call, EISDIR);
    uint8_t *data;

    if (object == NULL || (data = answer_data(call, operation->bytes)) == NULL)
        return;
    call->outcome->data_bytes =
        object_read(object, operation->offset_bytes, data, operation->bytes);
}

void model_fwrite(struct model_call *call)
{
    const struct scenario_operation *operation = call->operation;
    struct model_object *object = object_of(call, EBADF);

    if (object == NULL)
        return;
    if (answer_host_error(call, write_data(object, operation->offset_bytes, &operation->data)))
        call->outcome->value = operation->data.bytes;
}
