/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mremap: what is asked for, and what of it is refused; the order of the checks is Linux 6.18's, so
 * that of several reasons to refuse the same one is named.
 *
 *   stay    no new address is asked for: the same size is no change, a smaller one unmaps the rest,
 *           a larger one grows in place or, if it may, moves
 *   go      a new address (FIXED) or a kept source (DONTUNMAP): always a move
 *
 * A move to a fixed address of the same size takes along every mapping of the range, with the holes
 * between them; what is mapped where a hole comes to lie stays. Any other move is of one mapping.
 *
 * A move reserves everything for the whole range first, so that a lack of memory changes nothing.
 * What Linux refuses only when it has unmapped the target, as what a limit forbids, is refused here
 * at the same point.
 */
#include "pager/remap.h"

#include <errno.h>

#include "pager/abi.h"
#include "pager/advise.h"
#include "pager/anon_family.h"
#include "pager/map.h"
#include "pager/remap_move.h"

#define KNOWN_FLAGS (ABI_MREMAP_MAYMOVE | ABI_MREMAP_FIXED | ABI_MREMAP_DONTUNMAP)

/* One call, sizes rounded up to pages. An old size that wraps is 0, as in Linux. */
struct remap {
    struct mm *mm;
    va_t from;
    va_t to; /* where the mapping is in the end */
    uint64_t old_bytes;
    uint64_t new_bytes;
    uint32_t flags;
};

static bool has_new_address(const struct remap *remap)
{
    return (remap->flags & (ABI_MREMAP_FIXED | ABI_MREMAP_DONTUNMAP)) != 0;
}

static bool keeps_source(const struct remap *remap)
{
    return (remap->flags & ABI_MREMAP_DONTUNMAP) != 0;
}

static bool is_fixed(const struct remap *remap)
{
    return (remap->flags & ABI_MREMAP_FIXED) != 0;
}

/* Of several mappings only those that neither grow nor shrink move together. */
static bool moves_many(const struct remap *remap)
{
    return is_fixed(remap) && remap->old_bytes == remap->new_bytes;
}

/* Bytes that are mapped before and after. */
static uint64_t kept_bytes(const struct remap *remap)
{
    return min_u64(remap->old_bytes, remap->new_bytes);
}

/* --- checks --- */

static bool overlaps(const struct remap *remap)
{
    return remap->from + remap->old_bytes > remap->to && remap->to + remap->new_bytes > remap->from;
}

/*
 * A move may cut what is at its target and what it comes from, so Linux wants mappings to spare
 * (vm.max_map_count): 3 for the move itself, 5 before the target is unmapped.
 */
static int check_spare_mappings(const struct mm *mm, uint32_t spare)
{
    return mm->index.count + spare >= mm->most_vmas ? -ENOMEM : 0;
}

static int check_new_address(const struct remap *remap)
{
    if (remap->to > remap->mm->user_end - remap->new_bytes || remap->to % PAGE_BYTES != 0)
        return -EINVAL;
    if (!(remap->flags & ABI_MREMAP_MAYMOVE))
        return -EINVAL;
    if (keeps_source(remap) && remap->old_bytes != remap->new_bytes)
        return -EINVAL;
    return overlaps(remap) ? -EINVAL : check_spare_mappings(remap->mm, 5);
}

static int check_request(const struct remap *remap)
{
    if ((remap->flags & ~KNOWN_FLAGS) != 0 || remap->from % PAGE_BYTES != 0)
        return -EINVAL;
    if (remap->new_bytes == 0 || remap->new_bytes > remap->mm->user_end)
        return -EINVAL;
    return has_new_address(remap) ? check_new_address(remap) : 0;
}

/* The mapping that begins the old range, or NULL. */
static struct vma *source_vma(const struct remap *remap)
{
    struct vma *vma = vma_find(remap->mm, remap->from);

    return vma != NULL && vma_contains(vma, remap->from) ? vma : NULL;
}

/* One mapping: where it stays and does not grow, the range may run over its end. */
static int check_mapping(const struct remap *remap)
{
    const struct vma *vma = source_vma(remap);

    if (vma == NULL)
        return -EFAULT;
    if (!has_new_address(remap) && remap->new_bytes <= remap->old_bytes)
        return 0;
    if (remap->old_bytes == 0 && vma_is_private(vma))
        return -EINVAL;
    if (kept_bytes(remap) > vma->end - remap->from)
        return -EFAULT;
    if (remap->new_bytes <= remap->old_bytes)
        return 0;
    uint64_t more_pages = (remap->new_bytes - remap->old_bytes) >> PAGE_SHIFT;

    return mm_may_expand(remap->mm, vma->flags, more_pages) ? 0 : -ENOMEM;
}

/* --- moves --- */

