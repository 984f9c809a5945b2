/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fault_classify(): every state of a mapping and its tables, every access, the one next step. It
 * looks and changes nothing.
 *
 * SWAP_IN is named by no state yet: nothing is swapped out. BAD_OOM is what fault_resolve() says
 * when a step is refused memory; it has a test at the end, as has a file that cannot be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "pager/fault.h"
#include "tests/support/trap_fixture.h"

struct bench {
    struct trap trap;
    struct kernel kernel;
    struct task *parent;
    struct task *child;
    va_t va;
};

/* A kernel that shares from the first entry on. */
static void begin(struct bench *bench, const char *kernel)
{
    *bench = (struct bench){.kernel = *kernel_find(kernel)};
    bench->kernel.least_shared_entries = 1;
    trap_open(&bench->trap, &bench->kernel, &geometry_x86_64, MMU_SOFT, NULL);
    bench->parent = trap_first(&bench->trap);
    bench->va = bench->trap.base;
}

static void end(struct bench *bench)
{
    trap_close(&bench->trap);
}

static va_t at(const struct bench *bench, unsigned page)
{
    return bench->va + page * PAGE_BYTES;
}

static const char *name_of(enum event step)
{
    return step == FAULT_PERMITTED ? "permitted" : event_names[step];
}

static void assert_step(struct bench *bench, struct task *task, va_t va, enum access access,
                        const char *expected)
{
    struct fault fault = {.mm = task->mm, .va = va, .access = access};
    uint64_t changes = bench->trap.machine->changes;
    uint64_t requests = bench->trap.machine->ram.gate.requests;
    entry_t entry = va < task->mm->user_end ? trap_entry(task, va) : ENTRY_NONE;
    enum event step = fault_classify(&fault);

    assert_string_equal(name_of(step), expected);
    assert_int_equal(fault_is_bad(step), step >= EVENT_BAD_MAPERR && step <= EVENT_BAD_OOM);
    assert_int_equal(bench->trap.machine->changes, changes);
    assert_int_equal(bench->trap.machine->ram.gate.requests, requests);
    if (va < task->mm->user_end)
        assert_true(trap_entry(task, va) == entry);
}

static void assert_steps(struct bench *bench, struct task *task, va_t va, const char *read,
                         const char *write)
{
    assert_step(bench, task, va, ACCESS_READ, read);
    assert_step(bench, task, va, ACCESS_WRITE, write);
    assert_step(bench, task, va + PAGE_BYTES - 1, ACCESS_READ, read);
    assert_step(bench, task, va + PAGE_BYTES - 1, ACCESS_WRITE, write);
}

static void test_mappings_and_rights(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "modern-shared");
    trap_map(&bench.trap, bench.parent, at(&bench, 1), 1, VMA_READ);
    trap_map(&bench.trap, bench.parent, at(&bench, 2), 1, 0);
    trap_map(&bench.trap, bench.parent, at(&bench, 3), 1, VMA_WRITE);
    trap_map(&bench.trap, bench.parent, at(&bench, 4), 1, VMA_EXEC);
    trap_map(&bench.trap, bench.parent, at(&bench, 5), 1, RW);
    assert_steps(&bench, bench.parent, at(&bench, 0), "maperr", "maperr");
    assert_steps(&bench, bench.parent, at(&bench, 6), "maperr", "maperr");
    assert_steps(&bench, bench.parent, bench.parent->mm->user_end, "maperr", "maperr");
    assert_steps(&bench, bench.parent, UINT64_MAX - PAGE_BYTES + 1, "maperr", "maperr");
    for (int touched = 0; touched < 2; touched++) {
        const char *read = touched ? "permitted" : "zero-fill";

        assert_steps(&bench, bench.parent, at(&bench, 1), read, "accerr");
        assert_steps(&bench, bench.parent, at(&bench, 2), "accerr", "accerr");
        assert_steps(&bench, bench.parent, at(&bench, 3), read, touched ? "cow-copy" : "zero-fill");
        assert_steps(&bench, bench.parent, at(&bench, 4), read, "accerr");
        assert_steps(&bench, bench.parent, at(&bench, 5), read, touched ? "cow-copy" : "zero-fill");
        for (unsigned page = 1; page < 6; page++) {
            if (page != 2)
                trap_read(&bench.trap, bench.parent, at(&bench, page));
        }
    }
    end(&bench);
}

