/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many faults `modern` counts for a load or a store: what ru_minflt says on Linux 6.18 for the
 * same sequence. What a processor does by itself there, such as marking a writable page dirty, is a
 * refill here.
 */
#include "pager/abi.h"
#include "pager/advise.h"
#include "tests/support/trap_fixture.h"

/* Everything on both MMUs, on one kernel. */
static void on_both(trap_body *body, const struct kernel *kernel)
{
    for (int mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
        struct trap trap;

        trap_open(&trap, kernel, &geometry_x86_64, (enum mmu_kind)mmu, NULL);
        body(&trap);
        trap_close(&trap);
    }
}

#define COUNT(name)                                                                                \
    static void in_##name(struct trap *trap);                                                      \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        on_both(in_##name, kernel_find("modern"));                                                 \
    }                                                                                              \
    static void in_##name(struct trap *trap)

static void reads(struct trap *trap, struct task *task, unsigned page, uint64_t faults)
{
    uint64_t counted = trap_faults(trap, task, trap_page(trap, page), ACCESS_READ);

    if (counted != faults)
        fail_msg("%s: a load of page %u took %u faults", trap->where, page, (unsigned)counted);
}

static void writes(struct trap *trap, struct task *task, unsigned page, uint64_t faults)
{
    uint64_t counted = trap_faults(trap, task, trap_page(trap, page), ACCESS_WRITE);

    if (counted != faults)
        fail_msg("%s: a store to page %u took %u faults", trap->where, page, (unsigned)counted);
}

/* Read-only and back. */
static void protect_twice(struct trap *trap, struct task *task, uint64_t pages)
{
    trap_protect(trap, task, trap->base, pages, VMA_READ);
    trap_protect(trap, task, trap->base, pages, RW);
}

COUNT(anonymous_memory)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 8, RW);
    reads(trap, parent, 0, 1);
    reads(trap, parent, 0, 0);
    writes(trap, parent, 0, 1);
    writes(trap, parent, 1, 1);
    writes(trap, parent, 1, 0);
    protect_twice(trap, parent, 8);
    writes(trap, parent, 0, 0);
    trap_protect(trap, parent, trap->base, 8, 0);
    trap_protect(trap, parent, trap->base, 8, RW);
    writes(trap, parent, 1, 0);
    reads(trap, parent, 2, 1);
    protect_twice(trap, parent, 8);
    writes(trap, parent, 2, 1);
    trap_result(trap, sys_madvise(parent, trap->base, 3 * PAGE_BYTES, ABI_MADV_FREE), 0);
    reads(trap, parent, 0, 0);
    writes(trap, parent, 0, 0);
    protect_twice(trap, parent, 8);
    writes(trap, parent, 1, 0);
}

COUNT(private_memory_after_fork)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 8, RW);
    for (unsigned page = 0; page < 8; page++)
        writes(trap, parent, page, 1);
    struct task *child = trap_fork(trap, parent, 'C');

    writes(trap, parent, 2, 1);
    protect_twice(trap, parent, 8);
    writes(trap, parent, 2, 0);
    writes(trap, parent, 3, 1);
    reads(trap, child, 0, 0);
    writes(trap, child, 0, 1);
    writes(trap, child, 0, 0);
    protect_twice(trap, child, 8);
    writes(trap, child, 0, 0);
    writes(trap, child, 1, 1);
    trap_exit(trap, child);
    writes(trap, parent, 4, 1);
    writes(trap, parent, 4, 0);
    protect_twice(trap, parent, 8);
    writes(trap, parent, 5, 1);
    writes(trap, parent, 4, 0);
}

/* The frame of zeros goes to the child with its entries, once anything was written. */
COUNT(zero_frame_after_fork)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 4, RW);
    reads(trap, parent, 0, 1);
    struct task *child = trap_fork(trap, parent, 'C');

    reads(trap, child, 0, 1);
    writes(trap, child, 0, 1);
    trap_exit(trap, child);
    writes(trap, parent, 1, 1);
    child = trap_fork(trap, parent, 'C');
    reads(trap, child, 0, 0);
    writes(trap, child, 0, 1);
    reads(trap, child, 2, 1);
}

