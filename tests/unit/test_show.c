/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What students read: every kind of `show`, on a machine where each number is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scenario/emulated.h"
#include "scenario/reader.h"
#include "scenario/run.h"

#define RAM_BYTES ((uint64_t)1 << 20)

struct shown {
    char *text;
    size_t bytes;
};

static int read_text(struct scenario *scenario, const char *text)
{
    char problem[SCENARIO_PROBLEM_BYTES];
    int error = scenario_read_text(scenario, "t", text, strlen(text), problem, sizeof(problem));

    if (error != 0)
        print_error("%s\n", problem);
    return error;
}

/* What the scenario shows; it must hold. */
static struct shown show(const struct machine_options *options, const char *text)
{
    struct shown shown = {0};
    struct scenario scenario;
    struct scenario_result result;
    struct backend *backend;
    char problem[SCENARIO_WHY_BYTES] = "";
    FILE *stream = open_memstream(&shown.text, &shown.bytes);
    struct scenario_report report = {.shows = stream, .checks = true};

    assert_non_null(stream);
    assert_int_equal(read_text(&scenario, text), 0);
    assert_int_equal(emulated_create(&backend, options, problem, sizeof(problem)), 0);
    assert_int_equal(emulated_watch(backend), 0);
    scenario_run(&scenario, backend, &report, &result);
    assert_string_equal(result.why, "");
    assert_true(backend->ops->end(backend, problem, sizeof(problem)));
    assert_int_equal(fclose(stream), 0);
    scenario_free(&scenario);
    return shown;
}

static void shows(const char *kernel, const char *text, const char *expected)
{
    const struct machine_options options = {
        .kernel = kernel_find(kernel), .mmu = MMU_SOFT, .ram_bytes = RAM_BYTES};
    struct shown shown = show(&options, text);

    assert_string_equal(shown.text, expected);
    free(shown.text);
}

static void maps_are_in_the_format_of_proc(void **state)
{
    (void)state;
    shows("modern",
          "file F 8K; shm S 4K; P brk heap+4K\n"
          "P mmap A 8K rwx private anon at=0x400000 fixed; P mmap B 4K rw shared anon\n"
          "P mmap C 4K r private F offset=4K; P mmap D 4K none shared S\n"
          "close F; show maps P\n",
          "00400000-00402000 rwxp 00000000 00:00 0 \n"
          "01000000-01001000 rw-p 00000000 00:00 0                                  [heap]\n"
          "7fffff6fc000-7fffff6fd000 ---s 00000000 00:01 3                          /S\n"
          "7fffff6fd000-7fffff6fe000 r--p 00001000 00:01 2                          /F\n"
          "7fffff6fe000-7fffff6ff000 rw-s 00000000 00:01 1                          "
          "/dev/zero (deleted)\n"
          "7fffffffe000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]\n");
}

static void an_executed_program_is_in_maps(void **state)
{
    (void)state;
    shows("modern", "P exec; show maps P\n",
          "00010000-00011000 r-xp 00000000 00:01 65537                              "
          "/forklab-program\n"
          "00011000-00012000 rw-p 00001000 00:01 65537                              "
          "/forklab-program\n"
          "7fffffffe000-7ffffffff000 rw-p 00000000 00:00 0                          [stack]\n");
}

static void smaps_count_as_the_kernel_does(void **state)
{
    (void)state;
    shows("modern-shared",
          "P mmap A 128K rw private anon at=0x400000 fixed; P poke A 64K 1; P peek A 128K\n"
          "P fork C; C fork D; C poke A 4K 2; P munmap stack-4K 4K; show smaps P\n",
          "00400000-00420000 rw-p 00000000 00:00 0 \n"
          "Size:                128 kB\n"
          "KernelPageSize:        4 kB\n"
          "MMUPageSize:           4 kB\n"
          "Rss:                  64 kB\n"
          "Pss:                  21 kB\n" /* 4/2 + 15 * 4/3, each third a little less */
          "Pss_Dirty:            21 kB\n"
          "Shared_Clean:          0 kB\n"
          "Shared_Dirty:         64 kB\n"
          "Private_Clean:         0 kB\n"
          "Private_Dirty:         0 kB\n"
          "Referenced:           64 kB\n"
          "Anonymous:            64 kB\n"
          "LazyFree:              0 kB\n"
          "Swap:                  0 kB\n"
          "Locked:                0 kB\n"
          "VmFlags: rd wr mr mw me ac \n");
}

static void tables_tell_who_shares_them(void **state)
{
    const struct machine_options options = {.kernel = kernel_find("modern-shared"),
                                            .geometry = &geometry_i386,
                                            .mmu = MMU_SOFT,
                                            .ram_bytes = RAM_BYTES};
    struct shown shown =
        show(&options, "P mmap A 64K rw private anon at=0x400000 fixed; P poke A 64K 1\n"
                       "P fork C; show tables P\n");

    (void)state;
    assert_non_null(strstr(shown.text, "shared by 2, read-only above, 16 entries of P, C\n"));
    assert_non_null(strstr(shown.text, "    00400000-00410000 pfn 2-17 anon rwu A D"));
    assert_non_null(strstr(shown.text, ", 1 entry of P\n")); /* the stack's */
    free(shown.text);
}

