/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writer's answers, and outcomes as answers. */
#include <inttypes.h>
#include <stdlib.h>

#include "scenario/form.h"
#include "scenario/reader.h"
#include "scenario/writer_parts.h"

/* What is longer does not go into a line. */
enum { MOST_DATA_BYTES = SCENARIO_LINE_BYTES / 4 };

static void write_signal_name(const struct writer *writer, int signal)
{
    const char *word = signal_word(signal);

    if (word != NULL)
        fprintf(writer->stream, " %s", word);
    else
        fprintf(writer->stream, " %d", signal);
}

static void write_signal(const struct writer *writer, const struct scenario_answer *answer)
{
    const char *code = signal_code_word(answer->signal, answer->code);

    write_signal_name(writer, answer->signal);
    if (code != NULL)
        fprintf(writer->stream, " %s", code);
    if (answer->has_address) {
        fputs(" at", writer->stream);
        writer_address(writer, &answer->address);
    }
}

static void write_answer(const struct writer *writer, const struct scenario_answer *answer)
{
    switch (answer->kind) {
    case ANSWER_OK:
        fputs(" ok", writer->stream);
        break;
    case ANSWER_ERROR:
        fprintf(writer->stream, " %s", errno_word(answer->error));
        break;
    case ANSWER_SIGNAL:
        write_signal(writer, answer);
        break;
    case ANSWER_DATA:
        writer_data(writer, &answer->data);
        break;
    case ANSWER_NUMBER:
        writer_size(writer, answer->number);
        break;
    case ANSWER_ADDRESS:
        writer_address(writer, &answer->address);
        break;
    case ANSWER_BITS:
        fprintf(writer->stream, " %.*s", (int)answer->data.bytes,
                (const char *)answer->data.content);
        break;
    case ANSWER_EXIT:
        fprintf(writer->stream, " exit %" PRIu64, answer->number);
        break;
    case ANSWER_KILLED:
        fputs(" signal", writer->stream);
        write_signal_name(writer, answer->signal);
        break;
    case ANSWER_ANY:
        fputs(" any", writer->stream);
        break;
    }
}

void writer_version(const struct writer *writer, const struct scenario_selector *selector)
{
    uint32_t version = selector->version;
    uint32_t patch = version % 1000;

    fprintf(writer->stream, "%" PRIu32 ".%" PRIu32, version / 1000000, version / 1000 % 1000);
    if (patch != 0)
        fprintf(writer->stream, ".%" PRIu32, patch);
}

static void write_selector(const struct writer *writer, const struct scenario_selector *selector)
{
    switch (selector->kind) {
    case SELECT_KERNEL:
        fputs(selector->kernel, writer->stream);
        break;
    case SELECT_HOST:
        fputs("host", writer->stream);
        break;
    case SELECT_LINUX_FROM:
    case SELECT_LINUX_BEFORE:
        fputs(selector->kind == SELECT_LINUX_FROM ? "linux>=" : "linux<", writer->stream);
        writer_version(writer, selector);
        break;
    }
}

void writer_selectors(const struct writer *writer, const struct scenario_answer *answer)
{
    for (unsigned i = 0; i < answer->selector_count; i++) {
        if (i > 0)
            putc(',', writer->stream);
        write_selector(writer, &answer->selectors[i]);
    }
}

void writer_answers(const struct writer *writer, const struct scenario_operation *operation)
{
    if (verb_answers[operation->verb] == ANSWERS_NONE)
        return;
    for (unsigned i = 0; i < operation->answer_count; i++) {
        const struct scenario_answer *answer = &operation->answers[i];

        fputs(i == 0 ? " =" : " else", writer->stream);
        write_answer(writer, answer);
        if (answer->has_faults)
            fprintf(writer->stream, " faults %" PRIu64, answer->faults);
        if (answer->selector_count > 0) {
            fputs(" on ", writer->stream);
            writer_selectors(writer, answer);
        }
    }
}

