/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A region of 1 GiB whose pages are touched in random order and then, in a child that shares the
 * page tables, copied on write one by one in another random order. Each page that stands alone
 * costs the host two mappings, of which it allows a process 65,530: so this is what the budget is
 * for. Contents are looked at on both sides, by the kernel's own access and in part through the
 * windows, and so is the host's own count of mappings.
 */
#include <stdio.h>
#include <stdlib.h>

#include "pager/clock.h"
#include "pager/host_budget.h"
#include "pager/host_map.h"
#include "pager/user_copy.h"
#include "pt/random.h"
#include "tests/support/world.h"

#define GIB ((uint64_t)1 << 30)
#define REGION ((va_t)1 << 30)

enum { PAGES = GIB / PAGE_BYTES, LOOK_EVERY = 1 << 14 };

struct pass {
    const char *name;
    uint32_t *order;
    uint32_t count; /* of pages, the first in order */
    uint64_t seed;  /* of the order */
    bool write;
    uint64_t value; /* of page 0; each page has its own */
    uint64_t wrong;
    int64_t most_mappings;
    unsigned most_real_mappings;
};

/* Mappings that the process has, as the host counts them. */
static unsigned real_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned lines = 0;
    int character;

    if (maps == NULL)
        return 0;
    while ((character = getc(maps)) != EOF)
        lines += character == '\n';
    (void)fclose(maps);
    return lines;
}

static void look(struct pass *pass, uint32_t number)
{
    int64_t mappings = host_mappings();

    if (mappings > pass->most_mappings)
        pass->most_mappings = mappings;
    if (number % LOOK_EVERY != 0)
        return;
    unsigned real = real_mappings();

    if (real > pass->most_real_mappings)
        pass->most_real_mappings = real;
}

/* The word of a page that is written and read. */
static va_t word_of(uint32_t page)
{
    return REGION + page * PAGE_BYTES + (va_t)(page % 500) * 8;
}

static void perform(struct forklab_user *user, void *argument)
{
    struct pass *pass = argument;

    for (uint32_t i = 0; i < pass->count; i++) {
        uint32_t page = pass->order[i];
        va_t va = word_of(page);

        if (pass->write)
            forklab_store64(user, va, pass->value + page);
        else
            pass->wrong += forklab_load64(user, va) != pass->value + page;
        look(pass, i);
    }
}

static void run_pass(struct task *task, struct pass *pass)
{
    uint64_t start = clock_ns();

    random_shuffle(pass->order, PAGES, pass->seed);
    assert_int_equal(world_call(task, perform, pass), 0);
    print_message("  %-22s %5.2f s, at most %lld mappings of windows, %u in all\n", pass->name,
                  (double)(clock_ns() - start) / 1e9, (long long)pass->most_mappings,
                  pass->most_real_mappings);
    assert_int_equal(pass->wrong, 0);
    assert_true(pass->most_mappings <= host_budget_default());
    assert_true(pass->most_real_mappings <= host_budget_default() * 2);
}

/* Every page, read by the kernel. */
static void assert_contents(struct task *task, uint64_t value)
{
    for (uint32_t page = 0; page < PAGES; page++) {
        uint64_t word = 0;

        assert_int_equal(copyin(task, &word, word_of(page), sizeof(word)), 0);
        assert_int_equal(word, value + page);
    }
}

static void test_large_region(void **state)
{
    static const uint64_t first = 1000;
    static const uint64_t second = (uint64_t)7 << 40;
    struct machine_options options = {.kernel = kernel_find("modern-shared"),
                                      .ram_bytes = 9 * GIB / 4};
    struct world world;
    uint32_t *order = malloc(PAGES * sizeof(*order));

    (void)state;
    assert_non_null(order);
    if (host_memory_available_bytes() < 4 * GIB)
        skip();
    for (uint32_t i = 0; i < PAGES; i++)
        order[i] = i;
    world_begin(&world, &options);
    struct task *parent = world_fork(world.init);

    world_map(parent, REGION, GIB);
    run_pass(parent, &(struct pass){"touched", order, PAGES, 1, true, first, 0, 0, 0});
    struct task *child = world_fork(parent);

    assert_true(world.machine->events.counts[EVENT_TABLE_SHARED] >= GIB >> 21);
    run_pass(child, &(struct pass){"copied on write", order, PAGES, 2, true, second, 0, 0, 0});
    assert_contents(parent, first);
    assert_contents(child, second);
    run_pass(parent, &(struct pass){"read", order, PAGES / 16, 3, false, first, 0, 0, 0});
    run_pass(child, &(struct pass){"read", order, PAGES / 16, 4, false, second, 0, 0, 0});
    assert_true(world.machine->events.counts[EVENT_WINDOW_EVICTED] > 0);
    world_end(&world);
    free(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_large_region)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
