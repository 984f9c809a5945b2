/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fork: VMAs are duplicated, and each leaf table of the parent is shared with the child, copied for
 * it, or left out.
 *
 *   left out   nothing in its span would be copied: there is no VMA that goes to the child, or only
 *              such as a fault can rebuild (the policy `refault`)
 *   shared     the kernel shares leaf tables, and nothing in the span forbids it: no DONTFORK,
 *              WIPEONFORK or locked VMA, no pinned private frame, no entry that should be left out,
 *              enough entries to be worth it
 *   copied     otherwise, VMA by VMA, into a table of the child's own
 *
 * A kernel that is able to share but does not (SHARING_OFF) takes all these decisions and then
 * copies: that is the price of the mechanism unused.
 *
 * The child's address space is complete or it is destroyed: an allocation that fails half-way
 * leaves the parent as it was, but for entries that stay write-protected.
 */
#include <errno.h>

#include "pager/anon_family.h"
#include "pager/task.h"

/* What fork finds in one leaf table's span. */
struct span {
    va_t start;
    va_t end;
    struct vma *first;   /* VMA of the parent that reaches into the span */
    bool any_copied;     /* some VMA's entries go to the child */
    bool any_left_out;   /* some VMA's do not */
    bool any_private;    /* some VMA is private, so writes must be caught above */
    bool any_shared;     /* some VMA is MAP_SHARED */
    bool any_not_shared; /* some VMA forbids sharing */
};

/*
 * Where private mappings lie, in few runs: what the parent's window has to stop writing. Gaps that
 * are small are not worth a run of their own, nor are any when there would be too many.
 */
enum { MOST_RUNS = 16 };
#define MOST_GAP_BYTES (64 * PAGE_BYTES)

struct private_run {
    va_t start;
    va_t end;
};

struct fork {
    struct mm *parent;
    struct mm *child;
    const struct kernel *kernel;
    uint64_t span_bytes;
    struct share_cursor cursor;
    struct span span;           /* the last one looked at */
    const struct vma *previous; /* the child's VMA made last */
    bool met_shared;            /* since the last private one */
    unsigned run_count;
    struct private_run runs[MOST_RUNS];
};

/* Do the entries of this VMA go to the child? Others it faults in again, or never has. */
static bool vma_is_copied(const struct kernel *kernel, const struct vma *vma)
{
    if (vma->flags & (VMA_DONT_FORK | VMA_WIPE_ON_FORK))
        return false;
    return kernel->fork_entries == FORK_COPIES_ALL || (vma->flags & VMA_STICKY) != 0;
}

static void add_vma(const struct fork *fork, struct span *span, const struct vma *vma)
{
    span->any_copied |= vma_is_copied(fork->kernel, vma);
    span->any_left_out |= !vma_is_copied(fork->kernel, vma);
    span->any_private |= vma_is_private(vma);
    span->any_shared |= !vma_is_private(vma);
    span->any_not_shared |= (vma->flags & VMA_NOT_SHARED) != 0;
}

/* Notes what lies in the span of a leaf table. */
static void look_at_span(struct fork *fork, va_t va)
{
    va_t start = round_down(va, fork->span_bytes);
    va_t end = start + fork->span_bytes;

    fork->span = (struct span){.start = start, .end = end, .first = vma_look(fork->parent, start)};
    for (const struct vma *vma = fork->span.first; vma != NULL && vma->start < end;
         vma = vma_next(vma)) {
        add_vma(fork, &fork->span, vma);
        if (vma->end >= end)
            break;
    }
}

/*
 * The mark of a pin is sticky: whether a pinned frame is still there is looked up when it is set.
 */
static bool holds_pin(const struct ram *ram, const struct table *table)
{
    if (!table->may_hold_pin)
        return false;
    if (table_pinned_frames(ram, table) > 0)
        return true;
    table_for_all(ram, table)->may_hold_pin = false;
    return false;
}

/*
 * Does the table hold entries that should not go to the child? Sharing it would hand them on: what
 * the child has resident would tell that tables are shared.
 */
static bool holds_left_out(const struct fork *fork, const struct span *span,
                           const struct table *table)
{
    const struct pt_tree *tree = &fork->parent->tree;

    for (const struct vma *vma = span->first; vma != NULL && vma->start < span->end;
         vma = vma_next(vma)) {
        va_t end = min_u64(vma->end, span->end);

        if (vma_is_copied(fork->kernel, vma))
            continue;
        for (va_t va = max_u64(vma->start, span->start); va < end; va += PAGE_BYTES) {
            if (!entry_is_none(table_entry(tree->ram, table, geometry_slot(tree->geometry, va, 0))))
                return true;
        }
    }
    return false;
}

