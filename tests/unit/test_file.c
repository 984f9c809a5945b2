/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files read and written through the page cache, beside the mappings of the same pages: memory
 * files, shared memory and files of the host.
 */
#include "pager/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/elf_file.h"
#include "tests/support/trap_fixture.h"

static void begin(struct trap *trap)
{
    trap_open(trap, kernel_find("2.5.41"), &geometry_x86_64, MMU_SOFT, NULL);
}

static void write_at(struct trap *trap, struct object *file, uint64_t offset, const char *text)
{
    assert_int_equal(file_write(trap->machine, file, offset, text, strlen(text)), strlen(text));
    trap_check(trap);
}

/* What can be read there, '.' for zeros: at most as much as is expected, and one byte more. */
static void expect_at(struct trap *trap, struct object *file, uint64_t offset, const char *expected)
{
    char text[64] = "";
    int64_t got = file_read(trap->machine, file, offset, text, strlen(expected) + 1);

    assert_in_range(got, 0, sizeof(text) - 1);
    for (int64_t i = 0; i < got; i++)
        text[i] = text[i] == '\0' ? '.' : text[i];
    text[min_u64((uint64_t)got, strlen(expected))] = '\0';
    assert_string_equal(text, expected);
    trap_check(trap);
}

static uint64_t resident_pages(const struct object *object)
{
    uint64_t count = 0;

    for (uint64_t page = 0; page < object->page_count; page++)
        count += object->pages[page] != OBJECT_PAGE_ABSENT;
    return count;
}

/* What was never written is absent, reads as zeros, and stays absent. */
static void check_absent_pages(struct trap *trap, struct object *file)
{
    char pages[3 * PAGE_BYTES];
    uint32_t used = trap_used(trap);

    memset(pages, 'x', sizeof(pages));
    assert_int_equal(file_read(trap->machine, file, 10, pages, sizeof(pages)), 2 * PAGE_BYTES - 5);
    for (size_t i = 0; i < 2 * PAGE_BYTES - 5; i++)
        assert_int_equal(pages[i], 0);
    assert_int_equal(pages[2 * PAGE_BYTES - 5], 'x');
    assert_int_equal(trap_used(trap), used);
    assert_int_equal(resident_pages(file), 0);
    write_at(trap, file, PAGE_BYTES - 2, "abcd");
    assert_int_equal(resident_pages(file), 2);
    expect_at(trap, file, PAGE_BYTES - 4, "..abcd..");
    assert_int_equal(file->bytes, 2 * PAGE_BYTES + 5);
}

static void test_memory_files_begin_as_zeros(void **state)
{
    struct trap trap;
    struct object *file = NULL;
    struct object *shm = NULL;

    (void)state;
    begin(&trap);
    assert_int_equal(memory_file_create(trap.machine, 2 * PAGE_BYTES + 5, &file), 0);
    assert_int_equal(file->kind, FRAME_FILE);
    assert_int_equal(file->page_count, 3);
    assert_int_equal(file->references, 1);
    assert_false(file->read_only);
    check_absent_pages(&trap, file);
    assert_int_equal(shm_create(trap.machine, 2 * PAGE_BYTES + 5, &shm), 0);
    check_absent_pages(&trap, shm);
    object_close(trap.machine, file);
    object_close(trap.machine, shm);
    trap_close(&trap);
}

