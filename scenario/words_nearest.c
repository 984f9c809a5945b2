/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nearest word: by the number of letters to change, add, leave out, or swap with their
 * neighbour. A word is near when about one letter in three differs, and never more than three.
 */
#include <string.h>

#include "scenario/words.h"
#include "scenario/writer.h"

enum { LONGEST_WORD = 40, LEAST_LETTERS_A_FAULT = 3, MOST_DISTANCE = 3, ERRNO_LAST = 133 };

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* Rows of the table of distances, from heads of one word to all heads of another: the row under
 * work, and the two before it. */
struct rows {
    size_t now[LONGEST_WORD + 1];
    size_t last[LONGEST_WORD + 1];
    size_t earlier[LONGEST_WORD + 1];
};

static void begin_row(struct rows *rows)
{
    memcpy(rows->earlier, rows->last, sizeof(rows->last));
    memcpy(rows->last, rows->now, sizeof(rows->now));
    rows->now[0]++;
}

/* The row of the head of `text` that ends with letter number `at`. */
static void fill_row(struct rows *rows, const char *text, size_t at, const char *other,
                     size_t length)
{
    begin_row(rows);
    for (size_t i = 1; i <= length; i++) {
        size_t replaced = rows->last[i - 1] + (text[at] != other[i - 1]);

        rows->now[i] = least(replaced, least(rows->last[i], rows->now[i - 1]) + 1);
        if (at > 0 && i > 1 && text[at] == other[i - 2] && text[at - 1] == other[i - 1])
            rows->now[i] = least(rows->now[i], rows->earlier[i - 2] + 1);
    }
}

static size_t distance(const char *text, size_t length, const char *other)
{
    struct rows rows = {0};
    size_t other_length = strlen(other);

    if (length > LONGEST_WORD || other_length > LONGEST_WORD)
        return SIZE_MAX;
    for (size_t i = 0; i <= other_length; i++)
        rows.now[i] = i;
    for (size_t i = 0; i < length; i++)
        fill_row(&rows, text, i, other, other_length);
    return rows.now[other_length];
}

struct nearest nearest_to(const char *text, size_t length)
{
    size_t most = least(MOST_DISTANCE, (length + 1) / LEAST_LETTERS_A_FAULT);

    return (struct nearest){.text = text, .length = length, .distance = most + 1};
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
    size_t found = distance(nearest->text, nearest->length, candidate);

    if (found == 0 || found >= nearest->distance)
        return;
    nearest->distance = found;
    nearest->best = candidate;
}

void nearest_offer_words(struct nearest *nearest, const struct word *words)
{
    for (; words->word != NULL; words++)
        nearest_offer(nearest, words->word);
}

void nearest_offer_names(struct nearest *nearest, const struct scenario_names *names)
{
    for (unsigned i = 0; i < names->count; i++)
        nearest_offer(nearest, names->names[i]);
}

void nearest_offer_verbs(struct nearest *nearest)
{
    for (unsigned verb = 0; verb < VERB_COUNT; verb++)
        nearest_offer(nearest, verb_descriptions[verb].word);
}

void nearest_offer_errors(struct nearest *nearest)
{
    for (int error = 1; error <= ERRNO_LAST; error++) {
        if (errno_word(error) != NULL)
            nearest_offer(nearest, errno_word(error));
    }
}
