/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traps of copying on write after a fork, by their numbers in the project's list.
 *
 * Wait for their operations: P13, P62, P63, P64 (swap), P33 (write-protection for tracking), P44
 * (MADV_DONTNEED), P48 (huge pages), P49 (anon_vma), the write-back half of P61. P42's "directly"
 * is a system call of the host on window memory, which must answer EFAULT.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/trap_fixture.h"

/* The zero frame, a page of an object and a written page in one span. */
TRAP(p02_zero_frame_beside_normal_pages, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap_page(trap, 0), 2, RW);
    trap_map_object(trap, parent, trap_page(trap, 2), 1, MAP_REQUEST_SHARED, trap_shm(trap, 1), 0);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_read(trap, parent, trap_page(trap, 1));
    trap_write(trap, parent, trap_page(trap, 2), 's');
    struct task *child = trap_fork(trap, parent, 'C');

    trap_write(trap, child, trap_page(trap, 0), 'x');
    /* A table with shared pages is copied where fork leaves those to faults. */
    trap_steps(trap, trap->shares && trap->kernel.fork_entries != FORK_REFAULTS
                         ? "table-split cow-copy"
                         : "cow-copy");
    trap_expect(trap, trap->base, 3, "P:a.s C:x.s");
    trap_write(trap, child, trap_page(trap, 2), 't');
    trap_write(trap, parent, trap_page(trap, 1), 'z');
    trap_expect(trap, trap->base, 3, "P:azt C:x.t");
    assert_int_equal(trap->machine->ram.frames[trap->machine->ram.zero_pfn].count, 0);
    trap_expect_loads(trap, trap->base, 3, "P:azt C:x.t");
}

TRAP(p11_written_file_mapping_made_read_only, ANYWHERE)
{
    struct object *file = trap_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, 0, file, 0);
    trap_write(trap, parent, trap_page(trap, 0), 'w');
    trap_read(trap, parent, trap_page(trap, 1));
    trap_protect(trap, parent, trap->base, 3, VMA_READ);
    struct task *child = trap_fork(trap, parent, 'C');

    assert_int_equal(trap_read(trap, child, trap_page(trap, 0)), 'w');
    trap_expect(trap, trap->base, 3, "P:wBC C:wBC");
    trap_protect(trap, child, trap->base, 3, RW);
    trap_protect(trap, parent, trap->base, 3, RW);
    trap_write(trap, child, trap_page(trap, 0), 'x');
    trap_write(trap, parent, trap_page(trap, 1), 'y');
    trap_expect(trap, trap->base, 3, "P:wyC C:xBC");
    trap_write(trap, parent, trap_page(trap, 0), 'z');
    trap_expect_loads(trap, trap->base, 3, "P:zyC C:xBC");
    trap_exit(trap, child);
    trap_exit(trap, parent);
    /* The file's own pages were never touched. */
    parent = trap_first(trap);
    trap_map_object(trap, parent, trap->base, 3, MAP_REQUEST_SHARED, file, 0);
    trap_expect_loads(trap, trap->base, 3, "P:ABC");
}

TRAP(p28_shared_mapping_is_written_by_both_after_fork, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map_shared(trap, parent, trap->base, 3);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    struct task *child = trap_fork(trap, parent, 'C');

    trap_write(trap, child, trap_page(trap, 0), 'b');
    trap_write(trap, parent, trap_page(trap, 1), 'c');
    trap_expect(trap, trap->base, 3, "P:bc. C:bc.");
    trap_write(trap, child, trap_page(trap, 2), 'd');
    trap_write(trap, parent, trap_page(trap, 2), 'e');
    trap_write(trap, child, trap_page(trap, 1), 'f');
    trap_expect_loads(trap, trap->base, 3, "P:bfe C:bfe");
    /* A table that faults can rebuild is not shared where fork leaves it out. */
    bool shared = trap->shares && !trap->refaults;

    trap_tables(trap, trap->base, shared ? "P:1x2 C:1x2" : "P:1x1 C:2x1");
    /* The object's reference, and one of each table. */
    assert_int_equal(trap_references(trap, parent, trap->base), shared ? 2 : 3);
}

