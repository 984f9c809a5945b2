/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows: what is let through, what it costs the host, and how it is given up.
 *
 * The host is asked itself: a system call on window memory fails where a load or a store would
 * fault, and /proc/self/maps says how many mappings there are.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "pager/host_arena.h"
#include "pager/host_map.h"
#include "pt/random.h"
#include "tests/host/fake_kernel.h"

#define MIB ((uint64_t)1 << 20)
#define BASE ((va_t)0x400000)

enum { REGION_PAGES = 1200, MOST_CHECKED_PAGES = 64 };

static va_t page_va(uint64_t page)
{
    return BASE + (page << PAGE_SHIFT);
}

static uintptr_t window_base(const struct fake_space *space)
{
    return host_window_of(space->space)->base;
}

/* --- what the host says --- */

static int64_t host_mappings_in_arena(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    uintptr_t arena_end = host_arena_start() + host_arena_bytes();
    char line[512];
    int64_t count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        char *rest;
        uintptr_t start = strtoul(line, &rest, 16);
        uintptr_t end = strtoul(rest + 1, NULL, 16);

        count += start < arena_end && end > host_arena_start();
    }
    (void)fclose(file);
    return count;
}

/* Beside the reservation itself. */
static void assert_count_is_exact(void)
{
    assert_int_equal(host_mappings_in_arena() - 1, host_mappings());
}

static bool host_reads(int pipe_ends[2], uintptr_t address, uint8_t *byte)
{
    ssize_t result = write(pipe_ends[1], (const void *)address, 1);

    if (result != 1)
        return false;
    assert_int_equal(read(pipe_ends[0], byte, 1), 1);
    return true;
}

/* Writes the byte that stands there already. */
static bool host_writes(int pipe_ends[2], uintptr_t address, uint8_t byte)
{
    uint8_t left;

    assert_int_equal(write(pipe_ends[1], &byte, 1), 1);
    if (read(pipe_ends[0], (void *)address, 1) == 1)
        return true;
    assert_int_equal(read(pipe_ends[0], &left, 1), 1);
    return false;
}

/* --- a random test against a model --- */

struct seen {
    bool readable[REGION_PAGES];
    bool writable[REGION_PAGES];
    pfn_t pfn[REGION_PAGES];
    uint64_t count;
};

static void see(void *context, va_t va, pfn_t pfn, bool writable)
{
    struct seen *seen = context;
    uint64_t page = (va - BASE) >> PAGE_SHIFT;

    assert_true(va >= BASE && page < REGION_PAGES);
    seen->readable[page] = true;
    seen->writable[page] = writable;
    seen->pfn[page] = pfn;
    seen->count++;
}

static void look(const struct fake_space *space, struct seen *seen)
{
    *seen = (struct seen){0};
    if (space->space != NULL)
        space->machine->mmu->ops->visit(space->space, see, seen);
}

struct random_test {
    struct fake_machine machine;
    struct fake_space space;
    struct random random;
    int pipe_ends[2];
    struct seen before;
    struct seen after;
    uint64_t first; /* pages that the step may concern */
    uint64_t end;
};

/* What is let through, the tables allow, and the host agrees page by page. */
static void check_page(const struct random_test *test, uint64_t page)
{
    entry_t entry = pt_entry(&test->space.tree, page_va(page));
    uintptr_t address = window_base(&test->space) + page_va(page);
    uint8_t byte = 0;

    if (test->after.readable[page]) {
        assert_true(entry_is_present(entry));
        assert_int_equal(test->after.pfn[page], entry_pfn(entry));
    }
    if (test->after.writable[page])
        assert_true(entry_is_writable(entry) && entry_is_dirty(entry));
    assert_int_equal(host_reads((int *)test->pipe_ends, address, &byte),
                     test->after.readable[page]);
    assert_int_equal(host_writes((int *)test->pipe_ends, address, byte),
                     test->after.writable[page]);
    if (test->after.readable[page])
        assert_int_equal(byte, *frame_data(&test->machine.ram, entry_pfn(entry)));
}

