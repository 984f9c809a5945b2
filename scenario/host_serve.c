/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process of the host backend: waits on its socket for an operation, performs it, answers.
 *
 * The helper is the first of them and the parent of first tasks; it also reaps what loses its
 * parent. A child gets a socket of its own, whose other end the parent hands over before it forks,
 * since a vfork parent stands still until the child has its own program or ends. Such a child runs
 * on a stack of its own, or it would spoil its parent's frames.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "scenario/host_access.h"
#include "scenario/host_call.h"

enum {
    MOST_VFORK_DEPTH = 4,
    VFORK_STACK_BYTES = 256 << 10,
    NUMBER_BYTES = 24,
    REAP_STEP_MS = 1,
    REAP_STEPS = 5000,
};

HOST_ENDS_ANYWHERE static void send_reply(const struct host_reply *reply, int file)
{
    if (!host_send(HOST_SOCKET, reply, sizeof(*reply), file))
        _exit(0);
}

static void unable(struct host_reply *reply, const char *why)
{
    reply->kind = OUTCOME_UNABLE;
    snprintf(reply->why, sizeof(reply->why), "%s", why);
}

/* --- children --- */

/* Takes the child's socket to its place; the parent's, which lay there, is closed by that. */
static void greet_as_child(int socket)
{
    const struct host_reply hello = {.message = MESSAGE_HELLO, .pid = getpid()};

    (void)dup2(socket, HOST_SOCKET);
    (void)close(socket);
    send_reply(&hello, -1);
}

