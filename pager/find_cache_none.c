/* SPDX-License-Identifier: GPL-2.0-or-later */
/* No find_vma cache: the index is asked each time. */
#include "pager/find_cache.h"

const struct find_cache find_cache_none = {.name = "none"};
