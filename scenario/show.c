/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which picture is asked for, and names that several of them need. */
#include "scenario/show.h"

#include <inttypes.h>

#include "scenario/picture.h"

void show_object_name(const struct emulated *emulated, const struct object *object,
                      char name[SHOW_NAME_BYTES])
{
    const struct scenario_names *names = emulated->backend.file_names;
    const char *path = emulated_program_path(emulated, object->label);

    if (path != NULL)
        snprintf(name, SHOW_NAME_BYTES, "%s", path);
    else if (object->label == 0)
        snprintf(name, SHOW_NAME_BYTES, "/dev/zero (deleted)");
    else if (names != NULL && object->label <= names->count)
        snprintf(name, SHOW_NAME_BYTES, "/%s", names->names[object->label - 1]);
    else
        snprintf(name, SHOW_NAME_BYTES, "/file-%u", (unsigned)object->label);
}

void show_address(const struct emulated *emulated, va_t va, char text[SHOW_ADDRESS_BYTES])
{
    int digits = snprintf(NULL, 0, "%" PRIx64, emulated->user_end - 1);

    snprintf(text, SHOW_ADDRESS_BYTES, "%0*" PRIx64, digits, va);
}

void show_pfn_run(pfn_t first, pfn_t last, char text[SHOW_RUN_BYTES])
{
    if (first == last)
        snprintf(text, SHOW_RUN_BYTES, "%" PRIu32, first);
    else
        snprintf(text, SHOW_RUN_BYTES, "%" PRIu32 "-%" PRIu32, first, last);
}

static void show_of_task(struct emulated *emulated, enum scenario_show show, unsigned slot,
                         FILE *stream)
{
    if (show == SHOW_MAPS)
        show_maps(emulated, slot, stream);
    else if (show == SHOW_SMAPS)
        show_smaps(emulated, slot, stream);
    else
        show_tables(emulated, slot, stream);
}

static void show_of_machine(struct emulated *emulated, enum scenario_show show, FILE *stream)
{
    switch (show) {
    case SHOW_FRAMES:
        show_frames(emulated, stream);
        break;
    case SHOW_FAULTS:
        show_faults(emulated, stream);
        break;
    case SHOW_VMSTAT:
        show_vmstat(emulated, stream);
        break;
    default:
        picture_show_diff(emulated->before, emulated, stream);
        break;
    }
}

void emulated_show(struct backend *backend, enum scenario_show show, uint16_t task, FILE *stream)
{
    struct emulated *emulated = emulated_of(backend);
    bool of_task = show == SHOW_MAPS || show == SHOW_SMAPS || show == SHOW_TABLES;

    if (of_task && !backend->ops->is_alive(backend, task)) {
        fprintf(stream, "%s is not there\n", emulated_task_name(emulated, task));
        return;
    }
    machine_lock(emulated->machine);
    if (of_task)
        show_of_task(emulated, show, task, stream);
    else
        show_of_machine(emulated, show, stream);
    machine_unlock(emulated->machine);
}
