/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mremap and what a mapping has beside its pages: locks, advice for fork, guard pages; and the
 * limits on mappings and on address space. All was seen on Linux 6.18.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pager/abi.h"
#include "pager/abi_call.h"
#include "pager/advise.h"
#include "pager/remap.h"
#include "tests/support/trap_fixture.h"

#define FIXED (ABI_MREMAP_MAYMOVE | ABI_MREMAP_FIXED)
#define FIXED_KEEP (FIXED | ABI_MREMAP_DONTUNMAP)

enum { FAR = 32, TARGET = 40, REGION = 56 };

/* One call, in pages from the base on. */
struct call {
    unsigned from;
    unsigned old_pages;
    unsigned new_pages;
    uint32_t flags;
    unsigned to;
};

static int remap(struct trap *trap, struct task *task, struct call call)
{
    struct remap_request request = {.address = trap_page(trap, call.from),
                                    .old_bytes = call.old_pages * PAGE_BYTES,
                                    .new_bytes = call.new_pages * PAGE_BYTES,
                                    .flags = call.flags,
                                    .new_address = trap_page(trap, call.to)};
    va_t address = 0;
    int error = sys_mremap(task, &request, &address);

    trap_check(trap);
    return error;
}

static void remap_granted(struct trap *trap, struct task *task, struct call call)
{
    int error = remap(trap, task, call);

    if (error != 0)
        fail_msg("%s: mremap came to %d", trap->where, error);
}

static void advise(struct trap *trap, struct task *task, unsigned page, unsigned pages, int advice)
{
    assert_int_equal(sys_madvise(task, trap_page(trap, page), pages * PAGE_BYTES, advice), 0);
    trap_check(trap);
}

static void lock(struct trap *trap, struct task *task, unsigned page, unsigned pages)
{
    assert_int_equal(sys_mlock(task, trap_page(trap, page), pages * PAGE_BYTES), 0);
    trap_check(trap);
}

/* "0-4l 8-9" : the mappings of the region; l locked, f not for children, w wiped for them. */
static void assert_mappings(struct trap *trap, const struct task *task, const char *expected)
{
    char text[TRAP_TEXT_BYTES] = "";
    size_t length = 0;
    const struct vma *vma = vma_find(task->mm, trap->base);

    for (; vma != NULL && vma->start < trap_page(trap, REGION); vma = vma_next(vma))
        length += (size_t)snprintf(
            text + length, sizeof(text) - length, "%s%u-%u%s%s%s", length > 0 ? " " : "",
            (unsigned)((vma->start - trap->base) / PAGE_BYTES),
            (unsigned)((vma->end - trap->base) / PAGE_BYTES), vma->flags & VMA_LOCKED ? "l" : "",
            vma->flags & VMA_DONT_FORK ? "f" : "", vma->flags & VMA_WIPE_ON_FORK ? "w" : "");
    if (strcmp(text, expected) != 0)
        fail_msg("%s: \"%s\", and not \"%s\"", trap->where, text, expected);
}

static void assert_resident(const struct trap *trap, const struct task *task, unsigned page,
                            const char *expected)
{
    for (unsigned i = 0; expected[i] != '\0'; i++) {
        bool is_there = entry_is_present(trap_entry(task, trap_page(trap, page + i)));

        if (is_there != (expected[i] == '1'))
            fail_msg("%s: page %u is %s", trap->where, page + i, is_there ? "there" : "absent");
    }
}

/* Places are far apart, so only the large geometries have them; half a span before the end. */
static void everywhere(trap_body *body)
{
    for (size_t i = 0; i < kernel_count; i++) {
        for (int mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
            struct trap trap;

            trap_open(&trap, &kernels[i], i % 2 == 0 ? &geometry_x86_64 : &geometry_i386,
                      (enum mmu_kind)mmu, NULL);
            trap.base -= 2 * PAGE_BYTES;
            body(&trap);
            trap_close(&trap);
        }
    }
}

#define EVERYWHERE(name)                                                                           \
    static void in_##name(struct trap *trap);                                                      \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        everywhere(in_##name);                                                                     \
    }                                                                                              \
    static void in_##name(struct trap *trap)

/* P with four private pages "abc." */
static struct task *with_four_pages(struct trap *trap)
{
    struct task *task = trap_first(trap);

    trap_map(trap, task, trap_page(trap, 0), 4, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, task, trap_page(trap, page), (char)('a' + page));
    return task;
}

/* --- locks --- */

EVERYWHERE(locked_memory_stays_locked_where_it_goes)
{
    struct task *task = with_four_pages(trap);

    lock(trap, task, 0, 4);
    remap_granted(trap, task, (struct call){1, 2, 2, FIXED, FAR});
    assert_mappings(trap, task, "0-1l 3-4l 32-34l");
    assert_resident(trap, task, 0, "1001");
    assert_resident(trap, task, FAR, "11");
    trap_expect(trap, trap_page(trap, FAR), 2, "P:bc");
}

