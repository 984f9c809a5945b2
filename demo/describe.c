/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Linux says about itself and the processor: uname(2), sysconf(3), /proc/cpuinfo. */
#include "demo/describe.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct description {
    char processor[128]; /* "" when the host does not tell */
    struct utsname system;
    long processors;
    uint64_t memory_bytes;
};

/* The value of a line "key : value", cut at its end; NULL if the line is another key's. */
static char *value_of(char *line, const char *key)
{
    char *colon = strchr(line, ':');

    if (strncmp(line, key, strlen(key)) != 0 || colon == NULL)
        return NULL;
    colon[1 + strcspn(colon + 1, "\n")] = '\0';
    return colon + 1 + strspn(colon + 1, " \t");
}

static void read_processor(char *processor, size_t bytes)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[512];
    const char *value = NULL;

    processor[0] = '\0';
    if (file == NULL)
        return;
    while (value == NULL && fgets(line, sizeof(line), file) != NULL)
        value = value_of(line, "model name");
    if (value != NULL)
        snprintf(processor, bytes, "%.*s", (int)bytes - 1, value);
    (void)fclose(file);
}

static void describe(struct description *description)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);

    *description = (struct description){.processors = sysconf(_SC_NPROCESSORS_ONLN)};
    read_processor(description->processor, sizeof(description->processor));
    if (uname(&description->system) != 0)
        description->system = (struct utsname){.sysname = "unknown"};
    if (pages > 0 && page_bytes > 0)
        description->memory_bytes = (uint64_t)pages * (uint64_t)page_bytes;
}

static json_t *text_or_null(const char *text)
{
    json_t *string = text[0] != '\0' ? json_string(text) : NULL;

    return string != NULL ? string : json_null();
}

json_t *describe_machine(void)
{
    struct description description;
    char kernel[sizeof(description.system.sysname) + sizeof(description.system.release) + 1];

    describe(&description);
    snprintf(kernel, sizeof(kernel), "%s %s", description.system.sysname,
             description.system.release);
    return json_pack("{s:o, s:I, s:I, s:o, s:o}", "processor", text_or_null(description.processor),
                     "processors", (json_int_t)description.processors, "memory_bytes",
                     (json_int_t)description.memory_bytes, "kernel", text_or_null(kernel),
                     "architecture", text_or_null(description.system.machine));
}

void describe_machine_line(char *text, size_t text_bytes)
{
    struct description description;

    describe(&description);
    snprintf(text, text_bytes, "%s, %ld processors, %llu MiB, %s %s",
             description.processor[0] != '\0' ? description.processor : description.system.machine,
             description.processors, (unsigned long long)(description.memory_bytes >> 20),
             description.system.sysname, description.system.release);
}
