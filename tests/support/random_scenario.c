/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations are filled argument by argument, as form.h lists them.
 *
 * Four tasks, regions, files and pins are there from the start; what needs a new name gets a fresh
 * one. Whatever could end a task for certain gets an answer that leaves it open.
 */
#include "tests/support/random_scenario.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pager/kernel.h"
#include "pt/event.h"
#include "pt/geometry.h"
#include "pt/random.h"
#include "scenario/form.h"
#include "tests/support/random_maker.h"

uint64_t maker_below(struct maker *maker, uint64_t limit)
{
    return random_below(&maker->random, limit);
}

bool maker_chance(struct maker *maker, unsigned percent)
{
    return maker_below(maker, 100) < percent;
}

uint64_t maker_any_number(struct maker *maker)
{
    switch (maker_below(maker, 4)) {
    case 0:
        return maker_below(maker, 10);
    case 1:
        return maker_below(maker, 64) << 12;
    case 2:
        return maker_below(maker, 16) << 30;
    default:
        return random_next(&maker->random) >> maker_below(maker, 64);
    }
}

void *maker_allocate(struct maker *maker, size_t bytes)
{
    void *memory = scenario_allocate(maker->scenario, bytes);

    if (memory == NULL)
        maker->error = -ENOMEM;
    return memory;
}

static uint16_t name_of(struct maker *maker, struct scenario_names *names, unsigned number,
                        char letter, unsigned most)
{
    char name[SCENARIO_NAME_BYTES];
    int found;

    snprintf(name, sizeof(name), "%c%u", letter, number);
    found = scenario_name(names, name, most);
    if (found == -ENOMEM)
        maker->error = found;
    maker->is_full |= found == -ENOSPC;
    return found < 0 ? 0 : (uint16_t)found;
}

static uint16_t fresh_name(struct maker *maker, struct scenario_names *names, char letter,
                           unsigned most)
{
    return name_of(maker, names, names->count, letter, most);
}

static uint16_t old_name(struct maker *maker)
{
    return (uint16_t)maker_below(maker, FIRST_NAMES);
}

struct scenario_address maker_any_address(struct maker *maker)
{
    struct scenario_address address = {
        .base = (enum scenario_base)maker_below(maker, BASE_STACK + 1),
        .region = SCENARIO_NOBODY,
        .offset_bytes = maker_any_number(maker),
    };

    if (address.base == BASE_REGION)
        address.region = old_name(maker);
    if (maker_chance(maker, 30))
        address.offset_bytes = -address.offset_bytes;
    return address;
}

void maker_any_bytes(struct maker *maker, struct scenario_data *data)
{
    uint8_t *bytes;

    data->kind = DATA_BYTES;
    data->bytes = maker_below(maker, MOST_BYTES);
    bytes = maker_allocate(maker, data->bytes + 1);
    if (bytes == NULL)
        return;
    for (size_t i = 0; i < data->bytes; i++)
        bytes[i] = (uint8_t)(maker_chance(maker, 90) ? ' ' + maker_below(maker, 95)
                                                     : maker_below(maker, 256));
    data->content = bytes;
}

struct scenario_data maker_any_data(struct maker *maker)
{
    struct scenario_data data = {.kind = DATA_FILL};

    if (maker_chance(maker, 70)) {
        maker_any_bytes(maker, &data);
    } else {
        data.fill = (uint8_t)maker_below(maker, 256);
        data.bytes = maker_below(maker, 1u << 30);
    }
    return data;
}

static const char *any_text(struct maker *maker)
{
    char *text = maker_allocate(maker, MOST_BYTES);

    if (text == NULL)
        return "";
    for (size_t i = 0; i <= maker_below(maker, MOST_BYTES - 1); i++)
        text[i] = (char)(1 + maker_below(maker, 255));
    return text;
}

uint32_t maker_any_word(struct maker *maker, const struct word *words)
{
    size_t count = 0;

    while (words[count].word != NULL)
        count++;
    return count == 0 ? 0 : words[maker_below(maker, count)].value;
}

static uint32_t any_flags(struct maker *maker, const struct word *words)
{
    uint32_t flags = maker_any_word(maker, words);

    if (maker_chance(maker, 50))
        flags |= maker_any_word(maker, words);
    if (maker_chance(maker, 10))
        flags |= (uint32_t)maker_any_number(maker);
    return flags;
}

static void make_target(struct maker *maker, struct scenario_operation *operation)
{
    operation->has_target = maker_chance(maker, 50);
    if (operation->has_target)
        operation->target = maker_any_address(maker);
}

static void make_mapping(struct maker *maker, struct scenario_operation *operation)
{
    operation->flags = any_flags(maker, mapping_words) | maker_any_word(maker, sharing_words);
    if (maker_chance(maker, 50))
        operation->file = old_name(maker);
    if (maker_chance(maker, 50))
        operation->offset_bytes = maker_any_number(maker);
    make_target(maker, operation);
}

