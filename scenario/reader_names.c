/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader's names, and what the text alone tells about who is alive.
 *
 * An operation counts as done when no answer says otherwise. Where answers differ from place to
 * place, or none is asked for, nothing is certain, and the reader lets the rest pass: the run will
 * tell.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "scenario/form.h"
#include "scenario/reader_parts.h"

/* What an operation comes to, as far as its answers tell. */
enum certainty { CERTAIN_DONE, CERTAIN_ERROR, CERTAIN_KILLED, UNCERTAIN };

static bool is_name(const struct span *span)
{
    if (span->length == 0 || !is_name_start(span->text[0]))
        return false;
    for (size_t i = 1; i < span->length; i++) {
        if (!is_name_character(span->text[i]))
            return false;
    }
    return true;
}

/* The text as a name, which need not be known. `kind` is task, region, file or pin. */
static bool parse_name(struct reader *reader, const struct span *span, const char *kind,
                       char name[SCENARIO_NAME_BYTES])
{
    char quoted[QUOTED_BYTES];

    if (!is_name(span))
        return reader_fail(reader, span->column, "expected the name of a %s, found %s", kind,
                           quote_text(quoted, span->text, span->length));
    if (span->length >= SCENARIO_NAME_BYTES)
        return reader_fail(reader, span->column, "expected a name of at most %d bytes, found %s",
                           SCENARIO_NAME_BYTES - 1, quote_text(quoted, span->text, span->length));
    memcpy(name, span->text, span->length);
    name[span->length] = '\0';
    return true;
}

static bool read_name(struct reader *reader, const char *kind, char name[SCENARIO_NAME_BYTES])
{
    struct span span = token_span(&reader->token);
    char what[SCENARIO_NAME_BYTES + 16];

    if (reader->token.kind != TOKEN_WORD) {
        (void)snprintf(what, sizeof(what), "the name of a %s", kind);
        return reader_expected(reader, what);
    }
    return parse_name(reader, &span, kind, name);
}

/* A name that is given here: not one of the language's own words. */
static bool read_new_name(struct reader *reader, const char *kind, char name[SCENARIO_NAME_BYTES])
{
    if (!read_name(reader, kind, name))
        return false;
    if (!is_reserved_word(name))
        return true;
    return reader_fail(reader, reader->token.column,
                       "expected a name, found %s, which is a word of the language", name);
}

/* Adds a name, or finds it; the token ahead is it, and is passed over. */
static bool add_name(struct reader *reader, struct scenario_names *names, const char *kind,
                     const char *name, unsigned most, uint16_t *number)
{
    int found = scenario_name(names, name, most);

    if (found == -ENOMEM)
        return reader_out_of_memory(reader);
    if (found < 0)
        return reader_fail(reader, reader->token.column,
                           "expected at most %u %ss, found one more: %s", most, kind, name);
    *number = (uint16_t)found;
    reader_next(reader);
    return true;
}

static bool fail_unknown(struct reader *reader, uint32_t column, const struct scenario_names *names,
                         const char *kind, const char *name, const char *how)
{
    struct nearest nearest = nearest_to(name, strlen(name));
    char hint[HINT_BYTES];

    nearest_offer_names(&nearest, names);
    return reader_fail(reader, column, "expected a %s, found %s, which %s%s", kind, name, how,
                       reader_hint(hint, &nearest));
}

static bool is_known(const struct scenario_names *names, const struct token *token)
{
    char name[SCENARIO_NAME_BYTES];

    if (token->kind != TOKEN_WORD || token->length >= SCENARIO_NAME_BYTES)
        return false;
    memcpy(name, token->text, token->length);
    name[token->length] = '\0';
    return scenario_find_name(names, name) >= 0;
}

/* --- tasks --- */

bool reader_is_task_known(const struct reader *reader, const struct token *token)
{
    return is_known(&reader->scenario->tasks, token);
}

static void set_life(struct reader *reader, uint16_t task, enum task_life life)
{
    if (task < SCENARIO_MOST_TASKS)
        reader->tasks[task] = (struct task_record){.life = life, .line = reader->line};
}

