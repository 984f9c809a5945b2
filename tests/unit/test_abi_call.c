/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mmap and mprotect with Linux's own numbers: which error wins where several apply. Every result of
 * the tables was seen on Linux 6.18 (x86-64) for the same call.
 */
#include <errno.h>

#include "pager/abi_call.h"
#include "pager/map.h"
#include "tests/support/trap_fixture.h"

#define PRIVATE ABI_MAP_PRIVATE
#define SHARED ABI_MAP_SHARED
#define VALIDATE ABI_MAP_SHARED_VALIDATE
#define FIXED ABI_MAP_FIXED
#define NOREPLACE ABI_MAP_FIXED_NOREPLACE
#define ANON ABI_MAP_ANONYMOUS
#define GROWSDOWN ABI_MAP_GROWSDOWN
#define HUGETLB 0x40000u
#define UNKNOWN 0x400000u
#define OLD_FLAGS 0x3f8c0u /* all but those that say where, and for huge pages */
#define LAST_OFFSET ((uint64_t)0x7ffffffffffff000)

enum { READ = ABI_PROT_READ, WRITE = ABI_PROT_WRITE, READ_WRITE = READ | WRITE };

enum descriptor { NO_FILE, READ_WRITE_FILE, READ_ONLY_FILE, WRITE_ONLY_FILE, DIRECTORY };

/* Addresses are relative: to the range, whose first page is mapped, or to the end of all. */
enum place { ANYWHERE_AT_ALL, IN_RANGE, AT_TOP };

struct mmap_row {
    enum place place;
    uint64_t offset; /* from that place */
    uint64_t bytes;
    uint32_t protection;
    uint32_t flags;
    enum descriptor file;
    uint64_t offset_bytes;
    int error;
};

