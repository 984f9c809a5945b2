/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader's answers: = ANSWER [faults N] [on SELECTOR[,SELECTOR]] [else ANSWER ...].
 *
 * What an answer can be depends on what the operation gives back, so that most slips are found
 * without a run.
 */
#include <string.h>

#include "pager/kernel.h"
#include "scenario/form.h"
#include "scenario/reader.h"
#include "scenario/reader_parts.h"
#include "scenario/writer.h"

enum { LAST_SIGNAL = 64 };

static const char *const answer_descriptions[] = {
    [ANSWERS_NOTHING] = "ok, an errno or any",
    [ANSWERS_ADDRESS] = "an address, ok, an errno or any",
    [ANSWERS_COUNT] = "a number, ok, an errno or any",
    [ANSWERS_DATA] = "data (\"text\", hex:00ff or fill BYTE SIZE), ok, an errno or any",
    [ANSWERS_EITHER] = "data, a number of bytes, ok, an errno or any",
    [ANSWERS_BYTES] = "a byte, data, ok or any",
    [ANSWERS_BITS] = "digits 0 and 1, ok, an errno or any",
    [ANSWERS_STATUS] = "exit STATUS, signal NAME, ok, an errno or any",
    [ANSWERS_QUANTITY] = "a number or any",
};

/* --- what is expected --- */

static bool fail_answer(struct reader *reader, const struct scenario_operation *operation)
{
    const struct token *token = &reader->token;
    const char *what = answer_descriptions[verb_answers[operation->verb]];
    struct nearest nearest = nearest_to(token->text, token->length);
    char quoted[QUOTED_BYTES];
    char hint[HINT_BYTES];

    if (operation->verb == VERB_EXPECT && operation->quantity == QUANTITY_MAPS)
        what = "a text such as \"rw-p 8K, - 4K\", or any";
    if (token->kind != TOKEN_WORD)
        return reader_expected(reader, what);
    nearest_offer_errors(&nearest);
    if (verb_is_access(operation->verb)) {
        nearest_offer(&nearest, "SIGSEGV");
        nearest_offer(&nearest, "SIGBUS");
    }
    return reader_fail(reader, token->column, "expected %s, found %s%s", what,
                       quote_text(quoted, token->text, token->length), reader_hint(hint, &nearest));
}

/* The word ahead, if it is short enough to be the name of something; else "". */
static void short_word(const struct reader *reader, char word[SCENARIO_NAME_BYTES])
{
    word[0] = '\0';
    if (reader->token.kind != TOKEN_WORD || reader->token.length >= SCENARIO_NAME_BYTES)
        return;
    memcpy(word, reader->token.text, reader->token.length);
    word[reader->token.length] = '\0';
}

static void take_kind(struct reader *reader, struct scenario_answer *answer,
                      enum scenario_answer_kind kind)
{
    answer->kind = kind;
    reader_next(reader);
}

/* SIGSEGV [maperr|accerr|kernel] [at ADDRESS] */
static bool read_signal(struct reader *reader, struct scenario_answer *answer)
{
    answer->code = signal_code_from_word(answer->signal, reader->token.text, reader->token.length);
    if (answer->code != 0)
        reader_next(reader);
    if (!reader_is(reader, "at"))
        return true;
    reader_next(reader);
    answer->has_address = true;
    return reader_address(reader, &answer->address);
}

static bool read_ended_by_signal(struct reader *reader, struct scenario_answer *answer)
{
    char word[SCENARIO_NAME_BYTES];
    uint64_t number;

    take_kind(reader, answer, ANSWER_KILLED);
    short_word(reader, word);
    answer->signal = signal_from_word(word);
    if (answer->signal != 0) {
        reader_next(reader);
        return true;
    }
    if (!reader_number(reader, "the name of a signal, or its number", LAST_SIGNAL, &number))
        return false;
    answer->signal = (int)number;
    return true;
}

static bool read_status_answer(struct reader *reader, const struct scenario_operation *operation,
                               struct scenario_answer *answer)
{
    if (reader_is(reader, "signal"))
        return read_ended_by_signal(reader, answer);
    if (!reader_is(reader, "exit"))
        return fail_answer(reader, operation);
    take_kind(reader, answer, ANSWER_EXIT);
    return reader_number(reader, "an exit status", UINT8_MAX, &answer->number);
}

static bool read_bits(struct reader *reader, const struct scenario_operation *operation,
                      struct scenario_answer *answer)
{
    const struct token *token = &reader->token;
    uint8_t *bits;

    for (size_t i = 0; i < token->length; i++) {
        if (token->text[i] != '0' && token->text[i] != '1')
            return fail_answer(reader, operation);
    }
    bits = scenario_allocate(reader->scenario, token->length);
    if (bits == NULL)
        return reader_out_of_memory(reader);
    memcpy(bits, token->text, token->length);
    answer->data =
        (struct scenario_data){.kind = DATA_BYTES, .bytes = token->length, .content = bits};
    take_kind(reader, answer, ANSWER_BITS);
    return true;
}

