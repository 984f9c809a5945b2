/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host column of the fork table: the same three modes on the real kernel below, measured by a
 * helper (host_helper.c) that this side starts, asks and ends.
 *
 * The helper may die, by the host's hand when memory ends. Then every further call says -EPIPE.
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo/host_helper.h"

struct host_column {
    struct column column; /* first */
    pid_t helper;         /* 0: there is none any more */
    int socket;
};

static struct host_column *host_of(struct column *column)
{
    return (struct host_column *)(void *)column;
}

/* Ends the helper, which ends by itself when its input does; its status for waitpid's macros. */
static int end_helper(struct host_column *host)
{
    int status = 0;

    (void)close(host->socket);
    while (waitpid(host->helper, &status, 0) < 0 && errno == EINTR)
        ;
    host->helper = 0;
    return status;
}

/* The helper is gone, or talks nonsense. */
static int lose_helper(struct host_column *host, struct helper_reply *reply)
{
    int status = end_helper(host);

    if (WIFSIGNALED(status))
        snprintf(reply->problem, sizeof(reply->problem),
                 "the host column's helper was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(reply->problem, sizeof(reply->problem), "the host column's helper has ended");
    return -EPIPE;
}

static bool send_request(int socket, const struct helper_request *request)
{
    ssize_t bytes;

    do {
        bytes = send(socket, request, sizeof(*request), MSG_NOSIGNAL);
    } while (bytes < 0 && errno == EINTR);
    return bytes == (ssize_t)sizeof(*request);
}

static bool receive_reply(int socket, struct helper_reply *reply)
{
    ssize_t bytes;

    do {
        bytes = recv(socket, reply, sizeof(*reply), 0);
    } while (bytes < 0 && errno == EINTR);
    return bytes == (ssize_t)sizeof(*reply);
}

/* Asks the helper and waits for what it says. */
static int ask(struct host_column *host, const struct helper_request *request,
               struct helper_reply *reply)
{
    *reply = (struct helper_reply){0};
    if (host->helper == 0) {
        snprintf(reply->problem, sizeof(reply->problem), "the host column's helper has ended");
        return -EPIPE;
    }
    if (!send_request(host->socket, request) || !receive_reply(host->socket, reply))
        return lose_helper(host, reply);
    return reply->error;
}

static int host_prepare(struct column *column, const struct column_setup *setup, char *problem,
                        size_t problem_bytes)
{
    struct helper_request request = {.order = HELPER_PREPARE, .setup = *setup};
    struct helper_reply reply;
    int error = ask(host_of(column), &request, &reply);

    if (error != 0)
        snprintf(problem, problem_bytes, "%.*s", (int)sizeof(reply.problem) - 1, reply.problem);
    return error;
}

static int host_round(struct column *column, enum fork_mode mode, struct round_sample *sample,
                      uint64_t *counters)
{
    struct helper_request request = {.order = HELPER_ROUND, .mode = mode};
    struct helper_reply reply;
    int error = ask(host_of(column), &request, &reply);

    *sample = (struct round_sample){.total_ns = reply.total_ns};
    if (counters != NULL)
        memset(counters, 0, EVENT_COUNT * sizeof(*counters));
    return error;
}

static uint32_t host_table_frames(struct column *column, enum fork_mode mode)
{
    (void)column;
    (void)mode;
    return 0;
}

static void host_finish(struct column *column)
{
    struct helper_request request = {.order = HELPER_FINISH};
    struct helper_reply reply;

    (void)ask(host_of(column), &request, &reply);
}

static void host_destroy(struct column *column)
{
    struct host_column *host = host_of(column);

    if (host->helper != 0)
        (void)end_helper(host);
    free(host);
}

/* Executes this program anew, its end of the pair being HELPER_SOCKET. A positive errno. */
static int spawn_helper(int socket, pid_t *helper)
{
    char *arguments[] = {"forklab", HELPER_ARGUMENT, NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);

    if (error != 0)
        return error;
    error = posix_spawn_file_actions_adddup2(&actions, socket, HELPER_SOCKET);
    if (error == 0)
        error = posix_spawn(helper, "/proc/self/exe", &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

static int start_helper(struct host_column *host)
{
    int sockets[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return -errno;
    int error = spawn_helper(sockets[1], &host->helper);

    (void)close(sockets[1]);
    if (error != 0) {
        (void)close(sockets[0]);
        return -error;
    }
    host->socket = sockets[0];
    return 0;
}

int host_column_create(struct column **column, char *problem, size_t problem_bytes)
{
    static const struct column_ops ops = {.prepare = host_prepare,
                                          .round = host_round,
                                          .table_frames = host_table_frames,
                                          .finish = host_finish,
                                          .destroy = host_destroy};
    /* The helper looks for it too, but cannot say so well what is missing. */
    char *tiny = tiny_executable_path(problem, problem_bytes);

    if (tiny == NULL)
        return -ENOENT;
    free(tiny);
    struct host_column *made = calloc(1, sizeof(*made));

    if (made == NULL) {
        snprintf(problem, problem_bytes, "memory ran out");
        return -ENOMEM;
    }
    made->column = (struct column){.name = "host", .ops = &ops};
    int error = start_helper(made);

    if (error != 0) {
        snprintf(problem, problem_bytes, "the host column's helper cannot be started: %s",
                 strerror(-error));
        free(made);
        return error;
    }
    *column = &made->column;
    return 0;
}
