/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * madvise, mlock and munlock that are refused memory at the n-th request, for each n until they are
 * granted it: until then nothing has changed that anybody can see.
 */
#include <errno.h>

#include "pager/abi.h"
#include "pager/advise.h"
#include "tests/support/trap_fixture.h"

struct attempt {
    const char *name;
    int (*call)(struct task *task, va_t start, uint64_t bytes);
    int refusal;
    const char *after; /* of the child's three pages, of which the last two were concerned */
};

#define ADVISE(name, advice)                                                                       \
    static int name(struct task *task, va_t start, uint64_t bytes)                                 \
    {                                                                                              \
        return sys_madvise(task, start, bytes, advice);                                            \
    }

ADVISE(dontneed, ABI_MADV_DONTNEED)
ADVISE(lazy_free, ABI_MADV_FREE)
ADVISE(dontfork, ABI_MADV_DONTFORK)
ADVISE(wipeonfork, ABI_MADV_WIPEONFORK)
ADVISE(sequential, ABI_MADV_SEQUENTIAL)
ADVISE(guard_install, ABI_MADV_GUARD_INSTALL)
ADVISE(guard_remove, ABI_MADV_GUARD_REMOVE)

static const struct attempt attempts[] = {
    {"DONTNEED", dontneed, -ENOMEM, "P:abc C:a.."},
    {"FREE", lazy_free, -ENOMEM, "P:abc C:abc"},
    {"DONTFORK", dontfork, -EAGAIN, "P:abc C:abc"},
    {"WIPEONFORK", wipeonfork, -EAGAIN, "P:abc C:abc"},
    {"SEQUENTIAL", sequential, -EAGAIN, "P:abc C:abc"},
    {"GUARD_INSTALL", guard_install, -ENOMEM, "P:abc C:a.."},
    {"GUARD_REMOVE", guard_remove, -ENOMEM, "P:abc C:abc"},
    {"munlock", sys_munlock, -ENOMEM, "P:abc C:abc"},
};

/* Flags of the child's pages, which no refusal may change. */
static uint32_t flags_at(const struct task *task, va_t va)
{
    return vma_find(task->mm, va)->flags;
}

static void refuse_each(struct trap *trap, struct task *child, const struct attempt *attempt)
{
    struct allocation_gate *gate = &trap->machine->ram.gate;
    uint32_t flags = flags_at(child, trap_page(trap, 1));
    int result = attempt->refusal;

    for (uint64_t at = 1; result != 0; at++) {
        gate->fail_at = gate->requests + at;
        result = attempt->call(child, trap_page(trap, 1), 2 * PAGE_BYTES);
        gate->fail_at = 0;
        trap_check(trap);
        if (result == 0)
            break;
        if (result != attempt->refusal)
            fail_msg("%s: %s says %d", trap->where, attempt->name, result);
        trap_expect(trap, trap->base, 3, "P:abc C:abc");
        assert_int_equal(flags_at(child, trap_page(trap, 1)), flags);
        assert_int_equal(vma_find(child->mm, trap->base)->end, trap_page(trap, 3));
        assert_in_range(at, 1, 20);
    }
    trap_expect(trap, trap->base, 3, attempt->after);
}

TRAP(refused_at_every_request, ANYWHERE)
{
    struct task *parent = trap_first(trap);

    trap_map(trap, parent, trap->base, 3, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    for (unsigned i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
        struct task *child = trap_fork(trap, parent, 'C');

        refuse_each(trap, child, &attempts[i]);
        trap_exit(trap, child);
        trap_expect_loads(trap, trap->base, 3, "P:abc");
    }
}

/* Tables that guards need where there is none yet. */
TRAP(guards_are_refused_tables, ANYWHERE)
{
    struct allocation_gate *gate = &trap->machine->ram.gate;
    struct task *parent = trap_first(trap);
    int result = -ENOMEM;

    trap_map(trap, parent, trap->base, 3, RW);
    for (uint64_t at = 1; result != 0; at++) {
        gate->fail_at = gate->requests + at;
        result = guard_install(parent, trap->base, 3 * PAGE_BYTES);
        gate->fail_at = 0;
        trap_check(trap);
        assert_true(result == 0 || result == -ENOMEM);
        for (unsigned page = 0; page < 3; page++)
            assert_int_equal(entry_is_guard(trap_entry(parent, trap_page(trap, page))),
                             result == 0);
        assert_in_range(at, 1, 20);
    }
}

/* Locking is partial by its nature: the flag stays, and the pages come until memory ends. */
TRAP(locking_is_refused_pages, ANYWHERE)
{
    struct allocation_gate *gate = &trap->machine->ram.gate;
    struct task *parent = trap_first(trap);
    int result = -ENOMEM;

    trap_map(trap, parent, trap->base, 3, RW);
    for (uint64_t at = 1; result != 0; at++) {
        gate->fail_at = gate->requests + at;
        result = sys_mlock(parent, trap_page(trap, 1), 2 * PAGE_BYTES);
        gate->fail_at = 0;
        trap_check(trap);
        bool is_locked = (flags_at(parent, trap_page(trap, 1)) & VMA_LOCKED) != 0;

        assert_true(is_locked ? result == 0 || result == -EAGAIN : result == -ENOMEM);
        assert_in_range(at, 1, 20);
    }
    trap_result(trap, sys_munlock(parent, trap->base, 3 * PAGE_BYTES), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_at_every_request),
        cmocka_unit_test(guards_are_refused_tables),
        cmocka_unit_test(locking_is_refused_pages),
    };

    return cmocka_run_group_tests_name("advice and memory", tests, NULL, NULL);
}
