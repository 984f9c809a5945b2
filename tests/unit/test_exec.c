/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exec: a good program is mapped as its headers say, its arguments lie on the stack; a bad one is
 * refused with one line, and the old program is still there, whole.
 */
#include <errno.h>
#include <string.h>

#include "tests/support/elf_file.h"
#include "tests/support/ruler.h"
#include "tests/support/trap_fixture.h"

enum { PROGRAM_PAGE = 4 };

struct bench {
    struct trap trap;
    struct task *task;
    struct elf_file file;
    char problem[160];
};

static void begin(struct bench *bench, const struct geometry *geometry)
{
    trap_open(&bench->trap, kernel_find("2.5.41-mm2-shared"), geometry, MMU_SOFT, NULL);
    bench->task = trap_first(&bench->trap);
    trap_map(&bench->trap, bench->task, bench->trap.base, 2, RW);
    trap_write(&bench->trap, bench->task, bench->trap.base, 'o');
    elf_file_init(&bench->file, PROGRAM_PAGE * PAGE_BYTES);
}

static void end(struct bench *bench)
{
    trap_close(&bench->trap);
}

static int exec_stream(struct bench *bench, FILE *stream, const char *const arguments[])
{
    struct object *object = object_of_stream(bench->trap.machine, stream);

    (void)fclose(stream);
    memset(bench->problem, 0, sizeof(bench->problem));
    int error = sys_exec(bench->task, object, arguments, bench->problem, sizeof(bench->problem));

    object_close(bench->trap.machine, object);
    trap_check(&bench->trap);
    return error;
}

static int exec_file(struct bench *bench, const char *const arguments[])
{
    return exec_stream(bench, elf_file_write(&bench->file), arguments);
}

static void assert_ruler(struct bench *bench, const char *expected)
{
    struct ruler ruler = ruler_of(bench->task->mm, PROGRAM_PAGE * PAGE_BYTES, 6);

    assert_string_equal(ruler.text, expected);
}

/* The old program: its mappings, contents and stack, and not a frame more. */
static void assert_refused(struct bench *bench, FILE *stream, int error, const char *problem)
{
    uint32_t used = trap_used(&bench->trap);
    va_t stack = bench->task->mm->stack_pointer;

    assert_int_equal(exec_stream(bench, stream, NULL), error);
    assert_string_equal(bench->problem, problem);
    assert_int_equal(trap_used(&bench->trap), used);
    assert_int_equal(bench->task->mm->stack_pointer, stack);
    assert_int_equal(bench->task->mm->index.count, 2);
    assert_string_equal(ruler_of(bench->task->mm, bench->trap.base, 3).text, "aa. a:rw-p*");
    trap_expect_loads(&bench->trap, bench->trap.base, 2, "P:o.");
}

static void test_good_program(void **state)
{
    (void)state;
    for (size_t i = 0; geometries[i] != NULL; i++) {
        struct bench bench;

        begin(&bench, geometries[i]);
        assert_int_equal(exec_file(&bench, NULL), 0);
        assert_string_equal(bench.problem, "");
        assert_ruler(&bench, "abc... a:r-xp@0 b:rw-p*@1 c:rw-p");
        trap_expect(&bench.trap, bench.trap.base, 2, "P:!!");
        assert_int_equal(bench.task->mm->heap_start, 7 * PAGE_BYTES);
        assert_int_equal(bench.task->mm->heap_end, 7 * PAGE_BYTES);
        assert_int_equal(bench.task->mm->index.count, 4);
        assert_int_equal(trap_count(&bench.trap, EVENT_EXEC), 1);
        /* The heap grows on from the program's own zeros. */
        assert_int_equal(sys_brk(bench.task, 8 * PAGE_BYTES), 8 * PAGE_BYTES);
        assert_ruler(&bench, "abcc.. a:r-xp@0 b:rw-p*@1 c:rw-p");
        trap_write(&bench.trap, bench.task, 7 * PAGE_BYTES, 'h');
        end(&bench);
    }
}

