/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words of the language that stand for numbers, for the reader and the writer alike, and the
 * nearest word to a wrong one. (errno_word() and its kin, which others use too, are in writer.h.)
 *
 * A list of words ends with one that is NULL. A number may have two words; the first is written.
 */
#ifndef FORKLAB_SCENARIO_WORDS_H
#define FORKLAB_SCENARIO_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario/operation.h"

struct word {
    const char *word;
    uint32_t value;
};

extern const struct word mapping_words[];    /* flags of mmap but for its type */
extern const struct word sharing_words[];    /* its type: private, shared, shared_validate */
extern const struct word remap_words[];      /* flags of mremap */
extern const struct word sync_words[];       /* flags of msync */
extern const struct word protection_words[]; /* none, r, w, rw, ...: all there are */
extern const struct word advice_words[];
extern const struct word signal_words[];
extern const struct word file_words[]; /* ro, wo */
extern const struct word limit_words[];
extern const struct word show_words[];
extern const struct word quantity_words[]; /* the one of QUANTITY_EVENT is "faults" */

/* What `needs` may ask for although nothing here has it: words alone, ended by NULL. */
extern const char *const feature_words[];

/* The word of a value, or NULL. */
const char *word_for(const struct word *words, uint32_t value);

/* The word that is this text, or NULL. */
const struct word *word_find(const struct word *words, const char *text, size_t length);

/* A signal's si_code by its word: "maperr" and so on; 0 if that signal has none of this name. */
int signal_code_from_word(int signal, const char *text, size_t length);
const char *signal_code_word(int signal, int code);

/* May this be the name of a task, region, file or pin? Not if the language gives it a meaning where
 * a name could stand. */
bool is_reserved_word(const char *text);

/* The verb, or VERB_COUNT. */
enum scenario_verb verb_find(const char *text, size_t length);

/*
 * The nearest of several words to one that was not found: start with the text, offer candidates,
 * take the best. NULL when none is near. The word itself is no candidate.
 */
struct nearest {
    const char *text;
    size_t length;
    const char *best;
    size_t distance;
};

struct nearest nearest_to(const char *text, size_t length);
void nearest_offer(struct nearest *nearest, const char *candidate);
void nearest_offer_words(struct nearest *nearest, const struct word *words);
void nearest_offer_names(struct nearest *nearest, const struct scenario_names *names);
void nearest_offer_verbs(struct nearest *nearest);
void nearest_offer_errors(struct nearest *nearest);

#endif
