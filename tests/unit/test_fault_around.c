/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fault-around: which pages one read of an object's mapping maps. The strings are what Linux 6.18
 * showed (pagemap) for a memory file of 64 pages: mappings at several places in a leaf table, in
 * the file and across its end.
 */
#include <string.h>

#include "pager/abi.h"
#include "pager/advise.h"
#include "tests/support/trap_fixture.h"

enum { OBJECT_PAGES = 64 };

struct around_case {
    unsigned slot;  /* of the leaf table, where the mapping begins */
    unsigned pages; /* that it has */
    unsigned from;  /* page of the object that it begins with */
    unsigned touch; /* page of the mapping that is read */
    const char *mapped;
};

static const struct around_case cases[] = {
    {0, 64, 0, 0, "1111111111111111000000000000000000000000000000000000000000000000"},
    {0, 64, 0, 20, "0000000000000000111111111111111100000000000000000000000000000000"},
    {5, 40, 0, 0, "1111111111111111000000000000000000000000"},
    {5, 40, 0, 3, "1111111111111111000000000000000000000000"},
    {5, 40, 0, 12, "0000000000011111111111111110000000000000"},
    {5, 40, 3, 20, "0000000000011111111111111110000000000000"},
    {5, 40, 3, 39, "0000000000000000000000000001111111111111"},
    {500, 40, 0, 0, "1111111111110000000000000000000000000000"},
    {500, 40, 0, 12, "0000000000001111111111111111000000000000"},
    {500, 40, 0, 14, "0000000000001111111111111111000000000000"},
    {505, 40, 0, 0, "1111111000000000000000000000000000000000"},
    {0, 4, 0, 2, "1111"},
    {14, 4, 0, 0, "1111"},
    {14, 4, 0, 2, "0011"},
    {0, 40, 50, 0, "1111111111111100000000000000000000000000"},
    {0, 40, 50, 13, "1111111111111100000000000000000000000000"},
    {8, 20, 0, 0, "11111111111111110000"},
    {8, 20, 0, 7, "11111111111111110000"},
    {8, 20, 0, 8, "00000000111111111111"},
    {8, 20, 0, 19, "00000000111111111111"},
};

/* Shared memory with every `step`-th page there. */
static struct object *object_with(struct trap *trap, unsigned pages, unsigned step)
{
    struct object *object = trap_shm(trap, pages);

    for (unsigned page = 0; page < pages; page += step) {
        struct ram_need need = {.frames = 1};
        pfn_t pfn;

        assert_int_equal(ram_reserve(&trap->machine->ram, &need), 0);
        assert_int_equal(object_page(trap->machine, object, page, PFN_NONE, &pfn), 0);
    }
    return object;
}

static void expect_mapped(struct trap *trap, struct task *task, va_t start, const char *expected)
{
    char text[OBJECT_PAGES + 1] = "";

    for (unsigned page = 0; page < strlen(expected); page++)
        text[page] = entry_is_present(trap_entry(task, start + page * PAGE_BYTES)) ? '1' : '0';
    if (strcmp(text, expected) != 0)
        fail_msg("%s: mapped\n%s\n%s was expected", trap->where, text, expected);
}

/* On a kernel that maps around, or else on one that does not. */
static void open_on(struct trap *trap, const char *kernel, int mmu)
{
    trap_open(trap, kernel_find(kernel), &geometry_x86_64, (enum mmu_kind)mmu, NULL);
}

static const char *const around_kernels[] = {"modern", "modern-shared"};

static void map_case(struct trap *trap, struct task *task, const struct around_case *one,
                     uint32_t flags, struct object *object)
{
    va_t start = trap->base + one->slot * PAGE_BYTES;

    trap_map_object(trap, task, start, one->pages, flags, object, one->from);
    assert_int_equal(trap_faults(trap, task, start + one->touch * PAGE_BYTES, ACCESS_READ), 1);
    expect_mapped(trap, task, start, one->mapped);
    /* What lies around a page is not dirty, and private pages are read-only. */
    for (unsigned page = 0; page < one->pages; page++) {
        entry_t entry = trap_entry(task, start + page * PAGE_BYTES);

        assert_false(entry_is_dirty(entry));
        assert_false(entry_is_writable(entry) && flags == 0);
    }
    trap_unmap(trap, task, start, one->pages);
}

static void test_pages_around(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct trap trap;

        open_on(&trap, around_kernels[i / 2], i % 2);
        struct task *parent = trap_first(&trap);
        struct object *object = object_with(&trap, OBJECT_PAGES, 1);

        for (unsigned j = 0; j < sizeof(cases) / sizeof(cases[0]); j++) {
            map_case(&trap, parent, &cases[j], 0, object);
            map_case(&trap, parent, &cases[j], MAP_REQUEST_SHARED, object);
        }
        trap_close(&trap);
    }
}

