/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scenarios compared, one field after the other. */
#include "tests/support/same_scenario.h"

#include <string.h>

/* Two scenarios side by side. */
struct pair {
    const struct scenario *one;
    const struct scenario *other;
};

static bool is_same_name(const struct scenario_names *one, uint16_t first,
                         const struct scenario_names *other, uint16_t second)
{
    if (first == SCENARIO_NOBODY || second == SCENARIO_NOBODY)
        return first == second;
    return first < one->count && second < other->count &&
           strcmp(one->names[first], other->names[second]) == 0;
}

static bool is_same_text(const char *one, const char *other)
{
    if (one == NULL || other == NULL)
        return one == other;
    return strcmp(one, other) == 0;
}

static bool is_same_data(const struct scenario_data *one, const struct scenario_data *other)
{
    if (one->kind != other->kind || one->bytes != other->bytes)
        return false;
    if (one->kind == DATA_FILL)
        return one->fill == other->fill;
    return one->kind == DATA_NONE || one->bytes == 0 ||
           memcmp(one->content, other->content, one->bytes) == 0;
}

static bool is_same_address(const struct pair *pair, const struct scenario_address *one,
                            const struct scenario_address *other)
{
    if (one->base != other->base || one->offset_bytes != other->offset_bytes)
        return false;
    return one->base != BASE_REGION ||
           is_same_name(&pair->one->regions, one->region, &pair->other->regions, other->region);
}

static bool is_same_selector(const struct scenario_selector *one,
                             const struct scenario_selector *other)
{
    return one->kind == other->kind && one->version == other->version &&
           strcmp(one->kernel, other->kernel) == 0;
}

static const char *answer_difference(const struct pair *pair, const struct scenario_answer *one,
                                     const struct scenario_answer *other)
{
    if (one->kind != other->kind)
        return "an answer's kind";
    if (one->error != other->error || one->signal != other->signal || one->code != other->code)
        return "an answer's error or signal";
    if (one->has_address != other->has_address ||
        !is_same_address(pair, &one->address, &other->address))
        return "an answer's address";
    if (one->number != other->number || !is_same_data(&one->data, &other->data))
        return "an answer's number or data";
    if (one->has_faults != other->has_faults || one->faults != other->faults)
        return "an answer's faults";
    if (one->selector_count != other->selector_count)
        return "an answer's selectors";
    for (unsigned i = 0; i < one->selector_count; i++) {
        if (!is_same_selector(&one->selectors[i], &other->selectors[i]))
            return "an answer's selector";
    }
    return NULL;
}

static const char *answers_difference(const struct pair *pair, const struct scenario_operation *one,
                                      const struct scenario_operation *other)
{
    if (one->answer_count != other->answer_count)
        return "how many answers";
    for (unsigned i = 0; i < one->answer_count; i++) {
        const char *what = answer_difference(pair, &one->answers[i], &other->answers[i]);

        if (what != NULL)
            return what;
    }
    return NULL;
}

static const char *name_difference(const struct pair *pair, const struct scenario_operation *one,
                                   const struct scenario_operation *other)
{
    const struct scenario *first = pair->one;
    const struct scenario *second = pair->other;

    if (!is_same_name(&first->tasks, one->task, &second->tasks, other->task))
        return "the task";
    if (!is_same_name(&first->tasks, one->other, &second->tasks, other->other))
        return "the other task";
    if (!is_same_name(&first->regions, one->region, &second->regions, other->region))
        return "the region";
    if (!is_same_name(&first->files, one->file, &second->files, other->file))
        return "the file";
    if (!is_same_name(&first->pins, one->pin, &second->pins, other->pin))
        return "the pin";
    return NULL;
}

static const char *value_difference(const struct scenario_operation *one,
                                    const struct scenario_operation *other)
{
    if (one->bytes != other->bytes || one->new_bytes != other->new_bytes)
        return "a size";
    if (one->offset_bytes != other->offset_bytes)
        return "the offset";
    if (one->protection != other->protection || one->flags != other->flags)
        return "rights or flags";
    if (one->advice != other->advice || one->value != other->value)
        return "the advice or value";
    if (one->fail_after != other->fail_after || one->write != other->write)
        return "fail= or the pin's direction";
    if (one->show != other->show || one->quantity != other->quantity || one->need != other->need)
        return "what is shown, expected or needed";
    if (!is_same_text(one->text, other->text))
        return "the text";
    return is_same_data(&one->data, &other->data) ? NULL : "the data";
}

static const char *operation_difference(const struct pair *pair,
                                        const struct scenario_operation *one,
                                        const struct scenario_operation *other)
{
    const char *what = NULL;

    if (one->verb != other->verb)
        return "the verb";
    if (!is_same_address(pair, &one->address, &other->address))
        return "the address";
    if (one->has_target != other->has_target ||
        !is_same_address(pair, &one->target, &other->target))
        return "the target";
    what = name_difference(pair, one, other);
    if (what == NULL)
        what = value_difference(one, other);
    return what != NULL ? what : answers_difference(pair, one, other);
}

const char *scenario_difference(const struct scenario *one, const struct scenario *other,
                                size_t *at)
{
    const struct pair pair = {.one = one, .other = other};
    const char *what = NULL;

    *at = 0;
    for (; what == NULL && *at < one->count && *at < other->count; *at += what == NULL)
        what = operation_difference(&pair, &one->operations[*at], &other->operations[*at]);
    if (what == NULL && one->count != other->count)
        what = "how many operations";
    return what;
}
