/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs of scenarios as text. What `show` prints goes to standard output, what went wrong to
 * standard error; --quiet leaves out the rest. --trace prints every statement, what came of it, and
 * the fault steps that it took; --step the same, and what it changed, and waits before each.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "demo/cmd_run.h"
#include "scenario/run_text.h"
#include "scenario/writer.h"

enum { STEPS_SHOWN = 24, TEXT_BYTES = 400, ANSWER_BYTES = 64 };

/* The reporter's own. */
struct text_report {
    const struct run_session *session;
    bool waits;   /* before each statement, until somebody says "c" */
    bool printed; /* the next statement was */
};

/* --- fault steps --- */

void run_find_steps(const struct run_session *session, uint64_t *first, uint64_t *end)
{
    *first = 0;
    *end = 0;
    if (session->options->host)
        return;
    emulated_steps(session->backend, first, end);
    if (*end - *first > EVENT_RING_RECORDS)
        *first = *end - EVENT_RING_RECORDS;
}

const struct event_record *run_step(const struct run_session *session, uint64_t sequence)
{
    const struct event_log *events = &emulated_machine(session->backend)->events;

    return &events->ring[sequence % EVENT_RING_RECORDS];
}

bool run_step_is_whole(const struct event_record *step)
{
    return step->event == EVENT_FORK || step->event == EVENT_EXEC || step->event == EVENT_EXIT;
}

static void print_steps(const struct run_session *session)
{
    uint64_t first;
    uint64_t end;

    run_find_steps(session, &first, &end);
    for (uint64_t i = first; i < end && i < first + STEPS_SHOWN; i++) {
        const struct event_record *step = run_step(session, i);

        if (run_step_is_whole(step))
            printf("        %s", event_names[step->event]);
        else
            printf("        %-16s 0x%" PRIx64, event_names[step->event], step->va);
        if (step->pfn != PFN_NONE)
            printf(" frame %" PRIu32, step->pfn);
        putchar('\n');
    }
    if (end - first > STEPS_SHOWN)
        printf("        ... and %" PRIu64 " more\n", end - first - STEPS_SHOWN);
}

/* --- one statement --- */

static void print_statement(const struct text_report *report,
                            const struct scenario_operation *operation)
{
    printf("%5" PRIu32 "  ", operation->line);
    operation_write(report->session->scenario, operation, stdout);
    putchar('\n');
}

/* Where nothing else tells what is shown. */
static void before_show(void *context, const struct scenario_operation *operation)
{
    const struct text_report *report = context;

    if (operation->verb != VERB_SHOW)
        return;
    fputs("# ", stdout);
    operation_write(report->session->scenario, operation, stdout);
    putchar('\n');
}

static void before(void *context, const struct scenario_operation *operation)
{
    struct text_report *report = context;

    if (!report->printed)
        print_statement(report, operation);
    report->printed = false;
}

static void after(void *context, const struct scenario_operation *operation,
                  const struct scenario_outcome *outcome)
{
    const struct text_report *report = context;
    const struct run_session *session = report->session;
    char buffer[TEXT_BYTES];
    struct run_text text = run_text_in(buffer, sizeof(buffer));

    run_text_add_outcome(&text, session->scenario, operation, outcome);
    printf("      -> %s\n", buffer);
    print_steps(session);
    if (session->options->step)
        session->backend->ops->show(session->backend, SHOW_DIFF, SCENARIO_NOBODY, stdout);
}

static void failed(void *context, const struct scenario_operation *operation, const char *what)
{
    (void)context;
    (void)operation;
    fflush(stdout);
    fprintf(stderr, "%s\n", what);
}

/* Asks before a statement: Enter goes on, c goes on to the end, q ends the run. */
static bool goes_on(void *context, const struct scenario_operation *operation)
{
    struct text_report *report = context;
    char answer[ANSWER_BYTES];

    if (!report->waits)
        return true;
    print_statement(report, operation);
    fputs("[Enter: do it, c: do all, q: quit] ", stdout);
    fflush(stdout);
    if (fgets(answer, sizeof(answer), stdin) == NULL || answer[0] == 'q') {
        putchar('\n');
        return false;
    }
    report->waits = answer[0] != 'c';
    report->printed = true;
    return true;
}

/* --- the whole --- */

void run_as_text(const struct run_session *session, struct scenario_result *result)
{
    const struct run_options *options = session->options;
    bool tells_all = options->format == RUN_TRACE || options->step;
    struct text_report text = {.session = session, .waits = options->step};
    struct scenario_report report = {.goes_on = options->step ? goes_on : NULL,
                                     .before = tells_all ? before : before_show,
                                     .after = tells_all ? after : NULL,
                                     .failed = failed,
                                     .context = &text,
                                     .shows = stdout,
                                     .checks = !options->no_checks};

    if (options->format == RUN_QUIET) {
        report.before = NULL;
        report.shows = NULL;
    }
    scenario_run(session->scenario, session->backend, &report, result);
}

static void print_held(const struct run_session *session, const struct scenario_result *result)
{
    printf("%s: %severy expectation held; %zu operation%s (%s)\n", session->scenario->path,
           result->stopped ? "stopped; so far " : "", result->done, result->done == 1 ? "" : "s",
           session->place);
    if (result->skipped > 0)
        printf("%zu expectation%s left out: only an emulated kernel can tell\n", result->skipped,
               result->skipped == 1 ? " was" : "s were");
}

void run_conclude_text(const struct run_session *session, const struct scenario_result *result,
                       const char *lost)
{
    bool is_quiet = session->options->format == RUN_QUIET;

    fflush(stdout);
    if (result->end == SCENARIO_SKIPPED)
        fprintf(stderr, "skipped: %s\n", result->why);
    if (result->end == SCENARIO_BROKEN && lost[0] == '\0')
        fprintf(stderr, "%s\n", result->why);
    if (lost[0] != '\0')
        fprintf(stderr, "%s: %s\n", session->scenario->path, lost);
    if (result->end == SCENARIO_FAILED && !is_quiet)
        fprintf(stderr, "%s: %zu of %zu operations did not go as expected (%s)\n",
                session->scenario->path, result->failures, result->done, session->place);
    if (result->end == SCENARIO_HELD && !is_quiet)
        print_held(session, result);
}