static void test_absent_pages_of_objects(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "modern-shared");
    struct object *file = trap_file(&bench.trap, "AB");
    struct object *shm = trap_shm(&bench.trap, 1);

    trap_map_object(&bench.trap, bench.parent, at(&bench, 0), 3, 0, file, 0);
    trap_map_object(&bench.trap, bench.parent, at(&bench, 3), 2, MAP_REQUEST_SHARED, file, 1);
    trap_map_object(&bench.trap, bench.parent, at(&bench, 5), 2, MAP_REQUEST_SHARED, shm, 0);
    trap_map_object(&bench.trap, bench.parent, at(&bench, 7), 1, 0, shm, 0);
    assert_steps(&bench, bench.parent, at(&bench, 0), "file-fill", "file-fill");
    assert_steps(&bench, bench.parent, at(&bench, 1), "file-fill", "file-fill");
    assert_steps(&bench, bench.parent, at(&bench, 2), "bus", "bus");
    assert_steps(&bench, bench.parent, at(&bench, 3), "file-fill", "file-fill");
    assert_steps(&bench, bench.parent, at(&bench, 4), "bus", "bus");
    assert_steps(&bench, bench.parent, at(&bench, 5), "shm-fill", "shm-fill");
    assert_steps(&bench, bench.parent, at(&bench, 6), "bus", "bus");
    assert_steps(&bench, bench.parent, at(&bench, 7), "shm-fill", "shm-fill");
    /* Past the end, rights come first. */
    trap_protect(&bench.trap, bench.parent, at(&bench, 2), 1, VMA_READ);
    assert_steps(&bench, bench.parent, at(&bench, 2), "bus", "accerr");
    end(&bench);
}

static void test_present_pages(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "modern-shared");
    struct object *file = trap_file(&bench.trap, "AB");

    trap_map(&bench.trap, bench.parent, at(&bench, 0), 2, RW);
    trap_map_object(&bench.trap, bench.parent, at(&bench, 2), 1, 0, file, 0);
    trap_map_object(&bench.trap, bench.parent, at(&bench, 3), 2, MAP_REQUEST_SHARED, file, 0);
    trap_write(&bench.trap, bench.parent, at(&bench, 0), 'a');
    for (unsigned page = 1; page < 4; page++)
        trap_read(&bench.trap, bench.parent, at(&bench, page));
    trap_write(&bench.trap, bench.parent, at(&bench, 4), 'B');
    assert_steps(&bench, bench.parent, at(&bench, 0), "permitted", "permitted");
    assert_steps(&bench, bench.parent, at(&bench, 1), "permitted", "cow-copy");
    assert_steps(&bench, bench.parent, at(&bench, 2), "permitted", "cow-copy");
    assert_steps(&bench, bench.parent, at(&bench, 3), "permitted", "mark-dirty");
    assert_steps(&bench, bench.parent, at(&bench, 4), "permitted", "permitted");
    /* A right that went and came back is there at once where nobody else has the page. */
    trap_protect(&bench.trap, bench.parent, at(&bench, 0), 5, VMA_READ);
    assert_steps(&bench, bench.parent, at(&bench, 4), "permitted", "accerr");
    trap_protect(&bench.trap, bench.parent, at(&bench, 0), 5, RW);
    assert_steps(&bench, bench.parent, at(&bench, 0), "permitted", "permitted");
    assert_steps(&bench, bench.parent, at(&bench, 1), "permitted", "cow-copy");
    assert_steps(&bench, bench.parent, at(&bench, 3), "permitted", "mark-dirty");
    assert_steps(&bench, bench.parent, at(&bench, 4), "permitted", "permitted");
    /* On a kernel that does not do so, it is found again by a fault. */
    bench.trap.kernel.restores_write = false;
    trap_protect(&bench.trap, bench.parent, at(&bench, 0), 5, VMA_READ);
    trap_protect(&bench.trap, bench.parent, at(&bench, 0), 5, RW);
    assert_steps(&bench, bench.parent, at(&bench, 0), "permitted", "cow-reuse");
    assert_steps(&bench, bench.parent, at(&bench, 4), "permitted", "permitted");
    /* A pinned page is reused for its mark, though its count is two. */
    struct pin pin = trap_pin(&bench.trap, bench.parent, at(&bench, 0), ACCESS_READ);

    assert_int_equal(trap_references(&bench.trap, bench.parent, at(&bench, 0)), 2);
    assert_steps(&bench, bench.parent, at(&bench, 0), "permitted", "cow-reuse");
    trap_unpin(&bench.trap, &pin);
    end(&bench);
}