static uint32_t mappings_in(struct mm *mm, va_t start, va_t end)
{
    uint32_t count = 0;

    for (const struct vma *vma = vma_look(mm, start); vma != NULL && vma->start < end;
         vma = vma_next(vma))
        count++;
    return count;
}

/* The next part of the range that one mapping covers, as a move of its own; false at the end. */
static bool next_part(const struct remap *remap, va_t from, struct entry_move *part)
{
    const struct vma *vma = vma_look(remap->mm, from);
    va_t end = remap->from + kept_bytes(remap);

    if (from >= end || vma == NULL || vma->start >= end)
        return false;
    part->from = max_u64(vma->start, from);
    part->to = remap->to + (part->from - remap->from);
    part->bytes = min_u64(vma->end, end) - part->from;
    return true;
}

/* Everything that can fail for a new mapping at [start, end), whatever is there. */
static int reserve_target(struct mm *mm, va_t start, va_t end)
{
    int error = vma_any_in(mm, start, end) ? unmap_reserve(mm, start, end) : 0;

    return error != 0 ? error : map_own_end_tables(mm, start, end);
}

static int reserve_targets(const struct remap *remap)
{
    struct entry_move part;

    if (!moves_many(remap))
        return reserve_target(remap->mm, remap->to, remap->to + remap->new_bytes);
    for (va_t va = remap->from; next_part(remap, va, &part); va = part.from + part.bytes) {
        int error = reserve_target(remap->mm, part.to, part.to + part.bytes);

        if (error != 0)
            return error;
    }
    return 0;
}

/* What a move that shrinks leaves behind: empty when it does not. */
static bool has_tail(const struct remap *remap)
{
    return remap->old_bytes > remap->new_bytes;
}

static bool tail_is_bad(const struct remap *remap)
{
    return remap->old_bytes > remap->mm->user_end - remap->from;
}

/*
 * For each mapping: one more, until its source goes, and one that its target may be cut into. At
 * the ends of the whole range, two. The tables of the tail are reserved as those of an munmap.
 */
static int move_reserve(const struct remap *remap)
{
    struct mm *mm = remap->mm;
    struct entry_move whole = {.from = remap->from, .to = remap->to, .bytes = kept_bytes(remap)};
    uint32_t mappings = mappings_in(mm, remap->from, remap->from + whole.bytes);
    int error = vma_reserve(mm, 2 * mappings + 6);

    if (error == 0)
        error = reserve_targets(remap);
    if (error == 0 && has_tail(remap) && !tail_is_bad(remap))
        error = unmap_reserve(mm, remap->from + remap->new_bytes, remap->from + remap->old_bytes);
    return error != 0 ? error : entries_move_reserve(mm, &whole);
}

/*
 * The page of the object at the new place. Anonymous memory that was never written takes the number
 * of its new address, so that it can join its neighbours there.
 */
static uint64_t object_page_at(const struct vma *vma, const struct entry_move *part)
{
    if (vma->object == NULL && !(vma->flags & VMA_ANCESTRY))
        return part->to >> PAGE_SHIFT;
    return vma_object_page(vma, part->from);
}

/* The source is mapped as before, but locked nowhere, and if all of it went it is as new. */
static void keep_source(struct mm *mm, const struct entry_move *part, const struct vma *moved)
{
    struct vma *source = vma_look(mm, part->from);

    source->flags &= ~VMA_LOCKED;
    if (source != moved && source->start == part->from && source->end == part->from + part->bytes)
        anon_family_leave(source);
    vma_leave_apart(source);
}

/* What Linux looks at last, when the target is free: a source that is kept is mapped twice. */
static int check_move(const struct remap *remap, const struct entry_move *part)
{
    const struct vma *vma = vma_look(remap->mm, part->from);

    if (keeps_source(remap) && !mm_may_expand(remap->mm, vma->flags, part->bytes >> PAGE_SHIFT))
        return -ENOMEM;
    return check_spare_mappings(remap->mm, 3);
}

/* One mapping, or a part of it, goes to where nothing is; it may become larger there. Reserved. */
static void move_mapping(const struct remap *remap, const struct entry_move *part,
                         uint64_t new_bytes)
{
    struct mm *mm = remap->mm;
    const struct vma *vma = vma_look(mm, part->from);
    struct vma_shape shape = {.start = part->to,
                              .end = part->to + new_bytes,
                              .flags = vma->flags,
                              .object = vma->object,
                              .object_page = object_page_at(vma, part)};
    const struct vma *moved = vma_map(mm, &shape, vma);

    if (part->bytes == 0)
        return;
    entries_move(mm, part);
    if (keeps_source(remap))
        keep_source(mm, part, moved);
    else
        unmap_commit(mm, part->from, part->from + part->bytes);
}

/* Makes room at a fixed address. */
static void clear_target(const struct remap *remap, va_t to, uint64_t bytes)
{
    if (is_fixed(remap) && vma_any_in(remap->mm, to, to + bytes))
        unmap_commit(remap->mm, to, to + bytes);
}