COUNT(shared_memory)
{
    struct object *object = trap_shm(trap, 64);
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 64, MAP_REQUEST_SHARED, object, 0);
    for (unsigned page = 0; page < 32; page++)
        writes(trap, parent, page, 1);
    trap_result(trap, sys_madvise(parent, trap->base, 64 * PAGE_BYTES, ABI_MADV_DONTNEED), 0);
    reads(trap, parent, 0, 1);
    writes(trap, parent, 0, 0);
    writes(trap, parent, 1, 0);
    writes(trap, parent, 16, 1);
    reads(trap, parent, 17, 1);
    writes(trap, parent, 18, 0);
    reads(trap, parent, 40, 1); /* not there yet: each such page takes its own */
    reads(trap, parent, 41, 1);
    writes(trap, parent, 40, 0);
    protect_twice(trap, parent, 64);
    writes(trap, parent, 19, 0);
    writes(trap, parent, 41, 0);
    trap_result(trap, sys_madvise(parent, trap->base, 64 * PAGE_BYTES, ABI_MADV_POPULATE_READ), 0);
    writes(trap, parent, 60, 0);
}

COUNT(private_mapping_of_an_object)
{
    struct object *object = trap_shm(trap, 64);
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 64, MAP_REQUEST_SHARED, object, 0);
    for (unsigned page = 0; page < 64; page++)
        writes(trap, parent, page, 1);
    trap_map_object(trap, parent, trap->base, 64, 0, object, 0);
    reads(trap, parent, 0, 1);
    writes(trap, parent, 0, 1);
    writes(trap, parent, 1, 1);
    reads(trap, parent, 1, 0);
    writes(trap, parent, 16, 1);
    reads(trap, parent, 17, 1);
    protect_twice(trap, parent, 64);
    writes(trap, parent, 16, 0);
    writes(trap, parent, 17, 1);
}

/* A shared host file: the first write to each clean page is noticed. */
COUNT(shared_file)
{
    struct object *file = trap_file(trap, "ABCD");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 4, MAP_REQUEST_SHARED, file, 0);
    reads(trap, parent, 0, 1);
    writes(trap, parent, 0, 1);
    writes(trap, parent, 0, 0);
    writes(trap, parent, 1, 1);
    protect_twice(trap, parent, 4);
    writes(trap, parent, 0, 0);
    reads(trap, parent, 2, 1);
    protect_twice(trap, parent, 4);
    writes(trap, parent, 2, 1);
}

/* Before write-notify, and without the upgrade by mprotect. */
static void in_older_kernel(struct trap *trap)
{
    struct object *file = trap_file(trap, "ABCD");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 4, MAP_REQUEST_SHARED, file, 0);
    reads(trap, parent, 0, 1);
    writes(trap, parent, 0, 0);
    protect_twice(trap, parent, 4);
    writes(trap, parent, 0, 0);
    trap_map(trap, parent, trap->base, 4, RW);
    writes(trap, parent, 0, 1);
    protect_twice(trap, parent, 4);
    writes(trap, parent, 0, 1);
}

static void older_kernel(void **state)
{
    (void)state;
    on_both(in_older_kernel, kernel_find("2.5.41"));
}

/* A kernel that was told to have no zero page. */
static void in_no_zero_page(struct trap *trap)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 4, RW);
    reads(trap, parent, 0, 1);
    writes(trap, parent, 0, 0);
    reads(trap, parent, 1, 1);
    assert_true(entry_is_exclusive(trap_entry(parent, trap_page(trap, 1))));
    trap_protect(trap, parent, trap->base, 4, VMA_READ);
    reads(trap, parent, 2, 1);
    assert_false(entry_is_writable(trap_entry(parent, trap_page(trap, 2))));
    trap_protect(trap, parent, trap->base, 4, RW);
    writes(trap, parent, 2, 0);
    struct task *child = trap_fork(trap, parent, 'C');

    reads(trap, child, 1, 0);
    reads(trap, child, 3, 1);
    writes(trap, child, 3, 0);
    trap_expect_loads(trap, trap->base, 4, "P:f.f. C:f.ff");
}

static void no_zero_page(void **state)
{
    (void)state;
    for (int mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
        struct trap trap;

        trap_open(&trap, kernel_find("modern"), &geometry_x86_64, (enum mmu_kind)mmu, NULL);
        trap.machine->no_zero_page = true;
        in_no_zero_page(&trap);
        trap_close(&trap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anonymous_memory),
        cmocka_unit_test(private_memory_after_fork),
        cmocka_unit_test(zero_frame_after_fork),
        cmocka_unit_test(shared_memory),
        cmocka_unit_test(private_mapping_of_an_object),
        cmocka_unit_test(shared_file),
        cmocka_unit_test(older_kernel),
        cmocka_unit_test(no_zero_page),
    };

    return cmocka_run_group_tests_name("fault count", tests, NULL, NULL);
}
