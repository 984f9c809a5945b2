/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of /proc/PID/maps and smaps as the host backend reads it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/host_maps.h"

#include <cmocka.h>

static const char maps[] =
    "555555554000-555555556000 r--p 00000000 fe:00 247134                     /usr/bin/cat\n"
    "69ffffe00000-69fffffff000 ---p 00000000 00:00 0 \n"
    "69fffffff000-6a0000000000 ---s 00000000 00:01 1044                       /dev/zero (deleted)\n"
    "6a0001000000-6a0001003000 rw-p 00000000 00:00 0                          [heap]\n"
    "6a07ff6f0000-6a07ff6f2000 rw-s 00001000 00:01 7                          /memfd:a b "
    "(deleted)\n"
    "6a07ff6fe000-6a07ff6ff000 r-xp 00000000 00:00 0 \n"
    "6a07ff7ff000-6a08077ff000 ---p 00000000 00:00 0 \n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

static const char smaps[] =
    "6a0001000000-6a0001003000 rw-p 00000000 00:00 0                          [heap]\n"
    "Size:                 12 kB\n"
    "KernelPageSize:        4 kB\n"
    "Rss:                   8 kB\n"
    "Pss:                   6 kB\n"
    "Pss_Dirty:             5 kB\n"
    "Shared_Clean:          1 kB\n"
    "Shared_Dirty:          3 kB\n"
    "Private_Clean:         2 kB\n"
    "Private_Dirty:         4 kB\n"
    "Referenced:            8 kB\n"
    "Anonymous:             7 kB\n"
    "Swap:                  9 kB\n"
    "SwapPss:              10 kB\n"
    "Locked:               11 kB\n"
    "VmFlags: rd wr mr mw me ac \n"
    "6a07ff7ff000-6a08077ff000 ---p 00000000 00:00 0 \n"
    "Rss:                 100 kB\n";

static FILE *open_text(const char *text)
{
    FILE *stream = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

    assert_non_null(stream);
    return stream;
}

static int read_text(const char *text, bool with_usage, struct scenario_snapshot *snapshot)
{
    FILE *stream = open_text(text);
    int error = host_maps_read(stream, with_usage, snapshot);

    assert_int_equal(fclose(stream), 0);
    return error;
}

static void test_maps(void **state)
{
    struct scenario_snapshot snapshot = {0};

    (void)state;
    assert_int_equal(read_text(maps, false, &snapshot), 0);
    assert_int_equal(snapshot.count, 3);
    assert_int_equal(snapshot.vmas[0].start, 0x1000000);
    assert_int_equal(snapshot.vmas[0].end, 0x1003000);
    assert_string_equal(snapshot.vmas[0].rights, "rw-p");
    assert_false(snapshot.vmas[0].is_file);
    assert_false(snapshot.vmas[0].has_usage);
    assert_int_equal(snapshot.vmas[1].start, 0x7ff6f0000);
    assert_int_equal(snapshot.vmas[1].offset_bytes, 0x1000);
    assert_true(snapshot.vmas[1].is_file);
    assert_int_equal(snapshot.vmas[2].end, 0x7ff6ff000);
    assert_string_equal(snapshot.vmas[2].rights, "r-xp");
    snapshot_free(&snapshot);
}

static void test_smaps(void **state)
{
    struct scenario_snapshot snapshot = {0};
    const struct scenario_vma expected = {
        .start = 0x1000000,
        .end = 0x1003000,
        .rights = "rw-p",
        .has_usage = true,
        .rss = 8 << 10,
        .pss = 6 << 10,
        .shared = 4 << 10,
        .private = 6 << 10,
        .anonymous = 7 << 10,
        .locked = 11 << 10,
        .swap = 9 << 10,
    };

    (void)state;
    assert_int_equal(read_text(smaps, true, &snapshot), 0);
    assert_int_equal(snapshot.count, 1);
    assert_int_equal(snapshot.vmas[0].rss, expected.rss);
    assert_int_equal(snapshot.vmas[0].pss, expected.pss);
    assert_int_equal(snapshot.vmas[0].shared, expected.shared);
    assert_int_equal(snapshot.vmas[0].private, expected.private);
    assert_int_equal(snapshot.vmas[0].anonymous, expected.anonymous);
    assert_int_equal(snapshot.vmas[0].locked, expected.locked);
    assert_int_equal(snapshot.vmas[0].swap, expected.swap);
    assert_true(snapshot.vmas[0].has_usage);
    snapshot_free(&snapshot);
}

/* A text that is none is told, not guessed at. */
static void test_nonsense(void **state)
{
    static const char *const texts[] = {
        "6a0001000000-6a0001003000\n",
        "6a0001000000 6a0001003000 rw-p 00000000 00:00 0\n",
        "6a0001000000-6a0001003000 rw 00000000 00:00 0\n",
        "6a0001000000-6a0001003000 rw-p 00000000 00:00\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct scenario_snapshot snapshot = {0};

        assert_int_equal(read_text(texts[i], false, &snapshot), -EIO);
        snapshot_free(&snapshot);
    }
}

static void expect_print(const char *text, const char *expected)
{
    FILE *from = open_text(text);
    char *printed = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&printed, &bytes);

    assert_non_null(to);
    assert_int_equal(host_maps_print(from, to), 0);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(fclose(from), 0);
    assert_string_equal(printed, expected);
    free(printed);
}

static void test_print(void **state)
{
    (void)state;
    expect_print(maps,
                 "01000000-01003000 rw-p 00000000 00:00 0                                  [heap]\n"
                 "7ff6f0000-7ff6f2000 rw-s 00001000 00:01 7                                "
                 "/memfd:a b (deleted)\n"
                 "7ff6fe000-7ff6ff000 r-xp 00000000 00:00 0 \n");
    expect_print("6a07ff7fe000-6a07ff7ff000 r--p 00000000 00:00 0 \n"
                 "Rss:                   4 kB\n"
                 "6a07ff7ff000-6a08077ff000 ---p 00000000 00:00 0 \n"
                 "Rss:                 100 kB\n",
                 "7ff7fe000-7ff7ff000 r--p 00000000 00:00 0 \n"
                 "Rss:                   4 kB\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_smaps),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_print),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
