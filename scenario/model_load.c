/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads and stores of the model, the kernel's access to user memory, and pins. Bytes go from low to
 * high; what lies before the first bad byte is done.
 */
#include <errno.h>
#include <string.h>

#include "scenario/model_state.h"

/* The data of an operation at an offset. */
static void copy_data(const struct scenario_data *data, uint64_t offset, uint8_t *to,
                      uint64_t bytes)
{
    if (data->kind == DATA_FILL)
        memset(to, data->fill, bytes);
    else
        memcpy(to, data->content + offset, bytes);
}

/* The task dies of what it found. */
static void die(struct model_call *call, enum reach reach, va_t va)
{
    struct scenario_outcome *outcome = call->outcome;

    if (reach == REACH_NO_MEMORY) {
        answer_host_error(call, -ENOMEM);
        return;
    }
    outcome->kind = OUTCOME_SIGNAL;
    outcome->signal = reach == REACH_PAST_END ? ABI_SIGBUS : ABI_SIGSEGV;
    outcome->code = reach == REACH_PAST_END  ? ABI_BUS_ADRERR
                    : reach == REACH_NOTHING ? ABI_SEGV_MAPERR
                                             : ABI_SEGV_ACCERR;
    outcome->address = va;
    model_end_task(call->model, call->task, outcome->signal, 0);
}

/* How far a load or store gets: the bytes done, and what stopped it. */
static uint64_t load(struct model_space *space, va_t va, uint8_t *to, uint64_t bytes,
                     enum reach *reach)
{
    uint64_t done = 0;

    *reach = REACH_FINE;
    while (done < bytes && (*reach = space_reach(space, va + done, false, true)) == REACH_FINE) {
        uint64_t offset = (va + done) % PAGE_BYTES;
        uint64_t part = min_u64(bytes - done, PAGE_BYTES - offset);

        memcpy(to + done, space_bytes(space, va + done) + offset, part);
        done += part;
    }
    return done;
}

static uint64_t store(struct model_space *space, va_t va, const struct scenario_data *data,
                      enum reach *reach)
{
    uint64_t done = 0;

    *reach = REACH_FINE;
    while (done < data->bytes &&
           (*reach = space_reach(space, va + done, true, true)) == REACH_FINE) {
        uint64_t offset = (va + done) % PAGE_BYTES;
        uint64_t part = min_u64(data->bytes - done, PAGE_BYTES - offset);
        struct model_block *block = space_block(space, va + done);

        if (block == NULL) {
            *reach = REACH_NO_MEMORY;
            break;
        }
        copy_data(data, done, block->bytes + offset, part);
        done += part;
    }
    return done;
}

/* Accesses near what the model does not know: answered, and true. */
static bool is_out_of_sight(struct model_call *call, uint64_t bytes)
{
    va_t start = call->address;
    va_t end = bytes > UINT64_MAX - start ? UINT64_MAX : start + bytes;

    if (!model_is_blind(call, start, bytes) &&
        !space_growth_is_unclear(call->task->space, start, end))
        return false;
    answer_unable(call, "the model does not know what is there");
    return true;
}

void model_read(struct model_call *call)
{
    uint64_t bytes = call->operation->bytes;
    enum reach reach;
    uint8_t *data;

    if (is_out_of_sight(call, bytes) || (data = answer_data(call, bytes)) == NULL)
        return;
    uint64_t done = load(call->task->space, call->address, data, bytes, &reach);

    if (done < bytes)
        die(call, reach, call->address + done);
}

void model_write(struct model_call *call)
{
    const struct scenario_data *data = &call->operation->data;
    enum reach reach;

    if (is_out_of_sight(call, data->bytes))
        return;
    uint64_t done = store(call->task->space, call->address, data, &reach);

    if (done < data->bytes)
        die(call, reach, call->address + done);
}

/* The pages that a range meets, and the first byte of it in page number `i`. */
static uint64_t pages_met(va_t va, uint64_t bytes)
{
    if (bytes == 0)
        return 0;
    return ((bytes - 1) >> PAGE_SHIFT) + 1 +
           ((bytes - 1) % PAGE_BYTES + va % PAGE_BYTES >= PAGE_BYTES);
}

static va_t page_place(va_t va, uint64_t i)
{
    return i == 0 ? va : page_of(va) + (i << PAGE_SHIFT);
}

void model_peek(struct model_call *call)
{
    uint64_t pages = pages_met(call->address, call->operation->bytes);
    enum reach reach;
    uint8_t *data;

    if (is_out_of_sight(call, call->operation->bytes) || (data = answer_data(call, pages)) == NULL)
        return;
    for (uint64_t i = 0; i < pages; i++) {
        va_t va = page_place(call->address, i);

        if (load(call->task->space, va, data + i, 1, &reach) == 0) {
            die(call, reach, va);
            return;
        }
    }
}

