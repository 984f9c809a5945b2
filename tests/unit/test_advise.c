/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * madvise as a call: what it says of every advice on every kind of mapping, of bad ranges and of
 * holes, as seen on Linux 6.18; and the advice that changes flags of VMAs: what fork makes of them,
 * how VMAs are cut and merged, whose tables they touch (traps P21, P51.a, P67).
 */
#include <errno.h>
#include <string.h>

#include "pager/abi.h"
#include "pager/advise.h"
#include "tests/support/trap_fixture.h"

static int advise(struct task *task, va_t va, uint64_t pages, int advice)
{
    return sys_madvise(task, va, pages * PAGE_BYTES, advice);
}

/* --- answers --- */

enum {
    ON_RW,
    ON_RO,
    ON_NONE,
    ON_SHARED,
    ON_FILE,
    ON_SHARED_FILE,
    ON_READ_ONLY_FILE,
    ON_LOCKED,
    ON_WRITE_ONLY,
    KINDS
};

/* What the call says of a page of each kind, of a range with a hole, of no page at all. */
struct answer {
    int advice;
    int results[KINDS];
};

static const struct answer answers[] = {
    {ABI_MADV_NORMAL, {0}},
    {ABI_MADV_RANDOM, {0}},
    {ABI_MADV_SEQUENTIAL, {0}},
    {ABI_MADV_WILLNEED, {0}},
    {ABI_MADV_DONTNEED, {[ON_LOCKED] = -EINVAL}},
    {ABI_MADV_DONTNEED_LOCKED, {0}},
    {ABI_MADV_FREE,
     {[ON_SHARED] = -EINVAL,
      [ON_FILE] = -EINVAL,
      [ON_SHARED_FILE] = -EINVAL,
      [ON_READ_ONLY_FILE] = -EINVAL,
      [ON_LOCKED] = -EINVAL}},
    {ABI_MADV_REMOVE,
     {[ON_RW] = -EINVAL,
      [ON_RO] = -EINVAL,
      [ON_NONE] = -EINVAL,
      [ON_FILE] = -EACCES,
      [ON_READ_ONLY_FILE] = -EACCES,
      [ON_LOCKED] = -EINVAL,
      [ON_WRITE_ONLY] = -EINVAL}},
    {ABI_MADV_DONTFORK, {0}},
    {ABI_MADV_DOFORK, {0}},
    {ABI_MADV_DONTDUMP, {0}},
    {ABI_MADV_DODUMP, {0}},
    {ABI_MADV_WIPEONFORK,
     {[ON_SHARED] = -EINVAL,
      [ON_FILE] = -EINVAL,
      [ON_SHARED_FILE] = -EINVAL,
      [ON_READ_ONLY_FILE] = -EINVAL}},
    {ABI_MADV_KEEPONFORK, {0}},
    {ABI_MADV_COLD, {[ON_LOCKED] = -EINVAL}},
    {ABI_MADV_PAGEOUT, {[ON_LOCKED] = -EINVAL}},
    {ABI_MADV_POPULATE_READ, {[ON_NONE] = -EINVAL, [ON_WRITE_ONLY] = -EINVAL}},
    {ABI_MADV_POPULATE_WRITE,
     {[ON_RO] = -EINVAL, [ON_NONE] = -EINVAL, [ON_READ_ONLY_FILE] = -EINVAL}},
    {ABI_MADV_GUARD_INSTALL, {[ON_LOCKED] = -EINVAL}},
    {ABI_MADV_GUARD_REMOVE, {0}},
};