static void make_program(struct maker *maker, struct scenario_operation *operation)
{
    if (maker_chance(maker, 30))
        operation->file = old_name(maker);
    else if (maker_chance(maker, 50))
        operation->text = any_text(maker);
}

static void make_show(struct maker *maker, struct scenario_operation *operation)
{
    operation->show = (enum scenario_show)maker_any_word(maker, show_words);
    if (operation->show <= SHOW_TABLES)
        operation->task = old_name(maker);
}

static void make_expect(struct maker *maker, struct scenario_operation *operation)
{
    operation->quantity = (enum scenario_quantity)maker_any_word(maker, quantity_words);
    if (operation->quantity == QUANTITY_EVENT)
        operation->text = event_names[maker_below(maker, EVENT_COUNT)];
    if (operation->quantity < QUANTITY_FRAMES)
        operation->task = old_name(maker);
    if (operation->quantity < QUANTITY_TABLES) {
        operation->address = maker_any_address(maker);
        operation->bytes = maker_any_number(maker);
    }
}

struct scenario_selector maker_any_selector(struct maker *maker)
{
    struct scenario_selector selector = {.kind = (enum selector_kind)maker_below(maker, 4)};

    if (selector.kind == SELECT_KERNEL)
        snprintf(selector.kernel, sizeof(selector.kernel), "%s",
                 kernels[maker_below(maker, kernel_count)].name);
    if (selector.kind >= SELECT_LINUX_FROM)
        selector.version = 1 + (uint32_t)maker_below(maker, 999999999);
    return selector;
}

void maker_give_answers(struct maker *maker, struct scenario_operation *operation, unsigned count)
{
    operation->answers = maker_allocate(maker, count * sizeof(*operation->answers));
    operation->answer_count = operation->answers == NULL ? 0 : count;
}

/* The one answer of a statement that needs a kernel or a version. */
static void make_needed(struct maker *maker, struct scenario_operation *operation,
                        enum selector_kind kind)
{
    struct scenario_selector selector;

    do {
        selector = maker_any_selector(maker);
    } while (selector.kind != kind);
    maker_give_answers(maker, operation, 1);
    if (operation->answers == NULL)
        return;
    operation->answers[0].kind = ANSWER_ANY;
    operation->answers[0].selector_count = 1;
    operation->answers[0].selectors[0] = selector;
    operation->value = selector.version;
}

static void make_needs(struct maker *maker, struct scenario_operation *operation)
{
    operation->need = (enum scenario_need)maker_below(maker, NEED_FEATURE + 1);
    switch (operation->need) {
    case NEED_LINUX_FROM:
        make_needed(maker, operation, SELECT_LINUX_FROM);
        break;
    case NEED_LINUX_BEFORE:
        make_needed(maker, operation, SELECT_LINUX_BEFORE);
        break;
    case NEED_KERNEL:
        make_needed(maker, operation, SELECT_KERNEL);
        break;
    case NEED_GEOMETRY:
        operation->text = geometries[maker_below(maker, 3)]->name;
        break;
    case NEED_FEATURE:
        operation->text = feature_words[maker_below(maker, 5)];
        if (maker_chance(maker, 50))
            maker_any_bytes(maker, &operation->data);
        break;
    default:
        break;
    }
}

static void make_name(struct maker *maker, enum argument argument,
                      struct scenario_operation *operation)
{
    struct scenario *scenario = maker->scenario;

    switch (argument) {
    case ARGUMENT_NEW_TASK:
        operation->task = fresh_name(maker, &scenario->tasks, 'T', SCENARIO_MOST_TASKS);
        break;
    case ARGUMENT_CHILD:
        operation->other = fresh_name(maker, &scenario->tasks, 'T', SCENARIO_MOST_TASKS);
        break;
    case ARGUMENT_VICTIM:
    case ARGUMENT_WAITED:
        operation->other = old_name(maker);
        break;
    case ARGUMENT_NEW_PIN:
        operation->pin = fresh_name(maker, &scenario->pins, 'K', SCENARIO_MOST_PINS);
        break;
    case ARGUMENT_PIN:
        operation->pin = old_name(maker);
        break;
    case ARGUMENT_NEW_FILE:
        operation->file = fresh_name(maker, &scenario->files, 'F', SCENARIO_MOST_FILES);
        break;
    case ARGUMENT_FILE:
        operation->file = old_name(maker);
        break;
    case ARGUMENT_NEW_REGION:
    case ARGUMENT_MOVED:
        if (maker_chance(maker, 70))
            operation->region = old_name(maker);
        break;
    default:
        break;
    }
}

