/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * First fit from the base, each time: arch_get_unmapped_area() of Linux 2.4's mm/mmap.c, and
 * uvm_map_findspace() of NetBSD, which walks its entries from the same place.
 */
#include "pager/free_space.h"
#include "pager/mm.h"

static va_t find_first_fit(struct mm *mm, const struct free_request *request)
{
    return free_space_lowest(mm, mm->map_base, mm->map_top, request->bytes);
}

const struct free_space free_space_first_fit = {
    .name = "first fit, up",
    .upwards = true,
    .find = find_first_fit,
};
