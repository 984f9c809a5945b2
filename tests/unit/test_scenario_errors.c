/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is wrong with a scenario: one line with its place, what was expected and what was found. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/reader.h"

#include <cmocka.h>

/* Reads a text that is wrong: the whole message. */
static void assert_problem(const char *text, size_t bytes, const char *expected)
{
    char problem[SCENARIO_PROBLEM_BYTES];
    struct scenario scenario;
    int error = scenario_read_text(&scenario, "x", text, bytes, problem, sizeof(problem));

    if (error != -EINVAL)
        fail_msg("\"%s\": no -EINVAL but %d", text, error);
    assert_string_equal(problem, expected);
    assert_true(scenario.count == 0 && scenario.operations == NULL);
    assert_true(scenario.memory == NULL && scenario.path == NULL);
}

struct wrong {
    const char *text;
    const char *problem;
};

static void assert_all_wrong(const struct wrong *wrong, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_problem(wrong[i].text, strlen(wrong[i].text), wrong[i].problem);
}

#define ASSERT_ALL_WRONG(table) assert_all_wrong(table, sizeof(table) / sizeof((table)[0]))

static void test_words(void **state)
{
    static const struct wrong wrong[] = {
        {"P frok C", "x:1:3: expected an operation, found \"frok\"; did you mean fork?"},
        {"frok", "x:1:1: expected an operation, found \"frok\"; did you mean fork?"},
        {"frok C", "x:1:1: expected an operation, found \"frok\"; did you mean fork?"},
        {"shwo maps P", "x:1:1: expected an operation, found \"shwo\"; did you mean show?"},
        {"mmap A 4K rw private anon", "x:1:1: expected a task before mmap: \"TASK mmap [NAME] SIZE "
                                      "PROT FLAG... [anon|FILE [offset=N]] [at=ADDRESS]\""},
        {"P show maps", "x:1:3: no task stands before show: \"show maps|smaps|tables TASK, or "
                        "frames|faults|vmstat|diff\""},
        {"P mmap A 4K rz private anon", "x:1:13: expected rights (none, r, w, x, rw, rx, wx, rwx "
                                        "or prot=N), found \"rz\"; did you mean r?"},
        {"P mmap A 4K rw private", "x:1:23: expected what is mapped (anon, a file, or fd=-1 for no "
                                   "such file), found the end of the line"},
        {"P mmap A 4K rw privat anon",
         "x:1:16: expected a flag or a file, found \"privat\"; did you mean private?"},
        {"P mmap 4K r shared F",
         "x:1:20: expected private, shared, shared_validate, anon, fixed, noreplace, populate, "
         "nonblock, growsdown, noreserve, stack, locked, flags=N, a file, fd=-1, offset=N or "
         "at=ADDRESS, found \"F\""},
        {"P mmap 4K r private anon at=0 at=0", "x:1:31: expected one at= only, found a second"},
        {"P mmap 4K r private anon to=0",
         "x:1:26: expected private, shared, shared_validate, anon, fixed, noreplace, populate, "
         "nonblock, growsdown, noreserve, stack, locked, flags=N, a file, fd=-1, offset=N or "
         "at=ADDRESS, found \"to=0\""},
        {"file F 1; P mmap 4K r private F fd=-1", "x:1:23: expected a file or fd=-1, found both"},
        {"file F 1; file G 1; P mmap 4K r private F G",
         "x:1:43: expected one file only, found a second"},
        {"P mremap 0 1 2 to=0 to=0",
         "x:1:21: expected = or the end of the statement behind \"mremap [NAME] ADDRESS OLD NEW "
         "[maymove] [fixed] [dontunmap] [to=ADDRESS]\", found \"to=0\""},
        {"P mremap 0 1 2 maymov",
         "x:1:16: expected = or the end of the statement behind \"mremap [NAME] ADDRESS OLD NEW "
         "[maymove] [fixed] [dontunmap] [to=ADDRESS]\", found \"maymov\""},
        {"P munmap 0 4K extra", "x:1:15: expected = or the end of the statement behind \"munmap "
                                "ADDRESS SIZE\", found \"extra\""},
        {"P munmap 0 4K = ok extra", "x:1:20: expected the end of the statement, found \"extra\""},
        {"P munmap (0 4K",
         "x:1:10: expected an address (such as A+4K, heap or 0x400000), found \"(\""},
        {"P madvise 0 0 dontned", "x:1:15: expected an advice (such as dontneed) or its number, "
                                  "found \"dontned\"; did you mean dontneed?"},
        {"P msync 0 4K asink", "x:1:14: expected = or the end of the statement behind \"msync "
                               "ADDRESS SIZE [sync] [async] [invalidate]\", found \"asink\""},
        {"P limit stack 4", "x:1:9: expected as or data, found \"stack\""},
        {"P pin K 0 raed", "x:1:11: expected read or write, found \"raed\""},
        {"P mincore 0 4K to=0", "x:1:16: expected = or the end of the statement behind \"mincore "
                                "ADDRESS SIZE [into=ADDRESS]\", found \"to=0\""},
        {"= ok", "x:1:1: expected a task or an operation, found \"=\""},
        {"\"P\" exit", "x:1:1: expected a task or an operation, found the text \"P\""},
        {"P = exit", "x:1:3: expected an operation, found \"=\""},
        {"task P; P", "x:1:10: expected an operation, found the end of the line"},
        {", P", "x:1:1: expected a task or an operation, found \",\""},
        {"P > exit", "x:1:3: expected an operation, found \">\""},
    };

    (void)state;
    ASSERT_ALL_WRONG(wrong);
}

