/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sheet: a small table of results, filled cell by cell and then printed as aligned text, as
 * comma-separated values, as an array of JSON objects, or drawn.
 *
 * A column has a heading for people and a key for programs; its cells are numbers with so many
 * decimals, or words. A cell that was never set is empty, and null in JSON. Memory that ends while
 * a sheet is filled is remembered and told at the end, by sheet_is_whole().
 */
#ifndef FORKLAB_DEMO_SHEET_H
#define FORKLAB_DEMO_SHEET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { SHEET_MOST_COLUMNS = 24, SHEET_WORD_BYTES = 48, SHEET_WORDS = -1 };

struct sheet_column {
    char heading[SHEET_WORD_BYTES];
    char key[SHEET_WORD_BYTES];
    int decimals; /* SHEET_WORDS: words */
};

struct sheet_cell {
    bool is_set;
    double number;
    char words[SHEET_WORD_BYTES];
};

struct sheet {
    const char *key;   /* in JSON */
    const char *title; /* above it, or NULL */
    size_t column_count;
    struct sheet_column columns[SHEET_MOST_COLUMNS];
    size_t row_count;
    size_t row_capacity;
    struct sheet_cell (*rows)[SHEET_MOST_COLUMNS];
    bool lacked_memory;
};

/* An empty sheet; its texts outlive it. */
struct sheet sheet_new(const char *key, const char *title);
void sheet_free(struct sheet *sheet);

/* A further column; there may be SHEET_MOST_COLUMNS. Its number. */
size_t sheet_column(struct sheet *sheet, const char *heading, const char *key, int decimals);

/* A further row, which the next calls fill. */
void sheet_row(struct sheet *sheet);
void sheet_number(struct sheet *sheet, size_t column, double number);
void sheet_words(struct sheet *sheet, size_t column, const char *words);

bool sheet_is_whole(const struct sheet *sheet);

void sheet_print(const struct sheet *sheet);
void sheet_print_csv(const struct sheet *sheet);

/* An array of objects: a new reference, or NULL when memory ran out. */
json_t *sheet_json(const struct sheet *sheet);

/*
 * Draws the columns from `first` on over column 0: lines over numbers, on logarithmic scales, or
 * bars over words, from 0 or on a logarithmic scale. -errno with one line in `problem`.
 */
struct sheet_picture {
    const struct sheet *sheet;
    size_t first;
    const char *unit;  /* of what is drawn */
    bool is_log_scale; /* of bars */
};

int sheet_draw(const struct sheet_picture *picture, const char *path, char *problem,
               size_t problem_bytes);

#endif