EVERYWHERE(locked_memory_that_grows_is_there_at_once)
{
    struct task *task = with_four_pages(trap);

    lock(trap, task, 0, 4);
    remap_granted(trap, task, (struct call){0, 4, 6, 0, 0});
    assert_mappings(trap, task, "0-6l");
    assert_resident(trap, task, 0, "111111");
    remap_granted(trap, task, (struct call){0, 1, 4, FIXED, FAR});
    assert_mappings(trap, task, "1-6l 32-36l");
    assert_resident(trap, task, FAR, "1111");
    trap_expect_loads(trap, trap_page(trap, FAR), 4, "P:a...");
}

EVERYWHERE(unlocked_memory_that_grows_is_not)
{
    struct task *task = with_four_pages(trap);

    remap_granted(trap, task, (struct call){0, 4, 6, 0, 0});
    assert_resident(trap, task, 0, "111000");
}

/* Linux unlocks all of a mapping of which a part moves and is kept. */
EVERYWHERE(a_kept_source_is_unlocked)
{
    struct task *task = with_four_pages(trap);

    lock(trap, task, 0, 4);
    remap_granted(trap, task, (struct call){1, 2, 2, FIXED_KEEP, FAR});
    assert_mappings(trap, task, "0-4 32-34l");
    assert_resident(trap, task, 0, "1001");
    assert_resident(trap, task, FAR, "11");
}

/* And does not look whether it could be one with what lies beside it. */
EVERYWHERE(a_kept_source_joins_nothing)
{
    struct task *task = trap_first(trap);

    trap_map(trap, task, trap_page(trap, 0), 4, RW);
    lock(trap, task, 0, 2);
    remap_granted(trap, task, (struct call){0, 2, 2, FIXED_KEEP, FAR});
    assert_mappings(trap, task, "0-2 2-4 32-34l");
}

EVERYWHERE(a_second_mapping_of_locked_memory_is_there_at_once)
{
    struct task *task = trap_first(trap);

    trap_map_shared(trap, task, trap_page(trap, 0), 4);
    trap_write(trap, task, trap_page(trap, 1), 'b');
    lock(trap, task, 0, 4);
    remap_granted(trap, task, (struct call){1, 0, 2, FIXED, FAR});
    assert_mappings(trap, task, "0-4l 32-34l");
    assert_resident(trap, task, FAR, "11");
    trap_expect_loads(trap, trap_page(trap, FAR), 2, "P:b.");
}

/* --- advice --- */

EVERYWHERE(advice_for_fork_goes_along)
{
    struct task *task = with_four_pages(trap);

    advise(trap, task, 0, 4, ABI_MADV_DONTFORK);
    remap_granted(trap, task, (struct call){0, 2, 4, FIXED, FAR});
    assert_mappings(trap, task, "2-4f 32-36f");
    struct task *child = trap_fork(trap, task, 'C');

    assert_mappings(trap, child, "");
    trap_expect(trap, trap_page(trap, FAR), 4, "P:ab.. C:!!!!");
}

EVERYWHERE(memory_that_is_wiped_is_wiped_at_both_places)
{
    struct task *task = with_four_pages(trap);

    advise(trap, task, 0, 4, ABI_MADV_WIPEONFORK);
    remap_granted(trap, task, (struct call){0, 2, 2, FIXED_KEEP, FAR});
    assert_mappings(trap, task, "0-4w 32-34w");
    trap_fork(trap, task, 'C');
    trap_expect_loads(trap, trap_page(trap, 0), 4, "P:..c. C:....");
    trap_expect_loads(trap, trap_page(trap, FAR), 2, "P:ab C:..");
}

EVERYWHERE(guard_pages_move)
{
    struct task *task = with_four_pages(trap);

    advise(trap, task, 1, 1, ABI_MADV_GUARD_INSTALL);
    struct task *child = trap_fork(trap, task, 'C');

    remap_granted(trap, child, (struct call){0, 3, 3, FIXED, FAR});
    trap_refuses(trap, child, trap_page(trap, FAR + 1), ACCESS_READ);
    trap_refuses(trap, task, trap_page(trap, 1), ACCESS_READ);
    assert_int_equal(trap_read(trap, child, trap_page(trap, FAR)), 'a');
    assert_int_equal(trap_read(trap, child, trap_page(trap, FAR + 2)), 'c');
    trap_write(trap, child, trap_page(trap, FAR + 2), 'x');
    assert_int_equal(trap_read(trap, task, trap_page(trap, 2)), 'c');
    remap_granted(trap, child, (struct call){FAR, 3, 3, FIXED_KEEP, 0});
    assert_int_equal(trap_read(trap, child, trap_page(trap, FAR + 1)), 0);
    trap_dies(trap, child, trap_page(trap, 1), ACCESS_WRITE, EVENT_BAD_MAPERR);
}

