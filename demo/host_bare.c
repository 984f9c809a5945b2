/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bare faults; host_bare.h says what they are for.
 *
 * libsigsegv's dispatcher is given the one range and its resolver when a window is entered, and
 * forgets both when it is left, so that windows may be entered in turns. Everything here happens
 * outside of what is timed, but for the front handler, dispatch() and the resolver itself.
 */
#include "demo/host_bare.h"

#include <errno.h>
#include <signal.h>
#include <sigsegv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "pager/host_fault.h"
#include "pager/host_map.h"

#define WINDOW_BYTES ((uint64_t)32 << 30)
#define LEAST_WINDOW_BYTES ((uint64_t)1 << 30)

enum { STACK_BYTES = 256 * 1024 };

/* Signals of the thread that entered a window: ours, and what was there before. */
struct bare_entry {
    struct sigsegv_dispatcher dispatcher;
    void *ticket;
    struct sigaction before;
    struct sigaction inner; /* libsigsegv's */
    stack_t stack_before;
    uint8_t *stack;
};

/* The window that is entered; one at a time. For the handler alone. */
static struct bare_window *entered;
static _Thread_local volatile sig_atomic_t is_write __attribute__((tls_model("initial-exec")));

/* --- a fault --- */

static bool access_is_write(const void *context)
{
#if defined(__x86_64__)
    const ucontext_t *user = context;

    return (user->uc_mcontext.gregs[REG_ERR] & (greg_t)2) != 0;
#else
    (void)context;
    return true;
#endif
}

static void front_handler(int number, siginfo_t *info, void *context)
{
    int errno_before = errno;

    if (info->si_code <= 0 ||
        (uintptr_t)info->si_addr - (uintptr_t)entered->base >= entered->bytes) {
        /* A crash that is none of ours: it happens again, as if we had not been there. */
        if (sigaction(number, &entered->entry->before, NULL) != 0)
            host_die("forklab: a fault outside the window, and its handler cannot be put back\n");
        if (info->si_code <= 0)
            (void)raise(number);
        return;
    }
    is_write = access_is_write(context);
    entered->entry->inner.sa_sigaction(number, info, context);
    errno = errno_before;
}

static int dispatch(void *address, int serious)
{
    (void)serious;
    return sigsegv_dispatch(&entered->entry->dispatcher, address);
}

bool bare_fault_is_write(void)
{
    return is_write != 0;
}

void bare_protect(void *address, enum bare_access access)
{
    static const int protections[] = {
        [BARE_NONE] = PROT_NONE, [BARE_READ] = PROT_READ, [BARE_WRITE] = PROT_READ | PROT_WRITE};
    void *page = (void *)((uintptr_t)address & ~PAGE_OFFSET_MASK);

    if (mprotect(page, PAGE_BYTES, protections[access]) != 0)
        host_die("forklab: the host refuses to protect a page of the floor's\n");
}

/* --- going in and out --- */

static int set_stack(struct bare_entry *entry)
{
    stack_t wanted = {.ss_sp = entry->stack + PAGE_BYTES, .ss_size = STACK_BYTES};

    return sigaltstack(&wanted, &entry->stack_before) == 0 ? 0 : -errno;
}

static int install_handler(struct bare_entry *entry)
{
    struct sigaction front = {.sa_sigaction = front_handler,
                              .sa_flags = SA_NODEFER | SA_ONSTACK | SA_SIGINFO};

    sigemptyset(&front.sa_mask);
    if (sigaction(SIGSEGV, NULL, &entry->before) != 0)
        return -errno;
    if (sigsegv_install_handler(dispatch) != 0 || sigaction(SIGSEGV, NULL, &entry->inner) != 0 ||
        (entry->inner.sa_flags & SA_SIGINFO) == 0 || sigaction(SIGSEGV, &front, NULL) != 0) {
        (void)sigaction(SIGSEGV, &entry->before, NULL);
        return -EPERM;
    }
    return 0;
}