static void test_the_end_of_a_file(void **state)
{
    struct trap trap;
    struct object *file = NULL;
    char byte = 'x';

    (void)state;
    begin(&trap);
    assert_int_equal(memory_file_create(trap.machine, 0, &file), 0);
    expect_at(&trap, file, 0, "");
    write_at(&trap, file, 0, "hello");
    assert_int_equal(file->bytes, 5);
    assert_int_equal(file->page_count, 1);
    expect_at(&trap, file, 3, "lo");
    expect_at(&trap, file, 5, "");
    expect_at(&trap, file, UINT64_MAX, "");
    /* A hole of two pages and a part. */
    write_at(&trap, file, 3 * PAGE_BYTES + 7, "end");
    assert_int_equal(file->bytes, 3 * PAGE_BYTES + 10);
    assert_int_equal(resident_pages(file), 2);
    expect_at(&trap, file, 3, "lo...");
    expect_at(&trap, file, 3 * PAGE_BYTES + 5, "..end");
    assert_int_equal(file_read(trap.machine, file, 0, &byte, 0), 0);
    assert_int_equal(file_write(trap.machine, file, UINT64_MAX, &byte, 0), 0);
    assert_int_equal(file->bytes, 3 * PAGE_BYTES + 10);
    object_close(trap.machine, file);
    trap_close(&trap);
}

static void test_what_is_too_long(void **state)
{
    struct trap trap;
    struct object *file = NULL;

    (void)state;
    begin(&trap);
    assert_int_equal(memory_file_create(trap.machine, FILE_MOST_BYTES + 1, &file), -EFBIG);
    assert_int_equal(memory_file_create(trap.machine, UINT64_MAX, &file), -EFBIG);
    assert_null(file);
    assert_int_equal(memory_file_create(trap.machine, 1, &file), 0);
    assert_int_equal(file_write(trap.machine, file, FILE_MOST_BYTES, "x", 1), -EFBIG);
    assert_int_equal(file_write(trap.machine, file, UINT64_MAX, "x", 1), -EFBIG);
    assert_int_equal(file->bytes, 1);
    object_close(trap.machine, file);
    /* What fits is written. */
    assert_int_equal(memory_file_create(trap.machine, 0, &file), 0);
    assert_int_equal(file_write(trap.machine, file, FILE_MOST_BYTES - 2, "xyz", 3), 2);
    assert_int_equal(file->bytes, FILE_MOST_BYTES);
    object_close(trap.machine, file);
    trap_close(&trap);
}

/* Row 78: a private page sees what is written to the file until it is written itself. */
static void see_writes(struct trap *trap, struct object *file)
{
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 2, MAP_REQUEST_SHARED, file, 0);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_map_object(trap, child, trap->base, 2, 0, file, 0);
    trap_expect_loads(trap, trap->base, 2, "P:AB C:AB");
    write_at(trap, file, 0, "x");
    trap_write(trap, parent, trap_page(trap, 1), 'y');
    trap_expect_loads(trap, trap->base, 2, "P:xy C:xy");
    expect_at(trap, file, PAGE_BYTES - 1, "AyB");
    trap_write(trap, child, trap_page(trap, 1), 'z');
    write_at(trap, file, PAGE_BYTES, "w");
    trap_expect_loads(trap, trap->base, 2, "P:xw C:xz");
    expect_at(trap, file, PAGE_BYTES, "wB");
}

TRAP(row78_memory_file_is_seen_through_private_pages, ANYWHERE)
{
    see_writes(trap, trap_memory_file(trap, "AB"));
}

TRAP(row78_host_file_is_seen_through_private_pages, ANYWHERE)
{
    see_writes(trap, trap_file(trap, "AB"));
}

/* Memory that is shared without a file is written by the same calls. */
TRAP(shared_memory_is_read_and_written, IN_SPAN)
{
    struct object *shm = trap_shm(trap, 2);
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 2, MAP_REQUEST_SHARED, shm, 0);
    trap_expect_loads(trap, trap->base, 1, "P:.");
    write_at(trap, shm, 0, "a");
    write_at(trap, shm, PAGE_BYTES, "b");
    trap_expect_loads(trap, trap->base, 2, "P:ab");
    /* Past the end: the mapping reaches it once it is there. */
    trap_unmap(trap, parent, trap->base, 2);
    trap_map_object(trap, parent, trap->base, 3, MAP_REQUEST_SHARED, shm, 0);
    trap_refuses(trap, parent, trap_page(trap, 2), ACCESS_READ);
    write_at(trap, shm, 2 * PAGE_BYTES, "c");
    trap_expect_loads(trap, trap->base, 3, "P:abc");
}

