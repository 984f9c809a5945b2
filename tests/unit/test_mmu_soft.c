/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The soft MMU by itself: what it lets through, and what it forgets when it is told to. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pager/mmu.h"
#include "pager/run.h"
#include "pt/share.h"

enum { RAM_PAGES = 512, PAGES = 200 };

struct fixture {
    struct event_log *log;
    uint8_t *memory;
    struct ram ram;
    struct pt_tree tree;
    struct mmu *mmu;
    struct mmu_space *space;
};

static void set_up(struct fixture *fixture)
{
    struct ram_need need = {.upper_tables = 1};

    *fixture = (struct fixture){.log = calloc(1, sizeof(*fixture->log)),
                                .memory = aligned_alloc(PAGE_BYTES, RAM_PAGES * PAGE_BYTES)};
    assert_non_null(fixture->log);
    assert_non_null(fixture->memory);
    memset(fixture->memory, 0, RAM_PAGES * PAGE_BYTES);
    assert_int_equal(ram_init(&fixture->ram, &geometry_x86_64, fixture->memory,
                              RAM_PAGES * PAGE_BYTES, fixture->log),
                     0);
    assert_int_equal(ram_reserve(&fixture->ram, &need), 0);
    tree_init(&fixture->tree, &fixture->ram, NULL);
    assert_int_equal(mmu_soft_create(&fixture->mmu, &fixture->ram), 0);
    assert_int_equal(fixture->mmu->ops->bind(fixture->mmu, &fixture->tree, &fixture->space), 0);
}

static void tear_down(struct fixture *fixture)
{
    if (fixture->space != NULL)
        fixture->mmu->ops->release(fixture->space);
    assert_null(fixture->space);
    fixture->mmu->ops->destroy(fixture->mmu);
    tree_destroy(&fixture->tree);
    ram_destroy(&fixture->ram);
    free(fixture->memory);
    free(fixture->log);
}

static va_t page_va(uint64_t page)
{
    return 0x7fffff000000 + page * PAGE_BYTES;
}

static pfn_t map(struct fixture *fixture, va_t va, entry_t flags)
{
    struct ram_need need = {.frames = 1};
    struct table *table;

    assert_int_equal(table_for_one(&fixture->tree, va, &need, &table), 0);
    pfn_t pfn = frame_take(&fixture->ram, FRAME_ANON, PFN_NONE);

    table_fill(&fixture->ram, table, geometry_slot(&geometry_x86_64, va, 0),
               entry_make(pfn, flags));
    return pfn;
}

static int install(struct fixture *fixture, va_t va, bool upper_writable)
{
    struct pt_leaf leaf;

    assert_true(pt_lookup(&fixture->tree, va, &leaf));
    struct mmu_install install = {.va = va,
                                  .table = leaf.table,
                                  .slot = leaf.first,
                                  .upper_writable = upper_writable,
                                  .most_pages = 16};

    return fixture->mmu->ops->install(fixture->space, &install);
}

static uint8_t *translate(struct fixture *fixture, va_t va, enum access access)
{
    return fixture->mmu->ops->translate(fixture->space, va, access);
}

static void test_only_what_was_installed(void **state)
{
    struct fixture fixture;

    (void)state;
    set_up(&fixture);
    pfn_t pfn = map(&fixture, page_va(0), ENTRY_WRITE | ENTRY_DIRTY);

    map(&fixture, page_va(1), ENTRY_WRITE | ENTRY_DIRTY);
    assert_null(translate(&fixture, page_va(0), ACCESS_READ));
    assert_int_equal(install(&fixture, page_va(0) + 77, true), 0);
    assert_ptr_equal(translate(&fixture, page_va(0) + 5, ACCESS_WRITE),
                     frame_data(&fixture.ram, pfn) + 5);
    assert_null(translate(&fixture, page_va(1), ACCESS_READ));
    assert_null(translate(&fixture, page_va(64), ACCESS_READ));
    assert_int_equal(install(&fixture, page_va(2), true), -EINVAL);
    tear_down(&fixture);
}

/* Writing takes a writable dirty entry under writable tables. */
static void test_what_makes_a_page_writable(void **state)
{
    struct fixture fixture;

    (void)state;
    set_up(&fixture);
    map(&fixture, page_va(0), ENTRY_WRITE);
    map(&fixture, page_va(1), ENTRY_DIRTY);
    map(&fixture, page_va(2), ENTRY_WRITE | ENTRY_DIRTY);
    for (unsigned page = 0; page < 3; page++)
        for (unsigned upper = 0; upper < 2; upper++) {
            assert_int_equal(install(&fixture, page_va(page), upper == 1), 0);
            assert_non_null(translate(&fixture, page_va(page), ACCESS_READ));
            assert_int_equal(translate(&fixture, page_va(page), ACCESS_WRITE) != NULL,
                             page == 2 && upper == 1);
        }
    tear_down(&fixture);
}