int bare_window_enter(struct bare_window *window, bare_resolve *resolve, void *context)
{
    struct bare_entry *entry = window->entry;

    host_fault_pause();
    entered = window;
    sigsegv_init(&entry->dispatcher);
    entry->ticket =
        sigsegv_register(&entry->dispatcher, window->base, window->bytes, resolve, context);
    int error = entry->ticket != NULL ? set_stack(entry) : -ENOMEM;

    if (error == 0) {
        error = install_handler(entry);
        if (error != 0)
            (void)sigaltstack(&entry->stack_before, NULL);
    }
    if (error != 0) {
        if (entry->ticket != NULL)
            sigsegv_unregister(&entry->dispatcher, entry->ticket);
        (void)host_fault_resume();
    }
    return error;
}

int bare_window_leave(struct bare_window *window)
{
    struct bare_entry *entry = window->entry;
    int error = 0;

    if (sigaction(SIGSEGV, &entry->before, NULL) != 0)
        error = -errno;
    if (sigaltstack(&entry->stack_before, NULL) != 0 && error == 0)
        error = -errno;
    sigsegv_unregister(&entry->dispatcher, entry->ticket);
    int resumed = host_fault_resume();

    return error != 0 ? error : resumed;
}

/* --- windows --- */

/* As large as the host grants, down to what makes no sense any more. */
static int reserve(struct bare_window *window)
{
    for (uint64_t bytes = WINDOW_BYTES; bytes >= LEAST_WINDOW_BYTES; bytes /= 2) {
        void *base =
            mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (base == MAP_FAILED)
            continue;
        window->base = base;
        window->bytes = bytes;
        return madvise(base, bytes, MADV_DONTFORK) == 0 ? 0 : -errno;
    }
    return -ENOMEM;
}

static int make_frames(struct bare_window *window)
{
    size_t bytes = window->frame_count * PAGE_BYTES;

    window->file = memfd_create("forklab-floor", MFD_CLOEXEC);
    if (window->file < 0 || ftruncate(window->file, (off_t)bytes) != 0)
        return -errno;
    void *frames = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, window->file, 0);

    if (frames == MAP_FAILED)
        return -errno;
    window->frames = frames;
    memset(frames, 1, bytes);
    return madvise(frames, bytes, MADV_DONTFORK) == 0 ? 0 : -errno;
}

/* The alternate stack, above a guard page. */
static int make_entry(struct bare_window *window)
{
    struct bare_entry *entry = calloc(1, sizeof(*entry));

    if (entry == NULL)
        return -ENOMEM;
    window->entry = entry;
    void *stack = mmap(NULL, STACK_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (stack == MAP_FAILED)
        return -errno;
    entry->stack = stack;
    return mprotect(stack, PAGE_BYTES, PROT_NONE) == 0 ? 0 : -errno;
}

int bare_window_create(struct bare_window *window, size_t frame_count, char *problem,
                       size_t problem_bytes)
{
    *window = (struct bare_window){.file = -1, .frame_count = frame_count};
    int error = reserve(window);

    if (error == 0)
        error = make_frames(window);
    if (error == 0)
        error = make_entry(window);
    if (error == 0)
        return 0;
    snprintf(problem, problem_bytes, "the floor gets no window from the host: %s",
             strerror(-error));
    bare_window_destroy(window);
    return error;
}

void bare_window_destroy(struct bare_window *window)
{
    if (window->entry != NULL && window->entry->stack != NULL)
        (void)munmap(window->entry->stack, STACK_BYTES + PAGE_BYTES);
    free(window->entry);
    if (window->frames != NULL)
        (void)munmap(window->frames, window->frame_count * PAGE_BYTES);
    if (window->file >= 0)
        (void)close(window->file);
    if (window->base != NULL)
        (void)munmap(window->base, window->bytes);
    *window = (struct bare_window){.file = -1};
}

int bare_window_place(struct bare_window *window, uint64_t offset, size_t frame, uint8_t **page)
{
    if (offset % PAGE_BYTES != 0 || offset >= window->bytes || frame >= window->frame_count)
        return -EINVAL;
    uint8_t *address = window->base + offset;

    if (mmap(address, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE,
             window->file, (off_t)(frame * PAGE_BYTES)) == MAP_FAILED ||
        mprotect(address, PAGE_BYTES, PROT_NONE) != 0)
        return -errno;
    *page = address;
    return 0;
}
