/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random answers. */
#include "scenario/form.h"
#include "tests/support/random_maker.h"

static void any_bits(struct maker *maker, struct scenario_data *data)
{
    uint8_t *bits = maker_allocate(maker, MOST_BYTES);

    if (bits == NULL)
        return;
    *data = (struct scenario_data){
        .kind = DATA_BYTES, .bytes = 1 + maker_below(maker, MOST_BYTES - 1), .content = bits};
    for (size_t i = 0; i < data->bytes; i++)
        bits[i] = (uint8_t)('0' + maker_below(maker, 2));
}

/* What only some verbs answer; false where it is not to be made. */
static bool make_own_answer(struct maker *maker, const struct scenario_operation *operation,
                            struct scenario_answer *answer)
{
    switch (verb_answers[operation->verb]) {
    case ANSWERS_ADDRESS:
        answer->kind = ANSWER_ADDRESS;
        answer->address = maker_any_address(maker);
        return true;
    case ANSWERS_COUNT:
        answer->kind = ANSWER_NUMBER;
        answer->number = maker_any_number(maker);
        return true;
    case ANSWERS_BITS:
        answer->kind = ANSWER_BITS;
        any_bits(maker, &answer->data);
        return true;
    case ANSWERS_EITHER:
    case ANSWERS_DATA:
    case ANSWERS_BYTES:
        answer->kind = ANSWER_DATA;
        answer->data = maker_any_data(maker);
        return true;
    case ANSWERS_STATUS:
        answer->kind = maker_chance(maker, 50) ? ANSWER_EXIT : ANSWER_KILLED;
        if (answer->kind == ANSWER_EXIT)
            answer->number = maker_below(maker, 256);
        else
            answer->signal = 1 + (int)maker_below(maker, 64);
        return true;
    case ANSWERS_QUANTITY:
        answer->kind = operation->quantity == QUANTITY_MAPS ? ANSWER_DATA : ANSWER_NUMBER;
        if (answer->kind == ANSWER_DATA)
            maker_any_bytes(maker, &answer->data);
        else
            answer->number = maker_any_number(maker);
        return true;
    default:
        return false;
    }
}

static void make_signal(struct maker *maker, struct scenario_answer *answer)
{
    static const int codes[] = {0, ABI_SEGV_MAPERR, ABI_SEGV_ACCERR, ABI_SI_KERNEL};

    answer->kind = ANSWER_SIGNAL;
    answer->signal = (int)maker_any_word(maker, signal_words);
    if (answer->signal == ABI_SIGSEGV)
        answer->code = codes[maker_below(maker, 4)];
    answer->has_address = maker_chance(maker, 50);
    if (answer->has_address)
        answer->address = maker_any_address(maker);
}

static void make_answer(struct maker *maker, const struct scenario_operation *operation,
                        struct scenario_answer *answer)
{
    bool is_quantity = verb_answers[operation->verb] == ANSWERS_QUANTITY;

    answer->kind = is_quantity ? ANSWER_ANY : ANSWER_OK;
    if (maker_chance(maker, 10)) {
        answer->kind = ANSWER_ANY;
    } else if (!is_quantity && maker_chance(maker, 30)) {
        answer->kind = ANSWER_ERROR;
        answer->error = 1 + (int)maker_below(maker, 40);
    } else if (verb_is_access(operation->verb) && maker_chance(maker, 30)) {
        make_signal(maker, answer);
    } else if (maker_chance(maker, 70)) {
        make_own_answer(maker, operation, answer);
    }
    answer->has_faults = verb_is_access(operation->verb) && maker_chance(maker, 30);
    if (answer->has_faults)
        answer->faults = maker_any_number(maker);
}

/* Where it holds: what kills never holds everywhere, or the text could not go on with the task. */
static void make_selectors(struct maker *maker, struct scenario_answer *answer, bool is_last)
{
    bool is_open = answer->kind == ANSWER_SIGNAL || answer->kind == ANSWER_ERROR;

    if (is_last && !is_open && maker_chance(maker, 70))
        return;
    answer->selector_count = 1 + (unsigned)maker_below(maker, SCENARIO_MOST_SELECTORS);
    for (unsigned i = 0; i < answer->selector_count; i++)
        answer->selectors[i] = maker_any_selector(maker);
}

/* Does the text end a task for certain by this? */
static bool ends_task(const struct scenario_operation *operation)
{
    return operation->verb == VERB_EXIT || operation->verb == VERB_KILL ||
           (operation->verb == VERB_WAIT && operation->other != SCENARIO_NOBODY);
}

void maker_answers(struct maker *maker, struct scenario_operation *operation)
{
    bool is_quantity = verb_answers[operation->verb] == ANSWERS_QUANTITY;

    if (verb_answers[operation->verb] == ANSWERS_NONE)
        return;
    if (!ends_task(operation) && !is_quantity && maker_chance(maker, 50))
        return;
    maker_give_answers(maker, operation, 1 + (unsigned)maker_below(maker, SCENARIO_MOST_ANSWERS));
    for (unsigned i = 0; i < operation->answer_count; i++) {
        bool is_last = i + 1 == operation->answer_count;

        make_answer(maker, operation, &operation->answers[i]);
        if (is_last && ends_task(operation))
            operation->answers[i] = (struct scenario_answer){.kind = ANSWER_ANY};
        else
            make_selectors(maker, &operation->answers[i], is_last);
    }
}
