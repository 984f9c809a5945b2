/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Downwards with a cache: arch_get_unmapped_area_topdown() of Linux 2.6's mm/mmap.c.
 *
 *   cache        where the last range was found; the next one goes right below it if it fits
 *   hole_bytes   the largest hole passed by since the last search from the top: what is no larger
 *                starts from there again
 *
 * What is unmapped above the cache raises it to the next mapping. Where nothing fits below the top,
 * the range is looked for from the base upwards.
 */
#include "pager/free_space.h"
#include "pager/mm.h"

static void begin_at_top(struct mm *mm)
{
    mm->free = (struct free_memory){.cache = mm->map_top, .hole_bytes = UINT64_MAX};
}

/* Right below the last one. */
static bool fits_at_cache(struct mm *mm, uint64_t bytes)
{
    if (mm->free.cache <= bytes)
        return false;
    const struct vma *vma = vma_find(mm, mm->free.cache - bytes);

    return vma == NULL || mm->free.cache <= vma->start;
}

/* From the top, mapping by mapping; notes the holes that are too small. */
static va_t find_from_top(struct mm *mm, uint64_t bytes)
{
    va_t start = mm->map_top > bytes ? mm->map_top - bytes : 0;

    while (start != 0) {
        const struct vma *vma = vma_find(mm, start);

        if (vma == NULL || start + bytes <= vma->start)
            return start;
        if (start + mm->free.hole_bytes < vma->start)
            mm->free.hole_bytes = vma->start - start;
        start = vma->start > bytes ? vma->start - bytes : 0;
    }
    return 0;
}

static va_t find_cached_down(struct mm *mm, const struct free_request *request)
{
    uint64_t bytes = request->bytes;

    if (bytes <= mm->free.hole_bytes)
        mm->free = (struct free_memory){.cache = mm->map_top};
    if (fits_at_cache(mm, bytes)) {
        mm->free.cache -= bytes;
        return mm->free.cache;
    }
    va_t found = find_from_top(mm, bytes);

    if (found != 0) {
        mm->free.cache = found;
        return found;
    }
    begin_at_top(mm);
    return free_space_lowest(mm, mm->map_base, mm->map_top, bytes);
}

static void raise_cache(struct mm *mm, va_t start, va_t end)
{
    const struct vma *next = vma_look(mm, end);
    va_t above = next != NULL ? next->start : mm->map_top;

    (void)start;
    mm->free.cache = min_u64(max_u64(mm->free.cache, above), mm->map_top);
}

const struct free_space free_space_cached_down = {
    .name = "cached, down",
    .find = find_cached_down,
    .begin = begin_at_top,
    .unmapped = raise_cache,
};
