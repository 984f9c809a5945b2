/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The handler of faults; host_fault.h has its terms.
 *
 * What happens at a fault of user code, in order: the front handler notes the access and calls
 * libsigsegv's handler, that its dispatcher, that the area handler, which turns the address into an
 * emulated one by a subtraction and calls the kernel. If the task is dead, the thread leaves from
 * there through libsigsegv, by a jump back to where it entered user mode.
 *
 * The signal mask is the same inside the handler as outside (no signal is blocked, SIGSEGV
 * neither), so that a jump out of it leaves nothing blocked. Each thread that enters user mode has
 * an alternate stack of ours until it ends, so that a task may fault wherever the stack pointer is.
 *
 * Where the processor does not tell reads from writes, or with FORKLAB_INFER_ACCESS defined, a
 * fault is a read unless the page can be read already. That looks at the window without the
 * machine's lock, so it is right as long as one thread at a time runs on a machine.
 */
#include "pager/host_fault.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sigsegv.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "pager/clock.h"
#include "pager/host_arena.h"
#include "pager/host_map.h"

#if defined(__x86_64__) && !defined(FORKLAB_INFER_ACCESS)
#define ACCESS_IS_TOLD 1
#define ERROR_CODE_WRITE ((greg_t)2)
#endif

#ifdef HOST_UNDER_TSAN
/* It takes malloc in a handler for a mistake; here the code that faulted is never inside malloc. */
const char *__tsan_default_options(void);

__attribute__((visibility("default"))) const char *__tsan_default_options(void)
{
    return "report_signal_unsafe=0";
}
#endif

enum { STACK_BYTES = 256 * 1024, RECENT_PAGES = 8 };

/* One thread that has been in user mode. */
struct host_thread {
    struct run *run; /* the innermost one */
    bool registered;
    volatile sig_atomic_t in_fault;
    int errno_before; /* of the fault */
    const ucontext_t *context;
    enum access access;
    unsigned next_recent;
    _Atomic uintptr_t recent[RECENT_PAGES]; /* host pages last installed for it; 0: none */
    void *stack;
    stack_t stack_before;
    struct host_thread *next;
    struct host_thread *previous;
};

static _Thread_local struct host_thread thread __attribute__((tls_model("initial-exec")));

/* All threads that have been in user mode and have not ended. */
static struct {
    pthread_mutex_t lock;
    struct host_thread *first;
    pthread_once_t once;
    pthread_key_t key;
    int key_error;
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/* The process's handler. */
static struct {
    pthread_mutex_t lock;
    _Atomic uint32_t holders; /* bound windows; changes from and to 0 under the lock */
    bool registered;
    bool paused;
    struct sigsegv_dispatcher dispatcher;
    struct sigaction before; /* found before ours */
    struct sigaction inner;  /* libsigsegv's */
} handler = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- a fault --- */

/* Puts back what was there before us and lets it see the same fault. */
static void hand_on(int number, const siginfo_t *info)
{
    if (sigaction(number, &handler.before, NULL) != 0)
        host_die("forklab: a fault outside every window, and its handler cannot be put back\n");
    /* A signal that somebody sent does not come again by itself. */
    if (info->si_code <= 0 && raise(number) != 0)
        host_die("forklab: a signal cannot be handed on\n");
}

static bool is_ours(const siginfo_t *info)
{
    return info->si_code > 0 && thread.run != NULL && host_arena_holds((uintptr_t)info->si_addr);
}

static enum access access_of(const void *context)
{
#ifdef ACCESS_IS_TOLD
    const ucontext_t *user = context;

