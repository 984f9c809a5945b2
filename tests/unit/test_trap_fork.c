/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traps of fork itself and of what must hold for every table that is shared, by their numbers in
 * the project's list: failing half-way, sharing that does happen, nobody writing a shared table,
 * one instruction that needs more pages than the host grants mappings.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/trap_fixture.h"

/* Fork is refused memory at the n-th request, for each n until it is granted. */
TRAP(p30_fork_fails_at_every_allocation, ANYWHERE)
{
    struct task *parent = trap_first(trap);
    struct allocation_gate *gate = &trap->machine->ram.gate;
    struct task *child = NULL;
    int error = -ENOMEM;

    trap_map(trap, parent, trap->base, 3, RW);
    trap_map_shared(trap, parent, trap->base + trap->span, 2);
    trap_write(trap, parent, trap_page(trap, 0), 'a');
    trap_write(trap, parent, trap_page(trap, 2), 'b');
    trap_write(trap, parent, trap->base + trap->span, 's');
    struct pin pin = trap_pin(trap, parent, trap_page(trap, 2), ACCESS_READ);
    uint32_t used = trap_used(trap);
    char value = 'A';

    for (uint64_t at = 1; error != 0; at++) {
        gate->fail_at = gate->requests + at;
        error = sys_fork(parent, &child);
        gate->fail_at = 0;
        trap_check(trap);
        if (error == 0)
            break;
        assert_int_equal(error, -ENOMEM);
        assert_int_equal(trap_used(trap), used);
        assert_int_equal(trap->machine->mms.used_count, 1);
        assert_int_equal(trap->machine->tasks.used_count, 1);
        trap_write(trap, parent, trap_page(trap, 0), value);
        assert_int_equal(
            *frame_data(&trap->machine->ram, entry_pfn(trap_entry(parent, trap->base))), value++);
        assert_in_range(at, 1, 25);
    }
    assert_true(value > 'A' + 3);
    trap->tasks[trap->task_count] = child;
    trap->names[trap->task_count++] = 'C';
    trap_write(trap, parent, trap_page(trap, 0), 'z');
    pin_write(&pin, 0, "p", 1);
    assert_int_equal(
        *frame_data(&trap->machine->ram, entry_pfn(trap_entry(child, trap_page(trap, 2)))), 'b');
    trap_expect_loads(trap, trap_page(trap, 1), 2, "P:.p C:.b");
    trap_unpin(trap, &pin);
    trap_exit(trap, child);
    trap_expect_loads(trap, trap->base, 3, "P:z.p");
}

/* RAM itself runs out in the middle of a fork. */
TRAP(p30_fork_runs_out_of_frames, IN_SPAN)
{
    struct task *parent = trap_first(trap);
    struct task *children[64];
    unsigned count = 0;

    trap_map(trap, parent, trap->base, 2, RW);
    trap_write(trap, parent, trap->base, 'a');
    /* All but a few frames go to one big object. */
    uint64_t hog = ram_free_frames(&trap->machine->ram) - 10;
    struct object *object = trap_shm(trap, hog);

    for (uint64_t page = 0; page < hog; page++) {
        struct ram_need need = {.frames = 1};
        pfn_t pfn;

        assert_int_equal(ram_reserve(&trap->machine->ram, &need), 0);
        assert_int_equal(object_page(trap->machine, object, page, PFN_NONE, &pfn), 0);
    }
    while (count < 64 && sys_fork(parent, &children[count]) == 0)
        count++;
    trap_check(trap);
    assert_in_range(count, 1, 63);
    struct task_status status;

    while (count-- > 0) {
        assert_int_equal(task_exit(children[count], 0), 0);
        assert_int_equal(sys_wait(parent, children[count], &status), 0);
    }
    trap_check(trap);
    trap_write(trap, parent, trap->base, 'b');
    trap_expect_loads(trap, trap->base, 2, "P:b.");
}

/* What fork did with the leaf tables, by the counters. */
struct forked {
    uint64_t shared;
    uint64_t copied;
    uint64_t skipped;
    uint64_t entries;
    uint64_t taken;
};

static struct forked counted(const struct trap *trap)
{
    return (struct forked){.shared = trap_count(trap, EVENT_TABLE_SHARED),
                           .copied = trap_count(trap, EVENT_TABLE_COPIED),
                           .skipped = trap_count(trap, EVENT_TABLE_SKIPPED),
                           .entries = trap_count(trap, EVENT_ENTRY_COPIED),
                           .taken = trap_count(trap, EVENT_TABLE_TAKEN)};
}

