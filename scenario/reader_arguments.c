/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader's arguments, a function a kind; form.h lists which verb has which. */
#include "scenario/form.h"
#include "scenario/reader_parts.h"

static const char protections[] = "rights (none, r, w, x, rw, rx, wx, rwx or prot=N)";
static const char mapping_flags[] =
    "private, shared, shared_validate, anon, fixed, noreplace, populate, nonblock, growsdown, "
    "noreserve, stack, locked, flags=N, a file, fd=-1, offset=N or at=ADDRESS";

static bool read_new_region_if_named(struct reader *reader, struct scenario_operation *operation)
{
    if (reader->token.kind != TOKEN_WORD || reader_is_number_ahead(reader))
        return true;
    return reader_new_region(reader, &operation->region);
}

/* "B A OLD NEW" and "A OLD NEW" differ in the fourth word: only the first has a number there. */
static bool read_moved(struct reader *reader, struct scenario_operation *operation)
{
    struct lexer lexer = reader->lexer;
    struct token fourth = reader->token;

    for (unsigned i = 1; i < 4 && fourth.kind == TOKEN_WORD; i++)
        fourth = lexer_next(&lexer);
    if (fourth.kind != TOKEN_WORD || fourth.text[0] < '0' || fourth.text[0] > '9')
        return true;
    return reader_new_region(reader, &operation->region);
}

static bool read_address_argument(struct reader *reader, struct scenario_operation *operation)
{
    return reader_address(reader, &operation->address);
}

static bool read_size_argument(struct reader *reader, struct scenario_operation *operation)
{
    return reader_size(reader, &operation->bytes);
}

static bool read_new_size(struct reader *reader, struct scenario_operation *operation)
{
    return reader_size(reader, &operation->new_bytes);
}

static bool read_offset(struct reader *reader, struct scenario_operation *operation)
{
    return reader_number(reader, "an offset", UINT64_MAX, &operation->offset_bytes);
}

static bool read_protection(struct reader *reader, struct scenario_operation *operation)
{
    uint64_t number;

    if (!reader_begins(reader, "prot="))
        return reader_listed(reader, protection_words, protections, &operation->protection);
    if (!reader_key_number(reader, "prot", UINT32_MAX, &number))
        return false;
    operation->protection = (uint32_t)number;
    return true;
}

/* One of the words, or-ed into the flags, or flags=N; `*found` false, and nothing read, if it is
 * neither. */
static bool read_flag(struct reader *reader, const struct word *words,
                      struct scenario_operation *operation, bool *found)
{
    const struct word *word = NULL;
    uint64_t number = 0;

    if (reader->token.kind == TOKEN_WORD)
        word = word_find(words, reader->token.text, reader->token.length);
    *found = word != NULL || reader_begins(reader, "flags=");
    if (word != NULL) {
        operation->flags |= word->value;
        reader_next(reader);
    } else if (*found) {
        if (!reader_key_number(reader, "flags", UINT32_MAX, &number))
            return false;
        operation->flags |= (uint32_t)number;
    }
    return true;
}

/* All flags in a row. */
static bool read_flags(struct reader *reader, const struct word *words,
                       struct scenario_operation *operation)
{
    bool found = true;

    while (found) {
        if (!read_flag(reader, words, operation, &found))
            return false;
    }
    return true;
}

/* key=ADDRESS into the target. */
static bool read_target(struct reader *reader, const char *key,
                        struct scenario_operation *operation)
{
    if (operation->has_target)
        return reader_fail(reader, reader->token.column, "expected one %s= only, found a second",
                           key);
    operation->has_target = true;
    return reader_key_address(reader, key, &operation->target);
}

/* A word in the tail of mmap that is no flag: the name of a file. */
static bool read_mapped_file(struct reader *reader, struct scenario_operation *operation)
{
    const struct token token = reader->token;
    struct nearest nearest = nearest_to(token.text, token.length);
    char quoted[QUOTED_BYTES];
    char hint[HINT_BYTES];

    if (reader_is_file_ahead(reader)) {
        if (operation->file != SCENARIO_NOBODY)
            return reader_fail(reader, token.column, "expected one file only, found a second");
        return reader_file(reader, &operation->file);
    }
    nearest_offer_words(&nearest, mapping_words);
    nearest_offer_words(&nearest, sharing_words);
    nearest_offer_names(&nearest, &reader->scenario->files);
    if (nearest.best == NULL)
        return reader_expected(reader, mapping_flags);
    return reader_fail(reader, token.column, "expected a flag or a file, found %s%s",
                       quote_text(quoted, token.text, token.length), reader_hint(hint, &nearest));
}

