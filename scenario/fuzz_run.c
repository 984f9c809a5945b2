/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzing: episode after episode, until one shows a difference or enough operations were done. The
 * one that does is shortened.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scenario/fuzz_pair.h"
#include "scenario/run.h"
#include "scenario/writer.h"

/* The invariants cost as much as an episode: without --checks only some end with them. */
enum { DEFAULT_EPISODE = 1000, PROGRESS_MS = 200, CHECK_EVERY = 16 };
enum { MOST_ANSWER_BYTES = 64 };

struct fuzz_session {
    const struct fuzz_options *options;
    struct fuzz_result *result;
    struct fuzz_pair pair;
    bool is_open;
    uint64_t shown_ms; /* when progress was last shown */
};

/* What came of one episode. */
struct episode {
    bool agrees;
    int error;         /* it could not be run: negative errno */
    size_t operations; /* performed: not left out */
    bool has_witness;
    struct scenario_operation witness;
    char why[SCENARIO_WHY_BYTES];
};

/* On a pair that is new, and is renewed, or nothing further can be done with it. */
static void run_episode(struct fuzz_pair *pair, const struct fuzz_options *options,
                        const struct scenario *scenario, struct episode *episode)
{
    *episode = (struct episode){0};
    pair->comparison.scenario = scenario;
    pair->comparison.why = episode->why;
    pair->comparison.why_bytes = sizeof(episode->why);
    episode->agrees = fuzz_compare_as(&pair->comparison);
    episode->operations = pair->comparison.at - pair->comparison.left_out;
    episode->has_witness = pair->comparison.has_witness;
    episode->witness = pair->comparison.witness;
    if (!episode->agrees)
        return;
    int error = fuzz_pair_renew(pair, options, episode->why, sizeof(episode->why));

    episode->agrees = error == 0;
    episode->error = error == -EIO ? 0 : error;
}

/* --- a difference --- */

/*
 * How a difference is looked for again: on a new pair, or on one where the same was done before, so
 * that frames hold what they held then.
 */
struct second_look {
    const struct fuzz_options *options;
    unsigned times;
    bool checks; /* after each operation, whatever the options say */
    struct episode last;
};

/* A shortening that cannot be tried fails nothing. */
static bool still_differs(void *context, const struct scenario *scenario)
{
    struct second_look *look = context;
    struct episode *last = &look->last;
    struct fuzz_pair pair;

    if (fuzz_pair_open(&pair, look->options, last->why, sizeof(last->why)) != 0)
        return false;
    pair.comparison.checks |= look->checks;
    last->agrees = true;
    for (unsigned i = 0; i < look->times && last->agrees; i++)
        run_episode(&pair, look->options, scenario, last);
    bool whole = fuzz_pair_close(&pair, last->agrees ? last->why : NULL, sizeof(last->why));

    return last->error == 0 && !(last->agrees && whole);
}

/* Does it happen again? */
static bool happens_again(struct second_look *look, const struct scenario *scenario)
{
    for (look->times = 1; look->times <= 2; look->times++) {
        if (still_differs(look, scenario))
            return true;
    }
    return false;
}

/* The shortened scenario once more: what differs now, and what shows it. */
static void look_once_more(struct second_look *look, struct scenario *scenario, char *why,
                           size_t why_bytes)
{
    const struct episode *last = &look->last;

    look->checks = true; /* so that the load which breaks an invariant is known */
    if (!still_differs(look, scenario))
        return;
    snprintf(why, why_bytes, "%.280s%s", last->why, look->times > 1 ? " (the second time)" : "");
    /* Without memory for one more, the lines above the scenario alone say what differs. */
    if (last->has_witness)
        (void)scenario_add(scenario, &last->witness);
}

static void note_difference(struct fuzz_session *session, struct scenario *scenario,
                            const struct episode *found)
{
    struct fuzz_result *result = session->result;
    struct second_look look = {.options = session->options};

    result->diverged = true;
    snprintf(result->why, sizeof(result->why), "%s", found->why);
    if (found->has_witness && scenario_add(scenario, &found->witness) != 0)
        return;
    if (happens_again(&look, scenario)) {
        fuzz_shrink(scenario, still_differs, &look);
        look_once_more(&look, scenario, result->why, sizeof(result->why));
    }
    result->scenario = *scenario;
    *scenario = (struct scenario){0};
}

/* --- the run --- */

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void show_progress(struct fuzz_session *session)
{
    const struct fuzz_result *result = session->result;
    FILE *stream = session->options->progress;
    uint64_t now = stream != NULL ? now_ms() : 0;

    if (stream == NULL || now - session->shown_ms < PROGRESS_MS)
        return;
    session->shown_ms = now;
    fprintf(stream, "\r%llu operations in %llu episodes", (unsigned long long)result->operations,
            (unsigned long long)result->episodes);
    fflush(stream);
}

/* Each episode has a seed of its own: the run's first is the run's. */
static uint64_t episode_seed(const struct fuzz_options *options, uint64_t number)
{
    struct random random = random_seeded(options->seed + number);

    return number == 0 ? options->seed : random_next(&random);
}

static void close_pair(struct fuzz_session *session)
{
    if (session->is_open)
        fuzz_pair_close(&session->pair, NULL, 0);
    session->is_open = false;
}

/* A pair to run on: a new one, if there is none. */
static int open_pair(struct fuzz_session *session)
{
    struct fuzz_result *result = session->result;

    if (session->is_open)
        return 0;
    int error = fuzz_pair_open(&session->pair, session->options, result->why, sizeof(result->why));

    session->is_open = error == 0;
    return error;
}

