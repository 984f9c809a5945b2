/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A list, and an AVL tree once there are 32 mappings: Linux up to 2.4.9 (mm/mmap_avl.c,
 * AVL_MIN_MAP_COUNT; the tree by Bruno Haible).
 *
 *   find     along the list while there is no tree
 *   insert   along the list, or one descent that finds the place and the mapping before it
 *   fork     the list in order; then, if it is long enough, the tree is built: for each mapping a
 *            descent from the root (build_mmap_avl())
 *
 * A tree that was built stays when mappings go. The list is single: the mapping before another one
 * is found by a descent, or along the list.
 */
#include <assert.h>

#include "pager/vma.h"

enum { LEAST_FOR_TREE = 32, MOST_HEIGHT = 41 };

struct avl_links {
    struct vma *next;
    struct vma *left;
    struct vma *right;
    int height;
};

struct list_avl {
    struct vma *first;
    struct vma *last;
    struct vma *root; /* NULL: no tree */
};

_Static_assert(sizeof(struct list_avl) <= VMA_INDEX_STATE_BYTES, "the state fits");

static struct list_avl *state_of(struct vma_index *index)
{
    return (struct list_avl *)(void *)index->state;
}

static struct avl_links *links_of(const struct vma *vma)
{
    return vma_links(vma);
}

/* --- lookup --- */

static struct vma *find_in_list(struct vma_index *index, va_t va)
{
    struct vma *vma = state_of(index)->first;

    ++*index->steps;
    for (; vma != NULL && vma->end <= va; vma = links_of(vma)->next)
        ++*index->steps;
    return vma;
}

static struct vma *find_in_tree(struct vma_index *index, va_t va)
{
    struct vma *vma = state_of(index)->root;
    struct vma *found = NULL;

    while (vma != NULL) {
        ++*index->steps;
        if (vma->end > va) {
            found = vma;
            if (vma->start <= va)
                break;
            vma = links_of(vma)->left;
        } else {
            vma = links_of(vma)->right;
        }
    }
    return found;
}

static struct vma *avl_find(struct vma_index *index, va_t va)
{
    return state_of(index)->root != NULL ? find_in_tree(index, va) : find_in_list(index, va);
}

static struct vma *avl_last(struct vma_index *index)
{
    return state_of(index)->last;
}

static struct vma *avl_next(struct vma_index *index, const struct vma *vma)
{
    (void)index;
    return links_of(vma)->next;
}

/* The mapping before an address at which none begins below: the last turn to the right. */
static struct vma *last_before(struct vma_index *index, va_t start)
{
    struct list_avl *state = state_of(index);
    struct vma *vma = state->root != NULL ? state->root : state->first;
    struct vma *previous = NULL;

    while (vma != NULL) {
        bool is_before = vma->start < start;

        ++*index->steps;
        if (is_before)
            previous = vma;
        else if (state->root == NULL)
            break;
        if (state->root == NULL)
            vma = links_of(vma)->next;
        else
            vma = is_before ? links_of(vma)->right : links_of(vma)->left;
    }
    return previous;
}

static struct vma *avl_previous(struct vma_index *index, const struct vma *vma)
{
    return last_before(index, vma->start);
}

/* --- the tree --- */

static int height_of(const struct vma *vma)
{
    return vma != NULL ? links_of(vma)->height : 0;
}

static void set_height(const struct vma *vma)
{
    int left = height_of(links_of(vma)->left);
    int right = height_of(links_of(vma)->right);

    links_of(vma)->height = 1 + (left > right ? left : right);
}

static struct vma **side_of(const struct vma *vma, bool right)
{
    return right ? &links_of(vma)->right : &links_of(vma)->left;
}

/* What hangs in the link goes down to that side, its child of the other side takes its place. */
static void rotate(struct vma **link, bool right)
{
    struct vma *sinks = *link;
    struct vma *rises = *side_of(sinks, !right);

    *side_of(sinks, !right) = *side_of(rises, right);
    *side_of(rises, right) = sinks;
    *link = rises;
    set_height(sinks);
    set_height(rises);
}

/* Makes up for a difference of two between the sides of what hangs in the link. */
static void rebalance(struct vma **link)
{
    const struct vma *vma = *link;
    int tilt = height_of(links_of(vma)->right) - height_of(links_of(vma)->left);
    bool right = tilt > 0;

    if (tilt >= -1 && tilt <= 1) {
        set_height(vma);
        return;
    }
    struct vma **heavy = side_of(vma, right);

    if (height_of(*side_of(*heavy, !right)) > height_of(*side_of(*heavy, right)))
        rotate(heavy, right);
    rotate(link, !right);
}

/* The links on a way down from the root. */
struct way {
    struct vma **links[MOST_HEIGHT];
    unsigned count;
};

static void rebalance_way(struct way *way)
{
    while (way->count > 0)
        rebalance(way->links[--way->count]);
}

/* Down from the root to the empty link where the VMA belongs; the VMA before it. */
static struct vma *insert_into_tree(struct vma_index *index, struct vma *vma)
{
    struct way way = {.count = 0};
    struct vma **link = &state_of(index)->root;
    struct vma *previous = NULL;