/* Behind what comes from the file there are zeros, in the same page and in those after it. */
static void test_zeros_behind_the_file(void **state)
{
    struct bench bench;
    uint8_t page[PAGE_BYTES];
    static const uint8_t zeros[PAGE_BYTES];

    (void)state;
    begin(&bench, &geometry_x86_64);
    bench.file.bytes = ELF_FILE_BYTES;
    bench.file.segments[1].p_memsz = 300;
    assert_int_equal(exec_file(&bench, NULL), 0);
    assert_ruler(&bench, "ab.... a:r-xp@0 b:rw-p*@1");
    assert_int_equal(copyin(bench.task, page, 5 * PAGE_BYTES, PAGE_BYTES), 0);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(page[i], 'D');
    assert_memory_equal(page + 100, zeros, 200);
    bench.file.segments[1].p_memsz = 2 * PAGE_BYTES;
    assert_int_equal(exec_file(&bench, NULL), 0);
    assert_int_equal(copyin(bench.task, page, 5 * PAGE_BYTES, PAGE_BYTES), 0);
    assert_memory_equal(page + 100, zeros, PAGE_BYTES - 100);
    assert_int_equal(copyin(bench.task, page, 6 * PAGE_BYTES, PAGE_BYTES), 0);
    assert_memory_equal(page, zeros, PAGE_BYTES);
    end(&bench);
}

/* Zeros alone, and a segment that begins inside a page. */
static void test_odd_segments(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, &geometry_x86_64);
    bench.file.bytes = ELF_FILE_BYTES;
    bench.file.segments[1].p_filesz = 0;
    assert_int_equal(exec_file(&bench, NULL), 0);
    assert_ruler(&bench, "abb... a:r-xp@0 b:rw-p");
    trap_expect_loads(&bench.trap, 5 * PAGE_BYTES, 2, "P:..");
    elf_file_init(&bench.file, PROGRAM_PAGE * PAGE_BYTES);
    bench.file.bytes = ELF_FILE_BYTES;
    bench.file.segments[1].p_vaddr += 50;
    bench.file.segments[1].p_offset += 50;
    assert_int_equal(exec_file(&bench, NULL), 0);
    assert_ruler(&bench, "abcc.. a:r-xp@0 b:rw-p*@1 c:rw-p");
    trap_expect_loads(&bench.trap, 5 * PAGE_BYTES, 1, "P:D");
    /* A tail of zeros where nothing may be written, and where there is no right at all. */
    elf_file_init(&bench.file, PROGRAM_PAGE * PAGE_BYTES);
    bench.file.bytes = ELF_FILE_BYTES;
    bench.file.segments[1].p_flags = PF_R;
    bench.file.segments[1].p_memsz = 200;
    assert_int_equal(exec_file(&bench, NULL), 0);
    assert_ruler(&bench, "ab.... a:r-xp@0 b:r--p*@1");
    end(&bench);
}

/* Pages of the program are one file's: a second task that execs it reads nothing anew. */
static void test_text_is_read_once(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, &geometry_x86_64);
    struct object *object = elf_file_object(bench.trap.machine, &bench.file);
    struct task *child = trap_fork(&bench.trap, bench.task, 'C');

    assert_int_equal(sys_exec(bench.task, object, NULL, NULL, 0), 0);
    assert_int_equal(sys_exec(child, object, NULL, NULL, 0), 0);
    trap_expect_loads(&bench.trap, 5 * PAGE_BYTES, 1, "P:D C:D");
    assert_int_equal(entry_pfn(trap_entry(bench.task, 4 * PAGE_BYTES)),
                     entry_pfn(trap_entry(child, 4 * PAGE_BYTES)));
    trap_write(&bench.trap, child, 5 * PAGE_BYTES, 'x');
    trap_expect_loads(&bench.trap, 5 * PAGE_BYTES, 1, "P:D C:x");
    object_close(bench.trap.machine, object);
    end(&bench);
}

static uint64_t word_at(struct bench *bench, va_t va)
{
    uint64_t word = 0;

    assert_int_equal(copyin(bench->task, &word, va, sizeof(word)), 0);
    return word;
}

