/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of mremap's cases (tests/support/remap_cases.c) in every kernel, on both MMUs; the end
 * of a span falls before, into and behind what is moved. And the refusals about single bytes.
 */
#include <stdio.h>
#include <string.h>

#include "pager/remap.h"
#include "pager/vma_merge.h"
#include "tests/support/remap_cases.h"
#include "tests/support/trap_fixture.h"

enum { PICTURE_BYTES = 1024, FILE_MAPPINGS = 1 << CASE_FILE | 1 << CASE_SHARED_FILE };

/* One case on one machine. */
struct stage {
    struct trap *trap;
    struct task *task;
    const struct remap_case *remap;
    va_t elsewhere; /* where the kernel put something; 0: nothing yet */
    char picture[PICTURE_BYTES];
    size_t length;
};

static bool is_of_kind(const struct case_mapping *mapping, unsigned kinds)
{
    return (kinds >> mapping->kind & 1) != 0;
}

static uint32_t protection_of(enum case_kind kind)
{
    if (kind == CASE_NO_RIGHT)
        return 0;
    return kind == CASE_READ_ONLY ? VMA_READ : RW;
}

static uint32_t request_flags_of(enum case_kind kind)
{
    uint32_t flags = MAP_REQUEST_FIXED;

    if (kind == CASE_SHARED || kind == CASE_SHARED_FILE)
        flags |= MAP_REQUEST_SHARED;
    if (kind == CASE_GROWS_DOWN)
        flags |= MAP_REQUEST_GROWSDOWN;
    return flags;
}

struct stored_byte {
    va_t va;
    uint8_t value;
};

static void store_byte(struct forklab_user *user, void *argument)
{
    const struct stored_byte *stored = argument;

    forklab_store8(user, stored->va, stored->value);
}

static void store(const struct stage *stage, va_t va, char value)
{
    struct stored_byte stored = {.va = va, .value = (uint8_t)value};

    assert_int_equal(task_run(stage->task, store_byte, &stored), 0);
}

static void set_mapping(const struct stage *stage, const struct case_mapping *mapping,
                        struct object *file)
{
    struct map_request request = {.address = trap_page(stage->trap, mapping->page),
                                  .bytes = mapping->pages * PAGE_BYTES,
                                  .protection = protection_of(mapping->kind),
                                  .flags = request_flags_of(mapping->kind),
                                  .object = is_of_kind(mapping, FILE_MAPPINGS) ? file : NULL};
    va_t address;

    assert_int_equal(sys_mmap(stage->task, &request, &address), 0);
    for (unsigned i = 0; mapping->bytes != NULL && mapping->bytes[i] != '\0'; i++) {
        if (mapping->bytes[i] != '.')
            store(stage, trap_page(stage->trap, mapping->page + i), mapping->bytes[i]);
    }
}

static void set_stage(const struct stage *stage)
{
    struct object *file = trap_file(stage->trap, CASE_FILE_LETTERS);

    for (unsigned i = 0; i < CASE_MAPPINGS && stage->remap->mappings[i].pages != 0; i++)
        set_mapping(stage, &stage->remap->mappings[i], file);
    trap_check(stage->trap);
}

static int result_of(const struct stage *stage, int error, va_t address)
{
    const struct trap *trap = stage->trap;

    if (error != 0)
        return error;
    if (address < trap->base || address >= trap_page(trap, CASE_REGION_PAGES))
        return CASE_ELSEWHERE;
    return (int)((address - trap->base) / PAGE_BYTES);
}

static uint64_t bytes_of(const struct stage *stage, uint64_t pages)
{
    return pages == CASE_WHOLE_SPACE ? stage->task->mm->user_end : pages * PAGE_BYTES;
}

static void call(struct stage *stage, const struct case_call *call)
{
    va_t address = 0;
    struct remap_request request = {.address = trap_page(stage->trap, call->from),
                                    .old_bytes = bytes_of(stage, call->old_pages),
                                    .new_bytes = bytes_of(stage, call->new_pages),
                                    .flags = call->flags,
                                    .new_address = stage->trap->base + call->to * PAGE_BYTES};
    uint32_t frames = trap_used(stage->trap);
    int error = sys_mremap(stage->task, &request, &address);
    int result = result_of(stage, error, address);

    if (result != call->result)
        fail_msg("%s: %s: the call came to %d, not %d", stage->trap->where, stage->remap->name,
                 result, call->result);
    if (result == CASE_ELSEWHERE)
        stage->elsewhere = address;
    trap_check(stage->trap);
    /* Pages may go with what is unmapped; only tables may come. */
    assert_true(trap_used(stage->trap) <= frames + 2 * stage->trap->geometry->levels);
}