/* The first task of a text is there without being asked for. */
static bool make_first_task(struct reader *reader, const char *name, uint16_t *task)
{
    struct scenario_operation operation = scenario_operation_blank(VERB_TASK);

    operation.line = reader->line;
    operation.column = reader->token.column;
    if (is_reserved_word(name))
        return reader_fail(reader, reader->token.column,
                           "expected a task, found %s, which is a word of the language", name);
    if (!add_name(reader, &reader->scenario->tasks, "task", name, SCENARIO_MOST_TASKS, task))
        return false;
    operation.task = *task;
    if (scenario_add(reader->scenario, &operation) != 0)
        return reader_out_of_memory(reader);
    set_life(reader, *task, LIFE_ALIVE);
    return true;
}

bool reader_task(struct reader *reader, uint16_t *task)
{
    char name[SCENARIO_NAME_BYTES];
    int found;

    if (!read_name(reader, "task", name))
        return false;
    if (reader->scenario->tasks.count == 0)
        return make_first_task(reader, name, task);
    found = scenario_find_name(&reader->scenario->tasks, name);
    if (found < 0 || reader->tasks[found].life == LIFE_NONE)
        return fail_unknown(reader, reader->token.column, &reader->scenario->tasks, "task", name,
                            "does not exist yet");
    *task = (uint16_t)found;
    reader_next(reader);
    return true;
}

bool reader_living_task(struct reader *reader, uint16_t *task)
{
    uint32_t column = reader->token.column;

    if (!reader_task(reader, task))
        return false;
    const struct task_record *record = &reader->tasks[*task];

    if (record->life == LIFE_ALIVE || record->life == LIFE_UNSURE)
        return true;
    return reader_fail(reader, column,
                       "expected a task that is alive, found %s, which %s in line %u",
                       reader->scenario->tasks.names[*task],
                       record->life == LIFE_WAITED ? "was waited for" : "ended", record->line);
}

bool reader_new_task(struct reader *reader, uint16_t *task)
{
    char name[SCENARIO_NAME_BYTES];
    uint32_t column = reader->token.column;

    if (!read_new_name(reader, "task", name) ||
        !add_name(reader, &reader->scenario->tasks, "task", name, SCENARIO_MOST_TASKS, task))
        return false;
    const struct task_record *record = &reader->tasks[*task];

    if (record->life != LIFE_ALIVE && record->life != LIFE_ENDED)
        return true;
    return reader_fail(reader, column, "expected a new task, found %s, which %s in line %u", name,
                       record->life == LIFE_ALIVE ? "was made"
                                                  : "nobody has waited for since it ended",
                       record->line);
}

/* --- regions, files, pins --- */

bool reader_parse_region(struct reader *reader, const struct span *span, uint16_t *region)
{
    char name[SCENARIO_NAME_BYTES];
    int found;

    if (!parse_name(reader, span, "region", name))
        return false;
    found = scenario_find_name(&reader->scenario->regions, name);
    if (found < 0)
        return fail_unknown(reader, span->column, &reader->scenario->regions, "region", name,
                            "no mmap has given");
    *region = (uint16_t)found;
    return true;
}

/* In an address "-" and a digit begin an offset. */
static bool ends_like_offset(const char *name)
{
    for (const char *hyphen = strchr(name, '-'); hyphen != NULL; hyphen = strchr(hyphen + 1, '-')) {
        if (hyphen[1] >= '0' && hyphen[1] <= '9')
            return true;
    }
    return false;
}

bool reader_new_region(struct reader *reader, uint16_t *region)
{
    char name[SCENARIO_NAME_BYTES];

    if (!read_new_name(reader, "region", name))
        return false;
    if (ends_like_offset(name))
        return reader_fail(reader, reader->token.column,
                           "expected the name of a region, found %s, which reads as an offset",
                           name);
    return add_name(reader, &reader->scenario->regions, "region", name, SCENARIO_MOST_REGIONS,
                    region);
}

bool reader_new_file(struct reader *reader, uint16_t *file)
{
    char name[SCENARIO_NAME_BYTES];
    uint32_t column = reader->token.column;

    if (!read_new_name(reader, "file", name) ||
        !add_name(reader, &reader->scenario->files, "file", name, SCENARIO_MOST_FILES, file))
        return false;
    if (reader->is_open[*file])
        return reader_fail(reader, column, "expected a new file, found %s, which is open", name);
    return true;
}

bool reader_new_pin(struct reader *reader, uint16_t *pin)
{
    char name[SCENARIO_NAME_BYTES];
    uint32_t column = reader->token.column;

    if (!read_new_name(reader, "pin", name) ||
        !add_name(reader, &reader->scenario->pins, "pin", name, SCENARIO_MOST_PINS, pin))
        return false;
    if (reader->is_pinned[*pin])
        return reader_fail(reader, column, "expected a new pin, found %s, which is held", name);
    return true;
}

