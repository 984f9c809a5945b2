/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Are two backends in the same state? Looking changes nothing but what is resident. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "scenario/fuzz_compare.h"

/* Pages read at once, and of one task in all. */
enum { CHUNK_PAGES = 16, MOST_PAGES = 4096, MOST_TOUCHED_PAGES = 256 };

static bool in_words_of(struct fuzz_comparison *comparison, uint16_t task, const char *what)
{
    return comparison_differs(comparison, "T%u: %s", task, what);
}

/* --- mappings --- */

static bool take_snapshot(struct fuzz_comparison *comparison, struct backend *backend,
                          uint16_t task, struct scenario_snapshot *snapshot)
{
    int error = backend->ops->snapshot(backend, task, comparison->usage, snapshot);

    if (error == 0)
        return true;
    return comparison_differs(comparison, "T%u: %s cannot tell its mappings: %s", task,
                              backend->ops->name, strerrordesc_np(-error));
}

/* What shows the difference to a run: `expect` that quantity of the range. */
static void witness_quantity(struct fuzz_comparison *comparison, uint16_t task,
                             enum scenario_quantity quantity, va_t start, va_t end)
{
    struct scenario_operation expect = scenario_operation_blank(VERB_EXPECT);

    expect.quantity = quantity;
    expect.task = task;
    expect.address.offset_bytes = start;
    expect.bytes = end - start;
    comparison->has_witness = true;
    comparison->witness = expect;
}

static bool vmas_differ(struct fuzz_comparison *comparison, uint16_t task, va_t at,
                        const struct scenario_vma *one, const struct scenario_vma *other)
{
    witness_quantity(comparison, task, QUANTITY_MAPS, at, at + PAGE_BYTES);
    return comparison_differs(
        comparison, "T%u: at %#llx there is %.5s (file %d) at %s, %.5s (file %d) at %s", task,
        (unsigned long long)at, one != NULL ? one->rights : "none", one != NULL && one->is_file,
        comparison->one->ops->name, other != NULL ? other->rights : "none",
        other != NULL && other->is_file, comparison->other->ops->name);
}

static bool is_alike(const struct scenario_vma *one, va_t at, const struct scenario_vma *other)
{
    return strncmp(one->rights, other->rights, sizeof(one->rights)) == 0 &&
           one->is_file == other->is_file &&
           (!one->is_file ||
            one->offset_bytes + (at - one->start) == other->offset_bytes + (at - other->start));
}

/* Page by page: the same rights, of the same place in a file. */
static bool shapes_agree(struct fuzz_comparison *comparison, uint16_t task,
                         const struct scenario_snapshot *one, const struct scenario_snapshot *other)
{
    size_t i = 0;
    size_t k = 0;
    va_t at = 0;

    while (i < one->count || k < other->count) {
        const struct scenario_vma *mine = i < one->count ? &one->vmas[i] : NULL;
        const struct scenario_vma *theirs = k < other->count ? &other->vmas[k] : NULL;
        va_t my_start = mine != NULL ? max_u64(mine->start, at) : UINT64_MAX;
        va_t their_start = theirs != NULL ? max_u64(theirs->start, at) : UINT64_MAX;

        at = min_u64(my_start, their_start);
        if (mine == NULL || theirs == NULL || my_start != their_start ||
            !is_alike(mine, at, theirs))
            return vmas_differ(comparison, task, at, my_start == at ? mine : NULL,
                               their_start == at ? theirs : NULL);
        at = min_u64(mine->end, theirs->end);
        i += mine->end == at;
        k += theirs->end == at;
    }
    return true;
}

/* The first quantity of usage that differs; QUANTITY_VMAS when none does. */
static enum scenario_quantity usage_that_differs(const struct scenario_vma *one,
                                                 const struct scenario_vma *other)
{
    const struct {
        enum scenario_quantity quantity;
        bool differs;
    } usages[] = {
        {QUANTITY_RSS, one->rss != other->rss},
        {QUANTITY_PSS, one->pss != other->pss},
        {QUANTITY_SHARED, one->shared != other->shared},
        {QUANTITY_PRIVATE, one->private != other->private},
        {QUANTITY_ANONYMOUS, one->anonymous != other->anonymous},
        {QUANTITY_LOCKED, one->locked != other->locked},
    };

    for (size_t i = 0; i < sizeof(usages) / sizeof(usages[0]); i++) {
        if (usages[i].differs)
            return usages[i].quantity;
    }
    return QUANTITY_VMAS;
}

static bool usages_agree(struct fuzz_comparison *comparison, uint16_t task,
                         const struct scenario_vma *one, const struct scenario_vma *other)
{
    enum scenario_quantity quantity = usage_that_differs(one, other);

    if (!one->has_usage || !other->has_usage || quantity == QUANTITY_VMAS)
        return true;
    witness_quantity(comparison, task, quantity, one->start, one->end);
    return comparison_differs(
        comparison,
        "T%u: %#llx: rss %llu, %llu; pss %llu, %llu; shared %llu, %llu; private %llu, %llu; "
        "anonymous %llu, %llu; locked %llu, %llu",
        task, (unsigned long long)one->start, (unsigned long long)one->rss,
        (unsigned long long)other->rss, (unsigned long long)one->pss,
        (unsigned long long)other->pss, (unsigned long long)one->shared,
        (unsigned long long)other->shared, (unsigned long long)one->private,
        (unsigned long long)other->private, (unsigned long long)one->anonymous,
        (unsigned long long)other->anonymous, (unsigned long long)one->locked,
        (unsigned long long)other->locked);
}