/* Beside a private mapping in the same span, which makes the entry above read-only. */
TRAP(p28_shared_beside_private_in_one_span, IN_SPAN)
{
    struct task *parent = trap_first(trap);

    trap_map_shared(trap, parent, trap_page(trap, 0), 2);
    trap_map(trap, parent, trap_page(trap, 2), 1, RW);
    for (unsigned page = 0; page < 3; page += 2)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    struct task *child = trap_fork(trap, parent, 'C');

    trap_write(trap, parent, trap_page(trap, 0), 'x');
    trap_expect(trap, trap->base, 3, "P:x.c C:x.c");
    trap_write(trap, child, trap_page(trap, 1), 'y');
    trap_write(trap, child, trap_page(trap, 2), 'z');
    trap_write(trap, parent, trap_page(trap, 1), 'w');
    trap_expect(trap, trap->base, 3, "P:xwc C:xwz");
    trap_write(trap, child, trap_page(trap, 0), 'v');
    trap_expect_loads(trap, trap->base, 3, "P:vwc C:vwz");
}

TRAP(p29_private_file_first_read_by_the_child, ANYWHERE)
{
    struct object *file = trap_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, 0, file, 0);
    struct task *child = trap_fork(trap, parent, 'C');

    assert_int_equal(trap_read(trap, child, trap_page(trap, 1)), 'B');
    trap_steps(trap, "file-fill");
    trap_expect(trap, trap->base, 3, "P:ABC C:ABC");
    trap_write(trap, child, trap_page(trap, 2), 'x');
    trap_expect_loads(trap, trap->base, 3, "P:ABC C:ABx");
}

/* Resident pages are the sum over a task's tables, shared ones too, the zero frame not. */
TRAP(p32_resident_pages_are_defined, ANYWHERE)
{
    struct task *parent = trap_first(trap);
    struct mm_usage mine;
    struct mm_usage childs;

    trap_map(trap, parent, trap->base, 3, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_write(trap, parent, trap_page(trap, 1), 'b');
    trap_read(trap, parent, trap_page(trap, 2));
    struct task *child = trap_fork(trap, parent, 'C');

    mm_usage(parent->mm, &mine);
    mm_usage(child->mm, &childs);
    assert_int_equal(mine.resident[FRAME_ANON], 3); /* one of the stack */
    assert_int_equal(childs.resident[FRAME_ANON], 3);
    assert_int_equal(mine.resident[FRAME_ZERO], 1);
    trap_write(trap, child, trap_page(trap, 2), 'x');
    mm_usage(child->mm, &childs);
    assert_int_equal(childs.resident[FRAME_ANON], 4);
    mm_usage(parent->mm, &mine);
    assert_int_equal(mine.resident[FRAME_ANON], 3);
    trap_expect_loads(trap, trap->base, 3, "P:ab. C:abx");
}

/* After a mapping's rights went and came back, a write sets only the bits, and no copy is made. */
TRAP(p37_exclusive_page_after_mprotect, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    trap_write(trap, parent, trap->base, 'a');
    uint64_t copies = trap_count(trap, EVENT_FRAME_COPIED);
    pfn_t pfn = entry_pfn(trap_entry(parent, trap->base));

    assert_true(entry_is_exclusive(trap_entry(parent, trap->base)));
    trap_protect(trap, parent, trap->base, 3, VMA_READ);
    trap_refuses(trap, parent, trap->base, ACCESS_WRITE);
    trap_protect(trap, parent, trap->base, 3, RW);
    trap_write(trap, parent, trap->base, 'b');
    trap_steps(trap, trap->kernel.restores_write ? "" : "cow-reuse");
    assert_int_equal(entry_pfn(trap_entry(parent, trap->base)), pfn);
    assert_int_equal(trap_count(trap, EVENT_FRAME_COPIED), copies);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_read(trap, child, trap->base);
    trap_protect(trap, child, trap->base, 3, VMA_READ);
    assert_false(entry_is_exclusive(trap_entry(child, trap->base)));
    assert_false(entry_is_writable(trap_entry(child, trap->base)));
    trap_protect(trap, child, trap->base, 3, RW);
    assert_false(entry_is_writable(trap_entry(child, trap->base)));
    trap_write(trap, child, trap->base, 'c');
    trap_steps(trap, "cow-copy");
    trap_expect_loads(trap, trap->base, 3, "P:b.. C:c..");
}

static void p38_mprotect_and_back(struct trap *trap, uint32_t protection)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_write(trap, parent, trap_page(trap, 2), 'b');
    trap_fork(trap, parent, 'C');
    trap_protect(trap, parent, trap->base, 3, protection);
    trap_protect(trap, parent, trap->base, 3, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'x');
    trap_steps(trap, "cow-copy");
    trap_expect(trap, trap->base, 3, "P:x.b C:a.b");
    /* By a cut and a merge: the page in the middle goes and a new one comes. */
    trap_unmap(trap, parent, trap_page(trap, 1), 1);
    trap_map(trap, parent, trap_page(trap, 1), 1, RW);
    trap_write(trap, parent, trap_page(trap, 2), 'y');
    trap_steps(trap, "cow-copy");
    trap_expect_loads(trap, trap->base, 3, "P:x.y C:a.b");
}