/* Row 32: the mapping holds the file. */
TRAP(row32_mapping_outlives_the_descriptor, IN_SPAN)
{
    struct object *file = NULL;
    struct task *parent = trap_first(trap);

    assert_int_equal(memory_file_create(trap->machine, PAGE_BYTES, &file), 0);
    write_at(trap, file, 0, "f");
    trap_map_object(trap, parent, trap->base, 1, MAP_REQUEST_SHARED, file, 0);
    object_close(trap->machine, file);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_write(trap, child, trap->base, 'g');
    trap_expect_loads(trap, trap->base, 1, "P:g C:g");
}

/*
 * Row 30: the rest of the last page is zeros. When the file becomes longer, what mappings stored
 * there is cleared on a disk and kept on tmpfs.
 */
static void grow_over_the_tail(struct trap *trap, struct object *file, const char *kept,
                               const char *written_over)
{
    struct task *parent = trap_first(trap);

    assert_int_equal(file_truncate(trap->machine, file, 4), 0);
    trap_map_object(trap, parent, trap->base, 2, MAP_REQUEST_SHARED, file, 0);
    assert_int_equal(trap_read(trap, parent, trap->base + 4), 0);
    trap_write(trap, parent, trap->base + 6, 'm');
    expect_at(trap, file, 0, "AAAA");
    write_at(trap, file, 7, "w");
    expect_at(trap, file, 0, kept);
    trap_write(trap, parent, trap->base + 9, 'm');
    write_at(trap, file, 8, "xyz");
    expect_at(trap, file, 0, written_over);
    trap_write(trap, parent, trap->base + 12, 'm');
    write_at(trap, file, PAGE_BYTES, "n");
    expect_at(trap, file, 11, file->file < 0 ? ".m." : "...");
}

TRAP(row30_tail_of_a_memory_file_is_kept_as_on_tmpfs, IN_SPAN)
{
    grow_over_the_tail(trap, trap_memory_file(trap, "A"), "AAAA..mw", "AAAA..mwxyz");
}

TRAP(row30_tail_of_a_host_file_is_cleared_as_on_a_disk, IN_SPAN)
{
    grow_over_the_tail(trap, trap_file(trap, "A"), "AAAA...w", "AAAA...wxyz");
}

/* Reading brings pages of a host file in, and they are what mappings see. */
static void test_host_file_is_read_into_the_page_cache(void **state)
{
    struct trap trap;

    (void)state;
    begin(&trap);
    struct object *file = trap_file(&trap, "ABC");

    expect_at(&trap, file, 2 * PAGE_BYTES - 1, "BC");
    assert_int_equal(resident_pages(file), 2);
    struct task *parent = trap_first(&trap);

    trap_map_object(&trap, parent, trap.base, 3, 0, file, 0);
    assert_int_equal(ftruncate(file->file, 0) != 0, 1); /* it is open for reading */
    trap_expect_loads(&trap, trap.base, 3, "P:ABC");
    trap_close(&trap);
}

/* Refused at each request for memory: what was done before is told, and the rest is as it was. */
static void test_without_memory(void **state)
{
    struct trap trap;
    struct object *file = NULL;
    char pages[3 * PAGE_BYTES];
    int64_t done = -ENOMEM;

    (void)state;
    begin(&trap);
    assert_int_equal(memory_file_create(trap.machine, 5, &file), 0);
    memset(pages, 'p', sizeof(pages));
    struct allocation_gate *gate = &trap.machine->ram.gate;

    for (uint64_t at = 1; done < (int64_t)sizeof(pages); at++) {
        uint64_t before = file->bytes;

        gate->fail_at = gate->requests + at;
        done = file_write(trap.machine, file, 0, pages, sizeof(pages));
        gate->fail_at = 0;
        trap_check(&trap);
        assert_true(done == -ENOMEM || done >= (int64_t)PAGE_BYTES);
        assert_int_equal(file->bytes, done < 0 ? before : max_u64(before, (uint64_t)done));
        assert_in_range(at, 1, 6);
    }
    expect_at(&trap, file, 3 * PAGE_BYTES - 2, "pp");
    object_close(trap.machine, file);
    trap_close(&trap);
}

