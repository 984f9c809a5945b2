/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as operations: performed on an emulated kernel with the soft MMU and on flat memory;
 * all that can be seen must agree, every invariant must hold after each, and nothing be lost.
 *
 * The first byte chooses the kernel and the geometry: tiny, whose tables of four entries are
 * checked quickly, or x86-64. Then six bytes make an operation. A few tasks, regions of a few pages
 * around the bound of a span, one file and one shared memory object keep them in each other's way.
 * Names that are not there make an operation that nobody can do, which costs nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pager/kernel.h"
#include "scenario/form.h"
#include "scenario/fuzz_pair.h"
#include "scenario/writer.h"
#include "tests/fuzz/target.h"

enum {
    OPERATION_BYTES = 6,
    MOST_OPERATIONS = 64,
    TASKS = 4,
    REGIONS = 4,
    PINS = 2,
    FILES = 2,
    PAGES = 8,
};

#define RAM_BYTES ((uint64_t)2 << 20)
#define AREA_START ((va_t)0x16000) /* around bounds of the tiny geometry's spans */
#define IN_X86_64 0x80u

/* What six bytes say. */
struct choice {
    uint8_t verb;
    uint8_t who;   /* two bits each: task, other, region, file or pin */
    uint8_t place; /* a page, and an offset in it */
    uint8_t pages;
    uint8_t kind; /* rights, advice, a byte */
    uint8_t flags;
};

static const enum scenario_verb verbs[] = {
    VERB_MMAP,     VERB_MUNMAP, VERB_MPROTECT, VERB_MREMAP,  VERB_MADVISE, VERB_MLOCK, VERB_MUNLOCK,
    VERB_MSYNC,    VERB_READ,   VERB_WRITE,    VERB_PEEK,    VERB_POKE,    VERB_KREAD, VERB_KWRITE,
    VERB_FORK,     VERB_EXIT,   VERB_KILL,     VERB_WAIT,    VERB_PIN,     VERB_UNPIN, VERB_PINREAD,
    VERB_PINWRITE, VERB_BRK,    VERB_TRUNCATE, VERB_FREAD,   VERB_FWRITE,  VERB_POKE,  VERB_FORK,
    VERB_PEEK,     VERB_MMAP,   VERB_VFORK,    VERB_MINCORE,
};

enum { VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static const int32_t advice[] = {
    ABI_MADV_DONTNEED,       ABI_MADV_FREE,       ABI_MADV_REMOVE,        ABI_MADV_DONTFORK,
    ABI_MADV_DOFORK,         ABI_MADV_WIPEONFORK, ABI_MADV_KEEPONFORK,    ABI_MADV_POPULATE_READ,
    ABI_MADV_POPULATE_WRITE, ABI_MADV_COLD,       ABI_MADV_GUARD_INSTALL, ABI_MADV_GUARD_REMOVE,
};

enum { ADVICE = sizeof(advice) / sizeof(advice[0]) };

static const uint8_t some_data[] = "some data that is written";

static void name_all(struct scenario_names *names, char letter, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char name[SCENARIO_NAME_BYTES];

        snprintf(name, sizeof(name), "%c%u", letter, i);
        if (scenario_name(names, name, count) < 0)
            abort();
    }
}

static void add(struct scenario *scenario, const struct scenario_operation *operation)
{
    if (scenario_add(scenario, operation) != 0)
        abort();
}

/* One task, a file, a shared memory object. */
static void begin(struct scenario *scenario)
{
    struct scenario_operation operation = scenario_operation_blank(VERB_TASK);

    if (scenario_init(scenario, "fuzz") != 0)
        abort();
    name_all(&scenario->tasks, 'T', TASKS);
    name_all(&scenario->regions, 'A', REGIONS);
    name_all(&scenario->files, 'F', FILES);
    name_all(&scenario->pins, 'K', PINS);
    operation.task = 0;
    add(scenario, &operation);
    operation = scenario_operation_blank(VERB_FILE);
    operation.file = 0;
    operation.bytes = PAGES * PAGE_BYTES;
    add(scenario, &operation);
    operation.verb = VERB_SHM;
    operation.file = 1;
    add(scenario, &operation);
}

