/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nearest word: by Levenshtein's distance, the number of letters to change, add or leave out.
 * A word is near when about one letter in three differs, and never more than three.
 */
#include <string.h>

#include "scenario/words.h"
#include "scenario/writer.h"

enum { LONGEST_WORD = 40, LEAST_LETTERS_A_FAULT = 3, MOST_DISTANCE = 3, ERRNO_LAST = 133 };

static size_t least(size_t one, size_t other)
{
    return one < other ? one : other;
}

/* One row of the table of distances: from the first i letters of `text` to all heads of `other`. */
static void next_row(size_t *row, char letter, const char *other, size_t length)
{
    size_t diagonal = row[0];

    row[0]++;
    for (size_t i = 1; i <= length; i++) {
        size_t replaced = diagonal + (letter != other[i - 1]);

        diagonal = row[i];
        row[i] = least(replaced, least(row[i], row[i - 1]) + 1);
    }
}

static size_t distance(const char *text, size_t length, const char *other)
{
    size_t row[LONGEST_WORD + 1];
    size_t other_length = strlen(other);

    if (length > LONGEST_WORD || other_length > LONGEST_WORD)
        return SIZE_MAX;
    for (size_t i = 0; i <= other_length; i++)
        row[i] = i;
    for (size_t i = 0; i < length; i++)
        next_row(row, text[i], other, other_length);
    return row[other_length];
}

struct nearest nearest_to(const char *text, size_t length)
{
    size_t most = least(MOST_DISTANCE, (length + 1) / LEAST_LETTERS_A_FAULT);

    return (struct nearest){.text = text, .length = length, .distance = most + 1};
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
    size_t found = distance(nearest->text, nearest->length, candidate);

    if (found >= nearest->distance)
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