/* --- memory --- */

/* Writes pages of a large mapping until no frame is left, not even one kept for tables. */
static void use_every_frame(struct trap *trap, struct task *task, va_t va)
{
    uint8_t byte = 'z';
    uint64_t pages = trap->machine->ram.frame_count;
    uint64_t page = 0;

    trap_map(trap, task, va, pages, RW);
    while (copyout(task, va + page * PAGE_BYTES, &byte, 1) == 0)
        page++;
    assert_int_equal(ram_free_frames(&trap->machine->ram), 0);
    trap_check(trap);
}

EVERYWHERE(no_frame_for_a_table)
{
    struct task *task = with_four_pages(trap);
    unsigned span_pages = (unsigned)(trap->span / PAGE_BYTES);
    va_t filler = trap->base + 4 * trap->span;

    use_every_frame(trap, task, filler);
    assert_int_equal(remap(trap, task, (struct call){0, 3, 3, FIXED, 8 * span_pages}), -ENOMEM);
    assert_int_equal(remap(trap, task, (struct call){0, 3, 3, FIXED_KEEP, 8 * span_pages}),
                     -ENOMEM);
    trap_expect(trap, trap_page(trap, 0), 4, "P:abc.");
    trap_expect(trap, trap_page(trap, 8 * span_pages), 3, "P:!!!");
    remap_granted(trap, task, (struct call){0, 1, 1, FIXED, 1}); /* its table is there */
    trap_expect(trap, trap_page(trap, 0), 4, "P:!ac.");
    trap_unmap(trap, task, filler, (uint64_t)2 * trap->geometry->levels);
    remap_granted(trap, task, (struct call){1, 2, 2, FIXED, 8 * span_pages});
    trap_expect(trap, trap_page(trap, 8 * span_pages), 3, "P:ac!");
}

/* Where every record of a VMA that lies ready is in use, those for the move are asked for. */
EVERYWHERE(no_vma_at_hand)
{
    struct task *task = with_four_pages(trap);
    struct pool *vmas = &trap->machine->vmas;
    void *taken[256];
    size_t count = 0;

    while (vmas->free_count > 0 && count < sizeof(taken) / sizeof(taken[0]))
        taken[count++] = pool_take(vmas);
    assert_int_equal(vmas->free_count, 0);
    remap_granted(trap, task, (struct call){1, 2, 2, FIXED, TARGET});
    while (count > 0)
        pool_give(vmas, taken[--count]);
    assert_mappings(trap, task, "0-1 3-4 40-42");
    trap_expect(trap, trap_page(trap, TARGET), 2, "P:bc");
}

/* --- limits --- */

/* How many mappings to spare each call wants, by the address space's limit. */
EVERYWHERE(mappings_to_spare)
{
    static const struct {
        struct call call;
        unsigned spare; /* the least that will do */
    } wanted[] = {
        {{0, 4, 4, FIXED, FAR}, 6},
        {{1, 1, 1, FIXED, FAR}, 6},
        {{0, 4, 2, FIXED, FAR}, 6},
        {{0, 2, 2, ABI_MREMAP_MAYMOVE | ABI_MREMAP_DONTUNMAP, FAR}, 6},
        {{9, 1, 1, FIXED, FAR}, 6}, /* nothing is there, which is said later */
        {{1, 1, 2, ABI_MREMAP_MAYMOVE, 0}, 4},
        {{0, 4, 5, 0, 0}, 0},
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        struct task *task = with_four_pages(trap);

        for (unsigned spare = 0; spare < wanted[i].spare; spare++) {
            task->mm->most_vmas = task->mm->index.count + spare;
            if (remap(trap, task, wanted[i].call) != -ENOMEM)
                fail_msg("%s: call %u, %u to spare", trap->where, (unsigned)i, spare);
            trap_expect(trap, trap_page(trap, 0), 4, "P:abc.");
        }
        task->mm->most_vmas = task->mm->index.count + wanted[i].spare;
        int error = remap(trap, task, wanted[i].call);

        assert_int_equal(error, wanted[i].call.from == 9 ? -EFAULT : 0);
        trap_exit(trap, task);
    }
}

