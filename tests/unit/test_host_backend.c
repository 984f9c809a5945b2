/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host backend: mappings, accesses and calls on ranges, as Linux has them. */
#include <errno.h>
#include <string.h>

#include "scenario/emulated.h"
#include "scenario/host_layout.h"
#include "tests/support/host_bench.h"

static struct scenario_operation map_at(struct scenario_operation operation, va_t va)
{
    operation.has_target = true;
    operation.target = (struct scenario_address){.base = BASE_ABSOLUTE, .offset_bytes = va};
    return operation;
}

static struct scenario_operation protect(struct scenario_operation operation, uint32_t protection)
{
    operation.verb = VERB_MPROTECT;
    operation.protection = protection;
    return operation;
}

static struct scenario_operation advise(struct scenario_operation operation, int advice)
{
    operation.verb = VERB_MADVISE;
    operation.advice = advice;
    return operation;
}

static struct scenario_operation pages_of(enum scenario_verb verb, uint16_t region, uint64_t first,
                                          uint64_t pages)
{
    return bench_on(verb, P, region, first * BENCH_PAGE, pages * BENCH_PAGE);
}

/* --- where things are --- */

/* The kernel's choice begins at the line and goes downwards, as an emulated kernel's does. */
static void test_places(void **state)
{
    struct bench *bench = *state;

    assert_int_equal(bench_vmas(bench, P), 0);
    bench_value(bench, bench_map(P, A, 4 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE),
                HOST_MAP_TOP - 4 * BENCH_PAGE);
    bench_value(bench, bench_map(P, B, 1, BENCH_RW, BENCH_SHARED), HOST_MAP_TOP - 5 * BENCH_PAGE);
    bench_ok(bench, pages_of(VERB_MUNMAP, A, 1, 2));
    bench_value(bench, bench_map(P, G, 2 * BENCH_PAGE, ABI_PROT_READ, BENCH_PRIVATE),
                HOST_MAP_TOP - 3 * BENCH_PAGE);
    bench_value(
        bench,
        map_at(bench_map(P, G, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE | ABI_MAP_FIXED), 0x400000),
        0x400000);
    bench_value(bench, map_at(bench_map(P, G, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE), 0x402000),
                0x402000);
    bench_error(
        bench,
        map_at(bench_map(P, G, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE | ABI_MAP_FIXED_NOREPLACE),
               0x402000),
        EEXIST);
    bench_error(
        bench,
        map_at(bench_map(P, G, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE | ABI_MAP_FIXED), HOST_USER_TOP),
        ENOMEM);
    assert_int_equal(bench_vmas(bench, P), 6);
    assert_string_equal(bench_vma(bench, P, HOST_MAP_TOP - 3 * BENCH_PAGE)->rights, "r--p");
    assert_true(bench_vma(bench, P, HOST_MAP_TOP - 5 * BENCH_PAGE)->is_file);
    assert_false(bench_vma(bench, P, 0x400000)->is_file);
    assert_null(bench_vma(bench, P, 0x401000));
}

