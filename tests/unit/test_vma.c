/* SPDX-License-Identifier: GPL-2.0-or-later */
/* VMAs by themselves: inserted, cut, joined, removed, as rulers over the range. */
#include <errno.h>
#include <string.h>

#include "tests/support/ruler.h"
#include "tests/support/trap_fixture.h"

#define RWM (RW | VMA_MAY_WRITE)

enum { RULER_PAGES = 10 };

struct bench {
    struct trap trap;
    struct task *task;
    struct mm *mm;
};

static void begin(struct bench *bench)
{
    trap_open(&bench->trap, kernel_find("modern"), &geometry_x86_64, MMU_SOFT, NULL);
    bench->task = trap_first(&bench->trap);
    bench->mm = bench->task->mm;
}

static void end(struct bench *bench)
{
    vma_remove_range(bench->mm, bench->trap.base, bench->trap.base + RULER_PAGES * PAGE_BYTES);
    trap_close(&bench->trap);
}

static va_t at(const struct bench *bench, unsigned page)
{
    return bench->trap.base + page * PAGE_BYTES;
}

static struct vma *insert(struct bench *bench, unsigned first, unsigned last, uint32_t flags,
                          struct object *object, uint64_t page)
{
    struct vma_shape shape = {.start = at(bench, first),
                              .end = at(bench, last),
                              .flags = flags,
                              .object = object,
                              .object_page =
                                  object != NULL ? page : at(bench, first) >> PAGE_SHIFT};

    assert_int_equal(vma_reserve(bench->mm, 1), 0);
    return vma_insert(bench->mm, &shape);
}

static void assert_ruler(struct bench *bench, const char *expected)
{
    struct ruler ruler = ruler_of(bench->mm, bench->trap.base, RULER_PAGES);

    assert_string_equal(ruler.text, expected);
}

static void test_insert_in_any_order(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench);
    insert(&bench, 6, 8, RWM, NULL, 0);
    insert(&bench, 0, 1, VMA_READ | VMA_MAY_WRITE, NULL, 0);
    insert(&bench, 3, 6, RWM | VMA_SHARED | VMA_ANCESTRY, NULL, 0);
    assert_ruler(&bench, "a..bbbcc.. a:r--p b:rw-s* c:rw-p");
    end(&bench);
}

static void test_split_keeps_all_but_the_range(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench);
    struct object *object = trap_shm(&bench.trap, 20);
    uint32_t before = object->references;
    struct vma *lower = insert(&bench, 2, 7, RWM | VMA_ANCESTRY, object, 5);
    struct vma *upper = vma_split(lower, at(&bench, 4));

    assert_ruler(&bench, "..aabbb... a:rw-p*@5 b:rw-p*@7");
    assert_ptr_equal(vma_next(lower), upper);
    assert_ptr_equal(vma_previous(upper), lower);
    assert_int_equal(object->references, before + 2);
    vma_split(upper, at(&bench, 6));
    assert_ruler(&bench, "..aabbc... a:rw-p*@5 b:rw-p*@7 c:rw-p*@9");
    end(&bench);
}

static void test_merge_with_one_the_other_and_both(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench);
    insert(&bench, 0, 2, RWM, NULL, 0);
    insert(&bench, 4, 6, RWM | VMA_ANCESTRY, NULL, 0);
    struct vma *middle = insert(&bench, 2, 4, RWM, NULL, 0);

    assert_ruler(&bench, "aabbcc.... a:rw-p b:rw-p c:rw-p*");
    struct vma *merged = vma_merge(middle);

    assert_ruler(&bench, "aaaaaa.... a:rw-p*");
    assert_int_equal(merged->start, at(&bench, 0));
    assert_int_equal(merged->end, at(&bench, 6));
    struct vma *far = insert(&bench, 8, 10, RWM, NULL, 0);

    assert_ptr_equal(vma_merge(far), far);
    assert_ruler(&bench, "aaaaaa..bb a:rw-p* b:rw-p");
    vma_merge(insert(&bench, 6, 7, RWM, NULL, 0));
    assert_ruler(&bench, "aaaaaaa.bb a:rw-p* b:rw-p");
    vma_merge(insert(&bench, 7, 8, VMA_READ | VMA_MAY_WRITE, NULL, 0));
    assert_ruler(&bench, "aaaaaaabcc a:rw-p* b:r--p c:rw-p");
    end(&bench);
}