    return (user->uc_mcontext.gregs[REG_ERR] & ERROR_CODE_WRITE) != 0 ? ACCESS_WRITE : ACCESS_READ;
#else
    (void)context;
    return ACCESS_READ;
#endif
}

static void front_handler(int number, siginfo_t *info, void *context)
{
    int errno_before = errno;

    if (thread.in_fault && info->si_code > 0)
        host_die("forklab: a fault in the fault handler; this is a bug of forklab\n");
    if (!is_ours(info)) {
        hand_on(number, info);
        errno = errno_before;
        return;
    }
    thread.in_fault = 1;
    thread.errno_before = errno_before;
    thread.context = context;
    thread.access = access_of(context);
    handler.inner.sa_sigaction(number, info, context);
    thread.in_fault = 0;
    errno = errno_before;
}

/* On the way out of a dead task. */
static void escape(void *run, void *unused_2, void *unused_3)
{
    (void)unused_2;
    (void)unused_3;
    /* We blocked nothing; a sanitizer's handler in front of us may have. */
    if (pthread_sigmask(SIG_SETMASK, &thread.context->uc_sigmask, NULL) != 0)
        host_die("forklab: the signal mask cannot be put back\n");
    thread.in_fault = 0;
    errno = thread.errno_before;
    run_escape(run);
}

static enum run_verdict judge(struct run *run, uintptr_t address)
{
    const struct host_window *window = host_window_of(run->space);
    va_t va = address - window->base;
    enum access access = thread.access;

#ifndef ACCESS_IS_TOLD
    if (host_window_is_readable(window, va))
        access = ACCESS_WRITE;
#endif
    if (va < window->limit_bytes)
        return run_fault(run, va, access);
    return run_wild_access(run, va, access);
}

static int area_handler(void *address, void *unused)
{
    struct run *run = thread.run;

    (void)unused;
    if (run == NULL)
        return 0;
    if (judge(run, (uintptr_t)address) == RUN_KILLED)
        return sigsegv_leave_handler(escape, run, NULL, NULL);
    return 1;
}

static int dispatch(void *address, int serious)
{
    (void)serious;
    return sigsegv_dispatch(&handler.dispatcher, address);
}

/* --- the handler's coming and going --- */

static bool is_front(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == front_handler;
}

static int install_handler(void)
{
    struct sigaction front = {.sa_sigaction = front_handler,
                              .sa_flags = SA_NODEFER | SA_ONSTACK | SA_SIGINFO};

    if (!handler.registered) {
        sigsegv_init(&handler.dispatcher);
        (void)sigsegv_register(&handler.dispatcher, (void *)host_arena_start(), host_arena_bytes(),
                               area_handler, NULL);
        handler.registered = true;
    }
    sigemptyset(&front.sa_mask);
    if (sigaction(SIGSEGV, NULL, &handler.before) != 0 || sigsegv_install_handler(dispatch) != 0 ||
        sigaction(SIGSEGV, NULL, &handler.inner) != 0 || sigaction(SIGSEGV, &front, NULL) != 0)
        return -EPERM;
    return (handler.inner.sa_flags & SA_SIGINFO) != 0 ? 0 : -EPERM;
}

/* Only ours is taken out: whoever came after us stays. */
static void remove_handler(void)
{
    struct sigaction now;

    if (sigaction(SIGSEGV, NULL, &now) == 0 && is_front(&now) &&
        sigaction(SIGSEGV, &handler.before, NULL) != 0)
        host_die("forklab: the handler of SIGSEGV cannot be put back\n");
}

int host_fault_hold(struct mmu *mmu)
{
    uint32_t holders = atomic_load_explicit(&handler.holders, memory_order_acquire);
    int error = 0;

    while (holders > 0)
        if (atomic_compare_exchange_weak(&handler.holders, &holders, holders + 1))
            return 0;
    pthread_mutex_lock(&handler.lock);
    if (atomic_load(&handler.holders) == 0 && !handler.paused)
        error = install_handler();
    if (error == 0)
        atomic_fetch_add(&handler.holders, 1);
    else
        (void)snprintf(mmu->problem, sizeof(mmu->problem),
                       "the handler of SIGSEGV cannot be put in place");
    pthread_mutex_unlock(&handler.lock);
    return error;
}

void host_fault_drop(void)
{
    uint32_t holders = atomic_load_explicit(&handler.holders, memory_order_relaxed);

    while (holders > 1)
        if (atomic_compare_exchange_weak(&handler.holders, &holders, holders - 1))
            return;
    pthread_mutex_lock(&handler.lock);
    if (atomic_fetch_sub(&handler.holders, 1) == 1 && !handler.paused)
        remove_handler();
    pthread_mutex_unlock(&handler.lock);
}

void host_fault_pause(void)
{
    pthread_mutex_lock(&handler.lock);
    if (!handler.paused && atomic_load(&handler.holders) > 0)
        remove_handler();
    handler.paused = true;
    pthread_mutex_unlock(&handler.lock);
}

int host_fault_resume(void)
{
    int error = 0;

    pthread_mutex_lock(&handler.lock);
    if (handler.paused && atomic_load(&handler.holders) > 0)
        error = install_handler();
    handler.paused = false;
    pthread_mutex_unlock(&handler.lock);
    return error;
}

/* Says whose handler stands where ours should. */
static void name_foreign(struct mmu *mmu, const struct sigaction *action)
{
    void *function = (action->sa_flags & SA_SIGINFO) != 0 ? (void *)(uintptr_t)action->sa_sigaction
                                                          : (void *)(uintptr_t)action->sa_handler;
    Dl_info found = {0};
    const char *symbol = "";
    const char *file = "an unknown place";

    if (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN) {
        file = action->sa_handler == SIG_DFL ? "the default action" : "\"ignore\"";
    } else if (dladdr(function, &found) != 0) {
        const char *slash = strrchr(found.dli_fname, '/');

        file = slash != NULL ? slash + 1 : found.dli_fname;
        symbol = found.dli_sname != NULL ? found.dli_sname : "a handler";
    }
    (void)snprintf(mmu->problem, sizeof(mmu->problem),
                   "the handler of SIGSEGV was replaced by %.40s%s%.30s after windows were bound",
                   symbol, *symbol != '\0' ? " of " : "", file);
}

static int check_handler(struct mmu *mmu)
{
    struct sigaction now;
    uint64_t start_ticks = clock_ticks();
    int result = sigaction(SIGSEGV, NULL, &now);

    mmu->host_ticks += clock_ticks() - start_ticks;
    if (result != 0)
        return -EPERM;
    if (is_front(&now))
        return 0;
    name_foreign(mmu, &now);
    return -EPERM;
}

/* --- threads --- */

/* At the thread's end, while its thread-local data are still there. */
static void end_thread(void *record)
{
    struct host_thread *ending = record;
    stack_t now;

    pthread_mutex_lock(&threads.lock);
    if (ending->previous != NULL)
        ending->previous->next = ending->next;
    else
        threads.first = ending->next;
    if (ending->next != NULL)
        ending->next->previous = ending->previous;
    pthread_mutex_unlock(&threads.lock);
    /* Somebody else's stack, set after ours, stays; then ours is not in use either. */
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == (uint8_t *)ending->stack + PAGE_BYTES)
        (void)sigaltstack(&ending->stack_before, NULL);
    (void)munmap(ending->stack, STACK_BYTES + PAGE_BYTES);
    ending->registered = false;
}

