/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small families; see small_family.h. */
#include "tests/support/small_family.h"

#include <stdio.h>
#include <string.h>

#include "pager/abi.h"
#include "pager/advise.h"
#include "pager/map.h"

const char *const family_kind_names[FAMILY_KINDS] = {
    "fork",        "exit",     "read",  "write", "munmap",   "mprotect r",
    "mprotect rw", "dontneed", "mlock", "pin",   "pinwrite", "unpin"};

static const va_t area = (va_t)64 << 10;

static va_t page_va(unsigned page)
{
    return area + page * PAGE_BYTES;
}

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

static uint8_t touch(struct family *family, unsigned task, unsigned page, bool write, uint8_t value)
{
    struct byte_access access = {.va = page_va(page), .value = value, .write = write};

    assert_int_equal(world_call(family->tasks[task], access_byte, &access), 0);
    return access.value;
}

static bool pin_is_on(const struct family *family, unsigned task, unsigned page)
{
    return family->pinned && family->pin_owner == (int)task && family->pin_page == page;
}

static void detach_pin(struct family *family, unsigned task, unsigned page)
{
    if (pin_is_on(family, task, page))
        family->pin_owner = -1;
}

static int free_slot(const struct family *family)
{
    for (int i = 0; i < FAMILY_TASKS; i++) {
        if (family->tasks[i] == NULL)
            return i;
    }
    return -1;
}

static void do_fork(struct family *family, unsigned task)
{
    int child = free_slot(family);

    assert_int_equal(sys_fork(family->tasks[task], &family->tasks[child]), 0);
    family->parents[child] = family->tasks[task];
    memcpy(family->pages[child], family->pages[task], sizeof(family->pages[child]));
    for (unsigned page = 0; page < FAMILY_PAGES; page++)
        family->pages[child][page].locked = false;
}

/* The parent hears of it at once, if it is still there; else nobody waits. */
static void do_exit(struct family *family, unsigned task)
{
    struct task *gone = family->tasks[task];
    struct task_status status;

    assert_int_equal(task_exit(gone, 0), 0);
    if (family->parents[task] != NULL)
        assert_int_equal(sys_wait(family->parents[task], gone, &status), 0);
    family->tasks[task] = NULL;
    for (unsigned i = 0; i < FAMILY_TASKS; i++) {
        if (family->parents[i] == gone)
            family->parents[i] = NULL;
    }
    for (unsigned page = 0; page < FAMILY_PAGES; page++)
        detach_pin(family, task, page);
}

static void do_write(struct family *family, unsigned task, unsigned page, uint8_t value)
{
    touch(family, task, page, true, value);
    family->pages[task][page].value = value;
    if (pin_is_on(family, task, page))
        family->pin_value = value;
}

static void do_clear(struct family *family, const struct family_action *action)
{
    struct task *task = family->tasks[action->task];
    struct family_page *page = &family->pages[action->task][action->page];
    va_t va = page_va(action->page);

    detach_pin(family, action->task, action->page);
    if (action->kind == FAMILY_DONTNEED) {
        assert_int_equal(sys_madvise(task, va, PAGE_BYTES, ABI_MADV_DONTNEED), 0);
        page->value = 0;
        return;
    }
    assert_int_equal(sys_munmap(task, va, PAGE_BYTES), 0);
    page->mapped = false;
}

static void do_protect(struct family *family, const struct family_action *action)
{
    uint32_t protection = VMA_READ | (action->kind == FAMILY_UNPROTECT ? VMA_WRITE : 0);

    assert_int_equal(
        sys_mprotect(family->tasks[action->task], page_va(action->page), PAGE_BYTES, protection),
        0);
    family->pages[action->task][action->page].writable = action->kind == FAMILY_UNPROTECT;
}

static void do_lock(struct family *family, const struct family_action *action)
{
    assert_int_equal(sys_mlock(family->tasks[action->task], page_va(action->page), PAGE_BYTES), 0);
    family->pages[action->task][action->page].locked = true;
}

static void do_pin(struct family *family, const struct family_action *action)
{
    assert_int_equal(
        sys_pin(family->tasks[action->task], page_va(action->page), ACCESS_READ, &family->pin), 0);
    family->pinned = true;
    family->pin_owner = action->task;
    family->pin_page = action->page;
    family->pin_value = family->pages[action->task][action->page].value;
}

static void do_pin_write(struct family *family, uint8_t value)
{
    pin_write(&family->pin, 0, &value, 1);
    family->pin_value = value;
    if (family->pin_owner >= 0)
        family->pages[family->pin_owner][family->pin_page].value = value;
}

