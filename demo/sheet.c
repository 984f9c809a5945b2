/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sheets: filled and printed; sheet.h has the terms. */
#include "demo/sheet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/gnuplot.h"

enum { FIRST_ROWS = 16 };

struct sheet sheet_new(const char *key, const char *title)
{
    return (struct sheet){.key = key, .title = title};
}

void sheet_free(struct sheet *sheet)
{
    free(sheet->rows);
    *sheet = sheet_new(sheet->key, sheet->title);
}

size_t sheet_column(struct sheet *sheet, const char *heading, const char *key, int decimals)
{
    struct sheet_column *column = &sheet->columns[sheet->column_count];

    (void)snprintf(column->heading, sizeof(column->heading), "%s", heading);
    (void)snprintf(column->key, sizeof(column->key), "%s", key);
    column->decimals = decimals;
    return sheet->column_count++;
}

static bool make_room(struct sheet *sheet)
{
    if (sheet->row_count < sheet->row_capacity)
        return true;
    size_t capacity = sheet->row_capacity > 0 ? 2 * sheet->row_capacity : FIRST_ROWS;
    void *rows = realloc(sheet->rows, capacity * sizeof(*sheet->rows));

    if (rows == NULL)
        return false;
    sheet->rows = rows;
    sheet->row_capacity = capacity;
    return true;
}

void sheet_row(struct sheet *sheet)
{
    if (!make_room(sheet)) {
        sheet->lacked_memory = true;
        return;
    }
    memset(&sheet->rows[sheet->row_count++], 0, sizeof(*sheet->rows));
}

/* NULL: there is no row, for want of memory. */
static struct sheet_cell *cell_of(struct sheet *sheet, size_t column)
{
    return sheet->row_count > 0 ? &sheet->rows[sheet->row_count - 1][column] : NULL;
}

void sheet_number(struct sheet *sheet, size_t column, double number)
{
    struct sheet_cell *cell = cell_of(sheet, column);

    if (cell != NULL)
        *cell = (struct sheet_cell){.is_set = true, .number = number};
}

void sheet_words(struct sheet *sheet, size_t column, const char *words)
{
    struct sheet_cell *cell = cell_of(sheet, column);

    if (cell == NULL)
        return;
    cell->is_set = true;
    (void)snprintf(cell->words, sizeof(cell->words), "%s", words);
}

bool sheet_is_whole(const struct sheet *sheet)
{
    return !sheet->lacked_memory;
}

/* --- text and CSV --- */

static bool is_words(const struct sheet *sheet, size_t column)
{
    return sheet->columns[column].decimals == SHEET_WORDS;
}

static void cell_text(const struct sheet *sheet, size_t row, size_t column,
                      char text[SHEET_WORD_BYTES])
{
    const struct sheet_cell *cell = &sheet->rows[row][column];

    if (!cell->is_set)
        text[0] = '\0';
    else if (is_words(sheet, column))
        (void)snprintf(text, SHEET_WORD_BYTES, "%s", cell->words);
    else
        (void)snprintf(text, SHEET_WORD_BYTES, "%.*f", sheet->columns[column].decimals,
                       cell->number);
}

static int width_of(const struct sheet *sheet, size_t column)
{
    size_t width = strlen(sheet->columns[column].heading);

    for (size_t row = 0; row < sheet->row_count; row++) {
        char text[SHEET_WORD_BYTES];

        cell_text(sheet, row, column, text);
        if (strlen(text) > width)
            width = strlen(text);
    }
    return (int)width;
}

/* Words stand to the left, numbers to the right; nothing trails. */
static void print_cell(const struct sheet *sheet, size_t column, const int *widths,
                       const char *text)
{
    bool is_last = column + 1 == sheet->column_count;
    int width = is_words(sheet, column) ? -widths[column] : widths[column];

    if (column > 0)
        fputs("  ", stdout);
    if (is_last && is_words(sheet, column))
        width = 0;
    printf("%*s%s", width, text, is_last ? "\n" : "");
}

