/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers and outcomes as text; run_text.h says what for. */
#include "scenario/run_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>

#include "scenario/writer.h"

enum { SHOWN_BYTES = 32 };

struct run_text run_text_in(char *buffer, size_t bytes)
{
    struct run_text text = {.text = buffer, .bytes = bytes};

    buffer[0] = '\0';
    return text;
}

void run_text_add(struct run_text *text, const char *format, ...)
{
    va_list arguments;

    if (text->length >= text->bytes)
        return;
    va_start(arguments, format);
    int added = vsnprintf(text->text + text->length, text->bytes - text->length, format, arguments);

    va_end(arguments);
    text->length += added > 0 ? (size_t)added : 0;
}

/* --- data --- */

static bool is_printable(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isprint(bytes[i]) || bytes[i] == '"' || bytes[i] == '\\')
            return false;
    }
    return true;
}

static bool is_one_byte(const uint8_t *bytes, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (bytes[i] != bytes[0])
            return false;
    }
    return count > 0;
}

static void add_bytes(struct run_text *text, const uint8_t *bytes, size_t count)
{
    size_t shown = (size_t)min_u64(count, SHOWN_BYTES);

    if (count > SHOWN_BYTES && is_one_byte(bytes, count)) {
        run_text_add(text, "fill 0x%02x %zu", bytes[0], count);
        return;
    }
    if (is_printable(bytes, shown)) {
        run_text_add(text, "\"%.*s\"", (int)shown, (const char *)bytes);
    } else {
        run_text_add(text, "hex:");
        for (size_t i = 0; i < shown; i++)
            run_text_add(text, "%02x", bytes[i]);
    }
    if (shown < count)
        run_text_add(text, "... (%zu bytes)", count);
}

void run_text_add_data(struct run_text *text, const struct scenario_data *data)
{
    if (data->kind == DATA_FILL)
        run_text_add(text, "fill 0x%02x %" PRIu64, data->fill, data->bytes);
    else
        add_bytes(text, data->content, data->kind == DATA_BYTES ? (size_t)data->bytes : 0);
}

/* --- answers --- */

static void add_name(struct run_text *text, const struct scenario_names *names, unsigned number)
{
    run_text_add(text, "%s", number < names->count ? names->names[number] : "?");
}

static void add_address(struct run_text *text, const struct scenario *scenario,
                        const struct scenario_address *address)
{
    uint64_t offset = address->offset_bytes;

    if (address->base == BASE_ABSOLUTE) {
        run_text_add(text, "0x%" PRIx64, offset);
        return;
    }
    if (address->base == BASE_REGION)
        add_name(text, &scenario->regions, address->region);
    else
        run_text_add(text, "%s", address->base == BASE_HEAP ? "heap" : "stack");
    if (offset > INT64_MAX)
        run_text_add(text, "-0x%" PRIx64, -offset);
    else if (offset != 0)
        run_text_add(text, "+0x%" PRIx64, offset);
}

static void add_error(struct run_text *text, int error)
{
    const char *word = errno_word(error);

    if (word != NULL)
        run_text_add(text, "%s", word);
    else
        run_text_add(text, "errno %d", error);
}

static void add_signal(struct run_text *text, int signal)
{
    const char *word = signal_word(signal);

    if (word != NULL)
        run_text_add(text, "%s", word);
    else
        run_text_add(text, "signal %d", signal);
}

static void add_code(struct run_text *text, int signal, int code)
{
    if (code == 0)
        return;
    if (code == ABI_SI_KERNEL)
        run_text_add(text, " kernel");
    else if (signal == ABI_SIGSEGV && (code == ABI_SEGV_MAPERR || code == ABI_SEGV_ACCERR))
        run_text_add(text, code == ABI_SEGV_MAPERR ? " maperr" : " accerr");
    else if (signal == ABI_SIGBUS && code == ABI_BUS_ADRERR)
        run_text_add(text, " adrerr");
    else
        run_text_add(text, " code %d", code);
}