/*
 * Each mapping by itself: what lies where a hole comes to lie is not unmapped, and those before one
 * that a limit stops have moved.
 */
static int move_many(const struct remap *remap)
{
    struct entry_move part;

    for (va_t va = remap->from; next_part(remap, va, &part); va = part.from + part.bytes) {
        clear_target(remap, part.to, part.bytes);
        int error = check_move(remap, &part);

        if (error != 0)
            return error;
        move_mapping(remap, &part, part.bytes);
    }
    return 0;
}

/*
 * One mapping. The target is gone before the rest is looked at: a duplicate whose target begins
 * where its source does finds that it has no source any more.
 */
static int move_one(const struct remap *remap)
{
    struct entry_move part = {.from = remap->from, .to = remap->to, .bytes = kept_bytes(remap)};

    clear_target(remap, remap->to, remap->new_bytes);
    if (source_vma(remap) == NULL)
        return -EFAULT;
    if (has_tail(remap) && tail_is_bad(remap))
        return -EINVAL;
    if (has_tail(remap))
        unmap_commit(remap->mm, remap->from + remap->new_bytes, remap->from + remap->old_bytes);
    int error = check_move(remap, &part);

    if (error == 0)
        move_mapping(remap, &part, remap->new_bytes);
    return error;
}

static int move_reserved(const struct remap *remap)
{
    int error = move_reserve(remap);

    if (error != 0)
        return error;
    return moves_many(remap) ? move_many(remap) : move_one(remap);
}

/* Where the kernel chooses: at the address wished for (0: none) if that is free. */
static int choose_place(struct remap *remap, va_t wish)
{
    struct free_request request = {
        .bytes = remap->new_bytes, .hint = wish, .is_anonymous = source_vma(remap)->object == NULL};

    remap->to = mm_find_free(remap->mm, &request);
    return remap->to == 0 ? -ENOMEM : 0;
}

/* --- the two ways --- */

static bool grows_in_place(const struct remap *remap, const struct vma *vma)
{
    va_t end = remap->from + remap->new_bytes;

    return vma->end - remap->from == remap->old_bytes && end <= remap->mm->user_end &&
           !vma_any_in(remap->mm, vma->end, end);
}

static int grow(struct remap *remap)
{
    struct vma *vma = source_vma(remap);

    if (grows_in_place(remap, vma)) {
        va_t end = remap->from + remap->new_bytes;
        int error = vma_reserve(remap->mm, 1);

        if (error == 0)
            error = map_own_end_tables(remap->mm, vma->end, end);
        if (error != 0)
            return error;
        vma_grow(vma, end);
        return 0;
    }
    if (!(remap->flags & ABI_MREMAP_MAYMOVE))
        return -ENOMEM;
    int error = choose_place(remap, 0);

    return error != 0 ? error : move_reserved(remap);
}

static int stay(struct remap *remap)
{
    remap->to = remap->from;
    int error = check_mapping(remap);

    if (error != 0 || remap->new_bytes == remap->old_bytes)
        return error;
    if (remap->new_bytes > remap->old_bytes)
        return grow(remap);
    return munmap_locked(remap->mm, remap->from + remap->new_bytes,
                         remap->old_bytes - remap->new_bytes);
}

static int go(struct remap *remap)
{
    if (moves_many(remap))
        return source_vma(remap) == NULL ? -EFAULT : move_reserved(remap);
    int error = check_mapping(remap);

    if (error == 0 && !is_fixed(remap))
        error = choose_place(remap, remap->to);
    return error != 0 ? error : move_reserved(remap);
}

/* Locked memory that grew is there at once; what cannot be had is left for faults. */
static void populate_growth(const struct remap *remap)
{
    const struct vma *vma = vma_look(remap->mm, remap->to);

    if (remap->new_bytes > remap->old_bytes && (vma->flags & VMA_LOCKED))
        (void)populate_locked(remap->mm, remap->to + remap->old_bytes,
                              remap->to + remap->new_bytes);
}

static int remap_locked(struct remap *remap)
{
    int error = check_request(remap);

    if (error == 0)
        error = has_new_address(remap) ? go(remap) : stay(remap);
    if (error == 0)
        populate_growth(remap);
    return error;
}

int sys_mremap(struct task *task, const struct remap_request *request, va_t *address)
{
    int error = task_enter_kernel(task);

    if (error != 0)
        return error;
    struct remap remap = {.mm = task->mm,
                          .from = request->address,
                          .to = request->new_address,
                          .old_bytes = round_up(request->old_bytes, PAGE_BYTES),
                          .new_bytes = round_up(request->new_bytes, PAGE_BYTES),
                          .flags = request->flags};

    error = remap_locked(&remap);
    if (error == 0)
        *address = remap.to;
    machine_unlock(task->machine);
    return error;
}
