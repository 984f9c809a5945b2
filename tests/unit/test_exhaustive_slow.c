/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every sequence of operations up to a depth, on up to three tasks and two pages of the tiny
 * geometry: after each, all invariants and the contents that every task and the pin see.
 *
 * The search goes breadth first and looks at a state once: of the sequences that lead to the same
 * one (machine_digest.h) the first stands for all. A sequence is repeated from the start to get back
 * to its state, on a machine whose tasks have all ended in between, and then nothing may be left of
 * them.
 *
 *   FORKLAB_DEPTH=N   goes deeper, or less deep, than the test does by itself
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pager/abi.h"
#include "pager/advise.h"
#include "pager/invariant.h"
#include "pager/map.h"
#include "tests/support/machine_digest.h"
#include "tests/support/world.h"

/* Under a sanitizer, which takes ten times as long, the search stops earlier. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { USUAL_DEPTH = 4 };
#else
enum { USUAL_DEPTH = 6 };
#endif

enum {
    TASKS = 3,
    PAGES = 2,
    MOST_DEPTH = 12,
    MOST_ACTIONS = 64,
    MOST_STATES = 1 << 21,
    HASH_SLOTS = MOST_STATES * 2,
};

enum kind {
    DO_FORK,
    DO_EXIT,
    DO_READ,
    DO_WRITE,
    DO_UNMAP,
    DO_PROTECT,   /* readable */
    DO_UNPROTECT, /* readable and writable */
    DO_DONTNEED,
    DO_PIN, /* for reading */
    DO_PIN_WRITE,
    DO_UNPIN,
    KINDS
};

static const char *const kind_names[KINDS] = {"fork",   "exit",       "read",        "write",
                                              "munmap", "mprotect r", "mprotect rw", "dontneed",
                                              "pin",    "pinwrite",   "unpin"};

struct action {
    uint8_t kind;
    uint8_t task;
    uint8_t page;
};

struct path {
    uint8_t length;
    uint8_t actions[MOST_DEPTH]; /* positions in the list of actions */
};

/* What each page of each task should hold. */
struct model_page {
    bool mapped;
    bool writable;
    uint8_t value;
};

struct search {
    struct world world;
    uint32_t frames_before; /* in use when no task but init was there */
    struct kernel kernel;
    struct action actions[MOST_ACTIONS];
    unsigned action_count;
    struct task *tasks[TASKS];
    struct task *parents[TASKS];
    struct model_page pages[TASKS][PAGES];
    struct pin pin;
    bool pinned;
    int pin_owner; /* whose page it still is, or -1 */
    unsigned pin_page;
    uint8_t pin_value;
    struct path *queue;
    size_t queued;
    uint64_t *seen;
    size_t seen_count;
    uint64_t performed;
};

static const va_t area = (va_t)64 << 10;

static va_t page_va(unsigned page)
{
    return area + page * PAGE_BYTES;
}

/* --- the operations --- */

struct byte_access {
    va_t va;
    uint8_t value;
    bool write;
};

static void access_byte(struct forklab_user *user, void *argument)
{
    struct byte_access *access = argument;

    if (access->write)
        forklab_store8(user, access->va, access->value);
    else
        access->value = forklab_load8(user, access->va);
}

static uint8_t touch(struct search *search, unsigned task, unsigned page, bool write, uint8_t value)
{
    struct byte_access access = {.va = page_va(page), .value = value, .write = write};

    assert_int_equal(world_call(search->tasks[task], access_byte, &access), 0);
    return access.value;
}

static bool pin_is_on(const struct search *search, unsigned task, unsigned page)
{
    return search->pinned && search->pin_owner == (int)task && search->pin_page == page;
}

static void detach_pin(struct search *search, unsigned task, unsigned page)
{
    if (pin_is_on(search, task, page))
        search->pin_owner = -1;
}

static int free_slot(const struct search *search)
{
    for (int i = 0; i < TASKS; i++) {
        if (search->tasks[i] == NULL)
            return i;
    }
    return -1;
}

static void do_fork(struct search *search, unsigned task)
{
    int child = free_slot(search);

    assert_int_equal(sys_fork(search->tasks[task], &search->tasks[child]), 0);
    search->parents[child] = search->tasks[task];
    memcpy(search->pages[child], search->pages[task], sizeof(search->pages[child]));
}

/* The parent hears of it at once, if it is still there; else nobody waits. */
static void do_exit(struct search *search, unsigned task)
{
    struct task *gone = search->tasks[task];
    struct task_status status;

    assert_int_equal(task_exit(gone, 0), 0);
    if (search->parents[task] != NULL)
        assert_int_equal(sys_wait(search->parents[task], gone, &status), 0);
    search->tasks[task] = NULL;
    for (unsigned i = 0; i < TASKS; i++) {
        if (search->parents[i] == gone)
            search->parents[i] = NULL;
    }
    for (unsigned page = 0; page < PAGES; page++)
        detach_pin(search, task, page);
}

