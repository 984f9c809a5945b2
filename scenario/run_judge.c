/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Outcomes against answers: one function for each kind of answer. */
#include <inttypes.h>
#include <string.h>

#include "scenario/run_private.h"

static bool holds_here(struct backend *backend, const struct scenario_answer *answer)
{
    for (unsigned i = 0; i < answer->selector_count; i++) {
        if (backend->ops->selects(backend, &answer->selectors[i]))
            return true;
    }
    return answer->selector_count == 0;
}

const struct scenario_answer *answer_that_holds(struct backend *backend,
                                                const struct scenario_operation *operation)
{
    for (unsigned i = 0; i < operation->answer_count; i++) {
        if (holds_here(backend, &operation->answers[i]))
            return &operation->answers[i];
    }
    return NULL;
}

/* Did it work? How a child ended is no failure of waiting for it. */
static bool worked(const struct scenario_outcome *outcome)
{
    return outcome->kind == OUTCOME_DONE || outcome->kind == OUTCOME_DATA ||
           outcome->kind == OUTCOME_EXITED || outcome->kind == OUTCOME_KILLED;
}

/* What the judgement of one operation looks at. */
struct judgement {
    struct backend *backend;
    const struct scenario_operation *operation;
    const struct scenario_outcome *outcome;
    const struct scenario_answer *answer;
};

static bool is_at(const struct judgement *judgement, va_t va)
{
    struct backend *backend = judgement->backend;
    va_t expected;

    return backend->ops->resolve(backend, judgement->operation->task, &judgement->answer->address,
                                 &expected) &&
           expected == va;
}

static bool is_signal(const struct judgement *judgement)
{
    const struct scenario_outcome *outcome = judgement->outcome;
    const struct scenario_answer *answer = judgement->answer;

    return outcome->kind == OUTCOME_SIGNAL && outcome->signal == answer->signal &&
           (answer->code == 0 || outcome->code == answer->code) &&
           (!answer->has_address || is_at(judgement, outcome->address));
}

static bool all_bytes_are(const struct scenario_outcome *outcome, uint64_t byte)
{
    for (size_t i = 0; i < outcome->data_bytes; i++) {
        if (outcome->data[i] != byte)
            return false;
    }
    return true;
}

/* The first byte that differs, or the length of the shorter. */
static uint64_t first_difference(const struct scenario_data *data,
                                 const struct scenario_outcome *outcome)
{
    uint64_t both = min_u64(data->bytes, outcome->data_bytes);

    for (uint64_t i = 0; i < both; i++) {
        if (outcome->data[i] != (data->kind == DATA_FILL ? data->fill : data->content[i]))
            return i;
    }
    return both;
}

static bool is_data(const struct scenario_data *data, const struct scenario_outcome *outcome)
{
    if (outcome->kind != OUTCOME_DATA)
        return false;
    return data->bytes == outcome->data_bytes &&
           first_difference(data, outcome) == outcome->data_bytes;
}

static bool is_number(const struct judgement *judgement)
{
    const struct scenario_outcome *outcome = judgement->outcome;
    uint64_t number = judgement->answer->number;

    if (judgement->operation->verb == VERB_PEEK)
        return outcome->kind == OUTCOME_DATA && all_bytes_are(outcome, number);
    if (outcome->kind == OUTCOME_DATA)
        return outcome->data_bytes == number;
    return outcome->kind == OUTCOME_DONE && outcome->value == number;
}

static bool is_bits(const struct scenario_data *bits, const struct scenario_outcome *outcome)
{
    if (outcome->kind != OUTCOME_DATA || outcome->data_bytes != bits->bytes)
        return false;
    for (size_t i = 0; i < outcome->data_bytes; i++) {
        if ((outcome->data[i] & 1) != bits->content[i] - '0')
            return false;
    }
    return true;
}

static bool kind_matches(const struct judgement *judgement)
{
    const struct scenario_answer *answer = judgement->answer;
    const struct scenario_outcome *outcome = judgement->outcome;

    switch (answer->kind) {
    case ANSWER_OK:
        return worked(outcome);
    case ANSWER_ERROR:
        return outcome->kind == OUTCOME_ERROR && outcome->error == answer->error;
    case ANSWER_SIGNAL:
        return is_signal(judgement);
    case ANSWER_DATA:
        return is_data(&answer->data, outcome);
    case ANSWER_NUMBER:
        return is_number(judgement);
    case ANSWER_ADDRESS:
        return outcome->kind == OUTCOME_DONE && is_at(judgement, outcome->value);
    case ANSWER_BITS:
        return is_bits(&answer->data, outcome);
    case ANSWER_EXIT:
        return outcome->kind == OUTCOME_EXITED && outcome->value == answer->number;
    case ANSWER_KILLED:
        return outcome->kind == OUTCOME_KILLED && outcome->signal == answer->signal;
    case ANSWER_ANY:
        break;
    }
    return outcome->kind != OUTCOME_UNABLE && outcome->kind != OUTCOME_BROKEN;
}

/* Where data is of the right length but too long to be seen at a glance. */
static void add_place(struct run_text *text, const struct judgement *judgement)
{
    const struct scenario_answer *answer = judgement->answer;
    const struct scenario_outcome *outcome = judgement->outcome;

    if (answer == NULL || answer->kind != ANSWER_DATA || outcome->kind != OUTCOME_DATA ||
        answer->data.bytes != outcome->data_bytes)
        return;
    uint64_t at = first_difference(&answer->data, outcome);

    if (at < outcome->data_bytes && answer->data.bytes > sizeof(uint64_t))
        run_text_add(text, "; byte %" PRIu64 " is the first that differs (0x%02x)", at,
                     outcome->data[at]);
}

bool answers_match(const struct scenario *scenario, struct backend *backend,
                   const struct scenario_operation *operation,
                   const struct scenario_outcome *outcome, char *what, size_t what_bytes)
{
    struct judgement judgement = {.backend = backend,
                                  .operation = operation,
                                  .outcome = outcome,
                                  .answer = answer_that_holds(backend, operation)};
    const struct scenario_answer *answer = judgement.answer;

    if (answer == NULL ? worked(outcome)
                       : kind_matches(&judgement) &&
                             (!answer->has_faults || outcome->faults == answer->faults))
        return true;
    struct run_text text = run_text_in(what, what_bytes);

    run_text_add(&text, "expected ");
    if (answer != NULL)
        run_text_add_answer(&text, scenario, answer);
    else
        run_text_add(&text, "ok");
    run_text_add(&text, outcome->kind == OUTCOME_UNABLE ? ", but " : ", came ");
    run_text_add_outcome(&text, scenario, operation, outcome);
    if (answer != NULL && answer->has_faults && outcome->faults == 0)
        run_text_add(&text, " faults 0");
    add_place(&text, &judgement);
    return false;
}