static bool may_share(const struct fork *fork, const struct span *span, const struct table *table)
{
    if (fork->kernel->sharing == SHARING_NONE)
        return false;
    bool allowed = !span->any_not_shared && !holds_pin(fork->parent->tree.ram, table) &&
                   table->used >= fork->kernel->least_shared_entries &&
                   (fork->kernel->fork_entries == FORK_COPIES_NOTHING || !span->any_left_out ||
                    !holds_left_out(fork, span, table));

    return allowed && fork->kernel->sharing == SHARING_LEAF;
}

/* The upper tables that the child still lacks were reserved before; asked for again, they stay. */
static int reserve_copy(const struct fork *fork, const struct table *table)
{
    struct ram *ram = fork->parent->tree.ram;
    struct ram_need need = {.leaf_tables = 1,
                            .upper_tables =
                                fork->parent->tree.upper_tables - fork->child->tree.upper_tables,
                            .mappings = table->used};

    if (table->may_hold_pin)
        need.frames = table_pinned_frames(ram, table);
    return ram_reserve(ram, &need);
}

/* Copies one VMA's part of a leaf table. */
static void copy_vma_part(const struct fork *fork, const struct vma *vma, const struct span *span,
                          struct table *source, struct table *destination)
{
    const struct geometry *geometry = fork->parent->tree.geometry;
    va_t start = max_u64(vma->start, span->start);
    va_t end = min_u64(vma->end, span->end);

    table_copy(fork->parent->tree.ram, source, destination, geometry_slot(geometry, start, 0),
               geometry_slot(geometry, end - 1, 0) + 1);
}

static int copy_leaf(struct fork *fork, const struct span *span, const struct pt_leaf *leaf)
{
    struct ram *ram = fork->parent->tree.ram;
    int error = reserve_copy(fork, leaf->table);

    if (error != 0)
        return error;
    struct table *source = table_for_all(ram, leaf->table);
    struct table *copy = table_for_copy(&fork->child->tree, leaf, &fork->cursor);

    for (const struct vma *vma = span->first; vma != NULL && vma->start < span->end;
         vma = vma_next(vma)) {
        if (vma_is_copied(fork->kernel, vma))
            copy_vma_part(fork, vma, span, source, copy);
        if (vma->end >= span->end)
            break;
    }
    event_count(ram->events, EVENT_TABLE_COPIED, 1);
    return 0;
}

/* One leaf table; its span was just looked at. */
static int fork_leaf(struct fork *fork, struct pt_tree *tree, const struct pt_leaf *leaf)
{
    const struct span *span = &fork->span;

    if (!span->any_copied) {
        event_count(tree->ram->events, EVENT_TABLE_SKIPPED, 1);
        return 0;
    }
    if (!may_share(fork, span, leaf->table))
        return copy_leaf(fork, span, leaf);
    table_share(tree, leaf, &fork->child->tree, &fork->cursor, !span->any_private);
    /* The entry above forbids writes to all of the span; protect_parent() sees to private VMAs. */
    if (span->any_private && span->any_shared)
        mm_write_protect(fork->parent, span->start, span->end);
    return 0;
}

/* How many slots from this one on lie in the VMA that the span just looked at lies in. */
static unsigned slots_alike(const struct fork *fork, unsigned slot, unsigned end)
{
    const struct span *span = &fork->span;

    if (span->first == NULL || span->first->start > span->start)
        return 0;
    return (unsigned)min_u64((span->first->end - span->start) / fork->span_bytes, end - slot);
}

/* Shares a run of tables within one VMA; returns the first slot that it leaves. */
static unsigned share_run(struct fork *fork, const struct pt_leaves *leaves, unsigned slot,
                          unsigned end)
{
    const struct span *span = &fork->span;
    struct share_rule rule = {.least_used = fork->kernel->least_shared_entries,
                              .all_shared = !span->any_private};

    if (fork->kernel->sharing != SHARING_LEAF || span->any_not_shared)
        return slot;
    return tables_share(&fork->parent->tree, leaves, slot, end, &fork->child->tree, &fork->cursor,
                        &rule);
}

/* Leaves a run of tables out. */
static unsigned skip_run(const struct fork *fork, const struct pt_leaves *leaves, unsigned slot,
                         unsigned end)
{
    uint64_t skipped = 0;

    for (; slot < end; slot = table_next_used(leaves->parent, slot + 1, end))
        skipped++;
    event_count(fork->parent->tree.ram->events, EVENT_TABLE_SKIPPED, skipped);
    return end;
}

