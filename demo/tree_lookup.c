/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lookups among very many mappings; tree_lookup.h has what is asked. */
#include "demo/tree_lookup.h"

#include <errno.h>
#include <stdlib.h>

#include "pager/map.h"
#include "pager/task.h"
#include "pt/random.h"

enum { LOOKUPS = 20000, LEAST_SPACE_SEARCHES = 3, WALKED_FOR_ALL = 3000000 };

int tree_bench_make_hole(struct tree_bench *bench, uint64_t maps)
{
    return sys_munmap(tree_bench_task(bench), tree_place(TREE_UP, maps / 2, maps), PAGE_BYTES);
}

/* Random addresses, each in a mapping. */
static void choose(va_t *addresses, uint64_t maps)
{
    struct random random = random_seeded(maps);

    for (unsigned i = 0; i < LOOKUPS; i++)
        addresses[i] = tree_place(TREE_UP, random_below(&random, maps), maps);
}

static size_t search_array(const va_t *ends, size_t count, va_t va)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (ends[middle] > va)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The sums keep the searches from being left out. */
static int time_array(const va_t *addresses, struct mm *mm, struct tree_lookup *lookup)
{
    size_t count = 0;
    volatile size_t sum = 0;
    va_t *ends = malloc(mm->index.count * sizeof(*ends));

    if (ends == NULL)
        return -ENOMEM;
    for (const struct vma *vma = vma_first(mm); vma != NULL; vma = vma_next(vma))
        ends[count++] = vma->end;
    uint64_t start = clock_ticks();

    for (unsigned i = 0; i < LOOKUPS; i++)
        sum += search_array(ends, count, addresses[i]);
    lookup->array_ns = (double)(clock_ticks() - start) / clock_ticks_per_ns() / LOOKUPS;
    free(ends);
    return 0;
}

static void time_index(const va_t *addresses, struct mm *mm, struct tree_lookup *lookup)
{
    const struct vma_index_ops *ops = mm->index.ops;
    uint64_t steps = *mm->index.steps;
    volatile va_t sum = 0;
    uint64_t start = clock_ticks();

    for (unsigned i = 0; i < LOOKUPS; i++) {
        const struct vma *found = ops->find(&mm->index, addresses[i]);

        sum += found == NULL;
    }
    lookup->find_ns = (double)(clock_ticks() - start) / clock_ticks_per_ns() / LOOKUPS;
    lookup->find_steps = (double)(*mm->index.steps - steps) / LOOKUPS;
}

/* As the kernel's policy does it: by gaps where the index knows them, else mapping by mapping. */
static void time_space(struct mm *mm, uint64_t maps, struct tree_lookup *lookup)
{
    const struct vma_index_ops *ops = mm->index.ops;
    struct vma_gap gap = {
        .low = TREE_BASE, .high = tree_place(TREE_UP, maps - 1, maps), .bytes = 2 * PAGE_BYTES};
    unsigned searches = ops->highest_gap != NULL
                            ? LOOKUPS
                            : LEAST_SPACE_SEARCHES + (unsigned)(WALKED_FOR_ALL / maps);
    uint64_t steps = *mm->index.steps;
    volatile va_t sum = 0;
    uint64_t start = clock_ticks();

    for (unsigned i = 0; i < searches; i++)
        sum += ops->highest_gap != NULL ? ops->highest_gap(&mm->index, &gap)
                                        : free_space_lowest(mm, gap.low, gap.high, gap.bytes);
    lookup->space_ns = (double)(clock_ticks() - start) / clock_ticks_per_ns() / searches;
    lookup->space_steps = (double)(*mm->index.steps - steps) / searches;
}

int tree_bench_look_up(struct tree_bench *bench, uint64_t maps, struct tree_lookup *lookup)
{
    struct mm *mm = tree_bench_task(bench)->mm;
    va_t *addresses = malloc(LOOKUPS * sizeof(*addresses));

    if (addresses == NULL)
        return -ENOMEM;
    choose(addresses, maps);
    time_index(addresses, mm, lookup);
    int error = time_array(addresses, mm, lookup);

    time_space(mm, maps, lookup);
    free(addresses);
    return error;
}