static int run_one(struct fuzz_session *session, const struct fuzz_mix *mix)
{
    struct fuzz_result *result = session->result;
    uint64_t seed = episode_seed(session->options, result->episodes);
    struct scenario scenario;
    struct episode episode;
    int error = fuzz_make(&scenario, seed, mix);

    if (error != 0) {
        snprintf(result->why, sizeof(result->why), "memory ran out");
        return error;
    }
    session->pair.comparison.checks_at_end = result->episodes % CHECK_EVERY == 0;
    result->no_zero_page = session->pair.no_zero_page;
    run_episode(&session->pair, session->options, &scenario, &episode);
    if (episode.error != 0)
        snprintf(result->why, sizeof(result->why), "%s", episode.why);
    /* When memory ends depends on all that was done before. */
    if (episode.error != 0 || !episode.agrees || session->options->low_memory)
        close_pair(session);
    result->operations += episode.operations;
    result->episodes++;
    result->episode_seed = seed;
    if (episode.error == 0 && !episode.agrees)
        note_difference(session, &scenario, &episode);
    scenario_free(&scenario);
    return episode.error;
}

int fuzz_run(const struct fuzz_options *options, struct fuzz_result *result)
{
    struct fuzz_options whole = *options;
    struct fuzz_session session = {.options = &whole, .result = result};
    int error = 0;

    *result = (struct fuzz_result){0};
    if (whole.machine.kernel == NULL)
        whole.machine.kernel = kernel_find("modern");
    if (whole.episode == 0)
        whole.episode = DEFAULT_EPISODE;
    if (whole.against == AGAINST_COPIED && fuzz_copying_sister(whole.machine.kernel) == NULL) {
        snprintf(result->why, sizeof(result->why), "%s has no sister that copies tables",
                 whole.machine.kernel->name);
        return -EINVAL;
    }
    while (error == 0 && !result->diverged && result->operations < whole.operations) {
        uint64_t left = whole.operations - result->operations;
        struct fuzz_mix mix = fuzz_mix_for(&whole);

        mix.operations = (unsigned)min_u64(whole.episode, left);
        error = open_pair(&session);
        if (error == 0)
            error = run_one(&session, &mix);
        show_progress(&session);
    }
    close_pair(&session);
    return error;
}

/* --- as text --- */

/* " = " and what was answered, if there is anything to say. */
static void write_answer(const struct scenario *scenario,
                         const struct scenario_operation *operation,
                         const struct scenario_outcome *outcome, FILE *stream)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);

    if (memory == NULL)
        return;
    outcome_write(scenario, operation, outcome, memory);
    if (fclose(memory) == 0 && bytes > 0)
        fprintf(stream, " = %s", text);
    free(text);
}

/* Which tasks there have been: a scenario cannot name others. */
struct named {
    bool was_made[SCENARIO_MOST_TASKS];
};

static void note_made(struct named *named, const struct scenario_operation *operation,
                      const struct scenario_outcome *outcome)
{
    if (operation->verb == VERB_TASK)
        named->was_made[operation->task] = true;
    if ((operation->verb == VERB_FORK || operation->verb == VERB_VFORK) &&
        outcome->kind == OUTCOME_DONE)
        named->was_made[operation->other] = true;
}

static bool can_be_named(const struct named *named, const struct scenario_operation *operation)
{
    if (operation->verb != VERB_KILL && operation->verb != VERB_WAIT)
        return true;
    return operation->other == SCENARIO_NOBODY || named->was_made[operation->other];
}

/* The witness that a run is to judge; a quantity that the oracle cannot tell is not asked for. */
static void write_expect(const struct scenario *scenario, struct backend *oracle,
                         const struct scenario_operation *operation, FILE *stream)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);

    if (memory == NULL)
        return;
    bool found = quantity_write(oracle, operation, memory);

    if (fclose(memory) == 0 && found) {
        operation_write(scenario, operation, stream);
        fprintf(stream, " = %s\n", text);
    }
    free(text);
}

static void write_answered(const struct scenario *scenario, struct backend *oracle, FILE *stream)
{
    struct scenario_outcome outcome;
    struct named named = {0};

    for (size_t i = 0; i < scenario->count; i++) {
        const struct scenario_operation *operation = &scenario->operations[i];

        if (operation->verb == VERB_EXPECT) {
            write_expect(scenario, oracle, operation, stream);
            continue;
        }
        oracle->ops->perform(oracle, operation, &outcome);
        if (outcome.kind == OUTCOME_UNABLE || outcome.kind == OUTCOME_BROKEN)
            continue; /* nor was the other asked to do it */
        note_made(&named, operation, &outcome);
        if (!can_be_named(&named, operation))
            continue;
        operation_write(scenario, operation, stream);
        /* Residency is not always compared; nobody reads that much. That it works stands anyway. */
        if (outcome.kind != OUTCOME_DATA ||
            (operation->verb != VERB_MINCORE && outcome.data_bytes <= MOST_ANSWER_BYTES))
            write_answer(scenario, operation, &outcome, stream);
        fputc('\n', stream);
    }
}

void fuzz_write(const struct fuzz_options *options, const struct scenario *scenario, FILE *stream)
{
    struct fuzz_options whole = *options;
    struct fuzz_pair pair;
    char why[SCENARIO_WHY_BYTES];

    if (whole.machine.kernel == NULL)
        whole.machine.kernel = kernel_find("modern");
    if (fuzz_pair_open(&pair, &whole, why, sizeof(why)) != 0) {
        scenario_write(scenario, stream);
        return;
    }
    if (pair.oracle != NULL)
        write_answered(scenario, pair.oracle, stream);
    else
        scenario_write(scenario, stream);
    fuzz_pair_close(&pair, NULL, 0);
}
