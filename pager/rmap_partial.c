/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Partial object-based reverse mapping: chains for anonymous pages, and for those of an object the
 * way over the object's mappings (Dave McCracken's objrmap patches of 2003).
 *
 * A page of an object that is mapped costs nothing: neither fork nor a fault adds an element. Who
 * looks for its entries goes through all mappings of the object and looks into the tables of each
 * that covers the page: a linear list, as it was in 2003. A table that several address spaces share
 * is met once for each mapping of it, and counts where it is met by its first attachment.
 *
 * Of which page of which object a frame is, is noted here, by frame.
 */
#include <errno.h>
#include <stdlib.h>

#include "pager/mm.h"
#include "pager/object.h"
#include "pager/rmap_chains.h"

struct page_owner {
    const struct object *object;
    uint64_t page;
};

struct partial {
    void *chains;              /* the context of rmap_chains */
    struct page_owner *owners; /* by frame; of one that is no object's it means nothing */
};

static int partial_create(void **context, struct ram *ram)
{
    struct partial *partial = calloc(1, sizeof(*partial));

    if (partial == NULL)
        return -ENOMEM;
    int error = rmap_chains_create_for(&partial->chains, ram, RMAP_KIND(ANON));

    partial->owners = calloc(ram->frame_count, sizeof(*partial->owners));
    if (error == 0 && partial->owners == NULL) {
        rmap_chains.destroy(partial->chains);
        error = -ENOMEM;
    }
    if (error != 0) {
        free(partial->owners);
        free(partial);
        return error;
    }
    *context = partial;
    return 0;
}

static void partial_destroy(void *context)
{
    struct partial *partial = context;

    rmap_chains.destroy(partial->chains);
    free(partial->owners);
    free(partial);
}

/* --- hooks --- */

static int partial_reserve(void *context, size_t elements)
{
    const struct partial *partial = context;

    return rmap_chains.hooks->reserve(partial->chains, elements);
}

static void partial_add(void *context, const struct table *table, unsigned first, unsigned end)
{
    const struct partial *partial = context;

    rmap_chains.hooks->add(partial->chains, table, first, end);
}

static void partial_remove(void *context, const struct table *table, unsigned first, unsigned end)
{
    const struct partial *partial = context;

    rmap_chains.hooks->remove(partial->chains, table, first, end);
}

static void partial_move(void *context, const struct table_move *move)
{
    const struct partial *partial = context;

    rmap_chains.hooks->move(partial->chains, move);
}

static void partial_own(void *context, pfn_t pfn, const void *object, uint64_t page)
{
    const struct partial *partial = context;

    partial->owners[pfn] = (struct page_owner){.object = object, .page = page};
}

/* --- visits --- */

/* Who looks for the entries of which frame. */
struct object_search {
    pfn_t pfn;
    rmap_visit *visit;
    void *context;
};

static void look_into_mapping(void *context, struct vma *vma, va_t start, va_t end)
{
    const struct object_search *search = context;
    struct pt_leaf leaf;

    (void)end;
    if (!pt_lookup(&vma->mm->tree, start, &leaf) || leaf.parent->pfn != leaf.table->first_parent)
        return;
    entry_t entry = table_entry(vma->mm->tree.ram, leaf.table, leaf.first);

    if (entry_is_present(entry) && entry_pfn(entry) == search->pfn)
        search->visit(search->context, leaf.table, leaf.first);
}

static void partial_visit(const void *context, pfn_t pfn, rmap_visit *visit, void *visit_context)
{
    const struct partial *partial = context;
    const struct page_owner *owner = &partial->owners[pfn];
    struct object_search search = {.pfn = pfn, .visit = visit, .context = visit_context};

    if (rmap_chains_has(partial->chains, pfn))
        rmap_chains.visit(partial->chains, pfn, visit, visit_context);
    else if (owner->object != NULL)
        object_visit_mappings(owner->object, owner->page, owner->page + 1, look_into_mapping,
                              &search);
}

static int partial_age(void *context, size_t elements, uint64_t seed)
{
    const struct partial *partial = context;

    return rmap_chains.age(partial->chains, elements, seed);
}

static const struct rmap_hooks partial_hooks = {
    .reserve = partial_reserve,
    .add = partial_add,
    .remove = partial_remove,
    .move = partial_move,
    .own = partial_own,
};

const struct rmap_scheme rmap_partial = {
    .name = "object, chains",
    .hooks = &partial_hooks,
    .create = partial_create,
    .destroy = partial_destroy,
    .visit = partial_visit,
    .age = partial_age,
};
