/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Versions of Linux as numbers. */
#include "scenario/reader.h"

enum { VERSION_PARTS = 3, PART_DIGITS = 3, PART_STEP = 1000 };

/* Up to three digits at the head of the text: how many there are. */
static unsigned read_part(const char *text, uint32_t *value)
{
    unsigned digits = 0;

    *value = 0;
    while (text[digits] >= '0' && text[digits] <= '9') {
        if (digits == PART_DIGITS)
            return 0;
        *value = *value * 10 + (uint32_t)(text[digits++] - '0');
    }
    return digits;
}

uint32_t linux_version_parse(const char *text)
{
    uint32_t version = 0;
    unsigned parts = 0;

    for (; parts < VERSION_PARTS; parts++) {
        uint32_t part;
        unsigned digits = read_part(text, &part);

        if (digits == 0)
            return 0;
        version = version * PART_STEP + part;
        text += digits;
        if (*text != '.' || parts == VERSION_PARTS - 1)
            break;
        text++;
    }
    if (parts == 0)
        return 0;
    return parts == 1 ? version * PART_STEP : version;
}
