/* SPDX-License-Identifier: GPL-2.0-or-later */
/* No reverse map: there is no way from a page to its entries. Objects still know their VMAs. */
#include "pager/rmap.h"

static int none_create(void **context, struct ram *ram)
{
    (void)ram;
    *context = NULL;
    return 0;
}

static void none_destroy(void *context)
{
    (void)context;
}

static void none_visit(const void *context, pfn_t pfn, rmap_visit *visit, void *visit_context)
{
    (void)context;
    (void)pfn;
    (void)visit;
    (void)visit_context;
}

static int none_age(void *context, size_t elements, uint64_t seed)
{
    (void)context;
    (void)elements;
    (void)seed;
    return 0;
}

const struct rmap_scheme rmap_none = {
    .name = "none",
    .create = none_create,
    .destroy = none_destroy,
    .visit = none_visit,
    .age = none_age,
};
