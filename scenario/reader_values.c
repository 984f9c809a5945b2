/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader's values: numbers, addresses, data, texts; reader_parts.h has the terms. */
#include <string.h>

#include "scenario/reader_parts.h"

enum { MOST_FILL_SHIFT = 30 };

struct span token_span(const struct token *token)
{
    return (struct span){.text = token->text, .length = token->length, .column = token->column};
}

struct span span_rest(const struct span *span, size_t skipped)
{
    return (struct span){.text = span->text + skipped,
                         .length = span->length - skipped,
                         .column = span->column + (uint32_t)skipped};
}

/* The value of a digit in any base up to 16; 16 if it is none. */
static unsigned digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return (unsigned)(digit - '0');
    if (digit >= 'a' && digit <= 'f')
        return (unsigned)(digit - 'a') + 10;
    if (digit >= 'A' && digit <= 'F')
        return (unsigned)(digit - 'A') + 10;
    return 16;
}

static unsigned suffix_shift(char suffix)
{
    switch (suffix) {
    case 'K':
        return 10;
    case 'M':
        return 20;
    case 'G':
        return 30;
    default:
        return 0;
    }
}

enum number_kind { NUMBER_GOOD, NUMBER_NONE, NUMBER_TOO_LARGE };

static enum number_kind digits_value(const struct span *digits, unsigned base, uint64_t *number)
{
    bool wraps = false;

    *number = 0;
    for (size_t i = 0; i < digits->length; i++) {
        unsigned value = digit_value(digits->text[i]);

        if (value >= base)
            return NUMBER_NONE;
        wraps |= __builtin_mul_overflow(*number, (uint64_t)base, number);
        wraps |= __builtin_add_overflow(*number, (uint64_t)value, number);
    }
    if (digits->length == 0)
        return NUMBER_NONE;
    return wraps ? NUMBER_TOO_LARGE : NUMBER_GOOD;
}

/* 4096, 0x1000, 4K. */
static enum number_kind span_number(const struct span *span, uint64_t *number)
{
    bool is_hex = span->length > 2 && memcmp(span->text, "0x", 2) == 0;
    struct span digits = span_rest(span, is_hex ? 2 : 0);
    unsigned shift = digits.length > 0 ? suffix_shift(digits.text[digits.length - 1]) : 0;

    digits.length -= shift != 0;
    enum number_kind kind = digits_value(&digits, is_hex ? 16 : 10, number);

    if (kind != NUMBER_GOOD)
        return kind;
    if (*number > UINT64_MAX >> shift)
        return NUMBER_TOO_LARGE;
    *number <<= shift;
    return NUMBER_GOOD;
}

static bool fail_found(struct reader *reader, const struct span *span, const char *what)
{
    char quoted[QUOTED_BYTES];

    return reader_fail(reader, span->column, "expected %s, found %s", what,
                       quote_text(quoted, span->text, span->length));
}

bool reader_parse_number(struct reader *reader, const struct span *span, const char *what,
                         uint64_t most, uint64_t *number)
{
    char quoted[QUOTED_BYTES];

    switch (span_number(span, number)) {
    case NUMBER_NONE:
        return fail_found(reader, span, what);
    case NUMBER_TOO_LARGE:
        return reader_fail(reader, span->column, "expected %s below 2^64, found %s", what,
                           quote_text(quoted, span->text, span->length));
    case NUMBER_GOOD:
        break;
    }
    if (*number <= most)
        return true;
    return reader_fail(reader, span->column, "expected %s of at most %llu, found %s", what,
                       (unsigned long long)most, quote_text(quoted, span->text, span->length));
}

bool reader_number(struct reader *reader, const char *what, uint64_t most, uint64_t *number)
{
    struct span span = token_span(&reader->token);

    if (reader->token.kind != TOKEN_WORD)
        return reader_expected(reader, what);
    if (!reader_parse_number(reader, &span, what, most, number))
        return false;
    reader_next(reader);
    return true;
}

bool reader_is_number_ahead(const struct reader *reader)
{
    return reader->token.kind == TOKEN_WORD && digit_value(reader->token.text[0]) < 10;
}

bool reader_key_number(struct reader *reader, const char *key, uint64_t most, uint64_t *number)
{
    struct span span = token_span(&reader->token);
    struct span value = span_rest(&span, strlen(key) + 1);

    if (!reader_parse_number(reader, &value, "a number", most, number))
        return false;
    reader_next(reader);
    return true;
}

bool reader_size(struct reader *reader, uint64_t *bytes)
{
    return reader_number(reader, "a size (such as 4096, 0x1000 or 4K)", UINT64_MAX, bytes);
}

