/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * find_vma caches: that each answers what the index would, whatever is mapped and unmapped between
 * two lookups, and what each counts.
 */
#include <string.h>

#include "pt/random.h"
#include "tests/support/trap_fixture.h"

static const struct find_cache *const caches[] = {&find_cache_none, &find_cache_last,
                                                  &find_cache_neighbours, &find_cache_slots};

enum { CACHES = sizeof(caches) / sizeof(caches[0]), PLACES = 24, ROUNDS = 3000, TEXT_BYTES = 64 };

/* A machine like 2.6.28-find_vma, whose index has neighbours at hand, but for its cache. */
static struct task *open_with(struct trap *trap, struct kernel *kernel,
                              const struct find_cache *cache)
{
    *kernel = *kernel_find("2.6.28-find_vma");
    kernel->find_cache = cache;
    trap_open(trap, kernel, &geometry_x86_64, MMU_SOFT, NULL);
    return trap_first(trap);
}

static void test_answers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CACHES; i++) {
        struct random random = random_seeded(7);
        struct kernel kernel;
        struct trap trap;
        struct task *task = open_with(&trap, &kernel, caches[i]);
        struct task *other = trap_fork(&trap, task, 'C');

        for (unsigned round = 0; round < ROUNDS; round++) {
            struct task *who = random_below(&random, 4) == 0 ? other : task;
            va_t va = trap_page(&trap, (unsigned)random_below(&random, PLACES));
            struct map_request request = {.address = va,
                                          .bytes = PAGE_BYTES,
                                          .protection = (uint32_t)random_below(&random, 4),
                                          .flags = MAP_REQUEST_FIXED};

            if (random_below(&random, 8) == 0)
                assert_int_equal(sys_mmap(who, &request, &va), 0);
            else if (random_below(&random, 8) == 0)
                assert_int_equal(sys_munmap(who, va, PAGE_BYTES), 0);
            assert_ptr_equal(vma_find(who->mm, va), vma_look(who->mm, va));
            va = trap_page(&trap, (unsigned)random_below(&random, PLACES + 8));
            assert_ptr_equal(vma_find(who->mm, va), vma_look(who->mm, va));
        }
        trap_close(&trap);
    }
}

/* Four mappings of two pages each, with a page between. */
static void map_four(struct trap *trap, struct task *task)
{
    for (unsigned i = 0; i < 4; i++)
        trap_map(trap, task, trap_page(trap, 3 * i), 2, RW);
}

/* Looks at pages by number; what was counted: lookups, last, neighbour, slot hits. */
static void expect_counts(struct trap *trap, struct task *task, const char *pages,
                          const char *expected)
{
    const uint64_t *counts = trap->machine->events.counts;
    uint64_t before[EVENT_COUNT];
    uint64_t counted[EVENT_COUNT];
    char text[TEXT_BYTES];

    memcpy(before, counts, sizeof(before));
    for (const char *page = pages; *page != '\0'; page++)
        (void)vma_find(task->mm, trap_page(trap, (unsigned)(*page - 'a')));
    event_subtract(counted, counts, before);
    (void)snprintf(text, sizeof(text), "%u %u %u %u", (unsigned)counted[EVENT_VMA_LOOKUP],
                   (unsigned)counted[EVENT_LOOKUP_LAST], (unsigned)counted[EVENT_LOOKUP_NEIGHBOUR],
                   (unsigned)counted[EVENT_LOOKUP_SLOT]);
    assert_string_equal(text, expected);
}

/* Pages by letter: ab, de, gh and jk are mapped; c, f and i lie between. */
static void test_counts(void **state)
{
    static const struct {
        const char *pages;
        const char *expected[CACHES];
    } rows[] = {
        {"d", {"1 0 0 0", "1 0 0 0", "1 0 0 0", "1 0 0 0"}},
        {"de", {"2 0 0 0", "2 2 0 0", "2 2 0 0", "2 0 0 2"}},
        {"g", {"1 0 0 0", "1 0 0 0", "1 0 1 0", "1 0 0 0"}},
        {"d", {"1 0 0 0", "1 0 0 0", "1 0 1 0", "1 0 0 1"}},
        {"c", {"1 0 0 0", "1 0 0 0", "1 0 1 0", "1 0 0 0"}},
        {"a", {"1 0 0 0", "1 0 0 0", "1 0 1 0", "1 0 0 0"}},
        {"k", {"1 0 0 0", "1 0 0 0", "1 0 0 0", "1 0 0 0"}},
        {"dagk", {"4 0 0 0", "4 0 0 0", "4 0 2 0", "4 0 0 2"}},
    };

    (void)state;
    for (unsigned i = 0; i < CACHES; i++) {
        struct kernel kernel;
        struct trap trap;
        struct task *task = open_with(&trap, &kernel, caches[i]);

        map_four(&trap, task);
        trap.machine->current = task;
        find_cache_forget(task->mm);
        for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
            expect_counts(&trap, task, rows[row].pages, rows[row].expected[i]);
        trap_close(&trap);
    }
}

/* A fault looks once, however many steps it takes, and onlookers do not count. */
static void test_fault_looks_once(void **state)
{
    struct kernel kernel;
    struct trap trap;
    struct task *task = open_with(&trap, &kernel, &find_cache_last);

    (void)state;
    trap_map(&trap, task, trap.base, 4, RW);
    uint64_t before = trap.machine->events.counts[EVENT_VMA_LOOKUP];

    trap_write(&trap, task, trap.base, 'a');
    assert_int_equal(trap.machine->events.counts[EVENT_VMA_LOOKUP], before + 1);
    trap_read(&trap, task, trap.base);
    assert_int_equal(trap.machine->events.counts[EVENT_VMA_LOOKUP], before + 1);
    trap_check(&trap);
    assert_int_equal(trap.machine->events.counts[EVENT_VMA_LOOKUP], before + 1);
    trap_close(&trap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_fault_looks_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