static void check_step(struct random_test *test, bool grows)
{
    for (uint64_t page = 0; page < REGION_PAGES; page++) {
        bool concerned = page >= test->first && page < test->end;

        if (!concerned || grows) {
            assert_true(!test->before.readable[page] || test->after.readable[page]);
            assert_true(!test->before.writable[page] || test->after.writable[page]);
        }
        if (!concerned || !grows) {
            assert_true(test->before.readable[page] || !test->after.readable[page]);
            assert_true(test->before.writable[page] || !test->after.writable[page]);
        }
    }
    for (uint64_t page = test->first; page < min_u64(test->end, test->first + MOST_CHECKED_PAGES);
         page++)
        check_page(test, page);
    for (unsigned i = 0; i < 4; i++)
        check_page(test, random_below(&test->random, REGION_PAGES));
    assert_count_is_exact();
}

/*
 * A fault, resolved: maps the page if need be, by chance to a frame that continues a neighbour's.
 */
static void step_install(struct random_test *test, uint64_t page)
{
    struct fake_space *space = &test->space;
    enum access access = random_below(&test->random, 2) == 0 ? ACCESS_READ : ACCESS_WRITE;

    if (!entry_is_present(pt_entry(&space->tree, page_va(page)))) {
        pfn_t pfn = fake_map(space, page_va(page), ENTRY_WRITE);

        *frame_data(&test->machine.ram, pfn) = (uint8_t)pfn;
    } else if (access == ACCESS_WRITE && random_below(&test->random, 2) == 0) {
        page = round_down(page, 64) + 63 * random_below(&test->random, 2); /* ends of words */
        if (page >= REGION_PAGES || !entry_is_present(pt_entry(&space->tree, page_va(page))))
            return;
    }
    if (access == ACCESS_WRITE && !entry_is_writable(pt_entry(&space->tree, page_va(page))))
        access = ACCESS_READ;
    uint64_t most = test->machine.most_pages;

    test->first = round_down(page + BASE / PAGE_BYTES, most) - BASE / PAGE_BYTES;
    test->end = min_u64(test->first + most, REGION_PAGES);
    assert_int_equal(fake_touch(space, page_va(page), access), 0);
    look(space, &test->after);
    assert_true(test->after.readable[page]);
    assert_true(access == ACCESS_READ || test->after.writable[page]);
    check_step(test, true);
}

static void step_unmap(struct random_test *test)
{
    for (uint64_t page = test->first; page < test->end; page++)
        if (entry_is_present(pt_entry(&test->space.tree, page_va(page))))
            fake_unmap(&test->space, page_va(page));
    look(&test->space, &test->after);
    for (uint64_t page = test->first; page < test->end; page++)
        assert_false(test->after.readable[page]);
    check_step(test, false);
}

static void step_revoke(struct random_test *test)
{
    test->machine.mmu->ops->revoke(test->space.space, page_va(test->first), page_va(test->end));
    look(&test->space, &test->after);
    for (uint64_t page = test->first; page < test->end; page++)
        assert_false(test->after.readable[page]);
    check_step(test, false);
}

static void step_write_protect(struct random_test *test)
{
    fake_write_protect(&test->space, page_va(test->first), page_va(test->end));
    look(&test->space, &test->after);
    for (uint64_t page = test->first; page < test->end; page++) {
        assert_false(test->after.writable[page]);
        assert_int_equal(test->after.readable[page], test->before.readable[page]);
    }
    check_step(test, false);
}

static void step(struct random_test *test)
{
    uint64_t page = random_below(&test->random, REGION_PAGES);
    uint64_t kind = random_below(&test->random, 20);
    uint64_t pages = random_below(&test->random, random_below(&test->random, 10) == 0 ? 700 : 12);

    look(&test->space, &test->before);
    test->first = page;
    test->end = min_u64(REGION_PAGES, page + 1 + pages);
    if (kind < 14)
        step_install(test, kind < 8 ? page : page % 64 + 490);
    else if (kind < 16)
        step_unmap(test);
    else if (kind < 18)
        step_revoke(test);
    else
        step_write_protect(test);
}