static void test_numbers(void **state)
{
    static const struct wrong wrong[] = {
        {"P mmap A 4Q rw private anon",
         "x:1:10: expected a size (such as 4096, 0x1000 or 4K), found \"4Q\""},
        {"P mmap A 99999999999999999999 r private anon",
         "x:1:10: expected a size (such as 4096, 0x1000 or 4K) below 2^64, found "
         "\"99999999999999999999\""},
        {"P mmap A 18446744073709551616 r private anon",
         "x:1:10: expected a size (such as 4096, 0x1000 or 4K) below 2^64, found "
         "\"18446744073709551616\""},
        {"P mmap A 0x10000000000000000 r private anon",
         "x:1:10: expected a size (such as 4096, 0x1000 or 4K) below 2^64, found "
         "\"0x10000000000000000\""},
        {"P mmap A 17179869184G r private anon",
         "x:1:10: expected a size (such as 4096, 0x1000 or 4K) below 2^64, found \"17179869184G\""},
        {"P mmap A 4k r private anon",
         "x:1:10: expected a size (such as 4096, 0x1000 or 4K), found \"4k\""},
        {"P munmap 0 0x", "x:1:12: expected a size (such as 4096, 0x1000 or 4K), found \"0x\""},
        {"P munmap 0 0xg", "x:1:12: expected a size (such as 4096, 0x1000 or 4K), found \"0xg\""},
        {"P munmap 0 K", "x:1:12: expected a size (such as 4096, 0x1000 or 4K), found \"K\""},
        {"P munmap 0 -1", "x:1:12: expected a size (such as 4096, 0x1000 or 4K), found \"-1\""},
        {"P munmap 0",
         "x:1:11: expected a size (such as 4096, 0x1000 or 4K), found the end of the line"},
        {"P read 0xffffffffffffffff+1 1",
         "x:1:8: expected an address below 2^64, found \"0xffffffffffffffff+1\""},
        {"P read 0x10-17 1", "x:1:8: expected an address below 2^64, found \"0x10-17\""},
        {"P read heap+ 1", "x:1:13: expected an offset, found \"\""},
        {"P read heap+4Q 1", "x:1:13: expected an offset, found \"4Q\""},
        {"P read heap+1+2 1", "x:1:13: expected an offset, found \"1+2\""},
        {"P read +5 1",
         "x:1:8: expected an address (such as A+4K, heap or 0x400000), found \"+5\""},
        {"P read at=5 1", "x:1:8: expected the name of a region, found \"at=5\""},
        {"P brk",
         "x:1:6: expected an address (such as A+4K, heap or 0x400000), found the end of the line"},
        {"P poke 0 4K 256", "x:1:13: expected a byte of at most 255, found \"256\""},
        {"P exit 256", "x:1:8: expected an exit status of at most 255, found \"256\""},
        {"P munmap 0 4K fail=0", "x:1:15: expected fail=1 or more: which request fails"},
        {"P munmap 0 4K fail=x", "x:1:20: expected a number, found \"x\""},
        {"P munmap 0 4K fail=4294967296",
         "x:1:20: expected a number of at most 4294967295, found \"4294967296\""},
        {"P madvise 0 0 4294967296",
         "x:1:15: expected an advice of at most 4294967295, found \"4294967296\""},
        {"P mmap 1 prot=4294967296 private anon",
         "x:1:15: expected a number of at most 4294967295, found \"4294967296\""},
        {"P mmap 1 r flags= anon", "x:1:18: expected a number, found \"\""},
        {"P mmap 1 r private anon offset=-1", "x:1:32: expected a number, found \"-1\""},
    };

    (void)state;
    ASSERT_ALL_WRONG(wrong);
}

