/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of /proc/PID/maps and smaps. A mapping's line is
 *
 *   START-END RIGHTS OFFSET MAJOR:MINOR INODE [PATH]
 *
 * all numbers but the inode in hex; in smaps lines "Name: N kB" and others follow it, which begin
 * with a capital letter. Anonymous memory has the inode 0, shared memory has one.
 */
#include "scenario/host_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/host_layout.h"

enum { PATH_COLUMN = 73, RIGHTS_BYTES = 4, DEVICE_BYTES = 16, HEX = 16 };

struct line {
    uint64_t start;
    uint64_t end;
    char rights[RIGHTS_BYTES + 1];
    uint64_t offset_bytes;
    char device[DEVICE_BYTES];
    uint64_t inode;
    const char *path; /* in the text, with its newline; there may be none */
};

/* A number, and the character after it. */
static bool take_number(const char **text, int base, char after, uint64_t *number)
{
    char *end;

    *number = strtoull(*text, &end, base);
    if (end == *text || *end != after)
        return false;
    *text = end + 1;
    return true;
}

/* A word and the space after it. */
static bool take_word(const char **text, char *word, size_t word_bytes)
{
    size_t length = strcspn(*text, " ");

    if (length == 0 || length >= word_bytes || (*text)[length] != ' ')
        return false;
    memcpy(word, *text, length);
    word[length] = '\0';
    *text += length + 1;
    return true;
}

static bool parse_line(const char *text, struct line *line)
{
    bool parsed = take_number(&text, HEX, '-', &line->start) &&
                  take_number(&text, HEX, ' ', &line->end) &&
                  take_word(&text, line->rights, sizeof(line->rights)) &&
                  take_number(&text, HEX, ' ', &line->offset_bytes) &&
                  take_word(&text, line->device, sizeof(line->device)) &&
                  take_number(&text, 10, ' ', &line->inode);

    line->path = text + strspn(text, " ");
    return parsed && strlen(line->rights) == RIGHTS_BYTES;
}

static bool is_mapping(const char *text)
{
    return (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f');
}

/* Clips to the scenario's part and rebases: false if nothing is left. */
static bool rebase(struct line *line)
{
    if (line->end <= HOST_BIAS || line->start >= HOST_END)
        return false;
    line->start = line->start < HOST_BIAS ? 0 : line->start - HOST_BIAS;
    line->end = line->end > HOST_END ? HOST_END - HOST_BIAS : line->end - HOST_BIAS;
    return true;
}

/* One line "Name: N kB" of a mapping; most names are of no interest. */
static void add_usage(struct scenario_vma *vma, const char *text)
{
    const struct {
        const char *name;
        uint64_t *bytes;
    } fields[] = {
        {"Rss:", &vma->rss},
        {"Pss:", &vma->pss},
        {"Shared_Clean:", &vma->shared},
        {"Shared_Dirty:", &vma->shared},
        {"Private_Clean:", &vma->private},
        {"Private_Dirty:", &vma->private},
        {"Anonymous:", &vma->anonymous},
        {"Locked:", &vma->locked},
        {"Swap:", &vma->swap},
    };

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        size_t length = strlen(fields[i].name);

        if (strncmp(text, fields[i].name, length) == 0)
            *fields[i].bytes += strtoull(text + length, NULL, 10) << 10;
    }
}

static struct scenario_vma *add_mapping(struct scenario_snapshot *snapshot, const struct line *line,
                                        bool with_usage)
{
    struct scenario_vma *vma = snapshot_add(snapshot);

    if (vma == NULL)
        return NULL;
    vma->start = line->start;
    vma->end = line->end;
    memcpy(vma->rights, line->rights, sizeof(vma->rights));
    vma->offset_bytes = line->inode != 0 ? line->offset_bytes : 0;
    vma->is_file = line->inode != 0;
    vma->has_usage = with_usage;
    return vma;
}

/* A line that begins a mapping; `*vma` is where the lines after it belong, if anywhere. */
static int read_mapping(const char *text, bool with_usage, struct scenario_snapshot *snapshot,
                        struct scenario_vma **vma)
{
    struct line line;

    *vma = NULL;
    if (!parse_line(text, &line))
        return -EIO;
    if (!rebase(&line))
        return 0;
    *vma = add_mapping(snapshot, &line, with_usage);
    return *vma == NULL ? -ENOMEM : 0;
}

int host_maps_read(FILE *text, bool with_usage, struct scenario_snapshot *snapshot)
{
    struct scenario_vma *vma = NULL;
    char *line = NULL;
    size_t capacity = 0;
    int error = 0;

    while (error == 0 && getline(&line, &capacity, text) >= 0) {
        if (is_mapping(line))
            error = read_mapping(line, with_usage, snapshot, &vma);
        else if (vma != NULL)
            add_usage(vma, line);
    }
    free(line);
    return error == 0 && ferror(text) ? -EIO : error;
}

static void print_mapping(const struct line *line, FILE *stream)
{
    int length =
        fprintf(stream, "%08" PRIx64 "-%08" PRIx64 " %s %08" PRIx64 " %s %" PRIu64 " ", line->start,
                line->end, line->rights, line->offset_bytes, line->device, line->inode);

    if (*line->path != '\n' && length < PATH_COLUMN)
        fprintf(stream, "%*s", PATH_COLUMN - length, "");
    fputs(line->path, stream);
}

int host_maps_print(FILE *text, FILE *stream)
{
    bool is_inside = false;
    char *line = NULL;
    size_t capacity = 0;
    int error = 0;

    while (error == 0 && getline(&line, &capacity, text) >= 0) {
        struct line mapping;

        if (!is_mapping(line)) {
            if (is_inside)
                fputs(line, stream);
            continue;
        }
        if (!parse_line(line, &mapping)) {
            error = -EIO;
            continue;
        }
        is_inside = rebase(&mapping);
        if (is_inside)
            print_mapping(&mapping, stream);
    }
    free(line);
    return error == 0 && ferror(text) ? -EIO : error;
}
