/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the reader share. It descends through a statement, a function a form, always
 * with one token ahead:
 *
 *   reader.c            lines, statements, their subjects
 *   reader_arguments.c  what follows a verb           reader_values.c  numbers, addresses, data
 *   reader_about.c      show, expect, needs           reader_names.c   names, and who is alive
 *   reader_answers.c    what follows "="
 *
 * A function that reads returns false once something is wrong; the first thing wrong is what the
 * reader's problem says, and nothing is read after it.
 */
#ifndef FORKLAB_SCENARIO_READER_PARTS_H
#define FORKLAB_SCENARIO_READER_PARTS_H

#include "scenario/lexer.h"
#include "scenario/operation.h"
#include "scenario/words.h"

/* What the text alone tells about a task. */
enum task_life {
    LIFE_NONE,   /* not made yet */
    LIFE_ALIVE,  /* in every run of this text */
    LIFE_ENDED,  /* in every run; nobody has waited for it */
    LIFE_WAITED, /* ended and waited for: the name is free again */
    LIFE_UNSURE, /* it depends on where this runs */
};

struct task_record {
    enum task_life life;
    uint32_t line; /* where it came to be so */
};

struct reader {
    struct scenario *scenario;
    char *problem;
    size_t problem_bytes;
    int error; /* negative errno, 0 as long as nothing is wrong */
    struct lexer lexer;
    struct token token; /* the one ahead */
    uint32_t line;
    struct task_record tasks[SCENARIO_MOST_TASKS];
    bool is_open[SCENARIO_MOST_FILES];
    bool is_pinned[SCENARIO_MOST_PINS];
};

/* A part of the line, with its column. */
struct span {
    const char *text;
    size_t length;
    uint32_t column;
};

/* --- reader.c --- */

void reader_next(struct reader *reader);

/* Says what is wrong at a column of the line. Returns false. */
bool reader_fail(struct reader *reader, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "expected WHAT, found ..." about the token ahead. Returns false. */
bool reader_expected(struct reader *reader, const char *what);

/* Memory has ended. Returns false. */
bool reader_out_of_memory(struct reader *reader);

/* Does the word ahead say just this, or begin so? */
bool reader_is(const struct reader *reader, const char *word);
bool reader_begins(const struct reader *reader, const char *prefix);

/* ", did you mean NEAREST?", or nothing. */
enum { HINT_BYTES = 64 };
const char *reader_hint(char hint[HINT_BYTES], const struct nearest *nearest);

/* --- reader_values.c --- */

struct span token_span(const struct token *token);

/* What follows the first `skipped` bytes. */
struct span span_rest(const struct span *span, size_t skipped);

/* A number of at most `most`; `what` says of what, with examples. */
bool reader_parse_number(struct reader *reader, const struct span *span, const char *what,
                         uint64_t most, uint64_t *number);
bool reader_number(struct reader *reader, const char *what, uint64_t most, uint64_t *number);

/* Is the token ahead a number, by its first character? */
bool reader_is_number_ahead(const struct reader *reader);

/* "key=NUMBER", when the token ahead begins with the key and its "=". */
bool reader_key_number(struct reader *reader, const char *key, uint64_t most, uint64_t *number);

bool reader_size(struct reader *reader, uint64_t *bytes);
bool reader_parse_address(struct reader *reader, const struct span *span,
                          struct scenario_address *address);
bool reader_address(struct reader *reader, struct scenario_address *address);
bool reader_key_address(struct reader *reader, const char *key, struct scenario_address *address);

bool reader_is_data_ahead(const struct reader *reader);
bool reader_data(struct reader *reader, struct scenario_data *data);

/* A string that C can hold, the scenario's. */
bool reader_text(struct reader *reader, const char *what, const char **text);

/* A word, copied into the scenario. */
bool reader_word(struct reader *reader, const char *what, const char **word);

/* One of a list of words; `what` says what they are. */
bool reader_listed(struct reader *reader, const struct word *words, const char *what,
                   uint32_t *value);

/* --- reader_names.c --- */

/* A task that is used. The first one that a text uses is made by that. */
bool reader_task(struct reader *reader, uint16_t *task);

/* The same, and it must be alive, as far as the text can tell. */
bool reader_living_task(struct reader *reader, uint16_t *task);

bool reader_new_task(struct reader *reader, uint16_t *task);
bool reader_new_region(struct reader *reader, uint16_t *region);
bool reader_new_file(struct reader *reader, uint16_t *file);
bool reader_new_pin(struct reader *reader, uint16_t *pin);
bool reader_is_file_ahead(const struct reader *reader);
bool reader_file(struct reader *reader, uint16_t *file);
bool reader_pin(struct reader *reader, uint16_t *pin);

/* The region of that name: it must have been given somewhere before. */
bool reader_parse_region(struct reader *reader, const struct span *span, uint16_t *region);

/* Is the word the name of a task? */
bool reader_is_task_known(const struct reader *reader, const struct token *token);

/* What an operation, with its answers, tells about tasks, files and pins. */
void reader_note_operation(struct reader *reader, const struct scenario_operation *operation);

/* --- the forms --- */

bool reader_arguments(struct reader *reader, struct scenario_operation *operation);
bool reader_show(struct reader *reader, struct scenario_operation *operation);
bool reader_expect(struct reader *reader, struct scenario_operation *operation);
bool reader_needs(struct reader *reader, struct scenario_operation *operation);

/* Everything from "=" on, or nothing. */
bool reader_answers(struct reader *reader, struct scenario_operation *operation);

/* SELECTOR[,SELECTOR]. */
bool reader_selectors(struct reader *reader, struct scenario_answer *answer);

/* VERSION after ">=" or "<", which is the token ahead. */
bool reader_version_selector(struct reader *reader, struct scenario_selector *selector);

/* Hangs answers on an operation. */
bool reader_keep_answers(struct reader *reader, struct scenario_operation *operation,
                         const struct scenario_answer *answers, unsigned count);

#endif
