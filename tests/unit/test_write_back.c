/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Write-back: what is written to a mapping of a host file comes to the file, once, all of it, and
 * nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pager/file.h"
#include "tests/support/elf_file.h"
#include "tests/support/trap_fixture.h"

/* The first byte of each page of the host file. */
static void expect_on_disk(const struct trap *trap, int file, const char *expected)
{
    char text[32] = "";
    off_t end = lseek(file, 0, SEEK_END);

    for (off_t page = 0; page * (off_t)PAGE_BYTES < end; page++) {
        assert_int_equal(pread(file, &text[page], 1, page * (off_t)PAGE_BYTES), 1);
        if (text[page] == '\0')
            text[page] = '.';
    }
    if (strcmp(text, expected) != 0)
        fail_msg("%s: on disk \"%s\", not \"%s\"", trap->where, text, expected);
}

static int write_back_pages(struct trap *trap, struct object *file, uint64_t first, uint64_t end)
{
    machine_lock(trap->machine);
    int error = object_write_back_locked(trap->machine, file, first, end);

    machine_unlock(trap->machine);
    trap_check(trap);
    return error;
}

static void write_back(struct trap *trap, struct object *file)
{
    assert_int_equal(write_back_pages(trap, file, 0, UINT64_MAX), 0);
}

static int descriptor_of(const struct object *file)
{
    int copy = dup(file->file);

    assert_true(copy >= 0);
    return copy;
}

/* P61: sixteen clean pages, let through ahead of their turn. */
static void p61_written_after_write_back(struct trap *trap)
{
    uint8_t data[16 * PAGE_BYTES];

    for (unsigned page = 0; page < 16; page++)
        memset(data + page * PAGE_BYTES, 'a' + (int)page, PAGE_BYTES);
    FILE *stream = stream_of_bytes(data, sizeof(data));
    struct object *file = object_of_stream(trap->machine, stream);
    struct task *parent = trap_first(trap);

    (void)fclose(stream);
    trap_map_object(trap, parent, trap->base, 16, MAP_REQUEST_SHARED, file, 0);
    trap_expect_loads(trap, trap->base, 16, "P:abcdefghijklmnop");
    trap_write(trap, parent, trap_page(trap, 0), '0');
    trap_write(trap, parent, trap_page(trap, 5), '5');
    write_back(trap, file);
    expect_on_disk(trap, file->file, "0bcde5ghijklmnop");
    /* All are clean now; each is dirty again by its own write. */
    trap_expect_loads(trap, trap->base, 16, "P:0bcde5ghijklmnop");
    trap_write(trap, parent, trap_page(trap, 0), '1');
    trap_steps(trap, "mark-dirty");
    trap_write(trap, parent, trap_page(trap, 6), '6');
    trap_write(trap, parent, trap_page(trap, 5), '7');
    write_back(trap, file);
    expect_on_disk(trap, file->file, "1bcde76hijklmnop");
    object_close(trap->machine, file);
}

static void test_p61(void **state)
{
    (void)state;
    for (size_t i = 0; i < kernel_count; i++) {
        for (int mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
            struct trap trap;

            trap_open(&trap, &kernels[i], &geometry_x86_64, (enum mmu_kind)mmu, NULL);
            p61_written_after_write_back(&trap);
            trap_close(&trap);
        }
    }
}

/* Sharers of one table, and others with tables of their own: nobody goes on writing unseen. */
TRAP(all_sharers_fault_after_write_back, ANYWHERE)
{
    struct object *file = trap_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, MAP_REQUEST_SHARED, file, 0);
    trap_write(trap, parent, trap_page(trap, 0), 'p');
    struct task *child = trap_fork(trap, parent, 'C');

    trap_write(trap, child, trap_page(trap, 1), 'c');
    trap_write(trap, parent, trap_page(trap, 1), 'q');
    trap_write(trap, child, trap_page(trap, 0), 'd');
    write_back(trap, file);
    expect_on_disk(trap, file->file, "dqC");
    trap_write(trap, parent, trap_page(trap, 0), 'e');
    write_back(trap, file);
    expect_on_disk(trap, file->file, "eqC");
    trap_write(trap, child, trap_page(trap, 0), 'f');
    trap_write(trap, child, trap_page(trap, 1), 'r');
    write_back(trap, file);
    expect_on_disk(trap, file->file, "frC");
    trap_expect_loads(trap, trap->base, 3, "P:frC C:frC");
}