TRAP(p38_mprotect_to_read_and_back, ANYWHERE)
{
    p38_mprotect_and_back(trap, VMA_READ);
}

TRAP(p38_mprotect_to_none_and_back, ANYWHERE)
{
    p38_mprotect_and_back(trap, 0);
}

TRAP(p39_last_reference_is_reused, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    struct task *child = trap_fork(trap, parent, 'C');

    trap_exit(trap, child);
    uint64_t copies = trap_count(trap, EVENT_FRAME_COPIED);

    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('x' + page));
    assert_int_equal(trap_count(trap, EVENT_FRAME_COPIED), copies);
    trap_expect_loads(trap, trap->base, 3, "P:xyz");
}

/* After a split and an exit the pages' counts are down to one again. */
TRAP(p39_last_sharer_after_a_split_is_reused, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    struct task *child = trap_fork(trap, parent, 'C');

    trap_write(trap, child, trap_page(trap, 1), 'x');
    assert_int_equal(trap_references(trap, parent, trap_page(trap, 1)), 1);
    trap_exit(trap, child);
    uint64_t copies = trap_count(trap, EVENT_FRAME_COPIED);

    for (unsigned page = 0; page < 3; page++) {
        trap_write(trap, parent, trap_page(trap, page), (char)('u' + page));
        assert_int_equal(trap_references(trap, parent, trap_page(trap, page)), 1);
    }
    assert_int_equal(trap_count(trap, EVENT_FRAME_COPIED), copies);
    trap_expect_loads(trap, trap->base, 3, "P:uvw");
}

TRAP(p40_zero_frame_is_never_written, IN_SPAN)
{
    struct task *parent = trap_first(trap);
    struct ram *ram = &trap->machine->ram;

    trap_map(trap, parent, trap->base, 2, RW);
    trap_read(trap, parent, trap_page(trap, 0));
    trap_steps(trap, "zero-fill");
    /* Something written, so that every kernel hands the entries on. */
    trap_write(trap, parent, trap_page(trap, 1), 'a');
    struct task *child = trap_fork(trap, parent, 'C');
    uint64_t copied = trap_count(trap, EVENT_FRAME_COPIED);

    trap_write(trap, parent, trap_page(trap, 0), 'x');
    trap_steps(trap, trap_either(trap, "table-split cow-copy", "cow-copy"));
    trap_write(trap, child, trap_page(trap, 0), 'y');
    trap_steps(trap, trap_either(trap, "table-take-back cow-copy", "cow-copy"));
    assert_int_equal(ram->frames[ram->zero_pfn].count, 0);
    assert_int_equal(*frame_data(ram, ram->zero_pfn), 0);
    /* Zeros are made by clearing, not by copying. */
    assert_true(trap_count(trap, EVENT_FRAME_COPIED) - copied <= 1);
    trap_expect(trap, trap->base, 2, "P:xa C:ya");
    trap_map(trap, child, trap_page(trap, 0), 1, RW);
    trap_expect_loads(trap, trap->base, 2, "P:xa C:.a");
}

