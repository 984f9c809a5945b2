/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The post's table. Its kernels are 2.5.41, 2.5.41-mm2 built without sharing, and 2.5.41-mm2 with
 * it; its region was a shared memory object; its machine was an i386.
 */
#include "demo/post.h"

#include <string.h>

enum { POST_SIZES = 3, POST_KERNELS = 3 };

static const uint64_t sizes[POST_SIZES] = {400 << 10, 4 << 20, 40 << 20};

static const char *const names[POST_KERNELS] = {"2.5.41", "2.5.41-mm2", "2.5.41-mm2-shared"};

static const double milliseconds[MODE_COUNT][POST_SIZES][POST_KERNELS] = {
    [MODE_FORK] = {{1.7, 1.6, 0.5}, {5.0, 5.0, 3.4}, {28.4, 29.5, 3.4}},
    [MODE_FORK_EXIT] = {{1.7, 1.6, 1.6}, {4.9, 5.3, 4.1}, {44.2, 45.1, 4.1}},
    [MODE_FORK_EXEC_EXIT] = {{6.5, 7.5, 7.7}, {10.3, 11.9, 10.7}, {49.3, 51.4, 10.7}},
};

double post_ms(const char *kernel, enum fork_memory memory, enum fork_mode mode,
               uint64_t size_bytes)
{
    for (unsigned size = 0; memory == MEMORY_SHM && size < POST_SIZES; size++) {
        for (unsigned name = 0; sizes[size] == size_bytes && name < POST_KERNELS; name++) {
            if (strcmp(names[name], kernel) == 0)
                return milliseconds[mode][size][name];
        }
    }
    return 0;
}
