/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks of the host backend: born, executing, ended, waited for.
 *
 * Nothing is asked that would wait for ever, and nothing of a process that may not be the one that
 * is meant any more: a number of a process that was reaped may be another's.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scenario/host_process.h"

static bool is_there(const struct host_process *process)
{
    return process->state != HOST_ABSENT && process->state != HOST_REAPED;
}

/* --- births --- */

/* The place for a new task's name; NULL when somebody has it. */
static struct host_process *free_place(struct host_backend *host, uint16_t task,
                                       struct scenario_outcome *outcome)
{
    if (task < SCENARIO_MOST_TASKS && !is_there(&host->tasks[task]))
        return &host->tasks[task];
    host_unable(outcome, "there is a task of that name already");
    return NULL;
}

/* Reads the child's greeting: -EPIPE when there is no child after all. */
static int meet_child(struct host_backend *host, struct host_process *child)
{
    struct host_reply hello;
    int error = host_receive(child->socket, &hello, sizeof(hello), NULL, HOST_PATIENCE_MS);

    if (error == -EPIPE) {
        (void)close(child->socket);
        return error;
    }
    child->pid = hello.pid;
    child->handle = error == 0 ? (int)syscall(SYS_pidfd_open, hello.pid, 0) : -1;
    child->state = HOST_ALIVE;
    if (child->handle < 0)
        host_break(host, "a child of the host backend does not begin");
    return child->handle < 0 ? -EIO : 0;
}

/*
 * Has the parent make a child: false when there is none, and the outcome says why. A vfork parent
 * answers later, when it goes on.
 */
static bool give_birth(struct host_backend *host, struct host_process *parent,
                       enum scenario_verb verb, struct host_process *child,
                       struct scenario_outcome *outcome)
{
    const struct host_request request = {.verb = verb};
    struct host_reply reply;
    int socket = -1;

    if (!host_send_to(host, parent, &request, -1) ||
        !host_receive_from(host, parent, &reply, &socket))
        return false;
    if (reply.message != MESSAGE_SOCKET) {
        host_outcome_of_reply(host, &reply, outcome);
        return false;
    }
    child->socket = socket;
    int error = meet_child(host, child);

    if (error == -EIO || (error == 0 && verb == VERB_VFORK))
        return error == 0;
    if (host_receive_from(host, parent, &reply, NULL))
        host_outcome_of_reply(host, &reply, outcome);
    return error == 0 && !host->is_broken;
}

void host_new_task(struct host_backend *host, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    struct host_process *place = free_place(host, operation->task, outcome);

    if (place == NULL)
        return;
    host_process_init(place);
    if (give_birth(host, &host->helper, VERB_FORK, place, outcome))
        host_done(outcome, 0);
    else
        place->socket = -1;
}

static void make_child(struct host_backend *host, const struct scenario_operation *operation,
                       struct scenario_outcome *outcome)
{
    struct host_process *parent = &host->tasks[operation->task];
    struct host_process *place = free_place(host, operation->other, outcome);

    if (place == NULL)
        return;
    struct host_process child = *parent;

    child.parent = operation->task;
    child.vfork_owner = SCENARIO_NOBODY;
    if (!give_birth(host, parent, operation->verb, &child, outcome))
        return;
    *place = child;
    host_done(outcome, 0);
}

void host_fork(struct host_backend *host, const struct scenario_operation *operation,
               struct scenario_outcome *outcome)
{
    make_child(host, operation, outcome);
}

void host_vfork(struct host_backend *host, const struct scenario_operation *operation,
                struct scenario_outcome *outcome)
{
    make_child(host, operation, outcome);
    if (outcome->kind != OUTCOME_DONE || host->is_broken)
        return;
    host->tasks[operation->task].state = HOST_SUSPENDED;
    host->tasks[operation->other].vfork_owner = operation->task;
}

/* --- exec --- */