static bool read_number_answer(struct reader *reader, struct scenario_answer *answer)
{
    answer->kind = ANSWER_NUMBER;
    return reader_number(reader, "a number", UINT64_MAX, &answer->number);
}

static bool read_byte_answer(struct reader *reader, struct scenario_answer *answer)
{
    answer->kind = ANSWER_NUMBER;
    return reader_number(reader, "a byte", UINT8_MAX, &answer->number);
}

static bool read_address_answer(struct reader *reader, struct scenario_answer *answer)
{
    answer->kind = ANSWER_ADDRESS;
    return reader_address(reader, &answer->address);
}

/* Is it data, where the operation gives data back? */
static bool is_data_answer(const struct reader *reader, const struct scenario_operation *operation)
{
    if (!reader_is_data_ahead(reader))
        return false;
    switch (verb_answers[operation->verb]) {
    case ANSWERS_DATA:
    case ANSWERS_EITHER:
    case ANSWERS_BYTES:
        return true;
    case ANSWERS_QUANTITY:
        return operation->quantity == QUANTITY_MAPS;
    default:
        return false;
    }
}

/* What only some verbs answer. */
static bool read_own_answer(struct reader *reader, const struct scenario_operation *operation,
                            struct scenario_answer *answer)
{
    bool is_number = reader_is_number_ahead(reader);

    switch (verb_answers[operation->verb]) {
    case ANSWERS_ADDRESS:
        return read_address_answer(reader, answer);
    case ANSWERS_QUANTITY:
        is_number &= operation->quantity != QUANTITY_MAPS;
        return is_number ? read_number_answer(reader, answer) : fail_answer(reader, operation);
    case ANSWERS_COUNT:
    case ANSWERS_EITHER:
        return is_number ? read_number_answer(reader, answer) : fail_answer(reader, operation);
    case ANSWERS_BYTES:
        return is_number ? read_byte_answer(reader, answer) : fail_answer(reader, operation);
    case ANSWERS_BITS:
        return is_number ? read_bits(reader, operation, answer) : fail_answer(reader, operation);
    case ANSWERS_STATUS:
        return read_status_answer(reader, operation, answer);
    default:
        return fail_answer(reader, operation);
    }
}

/* ok, any, 0, an errno, a signal: `*found` false, and nothing read, if it is none of them. */
static bool read_common_answer(struct reader *reader, const struct scenario_operation *operation,
                               struct scenario_answer *answer, bool *found)
{
    enum verb_answers answers = verb_answers[operation->verb];
    bool zero_is_ok = answers == ANSWERS_NOTHING || answers == ANSWERS_ADDRESS;
    char word[SCENARIO_NAME_BYTES];

    *found = true;
    if (reader_is(reader, "any")) {
        take_kind(reader, answer, ANSWER_ANY);
        return true;
    }
    short_word(reader, word);
    answer->error = errno_from_word(word);
    answer->signal = verb_is_access(operation->verb) ? signal_from_word(word) : 0;
    if (answers == ANSWERS_QUANTITY) {
        *found = false;
        return true;
    }
    if (reader_is(reader, "ok") || (zero_is_ok && reader_is(reader, "0")))
        take_kind(reader, answer, ANSWER_OK);
    else if (answer->error != 0)
        take_kind(reader, answer, ANSWER_ERROR);
    else if (answer->signal != 0)
        take_kind(reader, answer, ANSWER_SIGNAL);
    else
        *found = false;
    if (*found && answer->kind == ANSWER_SIGNAL)
        return read_signal(reader, answer);
    return true;
}

static bool read_answer(struct reader *reader, const struct scenario_operation *operation,
                        struct scenario_answer *answer)
{
    bool found;

    *answer = (struct scenario_answer){.kind = ANSWER_OK};
    if (is_data_answer(reader, operation)) {
        answer->kind = ANSWER_DATA;
        return reader_data(reader, &answer->data);
    }
    if (reader->token.kind != TOKEN_WORD)
        return fail_answer(reader, operation);
    if (!read_common_answer(reader, operation, answer, &found))
        return false;
    return found || read_own_answer(reader, operation, answer);
}

/* --- where it holds --- */

/* Digits and at most two dots: linux_version_parse() is content with what only begins so. */
static bool is_version(const char *word)
{
    const char *dot = strchr(word, '.');
    const char *second = dot == NULL ? NULL : strchr(dot + 1, '.');

    return strspn(word, "0123456789.") == strlen(word) &&
           (second == NULL || strchr(second + 1, '.') == NULL);
}

bool reader_version_selector(struct reader *reader, struct scenario_selector *selector)
{
    char word[SCENARIO_NAME_BYTES];

    if (reader->token.kind != TOKEN_AT_LEAST && reader->token.kind != TOKEN_LESS)
        return reader_expected(reader, ">= or < and a version of Linux");
    selector->kind = reader->token.kind == TOKEN_LESS ? SELECT_LINUX_BEFORE : SELECT_LINUX_FROM;
    reader_next(reader);
    short_word(reader, word);
    selector->version = linux_version_parse(word);
    if (selector->version == 0 || !is_version(word))
        return reader_expected(reader, "a version of Linux (such as 6.17 or 2.5.41)");
    reader_next(reader);
    return true;
}