/* No frame is free: reading a host file cannot go on, a memory file's holes need none. */
static void test_reading_without_frames(void **state)
{
    struct trap trap;
    struct object *hole = NULL;
    char bytes[2 * PAGE_BYTES];
    struct ram_need need = {.frames = 1};

    (void)state;
    begin(&trap);
    struct object *file = trap_file(&trap, "AB");
    struct object *eater = trap_shm(&trap, 512);

    assert_int_equal(memory_file_create(trap.machine, PAGE_BYTES, &hole), 0);
    expect_at(&trap, file, 0, "AA");
    for (uint64_t page = 0; ram_reserve(&trap.machine->ram, &need) == 0; page++)
        assert_int_equal(file_write(trap.machine, eater, page * PAGE_BYTES, "e", 1), 1);
    assert_int_equal(file_write(trap.machine, hole, 0, "h", 1), -ENOMEM);
    assert_int_equal(file_read(trap.machine, file, 0, bytes, sizeof(bytes)), PAGE_BYTES);
    assert_int_equal(file_read(trap.machine, file, PAGE_BYTES, bytes, 1), -ENOMEM);
    assert_int_equal(file_read(trap.machine, hole, 0, bytes, sizeof(bytes)), PAGE_BYTES);
    trap_check(&trap);
    assert_int_equal(file_truncate(trap.machine, eater, 0), 0);
    object_close(trap.machine, hole);
    trap_close(&trap);
}

/* exec reads what was written last; memory files hold no programs. */
static void test_exec_of_what_was_written(void **state)
{
    struct trap trap;
    struct elf_file elf;
    struct object *memory = NULL;
    char problem[160];

    (void)state;
    begin(&trap);
    struct task *parent = trap_first(&trap);

    elf_file_init(&elf, PAGE_BYTES);
    struct object *file = elf_file_object(trap.machine, &elf);

    assert_int_equal(sys_exec(parent, file, NULL, problem, sizeof(problem)), 0);
    assert_non_null(file->image);
    write_at(&trap, file, 0, "none");
    assert_null(file->image);
    assert_int_equal(sys_exec(parent, file, NULL, problem, sizeof(problem)), -ENOEXEC);
    write_at(&trap, file, 0, "\177ELF");
    assert_int_equal(sys_exec(parent, file, NULL, problem, sizeof(problem)), 0);
    assert_int_equal(memory_file_create(trap.machine, PAGE_BYTES, &memory), 0);
    assert_int_equal(sys_exec(parent, memory, NULL, problem, sizeof(problem)), -ENOEXEC);
    assert_string_equal(problem, "programs are read from files of the host");
    trap_check(&trap);
    object_close(trap.machine, memory);
    object_close(trap.machine, file);
    trap_close(&trap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_files_begin_as_zeros),
        cmocka_unit_test(test_the_end_of_a_file),
        cmocka_unit_test(test_what_is_too_long),
        cmocka_unit_test(row78_memory_file_is_seen_through_private_pages),
        cmocka_unit_test(row78_host_file_is_seen_through_private_pages),
        cmocka_unit_test(shared_memory_is_read_and_written),
        cmocka_unit_test(row32_mapping_outlives_the_descriptor),
        cmocka_unit_test(row30_tail_of_a_memory_file_is_kept_as_on_tmpfs),
        cmocka_unit_test(row30_tail_of_a_host_file_is_cleared_as_on_a_disk),
        cmocka_unit_test(test_host_file_is_read_into_the_page_cache),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_reading_without_frames),
        cmocka_unit_test(test_exec_of_what_was_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