/* copyout and copyin break COW and fault pages in; where user code would die they say EFAULT. */
TRAP(p42_the_kernels_own_access_breaks_cow, ANYWHERE)
{
    struct task *parent = trap_first(trap);
    char text[4] = "";

    trap_map(trap, parent, trap->base, 3, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    struct task *child = trap_fork(trap, parent, 'C');

    assert_int_equal(trap_read(trap, child, trap_page(trap, 0)), 'a');
    assert_int_equal(copyout(child, trap_page(trap, 0), "xyz", 3), 0);
    trap_check(trap);
    trap_expect(trap, trap->base, 3, "P:a.. C:x..");
    assert_int_equal(trap_read(trap, child, trap_page(trap, 0)), 'x');
    assert_int_equal(copyout(child, trap_page(trap, 1), "q", 1), 0);
    assert_int_equal(copyin(parent, text, trap_page(trap, 2), 1), 0);
    trap_expect_loads(trap, trap->base, 3, "P:a.. C:xq.");
    trap_protect(trap, child, trap_page(trap, 0), 1, VMA_READ);
    trap_refuses(trap, child, trap_page(trap, 0), ACCESS_WRITE);
    trap_protect(trap, child, trap_page(trap, 0), 1, 0);
    trap_refuses(trap, child, trap_page(trap, 0), ACCESS_READ);
    trap_unmap(trap, child, trap_page(trap, 0), 1);
    trap_refuses(trap, child, trap_page(trap, 0), ACCESS_READ);
    trap_expect(trap, trap->base, 3, "P:a.. C:!q.");
}

struct host_call {
    va_t va;
    ssize_t result;
    int error;
};

static void read_into_the_window(struct forklab_user *user, void *argument)
{
    struct host_call *call = argument;
    int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);

    call->result = read(zeros, (void *)(user->base + call->va), 1);
    call->error = errno;
    (void)close(zeros);
}

/* A system call of the host on window memory: EFAULT and no fault, no change. */
TRAP(p42_a_system_call_on_window_memory, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    struct task *child = trap_fork(trap, parent, 'C');
    struct host_call calls[2] = {{.va = trap_page(trap, 0)}, {.va = trap_page(trap, 2)}};

    trap_read(trap, child, trap_page(trap, 0));
    for (unsigned i = 0; i < 2 && trap->mmu == MMU_HOST; i++) {
        assert_int_equal(task_run(child, read_into_the_window, &calls[i]), 0);
        trap_check(trap);
        assert_int_equal(calls[i].result, -1);
        assert_int_equal(calls[i].error, EFAULT);
    }
    trap_expect_loads(trap, trap->base, 3, "P:a.. C:a..");
}

enum { P43_CHILDREN = 300 };

/* Counts wider than a byte: one page, 300 tasks, each of which then has its own table. */
static void count_to_300(struct trap *trap)
{
    struct task *parent = trap_first(trap);
    static struct task *children[P43_CHILDREN];

    trap_map(trap, parent, trap->base, 1, RW);
    trap_write(trap, parent, trap->base, 'a');
    for (unsigned i = 0; i < P43_CHILDREN; i++)
        assert_int_equal(sys_fork(parent, &children[i]), 0);
    trap_check(trap);
    trap_tables(trap, trap->base, trap_either(trap, "P:1x301", "P:1x1"));
    assert_int_equal(trap_references(trap, parent, trap->base), trap->shares ? 1 : 301);
    for (unsigned i = 0; i < P43_CHILDREN; i++)
        assert_int_equal(sys_mprotect(children[i], trap->base, PAGE_BYTES, VMA_READ), 0);
    trap_check(trap);
    trap_tables(trap, trap->base, "P:1x1");
    assert_int_equal(trap_references(trap, parent, trap->base), 301);
    struct task_status status;

    for (unsigned i = P43_CHILDREN; i-- > 0;) {
        assert_int_equal(task_exit(children[i], 0), 0);
        assert_int_equal(sys_wait(parent, children[i], &status), 0);
    }
    trap_check(trap);
    assert_int_equal(trap_references(trap, parent, trap->base), 1);
    trap_write(trap, parent, trap->base, 'b');
    trap_expect_loads(trap, trap->base, 1, "P:b");
}

static void p31_p43_three_hundred_sharers_of_one_page(void **state)
{
    (void)state;
    for (size_t i = 0; i < kernel_count; i++) {
        struct kernel kernel = kernels[i];
        struct trap trap;

        kernel.least_shared_entries = 1;
        /* Frames for 300 address spaces. */
        trap_open(&trap, &kernel, &geometry_i386, MMU_SOFT, &(struct trap_size){.frames = 4096});
        count_to_300(&trap);
        trap_close(&trap);
    }
}