static const struct mmap_row mmap_rows[] = {
    /* the descriptor and the offset, before all else */
    {0, 0, 0, READ, PRIVATE, NO_FILE, 0, -EBADF},
    {0, 0, PAGE_BYTES, READ, PRIVATE, NO_FILE, 1, -EINVAL},
    {0, 0, UINT64_MAX, READ, PRIVATE, NO_FILE, 0, -EBADF},
    {0, 0, PAGE_BYTES, READ, PRIVATE | HUGETLB, READ_WRITE_FILE, 0, -EINVAL},
    {0, 0, PAGE_BYTES, READ, PRIVATE | ANON | HUGETLB, NO_FILE, 0, -ENOMEM},
    /* the size */
    {0, 0, 0, READ, PRIVATE | ANON, NO_FILE, 0, -EINVAL},
    {0, 0, 0, READ, PRIVATE | ANON, NO_FILE, 1, -EINVAL},
    {0, 0, UINT64_MAX, READ, ANON, NO_FILE, 0, -ENOMEM},
    /* the place */
    {IN_RANGE, 1, PAGE_BYTES, READ, ANON | FIXED, NO_FILE, 0, -EINVAL},
    {AT_TOP, 0, PAGE_BYTES, READ_WRITE, SHARED | FIXED, READ_ONLY_FILE, 0, -ENOMEM},
    {AT_TOP, 1, PAGE_BYTES, READ, PRIVATE | ANON | FIXED, NO_FILE, 0, -ENOMEM},
    {AT_TOP, PAGE_BYTES, PAGE_BYTES, READ, PRIVATE | ANON | NOREPLACE, NO_FILE, 0, -ENOMEM},
    {IN_RANGE, 0, PAGE_BYTES, READ, ANON | NOREPLACE, NO_FILE, 0, -EEXIST},
    {IN_RANGE, 0, PAGE_BYTES, READ_WRITE, SHARED | NOREPLACE, READ_ONLY_FILE, 0, -EEXIST},
    {IN_RANGE, 0, PAGE_BYTES, READ, PRIVATE | ANON | FIXED | NOREPLACE, NO_FILE, 0, -EEXIST},
    {IN_RANGE, PAGE_BYTES, PAGE_BYTES, READ, PRIVATE | ANON | NOREPLACE, NO_FILE, 0, 0},
    {IN_RANGE, PAGE_BYTES, PAGE_BYTES, READ, PRIVATE | ANON | FIXED | NOREPLACE, NO_FILE, 0, 0},
    /* the file's length */
    {0, 0, PAGE_BYTES, READ_WRITE, SHARED, READ_ONLY_FILE, LAST_OFFSET, -EOVERFLOW},
    {0, 0, 2 * PAGE_BYTES, READ, PRIVATE, READ_WRITE_FILE, LAST_OFFSET - PAGE_BYTES, -EOVERFLOW},
    {0, 0, PAGE_BYTES, READ, PRIVATE, READ_WRITE_FILE, LAST_OFFSET - PAGE_BYTES, 0},
    /* unknown flags, which only one type asks about */
    {0, 0, PAGE_BYTES, READ_WRITE, VALIDATE | UNKNOWN, READ_ONLY_FILE, 0, -EOPNOTSUPP},
    {0, 0, PAGE_BYTES, READ, VALIDATE | UNKNOWN, READ_WRITE_FILE, 0, -EOPNOTSUPP},
    {0, 0, PAGE_BYTES, READ, SHARED | UNKNOWN, READ_WRITE_FILE, 0, 0},
    {0, 0, PAGE_BYTES, READ, PRIVATE | UNKNOWN, READ_WRITE_FILE, 0, 0},
    {IN_RANGE, PAGE_BYTES, PAGE_BYTES, READ, VALIDATE | NOREPLACE, READ_WRITE_FILE, 0, -EOPNOTSUPP},
    {0, 0, PAGE_BYTES, READ, VALIDATE, READ_WRITE_FILE, 0, 0},
    {0, 0, PAGE_BYTES, READ, VALIDATE | OLD_FLAGS, READ_WRITE_FILE, 0, 0},
    /* what the descriptor permits */
    {0, 0, PAGE_BYTES, READ, PRIVATE, WRITE_ONLY_FILE, 0, -EACCES},
    {0, 0, PAGE_BYTES, READ, SHARED, WRITE_ONLY_FILE, 0, -EACCES},
    {0, 0, PAGE_BYTES, WRITE, SHARED, WRITE_ONLY_FILE, 0, -EACCES},
    {0, 0, PAGE_BYTES, READ_WRITE, SHARED, READ_ONLY_FILE, 0, -EACCES},
    {0, 0, PAGE_BYTES, READ, SHARED, READ_ONLY_FILE, 0, 0},
    {0, 0, PAGE_BYTES, READ_WRITE, PRIVATE, READ_ONLY_FILE, 0, 0},
    /* what it is */
    {0, 0, PAGE_BYTES, READ, PRIVATE, DIRECTORY, 0, -ENODEV},
    {0, 0, PAGE_BYTES, READ_WRITE, SHARED, DIRECTORY, 0, -EACCES},
    /* what cannot grow */
    {0, 0, PAGE_BYTES, READ, PRIVATE | GROWSDOWN, READ_WRITE_FILE, 0, -EINVAL},
    {0, 0, PAGE_BYTES, READ, PRIVATE | GROWSDOWN, WRITE_ONLY_FILE, 0, -EACCES},
    {0, 0, PAGE_BYTES, READ, PRIVATE | GROWSDOWN, DIRECTORY, 0, -ENODEV},
    {0, 0, PAGE_BYTES, READ, SHARED | ANON | GROWSDOWN, NO_FILE, 0, -EINVAL},
    {0, 0, PAGE_BYTES, READ, PRIVATE | ANON | GROWSDOWN, NO_FILE, 0, 0},
    /* the type */
    {0, 0, PAGE_BYTES, READ, ANON, NO_FILE, 0, -EINVAL},
    {0, 0, PAGE_BYTES, READ, VALIDATE | ANON, NO_FILE, 0, -EINVAL},
    {0, 0, PAGE_BYTES, READ, 4 | ANON, NO_FILE, 0, -EINVAL},
    {0, 0, PAGE_BYTES, READ, 0, READ_WRITE_FILE, 0, -EINVAL},
    {0, 0, PAGE_BYTES, READ, 0, DIRECTORY, 0, -EINVAL},
    {0, 0, PAGE_BYTES, READ, 0, WRITE_ONLY_FILE, 0, -EINVAL},
    /* what is nobody's business */
    {0, 0, PAGE_BYTES, READ, PRIVATE | ANON, READ_ONLY_FILE, 0, 0},
    {0, 0, PAGE_BYTES, 0xff, PRIVATE | ANON, NO_FILE, 0, 0},
};

