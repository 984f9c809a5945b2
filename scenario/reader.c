/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader: lines, statements and their subjects; reader_parts.h has the rest.
 *
 * It reads a line at a time into a buffer of a fixed size, so that no input makes it hold more than
 * what it has understood.
 */
#include "scenario/reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/form.h"
#include "scenario/reader_parts.h"

enum { SCENARIO_MOST_OPERATIONS = 1 << 20, PLACE_BYTES = 200 };

/* The path as it may be printed; of a long one its end. */
static void place_text(char place[PLACE_BYTES], const char *path)
{
    size_t length = strlen(path);
    size_t at = 0;

    if (length > PLACE_BYTES / 2) {
        path += length - PLACE_BYTES / 2;
        at = (size_t)snprintf(place, PLACE_BYTES, "...");
    }
    for (; *path != '\0' && at + sizeof("\\xNN") < PLACE_BYTES; path++) {
        unsigned char byte = (unsigned char)*path;

        if (byte < ' ' || byte > '~')
            at += (size_t)snprintf(place + at, PLACE_BYTES - at, "\\x%02x", byte);
        else
            place[at++] = (char)byte;
    }
    place[at] = '\0';
}

bool reader_fail(struct reader *reader, uint32_t column, const char *format, ...)
{
    char place[PLACE_BYTES];
    char what[SCENARIO_PROBLEM_BYTES];
    va_list arguments;

    if (reader->error != 0)
        return false;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    place_text(place, reader->scenario->path);
    snprintf(reader->problem, reader->problem_bytes, "%s:%u:%u: %s", place, reader->line, column,
             what);
    reader->error = -EINVAL;
    return false;
}

/* The same about the whole file. */
static bool fail_file(struct reader *reader, int error, const char *what)
{
    char place[PLACE_BYTES];

    if (reader->error != 0)
        return false;
    place_text(place, reader->scenario->path);
    snprintf(reader->problem, reader->problem_bytes, "%s: %s", place, what);
    reader->error = error;
    return false;
}

bool reader_out_of_memory(struct reader *reader)
{
    return fail_file(reader, -ENOMEM, "memory ran out");
}

bool reader_expected(struct reader *reader, const char *what)
{
    const struct token *token = &reader->token;
    char quoted[QUOTED_BYTES];

    if (token->kind == TOKEN_BAD && token->text[0] == '"')
        return reader_fail(reader, token->column, "expected \" at the end of the text %s",
                           quote_text(quoted, token->text + 1, token->length - 1));
    if (token->kind == TOKEN_END)
        return reader_fail(reader, token->column, "expected %s, found the end of the %s", what,
                           token->length == 0 || token->text[0] == '#' ? "line" : "statement");
    if (token->kind == TOKEN_STRING)
        return reader_fail(reader, token->column, "expected %s, found the text %s", what,
                           quote_text(quoted, token->text + 1, token->length - 2));
    return reader_fail(reader, token->column, "expected %s, found %s", what,
                       quote_text(quoted, token->text, token->length));
}

void reader_next(struct reader *reader)
{
    reader->token = lexer_next(&reader->lexer);
}

bool reader_is(const struct reader *reader, const char *word)
{
    return token_is(&reader->token, word);
}

bool reader_begins(const struct reader *reader, const char *prefix)
{
    return token_begins(&reader->token, prefix);
}

const char *reader_hint(char hint[HINT_BYTES], const struct nearest *nearest)
{
    hint[0] = '\0';
    if (nearest->best != NULL)
        snprintf(hint, HINT_BYTES, "; did you mean %s?", nearest->best);
    return hint;
}

static enum scenario_verb token_verb(const struct token *token)
{
    return token->kind == TOKEN_WORD ? verb_find(token->text, token->length) : VERB_COUNT;
}

static bool fail_verb(struct reader *reader, const struct token *token)
{
    struct nearest nearest = nearest_to(token->text, token->length);
    char quoted[QUOTED_BYTES];
    char hint[HINT_BYTES];

    nearest_offer_verbs(&nearest);
    return reader_fail(reader, token->column, "expected an operation, found %s%s",
                       quote_text(quoted, token->text, token->length), reader_hint(hint, &nearest));
}

