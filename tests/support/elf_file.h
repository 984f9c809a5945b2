/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executables made by a test: a header, program headers, and pages of bytes behind them, in a file
 * without a name. A test fills in the fields, spoils what it wants spoilt, and writes the file.
 */
#ifndef FORKLAB_TESTS_ELF_FILE_H
#define FORKLAB_TESTS_ELF_FILE_H

#include <elf.h>
#include <stdio.h>

#include "pager/object.h"

enum { ELF_FILE_MOST_SEGMENTS = 4, ELF_FILE_PAGES = 4, ELF_FILE_BYTES = ELF_FILE_PAGES * 4096 };

struct elf_file {
    Elf64_Ehdr header;
    Elf64_Phdr segments[ELF_FILE_MOST_SEGMENTS];
    size_t bytes; /* how much of the file is written */
    uint8_t data[ELF_FILE_BYTES];
};

/*
 * A good program: text (R E) in file page 0, all 'T' behind the headers, at `address`; data (RW),
 * all 'D', from file page 1 at the page after it, 100 bytes in the file and two pages in memory.
 */
void elf_file_init(struct elf_file *file, uint64_t address);

/* Writes it to a file of the host, which goes with the stream. */
FILE *elf_file_write(const struct elf_file *file);

/* A file of bytes, of whatever kind. */
FILE *stream_of_bytes(const void *data, size_t bytes);

/* The stream's file opened for mapping; it must be granted. */
struct object *object_of_stream(struct machine *machine, FILE *stream);

/* Both at once. */
struct object *elf_file_object(struct machine *machine, const struct elf_file *file);

#endif