/* A frame that one gives up by copying stays the others'; a freed one is let through nowhere. */
TRAP(p46_copy_for_one_frees_nothing_of_the_others, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    trap_write(trap, parent, trap->base, 'a');
    struct task *child = trap_fork(trap, parent, 'C');
    struct task *grandchild = trap_fork(trap, child, 'G');
    pfn_t pfn = entry_pfn(trap_entry(parent, trap->base));

    trap_expect_loads(trap, trap->base, 1, "P:a C:a G:a");
    trap_write(trap, child, trap->base, 'b');
    trap_write(trap, parent, trap->base, 'c');
    assert_int_equal(entry_pfn(trap_entry(grandchild, trap->base)), pfn);
    trap_expect_loads(trap, trap->base, 1, "P:c C:b G:a");
    trap_exit(trap, child);
    trap_write(trap, grandchild, trap->base, 'd');
    assert_int_equal(entry_pfn(trap_entry(grandchild, trap->base)), pfn);
    trap_unmap(trap, grandchild, trap->base, 3);
    assert_int_equal(trap->machine->ram.frames[pfn].kind, FRAME_FREE);
    trap_expect_loads(trap, trap->base, 3, "P:c.. G:!!!");
}

static bool is_dirty(const struct task *task, va_t va)
{
    return entry_is_dirty(trap_entry(task, va));
}

/* Pages that came along by map-ahead: a write to one of them still marks it dirty. */
TRAP(p61_dirty_is_set_by_a_write_alone, ANYWHERE)
{
    struct object *file = trap_file(trap, "ABCDEFGH");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 8, MAP_REQUEST_SHARED, file, 0);
    for (unsigned page = 0; page < 8; page++)
        trap_read(trap, parent, trap_page(trap, page));
    trap_write(trap, parent, trap_page(trap, 0), 'x');
    trap_steps(trap, "mark-dirty");
    for (unsigned page = 1; page < 8; page++)
        assert_false(is_dirty(parent, trap_page(trap, page)));
    trap_write(trap, parent, trap_page(trap, 5), 'y');
    trap_steps(trap, "mark-dirty");
    for (unsigned page = 0; page < 8; page++)
        assert_int_equal(is_dirty(parent, trap_page(trap, page)), page == 0 || page == 5);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_read(trap, child, trap_page(trap, 0));
    trap_write(trap, child, trap_page(trap, 3), 'z');
    assert_true(is_dirty(child, trap_page(trap, 3)));
    assert_false(is_dirty(child, trap_page(trap, 2)));
    trap_expect_loads(trap, trap->base, 8, "P:xBCzEyGH C:xBCzEyGH");
    /* What was dirty in a table marks its frame when the table goes. */
    pfn_t third = file->pages[3];
    pfn_t second = file->pages[2];

    trap_exit(trap, child);
    trap_exit(trap, parent);
    assert_true((trap->machine->ram.frames[third].flags & FRAME_DIRTY) != 0);
    assert_false((trap->machine->ram.frames[second].flags & FRAME_DIRTY) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p02_zero_frame_beside_normal_pages),
        cmocka_unit_test(p11_written_file_mapping_made_read_only),
        cmocka_unit_test(p28_shared_mapping_is_written_by_both_after_fork),
        cmocka_unit_test(p28_shared_beside_private_in_one_span),
        cmocka_unit_test(p29_private_file_first_read_by_the_child),
        cmocka_unit_test(p32_resident_pages_are_defined),
        cmocka_unit_test(p37_exclusive_page_after_mprotect),
        cmocka_unit_test(p38_mprotect_to_read_and_back),
        cmocka_unit_test(p38_mprotect_to_none_and_back),
        cmocka_unit_test(p39_last_reference_is_reused),
        cmocka_unit_test(p39_last_sharer_after_a_split_is_reused),
        cmocka_unit_test(p40_zero_frame_is_never_written),
        cmocka_unit_test(p42_the_kernels_own_access_breaks_cow),
        cmocka_unit_test(p42_a_system_call_on_window_memory),
        cmocka_unit_test(p31_p43_three_hundred_sharers_of_one_page),
        cmocka_unit_test(p46_copy_for_one_frees_nothing_of_the_others),
        cmocka_unit_test(p61_dirty_is_set_by_a_write_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