/* From the top down: first the table is to be one's own, then the frame is judged. */
static void test_shared_tables(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "modern-shared");
    trap_map(&bench.trap, bench.parent, at(&bench, 0), 3, RW);
    trap_write(&bench.trap, bench.parent, at(&bench, 0), 'a');
    trap_read(&bench.trap, bench.parent, at(&bench, 1));
    bench.child = trap_fork(&bench.trap, bench.parent, 'C');
    assert_steps(&bench, bench.child, at(&bench, 0), "permitted", "table-split");
    assert_steps(&bench, bench.child, at(&bench, 1), "permitted", "table-split");
    assert_steps(&bench, bench.child, at(&bench, 2), "table-split", "table-split");
    trap_write(&bench.trap, bench.child, at(&bench, 2), 'x');
    assert_steps(&bench, bench.child, at(&bench, 0), "permitted", "cow-copy");
    assert_steps(&bench, bench.parent, at(&bench, 0), "permitted", "table-take-back");
    /* An absent entry needs no taking back: it is filled in the table that nobody else has. */
    assert_steps(&bench, bench.parent, at(&bench, 2), "zero-fill", "zero-fill");
    trap_write(&bench.trap, bench.parent, at(&bench, 2), 'p');
    assert_steps(&bench, bench.parent, at(&bench, 0), "permitted", "cow-copy");
    trap_exit(&bench.trap, bench.child);
    assert_steps(&bench, bench.parent, at(&bench, 0), "permitted", "cow-reuse");
    trap_write(&bench.trap, bench.parent, at(&bench, 0), 'b');
    assert_steps(&bench, bench.parent, at(&bench, 0), "permitted", "permitted");
    end(&bench);
}

static void test_absent_entry_of_a_shared_table(void **state)
{
    static const char *const names[] = {"2.5.41-mm2-shared", "modern-shared"};
    static const char *const reads[] = {"file-fill", "table-split"};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct bench bench;

        begin(&bench, names[i]);
        trap_map_object(&bench.trap, bench.parent, at(&bench, 0), 2, 0,
                        trap_file(&bench.trap, "ABC"), 0);
        trap_write(&bench.trap, bench.parent, at(&bench, 0), 'a');
        bench.child = trap_fork(&bench.trap, bench.parent, 'C');
        assert_steps(&bench, bench.child, at(&bench, 1), reads[i], "table-split");
        end(&bench);
    }
}

/* Where all of the span is MAP_SHARED, everything is done in place, for all. */
static void test_table_of_shared_mappings(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "2.5.41-mm2-shared");
    trap_map_shared(&bench.trap, bench.parent, at(&bench, 0), 3);
    trap_write(&bench.trap, bench.parent, at(&bench, 0), 'a');
    trap_read(&bench.trap, bench.parent, at(&bench, 1));
    bench.child = trap_fork(&bench.trap, bench.parent, 'C');
    trap_tables(&bench.trap, at(&bench, 0), "P:1x2 C:1x2");
    assert_steps(&bench, bench.child, at(&bench, 0), "permitted", "permitted");
    assert_steps(&bench, bench.child, at(&bench, 1), "permitted", "mark-dirty");
    assert_steps(&bench, bench.child, at(&bench, 2), "shm-fill", "shm-fill");
    end(&bench);
}

static void test_guard_entry(void **state)
{
    struct bench bench;
    struct table *table = NULL;

    (void)state;
    begin(&bench, "modern-shared");
    trap_map(&bench.trap, bench.parent, at(&bench, 0), 2, RW);
    assert_int_equal(table_for_one(&bench.parent->mm->tree, at(&bench, 0), NULL, &table), 0);
    table_put(&bench.trap.machine->ram, table, geometry_slot(&geometry_x86_64, at(&bench, 0), 0),
              entry_make_guard());
    assert_steps(&bench, bench.parent, at(&bench, 0), "maperr", "maperr");
    assert_steps(&bench, bench.parent, at(&bench, 1), "zero-fill", "zero-fill");
    end(&bench);
}