static void make_number(struct maker *maker, enum argument argument,
                        struct scenario_operation *operation)
{
    switch (argument) {
    case ARGUMENT_SIZE:
        operation->bytes = maker_any_number(maker);
        break;
    case ARGUMENT_NEW_SIZE:
        operation->new_bytes = maker_any_number(maker);
        break;
    case ARGUMENT_OFFSET:
        operation->offset_bytes = maker_any_number(maker);
        break;
    case ARGUMENT_PROTECTION:
        operation->protection = maker_chance(maker, 80) ? (uint32_t)maker_below(maker, 8)
                                                        : (uint32_t)maker_any_number(maker);
        break;
    case ARGUMENT_ADVICE:
        operation->advice = (int32_t)(maker_chance(maker, 80) ? maker_any_word(maker, advice_words)
                                                              : maker_any_number(maker));
        break;
    case ARGUMENT_LIMIT:
        operation->value = maker_below(maker, 2);
        break;
    case ARGUMENT_BYTE:
    case ARGUMENT_STATUS:
        operation->value = maker_below(maker, 256);
        break;
    case ARGUMENT_DIRECTION:
        operation->write = maker_chance(maker, 50);
        break;
    default:
        break;
    }
}

static void make_argument(struct maker *maker, enum argument argument,
                          struct scenario_operation *operation)
{
    make_name(maker, argument, operation);
    make_number(maker, argument, operation);
    switch (argument) {
    case ARGUMENT_ADDRESS:
        operation->address = maker_any_address(maker);
        break;
    case ARGUMENT_MAPPING:
        make_mapping(maker, operation);
        break;
    case ARGUMENT_REMAP_FLAGS:
        operation->flags = any_flags(maker, remap_words);
        make_target(maker, operation);
        break;
    case ARGUMENT_SYNC_FLAGS:
        operation->flags = any_flags(maker, sync_words);
        break;
    case ARGUMENT_INTO:
        make_target(maker, operation);
        break;
    case ARGUMENT_DATA:
        operation->data = maker_any_data(maker);
        break;
    case ARGUMENT_PROGRAM:
        make_program(maker, operation);
        break;
    case ARGUMENT_FILE_KIND:
        operation->flags = (uint32_t)maker_below(maker, 3);
        if (maker_chance(maker, 50))
            operation->data = maker_any_data(maker);
        break;
    case ARGUMENT_SHOW:
        make_show(maker, operation);
        break;
    case ARGUMENT_EXPECT:
        make_expect(maker, operation);
        break;
    case ARGUMENT_NEEDS:
        make_needs(maker, operation);
        break;
    default:
        break;
    }
}

static void add(struct maker *maker, const struct scenario_operation *operation)
{
    if (maker->error == 0 && !maker->is_full)
        maker->error = scenario_add(maker->scenario, operation);
}

static void make_operation(struct maker *maker)
{
    struct scenario_operation operation =
        scenario_operation_blank((enum scenario_verb)maker_below(maker, VERB_COUNT));
    const enum argument *form = verb_forms[operation.verb];

    maker->is_full = false;
    if (verb_descriptions[operation.verb].has_task)
        operation.task = old_name(maker);
    for (unsigned i = 0; i < FORM_ARGUMENTS && form[i] != ARGUMENT_NONE; i++)
        make_argument(maker, form[i], &operation);
    if (!verb_is_about_run(operation.verb) && operation.verb != VERB_TASK &&
        maker_chance(maker, 10))
        operation.fail_after = 1 + (unsigned)maker_below(maker, UINT32_MAX);
    maker_answers(maker, &operation);
    add(maker, &operation);
}

/* Something of each kind that has a name. */
static void make_named(struct maker *maker, unsigned number)
{
    struct scenario *scenario = maker->scenario;
    struct scenario_operation operation = scenario_operation_blank(VERB_TASK);

    operation.task = name_of(maker, &scenario->tasks, number, 'T', SCENARIO_MOST_TASKS);
    add(maker, &operation);
    operation.verb = VERB_MMAP;
    operation.region = name_of(maker, &scenario->regions, number, 'A', SCENARIO_MOST_REGIONS);
    operation.flags = ABI_MAP_ANONYMOUS;
    add(maker, &operation);
    operation = scenario_operation_blank(VERB_SHM);
    operation.file = name_of(maker, &scenario->files, number, 'F', SCENARIO_MOST_FILES);
    add(maker, &operation);
    operation = scenario_operation_blank(VERB_PIN);
    operation.task = 0;
    operation.pin = name_of(maker, &scenario->pins, number, 'K', SCENARIO_MOST_PINS);
    add(maker, &operation);
}

int random_scenario(struct scenario *scenario, uint64_t seed, size_t operations)
{
    struct maker maker = {.scenario = scenario, .random = random_seeded(seed)};

    maker.error = scenario_init(scenario, "random");
    for (unsigned i = 0; i < FIRST_NAMES; i++)
        make_named(&maker, i);
    for (size_t i = 0; i < operations; i++)
        make_operation(&maker);
    if (maker.error != 0)
        scenario_free(scenario);
    return maker.error;
}
