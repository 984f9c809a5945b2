/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lists of words. Signals have Linux's numbers on x86-64: the header that has them belongs to
 * host_*.c. Errnos are the C library's.
 */
#include "scenario/words.h"

#include <errno.h>
#include <string.h>

#include "scenario/writer.h"

enum { ERRNO_LAST = 133 }; /* EHWPOISON */

const struct word mapping_words[] = {
    {"anon", ABI_MAP_ANONYMOUS},
    {"fixed", ABI_MAP_FIXED},
    {"noreplace", ABI_MAP_FIXED_NOREPLACE},
    {"populate", ABI_MAP_POPULATE},
    {"nonblock", ABI_MAP_NONBLOCK},
    {"growsdown", ABI_MAP_GROWSDOWN},
    {"noreserve", ABI_MAP_NORESERVE},
    {"stack", ABI_MAP_STACK},
    {"locked", ABI_MAP_LOCKED},
    {NULL, 0},
};

const struct word sharing_words[] = {
    {"private", ABI_MAP_PRIVATE},
    {"shared", ABI_MAP_SHARED},
    {"shared_validate", ABI_MAP_SHARED_VALIDATE},
    {NULL, 0},
};

const struct word remap_words[] = {
    {"maymove", ABI_MREMAP_MAYMOVE},
    {"fixed", ABI_MREMAP_FIXED},
    {"dontunmap", ABI_MREMAP_DONTUNMAP},
    {NULL, 0},
};

const struct word sync_words[] = {
    {"async", ABI_MS_ASYNC},
    {"sync", ABI_MS_SYNC},
    {"invalidate", ABI_MS_INVALIDATE},
    {NULL, 0},
};

const struct word protection_words[] = {
    {"none", ABI_PROT_NONE},
    {"r", ABI_PROT_READ},
    {"w", ABI_PROT_WRITE},
    {"x", ABI_PROT_EXEC},
    {"rw", ABI_PROT_READ | ABI_PROT_WRITE},
    {"rx", ABI_PROT_READ | ABI_PROT_EXEC},
    {"wx", ABI_PROT_WRITE | ABI_PROT_EXEC},
    {"rwx", ABI_PROT_READ | ABI_PROT_WRITE | ABI_PROT_EXEC},
    {NULL, 0},
};

const struct word advice_words[] = {
    {"normal", ABI_MADV_NORMAL},
    {"random", ABI_MADV_RANDOM},
    {"sequential", ABI_MADV_SEQUENTIAL},
    {"willneed", ABI_MADV_WILLNEED},
    {"dontneed", ABI_MADV_DONTNEED},
    {"free", ABI_MADV_FREE},
    {"remove", ABI_MADV_REMOVE},
    {"dontfork", ABI_MADV_DONTFORK},
    {"dofork", ABI_MADV_DOFORK},
    {"dontdump", ABI_MADV_DONTDUMP},
    {"dodump", ABI_MADV_DODUMP},
    {"wipeonfork", ABI_MADV_WIPEONFORK},
    {"keeponfork", ABI_MADV_KEEPONFORK},
    {"cold", ABI_MADV_COLD},
    {"pageout", ABI_MADV_PAGEOUT},
    {"populate_read", ABI_MADV_POPULATE_READ},
    {"populate_write", ABI_MADV_POPULATE_WRITE},
    {"dontneed_locked", ABI_MADV_DONTNEED_LOCKED},
    {"guard_install", ABI_MADV_GUARD_INSTALL},
    {"guard_remove", ABI_MADV_GUARD_REMOVE},
    {NULL, 0},
};

const struct word signal_words[] = {
    {"SIGHUP", 1},   {"SIGINT", 2},   {"SIGQUIT", 3},  {"SIGILL", 4},   {"SIGTRAP", 5},
    {"SIGABRT", 6},  {"SIGBUS", 7},   {"SIGFPE", 8},   {"SIGKILL", 9},  {"SIGUSR1", 10},
    {"SIGSEGV", 11}, {"SIGUSR2", 12}, {"SIGPIPE", 13}, {"SIGALRM", 14}, {"SIGTERM", 15},
    {"SIGCHLD", 17}, {"SIGCONT", 18}, {"SIGSTOP", 19}, {"SIGTSTP", 20}, {"SIGTTIN", 21},
    {"SIGTTOU", 22}, {"SIGURG", 23},  {"SIGXCPU", 24}, {"SIGXFSZ", 25}, {"SIGVTALRM", 26},
    {"SIGPROF", 27}, {"SIGIO", 29},   {"SIGPWR", 30},  {"SIGSYS", 31},  {NULL, 0},
};

const struct word file_words[] = {
    {"ro", SCENARIO_READ_ONLY},
    {"wo", SCENARIO_WRITE_ONLY},
    {NULL, 0},
};

const struct word limit_words[] = {{"as", 0}, {"data", 1}, {NULL, 0}};