static uint64_t offset_of(const struct choice *choice)
{
    uint64_t offset = (uint64_t)(choice->place & (PAGES - 1)) << PAGE_SHIFT;

    return (choice->place & 0x80) != 0 ? offset + (choice->place & 0x70) : offset;
}

static struct scenario_address area_page(unsigned page)
{
    return (struct scenario_address){
        .base = BASE_ABSOLUTE,
        .region = SCENARIO_NOBODY,
        .offset_bytes = AREA_START + ((uint64_t)(page & (PAGES - 1)) << PAGE_SHIFT)};
}

static struct scenario_address address_of(const struct choice *choice)
{
    struct scenario_address address = area_page(0);

    if ((choice->place & PAGES) == 0)
        address = (struct scenario_address){.base = BASE_REGION, .region = choice->who >> 4 & 3};
    address.offset_bytes += offset_of(choice);
    return address;
}

static uint64_t bytes_of(const struct choice *choice)
{
    uint64_t bytes = (uint64_t)(choice->pages & (PAGES - 1)) << PAGE_SHIFT;

    return (choice->pages & 0x80) != 0 ? bytes + (choice->pages & 0x70) : bytes;
}

/* Private or shared; fixed in the area, or where the kernel likes; anonymous, or of a file. */
static void fill_mapping(const struct choice *choice, struct scenario_operation *operation)
{
    static const uint32_t extra[] = {0,
                                     ABI_MAP_POPULATE,
                                     ABI_MAP_GROWSDOWN,
                                     ABI_MAP_LOCKED,
                                     ABI_MAP_NORESERVE,
                                     ABI_MAP_FIXED_NOREPLACE,
                                     0,
                                     0};

    operation->region = choice->who >> 4 & 3;
    operation->flags = (choice->flags & 1) != 0 ? ABI_MAP_SHARED : ABI_MAP_PRIVATE;
    operation->flags |= extra[choice->flags >> 5];
    if ((choice->flags & 2) != 0) {
        operation->has_target = true;
        operation->target = area_page(choice->place);
        operation->flags |= ABI_MAP_FIXED;
    }
    if ((choice->flags & 4) != 0)
        operation->file = choice->who >> 6 & (FILES - 1);
    else
        operation->flags |= ABI_MAP_ANONYMOUS;
    operation->offset_bytes = (uint64_t)(choice->flags >> 3 & 3) << PAGE_SHIFT;
}

static void fill_remap(const struct choice *choice, struct scenario_operation *operation)
{
    operation->new_bytes = (uint64_t)(choice->kind & (PAGES - 1)) << PAGE_SHIFT;
    operation->flags = choice->flags & 7;
    if ((operation->flags & ABI_MREMAP_FIXED) == 0)
        return;
    operation->has_target = true;
    operation->target = area_page(choice->flags >> 4);
}

static void fill_data(const struct choice *choice, struct scenario_operation *operation)
{
    if ((choice->kind & 1) == 0)
        operation->data = (struct scenario_data){
            .kind = DATA_BYTES, .bytes = sizeof(some_data), .content = some_data};
    else
        operation->data = (struct scenario_data){
            .kind = DATA_FILL, .fill = choice->kind, .bytes = bytes_of(choice)};
}

/* What only some verbs have. */
static void fill_rest(const struct choice *choice, struct scenario_operation *operation)
{
    switch (operation->verb) {
    case VERB_MMAP:
        fill_mapping(choice, operation);
        break;
    case VERB_MREMAP:
        fill_remap(choice, operation);
        break;
    case VERB_MADVISE:
        operation->advice = advice[choice->kind % ADVICE];
        break;
    case VERB_MSYNC:
        operation->flags = choice->flags & 7;
        break;
    case VERB_BRK:
        operation->address =
            (struct scenario_address){.base = BASE_HEAP, .offset_bytes = offset_of(choice)};
        break;
    case VERB_POKE:
    case VERB_EXIT:
        operation->value = choice->kind;
        break;
    case VERB_WRITE:
    case VERB_KWRITE:
    case VERB_FWRITE:
    case VERB_PINWRITE:
        fill_data(choice, operation);
        break;
    default:
        break;
    }
}

