/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading executables with libelf, and the checks that make their segments safe to map. */
#include "pager/elf_image.h"

#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>

#include "pager/vma.h"

struct reading {
    Elf *elf;
    uint64_t file_bytes;
    va_t user_end;
    char *problem;
    size_t problem_bytes;
};

static int refuse(const struct reading *reading, const char *why)
{
    snprintf(reading->problem, reading->problem_bytes, "%s", why);
    return -ENOEXEC;
}

static int check_header(const struct reading *reading, GElf_Ehdr *header)
{
    if (elf_kind(reading->elf) != ELF_K_ELF)
        return refuse(reading, "not an ELF file; a static ELF executable is needed");
    if (gelf_getehdr(reading->elf, header) == NULL)
        return refuse(reading, "the ELF header is cut short or damaged");
    if (header->e_type != ET_EXEC)
        return refuse(reading, "not a static executable with fixed addresses (ET_EXEC); "
                               "link it with -static -no-pie");
    return 0;
}

static uint32_t protection_of(const GElf_Phdr *header)
{
    return ((header->p_flags & PF_R) ? VMA_READ : 0) | ((header->p_flags & PF_W) ? VMA_WRITE : 0) |
           ((header->p_flags & PF_X) ? VMA_EXEC : 0);
}

/* One segment by itself: its place in the file and in memory. */
static int check_segment(const struct reading *reading, const struct elf_segment *segment)
{
    if (segment->offset_bytes > reading->file_bytes ||
        segment->file_bytes > reading->file_bytes - segment->offset_bytes)
        return refuse(reading, "a segment lies past the end of the file: the file is cut short");
    if (segment->file_bytes > segment->memory_bytes)
        return refuse(reading, "a segment is larger in the file than in memory");
    if (segment->start % PAGE_BYTES != segment->offset_bytes % PAGE_BYTES)
        return refuse(reading, "a segment's address and file offset differ within their pages");
    if (segment->start < PAGE_BYTES || segment->start >= reading->user_end ||
        segment->memory_bytes > reading->user_end - segment->start)
        return refuse(reading, "a segment does not fit into the address space");
    return 0;
}

static va_t segment_end(const struct elf_segment *segment)
{
    return round_up(segment->start + segment->memory_bytes, PAGE_BYTES);
}

static int add_segment(const struct reading *reading, struct elf_image *image,
                       const GElf_Phdr *header)
{
    struct elf_segment segment = {.start = header->p_vaddr,
                                  .file_bytes = header->p_filesz,
                                  .memory_bytes = header->p_memsz,
                                  .offset_bytes = header->p_offset,
                                  .protection = protection_of(header)};
    int error = check_segment(reading, &segment);

    if (error != 0)
        return error;
    if (image->segment_count > 0 &&
        page_of(segment.start) < segment_end(&image->segments[image->segment_count - 1]))
        return refuse(reading, "segments overlap or are not in the order of their addresses");
    image->segments[image->segment_count++] = segment;
    return 0;
}

static int read_segments(const struct reading *reading, size_t count, struct elf_image *image)
{
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;

        if (gelf_getphdr(reading->elf, (int)i, &header) == NULL)
            return refuse(reading, "the program headers are cut short or damaged");
        if (header.p_type == PT_INTERP)
            return refuse(reading, "needs an interpreter; a static executable is needed");
        if (header.p_type != PT_LOAD || header.p_memsz == 0)
            continue;
        int error = add_segment(reading, image, &header);

        if (error != 0)
            return error;
    }
    return image->segment_count > 0 ? 0 : refuse(reading, "no loadable segment");
}

static bool entry_is_executable(const struct elf_image *image)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];

        if (image->entry >= segment->start && image->entry - segment->start < segment->memory_bytes)
            return (segment->protection & VMA_EXEC) != 0;
    }
    return false;
}

static int read_image(const struct reading *reading, struct elf_image **image)
{
    GElf_Ehdr header;
    size_t count;
    int error = check_header(reading, &header);

    if (error != 0)
        return error;
    if (elf_getphdrnum(reading->elf, &count) != 0 || count == 0)
        return refuse(reading, "no program headers: not an executable");
    struct elf_image *made = calloc(1, sizeof(*made) + count * sizeof(made->segments[0]));

    if (made == NULL)
        return -ENOMEM;
    made->entry = header.e_entry;
    error = read_segments(reading, count, made);
    if (error == 0 && !entry_is_executable(made))
        error = refuse(reading, "the entry point is in no executable segment");
    if (error != 0) {
        free(made);
        return error;
    }
    *image = made;
    return 0;
}

int elf_image_read(struct elf_image **image, int file, uint64_t file_bytes, va_t user_end,
                   char *problem, size_t problem_bytes)
{
    struct reading reading = {.file_bytes = file_bytes,
                              .user_end = user_end,
                              .problem = problem,
                              .problem_bytes = problem_bytes};

    if (elf_version(EV_CURRENT) == EV_NONE)
        return refuse(&reading, "libelf is of another version than the one built against");
    reading.elf = elf_begin(file, ELF_C_READ, NULL);
    if (reading.elf == NULL)
        return refuse(&reading, "the file cannot be read as an ELF file");
    int error = read_image(&reading, image);

    elf_end(reading.elf);
    return error;
}

void elf_image_free(struct elf_image *image)
{
    free(image);
}
