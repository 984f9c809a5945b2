/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the writer share: writer.c has statements, writer_arguments.c what follows a
 * verb, writer_answers.c what follows "=", writer_values.c numbers, addresses and data.
 *
 * What is written begins with a space, except where it continues a word.
 */
#ifndef FORKLAB_SCENARIO_WRITER_PARTS_H
#define FORKLAB_SCENARIO_WRITER_PARTS_H

#include "scenario/words.h"
#include "scenario/writer.h"

struct writer {
    const struct scenario *scenario;
    FILE *stream;
};

/* 4096 as 4K, 5000 as 5000. */
void writer_size(const struct writer *writer, uint64_t bytes);

/* A+4K, heap-1, 0x400000; writer_put_address() without the space. */
void writer_put_address(const struct writer *writer, const struct scenario_address *address);
void writer_address(const struct writer *writer, const struct scenario_address *address);

/* Printable bytes as "text", others as hex:00ff, or fill BYTE SIZE. */
void writer_data(const struct writer *writer, const struct scenario_data *data);
void writer_bytes(const struct writer *writer, const uint8_t *bytes, size_t count);

/* "text" with escapes, for any bytes. */
void writer_text(const struct writer *writer, const uint8_t *bytes, size_t count);

/* The words whose bits are set, and flags=N for the rest. */
void writer_flags(const struct writer *writer, const struct word *words, uint32_t flags);

/* " NAME"; nothing for SCENARIO_NOBODY. */
void writer_name(const struct writer *writer, const struct scenario_names *names, uint16_t number);

void writer_arguments(const struct writer *writer, const struct scenario_operation *operation);

/* " = ANSWER ...", or nothing. */
void writer_answers(const struct writer *writer, const struct scenario_operation *operation);

/* "SELECTOR,SELECTOR" */
void writer_selectors(const struct writer *writer, const struct scenario_answer *answer);

/* "6.17" or "6.17.2", without a space */
void writer_version(const struct writer *writer, const struct scenario_selector *selector);

#endif