static void draw(struct stage *stage, const char *text)
{
    size_t length = strlen(text);

    assert_true(stage->length + length < PICTURE_BYTES);
    memcpy(stage->picture + stage->length, text, length + 1);
    stage->length += length;
}

/* The first byte of a page as the kernel finds it: '!' where it may not be read. */
static void draw_page(struct stage *stage, va_t va)
{
    char text[2] = "";
    uint8_t byte = 0;

    if (copyin(stage->task, &byte, va, 1) != 0)
        text[0] = '!';
    else
        text[0] = byte == 0 ? '.' : (char)byte;
    draw(stage, text);
}

static void draw_mapping(struct stage *stage, const struct vma *vma, va_t base, const char *star)
{
    char text[96];

    (void)snprintf(text, sizeof(text), "%s%s%u-%u %c%c%c%c%s", stage->length == 0 ? "" : " | ",
                   star, (unsigned)((vma->start - base) / PAGE_BYTES),
                   (unsigned)((vma->end - base) / PAGE_BYTES), vma->flags & VMA_READ ? 'r' : '-',
                   vma->flags & VMA_WRITE ? 'w' : '-', vma->flags & VMA_EXEC ? 'x' : '-',
                   vma_is_private(vma) ? 'p' : 's', vma->flags & VMA_GROWS_DOWN ? "d" : "");
    draw(stage, text);
    text[0] = '\0';
    if (vma->object != NULL)
        (void)snprintf(text, sizeof(text), "@%u", (unsigned)vma->object_page);
    draw(stage, text);
    draw(stage, " ");
    for (va_t va = vma->start; va < vma->end; va += PAGE_BYTES)
        draw_page(stage, va);
}

static void draw_all(struct stage *stage)
{
    struct mm *mm = stage->task->mm;
    va_t end = trap_page(stage->trap, CASE_REGION_PAGES);
    const struct vma *vma = vma_find(mm, stage->trap->base);

    for (; vma != NULL && vma->start < end; vma = vma_next(vma))
        draw_mapping(stage, vma, stage->trap->base, "");
    if (stage->elsewhere != 0)
        draw_mapping(stage, vma_find(mm, stage->elsewhere), stage->elsewhere, "*");
}

static void play(struct trap *trap, const struct remap_case *remap)
{
    struct stage stage = {.trap = trap, .task = trap_first(trap), .remap = remap};

    set_stage(&stage);
    for (unsigned i = 0; i < CASE_CALLS && remap->calls[i].new_pages != 0; i++)
        call(&stage, &remap->calls[i]);
    draw_all(&stage);
    bool alike = trap->kernel.merging == &merge_anonymous && remap->picture_alike != NULL;
    const char *expected = alike ? remap->picture_alike : remap->picture;

    /* Others merge by other rules, which test_merge has: here they only keep the invariants. */
    bool is_known = alike || trap->kernel.merging == &merge_family;

    if (is_known && strcmp(stage.picture, expected) != 0)
        fail_msg("%s: %s:\n  %s\nand not\n  %s", trap->where, remap->name, stage.picture, expected);
    trap_check(trap);
}

/* Where the end of the first span lies, in pages from the base. */
static const unsigned span_ends[] = {0, 1, 2, 21};

enum { SPAN_ENDS = sizeof(span_ends) / sizeof(span_ends[0]) };

static void play_on(const struct remap_case *remap, const struct kernel *kernel,
                    const struct geometry *geometry, enum mmu_kind mmu, size_t place)
{
    struct trap trap;

    trap_open(&trap, kernel, geometry, mmu, NULL);
    trap.base -= span_ends[place % SPAN_ENDS] * PAGE_BYTES;
    play(&trap, remap);
    trap_close(&trap);
}

/* All places come by in turn, not each with everything. */
static void test_case(void **state)
{
    const struct remap_case *remap = *state;

    for (size_t i = 0; i < kernel_count; i++) {
        size_t turn = i + (size_t)(remap - remap_cases);

        play_on(remap, &kernels[i], &geometry_x86_64, MMU_SOFT, turn);
        play_on(remap, &kernels[i], &geometry_x86_64, MMU_HOST, turn + 1);
        play_on(remap, &kernels[i], &geometry_i386, turn % 2 == 0 ? MMU_SOFT : MMU_HOST, turn + 2);
    }
}

