/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * exec, and which part of an address space it and the stack make.
 *
 * Without a name exec takes a very small program of our own: a page of text and a page of data, at
 * 64K where there is room and at the first page else; its heap is put where a first task has it. A
 * FILE of the scenario is never a program: memory files cannot be executed here, whatever they
 * hold. A "PATH" is a file of the host. If that is a program of a kind that the emulator does not
 * load, such as one that needs an interpreter, the outcome says that it cannot, for the real kernel
 * could.
 *
 * Limit: zeroed memory behind a host program's data counts as the scenario's own, since it is
 * anonymous like the rest.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scenario/emulated_private.h"

enum { SEGMENTS = 2, CLOSE_ON_EXEC = 1, FIRST_LABEL = 0x10000, PATH_BYTES = 64 };

#define TEXT_ADDRESS ((va_t)0x10000)

/* --- our own program --- */

struct small_program {
    Elf64_Ehdr header;
    Elf64_Phdr segments[SEGMENTS];
    uint8_t text[PAGE_BYTES - sizeof(Elf64_Ehdr) - SEGMENTS * sizeof(Elf64_Phdr)];
    uint8_t data[PAGE_BYTES];
};

static void lay_out(struct small_program *program, va_t address)
{
    memset(program, 0, sizeof(*program));
    program->header = (Elf64_Ehdr){.e_type = ET_EXEC,
                                   .e_machine = EM_X86_64,
                                   .e_version = EV_CURRENT,
                                   .e_entry = address + offsetof(struct small_program, text),
                                   .e_phoff = sizeof(Elf64_Ehdr),
                                   .e_ehsize = sizeof(Elf64_Ehdr),
                                   .e_phentsize = sizeof(Elf64_Phdr),
                                   .e_phnum = SEGMENTS};
    memcpy(program->header.e_ident, ELFMAG, SELFMAG);
    program->header.e_ident[EI_CLASS] = ELFCLASS64;
    program->header.e_ident[EI_DATA] = ELFDATA2LSB;
    program->header.e_ident[EI_VERSION] = EV_CURRENT;
    for (unsigned i = 0; i < SEGMENTS; i++)
        program->segments[i] = (Elf64_Phdr){.p_type = PT_LOAD,
                                            .p_flags = i == 0 ? PF_R | PF_X : PF_R | PF_W,
                                            .p_offset = i * PAGE_BYTES,
                                            .p_vaddr = address + i * PAGE_BYTES,
                                            .p_filesz = PAGE_BYTES,
                                            .p_memsz = PAGE_BYTES};
}

/* A file of the host's memory with the program in it. */
static int write_small_program(const struct emulated *emulated)
{
    struct small_program program;
    bool has_room = emulated->user_end > 16 * TEXT_ADDRESS;
    int file = (int)syscall(SYS_memfd_create, "forklab-program", CLOSE_ON_EXEC);

    if (file < 0)
        return -errno;
    lay_out(&program, has_room ? TEXT_ADDRESS : PAGE_BYTES);
    if (write(file, &program, sizeof(program)) == (ssize_t)sizeof(program))
        return file;
    close(file);
    return -EIO;
}

static int open_small_program(struct emulated *emulated, struct object **object)
{
    char path[PATH_BYTES];
    int file = write_small_program(emulated);

    if (file < 0)
        return file;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    int error = file_open(emulated->machine, path, object);

    close(file);
    return error;
}

/* --- programs --- */

/* What execve(2) looks at before it looks into the file. */
static int check_path(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0)
        return -EACCES;
    return 0;
}

static int open_program(struct emulated *emulated, const char *path, struct object **object)
{
    if (path == NULL)
        return open_small_program(emulated, object);
    int error = check_path(path);

    return error != 0 ? error : file_open(emulated->machine, path, object);
}

static bool is_program_of(const struct emulated_program *program, const char *path)
{
    if (path == NULL || program->path == NULL)
        return path == program->path;
    return strcmp(path, program->path) == 0;
}