/* Every pair of shapes, side by side: which of them one VMA can stand for. */
static void test_what_continues_what(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench);
    struct object *one = trap_shm(&bench.trap, 20);
    struct object *other = trap_shm(&bench.trap, 20);
    const struct {
        uint32_t flags;
        struct object *object;
        uint64_t page;
        bool continues; /* a private anonymous RW one, or the object's pages 5 and 6 */
        bool continues_object;
    } rows[] = {
        {RWM, NULL, 0, true, false},
        {RWM | VMA_ANCESTRY, NULL, 0, true, false},
        {VMA_READ | VMA_MAY_WRITE, NULL, 0, false, false},
        {RWM | VMA_SHARED, NULL, 0, false, false},
        {RWM | VMA_GROWS_DOWN, NULL, 0, false, false},
        {RW, NULL, 0, false, false},
        {RWM | VMA_LOCKED, NULL, 0, false, false},
        {RWM | VMA_DONT_FORK, NULL, 0, false, false},
        {RWM, one, 7, false, true},
        {RWM, one, 6, false, false},
        {RWM, one, 0, false, false},
        {RWM, other, 7, false, false},
        {RWM | VMA_SHARED, one, 7, false, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct vma *plain = insert(&bench, 0, 2, RWM, NULL, 0);
        struct vma *row = insert(&bench, 2, 4, rows[i].flags, rows[i].object, rows[i].page);

        assert_int_equal(vma_continues(plain, row), rows[i].continues);
        vma_remove(plain);
        struct vma *mapped = insert(&bench, 0, 2, RWM, one, 5);

        assert_int_equal(vma_continues(mapped, row), rows[i].continues_object);
        vma_remove(mapped);
        /* A gap between them. */
        struct vma *far = insert(&bench, 0, 1, RWM, NULL, 0);

        assert_false(vma_continues(far, row));
        vma_remove(far);
        vma_remove(row);
    }
    end(&bench);
}

static void remove_pages(struct bench *bench, unsigned first, unsigned last)
{
    assert_int_equal(vma_reserve(bench->mm, 2), 0);
    vma_remove_range(bench->mm, at(bench, first), at(bench, last));
}

static void test_remove_range(void **state)
{
    const struct {
        unsigned first;
        unsigned last;
        const char *left;
    } rows[] = {
        {0, 1, "...aaabbcc a:rw-p@0 b:r--p c:rw-s"},
        {1, 3, "a..bbbccdd a:rw-p b:rw-p@0 c:r--p d:rw-s"},
        {3, 6, "a.....bbcc a:rw-p b:r--p c:rw-s"},
        {4, 5, "a..b.cddee a:rw-p b:rw-p@0 c:rw-p@2 d:r--p e:rw-s"},
        {2, 4, "a...bbccdd a:rw-p b:rw-p@1 c:r--p d:rw-s"},
        {5, 7, "a..bb..cdd a:rw-p b:rw-p@0 c:r--p d:rw-s"},
        {5, 9, "a..bb....c a:rw-p b:rw-p@0 c:rw-s"},
        {0, 10, ".........."},
        {9, 10, "a..bbbccd. a:rw-p b:rw-p@0 c:r--p d:rw-s"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct bench bench;

        begin(&bench);
        struct object *object = trap_shm(&bench.trap, 20);

        insert(&bench, 0, 1, RWM, NULL, 0);
        insert(&bench, 3, 6, RWM, object, 0);
        insert(&bench, 6, 8, VMA_READ | VMA_MAY_WRITE, NULL, 0);
        insert(&bench, 8, 10, RWM | VMA_SHARED, NULL, 0);
        remove_pages(&bench, rows[i].first, rows[i].last);
        assert_ruler(&bench, rows[i].left);
        trap_check(&bench.trap);
        end(&bench);
    }
}

/* Seven places of a range beside a VMA of pages 3 to 6. */
static void test_any_in(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench);
    insert(&bench, 3, 6, RWM, NULL, 0);
    assert_false(vma_any_in(bench.mm, at(&bench, 0), at(&bench, 3)));
    assert_true(vma_any_in(bench.mm, at(&bench, 0), at(&bench, 4)));
    assert_true(vma_any_in(bench.mm, at(&bench, 3), at(&bench, 4)));
    assert_true(vma_any_in(bench.mm, at(&bench, 4), at(&bench, 5)));
    assert_true(vma_any_in(bench.mm, at(&bench, 5), at(&bench, 9)));
    assert_false(vma_any_in(bench.mm, at(&bench, 6), at(&bench, 9)));
    assert_true(vma_any_in(bench.mm, at(&bench, 0), at(&bench, 9)));
    end(&bench);
}

static void test_permits(void **state)
{
    const struct {
        uint32_t flags;
        bool read;
        bool write;
    } rows[] = {
        {0, false, false},       {VMA_READ, true, false},
        {VMA_WRITE, true, true}, {VMA_EXEC, true, false},
        {RW, true, true},        {VMA_MAY_WRITE | VMA_SHARED, false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct vma vma = {.flags = rows[i].flags};

        assert_int_equal(vma_permits(&vma, false), rows[i].read);
        assert_int_equal(vma_permits(&vma, true), rows[i].write);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_insert_in_any_order),
        cmocka_unit_test(test_split_keeps_all_but_the_range),
        cmocka_unit_test(test_merge_with_one_the_other_and_both),
        cmocka_unit_test(test_what_continues_what),
        cmocka_unit_test(test_remove_range),
        cmocka_unit_test(test_any_in),
        cmocka_unit_test(test_permits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