static void test_arguments(void **state)
{
    static const char *const arguments[] = {"forklab-tiny", "", "--and a blank", NULL};
    struct bench bench;

    (void)state;
    begin(&bench, &geometry_x86_64);
    assert_int_equal(exec_file(&bench, arguments), 0);
    va_t stack = bench.task->mm->stack_pointer;

    assert_int_equal(stack % 16, 0);
    assert_int_equal(word_at(&bench, stack), 3);
    for (unsigned i = 0; i < 3; i++) {
        va_t pointer = word_at(&bench, stack + (va_t)8 * (i + 1));
        char text[20] = "";
        size_t length = 0;

        assert_in_range(pointer, stack, bench.task->mm->user_end - 1);
        assert_int_equal(strnlen_user(bench.task, pointer, sizeof(text), &length), 0);
        assert_int_equal(length, strlen(arguments[i]));
        assert_int_equal(copyin(bench.task, text, pointer, length), 0);
        assert_string_equal(text, arguments[i]);
    }
    assert_int_equal(word_at(&bench, stack + 32), 0);
    assert_int_equal(exec_file(&bench, NULL), 0);
    assert_int_equal(bench.task->mm->stack_pointer, bench.task->mm->user_end - 16);
    assert_int_equal(word_at(&bench, bench.task->mm->stack_pointer), 0);
    end(&bench);
}

static void test_too_many_arguments(void **state)
{
    const char *arguments[400];
    struct bench bench;
    char large[3000];

    (void)state;
    begin(&bench, &geometry_x86_64);
    for (unsigned i = 0; i < 399; i++)
        arguments[i] = "x";
    arguments[399] = NULL;
    memset(large, 'l', sizeof(large));
    large[sizeof(large) - 1] = '\0';
    uint32_t used = trap_used(&bench.trap);

    assert_int_equal(exec_file(&bench, arguments), -E2BIG);
    arguments[0] = large;
    arguments[1] = NULL;
    assert_int_equal(exec_file(&bench, arguments), -E2BIG);
    assert_int_equal(trap_used(&bench.trap), used);
    trap_expect_loads(&bench.trap, bench.trap.base, 2, "P:o.");
    arguments[0] = large + sizeof(large) - 1900;
    assert_int_equal(exec_file(&bench, arguments), 0);
    end(&bench);
}

#define CUT "a segment lies past the end of the file: the file is cut short"
#define OVERLAP "segments overlap or are not in the order of their addresses"
#define NO_FIT "a segment does not fit into the address space"
#define NO_ENTRY "the entry point is in no executable segment"
#define NOT_ELF "not an ELF file; a static ELF executable is needed"

typedef void spoil(struct elf_file *file);

static void spoil_magic(struct elf_file *file)
{
    file->header.e_ident[1] = 'X';
}

static void spoil_type(struct elf_file *file)
{
    file->header.e_type = ET_DYN;
}

static void spoil_count(struct elf_file *file)
{
    file->header.e_phnum = 0;
}

static void spoil_loads(struct elf_file *file)
{
    file->segments[0].p_type = file->segments[1].p_type = PT_NOTE;
}

static void spoil_interpreter(struct elf_file *file)
{
    file->header.e_phnum = 3;
    file->segments[2] = (Elf64_Phdr){.p_type = PT_INTERP};
}

static void spoil_overlap(struct elf_file *file)
{
    file->segments[1].p_vaddr -= PAGE_BYTES;
}

static void spoil_order(struct elf_file *file)
{
    Elf64_Phdr first = file->segments[0];

    file->segments[0] = file->segments[1];
    file->segments[1] = first;
}

static void spoil_same_page(struct elf_file *file)
{
    file->segments[0].p_memsz += 1;
}

static void spoil_offset(struct elf_file *file)
{
    file->segments[1].p_offset += PAGE_BYTES;
}

static void spoil_file_size(struct elf_file *file)
{
    file->segments[1].p_filesz = 101;
}

static void spoil_huge_file_size(struct elf_file *file)
{
    file->segments[1].p_filesz = UINT64_MAX - 50;
    file->segments[1].p_memsz = UINT64_MAX;
}

static void spoil_memory_size(struct elf_file *file)
{
    file->segments[1].p_memsz = 99;
}

static void spoil_congruence(struct elf_file *file)
{
    file->segments[1].p_vaddr += 16;
}

static void spoil_address_zero(struct elf_file *file)
{
    file->segments[0].p_vaddr = 0;
}

static void spoil_address_high(struct elf_file *file)
{
    file->segments[1].p_vaddr = (uint64_t)1 << 47;
}

static void spoil_address_wraps(struct elf_file *file)
{
    file->segments[1].p_memsz = UINT64_MAX - 1000;
}