static void test_revoke_and_write_protect(void **state)
{
    struct fixture fixture;

    (void)state;
    set_up(&fixture);
    for (unsigned page = 0; page < 64; page++) {
        map(&fixture, page_va(page), ENTRY_WRITE | ENTRY_DIRTY);
        assert_int_equal(install(&fixture, page_va(page), true), 0);
    }
    fixture.mmu->ops->revoke(fixture.space, page_va(10), page_va(12));
    fixture.mmu->ops->write_protect(fixture.space, page_va(20), page_va(30));
    for (unsigned page = 0; page < 64; page++) {
        bool revoked = page >= 10 && page < 12;
        bool protected = page >= 20 && page < 30;

        assert_int_equal(translate(&fixture, page_va(page), ACCESS_READ) == NULL, revoked);
        assert_int_equal(translate(&fixture, page_va(page), ACCESS_WRITE) == NULL,
                         revoked || protected);
    }
    /* Whole spans, of which the pages are a small part. */
    fixture.mmu->ops->write_protect(fixture.space, 0, geometry_x86_64.user_end);
    assert_null(translate(&fixture, page_va(0), ACCESS_WRITE));
    assert_non_null(translate(&fixture, page_va(0), ACCESS_READ));
    fixture.mmu->ops->revoke(fixture.space, page_va(63), geometry_x86_64.user_end);
    assert_null(translate(&fixture, page_va(63), ACCESS_READ));
    assert_non_null(translate(&fixture, page_va(62), ACCESS_READ));
    fixture.mmu->ops->revoke(fixture.space, 0, geometry_x86_64.user_end);
    assert_null(translate(&fixture, page_va(62), ACCESS_READ));
    assert_int_equal(fixture.log->counts[EVENT_PAGE_INSTALLED],
                     fixture.log->counts[EVENT_PAGE_REVOKED]);
    tear_down(&fixture);
}

struct seen {
    uint64_t count;
    va_t last;
};

static void see(void *context, va_t va, pfn_t pfn, bool writable)
{
    struct seen *seen = context;

    assert_true(seen->count == 0 || va > seen->last);
    assert_true(pfn != PFN_NONE && writable);
    seen->last = va;
    seen->count++;
}

/* More pages than there are places: the later one stays, and order is that of addresses. */
static void test_pages_push_each_other_out(void **state)
{
    struct fixture fixture;
    struct seen seen = {0};

    (void)state;
    set_up(&fixture);
    for (unsigned page = 0; page < PAGES; page++) {
        map(&fixture, page_va(page), ENTRY_WRITE | ENTRY_DIRTY);
        assert_int_equal(install(&fixture, page_va(page), true), 0);
        assert_non_null(translate(&fixture, page_va(page), ACCESS_WRITE));
    }
    assert_null(translate(&fixture, page_va(PAGES - 65), ACCESS_READ));
    fixture.mmu->ops->visit(fixture.space, see, &seen);
    assert_int_equal(seen.count, 64);
    assert_int_equal(seen.last, page_va(PAGES - 1));
    tear_down(&fixture);
}

/* A space that was given back brings nothing along to the next. */
static void test_spaces_are_used_again(void **state)
{
    struct fixture fixture;
    struct run run;

    (void)state;
    set_up(&fixture);
    map(&fixture, page_va(0), ENTRY_WRITE | ENTRY_DIRTY);
    assert_int_equal(install(&fixture, page_va(0), true), 0);
    fixture.mmu->ops->release(fixture.space);
    assert_null(fixture.space);
    assert_int_equal(fixture.mmu->ops->bind(fixture.mmu, &fixture.tree, &fixture.space), 0);
    assert_null(translate(&fixture, page_va(0), ACCESS_READ));
    assert_int_equal(fixture.mmu->ops->frame_hint(fixture.space, page_va(0)), PFN_NONE);
    assert_int_equal(fixture.mmu->ops->space_bytes(fixture.mmu), geometry_x86_64.user_end);
    assert_int_equal(fixture.mmu->ops->enter(fixture.space, &run), 0);
    assert_false(forklab_is_direct(&run.user, 0));
    fixture.mmu->ops->leave(fixture.space, &run);
    tear_down(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_was_installed),
        cmocka_unit_test(test_what_makes_a_page_writable),
        cmocka_unit_test(test_revoke_and_write_protect),
        cmocka_unit_test(test_pages_push_each_other_out),
        cmocka_unit_test(test_spaces_are_used_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
