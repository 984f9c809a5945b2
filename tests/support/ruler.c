/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rulers over mappings; see ruler.h. */
#include "tests/support/ruler.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void add(struct ruler *ruler, const char *format, ...)
{
    size_t used = strlen(ruler->text);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(ruler->text + used, sizeof(ruler->text) - used, format, arguments);
    va_end(arguments);
}

static void add_vma(struct ruler *ruler, char letter, const struct vma *vma)
{
    uint32_t flags = vma->flags;

    add(ruler, " %c:%c%c%c%c", letter, flags & VMA_READ ? 'r' : '-', flags & VMA_WRITE ? 'w' : '-',
        flags & VMA_EXEC ? 'x' : '-', flags & VMA_SHARED ? 's' : 'p');
    add(ruler, "%s%s%s", flags & VMA_ANCESTRY ? "*" : "", flags & VMA_GROWS_DOWN ? "v" : "",
        flags & VMA_MAY_WRITE ? "" : "!");
    if (vma->object != NULL)
        add(ruler, "@%llu", (unsigned long long)vma->object_page);
}

struct ruler ruler_of(struct mm *mm, va_t start, unsigned pages)
{
    struct ruler ruler = {0};
    const struct vma *vma = vma_look(mm, start);
    va_t end = start + pages * PAGE_BYTES;
    char letter = 'a';

    for (va_t va = start; va < end; va += PAGE_BYTES) {
        if (vma != NULL && va >= vma->end) {
            vma = vma_next(vma);
            letter++;
        }
        add(&ruler, "%c", vma != NULL && vma_contains(vma, va) ? letter : '.');
    }
    letter = 'a';
    for (vma = vma_look(mm, start); vma != NULL && vma->start < end; vma = vma_next(vma))
        add_vma(&ruler, letter++, vma);
    return ruler;
}