struct bench {
    struct trap trap;
    struct task *task;
    struct open_file files[DIRECTORY + 1];
};

static void begin(struct bench *bench)
{
    trap_open(&bench->trap, kernel_find("modern"), &geometry_x86_64, MMU_SOFT, NULL);
    bench->task = trap_first(&bench->trap);
    struct object *object = trap_shm(&bench->trap, 4);

    bench->files[READ_WRITE_FILE] = (struct open_file){object, true, true};
    bench->files[READ_ONLY_FILE] = (struct open_file){object, true, false};
    bench->files[WRITE_ONLY_FILE] = (struct open_file){object, false, true};
    bench->files[DIRECTORY] = (struct open_file){NULL, true, false};
}

static int call_mmap(struct bench *bench, const struct mmap_row *row, va_t *address)
{
    va_t places[] = {[IN_RANGE] = bench->trap.base, [AT_TOP] = bench->task->mm->user_end};
    struct abi_mmap call = {.address = places[row->place] + row->offset,
                            .bytes = row->bytes,
                            .protection = row->protection,
                            .flags = row->flags,
                            .file = row->file == NO_FILE ? NULL : &bench->files[row->file],
                            .offset_bytes = row->offset_bytes};

    return abi_mmap(bench->task, &call, address);
}

static void test_mmap(void **state)
{
    struct bench bench = {0};

    (void)state;
    begin(&bench);
    trap_map(&bench.trap, bench.task, bench.trap.base, 1, VMA_READ);
    uint32_t count = bench.task->mm->index.count;

    for (size_t i = 0; i < sizeof(mmap_rows) / sizeof(mmap_rows[0]); i++) {
        va_t address = 0;
        int error = call_mmap(&bench, &mmap_rows[i], &address);

        if (error != mmap_rows[i].error)
            fail_msg("row %zu: %d; expected %d", i, error, mmap_rows[i].error);
        trap_check(&bench.trap);
        if (error == 0)
            trap_unmap(&bench.trap, bench.task, address, 1);
        assert_int_equal(bench.task->mm->index.count, count);
    }
    trap_close(&bench.trap);
}

/* A mapping as asked for: what its flags become. */
static void test_flags(void **state)
{
    static const struct {
        uint32_t protection;
        uint32_t flags;
        enum descriptor file;
        uint32_t vma_flags;
    } rows[] = {
        {READ, PRIVATE | ANON, NO_FILE, VMA_READ | VMA_MAY_WRITE},
        {READ_WRITE, PRIVATE | ANON, NO_FILE, RW | VMA_MAY_WRITE | VMA_ACCOUNT},
        {READ_WRITE, PRIVATE | ANON | ABI_MAP_NORESERVE, NO_FILE,
         RW | VMA_MAY_WRITE | VMA_NO_RESERVE},
        {READ_WRITE, PRIVATE | ANON | ABI_MAP_STACK | ABI_MAP_GROWSDOWN, NO_FILE,
         RW | VMA_MAY_WRITE | VMA_ACCOUNT | VMA_NO_HUGE_PAGE | VMA_GROWS_DOWN},
        {READ_WRITE, PRIVATE | ANON | ABI_MAP_LOCKED, NO_FILE,
         RW | VMA_MAY_WRITE | VMA_ACCOUNT | VMA_LOCKED | VMA_ANCESTRY},
        {READ_WRITE, PRIVATE | ANON | ABI_MAP_POPULATE, NO_FILE,
         RW | VMA_MAY_WRITE | VMA_ACCOUNT | VMA_ANCESTRY},
        {READ_WRITE, PRIVATE | ANON | ABI_MAP_POPULATE | ABI_MAP_NONBLOCK, NO_FILE,
         RW | VMA_MAY_WRITE | VMA_ACCOUNT},
        {READ_WRITE, SHARED | ANON, NO_FILE, RW | VMA_MAY_WRITE | VMA_SHARED},
        {READ_WRITE, VALIDATE, READ_WRITE_FILE, RW | VMA_MAY_WRITE | VMA_SHARED},
        {READ, SHARED, READ_ONLY_FILE, VMA_READ | VMA_SHARED},
        {READ_WRITE, PRIVATE, READ_ONLY_FILE, RW | VMA_MAY_WRITE | VMA_ACCOUNT},
        {ABI_PROT_EXEC | 8u, PRIVATE | ANON, NO_FILE, VMA_EXEC | VMA_MAY_WRITE},
    };
    struct bench bench = {0};

    (void)state;
    begin(&bench);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct mmap_row row = {.bytes = PAGE_BYTES,
                               .protection = rows[i].protection,
                               .flags = rows[i].flags,
                               .file = rows[i].file};
        va_t address;

        assert_int_equal(call_mmap(&bench, &row, &address), 0);
        assert_int_equal(vma_find(bench.task->mm, address)->flags, rows[i].vma_flags);
        trap_unmap(&bench.trap, bench.task, address, 1);
    }
    trap_close(&bench.trap);
}

