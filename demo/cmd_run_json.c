/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run as one JSON object. It grows while the scenario runs; whatever cannot be added for want of
 * memory makes the whole fail, so that half a report never passes for a whole one.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demo/cmd_run.h"
#include "demo/describe.h"
#include "scenario/run_text.h"
#include "scenario/writer.h"
#include "version.h"

enum { TEXT_BYTES = 400 };

struct run_json {
    const struct run_session *session;
    json_t *operations;
    json_t *failures;
    char *shown; /* what SHOW printed */
    size_t shown_bytes;
    FILE *shows;
    bool failed;
};

/* json_array_append_new() takes the reference, and fails when it is NULL. */
static void append(struct run_json *json, json_t *list, json_t *item)
{
    if (json_array_append_new(list, item) != 0)
        json->failed = true;
}

/* Text with a path in it, which may hold any bytes: what is not UTF-8 is told by '?'. */
static json_t *path_text_json(const char *text)
{
    json_t *string = json_string(text);
    char *copy = string == NULL ? strdup(text) : NULL;

    if (copy == NULL)
        return string;
    for (char *place = copy; *place != '\0'; place++) {
        if ((*place & 0x80) != 0)
            *place = '?';
    }
    string = json_string(copy);
    free(copy);
    return string;
}

static char *statement_text(const struct run_json *json, const struct scenario_operation *operation)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    if (stream == NULL)
        return NULL;
    operation_write(json->session->scenario, operation, stream);
    if (fclose(stream) == 0)
        return text;
    free(text);
    return NULL;
}

static json_t *step_json(const struct event_record *step)
{
    return json_pack("{s:s, s:o, s:o}", "step", event_names[step->event], "address",
                     run_step_is_whole(step) ? json_null() : json_integer((json_int_t)step->va),
                     "frame", step->pfn != PFN_NONE ? json_integer(step->pfn) : json_null());
}

static json_t *steps_json(struct run_json *json)
{
    json_t *list = json_array();
    uint64_t first;
    uint64_t end;

    run_find_steps(json->session, &first, &end);
    for (uint64_t i = first; list != NULL && i < end; i++)
        append(json, list, step_json(run_step(json->session, i)));
    return list;
}

/* Bytes that are no text are not JSON's: the outcome is told in the words of the language. */
static void after(void *context, const struct scenario_operation *operation,
                  const struct scenario_outcome *outcome)
{
    struct run_json *json = context;
    char buffer[TEXT_BYTES];
    struct run_text text = run_text_in(buffer, sizeof(buffer));
    char *statement = statement_text(json, operation);

    run_text_add_outcome(&text, json->session->scenario, operation, outcome);
    append(json, json->operations,
           json_pack("{s:i, s:s, s:s, s:I, s:o}", "line", (int)operation->line, "statement",
                     statement != NULL ? statement : "", "outcome", buffer, "faults",
                     (json_int_t)outcome->faults, "steps", steps_json(json)));
    json->failed = json->failed || statement == NULL;
    free(statement);
}

static void failed(void *context, const struct scenario_operation *operation, const char *what)
{
    struct run_json *json = context;

    append(json, json->failures,
           json_pack("{s:i, s:i, s:o}", "line", (int)operation->line, "column",
                     (int)operation->column, "what", path_text_json(what)));
}

/* --- the whole --- */

static void free_json(struct run_json *json)
{
    if (json->shows != NULL)
        (void)fclose(json->shows);
    free(json->shown);
    json_decref(json->operations);
    json_decref(json->failures);
    free(json);
}

int run_as_json(const struct run_session *session, struct run_json **json,
                struct scenario_result *result)
{
    struct run_json *made = calloc(1, sizeof(*made));

    *result = (struct scenario_result){.end = SCENARIO_BROKEN};
    if (made == NULL)
        return -ENOMEM;
    made->session = session;
    made->operations = json_array();
    made->failures = json_array();
    made->shows = open_memstream(&made->shown, &made->shown_bytes);
    if (made->operations == NULL || made->failures == NULL || made->shows == NULL) {
        free_json(made);
        return -ENOMEM;
    }
    struct scenario_report report = {.after = after,
                                     .failed = failed,
                                     .context = made,
                                     .shows = made->shows,
                                     .checks = !session->options->no_checks};

    scenario_run(session->scenario, session->backend, &report, result);
    *json = made;
    return 0;
}

static json_t *whole_json(const struct run_json *json, const struct scenario_result *result,
                          const char *lost)
{
    static const char *const ends[] = {[SCENARIO_HELD] = "held",
                                       [SCENARIO_FAILED] = "failed",
                                       [SCENARIO_SKIPPED] = "skipped",
                                       [SCENARIO_BROKEN] = "broken"};
    const struct run_options *options = json->session->options;

    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:s, s:I, s:s, s:o, s:s, s:I, s:I, s:O, s:O, s:s}",
                     "schema", "forklab-run-1", "version", FORKLAB_VERSION, "commit",
                     FORKLAB_COMMIT, "machine", describe_machine(), "path",
                     path_text_json(json->session->scenario->path), "place", json->session->place,
                     "seed", (json_int_t)options->seed, "end", ends[result->end], "why",
                     path_text_json(result->why), "lost", lost, "done", (json_int_t)result->done,
                     "left_out", (json_int_t)result->skipped, "operations", json->operations,
                     "failures", json->failures, "shown", json->shown);
}

int run_conclude_json(const struct run_session *session, struct run_json *json,
                      const struct scenario_result *result, const char *lost)
{
    bool complete = fflush(json->shows) == 0 && !json->failed;
    json_t *whole = complete ? whole_json(json, result, lost) : NULL;

    (void)session;
    free_json(json);
    if (whole == NULL)
        return -ENOMEM;
    /* What standard output does not take is told when it is closed. */
    (void)json_dumpf(whole, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(whole);
    return 0;
}