/* Both limits of a stack, to the page: its size, and the gap that is kept below it. */
static void test_stack_growth(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "modern-shared");
    struct mm *mm = bench.parent->mm;
    va_t lowest = mm->user_end - mm->stack_limit_bytes;
    va_t page = mm->user_end - 20 * PAGE_BYTES;

    assert_int_equal(mm->stack_limit_bytes, 8u << 20);
    assert_int_equal(mm->stack_gap_bytes, 256 * PAGE_BYTES);
    assert_steps(&bench, bench.parent, mm->user_end - 2 * PAGE_BYTES, "stack-growth",
                 "stack-growth");
    assert_steps(&bench, bench.parent, lowest, "stack-growth", "stack-growth");
    assert_steps(&bench, bench.parent, lowest - PAGE_BYTES, "maperr", "maperr");
    trap_map(&bench.trap, bench.parent, page - mm->stack_gap_bytes - PAGE_BYTES, 1, RW);
    assert_steps(&bench, bench.parent, page, "stack-growth", "stack-growth");
    assert_steps(&bench, bench.parent, page - PAGE_BYTES, "maperr", "maperr");
    trap_protect(&bench.trap, bench.parent, mm->user_end - PAGE_BYTES, 1, VMA_READ);
    assert_steps(&bench, bench.parent, page, "stack-growth", "stack-growth");
    /* An ordinary mapping does not grow. */
    trap_map(&bench.trap, bench.parent, at(&bench, 5), 1, RW);
    assert_steps(&bench, bench.parent, at(&bench, 4), "maperr", "maperr");
    /* The gap is kept from mappings, not from the end of the address space. */
    struct map_request low = {.address = 100 * PAGE_BYTES,
                              .bytes = PAGE_BYTES,
                              .protection = RW,
                              .flags = MAP_REQUEST_FIXED | MAP_REQUEST_GROWSDOWN};
    va_t address;

    assert_int_equal(sys_mmap(bench.parent, &low, &address), 0);
    assert_steps(&bench, bench.parent, 99 * PAGE_BYTES, "stack-growth", "stack-growth");
    assert_steps(&bench, bench.parent, 0, "stack-growth", "stack-growth");
    /* Nor from one that nobody may touch, nor from one that grows itself. */
    trap_map(&bench.trap, bench.parent, 50 * PAGE_BYTES, 1, VMA_READ);
    assert_steps(&bench, bench.parent, 99 * PAGE_BYTES, "maperr", "maperr");
    trap_protect(&bench.trap, bench.parent, 50 * PAGE_BYTES, 1, 0);
    assert_steps(&bench, bench.parent, 51 * PAGE_BYTES, "stack-growth", "stack-growth");
    low.address = 60 * PAGE_BYTES;
    assert_int_equal(sys_mmap(bench.parent, &low, &address), 0);
    assert_steps(&bench, bench.parent, 61 * PAGE_BYTES, "stack-growth", "stack-growth");
    /* Nor beyond what the address space may have. */
    mm->most_pages = mm_mapped_pages(mm, false) + 2;
    assert_steps(&bench, bench.parent, 98 * PAGE_BYTES, "stack-growth", "stack-growth");
    assert_steps(&bench, bench.parent, 97 * PAGE_BYTES, "maperr", "maperr");
    end(&bench);
}

/* Each step that needs memory is refused it: oom, and the task's memory is as it was. */
static void test_resolve_without_memory(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "modern-shared");
    struct allocation_gate *gate = &bench.trap.machine->ram.gate;

    trap_map(&bench.trap, bench.parent, at(&bench, 0), 3, RW);
    trap_write(&bench.trap, bench.parent, at(&bench, 0), 'a');
    trap_read(&bench.trap, bench.parent, at(&bench, 1));
    bench.child = trap_fork(&bench.trap, bench.parent, 'C');
    for (unsigned page = 0; page < 3; page++) {
        struct fault fault = {
            .mm = bench.child->mm, .va = at(&bench, page), .access = ACCESS_WRITE};

        gate->fail_at = gate->requests + 1;
        assert_string_equal(name_of(fault_resolve(&fault)), "oom");
        assert_int_equal(fault.steps, 0);
        trap_check(&bench.trap);
        trap_expect(&bench.trap, at(&bench, 0), 3, "P:a.. C:a..");
        trap_tables(&bench.trap, at(&bench, 0), "P:1x2 C:1x2");
    }
    gate->fail_at = 0;
    end(&bench);
}

static void test_resolve_a_file_that_cannot_be_read(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "modern-shared");
    struct object *file = trap_file(&bench.trap, "AB");
    uint32_t used;

    trap_map_object(&bench.trap, bench.parent, at(&bench, 0), 2, 0, file, 0);
    trap_read(&bench.trap, bench.parent, at(&bench, 0));
    used = trap_used(&bench.trap);
    int unreadable = open("/dev/null", O_WRONLY | O_CLOEXEC);

    assert_int_equal(dup2(unreadable, file->file), file->file);
    (void)close(unreadable);
    struct fault fault = {.mm = bench.parent->mm, .va = at(&bench, 1), .access = ACCESS_READ};

    assert_string_equal(name_of(fault_resolve(&fault)), "bus");
    trap_check(&bench.trap);
    assert_int_equal(trap_used(&bench.trap), used);
    assert_int_equal(trap_read(&bench.trap, bench.parent, at(&bench, 0)), 'A');
    end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mappings_and_rights),
        cmocka_unit_test(test_absent_pages_of_objects),
        cmocka_unit_test(test_present_pages),
        cmocka_unit_test(test_shared_tables),
        cmocka_unit_test(test_absent_entry_of_a_shared_table),
        cmocka_unit_test(test_table_of_shared_mappings),
        cmocka_unit_test(test_guard_entry),
        cmocka_unit_test(test_stack_growth),
        cmocka_unit_test(test_resolve_without_memory),
        cmocka_unit_test(test_resolve_a_file_that_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
