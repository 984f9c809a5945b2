/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * madvise: the table of advice, and the way of a call through it; advice.h has the terms.
 *
 * Advice that only says how memory will be used is accepted and, where it keeps neighbours apart,
 * noted in the VMA's flags.
 */
#include "pager/advise.h"

#include <errno.h>

#include "pager/abi.h"
#include "pager/advice.h"
#include "pager/map.h"

struct advice {
    enum abi_advice number;
    struct flag_change flags;
    int (*check)(const struct vma *vma); /* 0, or what the call says of such a mapping */
    int (*prepare)(struct mm *mm, va_t start, va_t end);
    int (*commit)(struct mm *mm, va_t start, va_t end);
};

static int check_unlocked(const struct vma *vma)
{
    return vma->flags & VMA_LOCKED ? -EINVAL : 0;
}

static int check_private_anonymous(const struct vma *vma)
{
    return vma->object != NULL ? -EINVAL : 0;
}

static int check_lazy_free(const struct vma *vma)
{
    int error = check_unlocked(vma);

    return error != 0 ? error : check_private_anonymous(vma);
}

/* A hole goes through a shared mapping that may be written, though it need not be writable now. */
static int check_remove(const struct vma *vma)
{
    if ((vma->flags & VMA_LOCKED) || vma->object == NULL)
        return -EINVAL;
    return vma_is_private(vma) || !(vma->flags & VMA_MAY_WRITE) ? -EACCES : 0;
}

static const struct advice advice_table[] = {
    {.number = ABI_MADV_NORMAL, .flags = {.clear = VMA_RANDOM | VMA_SEQUENTIAL}},
    {.number = ABI_MADV_RANDOM, .flags = {.set = VMA_RANDOM, .clear = VMA_SEQUENTIAL}},
    {.number = ABI_MADV_SEQUENTIAL, .flags = {.set = VMA_SEQUENTIAL, .clear = VMA_RANDOM}},
    {.number = ABI_MADV_WILLNEED},
    {.number = ABI_MADV_COLD, .check = check_unlocked},
    {.number = ABI_MADV_DONTDUMP, .flags = {.set = VMA_DONT_DUMP}},
    {.number = ABI_MADV_DODUMP, .flags = {.clear = VMA_DONT_DUMP}},
    {.number = ABI_MADV_DONTFORK, .flags = {.set = VMA_DONT_FORK}},
    {.number = ABI_MADV_DOFORK, .flags = {.clear = VMA_DONT_FORK}},
    {.number = ABI_MADV_WIPEONFORK,
     .flags = {.set = VMA_WIPE_ON_FORK},
     .check = check_private_anonymous},
    {.number = ABI_MADV_KEEPONFORK, .flags = {.clear = VMA_WIPE_ON_FORK}},
    {.number = ABI_MADV_DONTNEED,
     .check = check_unlocked,
     .prepare = discard_prepare,
     .commit = discard_commit},
    {.number = ABI_MADV_DONTNEED_LOCKED, .prepare = discard_prepare, .commit = discard_commit},
    {.number = ABI_MADV_FREE,
     .check = check_lazy_free,
     .prepare = map_own_tables,
     .commit = lazy_free_commit},
    {.number = ABI_MADV_REMOVE, .check = check_remove, .commit = remove_commit},
    {.number = ABI_MADV_PAGEOUT, .check = check_unlocked, .commit = page_out_commit},
    {.number = ABI_MADV_GUARD_INSTALL,
     .check = check_unlocked,
     .prepare = guard_install_prepare,
     .commit = guard_install_commit},
    {.number = ABI_MADV_GUARD_REMOVE, .prepare = map_own_tables, .commit = guard_remove_commit},
    {.number = ABI_MADV_POPULATE_READ},
    {.number = ABI_MADV_POPULATE_WRITE},
};

static const struct advice *find_advice(int number)
{
    for (size_t i = 0; i < sizeof(advice_table) / sizeof(advice_table[0]); i++) {
        if ((int)advice_table[i].number == number)
            return &advice_table[i];
    }
    return NULL;
}

/*
 * How far the advice reaches: up to the first VMA that refuses it, whose refusal is returned. Over
 * a hole it goes on; then the result is -ENOMEM.
 */
static int advice_reach(struct mm *mm, va_t start, va_t end, const struct advice *advice,
                        va_t *reach)
{
    int result = 0;
    const struct vma *vma;
    va_t from;

    for (*reach = start; *reach < end;) {
        va_t before = *reach;

        vma = vma_part_next(mm, reach, end, &from);
        if (vma == NULL)
            return -ENOMEM;
        if (from > before)
            result = -ENOMEM;
        int error = advice->check != NULL ? advice->check(vma) : 0;

        if (error != 0) {
            *reach = from;
            return error;
        }
    }
    return result;
}

static bool has_flags(const struct advice *advice)
{
    return (advice->flags.set | advice->flags.clear) != 0;
}

/* Where a flag cannot be changed for want of memory, Linux says that one may try again. */
static int change_flags(struct mm *mm, va_t start, va_t end, const struct advice *advice)
{
    int error = flags_reserve(mm, start, end, &advice->flags);

    if (error == 0)
        error = flags_change(mm, start, end, &advice->flags);
    return error != 0 ? -EAGAIN : 0;
}

static int advise_range(struct mm *mm, va_t start, va_t end, const struct advice *advice)
{
    va_t reach;
    int result = advice_reach(mm, start, end, advice, &reach);
    int error = 0;

    if (reach == start)
        return result;
    if (has_flags(advice))
        error = change_flags(mm, start, reach, advice);
    else if (advice->prepare != NULL)
        error = advice->prepare(mm, start, reach);
    if (error == 0 && advice->commit != NULL)
        error = advice->commit(mm, start, reach);
    return error != 0 ? error : result;
}

static int advise_locked(struct mm *mm, va_t start, va_t end, const struct advice *advice)
{
    if (advice->number == ABI_MADV_POPULATE_READ)
        return populate_for_access(mm, start, end, ACCESS_READ);
    if (advice->number == ABI_MADV_POPULATE_WRITE)
        return populate_for_access(mm, start, end, ACCESS_WRITE);
    return advise_range(mm, start, end, advice);
}

int sys_madvise(struct task *task, va_t start, uint64_t bytes, int advice)
{
    const struct advice *found = find_advice(advice);
    uint64_t rounded = round_up(bytes, PAGE_BYTES);

    if (found == NULL || start % PAGE_BYTES != 0 || (bytes != 0 && rounded == 0) ||
        rounded > UINT64_MAX - start)
        return -EINVAL;
    if (rounded == 0)
        return 0;
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    error = advise_locked(task->mm, start, start + rounded, found);
    machine_unlock(task->machine);
    return error;
}
