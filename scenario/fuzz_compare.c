/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two backends in lock-step.
 *
 * Each operation is asked of `one` first. Where it is unable, the other is not asked; so the less
 * able of the two comes first, and an other that is unable where the first one was not is a
 * difference like any, unless it is allowed: then nothing further is compared. Where memory is
 * short, `one` is the machine that lacks it: what it refused for want of frames is left out on the
 * other, or done there just as far; a task that died of it is killed there.
 */
#include "scenario/fuzz_compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Operations from one look at all states to the next. */
enum { LOOK_EVERY = 50 };

/* --- want of memory --- */

static bool lacked_memory(const struct fuzz_comparison *comparison, uint64_t refusals_before)
{
    const struct machine *machine = comparison->short_of_memory;

    return machine != NULL && machine->ram.refusals > refusals_before;
}

static void perform_on_other(struct fuzz_comparison *comparison,
                             const struct scenario_operation *operation)
{
    struct scenario_outcome outcome;

    comparison->other->ops->perform(comparison->other, operation, &outcome);
}

static void kill_on_other(struct fuzz_comparison *comparison, uint16_t task)
{
    struct scenario_operation kill = scenario_operation_blank(VERB_KILL);

    kill.task = task;
    kill.other = task;
    perform_on_other(comparison, &kill);
}

/* The operation as far as `bytes` of it. */
static struct scenario_operation cut_short(const struct scenario_operation *operation,
                                           uint64_t bytes)
{
    struct scenario_operation cut = *operation;

    cut.bytes = bytes;
    cut.data.bytes = bytes;
    return cut;
}

/* The task died on the way: the other's goes as far, and dies. */
static void die_alike(struct fuzz_comparison *comparison,
                      const struct scenario_operation *operation,
                      const struct scenario_outcome *one)
{
    va_t start;

    if (comparison->other->ops->resolve(comparison->other, operation->task, &operation->address,
                                        &start) &&
        one->address > start) {
        struct scenario_operation cut = cut_short(operation, one->address - start);

        perform_on_other(comparison, &cut);
    }
    kill_on_other(comparison, operation->task);
}

/* Is the break where it was asked to be? */
static bool break_stands(struct fuzz_comparison *comparison,
                         const struct scenario_operation *operation,
                         const struct scenario_outcome *one)
{
    va_t asked;

    return comparison->one->ops->resolve(comparison->one, operation->task, &operation->address,
                                         &asked) &&
           asked == one->value;
}

/*
 * What `one` did though it lacked memory, done by the other: true when that is all there is to it,
 * and the outcomes are not to be compared.
 */
static bool follow_short_of_memory(struct fuzz_comparison *comparison,
                                   const struct scenario_operation *operation,
                                   const struct scenario_outcome *one)
{
    uint64_t asked = operation->data.kind != DATA_NONE ? operation->data.bytes : operation->bytes;

    if (one->kind == OUTCOME_SIGNAL && one->signal == ABI_SIGKILL) {
        die_alike(comparison, operation, one);
        return true;
    }
    if (one->kind == OUTCOME_ERROR && one->error != EFAULT)
        return true;
    if (operation->verb == VERB_BRK)
        return !break_stands(comparison, operation, one);
    if ((operation->verb == VERB_KWRITE || operation->verb == VERB_FWRITE) &&
        one->kind == OUTCOME_DONE && one->value < asked) {
        struct scenario_operation cut = cut_short(operation, one->value);

        perform_on_other(comparison, &cut);
        return true;
    }
    return one->kind == OUTCOME_DATA && one->data_bytes < asked && operation->verb != VERB_PEEK;
}

/* --- both --- */

static bool is_over(struct fuzz_comparison *comparison, const struct backend *backend,
                    const struct scenario_outcome *outcome)
{
    return outcome->kind == OUTCOME_BROKEN &&
           !comparison_differs(comparison, "%s broke: %.200s", backend->ops->name, outcome->why);
}

bool perform_both(struct fuzz_comparison *comparison, const struct scenario_operation *operation,
                  struct scenario_outcome *one, bool *ends)
{
    struct scenario_outcome other;
    uint64_t refusals =
        comparison->short_of_memory != NULL ? comparison->short_of_memory->ram.refusals : 0;

    comparison->one->ops->perform(comparison->one, operation, one);
    if (is_over(comparison, comparison->one, one))
        return false;
    if (one->kind == OUTCOME_UNABLE || comparison->other == NULL)
        return true;
    if (lacked_memory(comparison, refusals) && follow_short_of_memory(comparison, operation, one))
        return true;
    comparison->other->ops->perform(comparison->other, operation, &other);
    if (is_over(comparison, comparison->other, &other))
        return false;
    *ends = comparison->ends_when_unable && other.kind == OUTCOME_UNABLE;
    return *ends || outcomes_agree(comparison, operation, one, &other);
}

bool are_sound(struct fuzz_comparison *comparison)
{
    struct backend *backends[] = {comparison->one, comparison->other};
    char why[SCENARIO_WHY_BYTES];

    for (unsigned i = 0; i < 2; i++) {
        if (backends[i] != NULL && !backends[i]->ops->is_sound(backends[i], why, sizeof(why)))
            return comparison_differs(comparison, "%s: %.280s", backends[i]->ops->name, why);
    }
    return true;
}

/* A look on the way. */
static bool states_agree_so_far(struct fuzz_comparison *comparison)
{
    bool usage = comparison->usage;

    comparison->usage = usage && !comparison->usage_at_end;
    bool agree = states_agree(comparison);

    comparison->usage = usage;
    return agree;
}

static bool is_about_run(const struct scenario_operation *operation)
{
    return operation->verb == VERB_SHOW || operation->verb == VERB_EXPECT ||
           operation->verb == VERB_NEEDS;
}

static bool compare_all(struct fuzz_comparison *comparison, struct touched *touched, bool *ends)
{
    const struct scenario *scenario = comparison->scenario;
    struct scenario_outcome one;

    for (size_t i = 0; i < scenario->count && !*ends; i++) {
        const struct scenario_operation *operation = &scenario->operations[i];

        if (is_about_run(operation))
            continue;
        if (!perform_both(comparison, operation, &one, ends))
            return false;
        comparison->at++;
        comparison->left_out += one.kind == OUTCOME_UNABLE;
        if (comparison->other != NULL && touched_add(touched, comparison, operation, &one) != 0)
            return comparison_differs(comparison, "memory ran out");
        if (comparison->checks && !are_sound(comparison))
            return false;
        if ((i + 1) % LOOK_EVERY == 0 && !*ends && !states_agree_so_far(comparison))
            return false;
    }
    return true;
}

bool fuzz_compare_as(struct fuzz_comparison *comparison)
{
    struct touched touched = {0};
    bool ends = false;

    comparison->at = 0;
    comparison->left_out = 0;
    bool agree = compare_all(comparison, &touched, &ends);

    if (agree && !ends)
        agree = states_agree(comparison) &&
                (comparison->other == NULL || contents_agree(comparison, &touched));
    if (agree && comparison->checks_at_end)
        agree = are_sound(comparison);
    free(touched.ranges);
    return agree;
}

bool fuzz_compare(const struct scenario *scenario, struct backend *one, struct backend *other,
                  bool checks, size_t *at, char *why, size_t why_bytes)
{
    struct fuzz_comparison comparison = {.scenario = scenario,
                                         .one = one,
                                         .other = other,
                                         .checks = checks,
                                         .checks_at_end = true,
                                         .why = why,
                                         .why_bytes = why_bytes};
    bool agree = fuzz_compare_as(&comparison);

    *at = comparison.at;
    return agree;
}
