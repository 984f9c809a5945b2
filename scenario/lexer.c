/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tokens; lexer.h has the terms. Letters are ASCII's, whatever the locale is. */
#include "scenario/lexer.h"

#include <stdio.h>
#include <string.h>

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

bool is_name_start(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           character == '_';
}

bool is_name_character(char character)
{
    return is_name_start(character) || is_digit(character) || character == '.' || character == '-';
}

static bool is_word_character(char character)
{
    return is_name_character(character) || (character != '\0' && strchr("+:/=", character) != NULL);
}

static bool is_blank(char character)
{
    return character == ' ' || character == '\t';
}

bool lexer_is_at_end(const struct lexer *lexer)
{
    return lexer->at == lexer->length;
}

static size_t word_length(const char *text, size_t most)
{
    size_t length = 0;

    while (length < most && is_word_character(text[length]))
        length++;
    return length;
}

/* Length with both quotes; 0 when the string has no end. */
static size_t string_length(const char *text, size_t most)
{
    for (size_t i = 1; i < most; i++) {
        if (text[i] == '"')
            return i + 1;
        if (text[i] == '\\')
            i++;
    }
    return 0;
}

static struct token make_string(const char *text, size_t left)
{
    size_t length = string_length(text, left);

    if (length == 0)
        return (struct token){.kind = TOKEN_BAD, .length = left};
    return (struct token){.kind = TOKEN_STRING, .length = length};
}

/* The token at the head of the text, which is neither empty nor blank. */
static struct token make_token(const char *text, size_t left)
{
    switch (text[0]) {
    case '"':
        return make_string(text, left);
    case '=':
        return (struct token){.kind = TOKEN_EQUALS, .length = 1};
    case ',':
        return (struct token){.kind = TOKEN_COMMA, .length = 1};
    case '<':
        return (struct token){.kind = TOKEN_LESS, .length = 1};
    case ';':
        return (struct token){.kind = TOKEN_END, .length = 1};
    case '#':
        return (struct token){.kind = TOKEN_END, .length = left};
    default:
        break;
    }
    if (left >= 2 && text[0] == '>' && text[1] == '=')
        return (struct token){.kind = TOKEN_AT_LEAST, .length = 2};
    if (!is_word_character(text[0]))
        return (struct token){.kind = TOKEN_BAD, .length = 1};
    return (struct token){.kind = TOKEN_WORD, .length = word_length(text, left)};
}

struct token lexer_next(struct lexer *lexer)
{
    struct token token = {.kind = TOKEN_END};

    while (lexer->at < lexer->length && is_blank(lexer->line[lexer->at]))
        lexer->at++;
    if (lexer->at < lexer->length)
        token = make_token(lexer->line + lexer->at, lexer->length - lexer->at);
    token.text = lexer->line + lexer->at;
    token.column = (uint32_t)lexer->at + 1;
    lexer->at += token.length;
    return token;
}

bool token_is(const struct token *token, const char *word)
{
    return token->kind == TOKEN_WORD && token->length == strlen(word) &&
           memcmp(token->text, word, token->length) == 0;
}

bool token_begins(const struct token *token, const char *prefix)
{
    size_t length = strlen(prefix);

    return token->kind == TOKEN_WORD && token->length >= length &&
           memcmp(token->text, prefix, length) == 0;
}

const char *quote_text(char quoted[QUOTED_BYTES], const char *text, size_t length)
{
    static const char cut[] = "...\"";
    size_t at = 0;

    quoted[at++] = '"';
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (at + sizeof("\\xNN") + sizeof(cut) > QUOTED_BYTES) {
            memcpy(quoted + at, cut, sizeof(cut));
            return quoted;
        }
        if (byte < ' ' || byte > '~')
            at += (size_t)snprintf(quoted + at, QUOTED_BYTES - at, "\\x%02x", byte);
        else
            quoted[at++] = (char)byte;
    }
    quoted[at++] = '"';
    quoted[at] = '\0';
    return quoted;
}