static void run_random_test(unsigned most_pages, unsigned steps, uint64_t seed)
{
    struct random_test *test = calloc(1, sizeof(*test));

    assert_non_null(test);
    assert_int_equal(pipe(test->pipe_ends), 0);
    fake_machine_create(&test->machine, &geometry_x86_64, 16 * MIB, NULL);
    fake_space_create(&test->space, &test->machine);
    test->machine.most_pages = most_pages;
    test->random = random_seeded(seed);
    /* Some pages continue each other in the file, others will not. */
    for (uint64_t page = 0; page < REGION_PAGES / 2; page++)
        fake_map(&test->space, page_va(page), ENTRY_WRITE);
    assert_int_equal(fake_touch(&test->space, BASE, ACCESS_READ), 0);
    for (unsigned i = 0; i < steps; i++) {
        step(test);
        if (i % 200 == 199) {
            fake_space_release(&test->space);
            assert_count_is_exact();
            assert_int_equal(fake_touch(&test->space, BASE, ACCESS_READ),
                             entry_is_present(pt_entry(&test->space.tree, BASE)) ? 0 : -EFAULT);
        }
    }
    fake_space_destroy(&test->space);
    fake_machine_destroy(&test->machine);
    assert_int_equal(host_mappings(), 0);
    assert_count_is_exact();
    close(test->pipe_ends[0]);
    close(test->pipe_ends[1]);
    free(test);
}

static void test_random_single(void **state)
{
    (void)state;
    run_random_test(1, 1000, 1);
}

static void test_random_map_ahead(void **state)
{
    (void)state;
    run_random_test(16, 1000, 2);
    run_random_test(512, 200, 3);
}

/* --- what host calls are made --- */

struct calls {
    uint64_t protects;
    uint64_t maps;
};

static struct calls calls_of(const struct fake_machine *machine)
{
    return (struct calls){fake_count(machine, EVENT_HOST_PROTECT),
                          fake_count(machine, EVENT_HOST_MAP)};
}

static void assert_calls(const struct fake_machine *machine, struct calls *before,
                         uint64_t protects, uint64_t maps)
{
    struct calls now = calls_of(machine);

    assert_int_equal(now.protects - before->protects, protects);
    assert_int_equal(now.maps - before->maps, maps);
    *before = now;
}

/* A second space in the same slot, over the same frames, needs mprotect alone. */
static void test_sticky(void **state)
{
    struct fake_machine machine;
    struct fake_space space;
    struct calls calls = {0};
    static const va_t pages[] = {0x400000, 0x401000, 0x7ff000, 0x800000};
    pfn_t pfn[4];

    (void)state;
    fake_machine_create(&machine, &geometry_x86_64, 16 * MIB, NULL);
    for (unsigned round = 0; round < 3; round++) {
        fake_space_create(&space, &machine);
        fake_map(&space, 0x1000, ENTRY_WRITE);
        assert_int_equal(fake_touch(&space, 0x1000, ACCESS_READ), 0);
        calls = calls_of(&machine);
        for (unsigned i = 0; i < 4; i++) {
            pfn_t hint = machine.mmu->ops->frame_hint(space.space, pages[i]);
            pfn_t got = fake_map(&space, pages[i], ENTRY_WRITE);

            if (round > 0)
                assert_int_equal(hint, pfn[i]);
            if (round > 0)
                assert_int_equal(got, pfn[i]);
            pfn[i] = got;
            assert_int_equal(fake_touch(&space, pages[i], ACCESS_WRITE), 0);
        }
        assert_calls(&machine, &calls, round == 0 ? 0 : 4, round == 0 ? 4 : 0);
        /* Nothing changes, so the host is not called. */
        assert_int_equal(fake_touch(&space, pages[0], ACCESS_WRITE), 0);
        assert_int_equal(fake_touch(&space, pages[1], ACCESS_READ), 0);
        machine.mmu->ops->revoke(space.space, 0x900000, 0x40000000);
        machine.mmu->ops->write_protect(space.space, 0x1000, 0x2000);
        assert_calls(&machine, &calls, 0, 0);
        /* Runs: 0x1000; two pages; two pages over the border of chunks. */
        fake_space_release(&space);
        assert_calls(&machine, &calls, 3, 0);
        fake_space_destroy(&space);
    }
    fake_machine_destroy(&machine);
    assert_int_equal(host_mappings(), 0);
}

