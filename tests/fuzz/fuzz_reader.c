/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a scenario: the reader takes them or says in one printable line why not; what it
 * takes is the same after writing and reading again, and is then written the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/reader.h"
#include "scenario/writer.h"
#include "tests/fuzz/target.h"
#include "tests/support/same_scenario.h"

static void fail(const char *what, const char *detail)
{
    fprintf(stderr, "%s: %s\n", what, detail);
    abort();
}

static void check_problem(const char *problem)
{
    if (strncmp(problem, "fuzz:", 5) != 0)
        fail("a problem without its place", problem);
    for (const char *c = problem; *c != '\0'; c++) {
        if (*c < ' ' || *c > '~')
            fail("a problem that cannot be printed", problem);
    }
}

static char *write_text(const struct scenario *scenario, size_t *bytes)
{
    char *text = NULL;
    FILE *stream = open_memstream(&text, bytes);

    if (stream == NULL)
        fail("open_memstream", strerror(errno));
    scenario_write(scenario, stream);
    fclose(stream);
    return text;
}

/* A line may grow when it is written and be too long then: no fault of the writer's. */
static bool has_long_line(const char *text)
{
    for (const char *end; (end = strchr(text, '\n')) != NULL; text = end + 1) {
        if (end - text > SCENARIO_LINE_BYTES)
            return true;
    }
    return false;
}

static void check_written(const struct scenario *scenario)
{
    char problem[SCENARIO_PROBLEM_BYTES];
    struct scenario again;
    size_t bytes;
    size_t at;
    char *text = write_text(scenario, &bytes);

    if (!has_long_line(text)) {
        if (scenario_read_text(&again, "fuzz", text, bytes, problem, sizeof(problem)) != 0)
            fail(problem, text);
        const char *difference = scenario_difference(scenario, &again, &at);

        if (difference != NULL)
            fail(difference, text);
        char *second = write_text(&again, &bytes);

        if (strcmp(text, second) != 0)
            fail(text, second);
        free(second);
        scenario_free(&again);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char problem[SCENARIO_PROBLEM_BYTES];
    struct scenario scenario;
    int error =
        scenario_read_text(&scenario, "fuzz", (const char *)data, size, problem, sizeof(problem));

    if (error != 0) {
        check_problem(problem);
        return 0;
    }
    check_written(&scenario);
    scenario_free(&scenario);
    return 0;
}
