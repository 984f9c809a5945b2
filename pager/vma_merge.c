/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merging of VMAs: the policies, and how a range is mapped or changed by them. The machine's lock
 * is held.
 */
#include "pager/vma_merge.h"

#include <assert.h>
#include <errno.h>

#include "pager/anon_family.h"
#include "pager/mm.h"

/* --- for policies --- */

enum event merge_judge_flags(const struct merge_range *range, const struct vma *neighbour,
                             uint32_t ignored)
{
    uint32_t other = (range->shape.flags ^ neighbour->flags) & ~ignored;

    if (other & VMA_PROTECTION)
        return EVENT_MERGE_REFUSED_PROTECTION;
    if (other != 0)
        return EVENT_MERGE_REFUSED_FLAGS;
    return range->shape.object == neighbour->object ? MERGE_PERMITTED : EVENT_MERGE_REFUSED_OBJECT;
}

bool merge_pages_follow(const struct merge_range *range, const struct vma *neighbour)
{
    const struct vma_shape *shape = &range->shape;

    if (neighbour->end == shape->start)
        return vma_object_page(neighbour, neighbour->end) == shape->object_page;
    return shape->object_page + ((shape->end - shape->start) >> PAGE_SHIFT) ==
           neighbour->object_page;
}

const struct anon_family *merge_family_of(const struct merge_range *range)
{
    return range->of != NULL ? range->of->family : NULL;
}

/* --- which neighbours --- */

static const struct merge_policy *policy_of(const struct mm *mm)
{
    return mm->machine->kernel->merging;
}

int vma_room(const struct mm *mm, uint32_t more)
{
    return mm->index.count + more <= mm->most_vmas ? 0 : -ENOMEM;
}

/* The neighbours that one VMA can stand for together with the range; NULL for those that not. */
struct neighbours {
    struct vma *previous;
    struct vma *next;
};

static void count(const struct mm *mm, enum event event)
{
    event_count(&mm->machine->events, event, 1);
}

/* Does the policy let the range and the neighbour be one? A refusal is counted by its reason. */
static bool joins(const struct mm *mm, const struct merge_range *range, const struct vma *neighbour,
                  unsigned side)
{
    const struct merge_policy *policy = policy_of(mm);
    enum event reason = policy->judge(range, neighbour);

    if (reason == MERGE_PERMITTED && (policy->sides & side) == 0)
        reason = EVENT_MERGE_REFUSED_SIDE;
    if (reason != MERGE_PERMITTED)
        count(mm, reason);
    return reason == MERGE_PERMITTED;
}

/* Can all three be one? */
static bool joins_both(const struct mm *mm, const struct neighbours *there)
{
    const struct merge_policy *policy = policy_of(mm);
    enum event reason = policy->judge_both(there->previous, there->next);

    if (reason == MERGE_PERMITTED && (policy->sides & MERGE_WITH_BOTH) == 0)
        reason = EVENT_MERGE_REFUSED_SIDE;
    if (reason != MERGE_PERMITTED)
        count(mm, reason);
    return reason == MERGE_PERMITTED;
}

static struct neighbours judge(const struct mm *mm, const struct merge_range *range,
                               struct neighbours there)
{
    if (there.previous != NULL && (there.previous->end != range->shape.start ||
                                   !joins(mm, range, there.previous, MERGE_WITH_PREVIOUS)))
        there.previous = NULL;
    if (there.next != NULL &&
        (there.next->start != range->shape.end || !joins(mm, range, there.next, MERGE_WITH_NEXT)))
        there.next = NULL;
    if (there.previous != NULL && there.next != NULL && !joins_both(mm, &there))
        there.next = NULL;
    return there;
}

static struct merge_range part_of(const struct vma *vma, va_t start, va_t end, uint32_t flags)
{
    return (struct merge_range){.shape = {.start = start,
                                          .end = end,
                                          .flags = flags,
                                          .object = vma->object,
                                          .object_page = vma_object_page(vma, start)},
                                .of = vma};
}

bool vma_continues(const struct vma *lower, const struct vma *upper)
{
    if (lower->end != upper->start)
        return false;
    struct merge_range range = part_of(lower, lower->start, lower->end, lower->flags);

    return policy_of(lower->mm)->judge(&range, upper) == MERGE_PERMITTED;
}

/* --- growing --- */

/* The VMA comes to stand for pages of another one, and so for its families. */
static void take_over(struct vma *vma, const struct vma *from)
{
    vma->flags |= from->flags & VMA_STICKY;
    if (vma->family == NULL)
        anon_family_copy(vma, from);
}

static void set_start(struct vma *vma, va_t start)
{
    vma->object_page = vma->object_page + (start >> PAGE_SHIFT) - (vma->start >> PAGE_SHIFT);
    vma_set_range(vma, start, vma->end);
    vma->left_apart = false;
}

/* The range, where nothing is mapped any more, goes to the neighbours. */
static struct vma *grow_over(const struct neighbours *neighbours, va_t start, va_t end)
{
    struct vma *previous = neighbours->previous;
    struct vma *next = neighbours->next;

    if (previous == NULL) {
        count(next->mm, EVENT_MERGED_NEXT);
        set_start(next, start);
        anon_family_grow(next, next->object_page, (end - start) >> PAGE_SHIFT);
        return next;
    }
    count(previous->mm, next != NULL ? EVENT_MERGED_BOTH : EVENT_MERGED_PREVIOUS);
    if (next != NULL) {
        end = next->end;
        vma_remove(next);
    }
    anon_family_grow(previous, vma_object_page(previous, start), (end - start) >> PAGE_SHIFT);
    vma_set_range(previous, previous->start, end);
    return previous;
}

