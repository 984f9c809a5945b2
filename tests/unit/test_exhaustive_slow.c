/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every sequence of operations up to a depth, on up to three tasks and two pages of the tiny
 * geometry: after each, all invariants and the contents that every task and the pin see.
 *
 * The search goes breadth first and looks at a state once: of the sequences that lead to the same
 * one (machine_digest.h) the first stands for all. A sequence is repeated from the start to get
 * back to its state, on a machine whose tasks have all ended in between, and then nothing may be
 * left of them.
 *
 *   FORKLAB_DEPTH=N   goes deeper, or less deep, than the test does by itself
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/machine_digest.h"
#include "tests/support/small_family.h"

/* Under a sanitizer, which takes ten times as long, the search stops earlier. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { USUAL_DEPTH = 4 };
#else
enum { USUAL_DEPTH = 5 };
#endif

enum {
    MOST_DEPTH = 12,
    MOST_ACTIONS = 64,
    MOST_STATES = 1 << 22,
    HASH_SLOTS = MOST_STATES * 2,
    TEXT_BYTES = 512,
};

#define OWNER_FACTOR ((uint64_t)0x9e3779b97f4a7c15)

struct path {
    uint8_t length;
    uint8_t actions[MOST_DEPTH]; /* positions in the list of actions */
};

struct search {
    struct family family;
    struct family_action actions[MOST_ACTIONS];
    unsigned action_count;
    struct path *queue;
    size_t queued;
    uint64_t *seen;
    uint64_t performed;
};

static _Noreturn void fail_at(const struct search *search, const struct path *path, const char *why)
{
    char text[TEXT_BYTES] = "";
    size_t used = 0;

    for (unsigned i = 0; i < path->length && used < sizeof(text); i++) {
        const struct family_action *action = &search->actions[path->actions[i]];

        used += (size_t)snprintf(text + used, sizeof(text) - used, "%sT%u %s %u", i > 0 ? "; " : "",
                                 action->task, family_kind_names[action->kind], action->page);
    }
    fail_msg("%s: %s: %s", search->family.world.name, text, why);
    abort();
}

/* Was the state new? */
static bool note_state(struct search *search)
{
    struct family *family = &search->family;
    uint64_t digest = machine_digest(family->world.machine, family->tasks, FAMILY_TASKS,
                                     family->pinned ? &family->pin : NULL);
    uint64_t owner = family->pinned ? (uint64_t)(family->pin_owner + 2) : 0;

    digest = (digest ^ owner * OWNER_FACTOR) | 1;
    for (size_t slot = digest % HASH_SLOTS;; slot = (slot + 1) % HASH_SLOTS) {
        if (search->seen[slot] == digest)
            return false;
        if (search->seen[slot] == 0) {
            search->seen[slot] = digest;
            return true;
        }
    }
}

static void do_action(struct search *search, unsigned position, unsigned value)
{
    search->performed++;
    family_do(&search->family, &search->actions[position], (uint8_t)value);
}

static void replay(struct search *search, const struct path *path)
{
    family_begin(&search->family);
    for (unsigned i = 0; i < path->length; i++)
        do_action(search, path->actions[i], i + 1);
}

static void end(struct search *search, const struct path *path)
{
    if (!family_end(&search->family))
        fail_at(search, path, "frames are left at the end");
}

/* One step on from a state. */
static void try_action(struct search *search, const struct path *from, unsigned position)
{
    char why[WORLD_WHY_BYTES];
    struct path path = *from;

    replay(search, from);
    path.actions[path.length++] = (uint8_t)position;
    do_action(search, position, path.length);
    if (!family_is_right(&search->family, why, sizeof(why)))
        fail_at(search, &path, why);
    if (note_state(search)) {
        assert_true(search->queued < MOST_STATES);
        search->queue[search->queued++] = path;
    }
    end(search, &path);
}

/* Every step on from a state that means something there. */
static void try_all(struct search *search, const struct path *from)
{
    bool meaning[MOST_ACTIONS] = {false};

    replay(search, from);
    for (unsigned i = 0; i < search->action_count; i++)
        meaning[i] = family_can(&search->family, &search->actions[i]);
    end(search, from);
    for (unsigned i = 0; i < search->action_count; i++) {
        if (meaning[i])
            try_action(search, from, i);
    }
}

static void add_action(struct search *search, unsigned kind, unsigned task, unsigned page)
{
    search->actions[search->action_count++] =
        (struct family_action){.kind = (uint8_t)kind, .task = (uint8_t)task, .page = (uint8_t)page};
}

static void list_actions(struct search *search)
{
    for (unsigned task = 0; task < FAMILY_TASKS; task++) {
        add_action(search, FAMILY_FORK, task, 0);
        add_action(search, FAMILY_EXIT, task, 0);
        for (unsigned page = 0; page < FAMILY_PAGES; page++) {
            for (unsigned kind = FAMILY_READ; kind <= FAMILY_PIN; kind++)
                add_action(search, kind, task, page);
        }
    }
    add_action(search, FAMILY_PIN_WRITE, 0, 0);
    add_action(search, FAMILY_UNPIN, 0, 0);
}

static unsigned wanted_depth(void)
{
    const char *text = getenv("FORKLAB_DEPTH");
    unsigned long depth = text != NULL ? strtoul(text, NULL, 10) : USUAL_DEPTH;

    return depth > 0 && depth <= MOST_DEPTH ? (unsigned)depth : USUAL_DEPTH;
}

static void search_everything(const char *name)
{
    struct search *search = calloc(1, sizeof(*search));
    unsigned depth = wanted_depth();

    assert_non_null(search);
    search->queue = calloc(MOST_STATES, sizeof(*search->queue));
    search->seen = calloc(HASH_SLOTS, sizeof(*search->seen));
    assert_non_null(search->queue);
    assert_non_null(search->seen);
    family_open(&search->family, name);
    list_actions(search);
    search->queued = 1;
    for (size_t next = 0; next < search->queued; next++) {
        struct path from = search->queue[next];

        if (from.length < depth)
            try_all(search, &from);
    }
    print_message("%s: depth %u, %zu states, %llu operations\n", name, depth, search->queued,
                  (unsigned long long)search->performed);
    family_close(&search->family);
    free(search->seen);
    free(search->queue);
    free(search);
}

static void all_sequences_filled(void **state)
{
    (void)state;
    search_everything("2.5.41-mm2-shared");
}

static void all_sequences_split(void **state)
{
    (void)state;
    search_everything("modern-shared");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_sequences_filled),
                                       cmocka_unit_test(all_sequences_split)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