/* One page of the kind at the base, two pages with a hole behind it further on. */
static void map_kind(struct trap *trap, struct task *task, unsigned kind, struct object *file)
{
    static const uint32_t rights[KINDS] = {[ON_RW] = RW,
                                           [ON_RO] = VMA_READ,
                                           [ON_NONE] = 0,
                                           [ON_SHARED] = RW,
                                           [ON_FILE] = RW,
                                           [ON_SHARED_FILE] = RW,
                                           [ON_LOCKED] = RW,
                                           [ON_READ_ONLY_FILE] = VMA_READ,
                                           [ON_WRITE_ONLY] = VMA_WRITE};
    bool is_shared = kind == ON_SHARED || kind == ON_SHARED_FILE || kind == ON_READ_ONLY_FILE;
    bool is_file = kind >= ON_FILE && kind <= ON_READ_ONLY_FILE;
    struct map_request request = {.address = trap->base,
                                  .bytes = PAGE_BYTES,
                                  .protection = rights[kind],
                                  .flags = MAP_REQUEST_FIXED |
                                           (is_shared ? MAP_REQUEST_SHARED : 0) |
                                           (kind == ON_READ_ONLY_FILE ? MAP_REQUEST_READ_ONLY : 0),
                                  .object = is_file ? file : NULL};
    va_t address;

    trap_result(trap, sys_mmap(task, &request, &address), 0);
    if (kind == ON_LOCKED)
        trap_result(trap, sys_mlock(task, trap->base, PAGE_BYTES), 0);
}

TRAP(answers_by_advice_and_mapping, ANYWHERE)
{
    struct object *file = trap_file(trap, "A");
    struct task *parent = trap_first(trap);

    for (unsigned i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        for (unsigned kind = 0; kind < KINDS; kind++) {
            map_kind(trap, parent, kind, file);
            trap_result(trap, advise(parent, trap->base, 1, answers[i].advice),
                        answers[i].results[kind]);
        }
    }
}

TRAP(bad_ranges_and_holes, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 1, RW);
    trap_map(trap, parent, trap_page(trap, 2), 1, RW);
    for (unsigned i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        int advice = answers[i].advice;

        trap_result(trap, sys_madvise(parent, trap->base, 0, advice), 0);
        trap_result(trap, sys_madvise(parent, trap_page(trap, 1), 0, advice), 0);
        trap_result(trap, sys_madvise(parent, trap->base + 1, PAGE_BYTES, advice), -EINVAL);
        trap_result(trap, sys_madvise(parent, trap->base, UINT64_MAX, advice), -EINVAL);
        trap_result(trap, sys_madvise(parent, trap->base, -PAGE_BYTES, advice), -EINVAL);
        trap_result(trap, advise(parent, trap_page(trap, 1), 1, advice), -ENOMEM);
        trap_result(trap, advise(parent, trap->base, 3, advice),
                    advice == ABI_MADV_REMOVE ? -EINVAL : -ENOMEM);
        trap_result(trap, sys_madvise(parent, parent->mm->user_end, UINT64_MAX / 2, advice),
                    -ENOMEM);
        trap_result(trap, advise(parent, parent->mm->user_end, 1, advice), -ENOMEM);
    }
    static const int unknown[] = {-1, 5, 6, 7, 26, 99, 104, 1 << 30};

    for (unsigned i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        trap_result(trap, advise(parent, trap->base, 1, unknown[i]), -EINVAL);
        trap_result(trap, sys_madvise(parent, trap->base, 0, unknown[i]), -EINVAL);
    }
}

/* --- flags --- */

/* The flags that only advice sets, along the VMAs of three pages: "s2 -1": two pages in one. */
static void expect_flags(struct trap *trap, struct task *task, const char *expected)
{
    static const struct {
        uint32_t flag;
        char letter;
    } letters[] = {{VMA_RANDOM, 'r'},    {VMA_SEQUENTIAL, 's'},   {VMA_DONT_DUMP, 'd'},
                   {VMA_DONT_FORK, 'f'}, {VMA_WIPE_ON_FORK, 'w'}, {VMA_LOCKED, 'l'}};
    char text[64] = "";

    if (!trap->merges_changes)
        return; /* what is cut stays cut */
    for (va_t va = trap->base; va < trap_page(trap, 3);) {
        const struct vma *vma = vma_find(task->mm, va);
        size_t length = strlen(text);

        assert_non_null(vma);
        if (length > 0)
            text[length++] = ' ';
        for (unsigned i = 0; i < sizeof(letters) / sizeof(letters[0]); i++) {
            if (vma->flags & letters[i].flag)
                text[length++] = letters[i].letter;
        }
        text[length++] = (char)('0' + ((min_u64(vma->end, trap_page(trap, 3)) - va) >> PAGE_SHIFT));
        va = vma->end;
    }
    if (strcmp(text, expected) != 0)
        fail_msg("%s: \"%s\", not \"%s\"", trap->where, text, expected);
}