void model_poke(struct model_call *call)
{
    uint64_t pages = pages_met(call->address, call->operation->bytes);
    struct scenario_data byte = {
        .kind = DATA_FILL, .fill = (uint8_t)call->operation->value, .bytes = 1};
    enum reach reach;

    if (is_out_of_sight(call, call->operation->bytes))
        return;
    for (uint64_t i = 0; i < pages; i++) {
        va_t va = page_place(call->address, i);

        if (store(call->task->space, va, &byte, &reach) == 0) {
            die(call, reach, va);
            return;
        }
    }
}

/* --- the kernel's access --- */

/* Nothing done at all is EFAULT. */
static bool was_refused(struct model_call *call, uint64_t done, uint64_t bytes, enum reach reach)
{
    if (reach == REACH_NO_MEMORY)
        return !answer_host_error(call, -ENOMEM);
    if (done > 0 || bytes == 0)
        return false;
    answer_error(call, EFAULT);
    return true;
}

/* A range that runs over the end of what is the user's is refused before anything is done. */
static bool runs_over_end(struct model_call *call, uint64_t bytes)
{
    va_t user_end = call->model->layout.user_end;

    if (bytes <= user_end && call->address <= user_end - bytes)
        return false;
    answer_error(call, EFAULT);
    return true;
}

void model_kread(struct model_call *call)
{
    uint64_t bytes = call->operation->bytes;
    enum reach reach;
    uint8_t *data;

    if (runs_over_end(call, bytes) || is_out_of_sight(call, bytes) ||
        (data = answer_data(call, bytes)) == NULL)
        return;
    uint64_t done = load(call->task->space, call->address, data, bytes, &reach);

    if (!was_refused(call, done, bytes, reach))
        call->outcome->data_bytes = done;
}

void model_kwrite(struct model_call *call)
{
    const struct scenario_data *data = &call->operation->data;
    enum reach reach;

    if (runs_over_end(call, data->bytes) || is_out_of_sight(call, data->bytes))
        return;
    uint64_t done = store(call->task->space, call->address, data, &reach);

    if (!was_refused(call, done, data->bytes, reach))
        call->outcome->value = done;
}

/* --- pins --- */

/* The pin that the operation names; NULL, and answered, if it is not as it must be. */
static struct model_pin *pin_of(struct model_call *call, bool in_use)
{
    uint16_t number = call->operation->pin;

    if (number < SCENARIO_MOST_PINS && (call->model->pins[number].block != NULL) == in_use)
        return &call->model->pins[number];
    answer_unable(call, in_use ? "there is no such pin" : "the pin is in use");
    return NULL;
}

void model_pin(struct model_call *call)
{
    struct model_space *space = call->task->space;
    struct model_pin *pin = pin_of(call, false);

    if (pin == NULL || is_out_of_sight(call, 1))
        return;
    if (space_reach(space, call->address, call->operation->write, false) != REACH_FINE) {
        answer_error(call, EFAULT);
        return;
    }
    struct model_block *block = space_block(space, call->address);

    if (block == NULL) {
        (void)answer_host_error(call, -ENOMEM);
        return;
    }
    block->pins++;
    pin->block = block;
}

void model_unpin(struct model_call *call)
{
    struct model_pin *pin = pin_of(call, true);

    if (pin == NULL)
        return;
    block_unpin(pin->block);
    pin->block = NULL;
}

static bool lies_in_page(struct model_call *call, uint64_t bytes)
{
    uint64_t offset = call->operation->offset_bytes;

    if (bytes <= PAGE_BYTES && offset <= PAGE_BYTES - bytes)
        return true;
    answer_error(call, EFAULT);
    return false;
}

void model_pinread(struct model_call *call)
{
    const struct scenario_operation *operation = call->operation;
    const struct model_pin *pin = pin_of(call, true);
    uint8_t *data;

    if (pin == NULL || !lies_in_page(call, operation->bytes) ||
        (data = answer_data(call, operation->bytes)) == NULL)
        return;
    memcpy(data, pin->block->bytes + operation->offset_bytes, operation->bytes);
}

void model_pinwrite(struct model_call *call)
{
    const struct scenario_operation *operation = call->operation;
    const struct model_pin *pin = pin_of(call, true);

    if (pin == NULL || !lies_in_page(call, operation->data.bytes))
        return;
    copy_data(&operation->data, 0, pin->block->bytes + operation->offset_bytes,
              operation->data.bytes);
}
