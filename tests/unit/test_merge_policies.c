/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging case by case: what each policy makes of the same situations, and the reasons of what it
 * refuses. test_merge has the long list for today's Linux.
 *
 * The eight cases are those that Linux numbers before vma_merge(): P is the mapping before, N the
 * one after, A what is mapped or changes its rights.
 *
 *   1  PPAANN -> one      2  PPAA.. -> P grows     3  ..AANN -> N grows
 *   4  PPPANN: a part of P becomes N's             5  PPANNN: a part of N becomes P's
 *   6  PPAANN, A mapped already -> one    7  PPAA, A mapped already -> P    8  AANN the same -> N
 */
#include <string.h>

#include "tests/support/merge_steps.h"

struct policy_row {
    const char *name;
    const char *kernel;
    const char *steps;
    const char *vmas;
    const char *counted; /* events and how often, of the last steps: after the "|" */
};

/* clang-format off */
static const struct policy_row rows[] = {
    /* 2.4.9: new private anonymous memory lengthens what lies below it; nothing else. */
    {"2.4.9: case 2", "2.4.9", "map 0 2 rw | map 2 2 rw",
     "aaaa........ a:rw-p", "merged-previous 1"},
    {"2.4.9: case 1, upper left", "2.4.9", "map 0 2 rw; map 4 2 rw | map 2 2 rw",
     "aaaabb...... a:rw-p b:rw-p", "merged-previous 1 merge-refused-side 1"},
    {"2.4.9: case 3, not", "2.4.9", "map 4 2 rw | map 2 2 rw",
     "..aabb...... a:rw-p b:rw-p", "merge-refused-side 1"},
    {"2.4.9: a changed one stays", "2.4.9", "map 0 2 rw; map 2 2 r | protect 2 2 rw",
     "aabb........ a:rw-p b:rw-p", ""},
    {"2.4.9: no file", "2.4.9", "file 0 2 rw 3 | file 2 2 rw 5",
     "aabb........ a:rw-p b:rw-p", "merge-refused-file 1"},

    /* mmap-rb-4: private anonymous memory, on every side. */
    {"rb-4: case 1", "2.4.9-mmap-rb-4", "map 0 2 rw; map 4 2 rw | map 2 2 rw",
     "aaaaaa...... a:rw-p", "merged-both 1"},
    {"rb-4: case 2", "2.4.9-mmap-rb-4", "map 0 2 rw | map 2 2 rw",
     "aaaa........ a:rw-p", "merged-previous 1"},
    {"rb-4: case 3", "2.4.9-mmap-rb-4", "map 4 2 rw | map 2 2 rw",
     "..aaaa...... a:rw-p", "merged-next 1"},
    {"rb-4: case 4", "2.4.9-mmap-rb-4", "map 0 4 rw; map 4 2 r | protect 3 1 r",
     "aaabbb...... a:rw-p b:r--p", "merged-next 1"},
    {"rb-4: case 5", "2.4.9-mmap-rb-4", "map 0 2 rw; map 2 4 r | protect 2 1 rw",
     "aaabbb...... a:rw-p b:r--p", "merged-previous 1"},
    {"rb-4: case 6", "2.4.9-mmap-rb-4", "map 0 2 rw; map 2 2 r; map 4 2 rw | protect 2 2 rw",
     "aaaaaa...... a:rw-p", "merged-both 1"},
    {"rb-4: case 7", "2.4.9-mmap-rb-4", "map 0 2 rw; map 2 2 r | protect 2 2 rw",
     "aaaa........ a:rw-p", "merged-previous 1"},
    {"rb-4: case 8", "2.4.9-mmap-rb-4", "map 2 2 r; map 4 2 rw | protect 2 2 rw",
     "..aaaa...... a:rw-p", "merged-next 1"},
    {"rb-4: other rights", "2.4.9-mmap-rb-4", "map 0 2 r | map 2 2 rw",
     "aabb........ a:r--p b:rw-p", "merge-refused-protection 1"},
    {"rb-4: other flags", "2.4.9-mmap-rb-4", "map 0 2 rw | map 2 2 rw locked",
     "aabb........ a:rw-p b:rw-p", "merge-refused-flags 1"},
    {"rb-4: written or not, moved or not", "2.4.9-mmap-rb-4",
     "map 0 2 rw; write 0; map 6 2 rw; write 6 | move 6 2 2",
     "aaaa........ a:rw-p", "merged-previous 1"},
    {"rb-4: no file", "2.4.9-mmap-rb-4", "file 0 2 rw 3 | file 2 2 rw 5",
     "aabb........ a:rw-p b:rw-p", "merge-refused-file 1"},

    /* 2.6.28: files too; families equal or missing, and one for a fork. */
    {"2.6.28: case 1 of a file", "2.6.28", "file 0 2 rw 3; file 4 2 rw 7 | file 2 2 rw 5",
     "aaaaaa...... a:rw-p", "merged-both 1"},
    {"2.6.28: another page of the file", "2.6.28", "file 0 2 rw 3 | file 2 2 rw 6",
     "aabb........ a:rw-p b:rw-p", "merge-refused-offset 1"},
    {"2.6.28: a file and none", "2.6.28", "map 0 2 rw | file 2 2 rw 2",
     "aabb........ a:rw-p b:rw-p", "merge-refused-object 1"},
    {"2.6.28: two families", "2.6.28", "map 0 2 rw; write 0; map 4 2 rw; write 4 | map 2 2 rw",
     "aaaabb...... a:rw-p b:rw-p", "merged-previous 1 merge-refused-family 1"},
    {"2.6.28: through a fork", "2.6.28", "map 0 2 rw; write 0; fork | C map 2 2 rw",
     "aa.......... a:rw-p", "merged-previous 1"},
    {"2.6.28: written joins unwritten", "2.6.28",
     "map 0 2 rwx; map 2 2 rw; write 0 | protect 0 2 rw",
     "aaaa........ a:rw-p", "merged-next 1"},

    /* 4.x: not through a fork, and not a written range with an unwritten neighbour. */
    {"4.x: case 1", "4.x", "map 0 2 rw; map 4 2 rw | map 2 2 rw",
     "aaaaaa...... a:rw-p", "merged-both 1"},
    {"4.x: through a fork", "4.x", "map 0 2 rw; write 0; fork | C map 2 2 rw",
     "aa.......... a:rw-p", "merge-refused-fork 1"},
    {"4.x: unwritten joins written", "4.x", "map 0 2 rw; write 0 | map 2 2 rw",
     "aaaa........ a:rw-p", "merged-previous 1"},
    {"4.x: written joins no unwritten", "4.x", "map 0 2 rwx; map 2 2 rw; write 0 | protect 0 2 rw",
     "aabb........ a:rw-p b:rw-p", "merge-refused-family 1"},

    /* today's */
    {"modern: written joins unwritten", "modern",
     "map 0 2 rwx; map 2 2 rw; write 0 | protect 0 2 rw",
     "aaaa........ a:rw-p", "merged-next 1"},
    {"modern: through a fork", "modern", "map 0 2 rw; write 0; fork | C map 2 2 rw",
     "aa.......... a:rw-p", "merge-refused-fork 1"},
    {"modern: two families", "modern", "map 0 2 rw; write 0; map 4 2 rw; write 4 | map 2 2 rw",
     "aaaabb...... a:rw-p b:rw-p", "merged-previous 1 merge-refused-family 1"},
    {"modern: moved here, numbered there", "modern",
     "map 0 2 rw; write 0; map 6 2 rw; write 6 | move 6 2 2",
     "aabb........ a:rw-p b:rw-p", "merge-refused-offset 1"},

    /* netbsd-1-6: what is mapped lengthens the entry below, unless its amap is shared. */
    {"1-6: the entry below", "netbsd-1-6", "map 0 2 rw | map 2 2 rw",
     "aaaa........ a:rw-p", "merged-previous 1"},
    {"1-6: with an amap, which grows", "netbsd-1-6", "map 0 2 rw; write 0 | map 2 2 rw",
     "aaaa........ a:rw-p", "merged-previous 1 amap-slots 2"},
    {"1-6: not the entry above", "netbsd-1-6", "map 4 2 rw | map 2 2 rw",
     "..aabb...... a:rw-p b:rw-p", "merge-refused-side 1"},
    {"1-6: a forked amap", "netbsd-1-6", "map 0 2 rw; write 0; fork | map 2 2 rw",
     "aabb........ a:rw-p b:rw-p", "merge-refused-amap 1"},
    {"1-6: a split amap", "netbsd-1-6", "map 0 4 rw; write 0; protect 0 2 r | map 4 2 rw",
     "aabbcc...... a:r--p b:rw-p c:rw-p", "merge-refused-amap 1"},
    {"1-6: a changed one stays", "netbsd-1-6", "map 0 2 rw; map 2 2 r | protect 2 2 rw",
     "aabb........ a:rw-p b:rw-p", ""},
    {"1-6: a file's pages follow", "netbsd-1-6", "file 0 2 rw 3 | file 2 2 rw 5",
     "aaaa........ a:rw-p", "merged-previous 1"},
    {"1-6: or not", "netbsd-1-6", "file 0 2 rw 3 | file 2 2 rw 6",
     "aabb........ a:rw-p b:rw-p", "merge-refused-offset 1"},

    /* netbsd-current: both neighbours, but two amaps never become one. */
    {"current: the entry above", "netbsd-current", "map 4 2 rw | map 2 2 rw",
     "..aaaa...... a:rw-p", "merged-next 1"},
    {"current: with an amap, backwards", "netbsd-current", "map 4 2 rw; write 4 | map 2 2 rw",
     "..aaaa...... a:rw-p", "merged-next 1 amap-slots 2"},
    {"current: both", "netbsd-current", "map 0 2 rw; map 4 2 rw | map 2 2 rw",
     "aaaaaa...... a:rw-p", "merged-both 1"},
    {"current: both, one amap", "netbsd-current", "map 0 2 rw; write 0; map 4 2 rw | map 2 2 rw",
     "aaaaaa...... a:rw-p", "merged-both 1 amap-slots 4"},
    {"current: both, two amaps", "netbsd-current",
     "map 0 2 rw; write 0; map 4 2 rw; write 4 | map 2 2 rw",
     "aaaabb...... a:rw-p b:rw-p", "merged-previous 1 merge-refused-amap 1 amap-slots 2"},
    {"current: a forked amap", "netbsd-current", "map 4 2 rw; write 4; fork | map 2 2 rw",
     "..aabb...... a:rw-p b:rw-p", "merge-refused-amap 1"},
};
/* clang-format on */

