/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What several windows and machines share: slots and the host's mappings. Whatever is taken away
 * from whom, user code goes on and sees its own data.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "pager/host_arena.h"
#include "pager/host_map.h"
#include "pager/host_ram.h"
#include "pt/random.h"
#include "tests/host/fake_kernel.h"

#define MIB ((uint64_t)1 << 20)
#define BASE ((va_t)0x400000)

static const struct mmu_host_options tiny_budget = {.mapping_budget = 1}; /* raised to 32 */

enum { LEAST_BUDGET = 32, SCATTERED_PAGES = 600 };

#define SCATTERED_MAPPINGS ((int64_t)2 * SCATTERED_PAGES)

/* Every second page, so that each is a mapping of its own. */
static va_t scattered(uint64_t page)
{
    return BASE + (page << (PAGE_SHIFT + 1));
}

static void store_all(struct forklab_user *user, void *argument)
{
    uint32_t salt = *(const uint32_t *)argument;

    for (uint32_t page = 0; page < SCATTERED_PAGES; page++)
        forklab_store32(user, scattered(page), page ^ salt);
}

static void load_all(struct forklab_user *user, void *argument)
{
    uint32_t *salt = argument;

    for (uint32_t page = 0; page < SCATTERED_PAGES; page++)
        if (forklab_load32(user, scattered(page)) != (page ^ *salt))
            *salt = 0; /* wrong from here on */
}

static void map_scattered(struct fake_space *space)
{
    for (uint32_t page = 0; page < SCATTERED_PAGES; page++)
        fake_map(space, scattered(page), ENTRY_WRITE);
}

static void assert_runs(struct fake_space *space, fake_code *code, void *argument)
{
    struct fake_result result = fake_run(space, code, argument);

    assert_int_equal(result.error, 0);
    assert_false(result.killed);
}

static void store_and_load(struct fake_space *space, uint32_t salt)
{
    uint32_t checked = salt;

    assert_runs(space, store_all, &salt);
    assert_runs(space, load_all, &checked);
    assert_int_equal(checked, salt);
}

static void test_eviction_keeps_data_and_budget(void **state)
{
    struct fake_machine machine;
    struct fake_space space;

    (void)state;
    fake_machine_create(&machine, &geometry_x86_64, 16 * MIB, &tiny_budget);
    fake_space_create(&space, &machine);
    map_scattered(&space);
    store_and_load(&space, 0x5a5a0000);
    assert_true(host_mappings() <= LEAST_BUDGET);
    assert_true(fake_count(&machine, EVENT_WINDOW_EVICTED) > 0);
    fake_space_destroy(&space);
    fake_machine_destroy(&machine);
    assert_int_equal(host_mappings(), 0);
}

/* One load and one store in one instruction, each over the border of two pages. */
static void straddle(struct forklab_user *user, void *argument)
{
    struct random random = random_seeded(*(const uint64_t *)argument);

    for (unsigned i = 0; i < 300; i++) {
        va_t from = BASE + (random_below(&random, 1000) + 1) * PAGE_BYTES - 4;
        va_t to = BASE + (random_below(&random, 1000) + 1) * PAGE_BYTES - 4;
#if defined(__x86_64__)
        const void *source = (const void *)(user->base + from);
        void *destination = (void *)(user->base + to);

        __asm__ volatile("movsq" : "+S"(source), "+D"(destination) : : "memory");
#else
        forklab_store64(user, to, forklab_load64(user, from));
#endif
    }
}

/* P65 */
static void test_instruction_that_needs_four_pages(void **state)
{
    struct fake_machine machine;
    struct fake_space space;
    uint64_t seed = 7;

    (void)state;
    fake_machine_create(&machine, &geometry_x86_64, 16 * MIB, &tiny_budget);
    fake_space_create(&space, &machine);
    /* No page continues its neighbour, so each is a mapping. */
    for (unsigned page = 0; page <= 1001; page += 2)
        fake_map(&space, BASE + page * PAGE_BYTES, ENTRY_WRITE);
    for (unsigned page = 1; page <= 1001; page += 2)
        fake_map(&space, BASE + page * PAGE_BYTES, ENTRY_WRITE);
    assert_runs(&space, straddle, &seed);
    assert_true(host_mappings() <= LEAST_BUDGET);
    assert_true(fake_count(&machine, EVENT_WINDOW_EVICTED) > 0);
    assert_true(machine.faults < 3000);
    fake_space_destroy(&space);
    fake_machine_destroy(&machine);
}