/* --- outcomes --- */

static void write_outcome_bits(const struct writer *writer, const struct scenario_outcome *outcome)
{
    putc(' ', writer->stream);
    for (size_t i = 0; i < outcome->data_bytes; i++)
        putc(outcome->data[i] != 0 ? '1' : '0', writer->stream);
}

/* Many equal bytes are written as one. */
static bool is_fill(const uint8_t *data, size_t bytes)
{
    enum { LEAST = 16 };

    for (size_t i = 1; i < bytes; i++) {
        if (data[i] != data[0])
            return false;
    }
    return bytes >= LEAST;
}

static void write_outcome_data(const struct writer *writer,
                               const struct scenario_operation *operation,
                               const struct scenario_outcome *outcome)
{
    if (verb_answers[operation->verb] == ANSWERS_BITS)
        write_outcome_bits(writer, outcome);
    else if (is_fill(outcome->data, outcome->data_bytes))
        writer_data(writer, &(struct scenario_data){.kind = DATA_FILL,
                                                    .fill = outcome->data[0],
                                                    .bytes = outcome->data_bytes});
    else if (outcome->data_bytes <= MOST_DATA_BYTES)
        writer_bytes(writer, outcome->data, outcome->data_bytes);
    else
        fputs(" ok", writer->stream);
}

static void write_done(const struct writer *writer, const struct scenario_operation *operation,
                       const struct scenario_outcome *outcome)
{
    const struct scenario_address address = {.base = BASE_ABSOLUTE, .offset_bytes = outcome->value};

    switch (verb_answers[operation->verb]) {
    case ANSWERS_NONE:
    case ANSWERS_QUANTITY:
        break;
    case ANSWERS_ADDRESS:
        writer_address(writer, &address);
        break;
    case ANSWERS_COUNT:
    case ANSWERS_EITHER:
        writer_size(writer, outcome->value);
        break;
    default:
        fputs(" ok", writer->stream);
        break;
    }
}

static void write_killed(const struct writer *writer, const struct scenario_outcome *outcome)
{
    const struct scenario_answer answer = {
        .signal = outcome->signal,
        .code = outcome->code,
        .has_address = outcome->code != 0 && outcome->code != ABI_SI_KERNEL,
        .address = {.base = BASE_ABSOLUTE, .offset_bytes = outcome->address},
    };

    write_signal(writer, &answer);
}

static void write_outcome(const struct writer *writer, const struct scenario_operation *operation,
                          const struct scenario_outcome *outcome)
{
    const char *word;

    switch (outcome->kind) {
    case OUTCOME_DONE:
        write_done(writer, operation, outcome);
        break;
    case OUTCOME_ERROR:
        word = errno_word(outcome->error);
        if (word != NULL)
            fprintf(writer->stream, " %s", word);
        break;
    case OUTCOME_SIGNAL:
        write_killed(writer, outcome);
        break;
    case OUTCOME_DATA:
        write_outcome_data(writer, operation, outcome);
        break;
    case OUTCOME_EXITED:
        fprintf(writer->stream, " exit %" PRIu64, outcome->value);
        break;
    case OUTCOME_KILLED:
        fputs(" signal", writer->stream);
        write_signal_name(writer, outcome->signal);
        break;
    case OUTCOME_UNABLE:
    case OUTCOME_BROKEN:
        break;
    }
}

void outcome_write(const struct scenario *scenario, const struct scenario_operation *operation,
                   const struct scenario_outcome *outcome, FILE *stream)
{
    char *text = NULL;
    size_t length;
    struct writer writer = {.scenario = scenario, .stream = open_memstream(&text, &length)};

    if (writer.stream == NULL)
        return;
    write_outcome(&writer, operation, outcome);
    fclose(writer.stream);
    if (text != NULL && length > 0)
        fputs(text + 1, stream);
    free(text);
}