/* One word of the tail of mmap. */
static bool read_mapping_word(struct reader *reader, struct scenario_operation *operation,
                              bool *no_file)
{
    bool found;

    if (!read_flag(reader, mapping_words, operation, &found))
        return false;
    if (!found && !read_flag(reader, sharing_words, operation, &found))
        return false;
    if (found)
        return true;
    if (reader_begins(reader, "at="))
        return read_target(reader, "at", operation);
    if (reader_begins(reader, "offset="))
        return reader_key_number(reader, "offset", UINT64_MAX, &operation->offset_bytes);
    if (reader_is(reader, "fd=-1")) {
        *no_file = true;
        reader_next(reader);
        return true;
    }
    return read_mapped_file(reader, operation);
}

static bool read_mapping(struct reader *reader, struct scenario_operation *operation)
{
    uint32_t column = reader->token.column;
    bool no_file = false;

    while (reader->token.kind == TOKEN_WORD && !reader_begins(reader, "fail=")) {
        if (!read_mapping_word(reader, operation, &no_file))
            return false;
    }
    if (no_file && operation->file != SCENARIO_NOBODY)
        return reader_fail(reader, column, "expected a file or fd=-1, found both");
    if (!no_file && operation->file == SCENARIO_NOBODY &&
        (operation->flags & ABI_MAP_ANONYMOUS) == 0)
        return reader_expected(reader, "what is mapped (anon, a file, or fd=-1 for no such file)");
    return true;
}

static bool read_remap_flags(struct reader *reader, struct scenario_operation *operation)
{
    if (!read_flags(reader, remap_words, operation))
        return false;
    if (!reader_begins(reader, "to="))
        return true;
    return read_target(reader, "to", operation) && read_flags(reader, remap_words, operation);
}

static bool read_sync_flags(struct reader *reader, struct scenario_operation *operation)
{
    return read_flags(reader, sync_words, operation);
}

static bool read_into(struct reader *reader, struct scenario_operation *operation)
{
    return !reader_begins(reader, "into=") || read_target(reader, "into", operation);
}

static bool read_advice(struct reader *reader, struct scenario_operation *operation)
{
    uint64_t number;
    uint32_t value;

    if (reader_is_number_ahead(reader)) {
        if (!reader_number(reader, "an advice", UINT32_MAX, &number))
            return false;
        value = (uint32_t)number;
    } else if (!reader_listed(reader, advice_words, "an advice (such as dontneed) or its number",
                              &value)) {
        return false;
    }
    operation->advice = (int32_t)value;
    return true;
}

static bool read_limit(struct reader *reader, struct scenario_operation *operation)
{
    uint32_t value;

    if (!reader_listed(reader, limit_words, "as or data", &value))
        return false;
    operation->value = value;
    return true;
}

static bool read_data_argument(struct reader *reader, struct scenario_operation *operation)
{
    return reader_data(reader, &operation->data);
}

static bool read_byte(struct reader *reader, struct scenario_operation *operation)
{
    return reader_number(reader, "a byte", UINT8_MAX, &operation->value);
}

static bool read_status(struct reader *reader, struct scenario_operation *operation)
{
    return !reader_is_number_ahead(reader) ||
           reader_number(reader, "an exit status", UINT8_MAX, &operation->value);
}

static bool read_new_task_argument(struct reader *reader, struct scenario_operation *operation)
{
    return reader_new_task(reader, &operation->task);
}

static bool read_child(struct reader *reader, struct scenario_operation *operation)
{
    return reader_new_task(reader, &operation->other);
}

static bool read_victim(struct reader *reader, struct scenario_operation *operation)
{
    return reader_task(reader, &operation->other);
}

