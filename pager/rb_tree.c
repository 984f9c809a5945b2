/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Red-black trees; rb_tree.h has the rules. */
#include "pager/rb_tree.h"

static bool is_red(const struct rb_node *node)
{
    return node != NULL && node->is_red;
}

static void update(const struct rb_tree *tree, struct rb_node *node)
{
    if (tree->update != NULL)
        (void)tree->update(node);
}

void rb_update_above(const struct rb_tree *tree, struct rb_node *node)
{
    if (tree->update == NULL)
        return;
    while (node != NULL && tree->update(node))
        node = node->parent;
}

/* Puts `to` where `from` hangs. */
static void replace_child(struct rb_tree *tree, const struct rb_node *from, struct rb_node *to)
{
    struct rb_node *parent = from->parent;

    if (parent == NULL)
        tree->root = to;
    else if (parent->left == from)
        parent->left = to;
    else
        parent->right = to;
    if (to != NULL)
        to->parent = parent;
}

void rb_update_to_root(const struct rb_tree *tree, struct rb_node *node)
{
    for (; node != NULL; node = node->parent)
        update(tree, node);
}

static struct rb_node *child(const struct rb_node *node, bool right)
{
    return right ? node->right : node->left;
}

static void set_child(struct rb_node *node, bool right, struct rb_node *to)
{
    if (right)
        node->right = to;
    else
        node->left = to;
    if (to != NULL)
        to->parent = node;
}

/* The node goes down to that side, its child of the other side up. */
static void rotate(struct rb_tree *tree, struct rb_node *node, bool right)
{
    struct rb_node *riser = child(node, !right);

    replace_child(tree, node, riser);
    set_child(node, !right, child(riser, right));
    set_child(riser, right, node);
    update(tree, node);
    update(tree, riser);
}

/* A red node below a red parent, which has a black uncle: two rotations at most end it. */
static void straighten(struct rb_tree *tree, struct rb_node *node)
{
    struct rb_node *parent = node->parent;
    struct rb_node *grandparent = parent->parent;
    bool right = grandparent->right == parent;

    if (child(parent, !right) == node) {
        rotate(tree, parent, right);
        parent = node;
    }
    parent->is_red = false;
    grandparent->is_red = true;
    rotate(tree, grandparent, !right);
}

void rb_insert(struct rb_tree *tree, struct rb_node *node, struct rb_node *parent,
               struct rb_node **link)
{
    *node = (struct rb_node){.parent = parent, .is_red = true};
    *link = node;
    update(tree, node);
    rb_update_above(tree, parent);
    while (is_red(node->parent)) {
        struct rb_node *grandparent = node->parent->parent;
        struct rb_node *uncle = child(grandparent, grandparent->left == node->parent);

        if (!is_red(uncle)) {
            straighten(tree, node);
            break;
        }
        node->parent->is_red = false;
        uncle->is_red = false;
        grandparent->is_red = true;
        node = grandparent;
    }
    tree->root->is_red = false;
}

/*
 * Below `parent`, on that side, the ways are one black node short. Rotates until the sibling is
 * black; true when the want is met, false when it has moved up to the parent.
 */
static bool lend_black(struct rb_tree *tree, struct rb_node *parent, bool right)
{
    struct rb_node *sibling = child(parent, !right);

    if (sibling->is_red) {
        sibling->is_red = false;
        parent->is_red = true;
        rotate(tree, parent, right);
        sibling = child(parent, !right);
    }
    if (!is_red(sibling->left) && !is_red(sibling->right)) {
        sibling->is_red = true;
        return false;
    }
    if (!is_red(child(sibling, !right))) {
        child(sibling, right)->is_red = false;
        sibling->is_red = true;
        rotate(tree, sibling, !right);
        sibling = child(parent, !right);
    }
    sibling->is_red = parent->is_red;
    parent->is_red = false;
    child(sibling, !right)->is_red = false;
    rotate(tree, parent, right);
    return true;
}

/* A black node has gone from above `node` (perhaps NULL), which hangs below `parent`. */
static void balance_after_removal(struct rb_tree *tree, struct rb_node *node,
                                  struct rb_node *parent)
{
    while (parent != NULL && !is_red(node)) {
        if (lend_black(tree, parent, parent->right == node))
            return;
        node = parent;
        parent = node->parent;
    }
    if (node != NULL)
        node->is_red = false;
}

static struct rb_node *lowest(struct rb_node *node)
{
    while (node->left != NULL)
        node = node->left;
    return node;
}

/* A node that was taken out takes the place of one with two children. */
static void take_place_of(struct rb_tree *tree, struct rb_node *next, const struct rb_node *node)
{
    replace_child(tree, node, next);
    set_child(next, false, node->left);
    set_child(next, true, node->right);
    next->is_red = node->is_red;
}

/* Of a node with two children the next one in order is taken out, and then put in its place. */
void rb_remove(struct rb_tree *tree, struct rb_node *node)
{
    bool has_two = node->left != NULL && node->right != NULL;
    struct rb_node *goes = has_two ? lowest(node->right) : node;
    struct rb_node *rises = goes->left != NULL ? goes->left : goes->right;
    struct rb_node *parent = goes->parent;
    bool was_red = goes->is_red;

    replace_child(tree, goes, rises);
    if (has_two) {
        take_place_of(tree, goes, node);
        parent = parent == node ? goes : parent;
    }
    rb_update_above(tree, parent);
    if (has_two) { /* its old subtree may have had no news for its new place */
        update(tree, goes);
        rb_update_above(tree, goes->parent);
    }
    if (!was_red)
        balance_after_removal(tree, rises, parent);
}

struct rb_node *rb_next(const struct rb_node *node)
{
    if (node->right != NULL)
        return lowest(node->right);
    while (node->parent != NULL && node->parent->right == node)
        node = node->parent;
    return node->parent;
}

struct rb_node *rb_previous(const struct rb_node *node)
{
    struct rb_node *below = node->left;

    if (below != NULL) {
        while (below->right != NULL)
            below = below->right;
        return below;
    }
    while (node->parent != NULL && node->parent->left == node)
        node = node->parent;
    return node->parent;
}

/* Black nodes on each way down from here, or -1 where a rule is broken. */
static int black_height(const struct rb_node *node, const struct rb_node *parent)
{
    if (node == NULL)
        return 0;
    int left = black_height(node->left, node);
    int right = black_height(node->right, node);

    if (left < 0 || left != right || node->parent != parent)
        return -1;
    if (node->is_red && (is_red(node->left) || is_red(node->right)))
        return -1;
    return left + !node->is_red;
}

bool rb_is_sound(const struct rb_tree *tree)
{
    return !is_red(tree->root) && black_height(tree->root, NULL) >= 0;
}
