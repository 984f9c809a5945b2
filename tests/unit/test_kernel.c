/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of kernels: each row's policies, and which can follow each other on one machine. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "pager/kernel.h"
#include "tests/support/trap_fixture.h"

struct row {
    const char *name;
    const struct find_cache *find_cache;
    const struct merge_policy *merging;
    const struct free_space *free_space;
    enum fork_entries fork_entries;
    enum sharing sharing;
    enum absent_entry absent_entry;
    const char *rmap;
    const char *seed;
};

/* clang-format off */
static const struct row rows[] = {
    {"2.4.9", &find_cache_last, &merge_anonymous_previous, &free_space_first_fit,
     FORK_COPIES_ALL, SHARING_NONE, ABSENT_FILLED, "none", "000"},
    {"2.4.9-mmap-rb-4", &find_cache_last, &merge_anonymous, &free_space_first_fit,
     FORK_COPIES_ALL, SHARING_NONE, ABSENT_FILLED, "none", "000"},
    {"2.5.41", &find_cache_last, &merge_anonymous, &free_space_cached_up,
     FORK_COPIES_ALL, SHARING_NONE, ABSENT_FILLED, "chains", "004"},
    {"2.5.41-mm2", &find_cache_last, &merge_anonymous, &free_space_cached_up,
     FORK_COPIES_ALL, SHARING_OFF, ABSENT_FILLED, "chains", "004"},
    {"2.5.41-mm2-shared", &find_cache_last, &merge_anonymous, &free_space_cached_up,
     FORK_COPIES_ALL, SHARING_LEAF, ABSENT_FILLED, "chains", "004"},
    {"2.6.5-rc1", &find_cache_last, &merge_new_files, &free_space_cached_up,
     FORK_COPIES_ALL, SHARING_NONE, ABSENT_FILLED, "chains", "001"},
    {"2.6.5-rc1-partial", &find_cache_last, &merge_new_files, &free_space_cached_up,
     FORK_COPIES_ALL, SHARING_NONE, ABSENT_FILLED, "object, chains", "001"},
    {"netbsd-1-6", &find_cache_none, &merge_amap_previous, &free_space_first_fit,
     FORK_COPIES_NOTHING, SHARING_LEAF, ABSENT_SPLIT, "none", "002"},
    {"netbsd-current", &find_cache_none, &merge_amap, &free_space_first_fit,
     FORK_COPIES_NOTHING, SHARING_LEAF, ABSENT_SPLIT, "none", "002"},
    {"2.6.28", &find_cache_last, &merge_anon_vma, &free_space_cached_down,
     FORK_REFAULTS, SHARING_NONE, ABSENT_FILLED, "none", "003"},
    {"2.6.28-find_vma", &find_cache_neighbours, &merge_anon_vma, &free_space_cached_down,
     FORK_REFAULTS, SHARING_NONE, ABSENT_FILLED, "none", "003"},
    {"4.x", &find_cache_slots, &merge_anon_vma_forked, &free_space_gaps,
     FORK_REFAULTS, SHARING_NONE, ABSENT_FILLED, "none", "-"},
    {"modern", &find_cache_none, &merge_family, &free_space_gaps,
     FORK_REFAULTS, SHARING_NONE, ABSENT_FILLED, "none", "-"},
    {"modern-shared", &find_cache_none, &merge_family, &free_space_gaps,
     FORK_REFAULTS, SHARING_LEAF, ABSENT_SPLIT, "none", "-"},
};
/* clang-format on */

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static void test_rows(void **state)
{
    (void)state;
    assert_int_equal(kernel_count, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        const struct kernel *kernel = kernel_find(rows[i].name);

        assert_ptr_equal(kernel, &kernels[i]);
        assert_string_equal(kernel->name, rows[i].name);
        assert_ptr_equal(kernel->find_cache, rows[i].find_cache);
        assert_ptr_equal(kernel->merging, rows[i].merging);
        assert_ptr_equal(kernel->free_space, rows[i].free_space);
        assert_string_equal(kernel->rmap->name, rows[i].rmap);
        assert_int_equal(kernel->fork_entries, rows[i].fork_entries);
        assert_int_equal(kernel->sharing, rows[i].sharing);
        assert_int_equal(kernel->absent_entry, rows[i].absent_entry);
        assert_int_equal(kernel->least_shared_entries > 0, rows[i].sharing != SHARING_NONE);
        assert_string_equal(kernel->seed, rows[i].seed);
        assert_non_null(kernel->missing);
    }
}

