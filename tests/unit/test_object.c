/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects: their pages come once, in order of need; who holds them; what cannot be opened. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/elf_file.h"
#include "tests/support/trap_fixture.h"

static void begin(struct trap *trap)
{
    trap_open(trap, kernel_find("2.5.41"), &geometry_x86_64, MMU_SOFT, NULL);
}

/* The object's page, with the frame that it may need. */
static pfn_t page_of_object(struct trap *trap, struct object *object, uint64_t page, int expected)
{
    struct ram_need need = {.frames = 1};
    pfn_t pfn = PFN_NONE;

    assert_int_equal(ram_reserve(&trap->machine->ram, &need), 0);
    assert_int_equal(object_page(trap->machine, object, page, PFN_NONE, &pfn), expected);
    trap_check(trap);
    return pfn;
}

static void test_shm(void **state)
{
    struct object *object = NULL;
    struct trap trap;

    (void)state;
    begin(&trap);
    assert_int_equal(shm_create(trap.machine, 0, &object), -EINVAL);
    assert_int_equal(shm_create(trap.machine, UINT64_MAX, &object), -EINVAL);
    assert_int_equal(shm_create(trap.machine, OBJECT_MOST_BYTES + 1, &object), -ENOMEM);
    assert_int_equal(shm_create(trap.machine, 2 * PAGE_BYTES + 1, &object), 0);
    assert_int_equal(object->kind, FRAME_SHM);
    assert_int_equal(object->references, 1);
    assert_int_equal(object->bytes, 2 * PAGE_BYTES + 1);
    assert_int_equal(object->page_count, 3);
    for (unsigned page = 0; page < 3; page++)
        assert_int_equal(object->pages[page], OBJECT_PAGE_ABSENT);
    pfn_t pfn = page_of_object(&trap, object, 1, 0);
    const struct frame *frame = &trap.machine->ram.frames[pfn];

    assert_int_equal(frame->kind, FRAME_SHM);
    assert_int_equal(frame->count, 1);
    for (unsigned i = 0; i < PAGE_BYTES; i++)
        assert_int_equal(frame_data(&trap.machine->ram, pfn)[i], 0);
    assert_int_equal(page_of_object(&trap, object, 1, 0), pfn);
    assert_int_equal(trap_used(&trap), trap.used_frames + 1);
    object_close(trap.machine, object);
    assert_int_equal(frame->kind, FRAME_FREE);
    trap_close(&trap);
}

/* Mappings hold it after its opener has gone; the last one frees its frames. */
static void test_references(void **state)
{
    struct trap trap;
    struct object *object = NULL;

    (void)state;
    begin(&trap);
    struct task *parent = trap_first(&trap);

    assert_int_equal(shm_create(trap.machine, 3 * PAGE_BYTES, &object), 0);
    trap_map_object(&trap, parent, trap.base, 3, MAP_REQUEST_SHARED, object, 0);
    trap_write(&trap, parent, trap.base, 'a');
    object_close(trap.machine, object);
    assert_int_equal(object->references, 1);
    trap_expect_loads(&trap, trap.base, 3, "P:a..");
    struct task *child = trap_fork(&trap, parent, 'C');

    assert_int_equal(object->references, 2);
    trap_unmap(&trap, child, trap_page(&trap, 1), 1);
    assert_int_equal(object->references, 3);
    trap_exit(&trap, parent);
    trap_expect_loads(&trap, trap.base, 3, "C:a!.");
    assert_int_equal(trap.machine->objects.used_count, 1);
    trap_unmap(&trap, child, trap.base, 3);
    assert_int_equal(trap.machine->objects.used_count, 0);
    trap_close(&trap);
}

static void test_file(void **state)
{
    char bytes[PAGE_BYTES + 10];
    struct trap trap;

    (void)state;
    begin(&trap);
    memset(bytes, 'f', sizeof(bytes));
    FILE *stream = stream_of_bytes(bytes, sizeof(bytes));
    struct object *object = object_of_stream(trap.machine, stream);

    (void)fclose(stream);
    assert_int_equal(object->kind, FRAME_FILE);
    assert_int_equal(object->bytes, sizeof(bytes));
    assert_int_equal(object->page_count, 2);
    assert_false(object->read_only);
    const uint8_t *data = frame_data(&trap.machine->ram, page_of_object(&trap, object, 1, 0));

    assert_memory_equal(data, bytes, 10);
    /* Zeros behind the end. */
    for (unsigned i = 10; i < PAGE_BYTES; i++)
        assert_int_equal(data[i], 0);
    assert_memory_equal(frame_data(&trap.machine->ram, page_of_object(&trap, object, 0, 0)), bytes,
                        PAGE_BYTES);
    object_close(trap.machine, object);
    trap_close(&trap);
}

static void test_file_of_no_bytes(void **state)
{
    struct trap trap;

    (void)state;
    begin(&trap);
    FILE *stream = stream_of_bytes("", 0);
    struct object *object = object_of_stream(trap.machine, stream);

    (void)fclose(stream);
    assert_int_equal(object->page_count, 0);
    struct task *parent = trap_first(&trap);

    trap_map_object(&trap, parent, trap.base, 1, 0, object, 0);
    trap_refuses(&trap, parent, trap.base, ACCESS_READ);
    object_close(trap.machine, object);
    trap_close(&trap);
}

static void test_what_cannot_be_opened(void **state)
{
    struct object *object = NULL;
    struct trap trap;

    (void)state;
    begin(&trap);
    assert_int_equal(file_open(trap.machine, "/no/such/file", &object), -ENOENT);
    assert_int_equal(file_open(trap.machine, "/proc", &object), -ENODEV);
    assert_int_equal(file_open(trap.machine, "/dev/null", &object), -ENODEV);
    assert_int_equal(file_open(trap.machine, "", &object), -ENOENT);
    assert_null(object);
    trap_close(&trap);
}

/* Somebody who is not root may read this file and not write it. */
static void test_what_may_only_be_read(void **state)
{
    enum { NOBODY = 65534 };
    struct object *object = NULL;
    struct trap trap;
    bool is_root = geteuid() == 0;

    (void)state;
    begin(&trap);
    assert_int_equal(is_root ? seteuid(NOBODY) : 0, 0);
    int error = file_open(trap.machine, "/etc/passwd", &object);

    assert_int_equal(is_root ? seteuid(0) : 0, 0);
    assert_int_equal(error, 0);
    assert_true(object->read_only);
    object_close(trap.machine, object);
    trap_close(&trap);
}

/* Refused at each request for memory: nothing is left behind. */
static void test_without_memory(void **state)
{
    struct object *object = NULL;
    struct trap trap;
    int error = -ENOMEM;

    (void)state;
    begin(&trap);
    for (uint64_t at = 1; error != 0; at++) {
        struct allocation_gate *gate = &trap.machine->ram.gate;

        gate->fail_at = gate->requests + at;
        error = file_open(trap.machine, "/proc/self/exe", &object);
        gate->fail_at = 0;
        assert_int_equal(trap.machine->objects.used_count, error == 0 ? 1 : 0);
        assert_in_range(at, 1, 4);
    }
    object_close(trap.machine, object);
    trap_close(&trap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shm),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_file_of_no_bytes),
        cmocka_unit_test(test_what_cannot_be_opened),
        cmocka_unit_test(test_what_may_only_be_read),
        cmocka_unit_test(test_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
