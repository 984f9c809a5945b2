/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults of user code: the signal handler in front of libsigsegv's, and the run that is current on
 * each thread.
 *
 *   front handler   ours, put over libsigsegv's own: notes what kind of access it was, which
 *                   libsigsegv does not tell, and calls libsigsegv's
 *   area handler    called by libsigsegv's dispatcher for the one range it knows, the arena
 *   in fault        mark of a thread between the two ends of the front handler; a second fault
 *                   there is a bug of ours and ends the process with a line on standard error
 *   foreign fault   outside the arena, or no run is current: the action found before ours is put
 *                   back and the instruction tried again, so that it crashes as it would have
 *
 * The dispatcher is not thread-safe, so the arena is registered before any user code runs and
 * nothing ever again. The handler is in place from the first bound window of the process to the
 * last; in between, somebody else's handler in its place is an error at the next entry to user
 * mode.
 */
#ifndef FORKLAB_PAGER_HOST_FAULT_H
#define FORKLAB_PAGER_HOST_FAULT_H

#include "pager/host_window.h"
#include "pager/run.h"

/* One more bound window, or one less: the first puts the handler in place. 0 or -EPERM. */
int host_fault_hold(struct mmu *mmu);
void host_fault_drop(void);

/* The run becomes, or ceases to be, the current one of this thread. -ENOMEM, -EPERM. */
int host_fault_enter(struct host_window *window, struct run *run);
void host_fault_leave(struct host_window *window, struct run *run);

/* Notes that this page was installed for the current thread. */
void host_fault_note_install(uintptr_t host_page);

/* Sets the bit of each page of the chunk at this address that was lately installed for a thread. */
void host_fault_recent_pages(uintptr_t chunk_address, uint64_t pages[CHUNK_WORDS]);

/*
 * Takes the handler out for a part of the program that wants libsigsegv's for itself, and puts it
 * back. Nobody may be in user mode meanwhile. They do not nest.
 */
void host_fault_pause(void);
int host_fault_resume(void);

#endif
