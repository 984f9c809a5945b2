/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bare faults: real pages, real faults through libsigsegv, and no emulator behind them. The two
 * floors (host_floor.c, host_fault_floor.c) stand on this, so that what they measure is what any
 * MMU made of mprotect and SIGSEGV has to pay.
 *
 * A bare window is what a window of the pager is to the host: a large reservation, with pages of a
 * memory file mapped into it one by one. They are mapped already when the clock runs, as they are
 * in a window that was used before: a fault and a revoke cost one mprotect each. The handler stands
 * in front of libsigsegv's and notes the access, as the pager's does.
 *
 * Where the processor does not tell reads from writes, a bare fault counts as a write.
 */
#ifndef FORKLAB_DEMO_HOST_BARE_H
#define FORKLAB_DEMO_HOST_BARE_H

#include "pt/types.h"

/*
 * Resolves a fault at an address of the window; not 0: the access may be tried again. Runs in the
 * signal handler. (The type is that of libsigsegv's area handlers: it calls this itself.)
 */
typedef int bare_resolve(void *address, void *context);

struct bare_window {
    uint8_t *base;
    uint64_t bytes;
    int file;
    uint8_t *frames; /* all of the memory file, for the copies that a kernel makes */
    size_t frame_count;
    struct bare_entry *entry; /* what host_bare.c keeps of the thread's signals */
};

/* A window over that many frames, which are written once. -errno with one line in `problem`. */
int bare_window_create(struct bare_window *window, size_t frame_count, char *problem,
                       size_t problem_bytes);
void bare_window_destroy(struct bare_window *window);

/* Maps a frame at an offset of the window, out of reach for now, and gives its address. -errno. */
int bare_window_place(struct bare_window *window, uint64_t offset, size_t frame, uint8_t **page);

/*
 * From here on this thread's faults in the window go to `resolve`, until bare_window_leave(). The
 * pager's own handler is taken out meanwhile: nobody may be in user mode of any machine. -errno.
 */
int bare_window_enter(struct bare_window *window, bare_resolve *resolve, void *context);
int bare_window_leave(struct bare_window *window);

/* In a resolver: is the access a write? */
bool bare_fault_is_write(void);

/* Lets reads and writes, or reads, or nothing through: one mprotect. */
enum bare_access { BARE_NONE, BARE_READ, BARE_WRITE };

/* Ends the process if the host refuses, which it has no reason to do on a page that is mapped. */
void bare_protect(void *address, enum bare_access access);

#endif