/* A span with a private mapping beside the shared one. */
TRAP(private_pages_are_not_written_back, IN_SPAN)
{
    struct object *file = trap_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 2, MAP_REQUEST_SHARED, file, 0);
    trap_map_object(trap, parent, trap_page(trap, 2), 1, 0, file, 2);
    trap_write(trap, parent, trap_page(trap, 2), 'x');
    trap_write(trap, parent, trap_page(trap, 1), 'b');
    struct task *child = trap_fork(trap, parent, 'C');

    trap_write(trap, child, trap_page(trap, 0), 'a');
    trap_write(trap, child, trap_page(trap, 2), 'y');
    write_back(trap, file);
    expect_on_disk(trap, file->file, "abC");
    trap_expect_loads(trap, trap->base, 3, "P:abx C:aby");
}

/* Only what was asked for is written. */
TRAP(part_of_a_file_is_written_back, IN_SPAN)
{
    struct object *file = trap_file(trap, "ABC");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 3, MAP_REQUEST_SHARED, file, 0);
    for (unsigned page = 0; page < 3; page++)
        trap_write(trap, parent, trap_page(trap, page), 'x');
    assert_int_equal(write_back_pages(trap, file, 1, 2), 0);
    expect_on_disk(trap, file->file, "AxC");
    assert_int_equal(write_back_pages(trap, file, 2, 1), 0);
    assert_int_equal(write_back_pages(trap, file, 7, 9), 0);
    expect_on_disk(trap, file->file, "AxC");
    write_back(trap, file);
    expect_on_disk(trap, file->file, "xxx");
}

/* Row 30: bytes past the end of the last page never reach the file. */
TRAP(row30_nothing_past_the_end_is_written, IN_SPAN)
{
    struct object *file = trap_file(trap, "AB");
    struct task *parent = trap_first(trap);
    char bytes[12];

    assert_int_equal(file_truncate(trap->machine, file, PAGE_BYTES + 10), 0);
    trap_map_object(trap, parent, trap->base, 2, MAP_REQUEST_SHARED, file, 0);
    trap_write(trap, parent, trap_page(trap, 1) + 9, 'l');
    trap_write(trap, parent, trap_page(trap, 1) + 10, 'm');
    write_back(trap, file);
    assert_int_equal(pread(file->file, bytes, sizeof(bytes), PAGE_BYTES), 10);
    assert_memory_equal(bytes, "BBBBBBBBBl", 10);
    assert_int_equal(trap_read(trap, parent, trap_page(trap, 1) + 10), 'm');
}

/* The file is made longer by write-back when it was by writing. */
TRAP(what_was_appended_is_written, IN_SPAN)
{
    struct object *file = trap_file(trap, "A");
    char byte = 'n';

    assert_int_equal(file_write(trap->machine, file, 2 * PAGE_BYTES, &byte, 1), 1);
    expect_on_disk(trap, file->file, "A");
    write_back(trap, file);
    expect_on_disk(trap, file->file, "A.n");
    assert_int_equal(lseek(file->file, 0, SEEK_END), 2 * PAGE_BYTES + 1);
    assert_int_equal(file_truncate(trap->machine, file, PAGE_BYTES), 0);
    expect_on_disk(trap, file->file, "A");
}

/* A device writes through a pin, of which no entry tells. */
TRAP(what_a_device_wrote_is_written, IN_SPAN)
{
    struct object *file = trap_file(trap, "AB");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 2, MAP_REQUEST_SHARED, file, 0);
    struct pin pin = trap_pin(trap, parent, trap_page(trap, 1), ACCESS_WRITE);

    write_back(trap, file);
    pin_write(&pin, 0, "d", 1);
    write_back(trap, file);
    expect_on_disk(trap, file->file, "Ad");
    trap_unpin(trap, &pin);
}

/* A file of the test's own, not on the fixture's list. */
static struct object *open_file_of(struct trap *trap, const char *letters)
{
    struct object *file = trap_file(trap, letters);

    trap->object_count--;
    return file;
}

enum leave { LEAVE_UNMAPPED, LEAVE_MAPPED_OVER, LEAVE_EXITED, LEAVE_EXECED, LEAVE_COUNT };

static void leave_file(struct trap *trap, struct task *child, enum leave how)
{
    if (how == LEAVE_UNMAPPED)
        trap_unmap(trap, child, trap->base, 2);
    else if (how == LEAVE_MAPPED_OVER)
        trap_map(trap, child, trap->base, 2, RW);
    else if (how == LEAVE_EXITED)
        trap_exit(trap, child);
    else
        trap_exec(trap, child);
}