static void frames_tell_who_holds_them(void **state)
{
    (void)state;
    shows("2.5.41-mm2-shared",
          "P mmap A 8K rw private anon at=0x400000 fixed; P write A fill 1 8K\n"
          "file F 8K \"x\"; P mmap B 4K rw shared F at=0x800000 fixed; P read B 1\n"
          "P pin K A write; P fork C; C write A+4K \"y\"; P munmap stack-4K 4K\n"
          "C munmap stack-4K 4K; show frames\n",
          "frames          kind  count  pins  held by\n"
          "2               anon      2     1  P 000000400000\n"
          "3               anon      1     0  P 000000401000\n"
          "4               file      2     0  /F page 0, P 000000800000*, C 000000800000*\n"
          "5               anon      1     0  C 000000400000\n"
          "7               anon      1     0  C 000000401000\n"
          "240 of 256 frames are free; * through a shared table, which counts once\n");
}

static void counters_are_the_scenarios_own(void **state)
{
    (void)state;
    shows("modern", "show faults\n", "nothing happened yet\n");
    shows("modern",
          "P mmap A 8K rw private anon; P read A 1; P write A \"x\"; show faults\n"
          "shm S 4K; fwrite S 0 \"x\"; P pin K A read; show vmstat\n",
          "zero-fill                   1  an absent anonymous page became zeros\n"
          "cow-copy                    1  a write to a page that others hold was given its own "
          "copy\n"
          "fault                       2  an access that the tables did not permit\n"
          "tables-taken                2  table frames taken from the pool\n"
          "frames-cleared              1  frames filled with zeros\n"
          "vma-lookups                 2  times the kernel looked for the mapping of an address\n"
          "index-steps                 3  VMAs or nodes looked at to find a mapping, a neighbour "
          "or a "
          "gap\n"
          "pages-installed             2  pages let through to user code\n"
          "pages-revoked               1  pages no longer let through\n"
          "nr_free_pages 246\n"
          "nr_anon_pages 2\n" /* A's and the stack's */
          "nr_file_pages 1\n"
          "nr_dirty 0\n"
          "nr_shmem 1\n"
          "nr_page_table_pages 6\n"
          "nr_pinned 1\n"
          "pgfault 2\n");
}

static void a_difference_is_that_of_the_last_operation(void **state)
{
    (void)state;
    shows("modern-shared", "show diff\n", "no operation was watched yet\n");
    shows("modern-shared", "P mmap A 64K rw private anon at=0x400000 fixed; show diff\n",
          "VMAs\n"
          "  P + 000000400000-000000410000 rw-p\n");
    shows("modern-shared",
          "P mmap A 64K rw private anon at=0x400000 fixed; P poke A 64K 1; show diff\n",
          "leaf tables\n"
          "  P + 000000400000 table 198\n"
          "entries\n"
          "  P   000000400000-000000410000 none -> anon pfn 2-17 rwu A D excl\n"
          "frames\n"
          "  + 2-17 anon count 1\n");
    shows("modern-shared",
          "P mmap A 64K rw private anon at=0x400000 fixed; P poke A 64K 1; P fork C\n"
          "show diff; P read A 1; show diff\n",
          "VMAs\n"
          "  C + 000000400000-000000410000 rw-p\n"
          "leaf tables\n"
          "  P   000000400000 table 198 -> table 198 shared by 2 read-only above\n"
          "  C + 000000400000 table 198 shared by 2 read-only above\n"
          "entries\n"
          "  C   000000400000-000000410000 none -> anon pfn 2-17 rwu A D excl\n"
          "nothing changed\n");
}

static void a_split_and_an_end_can_be_followed(void **state)
{
    (void)state;
    shows("modern-shared",
          "P mmap A 64K rw private anon at=0x400000 fixed; P poke A 64K 1; P fork C\n"
          "C write A \"x\"; show diff\n",
          "leaf tables\n"
          "  P   000000400000 table 198 shared by 2 read-only above -> table 198 read-only above\n"
          "  C   000000400000 table 198 shared by 2 read-only above -> table 200\n"
          "entries\n"
          "  P   000000400000-000000410000 anon pfn 2-17 rwu A D excl -> anon pfn 2-17 r-u A D\n"
          "  C   000000400000-000000401000 anon pfn 2 rwu A D excl -> anon pfn 19 rwu A D excl\n"
          "  C   000000401000-000000410000 anon pfn 3-17 rwu A D excl -> anon pfn 3-17 r-u D\n"
          "frames\n"
          "    3-17 anon count 1 -> count 2\n"
          "  + 19 anon count 1\n");
    shows("modern-shared",
          "file F 8K \"x\"; P mmap A 8K rw shared F at=0x400000 fixed; P read A 1\n"
          "P pin K A read; show diff; P fork C; C munmap A 4K; show diff; P exit; show diff\n",
          "frames\n"
          "    1 file count 2 -> count 3 pins 1\n"
          "VMAs\n"
          "  C - 000000400000-000000402000 rw-s /F page 0\n"
          "  C + 000000401000-000000402000 rw-s /F page 1\n"
          "VMAs\n"
          "  P - 000000400000-000000402000 rw-s /F page 0\n"
          "leaf tables\n"
          "  P - 000000400000 table 199\n"
          "entries\n"
          "  P   000000400000-000000401000 file pfn 1 rwu A -> none\n"
          "frames\n"
          "    1 file count 3 pins 1 -> count 2 pins 1\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_are_in_the_format_of_proc),
        cmocka_unit_test(an_executed_program_is_in_maps),
        cmocka_unit_test(smaps_count_as_the_kernel_does),
        cmocka_unit_test(tables_tell_who_shares_them),
        cmocka_unit_test(frames_tell_who_holds_them),
        cmocka_unit_test(counters_are_the_scenarios_own),
        cmocka_unit_test(a_difference_is_that_of_the_last_operation),
        cmocka_unit_test(a_split_and_an_end_can_be_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
