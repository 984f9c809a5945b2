/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which neighbours become one VMA: sequences of calls, and the list of VMAs that each must leave.
 *
 * Every list was seen on Linux 6.18 (x86-64) when real processes made the same calls; `modern` and
 * `modern-shared` follow it. On the other kernels the same sequences are made for the invariants'
 * sake.
 *
 * Steps, made by the parent, or by its child where they begin with C; numbers are pages, the first
 * and how many:
 *
 *   map 2 3 rw [FLAG]   private anonymous memory: noreserve, stack, grows, locked
 *   file 2 3 rw 5       a file, from its page 5 on; share: the same, shared
 *   unmap 2 3; protect 2 3 r; write 2; lock 2 3; unlock 2 3; fork
 *   advise 2 3 ADVICE   wipe, keep, dontfork, dofork, random, normal
 *   move 2 3 7          mremap to page 7; keep: the same, which keeps the source mapped
 *   grow 2 3 5          mremap in place
 */
#include <stdlib.h>
#include <string.h>

#include "pager/abi.h"
#include "pager/advise.h"
#include "pager/remap.h"
#include "tests/support/trap_fixture.h"

enum { RANGE_PAGES = 12, WORD_BYTES = 16, TEXT_BYTES = 128, STEP_BYTES = 64 };

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

struct bench {
    struct trap trap;
    struct task *parent;
    struct task *child;
    struct object *file;
};

/* One step, taken apart. */
struct step {
    struct bench *bench;
    struct task *task;
    va_t start;
    uint64_t bytes;
    char call[WORD_BYTES];
    char what[WORD_BYTES];
    char more[WORD_BYTES];
};

static uint32_t rights_of(const char *text)
{
    uint32_t rights = 0;

    for (; *text != '\0'; text++) {
        rights |= *text == 'r' ? VMA_READ : 0;
        rights |= *text == 'w' ? VMA_WRITE : 0;
        rights |= *text == 'x' ? VMA_EXEC : 0;
    }
    return rights;
}

/* A number by its name. */
struct named {
    const char *name;
    uint32_t number;
};

static uint32_t number_of(const struct named *table, const char *name)
{
    while (table->name != NULL && strcmp(table->name, name) != 0)
        table++;
    return table->number;
}

static const struct named map_flags[] = {
    {"noreserve", MAP_REQUEST_NORESERVE},
    {"stack", MAP_REQUEST_STACK},
    {"grows", MAP_REQUEST_GROWSDOWN},
    {"locked", MAP_REQUEST_LOCKED},
    {NULL, 0},
};

static const struct named advice[] = {
    {"wipe", ABI_MADV_WIPEONFORK}, {"keep", ABI_MADV_KEEPONFORK}, {"dontfork", ABI_MADV_DONTFORK},
    {"dofork", ABI_MADV_DOFORK},   {"random", ABI_MADV_RANDOM},   {"normal", ABI_MADV_NORMAL},
    {NULL, ABI_MADV_NORMAL},
};

static void step_map(const struct step *step)
{
    bool is_file = strcmp(step->call, "map") != 0;
    struct map_request request = {.address = step->start,
                                  .bytes = step->bytes,
                                  .protection = rights_of(step->what),
                                  .flags = MAP_REQUEST_FIXED |
                                           (is_file ? 0 : number_of(map_flags, step->more)),
                                  .object = is_file ? step->bench->file : NULL};
    va_t address;

    if (strcmp(step->call, "share") == 0)
        request.flags |= MAP_REQUEST_SHARED;
    if (is_file)
        request.offset_bytes = strtoull(step->more, NULL, 10) * PAGE_BYTES;
    assert_int_equal(sys_mmap(step->task, &request, &address), 0);
}

/* What lies behind the end of the range is not refused: some rows run into a hole. */
static void step_protect(const struct step *step)
{
    (void)sys_mprotect(step->task, step->start, step->bytes, rights_of(step->what));
}

static void step_remap(const struct step *step)
{
    bool grows = strcmp(step->call, "grow") == 0;
    uint64_t page = strtoull(step->what, NULL, 10);
    struct remap_request request = {.address = step->start,
                                    .old_bytes = step->bytes,
                                    .new_bytes = grows ? page * PAGE_BYTES : step->bytes};
    va_t address;

    if (!grows) {
        request.flags = ABI_MREMAP_MAYMOVE | ABI_MREMAP_FIXED;
        request.new_address = trap_page(&step->bench->trap, (unsigned)page);
    }
    if (strcmp(step->call, "keep") == 0)
        request.flags |= ABI_MREMAP_DONTUNMAP;
    assert_int_equal(sys_mremap(step->task, &request, &address), 0);
}

