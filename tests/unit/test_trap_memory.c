/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traps of operations on a shared table that are refused memory half-way, by their numbers in the
 * project's list (P6, P24, P51.d): refused at the n-th request, for each n until it is granted, and
 * until then nothing may have changed that anybody can see.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/trap_fixture.h"

/* One operation that must be refused at its n-th request for memory, for each n until it is not. */
typedef int operation(struct trap *trap, struct task *task);

static int unmap_part(struct trap *trap, struct task *task)
{
    return sys_munmap(task, trap_page(trap, 1), PAGE_BYTES);
}

static int protect_part(struct trap *trap, struct task *task)
{
    return sys_mprotect(task, trap_page(trap, 1), PAGE_BYTES, VMA_READ);
}

static int protect_all(struct trap *trap, struct task *task)
{
    return sys_mprotect(task, trap->base, trap->span + PAGE_BYTES, VMA_READ);
}

static int map_over_part(struct trap *trap, struct task *task)
{
    struct map_request request = {.address = trap_page(trap, 1),
                                  .bytes = PAGE_BYTES,
                                  .protection = RW,
                                  .flags = MAP_REQUEST_FIXED | MAP_REQUEST_SHARED};
    va_t address;

    return sys_mmap(task, &request, &address);
}

static int write_through_the_kernel(struct trap *trap, struct task *task)
{
    return copyout(task, trap_page(trap, 1), "x", 1);
}

static void refuse_each(struct trap *trap, struct task *child, operation *operate)
{
    struct allocation_gate *gate = &trap->machine->ram.gate;
    int error = -ENOMEM;

    for (uint64_t at = 1; error != 0; at++) {
        gate->fail_at = gate->requests + at;
        error = operate(trap, child);
        gate->fail_at = 0;
        assert_true(error == 0 || error == -ENOMEM);
        trap_check(trap);
        if (error != 0)
            trap_expect(trap, trap->base, 3, "P:abc C:abc");
        assert_in_range(at, 1, 20);
    }
}

static void p06_refused(struct trap *trap, operation *operate, const char *after)
{
    struct task *parent = trap_first(trap);
    uint64_t pages = trap->span / PAGE_BYTES + 3;

    trap_map(trap, parent, trap->base, pages, RW);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('a' + page));
    trap_write(trap, parent, trap->base + trap->span, 'd');
    struct task *child = trap_fork(trap, parent, 'C');

    refuse_each(trap, child, operate);
    trap_expect(trap, trap->base, 3, after);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), (char)('u' + page));
    assert_memory_equal(after, "P:abc C:", 8);
    char now[TRAP_TEXT_BYTES];

    (void)snprintf(now, sizeof(now), "P:uvw C:%s", after + strlen("P:abc C:"));
    trap_expect_loads(trap, trap->base, 3, now);
}

TRAP(p06_p24_munmap_of_a_part_is_refused_memory, ANYWHERE)
{
    p06_refused(trap, unmap_part, "P:abc C:a!c");
}

TRAP(p06_p24_mprotect_of_a_part_is_refused_memory, ANYWHERE)
{
    p06_refused(trap, protect_part, "P:abc C:abc");
}

TRAP(p06_p24_mprotect_of_two_tables_is_refused_memory, ANYWHERE)
{
    p06_refused(trap, protect_all, "P:abc C:abc");
}

TRAP(p06_p24_mmap_over_a_part_is_refused_memory, ANYWHERE)
{
    p06_refused(trap, map_over_part, "P:abc C:a.c");
}

TRAP(p06_p51d_write_is_refused_memory, ANYWHERE)
{
    p06_refused(trap, write_through_the_kernel, "P:abc C:axc");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p06_p24_munmap_of_a_part_is_refused_memory),
        cmocka_unit_test(p06_p24_mprotect_of_a_part_is_refused_memory),
        cmocka_unit_test(p06_p24_mprotect_of_two_tables_is_refused_memory),
        cmocka_unit_test(p06_p24_mmap_over_a_part_is_refused_memory),
        cmocka_unit_test(p06_p51d_write_is_refused_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
