/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations at random on a few trees, against a flat model: what each page of each tree reads.
 * After every operation all pages of all trees are compared and all invariants hold.
 *
 * A failure prints its seed and step. FORKLAB_SEED=N runs that seed alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pt/random.h"
#include "tests/support/ram_fixture.h"

enum { FRAMES = 160, TREES = 5, SPANS = 3, PAGES = 4, STEPS = 150, SEEDS = 60 };

struct model_page {
    bool mapped;
    uint8_t value; /* 0 when not mapped */
    pfn_t pin;     /* PFN_NONE: none */
};

struct model_tree {
    bool alive;
    struct model_page pages[SPANS][PAGES];
};

struct world {
    struct ram_fixture fixture;
    struct pt_tree trees[TREES];
    struct model_tree model[TREES];
    struct random random;
    uint64_t seed;
    unsigned step;
};

static unsigned pick(struct world *world, unsigned limit)
{
    return (unsigned)random_below(&world->random, limit);
}

static va_t page_va(const struct world *world, unsigned span, unsigned page)
{
    return (2 * span + 1) * geometry_span_bytes(world->fixture.ram.geometry) + page * PAGE_BYTES;
}

static void compare(struct world *world)
{
    for (unsigned tree = 0; tree < TREES; tree++) {
        for (unsigned i = 0; world->model[tree].alive && i < SPANS * PAGES; i++) {
            uint8_t expected = world->model[tree].pages[i / PAGES][i % PAGES].value;
            uint8_t found = fixture_read(&world->trees[tree], page_va(world, i / PAGES, i % PAGES));

            if (found != expected)
                fail_msg("%stree %u span %u page %u reads %u, not %u", world->fixture.note, tree,
                         i / PAGES, i % PAGES, found, expected);
        }
    }
}

static void make_tree(struct world *world, unsigned tree)
{
    world->model[tree] = (struct model_tree){.alive = true};
    for (unsigned i = 0; i < SPANS * PAGES; i++)
        world->model[tree].pages[i / PAGES][i % PAGES].pin = PFN_NONE;
    fixture_tree(&world->fixture, &world->trees[tree]);
}

/* Next allocation, or the one after, is refused now and then. */
static void arm_gate(struct world *world)
{
    struct allocation_gate *gate = &world->fixture.ram.gate;

    gate->fail_at = pick(world, 4) == 0 ? gate->requests + 1 + pick(world, 2) : 0;
}

static void do_write(struct world *world, unsigned tree, unsigned span, unsigned page)
{
    struct model_page *model = &world->model[tree].pages[span][page];
    uint8_t value = (uint8_t)(1 + pick(world, 255));

    arm_gate(world);
    int error = fixture_write(&world->trees[tree], page_va(world, span, page), value);

    world->fixture.ram.gate.fail_at = 0;
    if (error != 0) {
        assert_int_equal(error, -ENOMEM);
        return;
    }
    model->mapped = true;
    model->value = value;
}

static void unpin(struct world *world, struct model_page *page)
{
    if (page->pin == PFN_NONE)
        return;
    fixture_unpin(&world->fixture, page->pin);
    page->pin = PFN_NONE;
}

static bool span_holds_pin(const struct world *world, unsigned tree, unsigned span)
{
    for (unsigned page = 0; page < PAGES; page++) {
        if (world->model[tree].pages[span][page].pin != PFN_NONE)
            return true;
    }
    return false;
}

/* A pin: the page is made this tree's alone first. */
static void do_pin(struct world *world, unsigned tree, unsigned span, unsigned page)
{
    struct model_page *model = &world->model[tree].pages[span][page];
    va_t va = page_va(world, span, page);

    if (model->pin != PFN_NONE) {
        unpin(world, model);
        return;
    }
    if (!model->mapped || fixture_write(&world->trees[tree], va, model->value) != 0)
        return;
    model->pin = entry_pfn(pt_entry(&world->trees[tree], va));
    fixture_pin(&world->fixture, model->pin);
}

/* The page becomes empty for this tree. */
static void do_clear(struct world *world, unsigned tree, unsigned span, unsigned page)
{
    struct table *table;
    va_t va = page_va(world, span, page);
    unsigned slot = geometry_slot(world->trees[tree].geometry, va, 0);

    arm_gate(world);
    int error = table_for_one(&world->trees[tree], va, NULL, &table);

    world->fixture.ram.gate.fail_at = 0;
    if (error != 0)
        return;
    unpin(world, &world->model[tree].pages[span][page]);
    table_release(&world->fixture.ram, table, slot, slot + 1);
    world->model[tree].pages[span][page] = (struct model_page){.pin = PFN_NONE};
}

/*
 * An absent entry of a table gets the zero frame, for all that share it: nothing reads otherwise.
 */