const struct word show_words[] = {
    {"maps", SHOW_MAPS},     {"smaps", SHOW_SMAPS},
    {"tables", SHOW_TABLES}, {"frames", SHOW_FRAMES},
    {"faults", SHOW_FAULTS}, {"vmstat", SHOW_VMSTAT},
    {"diff", SHOW_DIFF},     {NULL, 0},
};

const struct word quantity_words[] = {
    {"vmas", QUANTITY_VMAS},
    {"rss", QUANTITY_RSS},
    {"pss", QUANTITY_PSS},
    {"shared", QUANTITY_SHARED},
    {"private", QUANTITY_PRIVATE},
    {"anonymous", QUANTITY_ANONYMOUS},
    {"locked", QUANTITY_LOCKED},
    {"swap", QUANTITY_SWAP},
    {"maps", QUANTITY_MAPS},
    {"tables", QUANTITY_TABLES},
    {"shared-tables", QUANTITY_SHARED_TABLES},
    {"frames", QUANTITY_FRAMES},
    {"faults", QUANTITY_EVENT},
    {"count", QUANTITY_EVENT},
    {NULL, 0},
};

const char *const feature_words[] = {
    "swap",        "reclaim",       "hugetlb",      "huge-pages", "threads", "clone",
    "userfaultfd", "ksm",           "numa",         "migration",  "memcg",   "device",
    "flush",       "lockless-walk", "instructions", "zero-page",  NULL,
};

static const struct word segv_code_words[] = {
    {"maperr", ABI_SEGV_MAPERR},
    {"accerr", ABI_SEGV_ACCERR},
    {"kernel", ABI_SI_KERNEL},
    {NULL, 0},
};

static const struct word bus_code_words[] = {
    {"adrerr", ABI_BUS_ADRERR},
    {"kernel", ABI_SI_KERNEL},
    {NULL, 0},
};

static const struct word no_words[] = {{NULL, 0}};

const char *word_for(const struct word *words, uint32_t value)
{
    for (; words->word != NULL; words++) {
        if (words->value == value)
            return words->word;
    }
    return NULL;
}

const struct word *word_find(const struct word *words, const char *text, size_t length)
{
    for (; words->word != NULL; words++) {
        if (strlen(words->word) == length && memcmp(words->word, text, length) == 0)
            return words;
    }
    return NULL;
}

static const struct word *code_words(int signal)
{
    switch (signal) {
    case ABI_SIGSEGV:
        return segv_code_words;
    case ABI_SIGBUS:
        return bus_code_words;
    default:
        return no_words;
    }
}

int signal_code_from_word(int signal, const char *text, size_t length)
{
    const struct word *found = word_find(code_words(signal), text, length);

    return found == NULL ? 0 : (int)found->value;
}

const char *signal_code_word(int signal, int code)
{
    return word_for(code_words(signal), (uint32_t)code);
}

const char *errno_word(int error)
{
    return error <= 0 ? NULL : strerrorname_np(error);
}

int errno_from_word(const char *word)
{
    static const struct word others[] = {
        {"ENOTSUP", ENOTSUP}, {"EWOULDBLOCK", EWOULDBLOCK}, {"EDEADLOCK", EDEADLOCK}, {NULL, 0}};
    const struct word *other = word_find(others, word, strlen(word));

    for (int error = 1; error <= ERRNO_LAST; error++) {
        const char *name = errno_word(error);

        if (name != NULL && strcmp(name, word) == 0)
            return error;
    }
    return other == NULL ? 0 : (int)other->value;
}

const char *signal_word(int signal)
{
    return signal <= 0 ? NULL : word_for(signal_words, (uint32_t)signal);
}

int signal_from_word(const char *word)
{
    const struct word *found = word_find(signal_words, word, strlen(word));

    return found == NULL ? 0 : (int)found->value;
}

const char *advice_word(int advice)
{
    return advice < 0 ? NULL : word_for(advice_words, (uint32_t)advice);
}

int advice_from_word(const char *word)
{
    const struct word *found = word_find(advice_words, word, strlen(word));

    return found == NULL ? -1 : (int)found->value;
}

enum scenario_verb verb_find(const char *text, size_t length)
{
    for (unsigned verb = 0; verb < VERB_COUNT; verb++) {
        const char *word = verb_descriptions[verb].word;

        if (strlen(word) == length && memcmp(word, text, length) == 0)
            return (enum scenario_verb)verb;
    }
    return VERB_COUNT;
}

bool is_reserved_word(const char *text)
{
    static const char *const others[] = {"heap", "ok", "any", "fill", "signal", "on", "else"};
    size_t length = strlen(text);

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(text, others[i]) == 0)
            return true;
    }
    return verb_find(text, length) != VERB_COUNT || word_find(mapping_words, text, length) ||
           word_find(sharing_words, text, length) || errno_from_word(text) != 0 ||
           signal_from_word(text) != 0;
}