static void test_names(void **state)
{
    static const struct wrong wrong[] = {
        {"P mmap A 4K rw private anon at=B",
         "x:1:32: expected a region, found B, which no mmap has given"},
        {"P read A 4K", "x:1:8: expected a region, found A, which no mmap has given"},
        {"P mmap Abc 4K r private anon; P read Abd 4K",
         "x:1:38: expected a region, found Abd, which no mmap has given; did you mean Abc?"},
        {"P mmap A-4K 4K r private anon",
         "x:1:8: expected the name of a region, found A-4K, which reads as an offset"},
        {"P mmap aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 4K r shared anon",
         "x:1:8: expected a name of at most 31 bytes, found \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""},
        {"P mmap a:b 4K r shared anon", "x:1:8: expected the name of a region, found \"a:b\""},
        {"P read a:b 4K", "x:1:8: expected the name of a region, found \"a:b\""},
        {"P fork mmap", "x:1:8: expected a name, found mmap, which is a word of the language"},
        {"P fork EINVAL", "x:1:8: expected a name, found EINVAL, which is a word of the language"},
        {"P fork SIGSEGV",
         "x:1:8: expected a name, found SIGSEGV, which is a word of the language"},
        {"P fork ok", "x:1:8: expected a name, found ok, which is a word of the language"},
        {"P fork 5", "x:1:8: expected the name of a task, found \"5\""},
        {"P fork \"C\"", "x:1:8: expected the name of a task, found the text \"C\""},
        {"stack brk 0", "x:1:1: expected a task, found stack, which is a word of the language"},
        {"any munmap 0 0", "x:1:1: expected a task, found any, which is a word of the language"},
        {"EINVAL brk 0", "x:1:1: expected a task, found EINVAL, which is a word of the language"},
        {"file heap 4K", "x:1:6: expected a name, found heap, which is a word of the language"},
        {"file F 4K; file F 4K", "x:1:17: expected a new file, found F, which is open"},
        {"close F", "x:1:7: expected a file, found F, which no file, shm or directory has made"},
        {"P pin K 0 read; P pin K 0 read", "x:1:23: expected a new pin, found K, which is held"},
        {"P pin fill 0 read",
         "x:1:7: expected a name, found fill, which is a word of the language"},
        {"unpin K", "x:1:7: expected a pin, found K, which no task has pinned"},
        {"file F 1; P exec G",
         "x:1:18: expected a file, found G, which no file, shm or directory has made"},
    };

    (void)state;
    ASSERT_ALL_WRONG(wrong);
}

static void test_lives(void **state)
{
    static const struct wrong wrong[] = {
        {"task P; Q brk 0", "x:1:9: expected a task, found Q, which does not exist yet"},
        {"task Parent; Parnt brk 0",
         "x:1:14: expected a task, found Parnt, which does not exist yet; did you mean Parent?"},
        {"P exit; P brk 0", "x:1:9: expected a task that is alive, found P, which ended in line 1"},
        {"P exit\nP brk 0", "x:2:1: expected a task that is alive, found P, which ended in line 1"},
        {"P exit; show maps P",
         "x:1:19: expected a task that is alive, found P, which ended in line 1"},
        {"P exit; expect tables P = 0",
         "x:1:23: expected a task that is alive, found P, which ended in line 1"},
        {"P kill P; P brk 0",
         "x:1:11: expected a task that is alive, found P, which ended in line 1"},
        {"P read 0 4 = SIGSEGV; P brk 0",
         "x:1:23: expected a task that is alive, found P, which ended in line 1"},
        {"P read 0 4 = SIGSEGV on modern else SIGBUS; P brk 0",
         "x:1:45: expected a task that is alive, found P, which ended in line 1"},
        {"P fork P", "x:1:8: expected a new task, found P, which was made in line 1"},
        {"P fork C; P fork C", "x:1:18: expected a new task, found C, which was made in line 1"},
        {"P fork C; C exit; P fork C", "x:1:26: expected a new task, found C, which nobody has "
                                       "waited for since it ended in line 1"},
        {"P fork C; C exit; P wait C; C brk 0",
         "x:1:29: expected a task that is alive, found C, which was waited for in line 1"},
        {"P fork C = ENOMEM; C brk 0",
         "x:1:20: expected a task, found C, which does not exist yet"},
        {"P wait C", "x:1:8: expected a task, found C, which does not exist yet"},
        {"P kill C", "x:1:8: expected a task, found C, which does not exist yet"},
        {"task P; task P", "x:1:14: expected a new task, found P, which was made in line 1"},
        {"show maps P; Q exit", "x:1:14: expected a task, found Q, which does not exist yet"},
    };

    (void)state;
    ASSERT_ALL_WRONG(wrong);
}

static void test_answers(void **state)
{
    static const struct wrong wrong[] = {
        {"P read 0 4 = EINVLA", "x:1:14: expected data (\"text\", hex:00ff or fill BYTE SIZE), ok, "
                                "an errno or any, found \"EINVLA\"; did you mean EINVAL?"},
        {"P read 0 4 = 5", "x:1:14: expected data (\"text\", hex:00ff or fill BYTE SIZE), ok, an "
                           "errno or any, found \"5\""},
        {"P read 0 4 =", "x:1:13: expected data (\"text\", hex:00ff or fill BYTE SIZE), ok, an "
                         "errno or any, found the end of the line"},
        {"P read 0 4 = SIGSGEV", "x:1:14: expected data (\"text\", hex:00ff or fill BYTE SIZE), "
                                 "ok, an errno or any, found \"SIGSGEV\"; did you mean SIGSEGV?"},
        {"P read 0 4 = SIGSEGV adrerr",
         "x:1:22: expected the end of the statement, found \"adrerr\""},
        {"P read 0 4 = SIGSEGV at",
         "x:1:24: expected an address (such as A+4K, heap or 0x400000), found the end of the line"},
        {"P read 0 4 = ok faults",
         "x:1:23: expected a number of faults, found the end of the line"},
        {"P munmap 0 4K = \"abc\"", "x:1:17: expected ok, an errno or any, found the text \"abc\""},
        {"P munmap 0 4K = 1", "x:1:17: expected ok, an errno or any, found \"1\""},
        {"P munmap 0 4K = SIGSEGV", "x:1:17: expected ok, an errno or any, found \"SIGSEGV\""},
        {"P munmap 0 4K = ok faults 1",
         "x:1:20: expected no faults: only read, write, peek and poke count them"},
        {"P munmap 0 4K = ok else EINVAL",
         "x:1:20: expected \"on SELECTOR\" before else: this answer holds everywhere"},
        {"P munmap 0 4K = ok on modrn else EINVAL",
         "x:1:23: expected a kernel, host or linux>=VERSION, found \"modrn\"; did you mean "
         "modern?"},
        {"P munmap 0 4K = ok on linux else EINVAL",
         "x:1:29: expected >= or < and a version of Linux, found \"else\""},
        {"P munmap 0 4K = ok on linux>=x else EINVAL",
         "x:1:30: expected a version of Linux (such as 6.17 or 2.5.41), found \"x\""},
        {"P munmap 0 4K = ok on linux>=6.17.1.2",
         "x:1:30: expected a version of Linux (such as 6.17 or 2.5.41), found \"6.17.1.2\""},
        {"P munmap 0 4K = ok on host,",
         "x:1:28: expected a kernel, host or linux>=VERSION, found the end of the line"},
        {"P munmap 0 4K = ok on host else ok on host else ok on host else ok on host else ok",
         "x:1:76: expected at most 4 answers"},
        {"P munmap 0 4K = ok on host,host,host,host,host,host,host,host,host",
         "x:1:63: expected at most 8 places"},
        {"P mincore 0 4K = 102",
         "x:1:18: expected digits 0 and 1, ok, an errno or any, found \"102\""},
        {"P mincore 0 4K = x", "x:1:18: expected digits 0 and 1, ok, an errno or any, found \"x\""},
        {"P peek 0 4K = 256", "x:1:15: expected a byte of at most 255, found \"256\""},
        {"P peek 0 4K = x", "x:1:15: expected a byte, data, ok or any, found \"x\""},
        {"P wait = exit", "x:1:14: expected an exit status, found the end of the line"},
        {"P wait = exit 256", "x:1:15: expected an exit status of at most 255, found \"256\""},
        {"P wait = signal SIGFOO",
         "x:1:17: expected the name of a signal, or its number, found \"SIGFOO\""},
        {"P wait = signal 65",
         "x:1:17: expected the name of a signal, or its number of at most 64, found \"65\""},
        {"P wait = 3",
         "x:1:10: expected exit STATUS, signal NAME, ok, an errno or any, found \"3\""},
        {"P kwrite 0 \"a\" = \"a\"",
         "x:1:18: expected a number, ok, an errno or any, found the text \"a\""},
        {"P brk 0 = A", "x:1:11: expected a region, found A, which no mmap has given"},
        {"task P = ok", "x:1:8: expected no answer: task has none"},
        {"show frames = ok", "x:1:13: expected no answer: show has none"},
    };

    (void)state;
    ASSERT_ALL_WRONG(wrong);
}

static void test_statements_about_the_run(void **state)
{
    static const struct wrong wrong[] = {
        {"expect rss P 0 4K", "x:1:18: expected = and what is expected, found the end of the line"},
        {"expect rss P 0 4K = ok", "x:1:21: expected a number or any, found \"ok\""},
        {"expect rss P 0 4K = EINVAL", "x:1:21: expected a number or any, found \"EINVAL\""},
        {"expect rss P 0 4K = \"8K\"", "x:1:21: expected a number or any, found the text \"8K\""},
        {"expect maps P 0 4K = 4",
         "x:1:22: expected a text such as \"rw-p 8K, - 4K\", or any, found \"4\""},
        {"expect faults tables-shared = 4",
         "x:1:15: expected a step of a fault (such as cow-copy), found \"tables-shared\""},
        {"expect faults cow-cpoy = 4", "x:1:15: expected a step of a fault (such as cow-copy), "
                                       "found \"cow-cpoy\"; did you mean cow-copy?"},
        {"expect count tables-sharde = 4", "x:1:14: expected an event (such as tables-shared), "
                                           "found \"tables-sharde\"; did you mean tables-shared?"},
        {"expect rs P 0 4K = 1",
         "x:1:8: expected vmas, rss, pss, shared, private, anonymous, locked, swap, maps, tables, "
         "shared-tables, frames, faults or count, found \"rs\"; did you mean rss?"},
        {"expect frames P = 1", "x:1:15: expected = and what is expected, found \"P\""},
        {"show", "x:1:5: expected maps, smaps, tables, frames, faults, vmstat or diff, found the "
                 "end of the line"},
        {"show map P", "x:1:6: expected maps, smaps, tables, frames, faults, vmstat or diff, found "
                       "\"map\"; did you mean maps?"},
        {"show maps", "x:1:10: expected the name of a task, found the end of the line"},
        {"show frames P", "x:1:13: expected the end of the statement behind \"show "
                          "maps|smaps|tables TASK, or frames|faults|vmstat|diff\", found \"P\""},
        {"show frames fail=1", "x:1:13: show asks for no memory: fail= is for operations"},
        {"needs", "x:1:6: expected linux, host, emulated, shared-tables, kernel, geometry or a "
                  "feature, found the end of the line"},
        {"needs linux",
         "x:1:12: expected >= or < and a version of Linux, found the end of the line"},
        {"needs linux 6.17", "x:1:13: expected >= or < and a version of Linux, found \"6.17\""},
        {"needs linux >= six",
         "x:1:16: expected a version of Linux (such as 6.17 or 2.5.41), found \"six\""},
        {"needs swop", "x:1:7: expected linux, host, emulated, shared-tables, kernel, geometry or "
                       "a feature, found \"swop\"; did you mean swap?"},
        {"needs kernel host", "x:1:14: expected names of kernels only"},
        {"needs kernel vax", "x:1:14: expected a kernel, host or linux>=VERSION, found \"vax\""},
        {"needs geometry vax", "x:1:16: expected a geometry (x86-64, i386 or tiny), found \"vax\""},
        {"needs geometry", "x:1:15: expected a geometry, found the end of the line"},
        {"needs host \"x\"", "x:1:12: expected the end of the statement behind \"needs "
                             "CONDITION\", found the text \"x\""},
        {"needs swap \"why\" x",
         "x:1:18: expected the end of the statement behind \"needs CONDITION\", found \"x\""},
    };

    (void)state;
    ASSERT_ALL_WRONG(wrong);
}

/* Data and strings. */
static void test_data(void **state)
{
    static const struct wrong wrong[] = {
        {"P write 0",
         "x:1:10: expected data (\"text\", hex:00ff or fill BYTE SIZE), found the end of the line"},
        {"P write 0 abc",
         "x:1:11: expected data (\"text\", hex:00ff or fill BYTE SIZE), found \"abc\""},
        {"P write 0 \"abc", "x:1:11: expected \" at the end of the text \"abc\""},
        {"P write 0 \"abc\\\"", "x:1:11: expected \" at the end of the text \"abc\\\"\""},
        {"P write 0 \"a\\q\"",
         "x:1:13: expected \\n, \\t, \\0, \\\\, \\\" or \\xNN, found \"\\q\""},
        {"P write 0 \"a\\x4\"",
         "x:1:13: expected \\n, \\t, \\0, \\\\, \\\" or \\xNN, found \"\\x\""},
        {"P write 0 \"a\\xg0\"",
         "x:1:13: expected \\n, \\t, \\0, \\\\, \\\" or \\xNN, found \"\\x\""},
        {"P write 0 hex:123", "x:1:17: expected two hexadecimal digits a byte, found \"3\""},
        {"P write 0 hex:12g3", "x:1:17: expected two hexadecimal digits a byte, found \"g3\""},
        {"P write 0 fill 256 4", "x:1:16: expected a byte of at most 255, found \"256\""},
        {"P write 0 fill 1", "x:1:17: expected a size, found the end of the line"},
        {"P write 0 fill 1 2G", "x:1:18: expected a size of at most 1073741824, found \"2G\""},
        {"P exec \"\"", "x:1:8: expected a path that is not empty and has no \\0"},
        {"P exec \"a\\0b\"", "x:1:8: expected a path that is not empty and has no \\0"},
        {"P exec \"abc", "x:1:8: expected \" at the end of the text \"abc\""},
    };

    (void)state;
    ASSERT_ALL_WRONG(wrong);
}

/* Whatever the bytes are, no message has a control character in it. */
static void test_bytes(void **state)
{
    static const char nul[] = "task P\nP brk 4\0K\n";
    static const char path[] = "a\x1b[31m\n";
    char problem[SCENARIO_PROBLEM_BYTES];
    struct scenario scenario;

    (void)state;
    assert_problem(nul, sizeof(nul) - 1, "x:2:8: expected text, found the byte \\x00");
    assert_problem("# \x1b[31m", 7, "x:1:3: expected text, found the byte \\x1b");
    assert_problem("P brk \x7f", 7, "x:1:7: expected text, found the byte \\x7f");
    assert_problem("task P\r\rtask Q\r\n", 15, "x:1:7: expected text, found the byte \\x0d");
    assert_problem(
        "P brk 4\xc3\xa9", 9,
        "x:1:8: expected = or the end of the statement behind \"brk ADDRESS\", found \"\\xc3\"");
    assert_int_equal(scenario_read_text(&scenario, path, "\x01", 1, problem, sizeof(problem)),
                     -EINVAL);
    assert_string_equal(problem, "a\\x1b[31m\\x0a:1:1: expected text, found the byte \\x01");
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[] = {'P', ' ', (char)byte, ' ', (char)byte};

        if (scenario_read_text(&scenario, path, text, sizeof(text), problem, sizeof(problem)) == 0)
            scenario_free(&scenario);
        for (const char *c = problem; *c != '\0'; c++)
            assert_true(*c >= ' ' && *c <= '~');
    }
}

