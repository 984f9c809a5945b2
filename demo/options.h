/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the subcommands' options have in common: argp reads them, and every mistake ends in one line
 * that says what is wrong and what would be right, and exit status 2.
 *
 * A subcommand's parser is called with its own struct in `state->input`, which begins with a struct
 * command_line. To refuse something it returns what command_line_refuse() returns.
 */
#ifndef FORKLAB_DEMO_OPTIONS_H
#define FORKLAB_DEMO_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXIT_STATUS_FAILED = 1, EXIT_STATUS_USAGE = 2 };

struct command_line {
    const char *command; /* "forklab fork" */
    char problem[400];
    bool help_given;
    bool takes_words; /* the subcommand's parser is given words that are no options, too */
};

/* In an option table: the entry for --help, which command_line_parse() answers itself. */
#define OPTION_HELP_KEY 0x7f00
/* clang-format off */
#define OPTION_HELP {"help", OPTION_HELP_KEY, NULL, 0, "Show this help", -1}
/* clang-format on */

/*
 * Reads the words of a subcommand, its name first, into `line`, which the subcommand's own struct
 * begins with. True: go on. False: end with `*status`; help or the mistake has been printed.
 */
bool command_line_parse(const struct argp *argp, int argc, char **argv, struct command_line *line,
                        int *status);

/* Notes what is wrong and what would be right. Returns the error that a parser passes on. */
error_t command_line_refuse(struct command_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints one line about what is wrong on standard error; returns the exit status for it. */
int command_line_fail(const struct command_line *line, int status);

/*
 * A size with K, M or G behind it, or plain bytes: false if it is none, has a fraction, or does not
 * fit 64 bits.
 */
bool parse_size(const char *text, uint64_t *bytes);

/* A number without sign in [least, most]. */
bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number);

/* The same size for people: 400K, 40M, 1G; bytes where nothing else is exact. */
#define SIZE_TEXT_BYTES 32
void size_text(char text[SIZE_TEXT_BYTES], uint64_t bytes);

/*
 * Calls `take` with each item of a list such as "a,b,c". It stops at the first that is not 0 and
 * returns it. An empty list, or an empty item, is refused.
 */
typedef error_t take_item(struct command_line *line, const char *item);
error_t parse_list(struct command_line *line, const char *option, const char *list,
                   take_item *take);

#endif
