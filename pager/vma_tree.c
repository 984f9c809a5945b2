/* SPDX-License-Identifier: GPL-2.0-or-later */
/* List and red-black tree of VMAs; vma_tree.h has the terms. */
#include "pager/vma_tree.h"

struct vma *vma_tree_find(struct vma_index *index, va_t va)
{
    struct rb_node *node = vma_tree_of(index)->tree.root;
    struct vma *found = NULL;

    while (node != NULL) {
        struct vma *vma = vma_of_node(node);

        ++*index->steps;
        if (vma->end > va) {
            found = vma;
            if (vma->start <= va)
                break;
            node = node->left;
        } else {
            node = node->right;
        }
    }
    return found;
}

struct vma *vma_tree_last(struct vma_index *index)
{
    return vma_tree_of(index)->last;
}

struct vma *vma_tree_next(struct vma_index *index, const struct vma *vma)
{
    (void)index;
    return vma_tree_links(vma)->next;
}

struct vma *vma_tree_previous_by_list(struct vma_index *index, const struct vma *vma)
{
    (void)index;
    return vma_tree_links(vma)->previous;
}

/* As find_vma_prev() does it: down the tree, and the last turn to the right is the answer. */
struct vma *vma_tree_previous_by_descent(struct vma_index *index, const struct vma *vma)
{
    struct rb_node *node = vma_tree_of(index)->tree.root;
    struct vma *previous = NULL;

    while (node != NULL) {
        struct vma *here = vma_of_node(node);

        ++*index->steps;
        if (here->start < vma->start) {
            previous = here;
            node = node->right;
        } else {
            node = node->left;
        }
    }
    return previous;
}

/* --- changes --- */

static void link_into_list(struct vma_tree *tree, struct vma *vma, struct vma *previous)
{
    struct vma_tree_links *links = vma_tree_links(vma);

    links->next = previous != NULL ? vma_tree_links(previous)->next : tree->first;
    if (previous != NULL)
        vma_tree_links(previous)->next = vma;
    else
        tree->first = vma;
    if (links->next == NULL)
        tree->last = vma;
    if (!tree->is_double)
        return;
    links->previous = previous;
    if (links->next != NULL)
        vma_tree_links(links->next)->previous = vma;
}

static void unlink_from_list(struct vma_tree *tree, const struct vma *vma, struct vma *previous)
{
    struct vma *next = vma_tree_links(vma)->next;

    if (previous != NULL)
        vma_tree_links(previous)->next = next;
    else
        tree->first = next;
    if (next == NULL)
        tree->last = previous;
    else if (tree->is_double)
        vma_tree_links(next)->previous = previous;
}

/* One descent finds the place in the tree and the VMA before it in the list, as
 * find_vma_prepare() does. */
void vma_tree_insert(struct vma_index *index, struct vma *vma)
{
    struct vma_tree *tree = vma_tree_of(index);
    struct rb_node **link = &tree->tree.root;
    struct rb_node *parent = NULL;
    struct vma *previous = NULL;

    while (*link != NULL) {
        parent = *link;
        ++*index->steps;
        if (vma_of_node(parent)->start < vma->start) {
            previous = vma_of_node(parent);
            link = &parent->right;
        } else {
            link = &parent->left;
        }
    }
    index->count++;
    link_into_list(tree, vma, previous);
    rb_insert(&tree->tree, &vma_tree_links(vma)->node, parent, link);
}

/* No lookup: the place is to the right of the last one. */
void vma_tree_append(struct vma_index *index, struct vma *vma)
{
    struct vma_tree *tree = vma_tree_of(index);
    struct vma *last = tree->last;
    struct rb_node *parent = last != NULL ? &vma_tree_links(last)->node : NULL;

    index->count++;
    link_into_list(tree, vma, last);
    rb_insert(&tree->tree, &vma_tree_links(vma)->node, parent,
              parent != NULL ? &parent->right : &tree->tree.root);
}

void vma_tree_remove(struct vma_index *index, struct vma *vma)
{
    struct vma_tree *tree = vma_tree_of(index);

    index->count--;
    unlink_from_list(tree, vma, index->ops->previous(index, vma));
    rb_remove(&tree->tree, &vma_tree_links(vma)->node);
}

/* --- soundness --- */

static struct rb_node *lowest_node(struct rb_node *node)
{
    while (node != NULL && node->left != NULL)
        node = node->left;
    return node;
}

bool vma_tree_is_sound(struct vma_index *index)
{
    const struct vma_tree *tree = vma_tree_of(index);
    struct rb_node *node = lowest_node(tree->tree.root);
    struct vma *previous = NULL;
    uint32_t count = 0;

    if (!rb_is_sound(&tree->tree))
        return false;
    for (struct vma *vma = tree->first; vma != NULL; vma = vma_tree_links(vma)->next) {
        if (vma_of_node(node) != vma || (previous != NULL && previous->end > vma->start) ||
            (tree->is_double && vma_tree_links(vma)->previous != previous))
            return false;
        node = rb_next(node);
        previous = vma;
        count++;
    }
    return node == NULL && previous == tree->last && count == index->count;
}