/* Three full spans, and the stack's: sharing and copying are told apart by their figures. */
TRAP(p34_sharing_does_happen, ANYWHERE)
{
    struct task *parent = trap_first(trap);
    va_t start = geometry_span_start(trap->geometry, trap->base);
    uint64_t references = 0;

    trap_map(trap, parent, start, 3 * trap->span / PAGE_BYTES, RW);
    for (unsigned span = 0; span < 3; span++)
        trap_write(trap, parent, start + span * trap->span, (char)('a' + span));
    uint32_t upper = parent->mm->tree.upper_tables;
    struct forked before = counted(trap);

    trap_fork(trap, parent, 'C');
    struct forked after = counted(trap);

    assert_int_equal(after.shared - before.shared, trap->shares ? 4 : 0);
    assert_int_equal(after.copied - before.copied, trap->shares ? 0 : 4);
    assert_int_equal(after.skipped - before.skipped, 0);
    assert_int_equal(after.entries - before.entries, trap->shares ? 0 : 4);
    assert_int_equal(after.taken - before.taken, trap->shares ? upper : upper + 4);
    for (unsigned span = 0; span < 3; span++)
        references += trap_references(trap, parent, start + span * trap->span);
    assert_int_equal(references, trap->shares ? 3 : 6);
    for (unsigned span = 0; span < 3; span++)
        trap_tables(trap, start + span * trap->span,
                    trap_either(trap, "P:1x2 C:1x2", "P:1x1 C:2x1"));
}

/* Shared memory: nothing of it is handed on where a fault can rebuild it. */
TRAP(p34_shared_memory_is_shared_or_left_out, ANYWHERE)
{
    struct task *parent = trap_first(trap);
    va_t start = geometry_span_start(trap->geometry, trap->base);

    trap_map_shared(trap, parent, start, trap->span / PAGE_BYTES);
    trap_write(trap, parent, start, 's');
    struct forked before = counted(trap);

    trap_fork(trap, parent, 'C');
    struct forked after = counted(trap);

    if (trap->refaults)
        trap_tables(trap, start, "P:1x1 C:-");
    else
        trap_tables(trap, start, trap_either(trap, "P:1x2 C:1x2", "P:1x1 C:2x1"));
    assert_int_equal(after.skipped - before.skipped, trap->refaults ? 1 : 0);
    trap_expect_loads(trap, start, 1, "P:s C:s");
}

/* --- P25: nobody writes a table that is shared, but through the door for all --- */

static uint64_t hash_of_entries(struct trap *trap, const struct table *table)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (unsigned slot = 0; slot < geometry_slots(trap->geometry); slot++)
        hash = (hash ^ table_entry(&trap->machine->ram, table, slot)) * 0x100000001b3u;
    return hash;
}

/* A call that is meant for one address space alone. */
static void call(struct trap *trap, struct task *task, unsigned number)
{
    switch (number) {
    case 0:
        trap_protect(trap, task, trap_page(trap, 1), 1, VMA_READ);
        break;
    case 1:
        trap_unmap(trap, task, trap_page(trap, 1), 1);
        break;
    case 2:
        trap_map(trap, task, trap_page(trap, 1), 1, VMA_READ);
        break;
    case 3:
        trap_write(trap, task, trap_page(trap, 1), 'w');
        break;
    case 4:
        trap_write(trap, task, trap_page(trap, 2), 'w');
        break;
    case 5:
        assert_int_equal(copyout(task, trap_page(trap, 0), "kernel", 6), 0);
        break;
    case 6:
        trap_exec(trap, task);
        break;
    default:
        trap_leave(trap, task, LEAVE_BY_UNMAP);
        break;
    }
}

enum { CALLS = 8 };

/* The sharers' table, P's and D's, has the same entries as before C's call, but for write bits. */
TRAP(p25_nobody_changes_what_others_share, IN_SPAN)
{
    for (unsigned number = 0; number < CALLS; number++) {
        struct task *parent = trap_first(trap);
        struct pt_leaf leaf;

        trap_map(trap, parent, trap->base, 3, RW);
        trap_write(trap, parent, trap_page(trap, 0), 'a');
        trap_write(trap, parent, trap_page(trap, 1), 'b');
        struct task *first = trap_fork(trap, parent, 'B');
        struct task *child = trap_fork(trap, parent, 'C');

        trap_fork(trap, parent, 'D');
        /* A first split, which write-protects the table that stays. */
        trap_write(trap, first, trap_page(trap, 0), 'x');
        assert_true(pt_lookup(&parent->mm->tree, trap->base, &leaf));
        uint64_t before = hash_of_entries(trap, leaf.table);

        call(trap, child, number);
        assert_true(hash_of_entries(trap, leaf.table) == before);
        trap_exit(trap, first);
        trap_exit(trap, child);
        assert_true(hash_of_entries(trap, leaf.table) == before);
        trap_expect(trap, trap->base, 3, "P:ab. D:ab.");
        trap_tables(trap, trap->base, trap_either(trap, "P:1x2 D:1x2", "P:1x1 D:2x1"));
        trap_expect_loads(trap, trap->base, 3, "P:ab. D:ab.");
        while (trap->task_count > 0)
            trap_exit(trap, trap->tasks[trap->task_count - 1]);
    }
}