bool family_can(const struct family *family, const struct family_action *action)
{
    const struct family_page *page = &family->pages[action->task][action->page];

    if (action->kind == FAMILY_PIN_WRITE || action->kind == FAMILY_UNPIN)
        return family->pinned;
    if (family->tasks[action->task] == NULL)
        return false;
    if (action->kind == FAMILY_FORK)
        return free_slot(family) >= 0;
    if (action->kind == FAMILY_EXIT)
        return true;
    if (!page->mapped)
        return false;
    if (action->kind == FAMILY_WRITE || action->kind == FAMILY_PROTECT)
        return page->writable;
    if (action->kind == FAMILY_UNPROTECT)
        return !page->writable;
    if (action->kind == FAMILY_LOCK || action->kind == FAMILY_DONTNEED)
        return !page->locked; /* what is locked cannot be given up */
    return action->kind != FAMILY_PIN || !family->pinned;
}

void family_do(struct family *family, const struct family_action *action, uint8_t value)
{
    switch (action->kind) {
    case FAMILY_FORK:
        do_fork(family, action->task);
        break;
    case FAMILY_EXIT:
        do_exit(family, action->task);
        break;
    case FAMILY_READ:
        assert_int_equal(touch(family, action->task, action->page, false, 0),
                         family->pages[action->task][action->page].value);
        break;
    case FAMILY_WRITE:
        do_write(family, action->task, action->page, value);
        break;
    case FAMILY_PROTECT:
    case FAMILY_UNPROTECT:
        do_protect(family, action);
        break;
    case FAMILY_UNMAP:
    case FAMILY_DONTNEED:
        do_clear(family, action);
        break;
    case FAMILY_LOCK:
        do_lock(family, action);
        break;
    case FAMILY_PIN:
        do_pin(family, action);
        break;
    case FAMILY_PIN_WRITE:
        do_pin_write(family, value);
        break;
    default:
        unpin(&family->pin);
        family->pinned = false;
        break;
    }
}

/* What a task would read, without an access that changes anything. */
static uint8_t peek(const struct family *family, unsigned task, unsigned page)
{
    const struct pt_tree *tree = &family->tasks[task]->mm->tree;
    struct pt_leaf leaf;

    if (!pt_lookup(tree, page_va(page), &leaf))
        return 0;
    entry_t entry = table_entry(tree->ram, leaf.table, leaf.first);

    return entry_is_present(entry) ? *frame_data(tree->ram, entry_pfn(entry)) : 0;
}

bool family_is_right(const struct family *family, char *why, size_t why_bytes)
{
    uint8_t pinned;

    if (!world_is_sound(&family->world, why, why_bytes))
        return false;
    for (unsigned task = 0; task < FAMILY_TASKS; task++) {
        for (unsigned page = 0; family->tasks[task] != NULL && page < FAMILY_PAGES; page++) {
            const struct family_page *model = &family->pages[task][page];

            if (!model->mapped || peek(family, task, page) == model->value)
                continue;
            (void)snprintf(why, why_bytes, "T%u's page %u holds %u in place of %u", task, page,
                           peek(family, task, page), model->value);
            return false;
        }
    }
    if (!family->pinned)
        return true;
    pin_read(&family->pin, 0, &pinned, 1);
    if (pinned == family->pin_value)
        return true;
    (void)snprintf(why, why_bytes, "the pin sees %u in place of %u", pinned, family->pin_value);
    return false;
}

void family_open(struct family *family, const char *kernel)
{
    *family = (struct family){.kernel = *kernel_find(kernel)};
    family->kernel.least_shared_entries = 1;
    world_begin(&family->world, &(struct machine_options){.kernel = &family->kernel,
                                                          .geometry = &geometry_tiny,
                                                          .mmu = MMU_SOFT,
                                                          .ram_bytes = 128 * PAGE_BYTES});
    family->frames_before = machine_used_frames(family->world.machine);
}

void family_close(struct family *family)
{
    world_end(&family->world);
}

void family_begin(struct family *family)
{
    assert_int_equal(sys_fork(family->world.init, &family->tasks[0]), 0);
    family->parents[0] = family->world.init;
    world_map(family->tasks[0], area, FAMILY_PAGES * PAGE_BYTES);
    for (unsigned page = 0; page < FAMILY_PAGES; page++)
        family->pages[0][page] = (struct family_page){.mapped = true, .writable = true};
}

bool family_end(struct family *family)
{
    if (family->pinned)
        unpin(&family->pin);
    family->pinned = false;
    for (unsigned task = 0; task < FAMILY_TASKS; task++) {
        if (family->tasks[task] != NULL)
            do_exit(family, task);
    }
    return machine_used_frames(family->world.machine) == family->frames_before;
}
