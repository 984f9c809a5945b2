/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cuts a line of a scenario into tokens.
 *
 *   WORD       letters, digits and _ . - + : / = in a row, not beginning with "=": mmap, A+4K, at=0
 *   STRING     "text", with its quotes; the escapes are still in it
 *   EQUALS     "=" where a word could begin: before an answer
 *   COMMA, LESS (<), AT_LEAST (>=)
 *   END        ";", "#" and what follows it, or the end of the line
 *   BAD        a byte that begins nothing, or a string without an end
 *
 * Tokens point into the line. A lexer is a plain value: copy it to look further ahead.
 */
#ifndef FORKLAB_SCENARIO_LEXER_H
#define FORKLAB_SCENARIO_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum token_kind {
    TOKEN_WORD,
    TOKEN_STRING,
    TOKEN_EQUALS,
    TOKEN_COMMA,
    TOKEN_LESS,
    TOKEN_AT_LEAST,
    TOKEN_END,
    TOKEN_BAD
};

struct token {
    enum token_kind kind;
    const char *text;
    size_t length;   /* 0 at the end of the line */
    uint32_t column; /* of its first byte, from 1 */
};

struct lexer {
    const char *line; /* without its newline */
    size_t length;
    size_t at;
};

/* The next token. Once the line has ended it is END for ever. */
struct token lexer_next(struct lexer *lexer);

/* Is all of the line behind us, a comment included? */
bool lexer_is_at_end(const struct lexer *lexer);

bool token_is(const struct token *token, const char *word);
bool token_begins(const struct token *token, const char *prefix);

/* Can a name begin with this character, and go on with it? */
bool is_name_start(char character);
bool is_name_character(char character);

/*
 * Text of any bytes as it may be printed: quoted, control characters and bytes above 126 as \xNN,
 * cut short after some 40.
 */
enum { QUOTED_BYTES = 64 };
const char *quote_text(char quoted[QUOTED_BYTES], const char *text, size_t length);

#endif
