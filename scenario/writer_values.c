/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writer's values; writer_parts.h has the terms. */
#include <assert.h>
#include <inttypes.h>

#include "scenario/writer_parts.h"

/* Without the space. */
static void put_size(const struct writer *writer, uint64_t bytes)
{
    static const struct {
        unsigned shift;
        char suffix;
    } units[] = {{30, 'G'}, {20, 'M'}, {10, 'K'}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        uint64_t count = bytes >> units[i].shift;

        if (count > 0 && count << units[i].shift == bytes) {
            fprintf(writer->stream, "%" PRIu64 "%c", count, units[i].suffix);
            return;
        }
    }
    fprintf(writer->stream, "%" PRIu64, bytes);
}

void writer_size(const struct writer *writer, uint64_t bytes)
{
    putc(' ', writer->stream);
    put_size(writer, bytes);
}

void writer_name(const struct writer *writer, const struct scenario_names *names, uint16_t number)
{
    if (number == SCENARIO_NOBODY)
        return;
    assert(number < names->count);
    fprintf(writer->stream, " %s", names->names[number]);
}

static const char *base_text(const struct writer *writer, const struct scenario_address *address)
{
    if (address->base == BASE_HEAP)
        return "heap";
    if (address->base == BASE_STACK)
        return "stack";
    assert(address->region < writer->scenario->regions.count);
    return writer->scenario->regions.names[address->region];
}

void writer_put_address(const struct writer *writer, const struct scenario_address *address)
{
    uint64_t offset = address->offset_bytes;
    bool is_negative = offset > INT64_MAX;

    if (address->base == BASE_ABSOLUTE) {
        fprintf(writer->stream, "0x%" PRIx64, offset);
        return;
    }
    fputs(base_text(writer, address), writer->stream);
    if (offset == 0)
        return;
    putc(is_negative ? '-' : '+', writer->stream);
    put_size(writer, is_negative ? -offset : offset);
}

void writer_address(const struct writer *writer, const struct scenario_address *address)
{
    putc(' ', writer->stream);
    writer_put_address(writer, address);
}

void writer_text(const struct writer *writer, const uint8_t *bytes, size_t count)
{
    fputs(" \"", writer->stream);
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '"' || bytes[i] == '\\')
            fprintf(writer->stream, "\\%c", bytes[i]);
        else if (bytes[i] >= ' ' && bytes[i] <= '~')
            putc(bytes[i], writer->stream);
        else
            fprintf(writer->stream, "\\x%02x", bytes[i]);
    }
    putc('"', writer->stream);
}

static bool is_printable(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] < ' ' || bytes[i] > '~')
            return false;
    }
    return true;
}

void writer_bytes(const struct writer *writer, const uint8_t *bytes, size_t count)
{
    if (is_printable(bytes, count)) {
        writer_text(writer, bytes, count);
        return;
    }
    fputs(" hex:", writer->stream);
    for (size_t i = 0; i < count; i++)
        fprintf(writer->stream, "%02x", bytes[i]);
}

void writer_data(const struct writer *writer, const struct scenario_data *data)
{
    switch (data->kind) {
    case DATA_NONE:
        break;
    case DATA_BYTES:
        writer_bytes(writer, data->content, data->bytes);
        break;
    case DATA_FILL:
        fprintf(writer->stream, " fill 0x%02x", data->fill);
        writer_size(writer, data->bytes);
        break;
    }
}

void writer_flags(const struct writer *writer, const struct word *words, uint32_t flags)
{
    for (; words->word != NULL; words++) {
        if (words->value == 0 || (flags & words->value) != words->value)
            continue;
        fprintf(writer->stream, " %s", words->word);
        flags &= ~words->value;
    }
    if (flags != 0)
        fprintf(writer->stream, " flags=0x%" PRIx32, flags);
}