/* With the last reference, whatever that is, everything dirty is written. */
static void leave_by(struct trap *trap, enum leave how, bool closed_last)
{
    struct object *file = open_file_of(trap, "AB");
    int disk = descriptor_of(file);
    struct task *parent = trap->task_count > 0 ? trap->tasks[0] : trap_first(trap);
    struct task *child = trap_fork(trap, parent, 'C');

    trap_map_object(trap, child, trap->base, 2, MAP_REQUEST_SHARED, file, 0);
    if (!closed_last)
        object_close(trap->machine, file);
    trap_write(trap, child, trap_page(trap, 1), 'c');
    expect_on_disk(trap, disk, "AB");
    leave_file(trap, child, how);
    if (closed_last) {
        expect_on_disk(trap, disk, "AB");
        object_close(trap->machine, file);
    }
    expect_on_disk(trap, disk, "Ac");
    trap_check(trap);
    if (how != LEAVE_EXITED)
        trap_exit(trap, child);
    (void)close(disk);
}

TRAP(last_reference_writes_back, ANYWHERE)
{
    for (int how = 0; how < LEAVE_COUNT; how++) {
        leave_by(trap, (enum leave)how, false);
        leave_by(trap, (enum leave)how, true);
    }
}

/* The host cannot execute a file that is open for writing: here it is only while it is written. */
static void test_file_stays_open_for_reading(void **state)
{
    struct trap trap;
    char path[64];

    (void)state;
    trap_open(&trap, kernel_find("modern"), &geometry_x86_64, MMU_SOFT, NULL);
    struct object *file = trap_file(&trap, "A");

    assert_int_equal(file_write(trap.machine, file, 0, "w", 1), 1);
    write_back(&trap, file);
    assert_int_equal(fcntl(file->file, F_GETFL) & O_ACCMODE, O_RDONLY);
    /* A lease for reading is granted only where nobody has the file open for writing. */
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file->file);
    int other = open(path, O_RDONLY | O_CLOEXEC);
    bool leases_work = fcntl(other, F_SETLEASE, F_RDLCK) == 0 || errno != EAGAIN;

    assert_true(leases_work);
    (void)close(other);
    trap_close(&trap);
}

static int write_back_as_nobody(struct trap *trap, struct object *file)
{
    enum { NOBODY = 65534 };
    bool is_root = geteuid() == 0;

    assert_int_equal(is_root ? seteuid(NOBODY) : 0, 0);
    int error = write_back_pages(trap, file, 0, UINT64_MAX);

    assert_int_equal(is_root ? seteuid(0) : 0, 0);
    return error;
}

/* What cannot be written stays dirty, and is written when it can. */
static void test_a_file_that_cannot_be_written(void **state)
{
    struct trap trap;

    (void)state;
    trap_open(&trap, kernel_find("modern-shared"), &geometry_x86_64, MMU_HOST, NULL);
    struct object *file = trap_file(&trap, "AB");
    struct task *parent = trap_first(&trap);

    trap_map_object(&trap, parent, trap.base, 2, MAP_REQUEST_SHARED, file, 0);
    trap_write(&trap, parent, trap.base, 'x');
    assert_int_equal(fchmod(file->file, 0400), 0);
    assert_int_equal(write_back_as_nobody(&trap, file), -EIO);
    expect_on_disk(&trap, file->file, "AB");
    assert_int_equal(fchmod(file->file, 0600), 0);
    write_back(&trap, file);
    expect_on_disk(&trap, file->file, "xB");
    /* Nothing is dirty: the file is not even opened. */
    assert_int_equal(write_back_as_nobody(&trap, file), 0);
    trap_close(&trap);
}

/* Memory files have nowhere to go. */
TRAP(memory_files_stay_as_they_are, IN_SPAN)
{
    struct object *file = trap_memory_file(trap, "AB");
    struct task *parent = trap_first(trap);

    trap_map_object(trap, parent, trap->base, 2, MAP_REQUEST_SHARED, file, 0);
    trap_write(trap, parent, trap->base, 'x');
    write_back(trap, file);
    trap_write(trap, parent, trap->base, 'y');
    trap_steps(trap, "");
    trap_expect_loads(trap, trap->base, 2, "P:yB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_p61),
        cmocka_unit_test(all_sharers_fault_after_write_back),
        cmocka_unit_test(private_pages_are_not_written_back),
        cmocka_unit_test(part_of_a_file_is_written_back),
        cmocka_unit_test(row30_nothing_past_the_end_is_written),
        cmocka_unit_test(what_was_appended_is_written),
        cmocka_unit_test(what_a_device_wrote_is_written),
        cmocka_unit_test(last_reference_writes_back),
        cmocka_unit_test(test_file_stays_open_for_reading),
        cmocka_unit_test(test_a_file_that_cannot_be_written),
        cmocka_unit_test(memory_files_stay_as_they_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
