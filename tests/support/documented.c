/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a document line by line. */
#include "tests/support/documented.h"

#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

FILE *documented_open(void)
{
    const char *root = getenv("FORKLAB_SOURCE_DIR");
    char path[PATH_BYTES];

    if (root == NULL)
        return NULL;
    snprintf(path, sizeof(path), "%s/docs/scenarios.md", root);
    return fopen(path, "r");
}

/* Goes to the line behind one that says so; false at the end. */
static bool find_line(FILE *document, const char *line)
{
    char *text = NULL;
    size_t bytes = 0;
    bool found = false;

    while (!found && getline(&text, &bytes, document) >= 0)
        found = strcmp(text, line) == 0;
    free(text);
    return found;
}

static void copy_block(FILE *document, FILE *block)
{
    char *text = NULL;
    size_t bytes = 0;

    while (getline(&text, &bytes, document) >= 0 && strcmp(text, "```\n") != 0)
        fputs(text, block);
    free(text);
}

char *documented_next(FILE *document)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *block;

    if (!find_line(document, "```scenario\n"))
        return NULL;
    block = open_memstream(&text, &bytes);
    if (block == NULL)
        return NULL;
    copy_block(document, block);
    fclose(block);
    return text;
}