/* Many tables in one VMA are dealt with at once, the others one by one. */
static int fork_leaves(void *context, struct pt_tree *tree, const struct pt_leaves *leaves)
{
    struct fork *fork = context;
    unsigned slot = table_next_used(leaves->parent, leaves->first, leaves->end);

    while (slot < leaves->end) {
        struct pt_leaf leaf;

        pt_leaf_at(tree, leaves, slot, &leaf);
        look_at_span(fork, leaf.va);
        unsigned end = slot + slots_alike(fork, slot, leaves->end);
        unsigned reached = slot;

        if (end > slot)
            reached = fork->span.any_copied ? share_run(fork, leaves, slot, end)
                                            : skip_run(fork, leaves, slot, end);
        int error = reached == slot ? fork_leaf(fork, tree, &leaf) : 0;

        if (error != 0)
            return error;
        slot = table_next_used(leaves->parent, reached == slot ? slot + 1 : reached, leaves->end);
    }
    return 0;
}

static int fork_tables(struct fork *fork)
{
    static const struct pt_visitor visitor = {.leaves = fork_leaves};
    struct pt_tree *tree = &fork->parent->tree;
    struct ram_need need = {.upper_tables = tree->upper_tables};
    int error = ram_reserve(tree->ram, &need);

    if (error != 0)
        return error;
    return pt_walk(tree, 0, tree->geometry->user_end, &visitor, fork);
}

/* A shared mapping between two runs is protected with them only where there are too many. */
static void note_private(struct fork *fork, const struct vma *vma)
{
    struct private_run *last = &fork->runs[fork->run_count > 0 ? fork->run_count - 1 : 0];

    if (fork->run_count == 0 || (fork->run_count < MOST_RUNS &&
                                 (fork->met_shared || vma->start - last->end > MOST_GAP_BYTES)))
        fork->runs[fork->run_count++] = (struct private_run){vma->start, vma->end};
    else
        last->end = vma->end;
    fork->met_shared = false;
}

/*
 * One VMA for the child. Memory that the child finds wiped was never written by it. What the parent
 * has apart stays so, though a lock that is not handed down may have been all that told the two.
 */
static struct vma *fork_vma(void *context, struct vma *vma)
{
    struct fork *fork = context;

    if (vma_is_private(vma))
        note_private(fork, vma);
    else
        fork->met_shared = true;
    if (vma->flags & VMA_DONT_FORK)
        return NULL;
    struct vma *made = vma_make_like(fork->child, vma);

    made->flags &= ~(VMA_LOCKED | VMA_ANCESTRY);
    if (!(vma->flags & VMA_WIPE_ON_FORK)) {
        made->flags |= vma->flags & VMA_ANCESTRY;
        anon_family_fork(made, vma);
    }
    made->left_apart = fork->previous != NULL && vma_continues(fork->previous, made);
    fork->previous = made;
    event_count(&fork->parent->machine->events, EVENT_VMA_COPIED, 1);
    return made;
}

/* Duplicates the VMAs in order; what was written through a private one is caught from now on. */
static int fork_vmas(struct fork *fork)
{
    int error = vma_reserve_copy(fork->child, fork->parent);

    if (error == 0)
        error = anon_family_reserve_fork(fork->parent);
    if (error != 0)
        return error;
    vma_duplicate_all(fork->child, fork->parent, fork_vma, fork);
    return 0;
}

/* The windows follow the tables: what became read-only there is no longer written here. */
static void protect_parent(const struct fork *fork)
{
    for (unsigned i = 0; i < fork->run_count; i++)
        mm_write_protect(fork->parent, fork->runs[i].start, fork->runs[i].end);
}

static int fork_mm(struct mm *parent, struct mm **child)
{
    int error = mm_create(parent->machine, child);

    if (error != 0)
        return error;
    struct fork fork = {.parent = parent,
                        .child = *child,
                        .kernel = parent->machine->kernel,
                        .span_bytes = geometry_span_bytes(parent->tree.geometry)};

    mm_copy_layout(*child, parent);
    error = fork_vmas(&fork);
    if (error == 0)
        error = fork_tables(&fork);
    protect_parent(&fork);
    if (error != 0)
        mm_destroy(*child);
    return error;
}

static int fork_locked(struct task *parent, struct task **child)
{
    struct mm *mm;
    int error = pool_reserve(&parent->machine->tasks, 1);

    if (error == 0)
        error = fork_mm(parent->mm, &mm);
    if (error != 0)
        return error;
    error = task_allocate_locked(parent->machine, mm, parent, child);
    if (error != 0) {
        mm_destroy(mm);
        return error;
    }
    event_record(&parent->machine->events, EVENT_FORK, parent->id, 0, PFN_NONE);
    return 0;
}

int sys_fork(struct task *parent, struct task **child)
{
    int error = task_enter_kernel(parent);

    if (error != 0)
        return error;
    error = fork_locked(parent, child);
    machine_unlock(parent->machine);
    return error;
}
