/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The test program started anew, for what must end a process: a crash, an interrupt. Its main()
 * finds the case's name as its argument.
 */
#ifndef FORKLAB_TESTS_SELF_H
#define FORKLAB_TESTS_SELF_H

/* How such a process ended. */
enum self_end {
    SELF_EXITED,      /* with status 0 */
    SELF_FAILED,      /* with another status: so a sanitizer ends a crash */
    SELF_CRASHED,     /* by SIGSEGV */
    SELF_INTERRUPTED, /* by SIGINT */
    SELF_ELSE
};

/* Starts this program with that argument, its standard error closed, and waits for its end. */
enum self_end self_run(const char *name);

/* Sends the process the signal of Ctrl-C. */
void self_interrupt(void);

#endif
