/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runner. An expectation that does not hold is told with its place, and the run goes on where
 * it can: what follows may fail for no other reason, and says so line by line.
 *
 * The run ends early when the scenario says that it cannot run here, when the real kernel cannot be
 * made to do what an operation asks for (nothing after it could be judged), when an invariant does
 * not hold any more, and when the backend is broken.
 */
#include "scenario/run_private.h"

#include <inttypes.h>

struct runner {
    const struct scenario *scenario;
    struct backend *backend;
    const struct scenario_report *report;
    struct scenario_result *result;
    bool is_over;
};

/* path:line:column, or the operation's number where it comes from no text. */
static void add_operation_place(const struct runner *runner,
                                const struct scenario_operation *operation, struct run_text *text)
{
    const char *path = runner->scenario->path != NULL ? runner->scenario->path : "scenario";

    if (operation->line != 0)
        run_text_add(text, "%s:%" PRIu32 ":%" PRIu32 ": ", path, operation->line,
                     operation->column);
    else
        run_text_add(text, "%s: operation %zu: ", path,
                     (size_t)(operation - runner->scenario->operations) + 1);
}

static void fail(struct runner *runner, const struct scenario_operation *operation,
                 const char *what)
{
    char line[2 * SCENARIO_WHY_BYTES];
    struct run_text text = run_text_in(line, sizeof(line));

    add_operation_place(runner, operation, &text);
    run_text_add(&text, "%s", what);
    if (runner->result->failures++ == 0)
        snprintf(runner->result->why, sizeof(runner->result->why), "%.*s",
                 (int)sizeof(runner->result->why) - 1, line);
    if (runner->report->failed != NULL)
        runner->report->failed(runner->report->context, operation, line);
}

/* The run cannot go on; what failed before stays a failure. */
static void stop(struct runner *runner, const struct scenario_operation *operation,
                 enum run_end end, const char *why)
{
    struct scenario_result *result = runner->result;

    runner->is_over = true;
    if (result->failures > 0 && end == SCENARIO_SKIPPED)
        return;
    struct run_text text = run_text_in(result->why, sizeof(result->why));

    result->end = end;
    add_operation_place(runner, operation, &text);
    run_text_add(&text, "%s", why);
}

static bool is_host(struct backend *backend)
{
    const struct scenario_selector host = {.kind = SELECT_HOST};

    return backend->ops->selects(backend, &host);
}

/* --- operations --- */

/* Is the one who is to do it there? */
static bool check_subject(struct runner *runner, const struct scenario_operation *operation)
{
    char what[SCENARIO_WHY_BYTES];
    const struct scenario_names *names = &runner->scenario->tasks;
    uint16_t task = operation->task;

    if (task == SCENARIO_NOBODY || operation->verb == VERB_TASK ||
        runner->backend->ops->is_alive(runner->backend, task))
        return true;
    snprintf(what, sizeof(what), "%s has ended, or never was",
             task < names->count ? names->names[task] : "the task");
    fail(runner, operation, what);
    return false;
}

static void judge(struct runner *runner, const struct scenario_operation *operation,
                  const struct scenario_outcome *outcome)
{
    char what[SCENARIO_WHY_BYTES];

    if (outcome->kind == OUTCOME_BROKEN)
        stop(runner, operation, SCENARIO_BROKEN, outcome->why);
    else if (outcome->kind == OUTCOME_UNABLE && is_host(runner->backend))
        stop(runner, operation, SCENARIO_SKIPPED, outcome->why);
    else if (!answers_match(runner->scenario, runner->backend, operation, outcome, what,
                            sizeof(what)))
        fail(runner, operation, what);
}

static void check_soundness(struct runner *runner, const struct scenario_operation *operation)
{
    char why[SCENARIO_WHY_BYTES];

    if (!runner->report->checks || runner->is_over ||
        runner->backend->ops->is_sound(runner->backend, why, sizeof(why)))
        return;
    fail(runner, operation, why);
    runner->is_over = true;
}

static void perform(struct runner *runner, const struct scenario_operation *operation)
{
    const struct scenario_report *report = runner->report;
    struct scenario_outcome outcome;

    if (!check_subject(runner, operation))
        return;
    runner->backend->ops->perform(runner->backend, operation, &outcome);
    runner->result->done++;
    if (report->after != NULL)
        report->after(report->context, operation, &outcome);
    judge(runner, operation, &outcome);
    check_soundness(runner, operation);
}

/* --- statements about the run --- */

static void show(struct runner *runner, const struct scenario_operation *operation)
{
    if (!check_subject(runner, operation) || runner->report->shows == NULL)
        return;
    runner->backend->ops->show(runner->backend, operation->show, operation->task,
                               runner->report->shows);
}

static void expect(struct runner *runner, const struct scenario_operation *operation)
{
    char what[SCENARIO_WHY_BYTES];
    enum expect_verdict verdict;

    if (!check_subject(runner, operation))
        return;
    verdict = expect_judge(runner->scenario, runner->backend, operation, what, sizeof(what));
    if (verdict == EXPECT_FAILS)
        fail(runner, operation, what);
    if (verdict == EXPECT_UNKNOWN)
        runner->result->skipped++;
}

static void need(struct runner *runner, const struct scenario_operation *operation)
{
    char why[SCENARIO_WHY_BYTES] = "";

    if (!runner->backend->ops->meets(runner->backend, operation, why, sizeof(why)))
        stop(runner, operation, SCENARIO_SKIPPED, why);
}

static void run_statement(struct runner *runner, const struct scenario_operation *operation)
{
    const struct scenario_report *report = runner->report;

    if (report->goes_on != NULL && !report->goes_on(report->context, operation)) {
        runner->is_over = true;
        runner->result->stopped = true;
        return;
    }
    if (report->before != NULL)
        report->before(report->context, operation);
    switch (operation->verb) {
    case VERB_SHOW:
        show(runner, operation);
        break;
    case VERB_EXPECT:
        expect(runner, operation);
        break;
    case VERB_NEEDS:
        need(runner, operation);
        break;
    default:
        perform(runner, operation);
        break;
    }
}

void scenario_run(const struct scenario *scenario, struct backend *backend,
                  const struct scenario_report *report, struct scenario_result *result)
{
    struct runner runner = {
        .scenario = scenario, .backend = backend, .report = report, .result = result};

    *result = (struct scenario_result){.end = SCENARIO_HELD};
    backend->task_names = &scenario->tasks;
    backend->file_names = &scenario->files;
    for (size_t i = 0; i < scenario->count && !runner.is_over; i++)
        run_statement(&runner, &scenario->operations[i]);
    if (result->failures > 0 && result->end != SCENARIO_BROKEN)
        result->end = SCENARIO_FAILED;
}