/* A new page, then the seven before it: they must be there still. */
static void look_back(struct forklab_user *user, void *argument)
{
    (void)argument;
    for (uint32_t page = 0; page < SCATTERED_PAGES; page++)
        for (uint32_t back = 0; back < 8 && back <= page; back++)
            (void)forklab_load8(user, scattered(page - back));
}

static void test_last_pages_are_kept(void **state)
{
    struct fake_machine machine;
    struct fake_space space;

    (void)state;
    fake_machine_create(&machine, &geometry_x86_64, 16 * MIB, &tiny_budget);
    fake_space_create(&space, &machine);
    map_scattered(&space);
    assert_runs(&space, look_back, NULL);
    assert_true(fake_count(&machine, EVENT_WINDOW_EVICTED) > 0);
    assert_int_equal(machine.faults, SCATTERED_PAGES);
    fake_space_destroy(&space);
    fake_machine_destroy(&machine);
}

/* What is free goes first, and another machine's windows in use are left alone. */
static void test_machines_share_the_budget(void **state)
{
    struct fake_machine first;
    struct fake_machine second;
    struct fake_space spaces[3];

    (void)state;
    fake_machine_create(&first, &geometry_x86_64, 16 * MIB, NULL);
    fake_machine_create(&second, &geometry_x86_64, 16 * MIB, &tiny_budget);
    fake_space_create(&spaces[0], &first);
    fake_space_create(&spaces[1], &first);
    fake_space_create(&spaces[2], &second);
    for (unsigned i = 0; i < 3; i++)
        map_scattered(&spaces[i]);
    store_and_load(&spaces[0], 1);
    store_and_load(&spaces[1], 2);
    assert_int_equal(host_mappings(), 2 * SCATTERED_MAPPINGS);
    fake_space_release(&spaces[1]);
    assert_int_equal(host_mappings(), 2 * SCATTERED_MAPPINGS);
    store_and_load(&spaces[2], 3);
    /*
     * The first machine's free slot was flushed; its bound window and a few protected pages stay.
     */
    assert_true(host_mappings() >= SCATTERED_MAPPINGS);
    assert_true(host_mappings() <= SCATTERED_MAPPINGS + 16);
    store_and_load(&spaces[1], 4);
    fake_space_destroy(&spaces[0]);
    fake_space_destroy(&spaces[1]);
    fake_machine_destroy(&first);
    store_and_load(&spaces[2], 5);
    fake_space_destroy(&spaces[2]);
    fake_machine_destroy(&second);
    assert_int_equal(host_mappings(), 0);
}

static uint64_t file_bytes(const struct host_ram *ram)
{
    struct stat about;

    assert_int_equal(fstat(host_ram_fd(ram), &about), 0);
    return (uint64_t)about.st_blocks * 512;
}

/* A slot that goes from one machine to another brings nothing along. */
static void test_slot_changes_machines(void **state)
{
    struct fake_machine machines[2];
    struct fake_space spaces[2];

    (void)state;
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 2; i++) {
            fake_machine_create(&machines[i], &geometry_x86_64, 16 * MIB, NULL);
            fake_space_create(&spaces[i], &machines[i]);
            map_scattered(&spaces[i]);
        }
        for (unsigned i = 0; i < 2; i++) {
            store_and_load(&spaces[i], round + 10 * i);
            assert_true(file_bytes(machines[i].host_ram) >= SCATTERED_PAGES * PAGE_BYTES);
        }
        fake_space_release(&spaces[0]);
        store_and_load(&spaces[1], 77);
        for (unsigned i = 0; i < 2; i++) {
            fake_space_destroy(&spaces[i]);
            fake_machine_destroy(&machines[i]);
        }
        assert_int_equal(host_mappings(), 0);
    }
}

static void nothing(struct forklab_user *user, void *argument)
{
    (void)user;
    (void)argument;
}

static void load_one(struct forklab_user *user, void *argument)
{
    *(uint32_t *)argument = forklab_load32(user, scattered(3));
}

