/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What exec needs to know of an ELF executable: its loadable segments, checked.
 *
 * Reading the file is libelf's business. A file is parsed once and the result kept with its object.
 */
#ifndef FORKLAB_PAGER_ELF_IMAGE_H
#define FORKLAB_PAGER_ELF_IMAGE_H

#include "pt/types.h"

struct elf_segment {
    va_t start;            /* address of the first byte */
    uint64_t file_bytes;   /* from the file */
    uint64_t memory_bytes; /* in memory; zeros behind what comes from the file */
    uint64_t offset_bytes; /* in the file */
    uint32_t protection;   /* VMA_READ, VMA_WRITE, VMA_EXEC */
};

struct elf_image {
    va_t entry;
    size_t segment_count;
    struct elf_segment segments[];
};

/*
 * Reads the segments of the open file `file`, `file_bytes` long: in order, page-congruent, disjoint
 * by pages, within the file and below `user_end`. -ENOEXEC with one line in `problem`; -ENOMEM.
 */
int elf_image_read(struct elf_image **image, int file, uint64_t file_bytes, va_t user_end,
                   char *problem, size_t problem_bytes);

void elf_image_free(struct elf_image *image);

#endif
