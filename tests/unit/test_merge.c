/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which neighbours become one VMA: sequences of calls, and the list of VMAs that each must leave.
 *
 * Every list was seen on Linux 6.18 (x86-64) when real processes made the same calls; `modern` and
 * `modern-shared` follow it. On the other kernels the same sequences are made for the invariants'
 * sake.
 */
#include "tests/support/merge_steps.h"

struct merge_row {
    const char *name;
    const char *steps;
    const char *parent; /* its VMAs: a letter a page, and the rights by letter */
    const char *child;  /* NULL: there is none */
};

/* clang-format off */
static const struct merge_row rows[] = {
    {"neighbours that nobody wrote",
     "map 2 3 rw; map 5 2 rw",
     "..aaaaa..... a:rw-p", NULL},
    {"one of them written",
     "map 2 3 rw; write 2; map 5 2 rw",
     "..aaaaa..... a:rw-p", NULL},
    {"the upper one written",
     "map 5 2 rw; write 5; map 2 3 rw",
     "..aaaaa..... a:rw-p", NULL},
    {"both written, in one go",
     "map 2 5 rw; write 2; write 6",
     "..aaaaa..... a:rw-p", NULL},
    {"a gap is filled",
     "map 0 2 rw; map 4 2 rw; map 2 2 rw",
     "aaaaaa...... a:rw-p", NULL},
    {"a gap between two families",
     "map 0 2 rw; write 0; map 4 2 rw; write 4; map 2 2 rw",
     "aaaabb...... a:rw-p b:rw-p", NULL},
    {"a family and nobody's",
     "map 0 2 rw; write 0; map 4 2 rw; map 2 2 rw",
     "aaaaaa...... a:rw-p", NULL},
    {"other rights",
     "map 0 2 rw; map 2 2 r; map 4 2 rwx",
     "aabbcc...... a:rw-p b:r--p c:rwxp", NULL},
    {"promised or not",
     "map 0 2 rw; map 2 2 rw noreserve",
     "aabb........ a:rw-p b:rw-p", NULL},
    {"of huge pages or not",
     "map 0 2 rw; map 2 2 rw stack",
     "aabb........ a:rw-p b:rw-p", NULL},
    {"grows or not",
     "map 0 2 rw; map 2 2 rw grows",
     "aabb........ a:rw-p b:rw-p", NULL},
    {"locked or not",
     "map 0 2 rw; map 2 2 rw locked; map 4 2 rw locked",
     "aabbbb...... a:rw-p b:rw-p", NULL},
    {"a file's pages follow",
     "file 0 2 rw 3; file 2 2 rw 5; file 4 2 rw 5",
     "aaaabb...... a:rw-p b:rw-p", NULL},
    {"a file shared and private",
     "file 0 2 rw 3; share 2 2 rw 5",
     "aabb........ a:rw-p b:rw-s", NULL},
    {"in two and back",
     "map 0 6 rw; protect 2 2 r; protect 2 2 rw",
     "aaaaaa...... a:rw-p", NULL},
    {"in two and back, written",
     "map 0 6 rw; write 2; protect 2 2 r; protect 2 2 rw",
     "aaaaaa...... a:rw-p", NULL},
    {"the same rights again",
     "map 0 6 rw; protect 2 2 rw",
     "aaaaaa...... a:rw-p", NULL},
    {"read-only is not what was writable",
     "map 0 2 r; map 2 2 rw; write 2; protect 2 2 r",
     "aabb........ a:r--p b:r--p", NULL},
    {"read-only is what was never written",
     "map 0 2 r; map 2 2 rw; protect 2 2 r",
     "aaaa........ a:r--p", NULL},
    {"writable again after all",
     "map 0 2 r; map 2 2 rw; write 2; protect 2 2 r; protect 0 4 rw",
     "aaaa........ a:rw-p", NULL},
    {"two written, made alike",
     "map 0 2 rw; map 2 2 r; write 0; protect 2 2 rw; write 2; protect 0 4 r",
     "aaaa........ a:r--p", NULL},
    {"families adopted by rights",
     "map 0 2 rw; map 2 2 rwx; write 0; write 2; protect 2 2 rw",
     "aaaa........ a:rw-p", NULL},
    {"families adopted downwards",
     "map 0 2 rwx; map 2 2 rw; write 2; write 0; protect 0 2 rw",
     "aaaa........ a:rw-p", NULL},
    {"families not adopted across a hole",
     "map 0 2 rw; map 3 2 rwx; write 0; write 3; map 2 1 rw; protect 3 2 rw",
     "aaabb....... a:rw-p b:rw-p", NULL},
    {"families apart for good",
     "map 0 2 rw; write 0; map 4 2 rw; write 4; map 2 2 rwx; write 2; protect 2 2 rw",
     "aabbbb...... a:rw-p b:rw-p", NULL},
    {"part of one joins the next",
     "map 0 4 rw; map 4 3 r; protect 2 2 r",
     "aabbbbb..... a:rw-p b:r--p", NULL},
    {"part of one joins the last",
     "map 0 4 r; map 4 3 rw; protect 4 2 r",
     "aaaaaab..... a:r--p b:rw-p", NULL},
    {"all of one joins both",
     "map 0 2 r; map 2 2 rw; map 4 2 r; protect 2 2 r",
     "aaaaaa...... a:r--p", NULL},
    {"all of one joins both, written",
     "map 0 2 rw; map 2 2 rwx; map 4 2 rw; write 3; protect 2 2 rw",
     "aaaaaa...... a:rw-p", NULL},
    {"several at once",
     "map 0 2 rw; map 2 2 r; map 4 2 rwx; map 6 2 -; protect 1 6 r",
     "abbbbbbc.... a:rw-p b:r--p c:---p", NULL},
    {"up to a hole",
     "map 0 2 rw; map 3 2 rw; protect 1 4 r",
     "ab.cc....... a:rw-p b:r--p c:rw-p", NULL},
    {"fixed over the middle",
     "map 0 6 rw; write 0; write 5; map 2 2 rw",
     "aaaaaa...... a:rw-p", NULL},
    {"fixed over the middle, other rights",
     "map 0 6 rw; map 2 2 r; map 2 2 rw",
     "aaaaaa...... a:rw-p", NULL},
    {"unmapped and mapped again",
     "map 0 6 rw; write 1; unmap 2 2; map 2 2 rw",
     "aaaaaa...... a:rw-p", NULL},
    {"the child's old and its new",
     "map 2 2 rw; write 2; fork; C map 4 2 rw; C map 0 2 rw",
     "..aa........ a:rw-p", "aabbcc...... a:rw-p b:rw-p c:rw-p"},
    {"the parent's old and its new",
     "map 2 2 rw; write 2; fork; map 4 2 rw; map 0 2 rw",
     "aaaaaa...... a:rw-p", "..aa........ a:rw-p"},
    {"the child's new and its new",
     "map 2 2 rw; fork; C map 4 2 rw; C write 4; C map 6 2 rw",
     "..aa........ a:rw-p", "..aaaaaa.... a:rw-p"},
    {"nobody's before the fork",
     "map 2 2 rw; fork; C map 4 2 rw; C write 2",
     "..aa........ a:rw-p", "..aaaa...... a:rw-p"},
    {"written by the child alone",
     "map 2 2 rw; fork; C write 2; C map 4 2 rw",
     "..aa........ a:rw-p", "..aaaa...... a:rw-p"},
    {"the child cuts and joins",
     "map 0 6 rw; write 0; fork; C protect 2 2 r; C protect 2 2 rw",
     "aaaaaa...... a:rw-p", "aaaaaa...... a:rw-p"},
    {"cut in the parent, joined in the child",
     "map 0 6 rw; write 0; protect 2 2 r; fork; C protect 2 2 rw",
     "aabbcc...... a:rw-p b:r--p c:rw-p", "aabbcc...... a:rw-p b:rw-p c:rw-p"},
    {"cut in the parent, joined there",
     "map 0 6 rw; write 0; protect 2 2 r; fork; protect 2 2 rw",
     "aaaaaa...... a:rw-p", "aabbcc...... a:rw-p b:r--p c:rw-p"},
    {"a lock is not handed down",
     "map 0 2 rw; map 2 2 rw locked; fork",
     "aabb........ a:rw-p b:rw-p", "aabb........ a:rw-p b:rw-p"},
    {"a lock is not handed down, unwritten",
     "map 0 2 -; map 2 2 - locked; fork",
     "aabb........ a:---p b:---p", "aabb........ a:---p b:---p"},
    {"and what it left apart joins later",
     "map 0 2 -; map 2 2 - locked; fork; C protect 0 4 r",
     "aabb........ a:---p b:---p", "aaaa........ a:r--p"},
    {"wiped in the child",
     "map 0 2 rw; write 0; advise 0 2 wipe; fork; C map 2 2 rw; C advise 0 2 keep",
     "aa.......... a:rw-p", "aaaa........ a:rw-p"},
    {"left out in the child",
     "map 0 6 rw; write 0; advise 2 2 dontfork; fork; C map 2 2 rw",
     "aabbcc...... a:rw-p b:rw-p c:rw-p", "aabbcc...... a:rw-p b:rw-p c:rw-p"},
    {"left out, in the parent",
     "map 0 6 rw; write 0; advise 2 2 dontfork; fork; advise 2 2 dofork",
     "aaaaaa...... a:rw-p", "aa..bb...... a:rw-p b:rw-p"},
    {"advice keeps apart",
     "map 0 6 rw; advise 2 2 random; advise 4 1 random",
     "aabbbc...... a:rw-p b:rw-p c:rw-p", NULL},
    {"advice taken back",
     "map 0 6 rw; advise 2 2 random; advise 2 2 normal",
     "aaaaaa...... a:rw-p", NULL},
    {"locked in part and unlocked",
     "map 0 6 rw; lock 2 2; unlock 2 2",
     "aaaaaa...... a:rw-p", NULL},
    {"locked over two",
     "map 0 3 rw; map 3 3 r; lock 1 4; unlock 0 6",
     "aaabbb...... a:rw-p b:r--p", NULL},
    {"moved where it fits",
     "map 0 2 rw; map 6 2 rw; move 6 2 2",
     "aaaa........ a:rw-p", NULL},
    {"moved where its pages do not follow",
     "map 0 2 rw; map 6 2 rw; write 6; move 6 2 2",
     "aabb........ a:rw-p b:rw-p", NULL},
    {"moved and back",
     "map 0 4 rw; write 1; move 2 2 8; move 8 2 2",
     "aaaa........ a:rw-p", NULL},
    {"moved away, and new in its place",
     "map 0 4 rw; write 1; move 2 2 8; map 2 2 rw; map 10 2 rw",
     "aaaa....bbcc a:rw-p b:rw-p c:rw-p", NULL},
    {"moved, its source kept",
     "map 0 4 rw; write 0; keep 0 4 6; map 4 2 rw",
     "aaaaaabbbb.. a:rw-p b:rw-p", NULL},
    {"grown in place",
     "map 0 2 rw; map 4 2 rw; grow 0 2 4",
     "aaaaaa...... a:rw-p", NULL},
    {"grown in place, written both",
     "map 0 2 rw; write 0; map 4 2 rw; write 4; grow 0 2 4",
     "aaaabb...... a:rw-p b:rw-p", NULL},
};
/* clang-format on */

static void play(const struct merge_row *row, const struct kernel *kernel, enum mmu_kind mmu)
{
    struct merge_bench bench;

    merge_bench_open(&bench, kernel, mmu);
    merge_bench_take(&bench, row->steps);
    if (kernel->merging == &merge_family) {
        merge_bench_expect(&bench, bench.parent, row->parent);
        if (row->child != NULL)
            merge_bench_expect(&bench, bench.child, row->child);
    }
    merge_bench_close(&bench);
}

static void test_row(void **state)
{
    const struct merge_row *row = *state;

    for (size_t i = 0; i < kernel_count; i++) {
        play(row, &kernels[i], MMU_SOFT);
        play(row, &kernels[i], MMU_HOST);
    }
}

int main(void)
{
    enum { COUNT = sizeof(rows) / sizeof(rows[0]) };
    struct CMUnitTest tests[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = rows[i].name,
                                       .test_func = test_row,
                                       .initial_state = (void *)(uintptr_t)&rows[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
