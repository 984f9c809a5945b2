/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writer's arguments, a function a kind; form.h lists which verb has which. */
#include <inttypes.h>
#include <string.h>

#include "pt/event.h"
#include "scenario/form.h"
#include "scenario/writer_parts.h"

static void write_new_region(const struct writer *writer,
                             const struct scenario_operation *operation)
{
    writer_name(writer, &writer->scenario->regions, operation->region);
}

static void write_address_argument(const struct writer *writer,
                                   const struct scenario_operation *operation)
{
    writer_address(writer, &operation->address);
}

static void write_size_argument(const struct writer *writer,
                                const struct scenario_operation *operation)
{
    writer_size(writer, operation->bytes);
}

static void write_new_size(const struct writer *writer, const struct scenario_operation *operation)
{
    writer_size(writer, operation->new_bytes);
}

static void write_offset(const struct writer *writer, const struct scenario_operation *operation)
{
    writer_size(writer, operation->offset_bytes);
}

static void write_protection(const struct writer *writer,
                             const struct scenario_operation *operation)
{
    const char *word = word_for(protection_words, operation->protection);

    if (word != NULL)
        fprintf(writer->stream, " %s", word);
    else
        fprintf(writer->stream, " prot=0x%" PRIx32, operation->protection);
}

/* " key=ADDRESS" */
static void write_target(const struct writer *writer, const char *key,
                         const struct scenario_operation *operation)
{
    if (!operation->has_target)
        return;
    fprintf(writer->stream, " %s=", key);
    writer_put_address(writer, &operation->target);
}

static void write_mapping(const struct writer *writer, const struct scenario_operation *operation)
{
    const char *sharing = word_for(sharing_words, operation->flags & ABI_MAP_SHARED_VALIDATE);
    bool is_anonymous = (operation->flags & ABI_MAP_ANONYMOUS) != 0;

    if (sharing != NULL)
        fprintf(writer->stream, " %s", sharing);
    writer_flags(writer, mapping_words, operation->flags & ~ABI_MAP_SHARED_VALIDATE);
    if (operation->file == SCENARIO_NOBODY && !is_anonymous)
        fputs(" fd=-1", writer->stream);
    writer_name(writer, &writer->scenario->files, operation->file);
    if (operation->offset_bytes != 0)
        fprintf(writer->stream, " offset=0x%" PRIx64, operation->offset_bytes);
    write_target(writer, "at", operation);
}

static void write_remap_flags(const struct writer *writer,
                              const struct scenario_operation *operation)
{
    writer_flags(writer, remap_words, operation->flags);
    write_target(writer, "to", operation);
}

static void write_sync_flags(const struct writer *writer,
                             const struct scenario_operation *operation)
{
    writer_flags(writer, sync_words, operation->flags);
}

static void write_into(const struct writer *writer, const struct scenario_operation *operation)
{
    write_target(writer, "into", operation);
}

static void write_advice(const struct writer *writer, const struct scenario_operation *operation)
{
    const char *word = advice_word(operation->advice);

    if (word != NULL)
        fprintf(writer->stream, " %s", word);
    else
        fprintf(writer->stream, " %" PRIu32, (uint32_t)operation->advice);
}

static void write_limit(const struct writer *writer, const struct scenario_operation *operation)
{
    fprintf(writer->stream, " %s", operation->value == 0 ? "as" : "data");
}

static void write_data_argument(const struct writer *writer,
                                const struct scenario_operation *operation)
{
    writer_data(writer, &operation->data);
}

static void write_byte(const struct writer *writer, const struct scenario_operation *operation)
{
    fprintf(writer->stream, " 0x%02" PRIx64, operation->value);
}

static void write_status(const struct writer *writer, const struct scenario_operation *operation)
{
    if (operation->value != 0)
        fprintf(writer->stream, " %" PRIu64, operation->value);
}

static void write_new_task(const struct writer *writer, const struct scenario_operation *operation)
{
    writer_name(writer, &writer->scenario->tasks, operation->task);
}

static void write_other_task(const struct writer *writer,
                             const struct scenario_operation *operation)
{
    writer_name(writer, &writer->scenario->tasks, operation->other);
}

static void write_program(const struct writer *writer, const struct scenario_operation *operation)
{
    if (operation->text != NULL)
        writer_text(writer, (const uint8_t *)operation->text, strlen(operation->text));
    else
        writer_name(writer, &writer->scenario->files, operation->file);
}

static void write_pin(const struct writer *writer, const struct scenario_operation *operation)
{
    writer_name(writer, &writer->scenario->pins, operation->pin);
}

static void write_direction(const struct writer *writer, const struct scenario_operation *operation)
{
    fputs(operation->write ? " write" : " read", writer->stream);
}