/* Pages in order, frames in order: one mapping, and one call for the whole block. */
static void test_map_ahead_is_one_call(void **state)
{
    struct fake_machine machine;
    struct fake_space space;
    struct calls calls;

    (void)state;
    fake_machine_create(&machine, &geometry_x86_64, 16 * MIB, NULL);
    fake_space_create(&space, &machine);
    machine.most_pages = 16;
    for (unsigned page = 0; page < 64; page++)
        fake_map(&space, page_va(page), ENTRY_WRITE | ENTRY_DIRTY);
    calls = calls_of(&machine);
    assert_int_equal(fake_touch(&space, page_va(21), ACCESS_WRITE), 0);
    assert_calls(&machine, &calls, 0, 1);
    assert_int_equal(fake_count(&machine, EVENT_PAGE_INSTALLED), 16);
    assert_int_equal(host_mappings(), 2);
    for (unsigned page = 0; page < 64; page += 16)
        assert_int_equal(fake_touch(&space, page_va(page), ACCESS_WRITE), 0);
    assert_calls(&machine, &calls, 0, 3);
    assert_int_equal(host_mappings(), 2);
    assert_int_equal(fake_count(&machine, EVENT_PAGE_INSTALLED), 64);
    fake_space_release(&space);
    assert_calls(&machine, &calls, 1, 0);
    assert_int_equal(fake_count(&machine, EVENT_PAGE_REVOKED), 64);
    /* What is let through already ends a run. */
    machine.most_pages = 1;
    assert_int_equal(fake_touch(&space, page_va(5), ACCESS_WRITE), 0);
    machine.most_pages = 16;
    assert_int_equal(fake_touch(&space, page_va(2), ACCESS_WRITE), 0);
    assert_int_equal(fake_count(&machine, EVENT_PAGE_INSTALLED), 64 + 1 + 5);
    fake_space_destroy(&space);
    fake_machine_destroy(&machine);
}

/* P61: a write brings along what is dirty already, never what is clean. */
static void test_map_ahead_takes_no_clean_page_for_writing(void **state)
{
    struct fake_machine machine;
    struct fake_space space;
    struct seen seen;

    (void)state;
    fake_machine_create(&machine, &geometry_x86_64, 16 * MIB, NULL);
    fake_space_create(&space, &machine);
    machine.most_pages = 16;
    for (unsigned page = 0; page < 16; page++)
        fake_map(&space, page_va(page), page == 5 ? ENTRY_WRITE | ENTRY_DIRTY : ENTRY_WRITE);
    assert_int_equal(fake_touch(&space, page_va(4), ACCESS_WRITE), 0);
    look(&space, &seen);
    assert_int_equal(seen.count, 2);
    assert_true(seen.writable[4] && seen.writable[5]);
    assert_int_equal(fake_touch(&space, page_va(0), ACCESS_READ), 0);
    look(&space, &seen);
    assert_int_equal(seen.count, 6);
    assert_false(seen.writable[0] || seen.writable[3]);
    assert_false(entry_is_accessed(pt_entry(&space.tree, page_va(1))));
    fake_space_destroy(&space);
    fake_machine_destroy(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_single),
        cmocka_unit_test(test_random_map_ahead),
        cmocka_unit_test(test_sticky),
        cmocka_unit_test(test_map_ahead_is_one_call),
        cmocka_unit_test(test_map_ahead_takes_no_clean_page_for_writing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