/* Lines, words and paths without end. */
static void test_lengths(void **state)
{
    enum { BYTES = 1000000 };
    char *text = malloc(BYTES);
    char problem[SCENARIO_PROBLEM_BYTES];
    struct scenario scenario;

    (void)state;
    assert_non_null(text);
    memset(text, 'a', BYTES);
    assert_problem(text, BYTES,
                   "x:1:65537: expected the end of the line: it has more than 65536 bytes");
    text[65536] = '\n';
    assert_problem(text, BYTES, "x:1:65537: expected an operation, found the end of the line");
    memset(text, '#', 65536);
    assert_problem(text, BYTES,
                   "x:2:65537: expected the end of the line: it has more than 65536 bytes");
    assert_int_equal(scenario_read_text(&scenario, "x", text, 65537, problem, sizeof(problem)), 0);
    scenario_free(&scenario);

    memset(text, 'a', BYTES);
    text[1000] = '\0';
    assert_int_equal(scenario_read_text(&scenario, text, "P", 1, problem, sizeof(problem)),
                     -EINVAL);
    assert_int_equal(strncmp(problem, "...aaaa", 7), 0);
    assert_non_null(strstr(problem, "aaaa:1:2: expected an operation, found the end of the line"));
    free(text);
}

/* A message that does not fit is cut, and ends. */
static void test_small_buffer(void **state)
{
    struct scenario scenario;
    char problem[8];

    (void)state;
    assert_int_equal(scenario_read_text(&scenario, "path", "P", 1, problem, sizeof(problem)),
                     -EINVAL);
    assert_string_equal(problem, "path:1:");
}