static void test_mprotect(void **state)
{
    enum { SEM = 8, GROWS_DOWN = 0x1000000, GROWS_BOTH = 0x3000000, WRONG = 0x10 };
    static const struct {
        uint64_t offset;
        uint64_t bytes;
        uint32_t protection;
        int error;
    } rows[] = {
        {1, PAGE_BYTES, READ, -EINVAL},
        {1, 0, READ, -EINVAL},
        {0, 0, WRONG, 0},
        {0, UINT64_MAX, WRONG, -ENOMEM},
        {0, UINT64_MAX - PAGE_BYTES + 2, READ, -ENOMEM},
        {0, PAGE_BYTES, WRONG, -EINVAL},
        {8 * PAGE_BYTES, PAGE_BYTES, WRONG, -EINVAL},
        {8 * PAGE_BYTES, PAGE_BYTES, READ, -ENOMEM},
        {0, PAGE_BYTES, READ | SEM, 0},
        {0, PAGE_BYTES, READ | GROWS_DOWN, -EINVAL},
        {0, PAGE_BYTES, READ | GROWS_BOTH, -EINVAL},
        {0, 0, READ | GROWS_DOWN, 0},
        {0, 0, READ | GROWS_BOTH, -EINVAL},
        {PAGE_BYTES, 4 * PAGE_BYTES, READ_WRITE, -ENOMEM},
    };
    struct bench bench = {0};

    (void)state;
    begin(&bench);
    trap_map(&bench.trap, bench.task, bench.trap.base, 2, VMA_READ);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        va_t start = bench.trap.base + rows[i].offset;
        int error = abi_mprotect(bench.task, start, rows[i].bytes, rows[i].protection);

        if (error != rows[i].error)
            fail_msg("row %zu: %d; expected %d", i, error, rows[i].error);
        trap_check(&bench.trap);
    }
    trap_close(&bench.trap);
}

/* A shared mapping of a descriptor that only reads never becomes writable; a private one may. */
static void test_mprotect_asks_the_descriptor(void **state)
{
    struct mmap_row shared = {
        .bytes = PAGE_BYTES, .protection = READ, .flags = SHARED, .file = READ_ONLY_FILE};
    struct mmap_row private = {
        .bytes = PAGE_BYTES, .protection = READ, .flags = PRIVATE, .file = READ_ONLY_FILE};
    struct bench bench = {0};
    va_t address;

    (void)state;
    begin(&bench);
    assert_int_equal(call_mmap(&bench, &shared, &address), 0);
    assert_int_equal(abi_mprotect(bench.task, address, PAGE_BYTES, READ_WRITE), -EACCES);
    assert_int_equal(call_mmap(&bench, &private, &address), 0);
    assert_int_equal(abi_mprotect(bench.task, address, PAGE_BYTES, READ_WRITE), 0);
    trap_write(&bench.trap, bench.task, address, 'x');
    trap_close(&bench.trap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mmap),
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_mprotect),
        cmocka_unit_test(test_mprotect_asks_the_descriptor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