static void add_signal_answer(struct run_text *text, const struct scenario *scenario,
                              const struct scenario_answer *answer)
{
    add_signal(text, answer->signal);
    add_code(text, answer->signal, answer->code);
    if (answer->has_address) {
        run_text_add(text, " at ");
        add_address(text, scenario, &answer->address);
    }
}

void run_text_add_answer(struct run_text *text, const struct scenario *scenario,
                         const struct scenario_answer *answer)
{
    switch (answer->kind) {
    case ANSWER_OK:
        run_text_add(text, "ok");
        break;
    case ANSWER_ERROR:
        add_error(text, answer->error);
        break;
    case ANSWER_SIGNAL:
        add_signal_answer(text, scenario, answer);
        break;
    case ANSWER_DATA:
        run_text_add_data(text, &answer->data);
        break;
    case ANSWER_NUMBER:
        run_text_add(text, "%" PRIu64, answer->number);
        break;
    case ANSWER_ADDRESS:
        add_address(text, scenario, &answer->address);
        break;
    case ANSWER_BITS:
        run_text_add(text, "%.*s", (int)answer->data.bytes, (const char *)answer->data.content);
        break;
    case ANSWER_EXIT:
        run_text_add(text, "exit %" PRIu64, answer->number);
        break;
    case ANSWER_KILLED:
        run_text_add(text, "signal ");
        add_signal(text, answer->signal);
        break;
    case ANSWER_ANY:
        run_text_add(text, "any");
        break;
    }
    if (answer->has_faults)
        run_text_add(text, " faults %" PRIu64, answer->faults);
}

/* --- outcomes --- */

static void add_bits(struct run_text *text, const struct scenario_outcome *outcome)
{
    for (size_t i = 0; i < outcome->data_bytes; i++)
        run_text_add(text, "%d", outcome->data[i] & 1);
}

/* The number or address that a call returned; most return nothing. */
static void add_value(struct run_text *text, enum scenario_verb verb,
                      const struct scenario_outcome *outcome)
{
    switch (verb) {
    case VERB_MMAP:
    case VERB_MREMAP:
    case VERB_BRK:
        run_text_add(text, "0x%" PRIx64, outcome->value);
        break;
    case VERB_KWRITE:
    case VERB_FWRITE:
        run_text_add(text, "%" PRIu64, outcome->value);
        break;
    default:
        run_text_add(text, "ok");
        break;
    }
}

static bool has_faults(const struct scenario_outcome *outcome,
                       const struct scenario_operation *operation)
{
    return outcome->faults != 0 && operation->verb >= VERB_READ && operation->verb <= VERB_POKE;
}

void run_text_add_outcome(struct run_text *text, const struct scenario *scenario,
                          const struct scenario_operation *operation,
                          const struct scenario_outcome *outcome)
{
    switch (outcome->kind) {
    case OUTCOME_DONE:
        add_value(text, operation->verb, outcome);
        break;
    case OUTCOME_ERROR:
        add_error(text, outcome->error);
        break;
    case OUTCOME_SIGNAL:
        add_signal(text, outcome->signal);
        add_code(text, outcome->signal, outcome->code);
        run_text_add(text, " at 0x%" PRIx64, outcome->address);
        break;
    case OUTCOME_DATA:
        if (operation->verb == VERB_MINCORE)
            add_bits(text, outcome);
        else
            add_bytes(text, outcome->data, outcome->data_bytes);
        break;
    case OUTCOME_EXITED:
        run_text_add(text, "exit %" PRIu64, outcome->value);
        break;
    case OUTCOME_KILLED:
        run_text_add(text, "signal ");
        add_signal(text, outcome->signal);
        break;
    case OUTCOME_UNABLE:
    case OUTCOME_BROKEN:
        run_text_add(text, "%s", outcome->why);
        break;
    }
    if (operation->verb == VERB_WAIT && outcome->child != SCENARIO_NOBODY) {
        run_text_add(text, " of ");
        add_name(text, &scenario->tasks, outcome->child);
    }
    if (has_faults(outcome, operation))
        run_text_add(text, " faults %" PRIu64, outcome->faults);
}