static bool read_kernel(struct reader *reader, struct scenario_selector *selector)
{
    struct nearest nearest = nearest_to(reader->token.text, reader->token.length);
    char quoted[QUOTED_BYTES];
    char hint[HINT_BYTES];

    selector->kind = SELECT_KERNEL;
    short_word(reader, selector->kernel);
    if (kernel_find(selector->kernel) != NULL) {
        reader_next(reader);
        return true;
    }
    for (size_t i = 0; i < kernel_count; i++)
        nearest_offer(&nearest, kernels[i].name);
    return reader_fail(
        reader, reader->token.column, "expected a kernel, host or linux>=VERSION, found %s%s",
        quote_text(quoted, reader->token.text, reader->token.length), reader_hint(hint, &nearest));
}

static bool read_selector(struct reader *reader, struct scenario_selector *selector)
{
    *selector = (struct scenario_selector){.kind = SELECT_HOST};
    if (reader->token.kind != TOKEN_WORD)
        return reader_expected(reader, "a kernel, host or linux>=VERSION");
    if (reader_is(reader, "host")) {
        reader_next(reader);
        return true;
    }
    if (reader_is(reader, "linux")) {
        reader_next(reader);
        return reader_version_selector(reader, selector);
    }
    return read_kernel(reader, selector);
}

bool reader_selectors(struct reader *reader, struct scenario_answer *answer)
{
    while (true) {
        if (answer->selector_count == SCENARIO_MOST_SELECTORS)
            return reader_fail(reader, reader->token.column, "expected at most %d places",
                               SCENARIO_MOST_SELECTORS);
        if (!read_selector(reader, &answer->selectors[answer->selector_count++]))
            return false;
        if (reader->token.kind != TOKEN_COMMA)
            return true;
        reader_next(reader);
    }
}

/* [faults N] [on SELECTOR[,SELECTOR]] */
static bool read_conditions(struct reader *reader, const struct scenario_operation *operation,
                            struct scenario_answer *answer)
{
    if (reader_is(reader, "faults")) {
        if (!verb_is_access(operation->verb))
            return reader_fail(reader, reader->token.column,
                               "expected no faults: only read, write, peek and poke count them");
        reader_next(reader);
        answer->has_faults = true;
        if (!reader_number(reader, "a number of faults", UINT64_MAX, &answer->faults))
            return false;
    }
    if (!reader_is(reader, "on"))
        return true;
    reader_next(reader);
    return reader_selectors(reader, answer);
}

bool reader_keep_answers(struct reader *reader, struct scenario_operation *operation,
                         const struct scenario_answer *answers, unsigned count)
{
    operation->answers = scenario_allocate(reader->scenario, count * sizeof(*answers));
    if (operation->answers == NULL)
        return reader_out_of_memory(reader);
    memcpy(operation->answers, answers, count * sizeof(*answers));
    operation->answer_count = count;
    return true;
}

/* Does another answer follow this one? */
static bool is_other_ahead(struct reader *reader, const struct scenario_answer *answer,
                           unsigned count, bool *is_wrong)
{
    *is_wrong = false;
    if (!reader_is(reader, "else"))
        return false;
    *is_wrong = answer->selector_count == 0 || count == SCENARIO_MOST_ANSWERS;
    if (answer->selector_count == 0)
        reader_fail(reader, reader->token.column,
                    "expected \"on SELECTOR\" before else: this answer holds everywhere");
    else if (*is_wrong)
        reader_fail(reader, reader->token.column, "expected at most %d answers",
                    SCENARIO_MOST_ANSWERS);
    return true;
}

static bool read_all_answers(struct reader *reader, struct scenario_operation *operation)
{
    struct scenario_answer answers[SCENARIO_MOST_ANSWERS];
    unsigned count = 0;
    bool is_wrong;

    do {
        struct scenario_answer *answer = &answers[count++];

        reader_next(reader);
        if (!read_answer(reader, operation, answer) || !read_conditions(reader, operation, answer))
            return false;
    } while (is_other_ahead(reader, &answers[count - 1], count, &is_wrong) && !is_wrong);
    return !is_wrong && reader_keep_answers(reader, operation, answers, count);
}

bool reader_answers(struct reader *reader, struct scenario_operation *operation)
{
    enum verb_answers answers = verb_answers[operation->verb];

    if (reader->token.kind == TOKEN_EQUALS && answers == ANSWERS_NONE)
        return reader_fail(reader, reader->token.column, "expected no answer: %s has none",
                           verb_descriptions[operation->verb].word);
    if (reader->token.kind == TOKEN_EQUALS)
        return read_all_answers(reader, operation);
    if (answers == ANSWERS_QUANTITY)
        return reader_expected(reader, "= and what is expected");
    return true;
}
