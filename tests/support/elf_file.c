/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executables made by a test; see elf_file.h. */
#include "tests/support/elf_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { DATA_BYTES_IN_FILE = 100 };

void elf_file_init(struct elf_file *file, uint64_t address)
{
    *file = (struct elf_file){.bytes = PAGE_BYTES + DATA_BYTES_IN_FILE};
    file->header = (Elf64_Ehdr){.e_type = ET_EXEC,
                                .e_machine = EM_X86_64,
                                .e_version = EV_CURRENT,
                                .e_entry = address + PAGE_BYTES / 2,
                                .e_phoff = sizeof(Elf64_Ehdr),
                                .e_ehsize = sizeof(Elf64_Ehdr),
                                .e_phentsize = sizeof(Elf64_Phdr),
                                .e_phnum = 2};
    memcpy(file->header.e_ident, ELFMAG, SELFMAG);
    file->header.e_ident[EI_CLASS] = ELFCLASS64;
    file->header.e_ident[EI_DATA] = ELFDATA2LSB;
    file->header.e_ident[EI_VERSION] = EV_CURRENT;
    file->segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
                                     .p_flags = PF_R | PF_X,
                                     .p_vaddr = address,
                                     .p_filesz = PAGE_BYTES,
                                     .p_memsz = PAGE_BYTES};
    file->segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
                                     .p_flags = PF_R | PF_W,
                                     .p_offset = PAGE_BYTES,
                                     .p_vaddr = address + PAGE_BYTES,
                                     .p_filesz = DATA_BYTES_IN_FILE,
                                     .p_memsz = 2 * PAGE_BYTES};
    memset(file->data, 'T', PAGE_BYTES);
    memset(file->data + PAGE_BYTES, 'D', sizeof(file->data) - PAGE_BYTES);
}

FILE *stream_of_bytes(const void *data, size_t bytes)
{
    FILE *stream = tmpfile();

    assert_non_null(stream);
    assert_int_equal(fwrite(data, 1, bytes, stream), bytes);
    assert_int_equal(fflush(stream), 0);
    return stream;
}

FILE *elf_file_write(const struct elf_file *file)
{
    uint8_t image[ELF_FILE_BYTES];

    memcpy(image, file->data, sizeof(image));
    memcpy(image, &file->header, sizeof(file->header));
    memcpy(image + sizeof(file->header), file->segments, sizeof(file->segments));
    return stream_of_bytes(image, file->bytes);
}

struct object *object_of_stream(struct machine *machine, FILE *stream)
{
    char path[64];
    struct object *object = NULL;

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(stream));
    assert_int_equal(file_open(machine, path, &object), 0);
    return object;
}

struct object *elf_file_object(struct machine *machine, const struct elf_file *file)
{
    FILE *stream = elf_file_write(file);
    struct object *object = object_of_stream(machine, stream);

    (void)fclose(stream);
    return object;
}