/* Where a base ends and +N or -N begins. A name may have a hyphen, but no digit right behind it. */
static size_t base_length(const struct span *span)
{
    for (size_t i = 1; i < span->length; i++) {
        if (span->text[i] == '+')
            return i;
        if (span->text[i] == '-' && i + 1 < span->length && digit_value(span->text[i + 1]) < 10)
            return i;
    }
    return span->length;
}

static bool span_is(const struct span *span, const char *word)
{
    return span->length == strlen(word) && memcmp(span->text, word, span->length) == 0;
}

/* The base of an address: of an absolute one the number, too. */
static bool parse_base(struct reader *reader, const struct span *base,
                       struct scenario_address *address)
{
    if (base->length > 0 && digit_value(base->text[0]) < 10)
        return reader_parse_number(reader, base, "an address", UINT64_MAX, &address->offset_bytes);
    if (span_is(base, "heap")) {
        address->base = BASE_HEAP;
        return true;
    }
    if (span_is(base, "stack")) {
        address->base = BASE_STACK;
        return true;
    }
    address->base = BASE_REGION;
    return reader_parse_region(reader, base, &address->region);
}

/* Absolute addresses must not wrap; of others only the kernel knows where they are. */
static bool add_offset(struct reader *reader, const struct span *span, bool is_negative,
                       uint64_t offset, struct scenario_address *address)
{
    uint64_t base = address->offset_bytes;
    bool wraps = is_negative ? __builtin_sub_overflow(base, offset, &address->offset_bytes)
                             : __builtin_add_overflow(base, offset, &address->offset_bytes);

    if (!wraps || address->base != BASE_ABSOLUTE)
        return true;
    return fail_found(reader, span, "an address below 2^64");
}

bool reader_parse_address(struct reader *reader, const struct span *span,
                          struct scenario_address *address)
{
    struct span base = *span;
    uint64_t offset;

    *address = (struct scenario_address){.base = BASE_ABSOLUTE, .region = SCENARIO_NOBODY};
    base.length = base_length(span);
    if (base.length == 0 || !(is_name_start(base.text[0]) || digit_value(base.text[0]) < 10))
        return fail_found(reader, span, "an address (such as A+4K, heap or 0x400000)");
    if (!parse_base(reader, &base, address))
        return false;
    if (base.length == span->length)
        return true;
    struct span rest = span_rest(span, base.length + 1);

    return reader_parse_number(reader, &rest, "an offset", UINT64_MAX, &offset) &&
           add_offset(reader, span, span->text[base.length] == '-', offset, address);
}

bool reader_address(struct reader *reader, struct scenario_address *address)
{
    struct span span = token_span(&reader->token);

    if (reader->token.kind != TOKEN_WORD)
        return reader_expected(reader, "an address (such as A+4K, heap or 0x400000)");
    if (!reader_parse_address(reader, &span, address))
        return false;
    reader_next(reader);
    return true;
}

bool reader_key_address(struct reader *reader, const char *key, struct scenario_address *address)
{
    struct span span = token_span(&reader->token);
    struct span value = span_rest(&span, strlen(key) + 1);

    if (!reader_parse_address(reader, &value, address))
        return false;
    reader_next(reader);
    return true;
}

bool reader_is_data_ahead(const struct reader *reader)
{
    return reader->token.kind == TOKEN_STRING || reader_is(reader, "fill") ||
           reader_begins(reader, "hex:");
}

/* Two digits; 256 if they are none. */
static unsigned hex_byte(const char *digits)
{
    unsigned high = digit_value(digits[0]);
    unsigned low = digit_value(digits[1]);

    return high > 15 || low > 15 ? 256 : high * 16 + low;
}

/* One character of a string, or one escape: how many bytes of it; 0 if there is no such escape. */
static size_t unescape(const char *text, size_t left, uint8_t *byte)
{
    static const char letters[] = "nt0\\\"";
    static const char meanings[] = "\n\t\0\\\"";
    const char *found;

    *byte = (uint8_t)text[0];
    if (text[0] != '\\')
        return 1;
    if (left >= 4 && text[1] == 'x' && hex_byte(text + 2) < 256) {
        *byte = (uint8_t)hex_byte(text + 2);
        return 4;
    }
    found = left >= 2 ? memchr(letters, text[1], sizeof(letters) - 1) : NULL;
    if (found == NULL)
        return 0;
    *byte = (uint8_t)meanings[found - letters];
    return 2;
}

