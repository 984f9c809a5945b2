/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader's statements about the run: show, expect, needs. */
#include <string.h>

#include "pt/event.h"
#include "pt/geometry.h"
#include "scenario/reader_parts.h"

bool reader_show(struct reader *reader, struct scenario_operation *operation)
{
    uint32_t show;

    if (!reader_listed(reader, show_words, "maps, smaps, tables, frames, faults, vmstat or diff",
                       &show))
        return false;
    operation->show = (enum scenario_show)show;
    if (operation->show > SHOW_TABLES)
        return true;
    return reader_living_task(reader, &operation->task);
}

/* An event of pt/event.def; of `faults` one of a fault's steps, or a fault or refill as a whole. */
static bool read_event(struct reader *reader, bool is_fault, const char **name)
{
    struct nearest nearest = nearest_to(reader->token.text, reader->token.length);
    unsigned count = is_fault ? EVENT_REFILL + 1 : EVENT_COUNT;
    const char *what =
        is_fault ? "a step of a fault (such as cow-copy)" : "an event (such as tables-shared)";
    char quoted[QUOTED_BYTES];
    char hint[HINT_BYTES];

    for (unsigned event = 0; event < count; event++) {
        if (reader_is(reader, event_names[event]))
            return reader_word(reader, what, name);
        nearest_offer(&nearest, event_names[event]);
    }
    if (reader->token.kind != TOKEN_WORD)
        return reader_expected(reader, what);
    return reader_fail(reader, reader->token.column, "expected %s, found %s%s", what,
                       quote_text(quoted, reader->token.text, reader->token.length),
                       reader_hint(hint, &nearest));
}

bool reader_expect(struct reader *reader, struct scenario_operation *operation)
{
    bool is_fault = reader_is(reader, "faults");
    uint32_t quantity;

    if (!reader_listed(reader, quantity_words,
                       "vmas, rss, pss, shared, private, anonymous, locked, swap, maps, tables, "
                       "shared-tables, frames, faults or count",
                       &quantity))
        return false;
    operation->quantity = (enum scenario_quantity)quantity;
    if (operation->quantity == QUANTITY_EVENT)
        return read_event(reader, is_fault, &operation->text);
    if (operation->quantity == QUANTITY_FRAMES)
        return true;
    if (!reader_living_task(reader, &operation->task))
        return false;
    if (operation->quantity >= QUANTITY_TABLES)
        return true;
    return reader_address(reader, &operation->address) && reader_size(reader, &operation->bytes);
}

/* --- needs --- */

static const struct word need_words[] = {
    {"linux", NEED_LINUX_FROM},
    {"host", NEED_HOST},
    {"emulated", NEED_EMULATED},
    {"shared-tables", NEED_SHARED_TABLES},
    {"kernel", NEED_KERNEL},
    {"geometry", NEED_GEOMETRY},
    {NULL, 0},
};

static bool read_needed_version(struct reader *reader, struct scenario_operation *operation)
{
    struct scenario_answer answer = {.kind = ANSWER_ANY, .selector_count = 1};

    if (!reader_version_selector(reader, &answer.selectors[0]))
        return false;
    if (answer.selectors[0].kind == SELECT_LINUX_BEFORE)
        operation->need = NEED_LINUX_BEFORE;
    operation->value = answer.selectors[0].version;
    return reader_keep_answers(reader, operation, &answer, 1);
}

static bool read_needed_kernels(struct reader *reader, struct scenario_operation *operation)
{
    struct scenario_answer answer = {.kind = ANSWER_ANY};
    uint32_t column = reader->token.column;

    if (!reader_selectors(reader, &answer))
        return false;
    for (unsigned i = 0; i < answer.selector_count; i++) {
        if (answer.selectors[i].kind != SELECT_KERNEL)
            return reader_fail(reader, column, "expected names of kernels only");
    }
    return reader_keep_answers(reader, operation, &answer, 1);
}

static bool read_needed_geometry(struct reader *reader, struct scenario_operation *operation)
{
    uint32_t column = reader->token.column;
    char quoted[QUOTED_BYTES];

    if (!reader_word(reader, "a geometry", &operation->text))
        return false;
    if (geometry_find(operation->text) != NULL)
        return true;
    return reader_fail(reader, column, "expected a geometry (x86-64, i386 or tiny), found %s",
                       quote_text(quoted, operation->text, strlen(operation->text)));
}

/* A word of the fixed list, and perhaps why it is needed, in the data. */
static bool read_needed_feature(struct reader *reader, struct scenario_operation *operation)
{
    struct nearest nearest = nearest_to(reader->token.text, reader->token.length);
    char quoted[QUOTED_BYTES];
    char hint[HINT_BYTES];
    bool found = false;

    for (unsigned i = 0; feature_words[i] != NULL && !found; i++) {
        found = reader_is(reader, feature_words[i]);
        nearest_offer(&nearest, feature_words[i]);
    }
    nearest_offer_words(&nearest, need_words);
    if (!found)
        return reader_fail(reader, reader->token.column,
                           "expected linux, host, emulated, shared-tables, kernel, geometry or a "
                           "feature, found %s%s",
                           quote_text(quoted, reader->token.text, reader->token.length),
                           reader_hint(hint, &nearest));
    operation->need = NEED_FEATURE;
    if (!reader_word(reader, "a feature", &operation->text))
        return false;
    return reader->token.kind != TOKEN_STRING || reader_data(reader, &operation->data);
}

bool reader_needs(struct reader *reader, struct scenario_operation *operation)
{
    const struct token *token = &reader->token;
    const struct word *word;

    if (token->kind != TOKEN_WORD)
        return reader_expected(reader,
                               "linux, host, emulated, shared-tables, kernel, geometry or a "
                               "feature");
    word = word_find(need_words, token->text, token->length);
    if (word == NULL)
        return read_needed_feature(reader, operation);
    operation->need = (enum scenario_need)word->value;
    reader_next(reader);
    switch (operation->need) {
    case NEED_LINUX_FROM:
        return read_needed_version(reader, operation);
    case NEED_KERNEL:
        return read_needed_kernels(reader, operation);
    case NEED_GEOMETRY:
        return read_needed_geometry(reader, operation);
    default:
        return true;
    }
}
