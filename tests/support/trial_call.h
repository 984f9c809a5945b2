/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a trial's operations reach the kernel: called from outside or from user code, with a request
 * for memory refused or none.
 */
#ifndef FORKLAB_TESTS_TRIAL_CALL_H
#define FORKLAB_TESTS_TRIAL_CALL_H

#include "tests/support/trial.h"

/* One call: what it is made with, and what came of it. */
struct trial_call {
    struct trial *trial;
    struct trial_task *task;
    const struct operation *operation;
    va_t va; /* of the operation's location */
    struct task_status waited;
    struct task *child;          /* of a fork, and who is waited for */
    struct access_script script; /* of the task, or of a forked child */
    uint8_t *data;               /* for copies */
    va_t address;                /* that mmap or brk returned */
    int result;                  /* of the call */
    int inner_result;            /* of the child's, or nested, user code */
    bool done;                   /* the call came back, or the program it started was reached */
    int run_result;              /* of task_run() where user code made the call */
};

/* Makes the call. False: entering user mode failed, which is an error of the test. */
bool trial_make_call(struct trial_call *call);

/* Fills in the script from the operation's steps, whose places are this task's. */
bool trial_script(struct trial *trial, const struct trial_task *task,
                  const struct operation *operation, struct access_script *script);

/*
 * What entering user mode does to the model: a word is pushed. False when the task dies of it, or
 * was killed for lack of memory, and then the comparison is done: *agrees.
 */
bool trial_enter_user_mode(struct trial *trial, struct trial_task *task, bool reached,
                           bool *agrees);

/* The model of a script, and how it must have gone. False: something differs. */
bool trial_expect_script(struct trial *trial, struct trial_task *task,
                         const struct access_script *script, int run_result, bool may_run_out);

/* Did the call fail for the memory that it was refused? At an address: a stack may have grown. */
bool trial_ran_out(const struct trial_call *call);
bool trial_ran_out_at(struct trial_call *call, va_t va, bool write);

/* Notes and compares the result of the call. */
bool trial_result_is(struct trial_call *call, int expected);

/* Is the task's address space what the model has? */
bool trial_mappings_are_unchanged(const struct trial_call *call);

/* Expectations: the model does what the call should have done. False: something differs. */
bool trial_expect_map(struct trial_call *call);
bool trial_expect_unmap(struct trial_call *call);
bool trial_expect_protect(struct trial_call *call);
bool trial_expect_brk(struct trial_call *call);

/* The words that exec is given, and what they look like on the new stack. */
extern const char *const trial_arguments[];
void trial_expect_exec(struct trial *trial, struct trial_task *task);

#endif
