/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernels by name, and which can follow each other on one machine. */
#include "pager/kernel.h"

#include <string.h>

const struct kernel *kernel_find(const char *name)
{
    for (size_t i = 0; i < kernel_count; i++) {
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    }
    return NULL;
}

bool kernels_are_compatible(const struct kernel *one, const struct kernel *other)
{
    return one->index == other->index && one->find_cache == other->find_cache &&
           one->rmap == other->rmap && one->merging == other->merging &&
           one->free_space == other->free_space;
}
