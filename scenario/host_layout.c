/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fills a process's address space but for the scenario's part, and moves its heap there;
 * host_layout.h says why.
 *
 * Below the part lies a page of shared memory, which merges with nothing that a scenario maps.
 * Above it lies a mapping that would grow downwards into the gap if it were not larger than a stack
 * may be: an access there is one to unmapped memory. A megabyte below the real stack stays free,
 * too, and the kernel gives it to nobody else.
 */
#include "scenario/host_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scenario/emulated.h"

#define HOST_PAGE_BYTES ((uint64_t)4096)
#define LOWEST_MAPPING ((uint64_t)64 << 10)
#define HIGHEST_MAPPING (HOST_USER_TOP - HOST_PAGE_BYTES)
#define ROOF_BYTES (2 * HOST_MOST_STACK_BYTES)

enum { MAPS_BYTES = 512 << 10, STAT_BYTES = 1024, STAT_FIELDS = 52 };

struct layout {
    char *problem;
    size_t problem_bytes;
};

static int fail(const struct layout *layout, int error, const char *what)
{
    snprintf(layout->problem, layout->problem_bytes, "%s: %s", what, strerror(-error));
    return error;
}

static void *map_nothing(uint64_t start, uint64_t bytes, int flags)
{
    return mmap((void *)start, bytes, PROT_NONE,
                flags | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
}

static bool fill(uint64_t start, uint64_t end)
{
    return start >= end || map_nothing(start, end - start, MAP_PRIVATE) != MAP_FAILED ||
           start == LOWEST_MAPPING; /* the host may want more left free at the bottom */
}

/* Fills a gap between two mappings, without the scenario's part. */
static bool fill_gap(uint64_t start, uint64_t end)
{
    uint64_t below_end = end < HOST_BIAS ? end : HOST_BIAS;
    uint64_t above_start = start > HOST_END ? start : HOST_END;

    return fill(start, below_end) && fill(above_start, end);
}

static int put_fences(const struct layout *layout)
{
    if (map_nothing(HOST_END, ROOF_BYTES, MAP_PRIVATE | MAP_GROWSDOWN) == MAP_FAILED ||
        map_nothing(HOST_BIAS - HOST_PAGE_BYTES, HOST_PAGE_BYTES, MAP_SHARED) == MAP_FAILED)
        return fail(layout, -EOPNOTSUPP, "the place of the scenario's memory is taken");
    return 0;
}

/* Goes along the lines of /proc/self/maps. */
static int fill_gaps(const struct layout *layout, char *maps)
{
    uint64_t free_from = LOWEST_MAPPING;
    char *rest = NULL;

    for (char *line = strtok_r(maps, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *after;
        uint64_t start = strtoull(line, &after, 16);
        uint64_t end = strtoull(after + 1, NULL, 16);

        if (start >= HIGHEST_MAPPING)
            break;
        if (start < HOST_END && end > HOST_BIAS)
            return fail(layout, -EOPNOTSUPP, "the place of the scenario's memory is in use");
        uint64_t room = strstr(line, "[stack]") != NULL ? HOST_GAP_BYTES : 0;

        if (!fill_gap(free_from, start - room))
            return fail(layout, -errno, "the address space cannot be filled");
        free_from = end;
    }
    if (!fill_gap(free_from, HIGHEST_MAPPING))
        return fail(layout, -errno, "the address space cannot be filled");
    return 0;
}

bool host_proc_read(const char *path, char *text, size_t text_bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    size_t done = 0;
    ssize_t bytes = -1;

    if (file < 0)
        return false;
    while (done < text_bytes) {
        bytes = read(file, text + done, text_bytes - done);
        if (bytes <= 0)
            break;
        done += (size_t)bytes;
    }
    (void)close(file);
    if (bytes != 0)
        return false;
    text[done] = '\0';
    return true;
}

/* The numbers of /proc/self/stat by their place in proc(5). */
static bool read_stat(uint64_t *fields)
{
    char text[STAT_BYTES];
    char *rest = NULL;

    if (!host_proc_read("/proc/self/stat", text, sizeof(text)))
        return false;
    char *after_name = strrchr(text, ')');

    if (after_name == NULL)
        return false;
    unsigned field = 3;

    for (char *word = strtok_r(after_name + 1, " ", &rest); word != NULL && field < STAT_FIELDS;
         word = strtok_r(NULL, " ", &rest))
        fields[field++] = strtoull(word, NULL, 10);
    return field == STAT_FIELDS;
}

/* The heap is wherever the process says that it is; the rest stays as it was. */
static int move_heap(const struct layout *layout)
{
    uint64_t fields[STAT_FIELDS];
    uint64_t heap = HOST_BIAS + SCENARIO_HEAP_START;

    if (!read_stat(fields))
        return fail(layout, -EOPNOTSUPP, "/proc/self/stat cannot be read");
    struct prctl_mm_map map = {
        .start_code = fields[26],
        .end_code = fields[27],
        .start_stack = fields[28],
        .start_data = fields[45],
        .end_data = fields[46],
        .start_brk = heap,
        .brk = heap,
        .arg_start = fields[48],
        .arg_end = fields[49],
        .env_start = fields[50],
        .env_end = fields[51],
        .exe_fd = (uint32_t)-1,
    };

    if (prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) != 0)
        return fail(layout, -EOPNOTSUPP, "the host does not let a program place its heap");
    return 0;
}

/* Does the kernel place a mapping where an emulated one would? */
static int probe(const struct layout *layout)
{
    long at =
        syscall(SYS_mmap, NULL, HOST_PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == -1)
        return fail(layout, -errno, "nothing can be mapped");
    (void)syscall(SYS_munmap, at, HOST_PAGE_BYTES);
    if ((uint64_t)at != HOST_LINE - HOST_PAGE_BYTES)
        return fail(layout, -EOPNOTSUPP, "the host does not place mappings from the top downwards");
    return 0;
}

int host_layout_prepare(char *problem, size_t problem_bytes)
{
    static char maps[MAPS_BYTES];
    const struct layout layout = {.problem = problem, .problem_bytes = problem_bytes};
    int error = put_fences(&layout);

    if (error == 0 && !host_proc_read("/proc/self/maps", maps, sizeof(maps)))
        error = fail(&layout, -EOPNOTSUPP, "/proc/self/maps cannot be read");
    if (error == 0)
        error = fill_gaps(&layout, maps);
    if (error == 0)
        error = move_heap(&layout);
    return error != 0 ? error : probe(&layout);
}