static bool is_end_of_arguments(const struct reader *reader)
{
    return reader->token.kind == TOKEN_END || reader->token.kind == TOKEN_EQUALS ||
           reader_begins(reader, "fail=");
}

static bool read_waited(struct reader *reader, struct scenario_operation *operation)
{
    return is_end_of_arguments(reader) || reader_task(reader, &operation->other);
}

static bool read_program(struct reader *reader, struct scenario_operation *operation)
{
    if (is_end_of_arguments(reader))
        return true;
    if (reader->token.kind == TOKEN_STRING)
        return reader_text(reader, "a path", &operation->text);
    return reader_file(reader, &operation->file);
}

static bool read_new_pin_argument(struct reader *reader, struct scenario_operation *operation)
{
    return reader_new_pin(reader, &operation->pin);
}

static bool read_pin_argument(struct reader *reader, struct scenario_operation *operation)
{
    return reader_pin(reader, &operation->pin);
}

static bool read_direction(struct reader *reader, struct scenario_operation *operation)
{
    operation->write = reader_is(reader, "write");
    if (!operation->write && !reader_is(reader, "read"))
        return reader_expected(reader, "read or write");
    reader_next(reader);
    return true;
}

static bool read_new_file_argument(struct reader *reader, struct scenario_operation *operation)
{
    return reader_new_file(reader, &operation->file);
}

static bool read_file_argument(struct reader *reader, struct scenario_operation *operation)
{
    return reader_file(reader, &operation->file);
}

static bool read_file_kind(struct reader *reader, struct scenario_operation *operation)
{
    if ((reader_is(reader, "ro") || reader_is(reader, "wo")) &&
        !reader_listed(reader, file_words, "ro or wo", &operation->flags))
        return false;
    return !reader_is_data_ahead(reader) || reader_data(reader, &operation->data);
}

typedef bool read_argument(struct reader *reader, struct scenario_operation *operation);

static read_argument *const argument_readers[ARGUMENT_COUNT] = {
    [ARGUMENT_NEW_REGION] = read_new_region_if_named,
    [ARGUMENT_MOVED] = read_moved,
    [ARGUMENT_ADDRESS] = read_address_argument,
    [ARGUMENT_SIZE] = read_size_argument,
    [ARGUMENT_NEW_SIZE] = read_new_size,
    [ARGUMENT_OFFSET] = read_offset,
    [ARGUMENT_PROTECTION] = read_protection,
    [ARGUMENT_MAPPING] = read_mapping,
    [ARGUMENT_REMAP_FLAGS] = read_remap_flags,
    [ARGUMENT_SYNC_FLAGS] = read_sync_flags,
    [ARGUMENT_INTO] = read_into,
    [ARGUMENT_ADVICE] = read_advice,
    [ARGUMENT_LIMIT] = read_limit,
    [ARGUMENT_DATA] = read_data_argument,
    [ARGUMENT_BYTE] = read_byte,
    [ARGUMENT_STATUS] = read_status,
    [ARGUMENT_NEW_TASK] = read_new_task_argument,
    [ARGUMENT_CHILD] = read_child,
    [ARGUMENT_VICTIM] = read_victim,
    [ARGUMENT_WAITED] = read_waited,
    [ARGUMENT_PROGRAM] = read_program,
    [ARGUMENT_NEW_PIN] = read_new_pin_argument,
    [ARGUMENT_PIN] = read_pin_argument,
    [ARGUMENT_DIRECTION] = read_direction,
    [ARGUMENT_NEW_FILE] = read_new_file_argument,
    [ARGUMENT_FILE] = read_file_argument,
    [ARGUMENT_FILE_KIND] = read_file_kind,
    [ARGUMENT_SHOW] = reader_show,
    [ARGUMENT_EXPECT] = reader_expect,
    [ARGUMENT_NEEDS] = reader_needs,
};

bool reader_arguments(struct reader *reader, struct scenario_operation *operation)
{
    const enum argument *form = verb_forms[operation->verb];

    for (unsigned i = 0; i < FORM_ARGUMENTS && form[i] != ARGUMENT_NONE; i++) {
        if (!argument_readers[form[i]](reader, operation))
            return false;
    }
    return true;
}