static void do_write(struct search *search, unsigned task, unsigned page, uint8_t value)
{
    touch(search, task, page, true, value);
    search->pages[task][page].value = value;
    if (pin_is_on(search, task, page))
        search->pin_value = value;
}

static void do_clear(struct search *search, const struct action *action)
{
    struct task *task = search->tasks[action->task];
    struct model_page *page = &search->pages[action->task][action->page];
    va_t va = page_va(action->page);

    detach_pin(search, action->task, action->page);
    if (action->kind == DO_DONTNEED) {
        assert_int_equal(sys_madvise(task, va, PAGE_BYTES, ABI_MADV_DONTNEED), 0);
        page->value = 0;
        return;
    }
    assert_int_equal(sys_munmap(task, va, PAGE_BYTES), 0);
    page->mapped = false;
}

static void do_protect(struct search *search, const struct action *action)
{
    uint32_t protection = VMA_READ | (action->kind == DO_UNPROTECT ? VMA_WRITE : 0);

    assert_int_equal(
        sys_mprotect(search->tasks[action->task], page_va(action->page), PAGE_BYTES, protection),
        0);
    search->pages[action->task][action->page].writable = action->kind == DO_UNPROTECT;
}

static void do_pin(struct search *search, const struct action *action)
{
    assert_int_equal(
        sys_pin(search->tasks[action->task], page_va(action->page), ACCESS_READ, &search->pin), 0);
    search->pinned = true;
    search->pin_owner = action->task;
    search->pin_page = action->page;
    search->pin_value = search->pages[action->task][action->page].value;
}

static void do_pin_write(struct search *search, uint8_t value)
{
    pin_write(&search->pin, 0, &value, 1);
    search->pin_value = value;
    if (search->pin_owner >= 0)
        search->pages[search->pin_owner][search->pin_page].value = value;
}

/* Does the action mean anything now? One that changes nothing by definition does not. */
static bool means_something(const struct search *search, const struct action *action)
{
    const struct model_page *page = &search->pages[action->task][action->page];

    if (action->kind == DO_PIN_WRITE || action->kind == DO_UNPIN)
        return search->pinned;
    if (search->tasks[action->task] == NULL)
        return false;
    if (action->kind == DO_FORK)
        return free_slot(search) >= 0;
    if (action->kind == DO_EXIT)
        return true;
    if (!page->mapped)
        return false;
    if (action->kind == DO_WRITE || action->kind == DO_PROTECT)
        return page->writable;
    if (action->kind == DO_UNPROTECT)
        return !page->writable;
    return action->kind != DO_PIN || !search->pinned;
}

/* Every write has a value of its own. */
static void perform(struct search *search, const struct action *action, uint8_t value)
{
    search->performed++;
    switch (action->kind) {
    case DO_FORK:
        do_fork(search, action->task);
        break;
    case DO_EXIT:
        do_exit(search, action->task);
        break;
    case DO_READ:
        assert_int_equal(touch(search, action->task, action->page, false, 0),
                         search->pages[action->task][action->page].value);
        break;
    case DO_WRITE:
        do_write(search, action->task, action->page, value);
        break;
    case DO_PROTECT:
    case DO_UNPROTECT:
        do_protect(search, action);
        break;
    case DO_UNMAP:
    case DO_DONTNEED:
        do_clear(search, action);
        break;
    case DO_PIN:
        do_pin(search, action);
        break;
    case DO_PIN_WRITE:
        do_pin_write(search, value);
        break;
    default:
        unpin(&search->pin);
        search->pinned = false;
        break;
    }
}

/* --- the checks --- */

static void describe(const struct search *search, const struct path *path, char *text,
                     size_t text_bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < path->length && used < text_bytes; i++) {
        const struct action *action = &search->actions[path->actions[i]];

        used += (size_t)snprintf(text + used, text_bytes - used, "%sT%u %s %u", i > 0 ? "; " : "",
                                 action->task, kind_names[action->kind], action->page);
    }
}

/* What a task would read, without an access that changes anything. */
static uint8_t peek(const struct search *search, unsigned task, unsigned page)
{
    const struct pt_tree *tree = &search->tasks[task]->mm->tree;
    struct pt_leaf leaf;

    if (!pt_lookup(tree, page_va(page), &leaf))
        return 0;
    entry_t entry = table_entry(tree->ram, leaf.table, leaf.first);

    return entry_is_present(entry) ? *frame_data(tree->ram, entry_pfn(entry)) : 0;
}