/* The child's end, the other one being handed over: a negative number when there are no sockets. */
static int hand_over_socket(void)
{
    const struct host_reply message = {.message = MESSAGE_SOCKET};
    int sockets[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return -1;
    send_reply(&message, sockets[0]);
    (void)close(sockets[0]);
    return sockets[1];
}

/* True in the child, which has nothing to answer. */
static bool fork_child(struct host_reply *reply)
{
    int socket = hand_over_socket();
    pid_t child = socket < 0 ? -1 : fork();

    if (child == 0) {
        greet_as_child(socket);
        return true;
    }
    host_call_answer(reply, child);
    reply->pid = child;
    if (socket >= 0)
        (void)close(socket);
    return false;
}

struct vfork_start {
    const struct host_service *service;
    int socket;
};

HOST_ENDS_ANYWHERE static int run_vfork_child(void *argument)
{
    const struct vfork_start *start = argument;
    struct host_service service = *start->service;

    service.vfork_depth++;
    greet_as_child(start->socket);
    host_serve(&service);
}

/* A child that was killed left functions without a return, and the address sanitizer still guards
 * their variables' surroundings on the stack that the next child is given. */
static void forget_frames(const char *stack)
{
#ifdef __SANITIZE_ADDRESS__
    ASAN_UNPOISON_MEMORY_REGION(stack, VFORK_STACK_BYTES);
#else
    (void)stack;
#endif
}

static void vfork_child(struct host_service *service, struct host_reply *reply)
{
    static _Alignas(64) char stacks[MOST_VFORK_DEPTH][VFORK_STACK_BYTES];

    if (service->vfork_depth == MOST_VFORK_DEPTH) {
        unable(reply, "vfork children of vfork children go no deeper here");
        return;
    }
    char *stack = stacks[service->vfork_depth];
    struct vfork_start start = {.service = service, .socket = hand_over_socket()};
    pid_t child = -1;

    if (start.socket >= 0) {
        forget_frames(stack);
        child = clone(run_vfork_child, stack + VFORK_STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD,
                      &start);
        (void)close(start.socket);
    }
    host_call_answer(reply, child);
    reply->pid = child;
    /* A child that died of a signal took that from the memory that it borrowed. */
    (void)prctl(PR_SET_DUMPABLE, 1);
}

/* --- exec --- */

/* The task's own program anew; limits that the scenario set hold for it, too. */
static void exec_own(const struct host_service *service)
{
    char limits[LIMIT_COUNT][NUMBER_BYTES];
    char *arguments[] = {"forklab", HOST_ARGUMENT, HOST_ROLE_TASK, limits[0], limits[1], NULL};

    for (unsigned limit = 0; limit < LIMIT_COUNT; limit++)
        snprintf(limits[limit], NUMBER_BYTES, "%" PRIu64, service->limits[limit]);
    (void)execve("/proc/self/exe", arguments, environ);
}

/* Returns only when it failed. */
static void exec_program(const struct host_service *service, const struct host_request *request,
                         int file, struct host_reply *reply)
{
    char *arguments[] = {"program", NULL};
    char *environment[] = {NULL};

    host_limits_lift();
    if (request->has_path)
        (void)execve((const char *)service->buffer, arguments, environment);
    else if (file >= 0)
        (void)syscall(SYS_execveat, file, "", arguments, environment, AT_EMPTY_PATH);
    else
        exec_own(service);
    host_call_answer(reply, -1);
    host_limits_apply(service);
}

/* --- the ends of others --- */

static void wait_child(const struct host_request *request, struct host_reply *reply)
{
    int status = 0;
    pid_t child;

    do {
        child = waitpid(request->pid, &status, 0);
    } while (child < 0 && errno == EINTR);
    host_call_answer(reply, child);
    if (child < 0)
        return;
    reply->pid = child;
    reply->kind = WIFSIGNALED(status) ? OUTCOME_KILLED : OUTCOME_EXITED;
    reply->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    reply->value = WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 0;
}

/* The helper's last: reaps all, which were killed before; some are slow. */
static _Noreturn void reap_all(void)
{
    const struct timespec step = {.tv_nsec = REAP_STEP_MS * 1000000L};
    struct host_reply reply = {.kind = OUTCOME_ERROR, .error = ETIMEDOUT};

    for (unsigned i = 0; i < REAP_STEPS; i++) {
        pid_t child = waitpid(-1, NULL, WNOHANG);

        if (child < 0 && errno == ECHILD) {
            reply = (struct host_reply){.kind = OUTCOME_DONE};
            break;
        }
        if (child == 0)
            (void)nanosleep(&step, NULL);
    }
    send_reply(&reply, -1);
    _exit(0);
}

/* --- serving --- */

static void make_access(const struct host_service *service, const struct host_request *request,
                        struct host_reply *reply)
{
    const struct host_access access = {
        .verb = request->verb,
        .address = request->address,
        .bytes = request->bytes,
        .is_fill = request->is_fill,
        .fill = request->fill,
        .buffer = service->buffer,
    };

    reply->faults = host_access_make(&access);
    reply->kind = OUTCOME_DONE;
    if (request->verb == VERB_READ || request->verb == VERB_PEEK) {
        reply->kind = OUTCOME_DATA;
        reply->data_bytes = host_access_buffer_bytes(&access);
    }
}

/* False where there is nothing to answer. */
HOST_ENDS_ANYWHERE static bool obey(struct host_service *service,
                                    const struct host_request *request, int file,
                                    struct host_reply *reply)
{
    switch (request->verb) {
    case VERB_READ:
    case VERB_WRITE:
    case VERB_PEEK:
    case VERB_POKE:
        make_access(service, request, reply);
        return true;
    case VERB_FORK:
        return !fork_child(reply);
    case VERB_VFORK:
        vfork_child(service, reply);
        return true;
    case VERB_EXEC:
        exec_program(service, request, file, reply);
        return true;
    case VERB_EXIT:
        _exit((int)request->value);
    case VERB_KILL:
        host_call_answer(reply, kill(request->pid, SIGKILL));
        return true;
    case VERB_WAIT:
        wait_child(request, reply);
        return true;
    case VERB_PIN:
        host_call_pin(service, request, reply);
        return true;
    case VERB_UNPIN:
        host_call_answer(reply, close((int)request->value));
        return true;
    case VERB_COUNT:
        reap_all();
    default:
        host_call_memory(service, request, file, reply);
        return true;
    }
}

HOST_ENDS_ANYWHERE void host_serve(struct host_service *service)
{
    for (;;) {
        struct host_request request;
        struct host_reply reply = {.message = MESSAGE_REPLY};
        int file = -1;

        if (host_receive(HOST_SOCKET, &request, sizeof(request), &file, -1) != 0)
            _exit(0);
        bool answers = obey(service, &request, file, &reply);

        if (file >= 0)
            (void)close(file);
        if (answers)
            send_reply(&reply, -1);
    }
}
