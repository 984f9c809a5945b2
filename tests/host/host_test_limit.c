/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's own limit on mappings, reached because another part of the process took them all: user
 * code goes on as long as anything of its machine can be dropped, and what is taken away is gone
 * whatever the host refuses.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "pager/host_budget.h"
#include "pager/host_map.h"
#include "tests/host/fake_kernel.h"

#define BASE ((va_t)0x400000)
#define NEXT_CHUNK ((va_t)0x600000)

enum { MOST_FILLED = 300000, SCATTERED_PAGES = 200 };

static const struct mmu_host_options no_budget = {.mapping_budget = UINT32_MAX};

struct filler {
    uint8_t *start;
    size_t bytes;
};

/* Takes every mapping that the host still grants. */
static void fill(struct filler *filler)
{
    filler->bytes = (size_t)2 * MOST_FILLED * PAGE_BYTES;
    filler->start =
        mmap(NULL, filler->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(filler->start, MAP_FAILED);
    for (size_t i = 0; i < MOST_FILLED; i++)
        if (mprotect(filler->start + (2 * i + 1) * PAGE_BYTES, PAGE_BYTES, PROT_READ) != 0)
            return;
}

static void empty(struct filler *filler)
{
    assert_int_equal(munmap(filler->start, filler->bytes), 0);
}

static bool host_has_a_lower_limit(void)
{
    return host_budget_default() < MOST_FILLED / 2;
}

static void count(void *context, va_t va, pfn_t pfn, bool writable)
{
    (void)va;
    (void)pfn;
    (void)writable;
    ++*(uint64_t *)context;
}

static uint64_t let_through(const struct fake_space *space)
{
    uint64_t pages = 0;

    space->machine->mmu->ops->visit(space->space, count, &pages);
    return pages;
}

static void test_install_drops_the_rest(void **state)
{
    struct fake_machine machine;
    struct fake_space space;
    struct filler filler;

    (void)state;
    if (!host_has_a_lower_limit())
        skip();
    fake_machine_create(&machine, &geometry_x86_64, (uint64_t)16 << 20, &no_budget);
    fake_space_create(&space, &machine);
    for (uint64_t page = 0; page < SCATTERED_PAGES; page++) {
        fake_map(&space, BASE + 2 * page * PAGE_BYTES, ENTRY_WRITE);
        assert_int_equal(fake_touch(&space, BASE + 2 * page * PAGE_BYTES, ACCESS_WRITE), 0);
    }
    for (uint64_t page = 0; page < 8; page++)
        fake_map(&space, NEXT_CHUNK + 2 * page * PAGE_BYTES, ENTRY_WRITE);
    fill(&filler);
    int errors = 0;

    for (uint64_t page = 0; page < 8; page++)
        errors += fake_touch(&space, NEXT_CHUNK + 2 * page * PAGE_BYTES, ACCESS_WRITE) != 0;
    uint64_t pages = let_through(&space);

    empty(&filler);
    assert_int_equal(errors, 0);
    assert_true(pages < SCATTERED_PAGES);
    assert_true(fake_count(&machine, EVENT_WINDOW_EVICTED) > 0);
    fake_space_destroy(&space);
    fake_machine_destroy(&machine);
    assert_int_equal(host_mappings(), 0);
}

/* A page in the middle of a run, which the host cannot split. */
static void test_revoke_and_write_protect_do_not_fail(void **state)
{
    struct fake_machine machine;
    struct fake_space space;
    struct filler filler;
    const struct mmu_ops *ops;

    (void)state;
    if (!host_has_a_lower_limit())
        skip();
    fake_machine_create(&machine, &geometry_x86_64, (uint64_t)16 << 20, &no_budget);
    fake_space_create(&space, &machine);
    machine.most_pages = 16;
    ops = machine.mmu->ops;
    for (uint64_t page = 0; page < 32; page++)
        fake_map(&space, BASE + page * PAGE_BYTES, ENTRY_WRITE | ENTRY_DIRTY);
    assert_int_equal(fake_touch(&space, BASE, ACCESS_WRITE), 0);
    assert_int_equal(fake_touch(&space, BASE + 16 * PAGE_BYTES, ACCESS_WRITE), 0);
    fill(&filler);
    ops->write_protect(space.space, BASE + 8 * PAGE_BYTES, BASE + 9 * PAGE_BYTES);
    uint64_t after_protect = let_through(&space);

    ops->revoke(space.space, BASE + 8 * PAGE_BYTES, BASE + 9 * PAGE_BYTES);
    uint64_t after_revoke = let_through(&space);

    empty(&filler);
    assert_int_equal(after_protect, 32);
    assert_true(after_revoke < 32);
    assert_int_equal(fake_touch(&space, BASE + 8 * PAGE_BYTES, ACCESS_WRITE), 0);
    fake_space_destroy(&space);
    fake_machine_destroy(&machine);
    assert_int_equal(host_mappings(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_install_drops_the_rest),
        cmocka_unit_test(test_revoke_and_write_protect_do_not_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