/* A name that must have been given before. */
static bool read_known(struct reader *reader, const struct scenario_names *names, const char *kind,
                       const char *how, uint16_t *number)
{
    char name[SCENARIO_NAME_BYTES];
    int found;

    if (!read_name(reader, kind, name))
        return false;
    found = scenario_find_name(names, name);
    if (found < 0)
        return fail_unknown(reader, reader->token.column, names, kind, name, how);
    *number = (uint16_t)found;
    reader_next(reader);
    return true;
}

bool reader_is_file_ahead(const struct reader *reader)
{
    return is_known(&reader->scenario->files, &reader->token);
}

bool reader_file(struct reader *reader, uint16_t *file)
{
    return read_known(reader, &reader->scenario->files, "file",
                      "no file, shm or directory has made", file);
}

bool reader_pin(struct reader *reader, uint16_t *pin)
{
    return read_known(reader, &reader->scenario->pins, "pin", "no task has pinned", pin);
}

/* --- what operations tell --- */

static enum certainty answer_certainty(const struct scenario_answer *answer)
{
    switch (answer->kind) {
    case ANSWER_ERROR:
        return CERTAIN_ERROR;
    case ANSWER_SIGNAL:
        return CERTAIN_KILLED;
    case ANSWER_ANY:
        return UNCERTAIN;
    default:
        return CERTAIN_DONE;
    }
}

static enum certainty operation_certainty(const struct scenario_operation *operation)
{
    unsigned count = operation->answer_count;
    enum certainty first;

    if (count == 0)
        return operation->fail_after == 0 ? CERTAIN_DONE : UNCERTAIN;
    first = answer_certainty(&operation->answers[0]);
    for (unsigned i = 1; i < count; i++) {
        if (answer_certainty(&operation->answers[i]) != first)
            return UNCERTAIN;
    }
    /* Where no answer holds, an operation is expected to be done. */
    return operation->answers[count - 1].selector_count == 0 || first == CERTAIN_DONE ? first
                                                                                      : UNCERTAIN;
}

/* The task comes to be so, if the operation is done. */
static void note_life(struct reader *reader, uint16_t task, enum task_life life,
                      enum certainty certainty)
{
    if (certainty == CERTAIN_DONE)
        set_life(reader, task, life);
    else if (certainty == UNCERTAIN)
        set_life(reader, task, LIFE_UNSURE);
}

/* Any child may have been the one. */
static void note_wait_for_any(struct reader *reader)
{
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        if (reader->tasks[i].life == LIFE_ENDED)
            reader->tasks[i].life = LIFE_UNSURE;
    }
}

static void note_tasks(struct reader *reader, const struct scenario_operation *operation,
                       enum certainty certainty)
{
    switch (operation->verb) {
    case VERB_TASK:
        set_life(reader, operation->task, LIFE_ALIVE);
        break;
    case VERB_FORK:
    case VERB_VFORK:
        note_life(reader, operation->other, LIFE_ALIVE, certainty);
        break;
    case VERB_EXIT:
        note_life(reader, operation->task, LIFE_ENDED, certainty);
        break;
    case VERB_KILL:
        note_life(reader, operation->other, LIFE_ENDED, certainty);
        break;
    case VERB_WAIT:
        if (operation->other == SCENARIO_NOBODY)
            note_wait_for_any(reader);
        else
            note_life(reader, operation->other, LIFE_WAITED, certainty);
        break;
    default:
        break;
    }
}

void reader_note_operation(struct reader *reader, const struct scenario_operation *operation)
{
    enum certainty certainty = operation_certainty(operation);
    bool is_done = certainty == CERTAIN_DONE;

    note_tasks(reader, operation, certainty);
    if (certainty == CERTAIN_KILLED)
        set_life(reader, operation->task, LIFE_ENDED);
    if (certainty == UNCERTAIN && verb_is_access(operation->verb))
        set_life(reader, operation->task, LIFE_UNSURE);
    if (operation->verb == VERB_FILE || operation->verb == VERB_SHM ||
        operation->verb == VERB_DIRECTORY)
        reader->is_open[operation->file] = is_done;
    if (operation->verb == VERB_CLOSE)
        reader->is_open[operation->file] = false;
    if (operation->verb == VERB_PIN)
        reader->is_pinned[operation->pin] = is_done;
    if (operation->verb == VERB_UNPIN)
        reader->is_pinned[operation->pin] = false;
}