/* The program of that path, NULL for our own; it stays open until the end. */
static int find_program(struct emulated *emulated, const char *path, struct object **object)
{
    for (unsigned i = 0; i < emulated->program_count; i++) {
        *object = emulated->programs[i].file;
        if (is_program_of(&emulated->programs[i], path))
            return 0;
    }
    if (emulated->program_count == EMULATED_MOST_PROGRAMS)
        return -ENFILE;
    struct emulated_program *program = &emulated->programs[emulated->program_count];
    int error = open_program(emulated, path, object);

    if (error != 0)
        return error;
    program->file = *object;
    program->path = path != NULL ? strdup(path) : NULL;
    if (path != NULL && program->path == NULL) {
        object_close(emulated->machine, *object);
        return -ENOMEM;
    }
    program->file->label = FIRST_LABEL + emulated->program_count++;
    return 0;
}

void emulated_close_programs(struct emulated *emulated)
{
    for (unsigned i = 0; i < emulated->program_count; i++) {
        object_close(emulated->machine, emulated->programs[i].file);
        free(emulated->programs[i].path);
    }
    emulated->program_count = 0;
}

const char *emulated_program_path(const struct emulated *emulated, uint32_t label)
{
    uint32_t i = label - FIRST_LABEL;

    if (label < FIRST_LABEL || i >= emulated->program_count)
        return NULL;
    return emulated->programs[i].path != NULL ? emulated->programs[i].path : "/forklab-program";
}

bool emulated_is_own(const struct emulated *emulated, const struct vma *vma)
{
    /* A mapping at the top may have grown into the gap below the stack. */
    return vma->start >= vma->mm->user_end - vma->mm->stack_limit_bytes ||
           (vma->object != NULL && emulated_program_path(emulated, vma->object->label) != NULL);
}

/* --- exec --- */

/* Is this an ELF file, which the real kernel could run? */
static bool is_elf(const struct object *file)
{
    char magic[SELFMAG];

    return file->file >= 0 && pread(file->file, magic, SELFMAG, 0) == SELFMAG &&
           memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static void begin_program(struct emulated_slot *slot, bool is_small)
{
    struct mm *mm = slot->task->mm;

    memset(slot->known, 0, sizeof(slot->known));
    if (is_small) { /* one heap for all: scenarios need not know which program runs */
        va_t user_end = mm->user_end;

        mm->heap_start = min_u64(SCENARIO_HEAP_START, round_down(user_end / 8, PAGE_BYTES));
        mm->heap_end = mm->heap_start;
    }
    slot->heap_start = mm->heap_start;
}

static void run_program(struct emulated *emulated, const struct scenario_operation *operation,
                        struct object *file, struct scenario_outcome *outcome)
{
    static const char *const arguments[] = {"program", NULL};
    struct emulated_slot *slot = &emulated->slots[operation->task];
    struct task *task = slot->task;
    char problem[SCENARIO_WHY_BYTES];
    int error = sys_exec(task, file, arguments, problem, sizeof(problem));

    if (error == 0)
        begin_program(slot, operation->text == NULL);
    if (error == -ENOEXEC && operation->text != NULL && is_elf(file))
        outcome_unable(outcome, "%.200s: %.100s", operation->text, problem);
    else
        outcome_of_call(emulated, operation, error, 0, outcome);
    if (task->state != TASK_ZOMBIE)
        return;
    /* Memory ended when there was no way back. */
    outcome->kind = OUTCOME_SIGNAL;
    outcome->signal = emulated_signal(emulated, &task->status, &outcome->code, &outcome->address);
    emulated_look_at_tasks(emulated);
}

/* A file of the scenario: a descriptor that was closed, a directory, or no program. */
static int refusal_of_file(const struct emulated *emulated, uint16_t number)
{
    const struct emulated_file *file = &emulated->files[number];

    if (number >= SCENARIO_MOST_FILES || !file->is_open)
        return -EBADF;
    return file->open.object == NULL ? -EACCES : -ENOEXEC;
}

void emulated_exec(struct emulated *emulated, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    struct object *file = NULL;
    int error = task_enter_kernel(emulated->slots[operation->task].task);

    if (error == 0)
        machine_unlock(emulated->machine);
    if (error == 0 && operation->file != SCENARIO_NOBODY)
        error = refusal_of_file(emulated, operation->file);
    if (error == 0)
        error = find_program(emulated, operation->text, &file);
    if (error == 0)
        run_program(emulated, operation, file, outcome);
    else
        outcome_of_call(emulated, operation, error, 0, outcome);
}