TRAP(flags_cut_and_merge_mappings, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    trap_result(trap, advise(parent, trap_page(trap, 1), 1, ABI_MADV_RANDOM), 0);
    expect_flags(trap, parent, "1 r1 1");
    trap_result(trap, advise(parent, trap_page(trap, 0), 2, ABI_MADV_SEQUENTIAL), 0);
    expect_flags(trap, parent, "s2 1");
    trap_result(trap, advise(parent, trap_page(trap, 1), 2, ABI_MADV_DONTDUMP), 0);
    expect_flags(trap, parent, "s1 sd1 d1");
    trap_result(trap, advise(parent, trap_page(trap, 0), 3, ABI_MADV_NORMAL), 0);
    expect_flags(trap, parent, "1 d2");
    trap_result(trap, advise(parent, trap_page(trap, 0), 3, ABI_MADV_DODUMP), 0);
    expect_flags(trap, parent, "3");
    trap_result(trap, advise(parent, trap_page(trap, 0), 1, ABI_MADV_DONTFORK), 0);
    trap_result(trap, advise(parent, trap_page(trap, 1), 1, ABI_MADV_WIPEONFORK), 0);
    expect_flags(trap, parent, "f1 w1 1");
    trap_result(trap, advise(parent, trap_page(trap, 0), 3, ABI_MADV_KEEPONFORK), 0);
    trap_result(trap, advise(parent, trap_page(trap, 0), 3, ABI_MADV_DOFORK), 0);
    expect_flags(trap, parent, "3");
}

/* A mapping that refuses ends the call; what lies before it is done. */
TRAP(flags_are_set_up_to_a_refusal, ANYWHERE)
{
    struct object *file = trap_file(trap, "A");
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    trap_map_object(trap, parent, trap_page(trap, 1), 1, 0, file, 0);
    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_WIPEONFORK), -EINVAL);
    expect_flags(trap, parent, "w1 1 1");
    trap_unmap(trap, parent, trap_page(trap, 1), 1);
    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_DONTFORK), -ENOMEM);
    trap_map(trap, parent, trap_page(trap, 1), 1, RW);
    expect_flags(trap, parent, "fw1 1 f1");
}

/* Advice that touches no entry leaves shared tables shared. */
TRAP(advice_leaves_tables_shared, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    trap_write(trap, parent, trap_page(trap, 1), 'b');
    struct task *child = trap_fork(trap, parent, 'C');

    trap_result(trap, advise(child, trap_page(trap, 1), 1, ABI_MADV_RANDOM), 0);
    trap_result(trap, advise(child, trap_page(trap, 1), 2, ABI_MADV_DONTDUMP), 0);
    trap_result(trap, advise(child, trap_page(trap, 0), 3, ABI_MADV_COLD), 0);
    trap_result(trap, advise(child, trap_page(trap, 0), 3, ABI_MADV_DOFORK), 0);
    expect_flags(trap, child, "1 rd1 d1");
    expect_flags(trap, parent, "3");
    trap_tables(trap, trap_page(trap, 1), trap_either(trap, "P:1x2 C:1x2", "P:1x1 C:2x1"));
    trap_write(trap, child, trap_page(trap, 1), 'x');
    trap_expect_loads(trap, trap->base, 3, "P:.b. C:.x.");
}

/* --- fork --- */

