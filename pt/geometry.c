/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The three geometries; geometry.h says what they are for. */
#include "pt/geometry.h"

#include <string.h>

const struct geometry geometry_x86_64 = {
    .name = "x86-64",
    .levels = 4,
    .slot_bits = 9,
    .entry_bytes = 8,
    .pfn_bits = 32,
    .user_end = ((va_t)1 << 47) - PAGE_BYTES,
};

const struct geometry geometry_i386 = {
    .name = "i386",
    .levels = 2,
    .slot_bits = 10,
    .entry_bytes = 4,
    .pfn_bits = 20,
    .user_end = (va_t)3 << 30,
};

const struct geometry geometry_tiny = {
    .name = "tiny",
    .levels = 3,
    .slot_bits = 2,
    .entry_bytes = 8,
    .pfn_bits = 32,
    .user_end = (va_t)64 * PAGE_BYTES,
};

const struct geometry *const geometries[] = {
    &geometry_x86_64,
    &geometry_i386,
    &geometry_tiny,
    NULL,
};

const struct geometry *geometry_find(const char *name)
{
    for (size_t i = 0; geometries[i] != NULL; i++) {
        if (strcmp(geometries[i]->name, name) == 0)
            return geometries[i];
    }
    return NULL;
}