static void step_unmap(const struct step *step)
{
    assert_int_equal(sys_munmap(step->task, step->start, step->bytes), 0);
}

static void step_write(const struct step *step)
{
    trap_write(&step->bench->trap, step->task, step->start, 'w');
}

static void step_advise(const struct step *step)
{
    int number = (int)number_of(advice, step->what);

    assert_int_equal(sys_madvise(step->task, step->start, step->bytes, number), 0);
}

static void step_lock(const struct step *step)
{
    assert_int_equal(sys_mlock(step->task, step->start, step->bytes), 0);
}

static void step_unlock(const struct step *step)
{
    assert_int_equal(sys_munlock(step->task, step->start, step->bytes), 0);
}

static void step_fork(const struct step *step)
{
    step->bench->child = trap_fork(&step->bench->trap, step->task, 'C');
}

static const struct {
    const char *call;
    void (*take)(const struct step *step);
} calls[] = {
    {"map", step_map},       {"file", step_map},    {"share", step_map},
    {"unmap", step_unmap},   {"write", step_write}, {"protect", step_protect},
    {"advise", step_advise}, {"lock", step_lock},   {"unlock", step_unlock},
    {"move", step_remap},    {"keep", step_remap},  {"grow", step_remap},
    {"fork", step_fork},
};

/* The next word of the text, empty at its end; shorter than WORD_BYTES. */
static const char *next_word(const char *text, char word[WORD_BYTES])
{
    size_t bytes;

    text += strspn(text, " ");
    bytes = strcspn(text, " ");
    assert_true(bytes < WORD_BYTES);
    memcpy(word, text, bytes);
    word[bytes] = '\0';
    return text + bytes;
}

static void take_step(struct bench *bench, const char *text)
{
    struct step step = {.bench = bench, .task = bench->parent};
    char first[WORD_BYTES];
    char pages[WORD_BYTES];

    if (text[0] == 'C') {
        step.task = bench->child;
        text += 2;
    }
    text = next_word(text, step.call);
    text = next_word(text, first);
    text = next_word(text, pages);
    text = next_word(text, step.what);
    (void)next_word(text, step.more);
    step.start = trap_page(&bench->trap, (unsigned)strtoul(first, NULL, 10));
    step.bytes = strtoul(pages, NULL, 10) * PAGE_BYTES;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(calls[i].call, step.call) == 0) {
            calls[i].take(&step);
            trap_check(&bench->trap);
            return;
        }
    }
    fail_msg("%s is no step", text);
}

static void take_steps(struct bench *bench, const char *steps)
{
    while (steps[0] != '\0') {
        char text[STEP_BYTES];
        size_t length = strcspn(steps, ";");

        (void)snprintf(text, sizeof(text), "%.*s", (int)length, steps);
        take_step(bench, text);
        steps += length;
        steps += strspn(steps, "; ");
    }
}

/* The VMAs of the range, as the rows have them. */
static void draw(const struct bench *bench, const struct task *task, char *text)
{
    va_t base = bench->trap.base;
    size_t length = RANGE_PAGES;
    char letter = 'a';

    memset(text, '.', RANGE_PAGES);
    for (const struct vma *vma = vma_find(task->mm, base);
         vma != NULL && vma->start < base + RANGE_PAGES * PAGE_BYTES; vma = vma_next(vma)) {
        for (va_t va = vma->start; va < vma->end; va += PAGE_BYTES)
            text[(va - base) / PAGE_BYTES] = letter;
        length += (size_t)snprintf(
            text + length, TEXT_BYTES - length, " %c:%c%c%c%c", letter++,
            vma->flags & VMA_READ ? 'r' : '-', vma->flags & VMA_WRITE ? 'w' : '-',
            vma->flags & VMA_EXEC ? 'x' : '-', vma->flags & VMA_SHARED ? 's' : 'p');
    }
    text[length] = '\0';
}

static void assert_vmas(const struct bench *bench, const struct task *task, const char *expected)
{
    char text[TEXT_BYTES];

    draw(bench, task, text);
    assert_string_equal(text, expected);
}

static void play(const struct merge_row *row, const struct kernel *kernel, enum mmu_kind mmu)
{
    struct bench bench = {0};

    trap_open(&bench.trap, kernel, &geometry_x86_64, mmu, NULL);
    bench.parent = trap_first(&bench.trap);
    bench.file = trap_shm(&bench.trap, 2 * (uint64_t)RANGE_PAGES);
    take_steps(&bench, row->steps);
    if (kernel->merging == &merge_family) {
        assert_vmas(&bench, bench.parent, row->parent);
        if (row->child != NULL)
            assert_vmas(&bench, bench.child, row->child);
    }
    trap_close(&bench.trap);
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
