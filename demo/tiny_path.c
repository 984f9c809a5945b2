/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where forklab-tiny and forklab-shell lie: beside the program in a build tree, else where they are
 * installed, relative to the program first so that an installation may be moved.
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
static char *try_path(const char *directory, const char *below, const char *name)
{
    char *path;

    if (asprintf(&path, "%s/%s%s", directory, below, name) < 0)
        return NULL;
    if (access(path, X_OK) == 0)
        return path;
    free(path);
    return NULL;
}

char *exec_program_path(const char *name, char *problem, size_t problem_bytes)
{
    char directory[PATH_MAX];
    bool known = program_directory(directory);
    char *path = known ? try_path(directory, "", name) : NULL;

    if (path == NULL && known)
        path = try_path(directory, "../libexec/forklab/", name);
    if (path == NULL)
        path = try_path(FORKLAB_LIBEXEC_DIR, "", name);
    if (path == NULL)
        snprintf(problem, problem_bytes,
                 "%s, which exec needs, lies neither beside forklab nor in %s; build or "
                 "install all of forklab",
                 name, FORKLAB_LIBEXEC_DIR);
    return path;
}

char *tiny_executable_path(char *problem, size_t problem_bytes)
{
    return exec_program_path("forklab-tiny", problem, problem_bytes);
}
