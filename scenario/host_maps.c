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

enum { PATH_COLUMN = 73 };

struct line {
    uint64_t start;
    uint64_t end;
    char rights[5];
    uint64_t offset_bytes;
    char device[16];
    uint64_t inode;
    int path; /* where it begins in the text; at the end if there is none */
};

static bool parse_line(const char *text, struct line *line)
{
    line->path = 0;
    return sscanf(text, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %15s %" SCNu64 " %n", &line->start,
                  &line->end, line->rights, &line->offset_bytes, line->device, &line->inode,
                  &line->path) == 6 &&
           strlen(line->rights) == 4 && line->path > 0;
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

static void print_mapping(const struct line *line, const char *path, FILE *stream)
{
    int length =
        fprintf(stream, "%08" PRIx64 "-%08" PRIx64 " %s %08" PRIx64 " %s %" PRIu64 " ", line->start,
                line->end, line->rights, line->offset_bytes, line->device, line->inode);

    if (*path != '\n' && *path != '\0' && length < PATH_COLUMN)
        fprintf(stream, "%*s", PATH_COLUMN - length, "");
    fprintf(stream, "%s%s", path, strchr(path, '\n') == NULL ? "\n" : "");
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
            print_mapping(&mapping, line + mapping.path, stream);
    }
    free(line);
    return error == 0 && ferror(text) ? -EIO : error;
}
