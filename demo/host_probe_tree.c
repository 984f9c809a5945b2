/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rebuild-tree program on the real kernel, as it was posted but for MAP_FIXED_NOREPLACE in
 * place of MAP_FIXED: nothing of this process may lie there.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo/host_probe.h"
#include "demo/tree_bench.h"

static int map_all(uint64_t maps, enum tree_variant variant)
{
    for (uint64_t i = 0; i < maps; i++) {
        va_t place = tree_place(variant, i, maps);
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | (place != 0 ? MAP_FIXED_NOREPLACE : 0);
        void *mapped =
            mmap((void *)(uintptr_t)place, PAGE_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);

        if (mapped == MAP_FAILED)
            return -errno;
    }
    return 0;
}

static int fork_once(double *ns, double *cycles)
{
    uint64_t start_ns = clock_ns();
    uint64_t start = clock_ticks();
    pid_t child = fork();

    if (child == 0)
        _exit(0);
    *cycles = (double)(clock_ticks() - start);
    *ns = (double)(clock_ns() - start_ns);
    if (child < 0)
        return -errno;
    while (waitpid(child, NULL, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return 0;
}

int host_probe_tree(const uint64_t *numbers, size_t count, double *answers)
{
    double cold_cycles;

    if (count != 2 || numbers[1] >= TREE_VARIANTS)
        return -EINVAL;
    int error = map_all(numbers[0], (enum tree_variant)numbers[1]);

    if (error == 0)
        error = fork_once(&answers[2], &cold_cycles);
    if (error == 0)
        error = fork_once(&answers[0], &answers[1]);
    return error != 0 ? error : 3;
}
