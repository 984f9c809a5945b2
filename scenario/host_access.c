/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Real loads and stores, counted, and the handler of those that go wrong.
 *
 * Only faults of the accesses themselves may count. So what else is touched between the two looks
 * at the counter is touched before: the code and the stack by a rehearsal on a byte of our own, the
 * buffer page by page. (After a fork each of them would fault.) Nothing here is instrumented by a
 * sanitizer, which would touch its shadow of the range.
 */
#include "scenario/host_access.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define NOT_INSTRUMENTED __attribute__((no_sanitize("address", "thread"), noinline))
#define ACCESS_PAGE_BYTES ((uint64_t)4096)

enum { SIGNAL_STACK_BYTES = 64 << 10 };

/* What the handler must find. A task has one thread; a vfork child borrows it from its parent, who
 * stands still meanwhile. */
static struct {
    volatile sig_atomic_t is_accessing;
    volatile uint64_t faults_before;
} current;

static _Alignas(4096) volatile uint8_t signal_stack[SIGNAL_STACK_BYTES];

NOT_INSTRUMENTED static uint64_t minor_faults(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_THREAD, &usage);
    return (uint64_t)usage.ru_minflt;
}

/* --- instructions --- */

static inline __attribute__((always_inline)) uint8_t load_byte(uint64_t from)
{
    uint8_t byte;

    __asm__ volatile("movb (%%rsi), %b0" : "=a"(byte) : "S"(from) : "memory");
    return byte;
}

static inline __attribute__((always_inline)) void store_byte(uint64_t to, uint8_t byte)
{
    __asm__ volatile("movb %b1, (%%rdi)" : : "D"(to), "a"(byte) : "memory");
}

static inline __attribute__((always_inline)) void copy_bytes(uint64_t to, uint64_t from,
                                                             uint64_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static inline __attribute__((always_inline)) void fill_bytes(uint64_t to, uint8_t byte,
                                                             uint64_t bytes)
{
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(byte) : "memory");
}

/* --- ranges --- */

/* Bytes from here to the end of the page, `most` at most. */
static inline __attribute__((always_inline)) uint64_t page_part(uint64_t address, uint64_t most)
{
    uint64_t part = ACCESS_PAGE_BYTES - address % ACCESS_PAGE_BYTES;

    return part < most ? part : most;
}

NOT_INSTRUMENTED static void load_range(const struct host_access *access)
{
    uint64_t to = (uint64_t)access->buffer;
    uint64_t from = access->address;

    for (uint64_t left = access->bytes; left > 0;) {
        uint64_t part = page_part(from, left);

        store_byte(to, load_byte(from));
        copy_bytes(to + 1, from + 1, part - 1);
        to += part;
        from += part;
        left -= part;
    }
}

NOT_INSTRUMENTED static void store_range(const struct host_access *access)
{
    uint64_t from = (uint64_t)access->buffer;
    uint64_t to = access->address;

    for (uint64_t left = access->bytes; left > 0;) {
        uint64_t part = page_part(to, left);

        store_byte(to, access->is_fill ? access->fill : load_byte(from));
        if (access->is_fill)
            fill_bytes(to + 1, access->fill, part - 1);
        else
            copy_bytes(to + 1, from + 1, part - 1);
        to += part;
        from += part;
        left -= part;
    }
}

NOT_INSTRUMENTED static void touch_pages(const struct host_access *access)
{
    uint64_t to = (uint64_t)access->buffer;
    uint64_t at = access->address;

    for (uint64_t left = access->bytes; left > 0;) {
        uint64_t part = page_part(at, left);

        if (access->verb == VERB_PEEK)
            store_byte(to++, load_byte(at));
        else
            store_byte(at, access->fill);
        at += part;
        left -= part;
    }
}

NOT_INSTRUMENTED static void make(const struct host_access *access)
{
    if (access->verb == VERB_READ)
        load_range(access);
    else if (access->verb == VERB_WRITE)
        store_range(access);
    else
        touch_pages(access);
}

uint64_t host_access_buffer_bytes(const struct host_access *access)
{
    uint64_t offset = access->address % ACCESS_PAGE_BYTES;

    if (access->bytes == 0 || access->verb == VERB_POKE || access->is_fill)
        return 0;
    if (access->verb != VERB_PEEK)
        return access->bytes;
    /* In pages, since a range may end beyond the last address. */
    return access->bytes / ACCESS_PAGE_BYTES +
           (access->bytes % ACCESS_PAGE_BYTES + offset + ACCESS_PAGE_BYTES - 1) / ACCESS_PAGE_BYTES;
}

/* --- counting --- */

/* The kernel puts the signal's frame there, at the upper end. */
NOT_INSTRUMENTED static void touch_signal_stack(void)
{
    for (size_t at = 0; at < sizeof(signal_stack); at += ACCESS_PAGE_BYTES)
        signal_stack[at] = 1;
}

NOT_INSTRUMENTED static void touch_buffer(const struct host_access *access)
{
    uint64_t bytes = host_access_buffer_bytes(access);
    bool loads = access->verb == VERB_READ || access->verb == VERB_PEEK;

    for (uint64_t at = 0; at < bytes; at += ACCESS_PAGE_BYTES) {
        uint64_t place = (uint64_t)access->buffer + at;

        if (loads)
            store_byte(place, 0);
        else
            (void)load_byte(place);
    }
}

NOT_INSTRUMENTED static void rehearse(const struct host_access *access)
{
    uint8_t own_byte = 0;
    struct host_access rehearsal = *access;

    rehearsal.address = (uint64_t)&own_byte;
    rehearsal.bytes = 1;
    make(&rehearsal);
    current.faults_before = minor_faults();
}

NOT_INSTRUMENTED uint64_t host_access_make(const struct host_access *access)
{
    touch_signal_stack();
    touch_buffer(access);
    rehearse(access);
    current.is_accessing = 1;
    current.faults_before = minor_faults();
    make(access);
    uint64_t after = minor_faults();

    current.is_accessing = 0;
    return after - current.faults_before;
}

/* --- signals --- */

/* Dies of the signal, leaving no core file. */
NOT_INSTRUMENTED static _Noreturn void die_of(int number)
{
    sigset_t set;

    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)signal(number, SIG_DFL);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, number);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(number);
    _exit(number);
}

/* What the program itself does wrong is a fault of ours; the other side hears of its end alone. */
NOT_INSTRUMENTED static void on_signal(int number, siginfo_t *info, void *context)
{
    struct host_reply reply = {
        .message = MESSAGE_REPLY,
        .kind = OUTCOME_SIGNAL,
        .signal = number,
        .code = info->si_code,
        .address = info->si_code == SI_KERNEL ? 0 : (uint64_t)info->si_addr,
    };

    (void)context;
    if (current.is_accessing) {
        reply.faults = minor_faults() - current.faults_before;
        (void)host_send(HOST_SOCKET, &reply, sizeof(reply), -1);
    }
    die_of(number);
}

int host_access_prepare(void)
{
    const stack_t stack = {.ss_sp = (void *)(uintptr_t)signal_stack,
                           .ss_size = sizeof(signal_stack)};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    (void)sigemptyset(&action.sa_mask);
    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGSEGV, &action, NULL) != 0 ||
        sigaction(SIGBUS, &action, NULL) != 0)
        return -errno;
    return 0;
}
