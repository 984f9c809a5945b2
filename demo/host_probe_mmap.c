/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mmap program on the real kernel, with MAP_PRIVATE: MAP_ANON alone, as it was posted, is
 * EINVAL on Linux.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "demo/host_probe.h"
#include "demo/mmap_bench.h"

static int map_all(void **pointers, bool corrected)
{
    for (unsigned i = 0; i < MMAP_MAPPINGS; i++) {
        pointers[i] =
            mmap(NULL, PAGE_BYTES << i, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pointers[i] == MAP_FAILED)
            return -errno;
        uint32_t poison = MMAP_POISON;

        memcpy(corrected ? pointers[i] : (void *)pointers, &poison, sizeof(poison));
    }
    return 0;
}

/* The program does not look at what munmap says, and here that is counted. */
static unsigned unmap_all(void *const *pointers)
{
    unsigned refused = 0;

    for (unsigned i = 0; i < MMAP_MAPPINGS; i++)
        refused += munmap(pointers[i], PAGE_BYTES << i) != 0;
    return refused;
}

/* Something written that new mappings come to lie beside, and perhaps a page between. */
static int begin(bool guarded)
{
    uint32_t *library =
        mmap(NULL, 4 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (library == MAP_FAILED)
        return -errno;
    *library = 1;
    if (guarded &&
        mmap(NULL, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        return -errno;
    return 0;
}

static double map_entries(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    double lines = 0;
    int letter;

    if (maps == NULL)
        return 0;
    while ((letter = fgetc(maps)) != EOF)
        lines += letter == '\n';
    (void)fclose(maps);
    return lines;
}

static double ns_of(const struct timeval *time)
{
    return (double)time->tv_sec * 1e9 + (double)time->tv_usec * 1e3;
}

int host_probe_mmap(const uint64_t *numbers, size_t count, double *answers)
{
    void *pointers[MMAP_MAPPINGS] = {NULL};
    struct rusage usage;
    double refused = 0;

    if (count != 3)
        return -EINVAL;
    int error = begin(numbers[2] != 0);
    double entries = map_entries();
    uint64_t start_ns = clock_ns();

    for (uint64_t round = 0; error == 0 && round < numbers[0]; round++) {
        error = map_all(pointers, numbers[1] != 0);
        if (error == 0)
            refused += unmap_all(pointers);
    }
    answers[0] = (double)(clock_ns() - start_ns);
    if (error != 0 || getrusage(RUSAGE_SELF, &usage) != 0)
        return error != 0 ? error : -errno;
    answers[1] = ns_of(&usage.ru_utime);
    answers[2] = ns_of(&usage.ru_stime);
    answers[3] = map_entries() - entries;
    answers[4] = refused;
    return 5;
}
