/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Anonymous families: founded, adopted, handed down, given back; and that endless lines of forks do
 * not make endlessly many of them.
 */
#include "pager/anon_family.h"
#include "pager/user_copy.h"
#include "tests/support/trap_fixture.h"

enum { PAGES = 3, GENERATIONS = 60, MOST_IN_A_LINE = 6 };

struct bench {
    struct trap trap;
    struct task *parent;
};

static void begin(struct bench *bench, const char *kernel)
{
    trap_open(&bench->trap, kernel_find(kernel), &geometry_x86_64, MMU_SOFT, NULL);
    bench->parent = trap_first(&bench->trap);
    va_t stack = bench->parent->mm->user_end - PAGE_BYTES;

    /* It would have a family, too. */
    trap_unmap(&bench->trap, bench->parent, stack, 1);
    trap_map(&bench->trap, bench->parent, bench->trap.base, PAGES, RW);
}

/* By the kernel: there is no stack. */
static void write_page(struct bench *bench, struct task *task, unsigned page)
{
    assert_int_equal(copyout(task, trap_page(&bench->trap, page), "w", 1), 0);
    trap_check(&bench->trap);
}

static void read_page(struct bench *bench, struct task *task, unsigned page)
{
    char byte;

    assert_int_equal(copyin(task, &byte, trap_page(&bench->trap, page), 1), 0);
    trap_check(&bench->trap);
}

static struct vma *vma_of(const struct bench *bench, const struct task *task)
{
    return vma_find(task->mm, bench->trap.base);
}

static unsigned links_of(const struct vma *vma)
{
    unsigned count = 0;

    for (const struct anon_link *link = vma->links; link != NULL; link = link->next)
        count++;
    return count;
}

/* Of the machine: families, and links with them. */
static void assert_in_use(const struct bench *bench, size_t families, size_t links)
{
    assert_int_equal(bench->trap.machine->anon_families.used_count, families);
    assert_int_equal(bench->trap.machine->anon_links.used_count, links);
}

static void test_founded_by_the_first_write(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "modern");
    read_page(&bench, bench.parent, 0);
    assert_null(vma_of(&bench, bench.parent)->family);
    assert_in_use(&bench, 0, 0);
    write_page(&bench, bench.parent, 0);
    const struct anon_family *family = vma_of(&bench, bench.parent)->family;

    assert_in_use(&bench, 1, 1);
    assert_ptr_equal(family->parent, family);
    assert_int_equal(family->children, 1);
    assert_int_equal(family->active, 1);
    assert_int_equal(family->links, 1);
    write_page(&bench, bench.parent, 1);
    assert_in_use(&bench, 1, 1);
    trap_unmap(&bench.trap, bench.parent, bench.trap.base, PAGES);
    assert_in_use(&bench, 0, 0);
    trap_close(&bench.trap);
}

/* A machine without a zero page founds it at the first read. */
static void test_founded_by_a_read_without_zero_page(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "modern-shared");
    bench.trap.machine->no_zero_page = true;
    read_page(&bench, bench.parent, 0);
    assert_in_use(&bench, 1, 1);
    trap_check(&bench.trap);
    trap_close(&bench.trap);
}

static void test_handed_down(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "modern");
    struct task *early = trap_fork(&bench.trap, bench.parent, 'E');

    assert_null(vma_of(&bench, early)->family);
    write_page(&bench, bench.parent, 0);
    struct task *child = trap_fork(&bench.trap, bench.parent, 'C');
    const struct vma *of_parent = vma_of(&bench, bench.parent);
    const struct vma *of_child = vma_of(&bench, child);

    assert_in_use(&bench, 2, 3);
    assert_ptr_equal(of_child->family->parent, of_parent->family);
    assert_int_equal(of_parent->family->children, 2);
    assert_false(anon_family_is_forked(of_parent));
    assert_true(anon_family_is_forked(of_child));
    assert_ptr_equal(of_child->links->family, of_parent->family);
    assert_ptr_equal(of_child->links->next->family, of_child->family);
    /* The elder goes first; what it founded stays for those that descend from it. */
    trap_exit(&bench.trap, bench.parent);
    assert_in_use(&bench, 2, 2);
    assert_int_equal(of_child->links->family->active, 0);
    trap_exit(&bench.trap, child);
    assert_in_use(&bench, 0, 0);
    trap_close(&bench.trap);
}

/* A split doubles the links, and joining again gives them back. */
static void test_split_and_joined(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "modern");
    write_page(&bench, bench.parent, 0);
    struct task *child = trap_fork(&bench.trap, bench.parent, 'C');

    trap_protect(&bench.trap, child, bench.trap.base + PAGE_BYTES, 1, VMA_READ);
    assert_in_use(&bench, 2, 7);
    assert_int_equal(vma_of(&bench, child)->family->active, 3);
    trap_protect(&bench.trap, child, bench.trap.base + PAGE_BYTES, 1, RW);
    assert_in_use(&bench, 2, 3);
    assert_int_equal(vma_of(&bench, child)->family->active, 1);
    trap_close(&bench.trap);
}

/*
 * Each child writes and forks, and its parent ends: a family that nobody uses any more is handed
 * on, so the line stays short. (Each of them is a child of P, which was forked before anything was
 * written, and so has nothing to do with them.)
 */
static void test_endless_line_of_forks(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "modern");
    struct task *task = trap_fork(&bench.trap, bench.parent, 'a');

    for (unsigned i = 1; i < GENERATIONS; i++) {
        write_page(&bench, task, i % PAGES);
        struct task *child = trap_fork(&bench.trap, task, (char)('a' + i % 2));

        trap_exit(&bench.trap, task);
        task = child;
        assert_true(bench.trap.machine->anon_families.used_count <= MOST_IN_A_LINE);
        assert_true(links_of(vma_of(&bench, task)) <= MOST_IN_A_LINE);
    }
    trap_close(&bench.trap);
}

/* Kernels that merge without families keep none; that a VMA was written is noted all the same. */
static void test_kernels_without_families(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, "2.5.41-mm2-shared");
    write_page(&bench, bench.parent, 0);
    struct task *child = trap_fork(&bench.trap, bench.parent, 'C');

    assert_in_use(&bench, 0, 0);
    assert_true((vma_of(&bench, bench.parent)->flags & VMA_ANCESTRY) != 0);
    assert_true((vma_of(&bench, child)->flags & VMA_ANCESTRY) != 0);
    trap_close(&bench.trap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_founded_by_the_first_write),
        cmocka_unit_test(test_founded_by_a_read_without_zero_page),
        cmocka_unit_test(test_handed_down),
        cmocka_unit_test(test_split_and_joined),
        cmocka_unit_test(test_endless_line_of_forks),
        cmocka_unit_test(test_kernels_without_families),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
