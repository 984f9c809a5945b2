/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of the host backend, seen from the controlling side: started, asked, ended.
 *
 * Every end is waited for, until the process is a zombie: only then is its memory given back for
 * sure, and what its parent hears of it is certain.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scenario/host_process.h"

/* Descriptors are put above those that the helper finds in fixed places. */
enum { LOWEST_DESCRIPTOR = 10 };

void host_process_init(struct host_process *process)
{
    *process = (struct host_process){
        .socket = -1, .handle = -1, .parent = SCENARIO_NOBODY, .vfork_owner = SCENARIO_NOBODY};
}

static void close_process(struct host_process *process)
{
    if (process->socket >= 0)
        (void)close(process->socket);
    if (process->handle >= 0)
        (void)close(process->handle);
    process->socket = -1;
    process->handle = -1;
}

/* Until it is dead. */
static bool await_handle(int handle)
{
    struct pollfd poll_handle = {.fd = handle, .events = POLLIN};
    int ready;

    do {
        ready = poll(&poll_handle, 1, HOST_PATIENCE_MS);
    } while (ready < 0 && errno == EINTR);
    return ready == 1;
}

/* --- the helper --- */

static int add_actions(posix_spawn_file_actions_t *actions, int socket, int buffer_file)
{
    int error = posix_spawn_file_actions_adddup2(actions, socket, HOST_SOCKET);

    return error != 0 ? error : posix_spawn_file_actions_adddup2(actions, buffer_file, HOST_BUFFER);
}