/* One argument of a form. What the verb has none of stays blank: backends look at all of it. */
static void fill_argument(const struct choice *choice, enum argument argument,
                          struct scenario_operation *operation)
{
    switch (argument) {
    case ARGUMENT_ADDRESS:
        operation->address = address_of(choice);
        break;
    case ARGUMENT_SIZE:
        operation->bytes = bytes_of(choice);
        break;
    case ARGUMENT_OFFSET:
        operation->offset_bytes = (uint64_t)choice->place << 4;
        break;
    case ARGUMENT_PROTECTION:
        operation->protection = choice->kind & 7;
        break;
    case ARGUMENT_CHILD:
    case ARGUMENT_VICTIM:
    case ARGUMENT_WAITED:
        operation->other = choice->who >> 2 & 3;
        break;
    case ARGUMENT_NEW_PIN:
    case ARGUMENT_PIN:
        operation->pin = choice->who >> 6 & (PINS - 1);
        break;
    case ARGUMENT_DIRECTION:
        operation->write = (choice->flags & 1) != 0;
        break;
    case ARGUMENT_FILE:
        operation->file = choice->who >> 6 & (FILES - 1);
        break;
    default:
        break;
    }
}

static struct scenario_operation decode(const struct choice *choice)
{
    struct scenario_operation operation = scenario_operation_blank(verbs[choice->verb % VERBS]);
    const enum argument *form = verb_forms[operation.verb];

    if (verb_descriptions[operation.verb].has_task)
        operation.task = choice->who & 3;
    for (unsigned i = 0; i < FORM_ARGUMENTS && form[i] != ARGUMENT_NONE; i++)
        fill_argument(choice, form[i], &operation);
    fill_rest(choice, &operation);
    return operation;
}

static void decode_all(struct scenario *scenario, const uint8_t *data, size_t size)
{
    struct choice choice;

    begin(scenario);
    for (size_t at = 0; at + OPERATION_BYTES <= size && scenario->count < MOST_OPERATIONS;
         at += OPERATION_BYTES) {
        memcpy(&choice, data + at, sizeof(choice));
        struct scenario_operation operation = decode(&choice);

        add(scenario, &operation);
    }
}

static void fail(const struct kernel *kernel, const struct scenario *scenario, const char *why)
{
    fprintf(stderr, "# %s: %s\n", kernel->name, why);
    scenario_write(scenario, stderr);
    abort();
}

static void compare(const struct kernel *kernel, const struct geometry *geometry,
                    const struct scenario *scenario)
{
    char why[SCENARIO_WHY_BYTES] = "";
    const struct fuzz_options options = {
        .against = AGAINST_MODEL,
        .checks = true,
        .machine = {
            .kernel = kernel, .geometry = geometry, .mmu = MMU_SOFT, .ram_bytes = RAM_BYTES}};
    struct fuzz_pair pair;

    if (fuzz_pair_open(&pair, &options, why, sizeof(why)) != 0)
        fail(kernel, scenario, why);
    pair.comparison.scenario = scenario;
    pair.comparison.why = why;
    pair.comparison.why_bytes = sizeof(why);
    bool agrees = fuzz_compare_as(&pair.comparison);

    if (!fuzz_pair_close(&pair, agrees ? why : NULL, sizeof(why)) || !agrees)
        fail(kernel, scenario, why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scenario scenario;

    if (size == 0)
        return 0;
    decode_all(&scenario, data + 1, size - 1);
    compare(&kernels[(data[0] & ~IN_X86_64) % kernel_count],
            (data[0] & IN_X86_64) != 0 ? &geometry_x86_64 : &geometry_tiny, &scenario);
    scenario_free(&scenario);
    return 0;
}
