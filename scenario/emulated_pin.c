/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pins of a scenario: held by nobody in particular, so they outlive the task that made them. */
#include <errno.h>

#include "scenario/emulated_private.h"

/* The pin that the operation names, if it is held. */
static struct pin *named_pin(struct emulated *emulated, const struct scenario_operation *operation,
                             struct scenario_outcome *outcome)
{
    struct pin *pin = operation->pin < SCENARIO_MOST_PINS ? &emulated->pins[operation->pin] : NULL;

    if (pin != NULL && pin->machine != NULL)
        return pin;
    outcome_unable(outcome, "no page is pinned under that name");
    return NULL;
}

void emulated_pin(struct emulated *emulated, const struct scenario_operation *operation,
                  struct scenario_outcome *outcome)
{
    struct task *task = emulated->slots[operation->task].task;
    enum access access = operation->write ? ACCESS_WRITE : ACCESS_READ;
    struct pin pin = {0};
    va_t va;

    if (operation->pin >= SCENARIO_MOST_PINS || emulated->pins[operation->pin].machine != NULL) {
        outcome_unable(outcome, "a page is pinned under that name already");
        return;
    }
    if (!emulated_place(emulated, operation, &operation->address, &va, outcome))
        return;
    int error = sys_pin(task, va, access, &pin);

    if (error == 0)
        emulated->pins[operation->pin] = pin;
    outcome_of_call(emulated, operation, error, 0, outcome);
}

void emulated_unpin(struct emulated *emulated, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    struct pin *pin = named_pin(emulated, operation, outcome);

    if (pin == NULL)
        return;
    unpin(pin);
    *pin = (struct pin){0};
    outcome_done(outcome, 0);
}

/* A device is told of one page: what goes beyond it is refused, as io_uring does. */
static bool is_in_page(uint64_t offset, uint64_t bytes, struct scenario_outcome *outcome)
{
    if (offset <= PAGE_BYTES && bytes <= PAGE_BYTES - offset)
        return true;
    outcome_error(outcome, -EFAULT);
    return false;
}

void emulated_pin_read(struct emulated *emulated, const struct scenario_operation *operation,
                       struct scenario_outcome *outcome)
{
    const struct pin *pin = named_pin(emulated, operation, outcome);

    if (pin == NULL || !is_in_page(operation->offset_bytes, operation->bytes, outcome) ||
        !emulated_reserve(emulated, operation->bytes, outcome))
        return;
    pin_read(pin, (size_t)operation->offset_bytes, emulated->buffer, (size_t)operation->bytes);
    outcome_data(outcome, emulated->buffer, (size_t)operation->bytes);
}

void emulated_pin_write(struct emulated *emulated, const struct scenario_operation *operation,
                        struct scenario_outcome *outcome)
{
    const struct pin *pin = named_pin(emulated, operation, outcome);
    const struct scenario_data *data = &operation->data;

    if (pin == NULL || !is_in_page(operation->offset_bytes, data->bytes, outcome))
        return;
    emulated_fill(emulated, data);
    pin_write(pin, (size_t)operation->offset_bytes,
              data->kind == DATA_FILL ? emulated->fill : data->content, (size_t)data->bytes);
    outcome_done(outcome, 0);
}