/* Executes this program anew. A positive errno. */
static int spawn_helper(int socket, int buffer_file, pid_t *helper)
{
    char no_limit[] = "18446744073709551615";
    char *arguments[] = {"forklab", HOST_ARGUMENT, HOST_ROLE_HELPER, no_limit, no_limit, NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);

    if (error != 0)
        return error;
    error = add_actions(&actions, socket, buffer_file);
    if (error == 0)
        error = posix_spawn(helper, "/proc/self/exe", &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

int host_descriptor_raise(int file)
{
    int raised = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR);

    if (file >= 0)
        (void)close(file);
    return raised;
}

static int connect_helper(struct host_backend *host)
{
    int sockets[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return -errno;
    int other = host_descriptor_raise(sockets[1]);
    int error = other < 0 ? errno : spawn_helper(other, host->buffer_file, &host->helper.pid);

    if (other >= 0)
        (void)close(other);
    host->helper.socket = sockets[0];
    return -error;
}

static int greet_helper(struct host_backend *host, char *problem, size_t problem_bytes)
{
    struct host_reply hello;
    int error = host_receive(host->helper.socket, &hello, sizeof(hello), NULL, HOST_PATIENCE_MS);

    if (error != 0) {
        snprintf(problem, problem_bytes, "the host backend's helper says nothing: %s",
                 strerror(-error));
        return error;
    }
    host->has_zero_page = hello.value != 0;
    if (hello.kind == OUTCOME_DONE)
        return 0;
    snprintf(problem, problem_bytes, "the host backend's helper: %.*s", HOST_WHY_BYTES - 1,
             hello.why);
    return -hello.error;
}

int host_start_helper(struct host_backend *host, char *problem, size_t problem_bytes)
{
    int error = connect_helper(host);

    if (error != 0) {
        snprintf(problem, problem_bytes, "the host backend's helper cannot be started: %s",
                 strerror(-error));
        return error;
    }
    host->helper.state = HOST_ALIVE;
    host->helper.handle = (int)syscall(SYS_pidfd_open, host->helper.pid, 0);
    if (host->helper.handle < 0) {
        snprintf(problem, problem_bytes, "the host has no descriptors of processes: %s",
                 strerror(errno));
        return -EOPNOTSUPP;
    }
    return greet_helper(host, problem, problem_bytes);
}

/* --- asking --- */

bool host_send_to(struct host_backend *host, const struct host_process *process,
                  const struct host_request *request, int file)
{
    if (!host_send(process->socket, request, sizeof(*request), file))
        host_break(host, "a process of the host backend has ended before its time");
    return !host->is_broken;
}

bool host_receive_from(struct host_backend *host, const struct host_process *process,
                       struct host_reply *reply, int *file)
{
    int error = host_receive(process->socket, reply, sizeof(*reply), file, HOST_PATIENCE_MS);

    if (error == -EPIPE)
        host_break(host, "a process of the host backend has ended before its time");
    else if (error == -ETIMEDOUT)
        host_break(host, "a process of the host backend has not answered for %d seconds",
                   HOST_PATIENCE_MS / 1000);
    else if (error != 0)
        host_break(host, "a process of the host backend talks nonsense");
    return error == 0;
}

bool host_ask(struct host_backend *host, struct host_process *process,
              const struct host_request *request, int file, struct host_reply *reply)
{
    return host_send_to(host, process, request, file) &&
           host_receive_from(host, process, reply, NULL);
}

bool host_ask_task(struct host_backend *host, uint16_t task, const struct host_request *request,
                   int file, struct host_reply *reply)
{
    if (!host_ask(host, &host->tasks[task], request, file, reply))
        return false;
    return reply->kind != OUTCOME_SIGNAL || host_await_end(host, task);
}

/* --- ends --- */

bool host_resume_owner(struct host_backend *host, struct host_process *process)
{
    struct host_process *owner =
        process->vfork_owner == SCENARIO_NOBODY ? NULL : &host->tasks[process->vfork_owner];
    struct host_reply reply;

    process->vfork_owner = SCENARIO_NOBODY;
    if (owner == NULL)
        return true;
    owner->state = HOST_ALIVE;
    return host_receive_from(host, owner, &reply, NULL);
}

/* The helper reaps whom nobody else can wait for any more. */
static void leave_children(struct host_backend *host, uint16_t task)
{
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        struct host_process *child = &host->tasks[i];

        if (child->vfork_owner == task)
            child->vfork_owner = SCENARIO_NOBODY;
        if (child->parent != task)
            continue;
        child->parent = SCENARIO_NOBODY;
        if (child->state == HOST_ENDED)
            child->state = HOST_REAPED;
    }
}

bool host_await_end(struct host_backend *host, uint16_t task)
{
    struct host_process *process = &host->tasks[task];

    if (!await_handle(process->handle)) {
        host_break(host, "%s does not end", host_task_name(host, task));
        return false;
    }
    close_process(process);
    process->state = process->parent == SCENARIO_NOBODY ? HOST_REAPED : HOST_ENDED;
    leave_children(host, task);
    return host_resume_owner(host, process);
}

/* --- the end of all --- */

static bool kill_tasks(struct host_backend *host)
{
    bool all = true;

    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        if (host->tasks[i].handle >= 0)
            (void)syscall(SYS_pidfd_send_signal, host->tasks[i].handle, SIGKILL, NULL, 0);
    }
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++) {
        if (host->tasks[i].handle >= 0)
            all = await_handle(host->tasks[i].handle) && all;
        close_process(&host->tasks[i]);
    }
    return all;
}

/* Has it reaped all that there was? */
static bool dismiss_helper(const struct host_process *helper)
{
    const struct host_request last = {.verb = VERB_COUNT};
    struct host_reply reply;

    return host_send(helper->socket, &last, sizeof(last), -1) &&
           host_receive(helper->socket, &reply, sizeof(reply), NULL, HOST_PATIENCE_MS) == 0 &&
           reply.message == MESSAGE_REPLY && reply.kind == OUTCOME_DONE;
}

/* Ends in any case, by force if it must. */
static bool end_helper(struct host_process *helper)
{
    bool all = dismiss_helper(helper);

    if (!all || helper->handle < 0 || !await_handle(helper->handle))
        (void)kill(helper->pid, SIGKILL);
    while (waitpid(helper->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close_process(helper);
    return all;
}

bool host_end_processes(struct host_backend *host, char *why, size_t why_bytes)
{
    bool killed = kill_tasks(host);
    bool reaped = host->helper.pid == 0 || end_helper(&host->helper);

    if (killed && reaped)
        return true;
    snprintf(why, why_bytes, "%s",
             killed ? "the host backend's helper could not reap all tasks"
                    : "a task of the host backend does not end");
    return false;
}