TRAP(p21_mappings_that_fork_treats_apart_in_one_span, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    trap_result(trap, advise(parent, trap_page(trap, 1), 1, ABI_MADV_DONTFORK), 0);
    trap_result(trap, advise(parent, trap_page(trap, 2), 1, ABI_MADV_WIPEONFORK), 0);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_tables(trap, trap->base, "P:1x1 C:2x1");
    trap_expect(trap, trap->base, 3, "P:abc C:a!.");
    trap_expect_loads(trap, trap->base, 3, "P:abc C:a!.");
    trap_write(trap, child, trap_page(trap, 2), 'x');
    struct task *grandchild = trap_fork(trap, child, 'G');

    trap_expect_loads(trap, trap->base, 3, "P:abc C:a!x G:a!."); /* wiping is inherited */
    trap_dies(trap, grandchild, trap_page(trap, 1), ACCESS_READ, EVENT_BAD_MAPERR);
    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_DOFORK), 0);
    trap_result(trap, advise(parent, trap->base, 3, ABI_MADV_KEEPONFORK), 0);
    struct task *second = trap_fork(trap, parent, 'S');

    trap_write(trap, second, trap_page(trap, 1), 'y');
    trap_expect_loads(trap, trap->base, 3, "P:abc C:a!x S:ayc");
}

/* The advice comes after fork has shared the table: the other's fork is not concerned. */
TRAP(p51a_dontfork_under_a_shared_table, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    struct task *child = trap_fork(trap, parent, 'C');

    trap_result(trap, advise(child, trap_page(trap, 1), 1, ABI_MADV_DONTFORK), 0);
    trap_tables(trap, trap->base, "P:1x1 C:2x1");
    struct task *grandchild = trap_fork(trap, child, 'G');
    struct task *second = trap_fork(trap, parent, 'S');

    trap_refuses(trap, grandchild, trap_page(trap, 1), ACCESS_READ);
    trap_write(trap, second, trap_page(trap, 0), 'x');
    trap_expect_loads(trap, trap->base, 3, "P:abc C:abc G:a!c S:xbc");
    trap_map(trap, grandchild, trap_page(trap, 1), 1, RW);
    trap_expect_loads(trap, trap->base, 3, "P:abc C:abc G:a.c S:xbc");
}

/* Over three spans in the child: the middle table's entries in the parent are untouched. */
TRAP(p67_whole_range_operations_on_several_spans, IN_SPAN)
{
    static const int advices[] = {ABI_MADV_DONTFORK, ABI_MADV_WIPEONFORK, ABI_MADV_FREE,
                                  ABI_MADV_GUARD_INSTALL, ABI_MADV_DONTNEED_LOCKED};
    struct task *parent = trap_first(trap);
    va_t start = geometry_span_start(trap->geometry, trap->base);

    trap_map(trap, parent, start, 3 * trap->span / PAGE_BYTES, RW);
    for (unsigned span = 0; span < 3; span++)
        trap_write(trap, parent, start + span * trap->span, (char)('a' + span));
    for (unsigned i = 0; i <= sizeof(advices) / sizeof(advices[0]); i++) {
        if (i == 0 && trap->geometry != &geometry_tiny)
            continue; /* locking brings in more pages than there are frames */
        struct task *child = trap_fork(trap, parent, 'C');
        entry_t before = trap_entry(parent, start + trap->span);
        int result = i == 0 ? sys_mlock(child, start, 3 * trap->span)
                            : sys_madvise(child, start, 3 * trap->span, advices[i - 1]);

        trap_result(trap, result, 0);
        entry_t after = entry_with(trap_entry(parent, start + trap->span), ENTRY_ACCESSED);

        before = entry_with(before, ENTRY_ACCESSED);
        /* The split that it may take write-protects both. */
        assert_true(after == before ||
                    after == entry_without(before, ENTRY_WRITE | ENTRY_EXCLUSIVE));
        trap_write(trap, parent, start + trap->span, 'b');
        for (unsigned span = 0; span < 3; span++)
            assert_int_equal(trap_read(trap, parent, start + span * trap->span), 'a' + span);
        trap_exit(trap, child);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_by_advice_and_mapping),
        cmocka_unit_test(bad_ranges_and_holes),
        cmocka_unit_test(flags_cut_and_merge_mappings),
        cmocka_unit_test(flags_are_set_up_to_a_refusal),
        cmocka_unit_test(advice_leaves_tables_shared),
        cmocka_unit_test(p21_mappings_that_fork_treats_apart_in_one_span),
        cmocka_unit_test(p51a_dontfork_under_a_shared_table),
        cmocka_unit_test(p67_whole_range_operations_on_several_spans),
    };

    return cmocka_run_group_tests_name("advise", tests, NULL, NULL);
}