/* Two words begin the statement and neither is a verb: which of them is the wrong one? */
static bool fail_statement(struct reader *reader, const struct token *second)
{
    struct nearest nearest = nearest_to(reader->token.text, reader->token.length);

    nearest_offer_verbs(&nearest);
    if (!reader_is_task_known(reader, &reader->token) && nearest.best != NULL)
        return fail_verb(reader, &reader->token);
    if (second->kind == TOKEN_WORD)
        return fail_verb(reader, second);
    reader->token = *second;
    return reader_expected(reader, "an operation");
}

/* TASK verb: the token ahead is no verb. */
static bool read_task_and_verb(struct reader *reader, struct scenario_operation *operation)
{
    struct lexer ahead = reader->lexer;
    struct token second = lexer_next(&ahead);
    enum scenario_verb verb = token_verb(&second);

    if (verb == VERB_COUNT)
        return fail_statement(reader, &second);
    if (!verb_descriptions[verb].has_task)
        return reader_fail(reader, second.column, "no task stands before %s: \"%s %s\"",
                           verb_descriptions[verb].word, verb_descriptions[verb].word,
                           verb_descriptions[verb].form);
    operation->verb = verb;
    if (!reader_living_task(reader, &operation->task))
        return false;
    reader_next(reader);
    return true;
}

static bool read_subject(struct reader *reader, struct scenario_operation *operation)
{
    enum scenario_verb verb = token_verb(&reader->token);

    if (reader->token.kind != TOKEN_WORD)
        return reader_expected(reader, "a task or an operation");
    if (verb == VERB_COUNT)
        return read_task_and_verb(reader, operation);
    if (verb_descriptions[verb].has_task)
        return reader_fail(reader, reader->token.column,
                           "expected a task before %s: \"TASK %s %s\"",
                           verb_descriptions[verb].word, verb_descriptions[verb].word,
                           verb_descriptions[verb].form);
    operation->verb = verb;
    reader_next(reader);
    return true;
}

/* "fail=N" behind the arguments. */
static bool read_fail(struct reader *reader, struct scenario_operation *operation)
{
    struct token token = reader->token;
    uint64_t number = 0;

    if (!reader_begins(reader, "fail="))
        return true;
    if (verb_is_about_run(operation->verb) || operation->verb == VERB_TASK)
        return reader_fail(reader, token.column, "%s asks for no memory: fail= is for operations",
                           verb_descriptions[operation->verb].word);
    if (!reader_key_number(reader, "fail", UINT32_MAX, &number))
        return false;
    if (number == 0)
        return reader_fail(reader, token.column, "expected fail=1 or more: which request fails");
    operation->fail_after = (unsigned)number;
    return true;
}

static bool add_operation(struct reader *reader, const struct scenario_operation *operation)
{
    if (reader->scenario->count >= SCENARIO_MOST_OPERATIONS)
        return reader_fail(reader, operation->column, "more than %d operations",
                           SCENARIO_MOST_OPERATIONS);
    if (scenario_add(reader->scenario, operation) != 0)
        return reader_out_of_memory(reader);
    reader_note_operation(reader, operation);
    return true;
}

/* What follows the arguments, or the answer, is neither an answer nor the end. */
static bool fail_end(struct reader *reader, const struct scenario_operation *operation)
{
    const struct verb_description *description = &verb_descriptions[operation->verb];
    bool takes_answer =
        operation->answer_count == 0 && verb_answers[operation->verb] != ANSWERS_NONE;
    char what[SCENARIO_PROBLEM_BYTES];

    if (operation->answer_count > 0)
        return reader_expected(reader, "the end of the statement");
    snprintf(what, sizeof(what), "%s \"%s %s\"",
             takes_answer ? "= or the end of the statement behind"
                          : "the end of the statement behind",
             description->word, description->form);
    return reader_expected(reader, what);
}

