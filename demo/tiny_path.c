/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where forklab-tiny lies: beside the program in a build tree, else where it is installed, relative
 * to the program first so that an installation may be moved.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demo/column.h"

/* The directory of this program, without a slash at its end. */
static bool program_directory(char directory[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", directory, PATH_MAX - 1);

    if (length <= 0)
        return false;
    directory[length] = '\0';
    char *slash = strrchr(directory, '/');

    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

/* The path, if an executable lies there. */
static char *try_path(const char *directory, const char *below)
{
    char *path;

    if (asprintf(&path, "%s/%sforklab-tiny", directory, below) < 0)
        return NULL;
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

char *tiny_executable_path(char *problem, size_t problem_bytes)
{
    char directory[PATH_MAX];
    bool known = program_directory(directory);
    char *path = known ? try_path(directory, "") : NULL;

    if (path == NULL && known)
        path = try_path(directory, "../libexec/forklab/");
    if (path == NULL)
        path = try_path(FORKLAB_LIBEXEC_DIR, "");
    if (path == NULL)
        snprintf(problem, problem_bytes,
                 "forklab-tiny, which exec needs, lies neither beside forklab nor in %s; build or "
                 "install all of forklab",
                 FORKLAB_LIBEXEC_DIR);
    return path;
}