static void do_zero_fill(struct world *world, unsigned tree, unsigned span, unsigned page)
{
    struct ram *ram = &world->fixture.ram;
    struct pt_leaf leaf;

    if (!pt_lookup(&world->trees[tree], page_va(world, span, page), &leaf))
        return;
    if (entry_is_none(table_entry(ram, leaf.table, leaf.first)))
        table_fill(ram, table_for_all(ram, leaf.table), leaf.first, entry_make(ram->zero_pfn, 0));
}

static void drop_span(struct world *world, unsigned tree, unsigned span)
{
    va_t start = page_va(world, span, 0);

    for (unsigned page = 0; page < PAGES; page++) {
        unpin(world, &world->model[tree].pages[span][page]);
        world->model[tree].pages[span][page] = (struct model_page){.pin = PFN_NONE};
    }
    tree_drop_range(&world->trees[tree], start,
                    start + geometry_span_bytes(world->fixture.ram.geometry));
}

/* Fork: each span is shared, or copied where it holds a pin or by chance; undone when one fails. */
static bool fork_span(struct world *world, unsigned parent, unsigned child, unsigned span)
{
    va_t va = page_va(world, span, 0);
    struct pt_leaf leaf;
    int error = 0;

    arm_gate(world);
    if (!pt_lookup(&world->trees[parent], va, &leaf))
        return true;
    if (span_holds_pin(world, parent, span) || pick(world, 3) == 0)
        error = fixture_copy(&world->trees[parent], va, &world->trees[child]);
    else
        error = fixture_share(&world->trees[parent], va, &world->trees[child]);
    for (unsigned page = 0; error == 0 && page < PAGES; page++) {
        world->model[child].pages[span][page] = world->model[parent].pages[span][page];
        world->model[child].pages[span][page].pin = PFN_NONE;
    }
    return error == 0;
}

static void destroy(struct world *world, unsigned tree)
{
    for (unsigned i = 0; i < SPANS * PAGES; i++)
        unpin(world, &world->model[tree].pages[i / PAGES][i % PAGES]);
    tree_destroy(&world->trees[tree]);
    world->model[tree].alive = false;
}

static void do_fork(struct world *world, unsigned parent)
{
    unsigned child = pick(world, TREES);
    bool forked = true;

    if (world->model[child].alive)
        return;
    make_tree(world, child);
    for (unsigned span = 0; span < SPANS && forked; span++)
        forked = fork_span(world, parent, child, span);
    world->fixture.ram.gate.fail_at = 0;
    if (!forked)
        destroy(world, child);
}

static const char *random_step(struct world *world)
{
    unsigned tree = pick(world, TREES);
    unsigned span = pick(world, SPANS);
    unsigned page = pick(world, PAGES);
    unsigned chance = pick(world, 100);

    if (!world->model[tree].alive)
        return "nothing";
    if (chance < 40)
        return do_write(world, tree, span, page), "write";
    if (chance < 65)
        return do_fork(world, tree), "fork";
    if (chance < 75)
        return do_clear(world, tree, span, page), "clear";
    if (chance < 83)
        return do_zero_fill(world, tree, span, page), "zero-fill";
    if (chance < 90)
        return do_pin(world, tree, span, page), "pin";
    if (chance < 95 || tree == 0)
        return drop_span(world, tree, span), "drop";
    return destroy(world, tree), "destroy";
}

static void run_seed(const struct geometry *geometry, uint64_t seed)
{
    struct world world = {.seed = seed, .random = random_seeded(seed)};

    fixture_init(&world.fixture, geometry, FRAMES);
    make_tree(&world, 0);
    for (world.step = 0; world.step < STEPS; world.step++) {
        const char *operation = random_step(&world);

        snprintf(world.fixture.note, sizeof(world.fixture.note),
                 "seed %llu step %u (%s): ", (unsigned long long)seed, world.step, operation);
        compare(&world);
        fixture_check(&world.fixture);
    }
    for (unsigned tree = 0; tree < TREES; tree++) {
        if (world.model[tree].alive)
            destroy(&world, tree);
    }
    fixture_destroy(&world.fixture);
}

static void check_against_flat_model(const struct geometry *geometry)
{
    const char *chosen = getenv("FORKLAB_SEED");

    if (chosen != NULL) {
        run_seed(geometry, strtoull(chosen, NULL, 0));
        return;
    }
    /* Large tables take long to check, and show no more than small ones. */
    uint64_t seeds = geometry == &geometry_tiny ? (uint64_t)8 * SEEDS : SEEDS / 12;

    for (uint64_t seed = 1; seed <= seeds; seed++)
        run_seed(geometry, seed);
}

IN_EVERY_GEOMETRY(against_flat_model)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_flat_model),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