static void make_key(void)
{
    threads.key_error = pthread_key_create(&threads.key, end_thread);
}

/* A mapped stack above a guard page. */
static int set_stack(void)
{
    uint8_t *stack = mmap(NULL, STACK_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (stack == MAP_FAILED)
        return -ENOMEM;
    stack_t wanted = {.ss_sp = stack + PAGE_BYTES, .ss_size = STACK_BYTES};

    if (mprotect(stack, PAGE_BYTES, PROT_NONE) != 0 ||
        sigaltstack(&wanted, &thread.stack_before) != 0) {
        int error = errno == ENOMEM ? -ENOMEM : -EPERM;

        (void)munmap(stack, STACK_BYTES + PAGE_BYTES);
        return error;
    }
    thread.stack = stack;
    return 0;
}

static int register_thread(void)
{
    if (pthread_once(&threads.once, make_key) != 0 || threads.key_error != 0)
        return -ENOMEM;
    int error = set_stack();

    if (error != 0)
        return error;
    if (pthread_setspecific(threads.key, &thread) != 0) {
        (void)sigaltstack(&thread.stack_before, NULL);
        (void)munmap(thread.stack, STACK_BYTES + PAGE_BYTES);
        return -ENOMEM;
    }
    pthread_mutex_lock(&threads.lock);
    thread.previous = NULL;
    thread.next = threads.first;
    if (threads.first != NULL)
        threads.first->previous = &thread;
    threads.first = &thread;
    pthread_mutex_unlock(&threads.lock);
    thread.registered = true;
    return 0;
}

int host_fault_enter(struct host_window *window, struct run *run)
{
    struct mmu *mmu = &window->mmu->mmu;
    int error = thread.registered ? 0 : register_thread();

    if (error != 0) {
        (void)snprintf(mmu->problem, sizeof(mmu->problem),
                       "a thread cannot get its alternate signal stack");
        return error;
    }
    error = check_handler(mmu);
    if (error != 0)
        return error;
    atomic_fetch_add_explicit(&window->runners, 1, memory_order_acquire);
    run->space = (struct mmu_space *)(void *)window;
    run->user.base = window->base;
    run->user.limit = window->limit_bytes;
    run->outer = thread.run;
    thread.run = run;
    return 0;
}

void host_fault_leave(struct host_window *window, struct run *run)
{
    assert(thread.run == run);
    thread.run = run->outer;
    if (thread.run == NULL)
        for (unsigned i = 0; i < RECENT_PAGES; i++)
            atomic_store_explicit(&thread.recent[i], 0, memory_order_relaxed);
    atomic_fetch_sub_explicit(&window->runners, 1, memory_order_release);
}

void host_fault_note_install(uintptr_t host_page)
{
    unsigned last = (thread.next_recent + RECENT_PAGES - 1) % RECENT_PAGES;

    if (atomic_load_explicit(&thread.recent[last], memory_order_relaxed) == host_page)
        return;
    atomic_store_explicit(&thread.recent[thread.next_recent], host_page, memory_order_relaxed);
    thread.next_recent = (thread.next_recent + 1) % RECENT_PAGES;
}

static void add_recent(const struct host_thread *one, uintptr_t chunk_address,
                       uint64_t pages[CHUNK_WORDS])
{
    for (unsigned i = 0; i < RECENT_PAGES; i++) {
        uintptr_t host_page = atomic_load_explicit(&one->recent[i], memory_order_relaxed);
        uintptr_t page = (host_page - chunk_address) >> PAGE_SHIFT;

        if (host_page >= chunk_address && page < CHUNK_PAGES)
            pages[page / WORD_PAGES] |= (uint64_t)1 << (page % WORD_PAGES);
    }
}

void host_fault_recent_pages(uintptr_t chunk_address, uint64_t pages[CHUNK_WORDS])
{
    pthread_mutex_lock(&threads.lock);
    for (const struct host_thread *one = threads.first; one != NULL; one = one->next)
        add_recent(one, chunk_address, pages);
    pthread_mutex_unlock(&threads.lock);
}