static void check(const struct search *search, const struct path *path)
{
    char why[WORLD_WHY_BYTES];
    char text[512];
    uint8_t pinned;

    describe(search, path, text, sizeof(text));
    if (!world_is_sound(&search->world, why, sizeof(why)))
        fail_msg("%s: %s: %s", search->world.name, text, why);
    for (unsigned task = 0; task < TASKS; task++) {
        for (unsigned page = 0; search->tasks[task] != NULL && page < PAGES; page++) {
            const struct model_page *model = &search->pages[task][page];

            if (model->mapped && peek(search, task, page) != model->value)
                fail_msg("%s: %s: T%u's page %u holds %u in place of %u", search->world.name, text,
                         task, page, peek(search, task, page), model->value);
        }
    }
    if (!search->pinned)
        return;
    pin_read(&search->pin, 0, &pinned, 1);
    if (pinned != search->pin_value)
        fail_msg("%s: %s: the pin sees %u in place of %u", search->world.name, text, pinned,
                 search->pin_value);
}

/* --- the search --- */

static void begin_sequence(struct search *search)
{
    assert_int_equal(sys_fork(search->world.init, &search->tasks[0]), 0);
    search->parents[0] = search->world.init;
    world_map(search->tasks[0], area, PAGES * PAGE_BYTES);
    for (unsigned page = 0; page < PAGES; page++)
        search->pages[0][page] = (struct model_page){.mapped = true, .writable = true};
}

/* All tasks end, and nothing is left of them. */
static void end_sequence(struct search *search, const struct path *path)
{
    char text[512];

    if (search->pinned)
        unpin(&search->pin);
    search->pinned = false;
    for (unsigned task = 0; task < TASKS; task++) {
        if (search->tasks[task] != NULL)
            do_exit(search, task);
    }
    uint32_t used = machine_used_frames(search->world.machine);

    if (used == search->frames_before)
        return;
    describe(search, path, text, sizeof(text));
    fail_msg("%s: %s: %u frames in place of %u at the end", search->world.name, text, used,
             search->frames_before);
}

/* Was the state new? */
static bool note_state(struct search *search)
{
    uint64_t digest = machine_digest(search->world.machine, search->tasks, TASKS,
                                     search->pinned ? &search->pin : NULL);
    uint64_t owner = search->pinned ? (uint64_t)(search->pin_owner + 2) : 0;

    digest = (digest ^ owner * 0x9e3779b97f4a7c15u) | 1;
    for (size_t slot = digest % HASH_SLOTS;; slot = (slot + 1) % HASH_SLOTS) {
        if (search->seen[slot] == digest)
            return false;
        if (search->seen[slot] == 0) {
            search->seen[slot] = digest;
            assert_true(++search->seen_count < MOST_STATES);
            return true;
        }
    }
}

static void replay(struct search *search, const struct path *path)
{
    begin_sequence(search);
    for (unsigned i = 0; i < path->length; i++)
        perform(search, &search->actions[path->actions[i]], (uint8_t)(i + 1));
}

/* One step on from a state. */
static void try_action(struct search *search, const struct path *from, unsigned position)
{
    struct path path = *from;

    replay(search, from);
    path.actions[path.length++] = (uint8_t)position;
    perform(search, &search->actions[position], path.length);
    check(search, &path);
    if (note_state(search))
        search->queue[search->queued++] = path;
    end_sequence(search, &path);
}

/* Every step on from a state that means something there. */
static void try_all(struct search *search, const struct path *from)
{
    bool meaning[MOST_ACTIONS];

    replay(search, from);
    for (unsigned i = 0; i < search->action_count; i++)
        meaning[i] = means_something(search, &search->actions[i]);
    end_sequence(search, from);
    for (unsigned i = 0; i < search->action_count; i++) {
        if (meaning[i])
            try_action(search, from, i);
    }
}

static void add_action(struct search *search, enum kind kind, unsigned task, unsigned page)
{
    search->actions[search->action_count++] =
        (struct action){.kind = (uint8_t)kind, .task = (uint8_t)task, .page = (uint8_t)page};
}

static void list_actions(struct search *search)
{
    for (unsigned task = 0; task < TASKS; task++) {
        add_action(search, DO_FORK, task, 0);
        add_action(search, DO_EXIT, task, 0);
        for (unsigned page = 0; page < PAGES; page++) {
            for (unsigned kind = DO_READ; kind <= DO_PIN; kind++)
                if (kind != DO_DONTNEED)
                    add_action(search, (enum kind)kind, task, page);
        }
    }
    add_action(search, DO_PIN_WRITE, 0, 0);
    add_action(search, DO_UNPIN, 0, 0);
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
    search->kernel = *kernel_find(name);
    search->kernel.least_shared_entries = 1;
    world_begin(&search->world, &(struct machine_options){.kernel = &search->kernel,
                                                          .geometry = &geometry_tiny,
                                                          .mmu = MMU_SOFT,
                                                          .ram_bytes = 128 * PAGE_BYTES});
    search->frames_before = machine_used_frames(search->world.machine);
    list_actions(search);
    search->queued = 1;
    for (size_t next = 0; next < search->queued; next++) {
        struct path from = search->queue[next];

        if (from.length < depth)
            try_all(search, &from);
    }
    print_message("%s: depth %u, %zu states, %llu operations\n", name, depth, search->queued,
                  (unsigned long long)search->performed);
    world_end(&search->world);
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
