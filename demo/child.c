/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What children do; child.h has their life. */
#include "demo/child.h"

#include <errno.h>
#include <float.h>

#include "pager/clock.h"

/* A failed exec ends its child with this. */
enum { EXIT_CODE_NO_EXEC = 127 };

const char *const phase_names[PHASE_COUNT] = {
    [PHASE_FORK] = "fork",       [PHASE_WRITES] = "writes", [PHASE_EXEC] = "exec",
    [PHASE_PROGRAM] = "program", [PHASE_EXIT] = "exit",     [PHASE_WAIT] = "wait",
};

struct script {
    const struct parent *parent;
    struct marks *marks; /* NULL on the clock */
    bool stays;          /* returns instead of exiting, so that it can be looked at */
};

void mark_take(struct mark *mark, const struct machine *machine)
{
    memcpy(mark->counts, machine->events.counts, sizeof(mark->counts));
    mark->kernel_ticks = machine->kernel_ticks;
    mark->ticks = clock_ticks();
}

static void end_phase(const struct script *script, enum phase phase)
{
    if (script->marks != NULL)
        mark_take(&script->marks->ends[phase], script->parent->machine);
}

static void leave(struct forklab_user *user, const struct script *script)
{
    if (!script->stays)
        user_exit(user, 0);
}

/* task_run() has written a word on the stack already. */
static void child_exits(struct forklab_user *user, void *argument)
{
    const struct script *script = argument;

    forklab_store64(user, script->parent->own.data_word, 1);
    end_phase(script, PHASE_WRITES);
    leave(user, script);
}

static void program_runs(struct forklab_user *user, void *argument)
{
    const struct script *script = argument;

    end_phase(script, PHASE_EXEC);
    forklab_store64(user, script->parent->child.data_word,
                    forklab_load64(user, script->parent->child.text_word));
    end_phase(script, PHASE_PROGRAM);
    leave(user, script);
}

static void child_execs(struct forklab_user *user, void *argument)
{
    static const char *const arguments[] = {"forklab-tiny", NULL};
    const struct script *script = argument;

    forklab_store64(user, script->parent->own.data_word, 1);
    end_phase(script, PHASE_WRITES);
    (void)user_exec(user, script->parent->child.file, arguments, program_runs, argument);
    user_exit(user, EXIT_CODE_NO_EXEC);
}

static int run_child(struct task *child, enum fork_mode mode, struct script *script)
{
    return task_run(child, mode == MODE_FORK_EXEC_EXIT ? child_execs : child_exits, script);
}

int child_end(struct parent *parent, struct task *child)
{
    struct task_status status;
    int error = task_exit(child, 0);

    return error != 0 ? error : sys_wait(parent->task, child, &status);
}

int child_live(struct parent *parent, enum fork_mode mode, struct marks *marks)
{
    struct script script = {.parent = parent, .marks = marks};
    struct task_status status;
    struct task *child;
    int error = sys_fork(parent->task, &child);

    if (error != 0)
        return error;
    end_phase(&script, PHASE_FORK);
    int ended = run_child(child, mode, &script);

    if (ended < 0) {
        (void)child_end(parent, child);
        return ended;
    }
    end_phase(&script, PHASE_EXIT);
    error = sys_wait(parent->task, child, &status);
    end_phase(&script, PHASE_WAIT);
    if (error == 0 && status.killed)
        error = status.cause == EVENT_BAD_OOM ? -ENOMEM : -EFAULT;
    return error != 0 || status.exit_code == 0 ? error : -ENOEXEC;
}

static uint32_t own_tables(struct task *task)
{
    struct mm_usage usage;

    machine_lock(task->machine);
    mm_usage(task->mm, &usage);
    machine_unlock(task->machine);
    return usage.own_tables;
}

uint32_t child_table_frames(struct parent *parent, enum fork_mode mode)
{
    struct script script = {.parent = parent, .stays = true};
    struct task_status status;
    uint32_t frames = 0;
    struct task *child;

    if (sys_fork(parent->task, &child) != 0)
        return 0;
    int ended = mode == MODE_FORK ? 0 : run_child(child, mode, &script);

    if (ended == 0)
        frames = own_tables(child);
    if (ended == 1)
        (void)sys_wait(parent->task, child, &status);
    else
        (void)child_end(parent, child);
    return frames;
}

/* The child's instructions, run by the parent, which has touched all of it. */
struct rehearsal {
    const struct parent *parent;
    enum fork_mode mode;
    double ticks; /* the least */
};

enum { REHEARSALS = 50, REPEATS = 32 };

static void rehearse_once(struct forklab_user *user, const struct rehearsal *rehearsal)
{
    const struct program *program = &rehearsal->parent->own;
    va_t stack_word = user_task(user)->mm->stack_pointer - sizeof(uint64_t);

    forklab_store64(user, stack_word, 1);
    forklab_store64(user, program->data_word, 1);
    if (rehearsal->mode != MODE_FORK_EXEC_EXIT)
        return;
    forklab_store64(user, stack_word, 1);
    forklab_store64(user, program->data_word, forklab_load64(user, stack_word));
}

/* On the soft MMU an access enters the kernel; that part is the kernel's. */
static void rehearse(struct forklab_user *user, void *argument)
{
    struct rehearsal *rehearsal = argument;
    const struct machine *machine = rehearsal->parent->machine;

    for (unsigned i = 0; i < REHEARSALS; i++) {
        uint64_t kernel_ticks = machine->kernel_ticks;
        uint64_t start = clock_ticks();

        for (unsigned repeat = 0; repeat < REPEATS; repeat++)
            rehearse_once(user, rehearsal);
        double ticks =
            (double)(clock_ticks() - start) - (double)(machine->kernel_ticks - kernel_ticks);

        if (ticks / REPEATS < rehearsal->ticks)
            rehearsal->ticks = ticks / REPEATS;
    }
}

int child_own_ticks(struct parent *parent, enum fork_mode mode, double *ticks)
{
    struct rehearsal rehearsal = {.parent = parent, .mode = mode, .ticks = DBL_MAX};

    *ticks = 0;
    if (mode == MODE_FORK)
        return 0;
    int ended = task_run(parent->task, rehearse, &rehearsal);

    if (ended != 0)
        return ended > 0 ? -ENOMEM : ended;
    *ticks = rehearsal.ticks > 0 ? rehearsal.ticks : 0;
    return 0;
}