static void write_file(const struct writer *writer, const struct scenario_operation *operation)
{
    writer_name(writer, &writer->scenario->files, operation->file);
}

static void write_file_kind(const struct writer *writer, const struct scenario_operation *operation)
{
    writer_flags(writer, file_words, operation->flags);
    writer_data(writer, &operation->data);
}

static void write_show(const struct writer *writer, const struct scenario_operation *operation)
{
    fprintf(writer->stream, " %s", word_for(show_words, operation->show));
    writer_name(writer, &writer->scenario->tasks, operation->task);
}

static void write_expect(const struct writer *writer, const struct scenario_operation *operation)
{
    const char *word = word_for(quantity_words, operation->quantity);

    if (operation->quantity == QUANTITY_EVENT) {
        bool is_fault = event_find(operation->text) <= EVENT_REFILL;

        fprintf(writer->stream, " %s %s", is_fault ? "faults" : "count", operation->text);
        return;
    }
    fprintf(writer->stream, " %s", word);
    writer_name(writer, &writer->scenario->tasks, operation->task);
    if (operation->quantity < QUANTITY_TABLES) {
        writer_address(writer, &operation->address);
        writer_size(writer, operation->bytes);
    }
}

static void write_needs(const struct writer *writer, const struct scenario_operation *operation)
{
    switch (operation->need) {
    case NEED_LINUX_FROM:
    case NEED_LINUX_BEFORE:
        fputs(operation->need == NEED_LINUX_FROM ? " linux >= " : " linux < ", writer->stream);
        writer_version(writer, &operation->answers[0].selectors[0]);
        break;
    case NEED_HOST:
        fputs(" host", writer->stream);
        break;
    case NEED_EMULATED:
        fputs(" emulated", writer->stream);
        break;
    case NEED_SHARED_TABLES:
        fputs(" shared-tables", writer->stream);
        break;
    case NEED_KERNEL:
        fputs(" kernel ", writer->stream);
        writer_selectors(writer, &operation->answers[0]);
        break;
    case NEED_GEOMETRY:
        fprintf(writer->stream, " geometry %s", operation->text);
        break;
    case NEED_FEATURE:
        fprintf(writer->stream, " %s", operation->text);
        if (operation->data.kind == DATA_BYTES)
            writer_text(writer, operation->data.content, operation->data.bytes);
        break;
    }
}

typedef void write_argument(const struct writer *writer,
                            const struct scenario_operation *operation);

static write_argument *const argument_writers[ARGUMENT_COUNT] = {
    [ARGUMENT_NEW_REGION] = write_new_region,
    [ARGUMENT_MOVED] = write_new_region,
    [ARGUMENT_ADDRESS] = write_address_argument,
    [ARGUMENT_SIZE] = write_size_argument,
    [ARGUMENT_NEW_SIZE] = write_new_size,
    [ARGUMENT_OFFSET] = write_offset,
    [ARGUMENT_PROTECTION] = write_protection,
    [ARGUMENT_MAPPING] = write_mapping,
    [ARGUMENT_REMAP_FLAGS] = write_remap_flags,
    [ARGUMENT_SYNC_FLAGS] = write_sync_flags,
    [ARGUMENT_INTO] = write_into,
    [ARGUMENT_ADVICE] = write_advice,
    [ARGUMENT_LIMIT] = write_limit,
    [ARGUMENT_DATA] = write_data_argument,
    [ARGUMENT_BYTE] = write_byte,
    [ARGUMENT_STATUS] = write_status,
    [ARGUMENT_NEW_TASK] = write_new_task,
    [ARGUMENT_CHILD] = write_other_task,
    [ARGUMENT_VICTIM] = write_other_task,
    [ARGUMENT_WAITED] = write_other_task,
    [ARGUMENT_PROGRAM] = write_program,
    [ARGUMENT_NEW_PIN] = write_pin,
    [ARGUMENT_PIN] = write_pin,
    [ARGUMENT_DIRECTION] = write_direction,
    [ARGUMENT_NEW_FILE] = write_file,
    [ARGUMENT_FILE] = write_file,
    [ARGUMENT_FILE_KIND] = write_file_kind,
    [ARGUMENT_SHOW] = write_show,
    [ARGUMENT_EXPECT] = write_expect,
    [ARGUMENT_NEEDS] = write_needs,
};

void writer_arguments(const struct writer *writer, const struct scenario_operation *operation)
{
    const enum argument *form = verb_forms[operation->verb];

    for (unsigned i = 0; i < FORM_ARGUMENTS && form[i] != ARGUMENT_NONE; i++)
        argument_writers[form[i]](writer, operation);
}