/* What would hit the program itself is refused, and the program lives on. */
static void test_refuses_its_own(void **state)
{
    struct bench *bench = *state;

    bench_ok(bench, bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_unable(bench, bench_at(VERB_MUNMAP, P, HOST_MAP_TOP - BENCH_PAGE, (uint64_t)1 << 40),
                 "the program's own part");
    bench_error(bench,
                protect(bench_at(VERB_MPROTECT, P, HOST_MAP_TOP - BENCH_PAGE, (uint64_t)1 << 45),
                        ABI_PROT_READ),
                ENOMEM);
    assert_string_equal(bench_vma(bench, P, HOST_MAP_TOP - 1)->rights, "r--p");
    bench_ok(bench, protect(bench_on(VERB_MPROTECT, P, A, 0, BENCH_PAGE), BENCH_RW));
    bench_error(bench,
                advise(bench_on(VERB_MADVISE, P, A, 0, (uint64_t)1 << 45), ABI_MADV_DONTNEED),
                ENOMEM);
    bench_error(bench, bench_on(VERB_MLOCK, P, A, 0, (uint64_t)1 << 45), ENOMEM);
    bench_error(bench, bench_on(VERB_MINCORE, P, A, 0, (uint64_t)1 << 45), ENOMEM);
    bench_error(bench, bench_on(VERB_MUNLOCK, P, A, 0, (uint64_t)1 << 63), ENOMEM);
    bench_ok(bench, bench_on(VERB_MUNLOCK, P, A, 0, UINT64_MAX));
    bench_unable(bench,
                 map_at(bench_map(P, B, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE | ABI_MAP_FIXED),
                        HOST_MAP_TOP + ((uint64_t)64 << 20)),
                 "the program's own");
    bench_unable(bench, bench_at(VERB_READ, P, (uint64_t)1 << 46, 1), "the program's own");
    bench_unable(bench, advise(bench_on(VERB_MADVISE, P, A, 0, BENCH_PAGE), 100), "real machine");
    bench_unable(bench, bench_on(VERB_READ, P, G, 0, 1), "no region of that name");
    bench_error(bench, bench_at(VERB_MUNMAP, P, BENCH_PAGE, UINT64_MAX - 2 * BENCH_PAGE), EINVAL);
    bench_error(bench, bench_at(VERB_MUNMAP, P, BENCH_PAGE, (uint64_t)1 << 47), EINVAL);
    /* An end that just does not wrap, and one that does. */
    bench_error(bench,
                protect(bench_at(VERB_MPROTECT, P, 0, -HOST_BIAS - BENCH_PAGE), ABI_PROT_NONE),
                ENOMEM);
    bench_error(bench, protect(bench_at(VERB_MPROTECT, P, 0, -HOST_BIAS), ABI_PROT_NONE), ENOMEM);
    bench_error(bench, bench_at(VERB_STRIPE, P, 0, UINT64_MAX), ENOMEM);
    bench_error(bench, bench_at(VERB_STRIPE, P, HOST_USER_TOP, UINT64_MAX), ENOMEM);
    bench_poke(bench, P, A, 1, 1);
}

/* More than there is: the program has filled all that is not the scenario's. */
static void test_full(void **state)
{
    struct bench *bench = *state;
    uint32_t flags = BENCH_PRIVATE | ABI_MAP_NORESERVE;

    bench_error(bench, bench_map(P, A, (uint64_t)40 << 30, ABI_PROT_NONE, flags), ENOMEM);
    bench_error(bench, bench_map(P, A, (uint64_t)100 << 40, ABI_PROT_NONE, flags), ENOMEM);
    bench_ok(bench, bench_map(P, A, (uint64_t)31 << 30, ABI_PROT_NONE, flags));
    bench_error(bench, bench_map(P, B, (uint64_t)1 << 30, ABI_PROT_NONE, flags), ENOMEM);
    assert_int_equal(bench_vmas(bench, P), 1);
}

static void test_mmap_errors(void **state)
{
    struct bench *bench = *state;
    struct scenario_operation unaligned = bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE);

    unaligned.offset_bytes = 5;
    bench_error(bench, bench_map(P, A, 0, BENCH_RW, BENCH_PRIVATE), EINVAL);
    bench_error(bench, bench_map(P, A, BENCH_PAGE, BENCH_RW, ABI_MAP_ANONYMOUS), EINVAL);
    bench_error(bench, bench_map(P, A, BENCH_PAGE, BENCH_RW, ABI_MAP_PRIVATE), EBADF);
    bench_error(bench, unaligned, EINVAL);
    bench_error(bench, bench_map(P, A, UINT64_MAX - 5, BENCH_RW, BENCH_PRIVATE), ENOMEM);
    bench_error(
        bench,
        map_at(bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE | ABI_MAP_FIXED), 0x400123),
        EINVAL);
    bench_value(bench, map_at(bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE), 0x400123),
                0x400000);
    assert_int_equal(bench_vmas(bench, P), 1);
}

/* --- accesses --- */

