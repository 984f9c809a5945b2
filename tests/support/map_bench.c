/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine with one task; map_bench.h says what for. */
#include "tests/support/map_bench.h"

#include "tests/support/ruler.h"

void map_bench_begin(struct map_bench *bench, const char *kernel, enum mmu_kind mmu)
{
    trap_open(&bench->trap, kernel_find(kernel), &geometry_x86_64, mmu, NULL);
    bench->task = trap_first(&bench->trap);
    bench->base = bench->trap.base;
}

void map_bench_end(struct map_bench *bench)
{
    trap_close(&bench->trap);
}

va_t map_bench_at(const struct map_bench *bench, unsigned page)
{
    return bench->base + page * PAGE_BYTES;
}

void map_bench_ruler(struct map_bench *bench, unsigned pages, const char *expected)
{
    struct ruler ruler = ruler_of(bench->task->mm, bench->base, pages);

    trap_check(&bench->trap);
    assert_string_equal(ruler.text, expected);
}