static bool bounds_differ(struct fuzz_comparison *comparison, uint16_t task,
                          const struct scenario_vma *one, const struct scenario_vma *other)
{
    witness_quantity(comparison, task, QUANTITY_VMAS, min_u64(one->start, other->start),
                     max_u64(one->end, other->end));
    return comparison_differs(comparison,
                              "T%u: a VMA is [%#llx, %#llx) at %s, [%#llx, %#llx) at %s", task,
                              (unsigned long long)one->start, (unsigned long long)one->end,
                              comparison->one->ops->name, (unsigned long long)other->start,
                              (unsigned long long)other->end, comparison->other->ops->name);
}

/* VMA by VMA; the shapes agree. */
static bool bounds_agree(struct fuzz_comparison *comparison, uint16_t task,
                         const struct scenario_snapshot *one, const struct scenario_snapshot *other)
{
    for (size_t i = 0; i < one->count && i < other->count; i++) {
        if (one->vmas[i].start != other->vmas[i].start || one->vmas[i].end != other->vmas[i].end)
            return bounds_differ(comparison, task, &one->vmas[i], &other->vmas[i]);
        if (comparison->usage && !usages_agree(comparison, task, &one->vmas[i], &other->vmas[i]))
            return false;
    }
    return one->count == other->count ||
           comparison_differs(comparison, "T%u: %zu VMAs at %s, %zu at %s", task, one->count,
                              comparison->one->ops->name, other->count,
                              comparison->other->ops->name);
}

static bool mappings_agree(struct fuzz_comparison *comparison, uint16_t task)
{
    struct scenario_snapshot one = {0};
    struct scenario_snapshot other = {0};
    bool agree = take_snapshot(comparison, comparison->one, task, &one) &&
                 take_snapshot(comparison, comparison->other, task, &other) &&
                 shapes_agree(comparison, task, &one, &other);

    if (agree && comparison->vmas)
        agree = bounds_agree(comparison, task, &one, &other);
    snapshot_free(&one);
    snapshot_free(&other);
    return agree;
}

bool states_agree(struct fuzz_comparison *comparison)
{
    struct backend *one = comparison->one;
    struct backend *other = comparison->other;

    for (uint16_t task = 0; other != NULL && task < comparison->scenario->tasks.count; task++) {
        bool is_alive = one->ops->is_alive(one, task);

        if (is_alive != other->ops->is_alive(other, task))
            return in_words_of(comparison, task,
                               is_alive ? "alive only at the first" : "alive only at the second");
        if (is_alive && !mappings_agree(comparison, task))
            return false;
    }
    return true;
}

/* --- contents --- */

static int touched_push(struct touched *touched, uint64_t first, uint64_t end)
{
    if (touched->count == touched->capacity) {
        size_t capacity = 2 * touched->capacity + CHUNK_PAGES;
        void *grown = reallocarray(touched->ranges, capacity, sizeof(*touched->ranges));

        if (grown == NULL)
            return -ENOMEM;
        touched->ranges = grown;
        touched->capacity = capacity;
    }
    touched->ranges[touched->count++] = (struct touched_range){.first = first, .end = end};
    return 0;
}

static uint64_t bytes_of(const struct scenario_operation *operation)
{
    if (operation->data.kind != DATA_NONE)
        return operation->data.bytes;
    return min_u64(operation->bytes, MOST_TOUCHED_PAGES * PAGE_BYTES);
}

int touched_add(struct touched *touched, struct fuzz_comparison *comparison,
                const struct scenario_operation *operation, const struct scenario_outcome *outcome)
{
    struct backend *one = comparison->one;
    va_t va;

    if (!verb_descriptions[operation->verb].has_task || operation->verb >= VERB_FORK)
        return 0;
    if (outcome->kind == OUTCOME_DONE &&
        (operation->verb == VERB_MMAP || operation->verb == VERB_MREMAP)) {
        uint64_t pages = max_u64(operation->bytes, operation->new_bytes) >> PAGE_SHIFT;
        uint64_t first = outcome->value >> PAGE_SHIFT;

        return touched_push(touched, first, first + min_u64(pages + 1, MOST_TOUCHED_PAGES));
    }
    if (operation->verb == VERB_MMAP ||
        !one->ops->resolve(one, operation->task, &operation->address, &va))
        return 0;
    uint64_t bytes = min_u64(bytes_of(operation), UINT64_MAX - PAGE_BYTES - va);

    return touched_push(touched, va >> PAGE_SHIFT, (va + bytes + PAGE_BYTES - 1) >> PAGE_SHIFT);
}

static int by_first(const void *one, const void *other)
{
    const struct touched_range *a = one;
    const struct touched_range *b = other;

    return a->first < b->first ? -1 : a->first > b->first;
}