static void test_bytes(void **state)
{
    struct bench *bench = *state;
    struct scenario_operation fill = bench_on(VERB_WRITE, P, A, BENCH_PAGE - 3, 0);
    static uint8_t filled[2 * 4096];

    fill.data = (struct scenario_data){.kind = DATA_FILL, .fill = 0x41, .bytes = sizeof(filled)};
    memset(filled, 0x41, sizeof(filled));
    bench_ok(bench, bench_map(P, A, 4 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_ok(bench, bench_write(P, A, BENCH_PAGE - 2, "hello"));
    bench_text(bench, P, A, BENCH_PAGE - 2, "hello");
    bench_ok(bench, fill);
    bench_data(bench, bench_on(VERB_READ, P, A, BENCH_PAGE - 3, sizeof(filled)), filled,
               sizeof(filled));
    bench_data(bench, bench_on(VERB_READ, P, A, 3 * BENCH_PAGE - 3, 2), "\0", 2);
    bench_data(bench, bench_on(VERB_READ, P, A, 0, 0), "", 0);
    bench_data(bench, bench_on(VERB_PEEK, P, A, 5, 2 * BENCH_PAGE), "\0AA", 3);
}

/* One fault a page for the first write, two for a read before it; none later. */
static void test_minor_faults(void **state)
{
    struct bench *bench = *state;
    uint64_t zeros = host_backend_has_zero_page(bench->backend) ? 8 : 0;

    bench_ok(bench, bench_map(P, A, 16 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_poke(bench, P, A, 8, 1);
    assert_int_equal(bench->outcome.faults, 8);
    bench_peek(bench, P, A, 8, 1);
    assert_int_equal(bench->outcome.faults, 0);
    bench_data(bench, pages_of(VERB_PEEK, A, 8, 8), "\0\0\0\0\0\0\0", 8);
    assert_int_equal(bench->outcome.faults, 8);
    bench_poke(bench, P, A, 16, 2);
    assert_int_equal(bench->outcome.faults, zeros);
    bench_ok(bench, bench_task(VERB_FORK, P, C));
    bench_peek(bench, C, A, 16, 2);
    assert_int_equal(bench->outcome.faults, 0);
    bench_poke(bench, C, A, 4, 3);
    assert_int_equal(bench->outcome.faults, 4);
    bench_poke(bench, P, A, 16, 4);
    assert_int_equal(bench->outcome.faults, 16);
    bench_ok(bench, bench_write(C, A, 100, "x"));
    assert_int_equal(bench->outcome.faults, 0);
    bench_text(bench, C, A, 100, "x");
    assert_int_equal(bench->outcome.faults, 0);
}

static struct scenario_operation one_store(struct scenario_operation operation)
{
    operation.verb = VERB_WRITE;
    operation.data = (struct scenario_data){.kind = DATA_FILL, .bytes = 1};
    return operation;
}

/* The signal tells the first bad byte; the task dies of it, and its parent hears so. */
static void test_bad_accesses(void **state)
{
    struct bench *bench = *state;
    va_t end;

    bench_ok(bench, bench_map(P, A, 4 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    end = HOST_MAP_TOP;
    bench_ok(bench, protect(pages_of(VERB_MPROTECT, A, 2, 1), ABI_PROT_NONE));
    bench_ok(bench, protect(pages_of(VERB_MPROTECT, A, 3, 1), ABI_PROT_READ));
    const struct {
        struct scenario_operation operation;
        int code;
        va_t address;
    } rows[] = {
        {bench_at(VERB_READ, C, end - 3 * BENCH_PAGE - 5, BENCH_PAGE + 10), ABI_SEGV_ACCERR,
         end - 2 * BENCH_PAGE},
        {bench_at(VERB_READ, C, end - 2 * BENCH_PAGE + 7, 1), ABI_SEGV_ACCERR,
         end - 2 * BENCH_PAGE + 7},
        {one_store(bench_at(VERB_WRITE, C, end - 3, 1)), ABI_SEGV_ACCERR, end - 3},
        {bench_at(VERB_READ, C, end - 1, 2), ABI_SEGV_MAPERR, end},
        {bench_at(VERB_READ, C, end + 100, 1), ABI_SEGV_MAPERR, end + 100},
        {bench_at(VERB_READ, C, 0, 1), ABI_SEGV_MAPERR, 0},
        {bench_at(VERB_PEEK, C, end - 5 * BENCH_PAGE, BENCH_PAGE), ABI_SEGV_MAPERR,
         end - 5 * BENCH_PAGE},
        {bench_at(VERB_READ, C, (va_t)1 << 62, 1), ABI_SI_KERNEL, 0},
        {bench_at(VERB_READ, C, UINT64_MAX - 99, 1), ABI_SEGV_MAPERR, UINT64_MAX - 99},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bench_ok(bench, bench_task(VERB_FORK, P, C));
        bench_dies(bench, rows[i].operation, ABI_SIGSEGV, rows[i].code, rows[i].address);
        bench_unable(bench, bench_on(VERB_READ, C, A, 0, 1), "is not there");
        bench_killed(bench, P, C, ABI_SIGSEGV);
    }
}

/* Nothing of a write behind the bad byte is done, all before it is. */
static void test_partial_write(void **state)
{
    struct bench *bench = *state;

    bench_ok(bench, bench_map(P, A, 2 * BENCH_PAGE, BENCH_RW, BENCH_SHARED));
    bench_ok(bench, protect(pages_of(VERB_MPROTECT, A, 1, 1), ABI_PROT_READ));
    bench_ok(bench, bench_task(VERB_FORK, P, C));
    bench_dies(bench, bench_write(C, A, BENCH_PAGE - 3, "abcdef"), ABI_SIGSEGV, ABI_SEGV_ACCERR,
               HOST_MAP_TOP - BENCH_PAGE);
    bench_data(bench, bench_on(VERB_READ, P, A, BENCH_PAGE - 3, 5), "abc\0", 5);
}

static void test_kernel_access(void **state)
{
    struct bench *bench = *state;
    struct scenario_operation write = bench_write(P, A, BENCH_PAGE - 2, "abcd");

    write.verb = VERB_KWRITE;
    bench_ok(bench, bench_map(P, A, 2 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_value(bench, write, 4);
    bench_data(bench, bench_on(VERB_KREAD, P, A, BENCH_PAGE - 2, 4), "abcd", 4);
    bench_ok(bench, protect(pages_of(VERB_MPROTECT, A, 1, 1), ABI_PROT_NONE));
    write.data.content = (const uint8_t *)"xyz!";
    bench_value(bench, write, 2);
    bench_data(bench, bench_on(VERB_KREAD, P, A, BENCH_PAGE - 4, 8), "\0\0xy", 4);
    bench_error(bench, bench_on(VERB_KREAD, P, A, BENCH_PAGE, 8), EFAULT);
    write.address.offset_bytes = BENCH_PAGE;
    bench_error(bench, write, EFAULT);
    bench_error(bench, bench_at(VERB_KREAD, P, (va_t)1 << 62, 1), EFAULT);
    bench_value(bench, bench_on(VERB_MUNMAP, P, A, 0, 2 * BENCH_PAGE), 0);
    bench_error(bench, bench_on(VERB_KREAD, P, A, 0, 1), EFAULT);
}

/* The kernel, too, breaks copy on write first. */
static void test_kernel_write_after_fork(void **state)
{
    struct bench *bench = *state;
    struct scenario_operation write = bench_write(C, A, 0, "child");

    write.verb = VERB_KWRITE;
    bench_ok(bench, bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_ok(bench, bench_write(P, A, 0, "hello"));
    bench_ok(bench, bench_task(VERB_FORK, P, C));
    bench_value(bench, write, 5);
    bench_text(bench, P, A, 0, "hello");
    bench_text(bench, C, A, 0, "child");
}

/* --- calls on ranges --- */

static void test_ranges(void **state)
{
    struct bench *bench = *state;

    bench_ok(bench, bench_map(P, A, 4 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_poke(bench, P, A, 2, 1);
    bench_data(bench, pages_of(VERB_MINCORE, A, 0, 4), "\1\1\0", 4);
    bench_error(bench, bench_on(VERB_MINCORE, P, A, 1, BENCH_PAGE), EINVAL);
    bench_error(bench, pages_of(VERB_MINCORE, A, 0, 5), ENOMEM);
    bench_ok(bench, protect(pages_of(VERB_MPROTECT, A, 1, 1), ABI_PROT_READ));
    assert_int_equal(bench_vmas(bench, P), 3);
    bench_ok(bench, protect(pages_of(VERB_MPROTECT, A, 1, 1), BENCH_RW));
    assert_int_equal(bench_vmas(bench, P), 1);
    bench_error(bench, protect(bench_on(VERB_MPROTECT, P, A, 1, BENCH_PAGE), BENCH_RW), EINVAL);
    bench_error(bench, protect(pages_of(VERB_MPROTECT, A, 3, 2), ABI_PROT_READ), ENOMEM);
    assert_string_equal(bench_vma(bench, P, HOST_MAP_TOP - 1)->rights, "r--p");
    bench_ok(bench, advise(pages_of(VERB_MADVISE, A, 0, 1), ABI_MADV_DONTNEED));
    bench_data(bench, pages_of(VERB_PEEK, A, 0, 2), "\0\1", 2);
    bench_error(bench, advise(pages_of(VERB_MADVISE, A, 0, 1), 12345), EINVAL);
    bench_ok(bench, pages_of(VERB_MLOCK, A, 0, 3));
    assert_int_equal(bench_vma(bench, P, bench_address(bench, P, A))->locked, 3 * BENCH_PAGE);
    bench_error(bench, advise(pages_of(VERB_MADVISE, A, 0, 1), ABI_MADV_DONTNEED), EINVAL);
    bench_ok(bench, pages_of(VERB_MUNLOCK, A, 0, 3));
    struct scenario_operation sync = pages_of(VERB_MSYNC, A, 0, 1);

    sync.flags = ABI_MS_SYNC | ABI_MS_ASYNC;
    bench_error(bench, sync, EINVAL);
    sync.flags = ABI_MS_SYNC;
    bench_ok(bench, sync);
}

static void test_mincore_into(void **state)
{
    struct bench *bench = *state;
    struct scenario_operation into = pages_of(VERB_MINCORE, A, 0, 3);

    bench_ok(bench, bench_map(P, A, 4 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_poke(bench, P, A, 1, 1);
    into.has_target = true;
    into.target = (struct scenario_address){.base = BASE_REGION, .region = A, .offset_bytes = 100};
    bench_value(bench, into, 0);
    bench_data(bench, bench_on(VERB_READ, P, A, 100, 3), "\1\0", 3);
    into.target.offset_bytes = 4 * BENCH_PAGE;
    bench_error(bench, into, EFAULT);
}

static struct scenario_operation remap(uint16_t name, uint64_t old_pages, uint64_t new_pages,
                                       uint32_t flags)
{
    struct scenario_operation operation = pages_of(VERB_MREMAP, A, 0, old_pages);

    operation.region = name;
    operation.new_bytes = new_pages * BENCH_PAGE;
    operation.flags = flags;
    return operation;
}

static void test_mremap(void **state)
{
    struct bench *bench = *state;

    bench_ok(bench, bench_map(P, A, 2 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_ok(bench, bench_map(P, B, BENCH_PAGE, BENCH_RW, BENCH_SHARED));
    bench_ok(bench, bench_map(P, A, 2 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_poke(bench, P, A, 2, 7);
    bench_error(bench, remap(A, 2, 4, 0), ENOMEM);
    bench_error(bench, remap(A, 2, 0, ABI_MREMAP_MAYMOVE), EINVAL);
    bench_error(bench, map_at(remap(A, 2, 2, ABI_MREMAP_FIXED), 0x800000), EINVAL);
    bench_value(bench, map_at(remap(G, 2, 3, ABI_MREMAP_MAYMOVE | ABI_MREMAP_FIXED), 0x800000),
                0x800000);
    bench_peek(bench, P, G, 2, 7);
    bench_data(bench, bench_on(VERB_READ, P, G, 2 * BENCH_PAGE, 1), "", 1);
    assert_null(bench_vma(bench, P, bench_address(bench, P, A)));
    struct scenario_operation keep =
        map_at(remap(A, 3, 3, ABI_MREMAP_MAYMOVE | ABI_MREMAP_DONTUNMAP), 0xa00000);

    keep.address.region = G;
    bench_value(bench, keep, 0xa00000);
    bench_peek(bench, P, A, 2, 7);
    bench_peek(bench, P, G, 3, 0);
}

static void test_heap(void **state)
{
    struct bench *bench = *state;
    struct scenario_operation brk = bench_at(VERB_BRK, P, 0, 0);
    va_t start = SCENARIO_HEAP_START;

    bench_value(bench, brk, start);
    brk.address = (struct scenario_address){.base = BASE_HEAP, .offset_bytes = BENCH_PAGE + 5};
    bench_value(bench, brk, start + BENCH_PAGE + 5);
    bench_ok(bench, one_store(bench_at(VERB_WRITE, P, start + 2 * BENCH_PAGE - 1, 1)));
    assert_int_equal(bench_vma(bench, P, start)->end, start + 2 * BENCH_PAGE);
    assert_false(bench_vma(bench, P, start)->is_file);
    brk.address.offset_bytes = -BENCH_PAGE;
    bench_value(bench, brk, start + BENCH_PAGE + 5);
    brk.address.offset_bytes = (uint64_t)1 << 40;
    bench_value(bench, brk, start + BENCH_PAGE + 5);
    bench_ok(bench, map_at(bench_map(P, A, BENCH_PAGE, BENCH_RW, BENCH_SHARED | ABI_MAP_FIXED),
                           start + 4 * BENCH_PAGE));
    brk.address.offset_bytes = 4 * BENCH_PAGE; /* a page must stay free */
    bench_value(bench, brk, start + BENCH_PAGE + 5);
    brk.address.offset_bytes = 3 * BENCH_PAGE;
    bench_value(bench, brk, start + 3 * BENCH_PAGE);
    brk.address.offset_bytes = 0;
    bench_value(bench, brk, start);
    assert_null(bench_vma(bench, P, start));
}

static void test_limits(void **state)
{
    struct bench *bench = *state;
    struct scenario_operation limit = bench_at(VERB_LIMIT, P, 0, 4 * BENCH_PAGE);

    bench_ok(bench, bench_map(P, A, 4 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    limit.value = 1;
    bench_ok(bench, limit);
    bench_error(bench, bench_map(P, B, 5 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE), ENOMEM);
    bench_ok(bench, bench_map(P, B, 5 * BENCH_PAGE, ABI_PROT_READ, BENCH_PRIVATE));
    bench_ok(bench, bench_map(P, B, 4 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_error(bench, bench_map(P, G, BENCH_PAGE, BENCH_RW, BENCH_PRIVATE), ENOMEM);
    limit.value = 0;
    bench_ok(bench, limit);
    bench_error(bench, bench_map(P, G, 5 * BENCH_PAGE, ABI_PROT_READ, BENCH_PRIVATE), ENOMEM);
    bench_ok(bench, bench_map(P, G, 4 * BENCH_PAGE, ABI_PROT_READ, BENCH_PRIVATE));
    /* The program of an exec has the same limits, and of them has used nothing: 8 of data pages. */
    bench_ok(bench, bench_task(VERB_EXEC, P, SCENARIO_NOBODY));
    bench_error(bench, bench_map(P, A, 9 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE), ENOMEM);
    bench_ok(bench, bench_map(P, A, 8 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_error(bench, bench_map(P, A, 10 * BENCH_PAGE, ABI_PROT_READ, BENCH_PRIVATE), ENOMEM);
    bench_ok(bench, bench_map(P, A, 9 * BENCH_PAGE, ABI_PROT_READ, BENCH_PRIVATE));
}

static void test_stripe(void **state)
{
    struct bench *bench = *state;
    struct scenario_operation stripe = bench_on(VERB_STRIPE, P, A, 0, 5 * BENCH_PAGE);

    stripe.protection = ABI_PROT_READ;
    bench_ok(bench, bench_map(P, A, 5 * BENCH_PAGE, BENCH_RW, BENCH_PRIVATE));
    bench_value(bench, stripe, 0);
    assert_int_equal(bench_vmas(bench, P), 5);
    stripe.bytes = 7 * BENCH_PAGE;
    bench_error(bench, stripe, ENOMEM);
}

/* A stack of the scenario's own grows when it is touched. */
static void test_grows_down(void **state)
{
    struct bench *bench = *state;

    bench_ok(bench, map_at(bench_map(P, A, BENCH_PAGE, BENCH_RW,
                                     BENCH_PRIVATE | ABI_MAP_GROWSDOWN | ABI_MAP_FIXED),
                           0x2000000));
    bench_ok(bench, one_store(bench_at(VERB_WRITE, P, 0x1fff000, 1)));
    bench_ok(bench, one_store(bench_at(VERB_WRITE, P, 0x1f00000, 1)));
    assert_int_equal(bench_vma(bench, P, 0x2000000)->start, 0x1f00000);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        BENCH_TEST(test_places),        BENCH_TEST(test_refuses_its_own),
        BENCH_TEST(test_full),          BENCH_TEST(test_mmap_errors),
        BENCH_TEST(test_bytes),         BENCH_TEST(test_minor_faults),
        BENCH_TEST(test_bad_accesses),  BENCH_TEST(test_partial_write),
        BENCH_TEST(test_kernel_access), BENCH_TEST(test_kernel_write_after_fork),
        BENCH_TEST(test_ranges),        BENCH_TEST(test_mincore_into),
        BENCH_TEST(test_mremap),        BENCH_TEST(test_heap),
        BENCH_TEST(test_limits),        BENCH_TEST(test_stripe),
        BENCH_TEST(test_grows_down),
    };

    return bench_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
