/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writer's statements; writer_parts.h has the rest. */
#include "scenario/writer.h"

#include "scenario/writer_parts.h"

void operation_write(const struct scenario *scenario, const struct scenario_operation *operation,
                     FILE *stream)
{
    const struct writer writer = {.scenario = scenario, .stream = stream};
    const struct verb_description *description = &verb_descriptions[operation->verb];

    if (description->has_task)
        fprintf(stream, "%s ", scenario->tasks.names[operation->task]);
    fputs(description->word, stream);
    writer_arguments(&writer, operation);
    if (operation->fail_after != 0)
        fprintf(stream, " fail=%u", operation->fail_after);
    writer_answers(&writer, operation);
}

void scenario_write(const struct scenario *scenario, FILE *stream)
{
    for (size_t i = 0; i < scenario->count; i++) {
        operation_write(scenario, &scenario->operations[i], stream);
        putc('\n', stream);
    }
}