/* One more of everything than there may be. */
static void test_counts(void **state)
{
    static const struct {
        const char *format;
        unsigned most;
        const char *problem;
    } limits[] = {
        {"task T%u\n", SCENARIO_MOST_TASKS,
         "x:65:6: expected at most 64 tasks, found one more: T64"},
        {"file F%u 1\n", SCENARIO_MOST_FILES,
         "x:65:6: expected at most 64 files, found one more: F64"},
        {"P pin K%u 0 read\n", SCENARIO_MOST_PINS,
         "x:65:7: expected at most 64 pins, found one more: K64"},
        {"P mmap A%u 1 r private anon\n", SCENARIO_MOST_REGIONS,
         "x:257:8: expected at most 256 regions, found one more: A256"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        char *text = NULL;
        size_t bytes;
        FILE *stream = open_memstream(&text, &bytes);

        assert_non_null(stream);
        for (unsigned j = 0; j <= limits[i].most; j++)
            fprintf(stream, limits[i].format, j);
        fclose(stream);
        assert_problem(text, bytes, limits[i].problem);
        free(text);
    }
}

static void test_streams(void **state)
{
    char problem[SCENARIO_PROBLEM_BYTES];
    struct scenario scenario;
    FILE *directory = fopen(".", "r");

    (void)state;
    assert_non_null(directory);
    assert_int_equal(scenario_read(&scenario, ".", directory, problem, sizeof(problem)), -EIO);
    assert_string_equal(problem, ".: Is a directory");
    assert_null(scenario.path);
    fclose(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),   cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_names),   cmocka_unit_test(test_lives),
        cmocka_unit_test(test_answers), cmocka_unit_test(test_statements_about_the_run),
        cmocka_unit_test(test_data),    cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_lengths), cmocka_unit_test(test_small_buffer),
        cmocka_unit_test(test_counts),  cmocka_unit_test(test_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
