/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * argp, kept to one line for a mistake. By itself it prints its own line, a second one that points
 * to the help, and ends with status 64; so it is told to be silent, and what it found is said here.
 */
#include "demo/options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pt/types.h"

/* argp knows only the subcommand's own parser; this is where ours finds it again. */
struct parse {
    const struct argp *argp;
    struct command_line *line;
};

error_t command_line_refuse(struct command_line *line, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line->problem, sizeof(line->problem), format, arguments);
    va_end(arguments);
    return EINVAL;
}

int command_line_fail(const struct command_line *line, int status)
{
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", line->command, line->problem);
    return status;
}

/* Is the word "--name" or "--name=..." of this option? */
static bool names_option(const char *word, const struct argp_option *option)
{
    size_t length = option->name != NULL ? strlen(option->name) : 0;

    return option->name != NULL && strncmp(word, "--", 2) == 0 &&
           strncmp(word + 2, option->name, length) == 0 &&
           (word[2 + length] == '\0' || word[2 + length] == '=');
}

/* What argp's getopt found wrong with a word, which it keeps to itself. */
static void explain_bad_option(struct parse *parse, const char *word)
{
    const char *command = parse->line->command;

    for (const struct argp_option *option = parse->argp->options;
         option->name != NULL || option->doc != NULL; option++) {
        if (!names_option(word, option))
            continue;
        if (option->arg != NULL)
            command_line_refuse(parse->line, "--%s needs an argument: --%s %s", option->name,
                                option->name, option->arg);
        else
            command_line_refuse(parse->line, "--%s takes no argument", option->name);
        return;
    }
    command_line_refuse(parse->line, "there is no option %.60s; %s --help lists what there is",
                        word, command);
}

/* Stands before the subcommand's parser. */
static error_t parse_word(int key, char *argument, struct argp_state *state)
{
    struct parse *parse = state->input;

    switch (key) {
    case OPTION_HELP_KEY:
        argp_help(parse->argp, stdout,
                  ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_PRE_DOC | ARGP_HELP_POST_DOC,
                  (char *)(uintptr_t)parse->line->command);
        parse->line->help_given = true;
        return ECANCELED;
    case ARGP_KEY_ARG:
        if (parse->line->takes_words)
            break;
        return command_line_refuse(parse->line, "%.60s is no option; %s --help lists what there is",
                                   argument, parse->line->command);
    case ARGP_KEY_ERROR:
        if (parse->line->problem[0] == '\0' && !parse->line->help_given)
            explain_bad_option(parse, state->argv[state->next > 0 ? state->next - 1 : 0]);
        return 0;
    default:
        break;
    }
    state->input = parse->line;
    error_t error = parse->argp->parser(key, argument, state);

    state->input = parse;
    return error;
}

bool command_line_parse(const struct argp *argp, int argc, char **argv, struct command_line *line,
                        int *status)
{
    struct parse parse = {.argp = argp, .line = line};
    struct argp ours = *argp;

    ours.parser = parse_word;
    error_t error =
        argp_parse(&ours, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT, NULL, &parse);

    if (error == 0)
        return true;
    *status = 0;
    if (!line->help_given)
        *status = command_line_fail(line, EXIT_STATUS_USAGE);
    return false;
}

/* The digits at the head of a text; `end` is set behind them. */
static bool parse_digits(const char *text, uint64_t *number, const char **end)
{
    char *stop;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *number = strtoull(text, &stop, 10);
    *end = stop;
    return errno == 0;
}

static unsigned suffix_shift(char suffix)
{
    switch (suffix) {
    case 'k':
    case 'K':
        return 10;
    case 'm':
    case 'M':
        return 20;
    case 'g':
    case 'G':
        return 30;
    default:
        return 0;
    }
}

bool parse_size(const char *text, uint64_t *bytes)
{
    const char *end;
    uint64_t number;

    if (!parse_digits(text, &number, &end))
        return false;
    unsigned shift = suffix_shift(*end);

    end += shift != 0;
    if (*end != '\0' || number > UINT64_MAX >> shift)
        return false;
    *bytes = number << shift;
    return true;
}

bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    const char *end;

    return parse_digits(text, number, &end) && *end == '\0' && *number >= least && *number <= most;
}

void size_text(char text[SIZE_TEXT_BYTES], uint64_t bytes)
{
    static const char suffixes[] = {'G', 'M', 'K'};

    for (unsigned i = 0; i < sizeof(suffixes); i++) {
        uint64_t unit = (uint64_t)1 << suffix_shift(suffixes[i]);

        if (bytes >= unit && bytes % unit == 0) {
            snprintf(text, SIZE_TEXT_BYTES, "%llu%c", (unsigned long long)(bytes / unit),
                     suffixes[i]);
            return;
        }
    }
    snprintf(text, SIZE_TEXT_BYTES, "%llu", (unsigned long long)bytes);
}

error_t parse_list(struct command_line *line, const char *option, const char *list, take_item *take)
{
    const char *item = list;
    error_t error = 0;

    while (error == 0) {
        size_t length = strcspn(item, ",");
        char *copy = length > 0 ? strndup(item, length) : NULL;

        if (length == 0)
            return command_line_refuse(line, "%s %.60s: an item is missing; write it as a,b,c",
                                       option, list[0] != '\0' ? list : "\"\"");
        if (copy == NULL)
            return command_line_refuse(line, "memory ran out");
        error = take(line, copy);
        free(copy);
        if (item[length] == '\0')
            break;
        item += length + 1;
    }
    return error;
}