/* In order, and disjoint. */
static void touched_sort(struct touched *touched)
{
    size_t kept = 0;

    if (touched->count == 0)
        return;
    qsort(touched->ranges, touched->count, sizeof(*touched->ranges), by_first);
    for (size_t i = 1; i < touched->count; i++) {
        struct touched_range *last = &touched->ranges[kept];

        if (touched->ranges[i].first <= last->end)
            last->end = max_u64(last->end, touched->ranges[i].end);
        else
            touched->ranges[++kept] = touched->ranges[i];
    }
    touched->count = kept + 1;
}

/* What shows the difference to a run: these bytes of a load that the scenario does not have. */
static void witness_load(struct fuzz_comparison *comparison,
                         const struct scenario_operation *operation, uint64_t first, uint64_t bytes)
{
    comparison->has_witness = true;
    comparison->witness = *operation;
    comparison->witness.address.offset_bytes += first;
    comparison->witness.bytes = bytes;
}

/* One read of each; `*done`: the bytes that both could read. */
static bool read_agrees(struct fuzz_comparison *comparison, struct scenario_operation *operation,
                        uint64_t *done)
{
    struct scenario_outcome one;
    bool ends = false;

    comparison->first_difference = 0;
    if (!perform_both(comparison, operation, &one, &ends)) {
        char why[SCENARIO_WHY_BYTES];

        witness_load(comparison, operation, comparison->first_difference, 1);
        snprintf(why, sizeof(why), "%s", comparison->why);
        return comparison_differs(comparison, "T%u: contents at %#llx, read by %s: %.200s",
                                  operation->task,
                                  (unsigned long long)operation->address.offset_bytes,
                                  operation->verb == VERB_KREAD ? "the kernel" : "the task", why);
    }
    if (comparison->checks && !are_sound(comparison)) {
        witness_load(comparison, operation, 0, operation->bytes);
        return false;
    }
    *done = one.kind == OUTCOME_DATA ? one.data_bytes : 0;
    return true;
}

/* Pages in a row, in chunks: by the kernel, which no bad page kills, and then by the task. */
static bool range_agrees(struct fuzz_comparison *comparison, uint16_t task, va_t start, va_t end)
{
    struct scenario_operation operation = scenario_operation_blank(VERB_KREAD);

    operation.task = task;
    while (start < end) {
        uint64_t done = 0;

        operation.verb = VERB_KREAD;
        operation.address.offset_bytes = start;
        operation.bytes = min_u64(end - start, CHUNK_PAGES * PAGE_BYTES);
        if (!read_agrees(comparison, &operation, &done))
            return false;
        start += page_of(done) + (done < operation.bytes ? PAGE_BYTES : 0);
        operation.bytes = done;
        operation.verb = VERB_READ;
        if (done > 0 && !read_agrees(comparison, &operation, &done))
            return false;
        if (!comparison->one->ops->is_alive(comparison->one, task))
            return true; /* for want of memory */
    }
    return true;
}

/* The touched pages of one VMA. */
static bool vma_agrees(struct fuzz_comparison *comparison, uint16_t task,
                       const struct scenario_vma *vma, const struct touched *touched)
{
    uint64_t left = MOST_PAGES;

    if (vma->rights[0] != 'r')
        return true;
    for (size_t i = 0; i < touched->count && left > 0; i++) {
        va_t start = max_u64(vma->start, touched->ranges[i].first << PAGE_SHIFT);
        va_t end = min_u64(vma->end, touched->ranges[i].end << PAGE_SHIFT);

        if (start >= end)
            continue;
        end = min_u64(end, start + left * PAGE_BYTES);
        left -= (end - start) >> PAGE_SHIFT;
        if (!range_agrees(comparison, task, start, end))
            return false;
    }
    return true;
}

/* Can the task be asked? One that waits for its vfork child cannot. */
static bool can_be_read(struct fuzz_comparison *comparison, uint16_t task)
{
    struct scenario_operation nothing = scenario_operation_blank(VERB_KREAD);
    struct scenario_outcome outcome;

    nothing.task = task;
    comparison->one->ops->perform(comparison->one, &nothing, &outcome);
    return outcome.kind != OUTCOME_UNABLE;
}

static bool task_agrees(struct fuzz_comparison *comparison, uint16_t task,
                        const struct touched *touched)
{
    struct scenario_snapshot snapshot = {0};
    bool agree = take_snapshot(comparison, comparison->one, task, &snapshot);

    for (size_t i = 0; agree && i < snapshot.count; i++)
        agree = vma_agrees(comparison, task, &snapshot.vmas[i], touched);
    snapshot_free(&snapshot);
    return agree;
}

bool contents_agree(struct fuzz_comparison *comparison, struct touched *touched)
{
    struct backend *one = comparison->one;

    touched_sort(touched);
    for (uint16_t task = 0; task < comparison->scenario->tasks.count; task++) {
        if (one->ops->is_alive(one, task) && can_be_read(comparison, task) &&
            !task_agrees(comparison, task, touched))
            return false;
    }
    return true;
}
