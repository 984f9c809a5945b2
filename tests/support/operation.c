/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations as text, for people. */
#include "tests/support/operation.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pager/map.h"

static const char *const names[OPERATION_KINDS] = {
    [OPERATION_CREATE] = "create",     [OPERATION_FORK] = "fork",
    [OPERATION_ACCESS] = "access",     [OPERATION_MAP] = "mmap",
    [OPERATION_UNMAP] = "munmap",      [OPERATION_PROTECT] = "mprotect",
    [OPERATION_BRK] = "brk",           [OPERATION_COPYIN] = "copyin",
    [OPERATION_COPYOUT] = "copyout",   [OPERATION_PIN] = "pin",
    [OPERATION_PIN_READ] = "pin-read", [OPERATION_PIN_WRITE] = "pin-write",
    [OPERATION_UNPIN] = "unpin",       [OPERATION_EXEC] = "exec",
    [OPERATION_EXIT] = "exit",         [OPERATION_KILL] = "kill",
    [OPERATION_WAIT] = "wait"};

static const char *const objects[] = {"anon", "shm1", "shm2", "file1", "file2-read-only"};

struct writer {
    char *text;
    size_t bytes;
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer, const char *format,
                                                      ...)
{
    va_list arguments;

    va_start(arguments, format);
    int more =
        vsnprintf(writer->text + writer->used, writer->bytes - writer->used, format, arguments);
    va_end(arguments);
    writer->used = (size_t)min_u64(writer->bytes - 1, writer->used + (uint64_t)more);
}

static void put_location(struct writer *writer, const struct location *location)
{
    unsigned long long offset = location->offset_bytes;

    if (location->region == REGION_AREA)
        put(writer, " area+0x%llx", offset);
    else if (location->region == REGION_STACK)
        put(writer, " end-0x%llx", offset);
    else
        put(writer, " place%u+0x%llx", location->place, offset);
}

static void put_pages(struct writer *writer, uint64_t bytes)
{
    if (bytes % PAGE_BYTES == 0)
        put(writer, " %lluK", (unsigned long long)bytes >> 10);
    else
        put(writer, " %llu", (unsigned long long)bytes);
}

static void put_protection(struct writer *writer, uint32_t protection)
{
    put(writer, " %c%c%c", protection & VMA_READ ? 'r' : '-', protection & VMA_WRITE ? 'w' : '-',
        protection & VMA_EXEC ? 'x' : '-');
}

static void put_mapping(struct writer *writer, const struct operation *operation)
{
    if (operation->anywhere)
        put(writer, " as place%u", operation->location.place);
    if (!operation->anywhere || operation->location.offset_bytes != 0)
        put_location(writer, &operation->location);
    put_pages(writer, operation->bytes);
    put_protection(writer, operation->protection);
    put(writer, operation->flags & MAP_REQUEST_SHARED ? " shared" : " private");
    put(writer, " %s", objects[operation->object]);
    if (operation->offset_bytes != 0)
        put(writer, "+0x%llx", (unsigned long long)operation->offset_bytes);
    if (operation->flags & MAP_REQUEST_FIXED)
        put(writer, " fixed");
    if (operation->flags & MAP_REQUEST_NOREPLACE)
        put(writer, " noreplace");
    if (operation->flags & MAP_REQUEST_POPULATE)
        put(writer, " populate");
    if (operation->flags & MAP_REQUEST_GROWSDOWN)
        put(writer, " growsdown");
}

static void put_steps(struct writer *writer, const struct operation *operation)
{
    for (unsigned i = 0; i < operation->step_count; i++) {
        const struct operation_step *step = &operation->steps[i];

        put(writer, "%s %s%u", i > 0 ? ";" : "", step->write ? "write" : "read", step->bytes);
        put_location(writer, &step->location);
        if (step->pages > 1)
            put(writer, " and the next %u pages", step->pages - 1);
        if (step->write)
            put(writer, " = 0x%llx", (unsigned long long)step->value);
        if (step->view)
            put(writer, " in a view");
    }
}

static void put_details(struct writer *writer, const struct operation *operation)
{
    switch (operation->kind) {
    case OPERATION_MAP:
        put_mapping(writer, operation);
        break;
    case OPERATION_UNMAP:
    case OPERATION_COPYIN:
    case OPERATION_COPYOUT:
        put_location(writer, &operation->location);
        put_pages(writer, operation->bytes);
        break;
    case OPERATION_PROTECT:
        put_location(writer, &operation->location);
        put_pages(writer, operation->bytes);
        put_protection(writer, operation->protection);
        break;
    case OPERATION_BRK:
        put_location(writer, &operation->location);
        break;
    case OPERATION_PIN:
        put_location(writer, &operation->location);
        put(writer, " for %s as pin%u", operation->write ? "writing" : "reading", operation->other);
        break;
    case OPERATION_PIN_READ:
    case OPERATION_PIN_WRITE:
    case OPERATION_UNPIN:
        put(writer, " pin%u", operation->other);
        break;
    case OPERATION_EXIT:
        put(writer, " %u", (unsigned)operation->value);
        break;
    default:
        break;
    }
}

void operation_format(char *text, size_t bytes, const struct operation *operation)
{
    struct writer writer = {.text = text, .bytes = bytes};

    put(&writer, "T%u %s", operation->task, names[operation->kind]);
    if (operation->kind == OPERATION_FORK || operation->kind == OPERATION_WAIT) {
        if (operation->other == OPERATION_NOBODY)
            put(&writer, " any");
        else
            put(&writer, " T%u", operation->other);
    }
    if (operation->kind == OPERATION_ACCESS && operation->other != OPERATION_NOBODY)
        put(&writer, " within T%u:", operation->other);
    put_details(&writer, operation);
    put_steps(&writer, operation);
    if (operation->inside)
        put(&writer, " (from user code)");
    if (operation->fail_after != 0)
        put(&writer, " (request %u fails)", operation->fail_after);
}

void operation_bytes(uint64_t seed, uint8_t *bytes, size_t count)
{
    struct random random = random_seeded(seed);

    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)random_next(&random);
}
