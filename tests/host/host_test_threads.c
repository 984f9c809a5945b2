/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several threads in user mode at once, on two machines, while others take away what is let through
 * to them; windows are short and so is the budget, so that slots, chunks and mappings change hands.
 * Each thread checks every value that it reads.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pager/host_map.h"
#include "pt/random.h"
#include "tests/host/fake_kernel.h"

#define BASE ((va_t)0x400000)

enum {
    MACHINES = 2,
    ALL_WORKERS = 4, /* of both machines, taking turns */
    SPACES = 2,      /* of a worker */
    PAGES = 120,     /* of a space */
    ROUNDS = 40,     /* runs of a worker */
    ACCESSES = 100,  /* of a run */
};

struct worker {
    struct fake_machine *machine;
    struct fake_space spaces[SPACES];
    uint32_t values[SPACES][PAGES];
    unsigned current; /* space */
    struct random random;
    uint64_t wrong;
    uint64_t killed;
    uint64_t full; /* no window was to be had */
    pthread_t thread;
};

static va_t page_va(uint64_t page)
{
    return BASE + page * 3 * PAGE_BYTES;
}

static void work(struct forklab_user *user, void *argument)
{
    struct worker *worker = argument;
    uint32_t *values = worker->values[worker->current];

    for (unsigned i = 0; i < ACCESSES; i++) {
        uint64_t page = random_below(&worker->random, PAGES);
        uint32_t value = (uint32_t)random_next(&worker->random);

        if (forklab_load32(user, page_va(page)) != values[page])
            worker->wrong++;
        if (value % 2 == 0)
            continue;
        values[page] = value;
        forklab_store32(user, page_va(page), value);
    }
    if (worker->current == 1)
        forklab_store32(user, 0x1000, 1); /* nothing is there: killed */
}

static void *run_worker(void *argument)
{
    struct worker *worker = argument;

    for (unsigned round = 0; round < ROUNDS; round++) {
        worker->current = (unsigned)random_below(&worker->random, SPACES);
        struct fake_result result = fake_run(&worker->spaces[worker->current], work, worker);

        if (result.error == -ENOSPC)
            worker->full++;
        else if (result.error != 0)
            worker->wrong++;
        worker->killed += result.killed;
        if (round % 8 == 7)
            fake_space_release(&worker->spaces[worker->current]);
    }
    return NULL;
}

/* Takes ranges of anybody's windows away, as another sharer of a table would. */
static void disturb(struct worker *workers, struct random *random)
{
    struct worker *victim = &workers[random_below(random, ALL_WORKERS)];
    struct fake_space *space = &victim->spaces[random_below(random, SPACES)];
    const struct mmu_ops *ops = victim->machine->mmu->ops;
    uint64_t page = random_below(random, PAGES);
    va_t end = page_va(page + random_below(random, 20) + 1);

    pthread_mutex_lock(&victim->machine->lock);
    if (space->space != NULL && random_below(random, 2) == 0)
        ops->revoke(space->space, page_va(page), end);
    else if (space->space != NULL)
        ops->write_protect(space->space, page_va(page), end);
    pthread_mutex_unlock(&victim->machine->lock);
}

static void begin_worker(struct worker *worker, struct fake_machine *machine, uint64_t seed)
{
    *worker = (struct worker){.machine = machine, .random = random_seeded(seed)};
    for (unsigned i = 0; i < SPACES; i++) {
        fake_space_create(&worker->spaces[i], machine);
        for (uint64_t page = 0; page < PAGES; page++)
            fake_map(&worker->spaces[i], page_va(page), ENTRY_WRITE);
    }
}

static void end_worker(struct worker *worker)
{
    assert_int_equal(worker->wrong, 0);
    assert_true(worker->killed > 0);
    assert_true(worker->full < ROUNDS);
    for (unsigned i = 0; i < SPACES; i++)
        fake_space_destroy(&worker->spaces[i]);
}

static void test_threads_and_machines(void **state)
{
    static const struct mmu_host_options options = {.mapping_budget = 200, .most_windows = 3};
    struct fake_machine machines[MACHINES];
    struct worker *workers = calloc(ALL_WORKERS, sizeof(*workers));
    struct random random = random_seeded(99);

    (void)state;
    assert_non_null(workers);
    for (unsigned i = 0; i < MACHINES; i++)
        fake_machine_create(&machines[i], &geometry_x86_64, (uint64_t)16 << 20, &options);
    for (unsigned i = 0; i < ALL_WORKERS; i++)
        begin_worker(&workers[i], &machines[i % MACHINES], i + 1);
    for (unsigned i = 0; i < ALL_WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
    for (unsigned i = 0; i < 2000; i++)
        disturb(workers, &random);
    for (unsigned i = 0; i < ALL_WORKERS; i++)
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    for (unsigned i = 0; i < ALL_WORKERS; i++)
        end_worker(&workers[i]);
    for (unsigned i = 0; i < MACHINES; i++)
        fake_machine_destroy(&machines[i]);
    assert_int_equal(host_mappings(), 0);
    free(workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_and_machines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