enum { TEXT_BYTES = 256, STEPS_BYTES = 128 };

/* Events of merging and amaps since then, as the rows have them, in the order of the list. */
static void text_of_events(const uint64_t *counted, char text[TEXT_BYTES])
{
    static const enum event last[] = {EVENT_AMAP_SLOT};
    size_t length = 0;

    text[0] = '\0';
    for (unsigned i = EVENT_MERGED_PREVIOUS; i <= EVENT_MERGE_REFUSED_AMAP + 1; i++) {
        unsigned event = i <= EVENT_MERGE_REFUSED_AMAP ? i : last[0];

        if (counted[event] > 0)
            length += (size_t)snprintf(text + length, TEXT_BYTES - length, "%s%s %u",
                                       length > 0 ? " " : "", event_names[event],
                                       (unsigned)counted[event]);
    }
}

static void play(const struct policy_row *row, enum mmu_kind mmu)
{
    const char *bar = strchr(row->steps, '|');
    char before_bar[STEPS_BYTES];
    uint64_t counted[EVENT_COUNT];
    struct merge_bench bench;
    char text[TEXT_BYTES];

    assert_non_null(bar);
    merge_bench_open(&bench, kernel_find(row->kernel), mmu);
    (void)snprintf(before_bar, sizeof(before_bar), "%.*s", (int)(bar - row->steps), row->steps);
    merge_bench_take(&bench, before_bar);
    memcpy(counted, bench.trap.machine->events.counts, sizeof(counted));
    merge_bench_take(&bench, bar + 2);
    event_subtract(counted, bench.trap.machine->events.counts, counted);
    text_of_events(counted, text);
    merge_bench_expect(&bench, bench.parent, row->vmas);
    assert_string_equal(text, row->counted);
    merge_bench_close(&bench);
}

static void test_row(void **state)
{
    play(*state, MMU_SOFT);
    play(*state, MMU_HOST);
}

int main(void)
{
    enum { COUNT = sizeof(rows) / sizeof(rows[0]) };
    struct CMUnitTest tests[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = rows[i].name,
                                       .test_func = test_row,
                                       .initial_state = (void *)(uintptr_t)&rows[i]};
    return _cmocka_run_group_tests("merge_policies", tests, COUNT, NULL, NULL);
}
