/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes: started, served, heard; host_probe.h has the terms. */
#include "demo/host_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_ARGUMENT "--serve-host-probe"

enum { NUMBER_BYTES = 24, FIRST_NUMBER = 3, ANSWERS_AT_ONCE = 16 };

static const struct {
    const char *name;
    probe_function *run;
} probes[] = {
    {"tree", host_probe_tree},
    {"mmap", host_probe_mmap},
    {"lat", host_probe_lat},
};

/* --- serving --- */

static probe_function *find_probe(const char *name)
{
    for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++) {
        if (strcmp(probes[i].name, name) == 0)
            return probes[i].run;
    }
    return NULL;
}

static _Noreturn void serve(int argc, char **argv)
{
    uint64_t numbers[PROBE_MOST_NUMBERS];
    double answers[ANSWERS_AT_ONCE];
    probe_function *run = argc >= FIRST_NUMBER ? find_probe(argv[2]) : NULL;
    size_t count = 0;

    for (int i = FIRST_NUMBER; i < argc && count < PROBE_MOST_NUMBERS; i++)
        numbers[count++] = strtoull(argv[i], NULL, 10);
    /* A host that does not know this has no huge pages to give. */
    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    int made = run != NULL ? run(numbers, count, answers) : -EINVAL;

    for (int i = 0; i < made; i++)
        printf("%.3f\n", answers[i]);
    if (made < 0)
        printf("error %d\n", -made);
    exit(fflush(stdout) == 0 ? 0 : 1);
}

void host_probe_serve_if_probe(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], PROBE_ARGUMENT) == 0)
        serve(argc, argv);
}

/* --- running --- */

static int spawn_probe(const struct probe_request *request, int output, pid_t *child)
{
    static char path[] = "/proc/self/exe";
    static char marker[] = PROBE_ARGUMENT;
    char texts[PROBE_MOST_NUMBERS][NUMBER_BYTES];
    char *arguments[FIRST_NUMBER + PROBE_MOST_NUMBERS + 1] = {path, marker,
                                                              (char *)(uintptr_t)request->name};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);

    if (error != 0)
        return -error;
    for (size_t i = 0; i < request->count; i++) {
        (void)snprintf(texts[i], NUMBER_BYTES, "%llu", (unsigned long long)request->numbers[i]);
        arguments[FIRST_NUMBER + i] = texts[i];
    }
    error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn(child, path, &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -error;
}

/* What the probe says: so many numbers, or the error that it met. */
static int hear(FILE *stream, double *answers, size_t count)
{
    char line[64];
    size_t heard = 0;

    while (heard < count && fgets(line, sizeof(line), stream) != NULL) {
        if (strncmp(line, "error ", strlen("error ")) == 0)
            return -(int)strtol(line + strlen("error "), NULL, 10);
        answers[heard++] = strtod(line, NULL);
    }
    return heard == count ? 0 : -EIO;
}

static int reap(pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

static int start_and_hear(const struct probe_request *request, double *answers, size_t count)
{
    int ends[2];
    pid_t child = -1;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    int error = spawn_probe(request, ends[1], &child);

    (void)close(ends[1]);
    FILE *stream = error == 0 ? fdopen(ends[0], "r") : NULL;

    if (stream == NULL) {
        error = error != 0 ? error : -errno;
        (void)close(ends[0]);
        return error;
    }
    error = hear(stream, answers, count);
    (void)fclose(stream);
    int reaped = reap(child);

    return error != 0 ? error : reaped;
}

int host_probe_run(const struct probe_request *request, double *answers, size_t count,
                   char *problem, size_t problem_bytes)
{
    int error = start_and_hear(request, answers, count);

    if (error != 0)
        (void)snprintf(problem, problem_bytes, "host: the program %s on the real kernel: %s",
                       request->name, strerror(-error));
    return error;
}
