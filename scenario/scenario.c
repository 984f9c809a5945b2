/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scenarios and their names; operation.h has the terms. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/backend.h"

enum { FIRST_OPERATIONS = 64, FIRST_NAMES = 8 };

struct scenario_memory {
    struct scenario_memory *next;
    max_align_t data[];
};

const struct verb_description verb_descriptions[VERB_COUNT] = {
#define SUBJECT_TASK true
#define SUBJECT_NONE false
#define VERB(name, word, subject, form, meaning) {word, SUBJECT_##subject, form, meaning},
#include "scenario/verb.def"
#undef VERB
};

int scenario_init(struct scenario *scenario, const char *path)
{
    *scenario = (struct scenario){.path = strdup(path)};
    return scenario->path == NULL ? -ENOMEM : 0;
}

void scenario_free(struct scenario *scenario)
{
    while (scenario->memory != NULL) {
        struct scenario_memory *next = scenario->memory->next;

        free(scenario->memory);
        scenario->memory = next;
    }
    free(scenario->tasks.names);
    free(scenario->regions.names);
    free(scenario->files.names);
    free(scenario->pins.names);
    free(scenario->operations);
    free(scenario->path);
    *scenario = (struct scenario){0};
}

void *scenario_allocate(struct scenario *scenario, size_t bytes)
{
    struct scenario_memory *block = NULL;

    if (bytes <= SIZE_MAX - sizeof(*block))
        block = calloc(1, sizeof(*block) + bytes);
    if (block == NULL)
        return NULL;
    block->next = scenario->memory;
    scenario->memory = block;
    return block->data;
}

int scenario_add(struct scenario *scenario, const struct scenario_operation *operation)
{
    if (scenario->count == scenario->capacity) {
        size_t capacity = scenario->capacity == 0 ? FIRST_OPERATIONS : 2 * scenario->capacity;
        void *grown = reallocarray(scenario->operations, capacity, sizeof(*operation));

        if (grown == NULL)
            return -ENOMEM;
        scenario->operations = grown;
        scenario->capacity = capacity;
    }
    scenario->operations[scenario->count++] = *operation;
    return 0;
}

int scenario_find_name(const struct scenario_names *names, const char *name)
{
    for (unsigned i = 0; i < names->count; i++) {
        if (strcmp(names->names[i], name) == 0)
            return (int)i;
    }
    return -ENOENT;
}

int scenario_name(struct scenario_names *names, const char *name, unsigned most)
{
    int found = scenario_find_name(names, name);

    if (found >= 0)
        return found;
    if (names->count == most || strlen(name) >= SCENARIO_NAME_BYTES)
        return -ENOSPC;
    if (names->count == names->capacity) {
        unsigned capacity = names->capacity == 0 ? FIRST_NAMES : 2 * names->capacity;
        void *grown = reallocarray(names->names, capacity, sizeof(*names->names));

        if (grown == NULL)
            return -ENOMEM;
        names->names = grown;
        names->capacity = capacity;
    }
    memcpy(names->names[names->count], name, strlen(name) + 1);
    return (int)names->count++;
}

struct scenario_operation scenario_operation_blank(enum scenario_verb verb)
{
    return (struct scenario_operation){
        .verb = verb,
        .task = SCENARIO_NOBODY,
        .other = SCENARIO_NOBODY,
        .region = SCENARIO_NOBODY,
        .file = SCENARIO_NOBODY,
        .pin = SCENARIO_NOBODY,
    };
}

void snapshot_free(struct scenario_snapshot *snapshot)
{
    free(snapshot->vmas);
    *snapshot = (struct scenario_snapshot){0};
}

struct scenario_vma *snapshot_add(struct scenario_snapshot *snapshot)
{
    if (snapshot->count == snapshot->capacity) {
        size_t capacity = snapshot->capacity == 0 ? FIRST_NAMES : 2 * snapshot->capacity;
        void *grown = reallocarray(snapshot->vmas, capacity, sizeof(*snapshot->vmas));

        if (grown == NULL)
            return NULL;
        snapshot->vmas = grown;
        snapshot->capacity = capacity;
    }
    snapshot->vmas[snapshot->count] = (struct scenario_vma){0};
    return &snapshot->vmas[snapshot->count++];
}