/* Mappings before the one that a limit stops have moved, and the target of that one is gone. */
EVERYWHERE(a_limit_in_the_middle_of_several_mappings)
{
    struct task *task = with_four_pages(trap);

    trap_map(trap, task, trap_page(trap, 4), 4, VMA_READ);
    trap_map_shared(trap, task, trap_page(trap, TARGET + 4), 4);
    assert_int_equal(task_limit(task, LIMIT_ADDRESS_SPACE, 5 * PAGE_BYTES), 0);
    assert_int_equal(remap(trap, task, (struct call){0, 8, 8, FIXED_KEEP, TARGET}), 0);
    assert_mappings(trap, task, "0-4 4-8 40-44 44-48");
    trap_map_shared(trap, task, trap_page(trap, FAR + 4), 1);
    assert_int_equal(task_limit(task, LIMIT_ADDRESS_SPACE, 4 * PAGE_BYTES), 0);
    assert_int_equal(remap(trap, task, (struct call){TARGET, 8, 8, FIXED_KEEP, FAR}), -ENOMEM);
    assert_mappings(trap, task, "0-4 4-8 32-36 40-44 44-48");
    trap_expect(trap, trap_page(trap, FAR), 4, "P:abc.");
}

/* Each call and how many pages more than before it needs at once. */
EVERYWHERE(address_space_to_spare)
{
    static const struct {
        struct call call;
        unsigned spare;
        const char *refused; /* what is mapped when it was not granted */
    } wanted[] = {
        {{0, 4, 4, FIXED, FAR}, 0, NULL},
        {{0, 4, 3, FIXED, FAR}, 0, NULL},
        {{0, 4, 6, 0, 0}, 2, "0-4 16-20 40-44"},
        {{0, 4, 6, FIXED, FAR}, 2, "0-4 16-20 40-44"},
        {{0, 4, 6, FIXED, TARGET}, 2, "0-4 16-20 40-44"}, /* asked before the target is unmapped */
        {{0, 2, 2, FIXED_KEEP, FAR}, 2, "0-4 16-20 40-44"},
        {{16, 0, 2, FIXED, FAR}, 2, "0-4 16-20 40-44"},
    };

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        struct task *task = with_four_pages(trap);

        trap_map_shared(trap, task, trap_page(trap, 16), 4);
        trap_map_shared(trap, task, trap_page(trap, TARGET), 4);
        for (unsigned spare = 0; spare < wanted[i].spare; spare++) {
            assert_int_equal(task_limit(task, LIMIT_ADDRESS_SPACE, spare * PAGE_BYTES), 0);
            assert_int_equal(remap(trap, task, wanted[i].call), -ENOMEM);
            assert_mappings(trap, task, wanted[i].refused);
        }
        assert_int_equal(task_limit(task, LIMIT_ADDRESS_SPACE, wanted[i].spare * PAGE_BYTES), 0);
        remap_granted(trap, task, wanted[i].call);
        trap_exit(trap, task);
    }
}

/* A kept source is asked for when the target is free: its pages count, and it is gone. */
EVERYWHERE(a_kept_source_and_its_target)
{
    struct task *task = with_four_pages(trap);

    trap_map_shared(trap, task, trap_page(trap, TARGET), 2);
    assert_int_equal(task_limit(task, LIMIT_ADDRESS_SPACE, PAGE_BYTES), 0);
    assert_int_equal(remap(trap, task, (struct call){0, 4, 4, FIXED_KEEP, TARGET}), -ENOMEM);
    assert_mappings(trap, task, "0-4");
    trap_expect(trap, trap_page(trap, 0), 4, "P:abc.");
    trap_map_shared(trap, task, trap_page(trap, TARGET), 3);
    remap_granted(trap, task, (struct call){0, 3, 3, FIXED_KEEP, TARGET});
    assert_mappings(trap, task, "0-4 40-43");
    trap_expect(trap, trap_page(trap, TARGET), 3, "P:abc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locked_memory_stays_locked_where_it_goes),
        cmocka_unit_test(locked_memory_that_grows_is_there_at_once),
        cmocka_unit_test(unlocked_memory_that_grows_is_not),
        cmocka_unit_test(a_kept_source_is_unlocked),
        cmocka_unit_test(a_kept_source_joins_nothing),
        cmocka_unit_test(a_second_mapping_of_locked_memory_is_there_at_once),
        cmocka_unit_test(advice_for_fork_goes_along),
        cmocka_unit_test(memory_that_is_wiped_is_wiped_at_both_places),
        cmocka_unit_test(guard_pages_move),
        cmocka_unit_test(no_frame_for_a_table),
        cmocka_unit_test(no_vma_at_hand),
        cmocka_unit_test(mappings_to_spare),
        cmocka_unit_test(a_limit_in_the_middle_of_several_mappings),
        cmocka_unit_test(address_space_to_spare),
        cmocka_unit_test(a_kept_source_and_its_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