    while (*link != NULL) {
        bool right = (*link)->start < vma->start;

        ++*index->steps;
        way.links[way.count++] = link;
        if (right)
            previous = *link;
        link = side_of(*link, right);
    }
    links_of(vma)->left = NULL;
    links_of(vma)->right = NULL;
    links_of(vma)->height = 1;
    *link = vma;
    rebalance_way(&way);
    return previous;
}

/* Down to the highest VMA of the left side, which takes the place of the one that goes. */
static void replace_by_left(struct way *way, struct vma **link, const struct vma *goes)
{
    unsigned place = way->count;

    way->links[way->count++] = link;
    struct vma **from = &links_of(goes)->left;

    while (links_of(*from)->right != NULL) {
        way->links[way->count++] = from;
        from = &links_of(*from)->right;
    }
    struct vma *rises = *from;

    *from = links_of(rises)->left;
    links_of(rises)->left = links_of(goes)->left;
    links_of(rises)->right = links_of(goes)->right;
    *link = rises;
    if (way->count > place + 1) /* the first link below was in the one that goes */
        way->links[place + 1] = &links_of(rises)->left;
}

static void remove_from_tree(struct vma_index *index, const struct vma *vma)
{
    struct way way = {.count = 0};
    struct vma **link = &state_of(index)->root;

    while (*link != NULL && *link != vma) {
        ++*index->steps;
        way.links[way.count++] = link;
        link = side_of(*link, (*link)->start < vma->start);
    }
    assert(*link == vma);
    if (links_of(vma)->left == NULL)
        *link = links_of(vma)->right;
    else
        replace_by_left(&way, link, vma);
    rebalance_way(&way);
}

static void build_tree(struct vma_index *index)
{
    for (struct vma *vma = state_of(index)->first; vma != NULL; vma = links_of(vma)->next)
        insert_into_tree(index, vma);
}

/* --- changes --- */

static void link_after(struct vma_index *index, struct vma *vma, struct vma *previous)
{
    struct list_avl *state = state_of(index);
    struct avl_links *links = links_of(vma);

    links->next = previous != NULL ? links_of(previous)->next : state->first;
    if (previous != NULL)
        links_of(previous)->next = vma;
    else
        state->first = vma;
    if (links->next == NULL)
        state->last = vma;
    index->count++;
}

static void avl_insert(struct vma_index *index, struct vma *vma)
{
    struct list_avl *state = state_of(index);

    if (state->root != NULL) {
        link_after(index, vma, insert_into_tree(index, vma));
        return;
    }
    link_after(index, vma, last_before(index, vma->start));
    if (index->count >= LEAST_FOR_TREE)
        build_tree(index);
}

static void avl_append(struct vma_index *index, struct vma *vma)
{
    avl_insert(index, vma);
}

static void avl_remove(struct vma_index *index, struct vma *vma)
{
    struct list_avl *state = state_of(index);
    struct vma *previous = last_before(index, vma->start);

    if (previous != NULL)
        links_of(previous)->next = links_of(vma)->next;
    else
        state->first = links_of(vma)->next;
    if (state->last == vma)
        state->last = previous;
    if (state->root != NULL)
        remove_from_tree(index, vma);
    index->count--;
}

static void avl_duplicate(struct vma_index *index, struct vma_index *from, vma_copier *copy,
                          void *context)
{
    for (struct vma *vma = state_of(from)->first; vma != NULL; vma = links_of(vma)->next) {
        struct vma *made = copy(context, vma);

        if (made != NULL)
            link_after(index, made, state_of(index)->last);
    }
    if (index->count >= LEAST_FOR_TREE)
        build_tree(index);
}

/* --- soundness --- */

/* Its height, or -1; `*vma`: the next in the list that has to come in the tree. */
static int sound_height(const struct vma *tree, const struct vma **vma)
{
    if (tree == NULL)
        return 0;
    int left = sound_height(links_of(tree)->left, vma);

    if (left < 0 || *vma != tree)
        return -1;
    *vma = links_of(tree)->next;
    int right = sound_height(links_of(tree)->right, vma);
    int height = 1 + (left > right ? left : right);

    if (right < 0 || left - right > 1 || right - left > 1 || links_of(tree)->height != height)
        return -1;
    return height;
}

static bool avl_is_sound(struct vma_index *index)
{
    const struct list_avl *state = state_of(index);
    const struct vma *in_order = state->first;
    const struct vma *last = NULL;
    uint32_t count = 0;

    for (const struct vma *vma = state->first; vma != NULL; vma = links_of(vma)->next) {
        if (last != NULL && last->end > vma->start)
            return false;
        last = vma;
        count++;
    }
    if (last != state->last || count != index->count)
        return false;
    return state->root == NULL || (sound_height(state->root, &in_order) >= 0 && in_order == NULL);
}

const struct vma_index_ops vma_index_list_avl = {
    .name = "list+avl",
    .links_bytes = sizeof(struct avl_links),
    .find = avl_find,
    .last = avl_last,
    .next = avl_next,
    .previous = avl_previous,
    .insert = avl_insert,
    .remove = avl_remove,
    .append = avl_append,
    .duplicate = avl_duplicate,
    .is_sound = avl_is_sound,
};
