/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * First fit from the end of the last search, then once more from the base: free_area_cache, as
 * arch_get_unmapped_area() of Linux 2.5 has it.
 */
#include "pager/free_space.h"
#include "pager/mm.h"

static void begin_at_base(struct mm *mm)
{
    mm->free.cache = mm->map_base;
}

static va_t find_cached_up(struct mm *mm, const struct free_request *request)
{
    va_t found = free_space_lowest(mm, mm->free.cache, mm->map_top, request->bytes);

    if (found == 0)
        found = free_space_lowest(mm, mm->map_base, mm->map_top, request->bytes);
    if (found != 0)
        mm->free.cache = found + request->bytes;
    return found;
}

const struct free_space free_space_cached_up = {
    .name = "cached, up",
    .upwards = true,
    .find = find_cached_up,
    .begin = begin_at_base,
};