void sheet_print(const struct sheet *sheet)
{
    int widths[SHEET_MOST_COLUMNS] = {0};

    if (sheet->title != NULL)
        printf("%s\n", sheet->title);
    for (size_t column = 0; column < sheet->column_count; column++)
        widths[column] = width_of(sheet, column);
    for (size_t column = 0; column < sheet->column_count; column++)
        print_cell(sheet, column, widths, sheet->columns[column].heading);
    for (size_t row = 0; row < sheet->row_count; row++) {
        for (size_t column = 0; column < sheet->column_count; column++) {
            char text[SHEET_WORD_BYTES];

            cell_text(sheet, row, column, text);
            print_cell(sheet, column, widths, text);
        }
    }
}

void sheet_print_csv(const struct sheet *sheet)
{
    for (size_t column = 0; column < sheet->column_count; column++)
        printf("%s%s", column > 0 ? "," : "", sheet->columns[column].key);
    for (size_t row = 0; row < sheet->row_count; row++) {
        for (size_t column = 0; column < sheet->column_count; column++) {
            char text[SHEET_WORD_BYTES];

            cell_text(sheet, row, column, text);
            printf("%s%s", column > 0 ? "," : "\n", text);
        }
    }
    putchar('\n');
}

/* --- JSON --- */

static json_t *cell_json(const struct sheet *sheet, size_t row, size_t column)
{
    const struct sheet_cell *cell = &sheet->rows[row][column];

    if (!cell->is_set)
        return json_null();
    return is_words(sheet, column) ? json_string(cell->words) : json_real(cell->number);
}

static json_t *row_json(const struct sheet *sheet, size_t row)
{
    json_t *object = json_object();

    for (size_t column = 0; object != NULL && column < sheet->column_count; column++) {
        if (json_object_set_new(object, sheet->columns[column].key,
                                cell_json(sheet, row, column)) != 0) {
            json_decref(object);
            object = NULL;
        }
    }
    return object;
}

json_t *sheet_json(const struct sheet *sheet)
{
    json_t *array = json_array();

    for (size_t row = 0; array != NULL && row < sheet->row_count; row++) {
        if (json_array_append_new(array, row_json(sheet, row)) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

/* --- pictures --- */

static void write_data(FILE *script, const struct sheet *sheet)
{
    fputs("$sheet << EOD\n", script);
    for (size_t row = 0; row < sheet->row_count; row++) {
        for (size_t column = 0; column < sheet->column_count; column++) {
            char text[SHEET_WORD_BYTES];

            cell_text(sheet, row, column, text);
            const char *quote = is_words(sheet, column) ? "\"" : "";

            fprintf(script, "%s%s%s%s", column > 0 ? " " : "", quote,
                    text[0] != '\0' ? text : "NaN", quote);
        }
        fputc('\n', script);
    }
    fputs("EOD\n", script);
}

/* A curve is told from its neighbours by its line and point type too, not by colour alone. */
static void write_script(FILE *script, const void *context)
{
    const struct sheet_picture *picture = context;
    const struct sheet *sheet = picture->sheet;
    bool bars = is_words(sheet, 0);

    write_data(script, sheet);
    fprintf(script,
            "set terminal svg size 960,520 noenhanced background 'white'\n"
            "set grid\nset key outside bottom center horizontal\nset ylabel '%s'\n"
            "set title '%s'\n",
            picture->unit, sheet->title != NULL ? sheet->title : "");
    fputs(bars ? "set style data histograms\nset style fill pattern border\n" : "set logscale xy\n",
          script);
    if (bars)
        fputs(picture->is_log_scale ? "set logscale y\nset yrange [10:*]\n" : "set yrange [0:*]\n",
              script);
    if (!bars)
        fprintf(script, "set xlabel '%s'\n", sheet->columns[0].heading);
    for (size_t column = picture->first; column < sheet->column_count; column++) {
        fprintf(script, "%s $sheet using ", column == picture->first ? "plot" : ",");
        if (bars)
            fprintf(script, "%zu:xtic(1)", column + 1);
        else
            fprintf(script, "1:%zu with linespoints dashtype %zu", column + 1, column % 5 + 1);
        fprintf(script, " title '%s'", sheet->columns[column].heading);
    }
    fputc('\n', script);
}

int sheet_draw(const struct sheet_picture *picture, const char *path, char *problem,
               size_t problem_bytes)
{
    return gnuplot_draw(path, write_script, picture, problem, problem_bytes);
}
