/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What makes random scenarios: the parts that operations and answers share. */
#ifndef FORKLAB_TESTS_SUPPORT_RANDOM_MAKER_H
#define FORKLAB_TESTS_SUPPORT_RANDOM_MAKER_H

#include "pt/random.h"
#include "scenario/operation.h"
#include "scenario/words.h"

enum { FIRST_NAMES = 4, MOST_BYTES = 40 };

struct maker {
    struct scenario *scenario;
    struct random random;
    bool is_full; /* a name that is needed is one too many */
    int error;
};

uint64_t maker_below(struct maker *maker, uint64_t limit);
bool maker_chance(struct maker *maker, unsigned percent);

/* Zeroed; NULL sets the error. */
void *maker_allocate(struct maker *maker, size_t bytes);

/* Small numbers, whole pages, and anything. */
uint64_t maker_any_number(struct maker *maker);
uint32_t maker_any_word(struct maker *maker, const struct word *words);
struct scenario_address maker_any_address(struct maker *maker);
void maker_any_bytes(struct maker *maker, struct scenario_data *data);
struct scenario_data maker_any_data(struct maker *maker);
struct scenario_selector maker_any_selector(struct maker *maker);

/* So many blank answers, or none when memory ends. */
void maker_give_answers(struct maker *maker, struct scenario_operation *operation, unsigned count);

/* Answers that the language allows, or none. They end no task for certain. */
void maker_answers(struct maker *maker, struct scenario_operation *operation);

#endif