/* Only what is there is mapped; what is mapped already, or guarded, stays as it is. */
static void test_partly_there(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct trap trap;

        open_on(&trap, around_kernels[i / 2], i % 2);
        struct task *parent = trap_first(&trap);
        struct object *object = object_with(&trap, 32, 3);

        trap_map_object(&trap, parent, trap.base, 32, 0, object, 0);
        trap_write(&trap, parent, trap_page(&trap, 6), 'x');
        trap_result(
            &trap, sys_madvise(parent, trap_page(&trap, 9), PAGE_BYTES, ABI_MADV_GUARD_INSTALL), 0);
        assert_int_equal(trap_faults(&trap, parent, trap_page(&trap, 4), ACCESS_READ), 1);
        expect_mapped(&trap, parent, trap.base, "10011010000010010000000000000000");
        assert_int_equal(trap_read(&trap, parent, trap_page(&trap, 6)), 'x');
        trap_refuses(&trap, parent, trap_page(&trap, 9), ACCESS_READ);
        assert_int_equal(trap_faults(&trap, parent, trap_page(&trap, 2), ACCESS_READ), 1);
        expect_mapped(&trap, parent, trap.base, "10111010000010010000000000000000");
        trap_close(&trap);
    }
}

/*
 * A write maps nothing around, nor does a pin, and neither does a kernel that does not know of it.
 */
static void test_nothing_around(void **state)
{
    static const char *const plain[] = {"2.5.41", "2.5.41-mm2", "2.5.41-mm2-shared"};

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        struct trap trap;

        open_on(&trap, plain[i / 2], i % 2);
        struct task *parent = trap_first(&trap);
        struct object *object = object_with(&trap, 32, 1);

        trap_map_object(&trap, parent, trap.base, 8, 0, object, 0);
        trap_read(&trap, parent, trap_page(&trap, 2));
        expect_mapped(&trap, parent, trap.base, "00100000");
        trap_close(&trap);
        open_on(&trap, "modern", i % 2);
        parent = trap_first(&trap);
        object = object_with(&trap, 32, 1);
        trap_map_object(&trap, parent, trap.base, 8, i / 2 ? MAP_REQUEST_SHARED : 0, object, 0);
        trap_write(&trap, parent, trap_page(&trap, 2), 'x');
        expect_mapped(&trap, parent, trap.base, "00100000");
        struct pin pin = trap_pin(&trap, parent, trap_page(&trap, 5), ACCESS_READ);

        expect_mapped(&trap, parent, trap.base, "00100100");
        trap_unpin(&trap, &pin);
        trap_close(&trap);
    }
}

/* A read past the end of the object is bad, and maps what lies before the end. */
static void test_past_the_end(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        struct trap trap;

        open_on(&trap, around_kernels[i / 2 % 2], i % 2);
        struct task *parent = trap_first(&trap);
        struct object *object = object_with(&trap, 8, 3);

        trap_map_object(&trap, parent, trap.base, 12, i / 4 ? MAP_REQUEST_SHARED : 0, object, 0);
        trap_refuses(&trap, parent, trap_page(&trap, 9), ACCESS_WRITE);
        expect_mapped(&trap, parent, trap.base, "000000000000");
        struct task *child = trap_fork(&trap, parent, 'C');

        trap_refuses(&trap, child, trap_page(&trap, 9), ACCESS_READ);
        expect_mapped(&trap, child, trap.base, "100100100000");
        expect_mapped(&trap, parent, trap.base, "000000000000");
        trap_close(&trap);
    }
}

/* Row 66: what fork left out comes back in few faults. */
static void test_child_reads_what_fork_left_out(void **state)
{
    (void)state;
    for (int mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
        struct trap trap;

        open_on(&trap, "modern", mmu);
        struct task *parent = trap_first(&trap);
        uint64_t faults = 0;

        trap_map_shared(&trap, parent, trap_page(&trap, 7), 64);
        for (unsigned page = 0; page < 64; page++)
            trap_write(&trap, parent, trap_page(&trap, 7 + page), (char)('0' + page));
        struct task *child = trap_fork(&trap, parent, 'C');

        for (unsigned page = 0; page < 64; page++)
            faults += trap_faults(&trap, child, trap_page(&trap, 7 + page), ACCESS_READ);
        assert_int_equal(faults, 5);
        for (unsigned page = 0; page < 64; page++)
            faults += trap_faults(&trap, child, trap_page(&trap, 7 + page), ACCESS_WRITE);
        assert_int_equal(faults, 5);
        struct task *writer = trap_fork(&trap, parent, 'W');

        for (unsigned page = 0; page < 64; page++)
            faults += trap_faults(&trap, writer, trap_page(&trap, 7 + page), ACCESS_WRITE);
        assert_int_equal(faults, 5 + 64);
        trap_close(&trap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_around),
        cmocka_unit_test(test_partly_there),
        cmocka_unit_test(test_nothing_around),
        cmocka_unit_test(test_past_the_end),
        cmocka_unit_test(test_child_reads_what_fork_left_out),
    };

    return cmocka_run_group_tests_name("fault around", tests, NULL, NULL);
}