/* --- P65: one instruction that needs four pages --- */

struct straddle {
    va_t from;
    va_t to;
};

/* Moves eight bytes from across a page boundary to across another one. */
static void move_across(struct forklab_user *user, void *argument)
{
    const struct straddle *straddle = argument;

#if defined(__x86_64__)
    if (user->limit > straddle->from && user->limit > straddle->to) {
        const void *from = (const void *)(user->base + straddle->from);
        void *to = (void *)(user->base + straddle->to);

        __asm__ volatile("movsq" : "+S"(from), "+D"(to) : : "memory");
        return;
    }
#endif
    forklab_store64(user, straddle->to, forklab_load64(user, straddle->from));
}

enum { P65_PAGES = 256, P65_APART = 4 };

static void touch_far_pages(struct forklab_user *user, void *argument)
{
    const va_t *start = argument;

    for (unsigned page = 0; page < P65_PAGES; page += P65_APART)
        forklab_store8(user, *start + page * PAGE_BYTES, 'a');
}

/*
 * A second machine takes more of the process's mappings than the first one's budget allows for all,
 * and does not give them up: so the first one is over it at every single install.
 */
static struct machine *take_all_mappings(enum mmu_kind mmu)
{
    struct machine_options options = {.mmu = mmu, .ram_bytes = 1024 * PAGE_BYTES};
    struct map_request request = {.bytes = P65_PAGES * PAGE_BYTES, .protection = RW};
    struct machine *machine = NULL;
    struct task *task = NULL;
    char problem[160];
    va_t address = 0;

    assert_int_equal(machine_create(&machine, &options, problem, sizeof(problem)), 0);
    assert_int_equal(task_create(machine, &task), 0);
    assert_int_equal(sys_mmap(task, &request, &address), 0);
    assert_int_equal(task_run(task, touch_far_pages, &address), 0);
    return machine;
}

static void move_each_word(struct trap *trap, struct task *parent, struct task *child)
{
    for (unsigned page = 1; page + 6 < P65_PAGES; page += 10) {
        struct straddle straddle = {.from = trap_page(trap, page + 1) - 4,
                                    .to = trap_page(trap, page + 6) - 3};
        uint64_t word = 0;

        assert_int_equal(copyout(parent, straddle.from, "straddle", 8), 0);
        assert_int_equal(task_run(parent, move_across, &straddle), 0);
        trap_check(trap);
        assert_int_equal(copyin(parent, &word, straddle.to, 8), 0);
        assert_memory_equal(&word, "straddle", 8);
        assert_int_equal(copyin(child, &word, straddle.to, 8), 0);
        assert_memory_not_equal(&word, "straddle", 8);
    }
}

/* Pages far from each other, so that every one of them costs the host mappings of its own. */
static void move_under_budget(const struct kernel *kernel, enum mmu_kind mmu)
{
    struct trap trap;
    struct trap_size size = {.frames = 1024, .host = {.mapping_budget = 1, .most_windows = 1}};
    struct machine *other = take_all_mappings(mmu);

    trap_open(&trap, kernel, &geometry_x86_64, mmu, &size);
    struct task *parent = trap_first(&trap);

    trap_map(&trap, parent, trap.base, P65_PAGES, RW);
    assert_int_equal(task_run(parent, touch_far_pages, &trap.base), 0);
    trap_check(&trap);
    move_each_word(&trap, parent, trap_fork(&trap, parent, 'C'));
    trap_close(&trap);
    machine_destroy(other);
}

static void p65_an_instruction_on_four_pages_under_a_tiny_budget(void **state)
{
    (void)state;
    for (size_t i = 0; i < kernel_count; i++) {
        move_under_budget(&kernels[i], MMU_HOST);
        move_under_budget(&kernels[i], MMU_SOFT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p30_fork_fails_at_every_allocation),
        cmocka_unit_test(p30_fork_runs_out_of_frames),
        cmocka_unit_test(p34_sharing_does_happen),
        cmocka_unit_test(p34_shared_memory_is_shared_or_left_out),
        cmocka_unit_test(p25_nobody_changes_what_others_share),
        cmocka_unit_test(p65_an_instruction_on_four_pages_under_a_tiny_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
