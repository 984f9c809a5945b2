/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pte chains: one element for each entry that maps a frame, whatever was done to the tables. That
 * they agree with a full scan is an invariant, checked after each step; here are the numbers.
 */
#include <errno.h>
#include <string.h>

#include "tests/support/trap_fixture.h"

struct bench {
    struct trap trap;
    struct kernel kernel;
    struct task *parent;
    va_t va;
};

static void begin(struct bench *bench, const char *kernel)
{
    *bench = (struct bench){.kernel = *kernel_find(kernel)};
    bench->kernel.least_shared_entries = 1;
    trap_open(&bench->trap, &bench->kernel, &geometry_x86_64, MMU_SOFT, NULL);
    bench->parent = trap_first(&bench->trap);
    bench->va = bench->trap.base;
    trap_map(&bench->trap, bench->parent, bench->va, 4, RW);
    trap_write(&bench->trap, bench->parent, bench->va, 'a');
    trap_write(&bench->trap, bench->parent, bench->va + PAGE_BYTES, 'b');
}

struct found {
    unsigned count;
    const struct table *tables[8];
    unsigned slots[8];
};

static void note(void *context, const struct table *table, unsigned slot)
{
    struct found *found = context;

    assert_in_range(found->count, 0, 7);
    found->tables[found->count] = table;
    found->slots[found->count++] = slot;
}

static struct found visit(struct bench *bench, pfn_t pfn)
{
    struct found found = {0};

    rmap_chains.visit(bench->trap.machine->rmap_context, pfn, note, &found);
    return found;
}

static pfn_t frame_at(const struct bench *bench, const struct task *task, unsigned page)
{
    return entry_pfn(trap_entry(task, bench->va + page * PAGE_BYTES));
}

static void assert_chain(struct bench *bench, const struct task *task, unsigned page,
                         unsigned length)
{
    struct found found = visit(bench, frame_at(bench, task, page));
    unsigned slot = geometry_slot(&geometry_x86_64, bench->va + page * PAGE_BYTES, 0);

    assert_int_equal(found.count, length);
    for (unsigned i = 0; i < length; i++) {
        assert_int_equal(found.slots[i], slot);
        for (unsigned j = 0; j < i; j++)
            assert_ptr_not_equal(found.tables[i], found.tables[j]);
    }
}

static void test_an_entry_for_each_copied_table(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "2.5.41");
    assert_chain(&bench, bench.parent, 0, 1);
    uint64_t added = trap_count(&bench.trap, EVENT_RMAP_ADDED);
    struct task *child = trap_fork(&bench.trap, bench.parent, 'C');

    /* Two pages, and the stack's. */
    assert_int_equal(trap_count(&bench.trap, EVENT_RMAP_ADDED) - added, 3);
    assert_chain(&bench, bench.parent, 0, 2);
    struct task *grandchild = trap_fork(&bench.trap, child, 'G');

    assert_chain(&bench, bench.parent, 0, 3);
    trap_write(&bench.trap, child, bench.va, 'x');
    assert_chain(&bench, bench.parent, 0, 2);
    assert_chain(&bench, child, 0, 1);
    trap_unmap(&bench.trap, grandchild, bench.va, 1);
    assert_chain(&bench, bench.parent, 0, 1);
    assert_chain(&bench, bench.parent, 1, 3);
    trap_exit(&bench.trap, child);
    assert_chain(&bench, bench.parent, 1, 2);
    trap_close(&bench.trap);
}

/* A shared table is one entry, however many have it. */
static void test_an_entry_for_each_shared_table(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "2.5.41-mm2-shared");
    uint64_t added = trap_count(&bench.trap, EVENT_RMAP_ADDED);
    struct task *child = trap_fork(&bench.trap, bench.parent, 'C');

    trap_fork(&bench.trap, child, 'G');
    assert_int_equal(trap_count(&bench.trap, EVENT_RMAP_ADDED), added);
    assert_chain(&bench, bench.parent, 0, 1);
    trap_write(&bench.trap, child, bench.va, 'x');
    assert_chain(&bench, bench.parent, 0, 1);
    assert_chain(&bench, child, 0, 1);
    assert_chain(&bench, bench.parent, 1, 2);
    uint64_t removed = trap_count(&bench.trap, EVENT_RMAP_REMOVED);

    trap_exit(&bench.trap, bench.parent);
    assert_chain(&bench, child, 1, 2);
    assert_int_equal(trap_count(&bench.trap, EVENT_RMAP_REMOVED) - removed, 0);
    trap_close(&bench.trap);
}

static void test_zero_frame_has_no_chain(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "2.5.41");
    trap_read(&bench.trap, bench.parent, bench.va + 2 * PAGE_BYTES);
    trap_fork(&bench.trap, bench.parent, 'C');
    assert_int_equal(visit(&bench, bench.trap.machine->ram.zero_pfn).count, 0);
    assert_int_equal(frame_at(&bench, bench.parent, 2), bench.trap.machine->ram.zero_pfn);
    trap_close(&bench.trap);
}

/* An object's page at two addresses of one task: two entries, in one table. */
static void test_one_frame_twice_in_a_table(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "2.5.41");
    struct object *shm = trap_shm(&bench.trap, 1);

    trap_map_object(&bench.trap, bench.parent, bench.va, 1, MAP_REQUEST_SHARED, shm, 0);
    trap_map_object(&bench.trap, bench.parent, bench.va + PAGE_BYTES, 1, MAP_REQUEST_SHARED, shm,
                    0);
    trap_write(&bench.trap, bench.parent, bench.va, 's');
    trap_expect_loads(&bench.trap, bench.va, 2, "P:ss");
    struct found found = visit(&bench, shm->pages[0]);

    assert_int_equal(found.count, 2);
    assert_ptr_equal(found.tables[0], found.tables[1]);
    assert_int_not_equal(found.slots[0], found.slots[1]);
    trap_unmap(&bench.trap, bench.parent, bench.va, 1);
    found = visit(&bench, shm->pages[0]);
    assert_int_equal(found.count, 1);
    trap_close(&bench.trap);
}

/* More elements than the first lot, shuffled or not, refused or not: chains stay whole. */
static void test_growth_and_age(void **state)
{
    struct bench bench;
    struct ram_need need = {.mappings = 9000};

    (void)state;
    begin(&bench, "2.5.41");
    struct ram *ram = &bench.trap.machine->ram;

    trap_fork(&bench.trap, bench.parent, 'C');
    ram->gate.fail_at = ram->gate.requests + 2;
    assert_int_equal(ram_reserve(ram, &need), -ENOMEM);
    ram->gate.fail_at = 0;
    trap_check(&bench.trap);
    assert_int_equal(ram_reserve(ram, &need), 0);
    trap_check(&bench.trap);
    assert_int_equal(machine_age(bench.trap.machine, 100, 7), 0);
    trap_check(&bench.trap);
    assert_chain(&bench, bench.parent, 0, 2);
    for (unsigned i = 0; i < 5; i++)
        trap_exit(&bench.trap, trap_fork(&bench.trap, bench.parent, 'D'));
    trap_write(&bench.trap, bench.parent, bench.va, 'x');
    assert_chain(&bench, bench.parent, 0, 1);
    trap_expect_loads(&bench.trap, bench.va, 2, "P:xb C:ab");
    trap_close(&bench.trap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_entry_for_each_copied_table),
        cmocka_unit_test(test_an_entry_for_each_shared_table),
        cmocka_unit_test(test_zero_frame_has_no_chain),
        cmocka_unit_test(test_one_frame_twice_in_a_table),
        cmocka_unit_test(test_growth_and_age),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