/* Would a program of the host replace ours? It would not serve. */
static bool is_program(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* What is executed: 0; -1 when the outcome says why nothing is. */
static int prepare_exec(struct host_backend *host, const struct scenario_operation *operation,
                        struct host_request *request, int *file, struct scenario_outcome *outcome)
{
    bool replaces = false;

    if (operation->file != SCENARIO_NOBODY) {
        bool is_open = host_descriptor(host, operation->file) >= 0;

        if (is_open)
            *file = host_executable_copy(&host->files[operation->file], &replaces);
        if (*file < 0 && !replaces)
            host_error(outcome, is_open ? EIO : EBADF);
    } else if (operation->text != NULL) {
        size_t bytes = strlen(operation->text) + 1;

        replaces = is_program(operation->text);
        request->has_path = true;
        if (!host_has_room(bytes, outcome))
            return -1;
        memcpy(host->buffer, operation->text, bytes);
    }
    if (replaces)
        host_unable(outcome, "that program would take the place of the one that serves");
    return outcome->kind == OUTCOME_DONE ? 0 : -1;
}

/* Its own program greets anew. */
static void begin_program(struct host_backend *host, struct host_process *process,
                          const struct host_reply *hello, struct scenario_outcome *outcome)
{
    if (hello->kind != OUTCOME_DONE) {
        host_break(host, "the executed program: %.*s", HOST_WHY_BYTES - 1, hello->why);
        return;
    }
    memset(process->has_region, 0, sizeof(process->has_region));
    if (host_resume_owner(host, process))
        host_done(outcome, 0);
}

void host_exec(struct host_backend *host, const struct scenario_operation *operation,
               struct scenario_outcome *outcome)
{
    struct host_process *process = &host->tasks[operation->task];
    struct host_request request = {.verb = VERB_EXEC};
    struct host_reply reply;
    int file = -1;

    if (prepare_exec(host, operation, &request, &file, outcome) != 0)
        return;
    bool answered = host_ask(host, process, &request, file, &reply);

    if (file >= 0)
        (void)close(file);
    if (answered && reply.message == MESSAGE_HELLO)
        begin_program(host, process, &reply, outcome);
    else if (answered)
        host_outcome_of_reply(host, &reply, outcome);
}

/* --- ends --- */

void host_exit(struct host_backend *host, const struct scenario_operation *operation,
               struct scenario_outcome *outcome)
{
    const struct host_request request = {.verb = VERB_EXIT, .value = operation->value};

    if (host_send_to(host, &host->tasks[operation->task], &request, -1) &&
        host_await_end(host, operation->task))
        host_done(outcome, 0);
}

static void kill_itself(struct host_backend *host, const struct scenario_operation *operation,
                        struct scenario_outcome *outcome)
{
    struct host_process *process = &host->tasks[operation->task];
    const struct host_request request = {.verb = VERB_KILL, .pid = process->pid};

    if (host_send_to(host, process, &request, -1) && host_await_end(host, operation->task))
        host_done(outcome, 0);
}

void host_kill(struct host_backend *host, const struct scenario_operation *operation,
               struct scenario_outcome *outcome)
{
    struct host_process *killed =
        operation->other < SCENARIO_MOST_TASKS ? &host->tasks[operation->other] : NULL;

    if (killed == NULL || !is_there(killed)) {
        host_error(outcome, ESRCH);
        return;
    }
    if (operation->other == operation->task) {
        kill_itself(host, operation, outcome);
        return;
    }
    const struct host_request request = {.verb = VERB_KILL, .pid = killed->pid};
    struct host_reply reply;

    if (!host_ask(host, &host->tasks[operation->task], &request, -1, &reply))
        return;
    host_outcome_of_reply(host, &reply, outcome);
    if (reply.kind == OUTCOME_DONE && killed->state != HOST_ENDED)
        (void)host_await_end(host, operation->other);
}

/* --- waiting --- */

/* How many children of that name, or in all, there are, and how many of them have ended. */
static void count_children(const struct host_backend *host,
                           const struct scenario_operation *operation, unsigned *there,
                           unsigned *ended)
{
    *there = 0;
    *ended = 0;
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        const struct host_process *child = &host->tasks[i];

        if (!is_there(child) || child->parent != operation->task ||
            (operation->other != SCENARIO_NOBODY && operation->other != i))
            continue;
        *there += 1;
        *ended += child->state == HOST_ENDED;
    }
}

static void note_reaped(struct host_backend *host, pid_t pid, struct scenario_outcome *outcome)
{
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        if (host->tasks[i].state != HOST_ENDED || host->tasks[i].pid != pid)
            continue;
        host->tasks[i].state = HOST_REAPED;
        outcome->child = (uint16_t)i;
    }
}

void host_wait(struct host_backend *host, const struct scenario_operation *operation,
               struct scenario_outcome *outcome)
{
    struct host_request request = {.verb = VERB_WAIT, .pid = -1};
    struct host_reply reply;
    unsigned there;
    unsigned ended;

    count_children(host, operation, &there, &ended);
    if (there > 0 && ended == 0) {
        host_unable(outcome, "%s would wait for ever: no such child has ended",
                    host_task_name(host, operation->task));
        return;
    }
    if (there == 0 && operation->other != SCENARIO_NOBODY) {
        host_error(outcome, ECHILD);
        return;
    }
    if (operation->other != SCENARIO_NOBODY)
        request.pid = host->tasks[operation->other].pid;
    if (!host_ask(host, &host->tasks[operation->task], &request, -1, &reply))
        return;
    host_outcome_of_reply(host, &reply, outcome);
    if (reply.kind == OUTCOME_EXITED || reply.kind == OUTCOME_KILLED)
        note_reaped(host, reply.pid, outcome);
}
