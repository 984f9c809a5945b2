/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Objects for files, chains for anonymous pages: what costs an element and what does not, and that
 * each entry is found once. That all are found is an invariant, checked after each step.
 */
#include <string.h>

#include "tests/support/trap_fixture.h"

struct found {
    unsigned count;
    const struct table *tables[8];
};

static void note(void *context, const struct table *table, unsigned slot)
{
    struct found *found = context;

    (void)slot;
    assert_in_range(found->count, 0, 7);
    found->tables[found->count++] = table;
}

static struct found visit(struct trap *trap, const struct task *task, va_t va)
{
    struct found found = {0};

    rmap_partial.visit(trap->machine->rmap_context, entry_pfn(trap_entry(task, va)), note, &found);
    return found;
}

static uint64_t added(const struct trap *trap)
{
    return trap->machine->events.counts[EVENT_RMAP_ADDED];
}

static void open_partial(struct trap *trap, struct kernel *kernel, const char *like)
{
    *kernel = *kernel_find(like);
    kernel->rmap = &rmap_partial;
    trap_open(trap, kernel, &geometry_x86_64, MMU_SOFT, NULL);
}

/* A page of an object: an entry in each table, and no element for any of them. */
static void test_objects_cost_nothing(void **state)
{
    struct kernel kernel;
    struct trap trap;

    (void)state;
    open_partial(&trap, &kernel, "2.6.5-rc1-partial");
    struct task *parent = trap_first(&trap);

    trap_map_shared(&trap, parent, trap.base, 3);
    trap_write(&trap, parent, trap.base, 's');
    uint64_t before = added(&trap);

    trap_write(&trap, parent, trap_page(&trap, 1), 't');
    struct task *child = trap_fork(&trap, parent, 'C');
    struct task *another = trap_fork(&trap, parent, 'D');

    (void)another;
    assert_int_equal(added(&trap) - before, 2); /* of the stack's page, one for each child */
    assert_int_equal(visit(&trap, child, trap.base).count, 3);
    trap_exit(&trap, child);
    assert_int_equal(visit(&trap, parent, trap.base).count, 2);
    assert_int_equal(visit(&trap, parent, trap_page(&trap, 1)).count, 2);
    trap_close(&trap);
}

/* A file read privately is the object's page; written, it has a chain. */
static void test_private_copies_have_chains(void **state)
{
    struct kernel kernel;
    struct trap trap;

    (void)state;
    open_partial(&trap, &kernel, "2.6.5-rc1-partial");
    struct task *task = trap_first(&trap);

    trap_map_object(&trap, task, trap.base, 2, 0, trap_memory_file(&trap, "AB"), 0);
    uint64_t before = added(&trap);

    trap_read(&trap, task, trap.base);
    assert_int_equal(visit(&trap, task, trap.base).count, 1);
    uint64_t after_read = added(&trap);

    trap_write(&trap, task, trap.base, 'x');
    assert_int_equal(added(&trap) - after_read, 1);
    assert_in_range(after_read - before, 0, 1); /* the stack's */
    assert_int_equal(visit(&trap, task, trap.base).count, 1);
    trap_close(&trap);
}

/* Three address spaces share a table: one entry, found once, by whichever of them is left. */
static void test_shared_table_is_met_once(void **state)
{
    struct kernel kernel;
    struct trap trap;

    (void)state;
    open_partial(&trap, &kernel, "2.5.41-mm2-shared");
    struct task *parent = trap_first(&trap);

    trap_map_shared(&trap, parent, trap.base, 3);
    trap_write(&trap, parent, trap.base, 's');
    struct task *child = trap_fork(&trap, parent, 'C');
    struct task *another = trap_fork(&trap, child, 'D');

    trap_tables(&trap, trap.base, "P:1x3 C:1x3 D:1x3");
    assert_int_equal(visit(&trap, another, trap.base).count, 1);
    trap_exit(&trap, child);
    assert_int_equal(visit(&trap, another, trap.base).count, 1);
    trap_exit(&trap, another);
    assert_int_equal(visit(&trap, parent, trap.base).count, 1);
    trap_close(&trap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_cost_nothing),
        cmocka_unit_test(test_private_copies_have_chains),
        cmocka_unit_test(test_shared_table_is_met_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