/* --- bytes --- */

static int remap_bytes(struct task *task, struct remap_request request)
{
    va_t address = 1;
    int error = sys_mremap(task, &request, &address);

    assert_true(error == 0 || address == 1);
    return error;
}

TRAP(refusals_about_bytes, IN_SPAN)
{
    struct task *task = trap_first(trap);
    va_t base = trap_page(trap, 0);
    va_t end = task->mm->user_end;

    trap_map(trap, task, base, 2, RW);
    trap_write(trap, task, base, 'a');
    const struct remap_request refused[] = {
        {base + 1, PAGE_BYTES, PAGE_BYTES, 0, 0},
        {base, PAGE_BYTES, 0, 0, 0},
        {base, PAGE_BYTES, PAGE_BYTES, 8, 0},
        {base, PAGE_BYTES, PAGE_BYTES, ABI_MREMAP_FIXED, base + trap->span},
        {base, PAGE_BYTES, PAGE_BYTES, ABI_MREMAP_DONTUNMAP, base + trap->span},
        {base, PAGE_BYTES, PAGE_BYTES, ABI_MREMAP_FIXED | ABI_MREMAP_MAYMOVE,
         base + trap->span + 1},
        {base, PAGE_BYTES, PAGE_BYTES, ABI_MREMAP_DONTUNMAP | ABI_MREMAP_MAYMOVE, 1},
        {base, PAGE_BYTES, 2 * PAGE_BYTES, ABI_MREMAP_FIXED | ABI_MREMAP_MAYMOVE, end - PAGE_BYTES},
        {base, PAGE_BYTES, end + 1, ABI_MREMAP_MAYMOVE, 0},
        {base, PAGE_BYTES, UINT64_MAX, ABI_MREMAP_MAYMOVE, 0},
        {base, UINT64_MAX, PAGE_BYTES, 0, 0}, /* wraps to nothing: a second mapping */
        {base + PAGE_BYTES, end, PAGE_BYTES, 0, 0},
    };

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        if (remap_bytes(task, refused[i]) != -EINVAL)
            fail_msg("%s: request %u is not refused", trap->where, (unsigned)i);
        trap_check(trap);
    }
    trap_expect(trap, base, 2, "P:a.");
}

/* Sizes are rounded up to whole pages. */
TRAP(sizes_in_bytes, IN_SPAN)
{
    struct task *task = trap_first(trap);
    va_t base = trap_page(trap, 0);

    trap_map(trap, task, base, 1, RW);
    trap_write(trap, task, base, 'a');
    assert_int_equal(remap_bytes(task, (struct remap_request){base, 1, PAGE_BYTES + 1, 0, 0}), 0);
    trap_expect(trap, base, 3, "P:a.!");
    assert_int_equal(remap_bytes(task, (struct remap_request){base, PAGE_BYTES + 7, 5, 0, 0}), 0);
    trap_expect(trap, base, 3, "P:a!!");
}

TRAP(a_task_that_has_ended, IN_SPAN)
{
    struct task *parent = trap_first(trap);
    struct task *child = trap_fork(trap, parent, 'C');
    va_t base = trap_page(trap, 0);

    assert_int_equal(task_exit(child, 0), 0);
    assert_int_equal(
        remap_bytes(child, (struct remap_request){base, PAGE_BYTES, 2 * PAGE_BYTES, 0, 0}), -ESRCH);
    struct task_status status;

    assert_int_equal(sys_wait(parent, child, &status), 0);
    trap->task_count--;
}

int main(void)
{
    enum { MOST_TESTS = 96 };
    struct CMUnitTest tests[MOST_TESTS];
    size_t count = 0;

    for (; count < remap_case_count; count++)
        tests[count] = (struct CMUnitTest){.name = remap_cases[count].name,
                                           .test_func = test_case,
                                           .initial_state = (void *)(uintptr_t)&remap_cases[count]};
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(refusals_about_bytes);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(sizes_in_bytes);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(a_task_that_has_ended);
    assert_true(count <= MOST_TESTS);
    return _cmocka_run_group_tests("mremap", tests, count, NULL, NULL);
}