/* The neighbour that will grow takes over from the other one, then from what moves to it. */
static void join_families(const struct neighbours *neighbours, const struct vma *of)
{
    struct vma *target = neighbours->previous != NULL ? neighbours->previous : neighbours->next;

    if (neighbours->previous != NULL && neighbours->next != NULL)
        take_over(target, neighbours->next);
    if (of != NULL)
        take_over(target, of);
}

/* Neighbours that the policy would let join but for its sides or the occasion stay apart. */
static void leave_what_was_refused(struct vma *vma)
{
    const struct merge_policy *policy = policy_of(vma->mm);

    if (!policy->on_change || policy->sides != MERGE_WITH_ALL)
        vma_leave_apart(vma);
}

/* What is mapped or moved joins the neighbours that the policy lets it join, or stands alone. */
static struct vma *map_range(struct mm *mm, const struct merge_range *range,
                             struct neighbours there)
{
    if (range->of != NULL && !policy_of(mm)->on_change)
        there = (struct neighbours){0};
    struct neighbours found = judge(mm, range, there);
    struct vma *vma;

    if (found.previous != NULL || found.next != NULL) {
        join_families(&found, range->of);
        vma = grow_over(&found, range->shape.start, range->shape.end);
    } else {
        vma = vma_insert(mm, &range->shape);
        if (range->of != NULL)
            anon_family_copy(vma, range->of);
    }
    leave_what_was_refused(vma);
    return vma;
}

struct vma *vma_map(struct mm *mm, const struct vma_shape *shape, const struct vma *of)
{
    struct merge_range range = {.shape = *shape, .of = of};
    struct neighbours there = {.next = vma_look(mm, shape->start)};

    there.previous =
        there.next != NULL ? vma_previous(there.next) : vma_last_below(mm, shape->start);
    return map_range(mm, &range, there);
}

struct vma *vma_map_behind(struct mm *mm, const struct vma_shape *shape, struct vma *previous)
{
    struct merge_range range = {.shape = *shape};
    struct neighbours there = {.previous = previous};

    return map_range(mm, &range, there);
}

struct vma *vma_grow(struct vma *vma, va_t end)
{
    struct mm *mm = vma->mm;
    struct merge_range range = part_of(vma, vma->end, end, vma->flags);
    struct neighbours there = {0};

    if (policy_of(mm)->on_change)
        there.next = vma_next(vma);
    there = judge(mm, &range, there);
    there.previous = vma;
    if (there.next != NULL && !joins_both(mm, &there))
        there.next = NULL;
    join_families(&there, NULL);
    vma = grow_over(&there, range.shape.start, end);
    leave_what_was_refused(vma);
    return vma;
}

/* --- changing --- */

/* A part of the VMA, at one of its ends or all of it, becomes its neighbours'. */
static struct vma *give_part(struct vma *vma, const struct neighbours *to, va_t start, va_t end)
{
    join_families(to, vma);
    if (start == vma->start && end == vma->end)
        vma_remove(vma);
    else if (start == vma->start)
        set_start(vma, end);
    else
        vma_set_range(vma, vma->start, start);
    return grow_over(to, start, end);
}

/* Cuts the VMA to the range. */
static int cut_out(struct vma **vma, va_t start, va_t end)
{
    int error = 0;

    if ((*vma)->start < start) {
        error = vma_room((*vma)->mm, 1);
        if (error != 0)
            return error;
        *vma = vma_split(*vma, start);
    }
    if ((*vma)->end > end) {
        error = vma_room((*vma)->mm, 1);
        if (error == 0)
            vma_split(*vma, end);
        else
            vma_leave_apart(*vma);
    }
    return error;
}

int vma_modify(struct vma **vma, va_t start, va_t end, uint32_t flags)
{
    struct vma *middle = *vma;
    struct merge_range range = part_of(middle, start, end, flags);
    struct neighbours there = {0};

    assert(middle->start <= start && start < end && end <= middle->end);
    if (start == middle->start && policy_of(middle->mm)->on_change)
        there.previous = vma_previous(middle);
    if (end == middle->end && policy_of(middle->mm)->on_change)
        there.next = vma_next(middle);
    there = judge(middle->mm, &range, there);
    if (there.previous != NULL || there.next != NULL) {
        *vma = give_part(middle, &there, start, end);
        return 0;
    }
    int error = cut_out(vma, start, end);

    if (error != 0)
        return error;
    (*vma)->flags = flags;
    leave_what_was_refused(*vma);
    return 0;
}

struct vma *vma_merge(struct vma *vma)
{
    int error = vma_modify(&vma, vma->start, vma->end, vma->flags);

    assert(error == 0); /* nothing is cut */
    (void)error;
    return vma;
}

void vma_leave_apart(struct vma *vma)
{
    struct vma *previous = vma_previous(vma);
    struct vma *next = vma_next(vma);

    if (previous != NULL && vma_continues(previous, vma))
        vma->left_apart = true;
    if (next != NULL && vma_continues(vma, next))
        next->left_apart = true;
}

void vma_cut_apart(struct mm *mm, va_t at)
{
    struct vma *vma = vma_look(mm, at);

    if (vma != NULL && vma->start < at)
        vma_leave_apart(vma_split(vma, at));
}