static bool read_statement(struct reader *reader)
{
    struct scenario_operation operation = scenario_operation_blank(VERB_COUNT);

    operation.line = reader->line;
    operation.column = reader->token.column;
    if (!read_subject(reader, &operation) || !reader_arguments(reader, &operation) ||
        !read_fail(reader, &operation) || !reader_answers(reader, &operation))
        return false;
    if (reader->token.kind != TOKEN_END)
        return fail_end(reader, &operation);
    return add_operation(reader, &operation);
}

/* Control characters are no text, not even in a comment. */
static bool check_bytes(struct reader *reader)
{
    for (size_t i = 0; i < reader->lexer.length; i++) {
        unsigned char byte = (unsigned char)reader->lexer.line[i];

        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return reader_fail(reader, (uint32_t)i + 1, "expected text, found the byte \\x%02x",
                               byte);
    }
    return true;
}

static bool read_line(struct reader *reader, const char *line, size_t length)
{
    reader->line++;
    reader->lexer = (struct lexer){.line = line, .length = length};
    if (!check_bytes(reader))
        return false;
    while (!lexer_is_at_end(&reader->lexer)) {
        reader_next(reader);
        if (reader->token.kind != TOKEN_END && !read_statement(reader))
            return false;
    }
    return true;
}

static bool fail_long_line(struct reader *reader)
{
    reader->line++;
    return reader_fail(reader, SCENARIO_LINE_BYTES + 1,
                       "expected the end of the line: it has more "
                       "than %d bytes",
                       SCENARIO_LINE_BYTES);
}

/*
 * The next line without its end, LF or CRLF; false at the end of the stream, or if it is too long.
 */
static bool take_line(struct reader *reader, FILE *stream, char *line, size_t *length)
{
    int byte = 0;

    for (*length = 0; (byte = getc_unlocked(stream)) != EOF && byte != '\n';) {
        if (*length == SCENARIO_LINE_BYTES)
            return fail_long_line(reader);
        line[(*length)++] = (char)byte;
    }
    if (byte == EOF && *length == 0)
        return false;
    if (*length > 0 && line[*length - 1] == '\r')
        (*length)--;
    return true;
}

static void read_lines(struct reader *reader, FILE *stream, char *line)
{
    size_t length;

    errno = 0;
    while (take_line(reader, stream, line, &length) && read_line(reader, line, length))
        continue;
    if (ferror(stream)) {
        reader->error = 0;
        fail_file(reader, -EIO, errno != 0 ? strerror(errno) : "it cannot be read");
    }
}

/* The records of a reader are too large for some stacks. */
static struct reader *reader_create(struct scenario *scenario, char *problem, size_t problem_bytes)
{
    struct reader *reader = calloc(1, sizeof(*reader));

    if (reader != NULL)
        *reader = (struct reader){
            .scenario = scenario, .problem = problem, .problem_bytes = problem_bytes};
    return reader;
}

int scenario_read(struct scenario *scenario, const char *path, FILE *stream, char *problem,
                  size_t problem_bytes)
{
    char *line = malloc(SCENARIO_LINE_BYTES);
    struct reader *reader = reader_create(scenario, problem, problem_bytes);
    int error = scenario_init(scenario, path);

    snprintf(problem, problem_bytes, "memory ran out");
    if (line == NULL || reader == NULL)
        error = -ENOMEM;
    if (error == 0) {
        read_lines(reader, stream, line);
        error = reader->error;
    }
    if (error != 0)
        scenario_free(scenario);
    else
        problem[0] = '\0';
    free(reader);
    free(line);
    return error;
}

int scenario_read_text(struct scenario *scenario, const char *path, const char *text,
                       size_t text_bytes, char *problem, size_t problem_bytes)
{
    /* fmemopen() takes no empty buffer and writes to none that is open for reading. */
    char empty[] = "\n";
    void *from = text_bytes == 0 ? empty : (char *)(uintptr_t)text;
    FILE *stream = fmemopen(from, text_bytes == 0 ? 1 : text_bytes, "r");
    int error;

    if (stream == NULL) {
        *scenario = (struct scenario){0};
        snprintf(problem, problem_bytes, "memory ran out");
        return -ENOMEM;
    }
    error = scenario_read(scenario, path, stream, problem, problem_bytes);
    fclose(stream);
    return error;
}