static void spoil_entry_outside(struct elf_file *file)
{
    file->header.e_entry = 77;
}

static void spoil_entry_in_data(struct elf_file *file)
{
    file->header.e_entry = file->segments[1].p_vaddr;
}

static void test_bad_programs(void **state)
{
    static const struct {
        spoil *spoil;
        const char *problem;
    } rows[] = {
        {spoil_magic, NOT_ELF},
        {spoil_type, "not a static executable with fixed addresses (ET_EXEC); "
                     "link it with -static -no-pie"},
        {spoil_count, "no program headers: not an executable"},
        {spoil_loads, "no loadable segment"},
        {spoil_interpreter, "needs an interpreter; a static executable is needed"},
        {spoil_overlap, OVERLAP},
        {spoil_order, OVERLAP},
        {spoil_same_page, OVERLAP},
        {spoil_offset, CUT},
        {spoil_file_size, CUT},
        {spoil_huge_file_size, CUT},
        {spoil_memory_size, "a segment is larger in the file than in memory"},
        {spoil_congruence, "a segment's address and file offset differ within their pages"},
        {spoil_address_zero, NO_FIT},
        {spoil_address_high, NO_FIT},
        {spoil_address_wraps, NO_FIT},
        {spoil_entry_outside, NO_ENTRY},
        {spoil_entry_in_data, NO_ENTRY},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct bench bench;

        begin(&bench, &geometry_x86_64);
        rows[i].spoil(&bench.file);
        assert_refused(&bench, elf_file_write(&bench.file), -ENOEXEC, rows[i].problem);
        /* And the task can still exec a good one. */
        elf_file_init(&bench.file, PROGRAM_PAGE * PAGE_BYTES);
        assert_int_equal(exec_file(&bench, NULL), 0);
        end(&bench);
    }
}

/* Cut at every length, it is refused, in one line. */
static void test_truncated(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, &geometry_x86_64);
    size_t whole = bench.file.bytes;

    for (size_t bytes = 0; bytes < whole; bytes += bytes < 300 || bytes + 130 > whole ? 1 : 61) {
        bench.file.bytes = bytes;
        assert_int_equal(exec_file(&bench, NULL), -ENOEXEC);
        assert_in_range(strlen(bench.problem), 10, sizeof(bench.problem) - 2);
        assert_null(strchr(bench.problem, '\n'));
        assert_int_equal(bench.task->mm->index.count, 2);
    }
    trap_expect_loads(&bench.trap, bench.trap.base, 2, "P:o.");
    bench.file.bytes = whole;
    assert_int_equal(exec_file(&bench, NULL), 0);
    end(&bench);
}

static void test_other_files(void **state)
{
    struct bench bench;
    static const char script[] = "#!/bin/sh\nexit 0\n";

    (void)state;
    begin(&bench, &geometry_x86_64);
    assert_refused(&bench, stream_of_bytes(script, sizeof(script)), -ENOEXEC, NOT_ELF);
    struct object *shm = trap_shm(&bench.trap, 2);
    char problem[160];

    assert_int_equal(sys_exec(bench.task, shm, NULL, problem, sizeof(problem)), -EACCES);
    assert_string_equal(problem, "not a file");
    trap_check(&bench.trap);
    trap_expect_loads(&bench.trap, bench.trap.base, 2, "P:o.");
    end(&bench);
}

/* A segment with no right, and zeros in the page of its last bytes. */
static void test_a_segment_without_rights(void **state)
{
    struct bench bench;

    (void)state;
    begin(&bench, &geometry_x86_64);
    bench.file.segments[1].p_flags = 0;
    assert_int_equal(exec_file(&bench, NULL), 0);
    assert_ruler(&bench, "abc... a:r-xp@0 b:---p@1 c:---p");
    trap_expect(&bench.trap, 4 * PAGE_BYTES, 3, "P:\177##");
    end(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_program), cmocka_unit_test(test_zeros_behind_the_file),
        cmocka_unit_test(test_odd_segments), cmocka_unit_test(test_text_is_read_once),
        cmocka_unit_test(test_arguments),    cmocka_unit_test(test_too_many_arguments),
        cmocka_unit_test(test_bad_programs), cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_other_files),  cmocka_unit_test(test_a_segment_without_rights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
