/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The test program started anew; see self.h. */
#include "tests/support/self.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NOT_STARTED = 127 };

static _Noreturn void start(const char *name)
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (nowhere >= 0)
        (void)dup2(nowhere, STDERR_FILENO);
    (void)signal(SIGINT, SIG_DFL);
    (void)execl("/proc/self/exe", "self", name, (char *)NULL);
    _exit(EXIT_NOT_STARTED);
}

enum self_end self_run(const char *name)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0)
        start(name);
    if (child < 0 || waitpid(child, &status, 0) != child)
        return SELF_ELSE;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
        return SELF_CRASHED;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
        return SELF_INTERRUPTED;
    if (!WIFEXITED(status) || WEXITSTATUS(status) == EXIT_NOT_STARTED)
        return SELF_ELSE;
    return WEXITSTATUS(status) == 0 ? SELF_EXITED : SELF_FAILED;
}

void self_interrupt(void)
{
    (void)raise(SIGINT);
}
