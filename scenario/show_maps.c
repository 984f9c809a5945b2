/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maps and smaps, in the format of proc(5) down to the blanks, so that tools for the real files
 * read them. Of smaps only what the emulator knows; fields of huge pages, KSM and swap space beyond
 * "Swap" are left out.
 */
#include <inttypes.h>

#include "scenario/show.h"
#include "scenario/usage.h"

enum { NAME_COLUMN = 73, DEVICE_MINOR = 1 };

static bool is_stack(const struct vma *vma)
{
    return vma->object == NULL && vma_contains(vma, vma->mm->user_end - 1);
}

static bool is_heap(const struct vma *vma)
{
    const struct mm *mm = vma->mm;

    return vma->object == NULL && vma->start < mm->heap_end && vma->end > mm->heap_start;
}

static void name_of(const struct emulated *emulated, const struct vma *vma,
                    char name[SHOW_NAME_BYTES])
{
    if (vma->object != NULL)
        show_object_name(emulated, vma->object, name);
    else
        snprintf(name, SHOW_NAME_BYTES, "%s",
                 is_stack(vma) ? "[stack]" : (is_heap(vma) ? "[heap]" : ""));
}

static void show_line(const struct emulated *emulated, const struct vma *vma, FILE *out)
{
    const struct object *object = vma->object;
    char name[SHOW_NAME_BYTES];
    char rights[5];

    emulated_rights(vma, rights);
    name_of(emulated, vma, name);
    int length = fprintf(
        out, "%08" PRIx64 "-%08" PRIx64 " %s %08" PRIx64 " 00:%02x %u ", vma->start, vma->end,
        rights, object != NULL ? vma->object_page << PAGE_SHIFT : 0,
        object != NULL ? DEVICE_MINOR : 0, object != NULL ? (unsigned)object->label + 1 : 0);

    if (name[0] != '\0')
        fprintf(out, "%*s%s", length < NAME_COLUMN ? NAME_COLUMN - length : 0, "", name);
    fputc('\n', out);
}

void show_maps(struct emulated *emulated, unsigned slot, FILE *out)
{
    struct mm *mm = emulated->slots[slot].task->mm;

    for (struct vma *vma = vma_look(mm, 0); vma != NULL; vma = vma_next(vma))
        show_line(emulated, vma, out);
}

/* --- smaps --- */

static void show_field(FILE *out, const char *name, uint64_t bytes)
{
    fprintf(out, "%-16s%8" PRIu64 " kB\n", name, bytes >> 10);
}

static void show_flags(const struct vma *vma, FILE *out)
{
    /* In the order of Linux's bits; what may be read and executed later is everything. */
    static const struct {
        uint32_t flag;
        const char *word;
    } words[] = {
        {VMA_READ, "rd"},
        {VMA_WRITE, "wr"},
        {VMA_EXEC, "ex"},
        {VMA_SHARED, "sh"},
        {0, "mr"},
        {VMA_MAY_WRITE, "mw"},
        {0, "me"},
        {VMA_SHARED, "ms"},
        {VMA_GROWS_DOWN, "gd"},
        {VMA_LOCKED, "lo"},
        {VMA_SEQUENTIAL, "sr"},
        {VMA_RANDOM, "rr"},
        {VMA_DONT_FORK, "dc"},
        {VMA_ACCOUNT, "ac"},
        {VMA_NO_RESERVE, "nr"},
        {VMA_WIPE_ON_FORK, "wf"},
        {VMA_DONT_DUMP, "dd"},
    };

    fputs("VmFlags: ", out);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i].flag == 0 || (vma->flags & words[i].flag) != 0)
            fprintf(out, "%s ", words[i].word);
    }
    fputc('\n', out);
}

static void show_usage(const struct vma *vma, const uint32_t *map_counts, FILE *out)
{
    struct usage usage;

    usage_of_vma(vma, map_counts, &usage);
    show_field(out, "Size:", vma->end - vma->start);
    show_field(out, "KernelPageSize:", PAGE_BYTES);
    show_field(out, "MMUPageSize:", PAGE_BYTES);
    show_field(out, "Rss:", usage.rss);
    show_field(out, "Pss:", usage.pss);
    show_field(out, "Pss_Dirty:", usage.pss_dirty);
    show_field(out, "Shared_Clean:", usage.shared_clean);
    show_field(out, "Shared_Dirty:", usage.shared_dirty);
    show_field(out, "Private_Clean:", usage.private_clean);
    show_field(out, "Private_Dirty:", usage.private_dirty);
    show_field(out, "Referenced:", usage.referenced);
    show_field(out, "Anonymous:", usage.anonymous);
    show_field(out, "LazyFree:", usage.lazy_free);
    show_field(out, "Swap:", 0);
    show_field(out, "Locked:", usage.locked);
    show_flags(vma, out);
}

void show_smaps(struct emulated *emulated, unsigned slot, FILE *out)
{
    const uint32_t *map_counts = emulated_map_counts(emulated);
    struct mm *mm = emulated->slots[slot].task->mm;

    if (map_counts == NULL) {
        fputs("memory ran out\n", out);
        return;
    }
    for (struct vma *vma = vma_look(mm, 0); vma != NULL; vma = vma_next(vma)) {
        show_line(emulated, vma, out);
        show_usage(vma, map_counts, out);
    }
}