/* With two windows for three spaces, the one installed in longest ago gives way. */
static void test_stealing(void **state)
{
    static const struct mmu_host_options two_windows = {.most_windows = 2};
    struct fake_machine machine;
    struct fake_space spaces[3];

    (void)state;
    fake_machine_create(&machine, &geometry_x86_64, 16 * MIB, &two_windows);
    for (unsigned i = 0; i < 3; i++) {
        fake_space_create(&spaces[i], &machine);
        map_scattered(&spaces[i]);
        store_and_load(&spaces[i], i + 1);
    }
    assert_null(spaces[0].space);
    assert_non_null(spaces[1].space);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t got = 0;

        assert_runs(&spaces[i], load_one, &got);
        assert_int_equal(got, 3 ^ (i + 1));
    }
    assert_null(spaces[0].space);
    assert_int_equal(fake_count(&machine, EVENT_WINDOW_TAKEN), 6);
    for (unsigned i = 0; i < 3; i++)
        fake_space_destroy(&spaces[i]);
    fake_machine_destroy(&machine);
}

struct chain {
    struct fake_space *spaces;
    unsigned depth;
    int error; /* of the innermost */
    char problem[160];
};

/* Runs the next space from within this one. */
static void run_next(struct forklab_user *user, void *argument)
{
    struct chain *chain = argument;
    struct fake_space *space = &chain->spaces[++chain->depth];
    struct fake_result result;

    forklab_store32(user, scattered(1), 1);
    if (chain->depth == 2) {
        result = fake_run(space, nothing, NULL);
        chain->error = result.error;
        (void)memcpy(chain->problem, space->machine->mmu->problem, sizeof(chain->problem));
    } else {
        (void)fake_run(space, run_next, chain);
    }
    forklab_store32(user, scattered(2), 1);
}

static void test_no_window_of_a_run_is_stolen(void **state)
{
    static const struct mmu_host_options two_windows = {.most_windows = 2};
    struct fake_machine machine;
    struct fake_space spaces[3];
    struct chain chain = {.spaces = spaces};

    (void)state;
    fake_machine_create(&machine, &geometry_x86_64, 16 * MIB, &two_windows);
    for (unsigned i = 0; i < 3; i++) {
        fake_space_create(&spaces[i], &machine);
        map_scattered(&spaces[i]);
    }
    assert_runs(&spaces[0], run_next, &chain);
    assert_int_equal(chain.error, -ENOSPC);
    assert_non_null(strstr(chain.problem, "every window is in use"));
    assert_runs(&spaces[2], nothing, NULL);
    for (unsigned i = 0; i < 3; i++)
        fake_space_destroy(&spaces[i]);
    fake_machine_destroy(&machine);
}

/* More spaces than the arena has slots. */
static void test_every_slot_of_the_arena(void **state)
{
    enum { SPACES = 1030 };
    struct fake_machine machine;
    struct fake_machine other;
    struct fake_space *spaces = calloc(SPACES, sizeof(*spaces));

    (void)state;
    assert_non_null(spaces);
    fake_machine_create(&other, &geometry_tiny, 64 * MIB, NULL);
    fake_machine_create(&machine, &geometry_tiny, 64 * MIB, NULL);
    fake_space_create(&spaces[0], &other);
    fake_map(&spaces[0], 0x3000, ENTRY_WRITE);
    assert_int_equal(fake_touch(&spaces[0], 0x3000, ACCESS_WRITE), 0);
    fake_space_destroy(&spaces[0]);
    for (unsigned i = 0; i < SPACES; i++) {
        fake_space_create(&spaces[i], &machine);
        fake_map(&spaces[i], 0x3000, ENTRY_WRITE);
        assert_int_equal(fake_touch(&spaces[i], 0x3000, ACCESS_WRITE), 0);
    }
    assert_null(spaces[0].space);
    assert_non_null(spaces[SPACES - 1].space);
    /* The other machine's idle slot was taken as well, and nothing of it was left. */
    assert_int_equal(host_mappings(), 2 * (int64_t)1024);
    for (unsigned i = 0; i < SPACES; i++)
        fake_space_destroy(&spaces[i]);
    fake_machine_destroy(&machine);
    fake_machine_destroy(&other);
    assert_int_equal(host_mappings(), 0);
    free(spaces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eviction_keeps_data_and_budget),
        cmocka_unit_test(test_instruction_that_needs_four_pages),
        cmocka_unit_test(test_last_pages_are_kept),
        cmocka_unit_test(test_machines_share_the_budget),
        cmocka_unit_test(test_slot_changes_machines),
        cmocka_unit_test(test_stealing),
        cmocka_unit_test(test_no_window_of_a_run_is_stolen),
        cmocka_unit_test(test_every_slot_of_the_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
