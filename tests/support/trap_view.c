/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking at the machine of a trap: contents, tables, steps, counts; see trap_fixture.h. */
#include <stdio.h>
#include <string.h>

#include "pager/fault.h"
#include "tests/support/picture.h"
#include "tests/support/trap_fixture.h"

struct text {
    char bytes[TRAP_TEXT_BYTES];
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
    size_t used = strlen(text->bytes);
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text->bytes + used, sizeof(text->bytes) - used, format, arguments);
    va_end(arguments);
}

static void compare(const struct trap *trap, const char *actual, const char *expected)
{
    if (strcmp(actual, expected) != 0)
        fail_msg("%s:\n\"%s\"\n\"%s\" was expected", trap->where, actual, expected);
}

static char shown(uint8_t byte)
{
    return byte == 0 ? '.' : (char)byte;
}

/* The first byte of an object's page that is not mapped here. */
static uint8_t object_byte(struct machine *machine, const struct object *object, uint64_t page)
{
    uint8_t byte = 0;

    if (object->pages[page] != OBJECT_PAGE_ABSENT)
        return *frame_data(&machine->ram, object->pages[page]);
    if (object->file >= 0) {
        char path[64];

        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", object->file);
        FILE *stream = fopen(path, "re");

        assert_non_null(stream);
        assert_int_equal(fseek(stream, (long)(page * PAGE_BYTES), SEEK_SET), 0);
        (void)fread(&byte, 1, 1, stream); /* past the host file's end there are zeros */
        (void)fclose(stream);
    }
    return byte;
}

static char peek(struct trap *trap, const struct task *task, va_t va)
{
    const struct vma *vma = vma_look(task->mm, va);
    entry_t entry = trap_entry(task, va);

    if (vma == NULL || !vma_contains(vma, va))
        return '!';
    if (!vma_permits(vma, false))
        return '#';
    if (entry_is_present(entry))
        return shown(*frame_data(&trap->machine->ram, entry_pfn(entry)));
    if (vma->object == NULL)
        return '.';
    uint64_t page = vma_object_page(vma, va);

    return page < vma->object->page_count ? shown(object_byte(trap->machine, vma->object, page))
                                          : '!';
}

typedef char look(struct trap *trap, struct task *task, va_t va);

static char look_without_access(struct trap *trap, struct task *task, va_t va)
{
    return peek(trap, task, va);
}

static char look_by_load(struct trap *trap, struct task *task, va_t va)
{
    char seen = peek(trap, task, va);

    if (seen == '!' || seen == '#')
        return seen;
    return shown((uint8_t)trap_read(trap, task, va));
}

static void expect_by(struct trap *trap, look *by, va_t va, unsigned pages, const char *expected)
{
    struct text text = {0};

    for (unsigned i = 0; i < trap->task_count; i++) {
        add(&text, "%s%c:", i > 0 ? " " : "", trap->names[i]);
        for (unsigned page = 0; page < pages; page++)
            add(&text, "%c", by(trap, trap->tasks[i], va + page * PAGE_BYTES));
    }
    compare(trap, text.bytes, expected);
}

void trap_expect(struct trap *trap, va_t va, unsigned pages, const char *expected)
{
    expect_by(trap, look_without_access, va, pages, expected);
}

void trap_expect_loads(struct trap *trap, va_t va, unsigned pages, const char *expected)
{
    expect_by(trap, look_by_load, va, pages, expected);
}

void trap_picture(struct trap *trap, va_t va, unsigned pages, const char *expected)
{
    const struct pt_tree *trees[TRAP_MOST_TASKS];
    char names[TRAP_MOST_TASKS + 1] = "";

    for (unsigned i = 0; i < trap->task_count; i++) {
        trees[i] = &trap->tasks[i]->mm->tree;
        names[i] = trap->names[i];
    }
    struct picture picture = picture_of(trees, names, va, pages);

    compare(trap, picture.text, expected);
}

/* Tables are numbered as they are met. */
static unsigned number_of(const struct table *met[], const struct table *table)
{
    unsigned number = 0;

    while (met[number] != NULL && met[number] != table)
        number++;
    met[number] = table;
    return number + 1;
}

void trap_tables(struct trap *trap, va_t va, const char *expected)
{
    const struct table *met[TRAP_MOST_TASKS] = {0};
    struct text text = {0};

    for (unsigned i = 0; i < trap->task_count; i++) {
        struct pt_leaf leaf;

        add(&text, "%s%c:", i > 0 ? " " : "", trap->names[i]);
        if (pt_lookup(&trap->tasks[i]->mm->tree, va, &leaf))
            add(&text, "%ux%u", number_of(met, leaf.table), (unsigned)leaf.table->share_count);
        else
            add(&text, "-");
    }
    compare(trap, text.bytes, expected);
}

static bool is_step(enum event event)
{
    return event <= EVENT_LAST_BAD;
}

void trap_steps(struct trap *trap, const char *expected)
{
    const struct event_log *events = &trap->machine->events;
    struct text text = {0};

    for (uint64_t i = trap->recorded; i < events->recorded; i++) {
        const struct event_record *record = &events->ring[i % EVENT_RING_RECORDS];

        if (is_step(record->event))
            add(&text, "%s%s", text.bytes[0] != '\0' ? " " : "", event_names[record->event]);
    }
    compare(trap, text.bytes, expected);
}

uint64_t trap_count(const struct trap *trap, enum event event)
{
    return trap->machine->events.counts[event];
}

uint32_t trap_used(struct trap *trap)
{
    return machine_used_frames(trap->machine);
}

entry_t trap_entry(const struct task *task, va_t va)
{
    return pt_entry(&task->mm->tree, va);
}

uint32_t trap_references(const struct trap *trap, const struct task *task, va_t va)
{
    return trap->machine->ram.frames[entry_pfn(trap_entry(task, va))].count;
}

char pin_peek(const struct pin *pin)
{
    uint8_t byte;

    pin_read(pin, 0, &byte, 1);
    return shown(byte);
}