/* The bytes of the string ahead, a zero after them; NULL after a failure that is reported. */
static const uint8_t *read_string(struct reader *reader, uint64_t *bytes)
{
    struct span inside = {.text = reader->token.text + 1,
                          .length = reader->token.length - 2,
                          .column = reader->token.column + 1};
    uint8_t *copy = scenario_allocate(reader->scenario, inside.length + 1);
    size_t length;

    if (copy == NULL) {
        reader_out_of_memory(reader);
        return NULL;
    }
    *bytes = 0;
    for (size_t at = 0; at < inside.length; at += length) {
        struct span rest = span_rest(&inside, at);

        length = unescape(rest.text, rest.length, &copy[(*bytes)++]);
        if (length == 0) {
            rest.length = rest.length < 2 ? rest.length : 2;
            fail_found(reader, &rest, "\\n, \\t, \\0, \\\\, \\\" or \\xNN");
            return NULL;
        }
    }
    reader_next(reader);
    return copy;
}

static bool read_hex(struct reader *reader, struct scenario_data *data)
{
    struct span span = token_span(&reader->token);
    struct span digits = span_rest(&span, strlen("hex:"));
    uint8_t *copy = scenario_allocate(reader->scenario, digits.length / 2 + 1);

    if (copy == NULL)
        return reader_out_of_memory(reader);
    for (size_t at = 0; at < digits.length; at += 2) {
        struct span pair = span_rest(&digits, at);
        unsigned byte = pair.length < 2 ? 256 : hex_byte(pair.text);

        pair.length = pair.length < 2 ? pair.length : 2;
        if (byte > 255)
            return fail_found(reader, &pair, "two hexadecimal digits a byte");
        copy[at / 2] = (uint8_t)byte;
    }
    data->bytes = digits.length / 2;
    data->content = copy;
    reader_next(reader);
    return true;
}

static bool read_fill(struct reader *reader, struct scenario_data *data)
{
    uint64_t byte = 0;

    reader_next(reader);
    if (!reader_number(reader, "a byte", UINT8_MAX, &byte) ||
        !reader_number(reader, "a size", (uint64_t)1 << MOST_FILL_SHIFT, &data->bytes))
        return false;
    data->kind = DATA_FILL;
    data->fill = (uint8_t)byte;
    return true;
}

bool reader_data(struct reader *reader, struct scenario_data *data)
{
    *data = (struct scenario_data){.kind = DATA_BYTES};
    if (reader->token.kind == TOKEN_STRING) {
        data->content = read_string(reader, &data->bytes);
        return data->content != NULL;
    }
    if (reader_begins(reader, "hex:"))
        return read_hex(reader, data);
    if (reader_is(reader, "fill"))
        return read_fill(reader, data);
    return reader_expected(reader, "data (\"text\", hex:00ff or fill BYTE SIZE)");
}

bool reader_text(struct reader *reader, const char *what, const char **text)
{
    uint32_t column = reader->token.column;
    const uint8_t *content;
    uint64_t bytes = 0;

    if (reader->token.kind != TOKEN_STRING)
        return reader_expected(reader, what);
    content = read_string(reader, &bytes);
    if (content == NULL)
        return false;
    if (bytes == 0 || memchr(content, 0, bytes) != NULL)
        return reader_fail(reader, column, "expected %s that is not empty and has no \\0", what);
    *text = (const char *)content;
    return true;
}

bool reader_word(struct reader *reader, const char *what, const char **word)
{
    char *copy;

    if (reader->token.kind != TOKEN_WORD)
        return reader_expected(reader, what);
    copy = scenario_allocate(reader->scenario, reader->token.length + 1);
    if (copy == NULL)
        return reader_out_of_memory(reader);
    memcpy(copy, reader->token.text, reader->token.length);
    *word = copy;
    reader_next(reader);
    return true;
}

bool reader_listed(struct reader *reader, const struct word *words, const char *what,
                   uint32_t *value)
{
    const struct token *token = &reader->token;
    struct nearest nearest = nearest_to(token->text, token->length);
    char quoted[QUOTED_BYTES];
    char hint[HINT_BYTES];
    const struct word *found;

    if (token->kind != TOKEN_WORD)
        return reader_expected(reader, what);
    found = word_find(words, token->text, token->length);
    if (found != NULL) {
        *value = found->value;
        reader_next(reader);
        return true;
    }
    nearest_offer_words(&nearest, words);
    return reader_fail(reader, token->column, "expected %s, found %s%s", what,
                       quote_text(quoted, token->text, token->length), reader_hint(hint, &nearest));
}