static bool word_is_in(const char *word, const char *words)
{
    size_t length = strlen(word);

    for (const char *at = words; at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, word, length) == 0 && (at[length] == ' ' || at[length] == '\0'))
            return true;
    }
    return false;
}

static void test_find(void **state)
{
    (void)state;
    assert_null(kernel_find(""));
    assert_null(kernel_find("2.5.4"));
    assert_null(kernel_find("2.5.41-mm2-share"));
    assert_null(kernel_find("Modern"));
}

/* Rows of one group can follow each other, others cannot: the structures are not the same. */
static void test_compatible(void **state)
{
    static const char *const groups[] = {"2.5.41 2.5.41-mm2 2.5.41-mm2-shared",
                                         "modern modern-shared"};

    (void)state;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t j = 0; j < ROWS; j++) {
            bool expected = i == j;

            for (size_t group = 0; group < 2; group++)
                expected |= word_is_in(kernels[i].name, groups[group]) &&
                            word_is_in(kernels[j].name, groups[group]);
            assert_int_equal(kernels_are_compatible(&kernels[i], &kernels[j]), expected);
        }
    }
}

/* One parent under three kernels in turn: what fork does changes, what is there stays. */
static void test_one_parent_under_three_kernels(void **state)
{
    struct trap trap;
    static const char *const names[] = {"2.5.41", "2.5.41-mm2", "2.5.41-mm2-shared"};
    static const char *const tables[] = {"P:1x1 C:2x1", "P:1x1 C:2x1", "P:1x2 C:1x2"};

    (void)state;
    trap_open(&trap, kernel_find(names[0]), &geometry_x86_64, MMU_HOST, NULL);
    struct task *parent = trap_first(&trap);

    trap_map(&trap, parent, trap.base, 32, RW);
    for (unsigned page = 0; page < 32; page++)
        trap_write(&trap, parent, trap_page(&trap, page), (char)('a' + page % 26));
    for (unsigned round = 0; round < 6; round++) {
        assert_int_equal(machine_set_kernel(trap.machine, kernel_find(names[round % 3])), 0);
        struct task *child = trap_fork(&trap, parent, 'C');

        trap_tables(&trap, trap.base, tables[round % 3]);
        trap_write(&trap, child, trap.base, 'x');
        trap_write(&trap, parent, trap_page(&trap, 1), 'y');
        trap_expect_loads(&trap, trap.base, 3, "P:ayc C:xbc");
        trap_exit(&trap, child);
        trap_write(&trap, parent, trap_page(&trap, 1), 'b');
    }
    assert_int_equal(machine_set_kernel(trap.machine, kernel_find("modern")), -EINVAL);
    trap_close(&trap);
}

/*
 * UVM's fork copies no entry and leaves out what has an object: the child refers to the amaps, and
 * finds their pages by misses. A write gives it an amap, and a page, of its own.
 */
static void test_fork_that_copies_nothing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct trap trap;

        trap_open(&trap, kernel_find(i == 0 ? "netbsd-1-6" : "netbsd-current"), &geometry_x86_64,
                  MMU_HOST, NULL);
        const uint64_t *counts = trap.machine->events.counts;
        struct task *parent = trap_first(&trap);
        va_t elsewhere = trap.base + trap.span;

        trap_map(&trap, parent, trap.base, 3, RW);
        for (unsigned page = 0; page < 3; page++)
            trap_write(&trap, parent, trap_page(&trap, page), (char)('a' + page));
        trap_map_shared(&trap, parent, elsewhere, 1);
        trap_write(&trap, parent, elsewhere, 's');
        uint64_t copied = counts[EVENT_ENTRY_COPIED];
        struct task *child = trap_fork(&trap, parent, 'C');

        assert_int_equal(counts[EVENT_ENTRY_COPIED], copied);
        trap_tables(&trap, trap.base, "P:1x2 C:1x2");
        trap_tables(&trap, elsewhere, "P:1x1 C:-");
        assert_int_equal(trap_faults(&trap, child, trap.base, ACCESS_READ), 0);
        trap_write(&trap, child, trap.base, 'x');
        trap_steps(&trap, "table-split cow-copy");
        trap_expect_loads(&trap, trap.base, 3, "P:abc C:xbc");
        trap_expect_loads(&trap, elsewhere, 1, "P:s C:s");
        trap_close(&trap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_compatible),
        cmocka_unit_test(test_one_parent_under_three_kernels),
        cmocka_unit_test(test_fork_that_copies_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
