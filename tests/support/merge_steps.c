/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps, taken one by one; merge_steps.h has them. */
#include "tests/support/merge_steps.h"

#include <stdlib.h>
#include <string.h>

#include "pager/abi.h"
#include "pager/advise.h"
#include "pager/remap.h"

enum { WORD_BYTES = 16, TEXT_BYTES = 128, STEP_BYTES = 64 };

/* One step, taken apart. */
struct step {
    struct merge_bench *bench;
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

static void take_step(struct merge_bench *bench, const char *text)
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

void merge_bench_take(struct merge_bench *bench, const char *steps)
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
static void draw(const struct merge_bench *bench, const struct task *task, char *text)
{
    va_t base = bench->trap.base;
    size_t length = MERGE_RANGE_PAGES;
    char letter = 'a';

    memset(text, '.', MERGE_RANGE_PAGES);
    for (const struct vma *vma = vma_find(task->mm, base);
         vma != NULL && vma->start < base + MERGE_RANGE_PAGES * PAGE_BYTES; vma = vma_next(vma)) {
        for (va_t va = vma->start; va < vma->end; va += PAGE_BYTES)
            text[(va - base) / PAGE_BYTES] = letter;
        length += (size_t)snprintf(
            text + length, TEXT_BYTES - length, " %c:%c%c%c%c", letter++,
            vma->flags & VMA_READ ? 'r' : '-', vma->flags & VMA_WRITE ? 'w' : '-',
            vma->flags & VMA_EXEC ? 'x' : '-', vma->flags & VMA_SHARED ? 's' : 'p');
    }
    text[length] = '\0';
}

void merge_bench_expect(const struct merge_bench *bench, const struct task *task,
                        const char *expected)
{
    char text[TEXT_BYTES];

    draw(bench, task, text);
    assert_string_equal(text, expected);
}

void merge_bench_open(struct merge_bench *bench, const struct kernel *kernel, enum mmu_kind mmu)
{
    *bench = (struct merge_bench){0};
    trap_open(&bench->trap, kernel, &geometry_x86_64, mmu, NULL);
    bench->parent = trap_first(&bench->trap);
    bench->file = trap_shm(&bench->trap, 2 * (uint64_t)MERGE_RANGE_PAGES);
}

void merge_bench_close(struct merge_bench *bench)
{
    trap_close(&bench->trap);
}
