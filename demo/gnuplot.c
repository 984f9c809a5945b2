/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures by gnuplot; gnuplot.h says what is promised. */
#include "demo/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

struct drawing {
    const char *path;
    char temporary[PATH_BYTES];
    int file; /* the temporary one */
    char *problem;
    size_t problem_bytes;
};

__attribute__((format(printf, 3, 4))) static int fail(const struct drawing *drawing, int error,
                                                      const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(drawing->problem, drawing->problem_bytes, format, arguments);
    va_end(arguments);
    return error;
}

/* Is there a program of that name in PATH? */
static bool program_exists(const char *name)
{
    const char *directories = getenv("PATH");
    char path[PATH_BYTES];

    while (directories != NULL && *directories != '\0') {
        size_t length = strcspn(directories, ":");

        snprintf(path, sizeof(path), "%.*s/%s", (int)length, directories, name);
        if (length > 0 && access(path, X_OK) == 0)
            return true;
        directories += length + (directories[length] == ':');
    }
    return false;
}

static int open_temporary(struct drawing *drawing)
{
    struct stat status;
    int length =
        snprintf(drawing->temporary, sizeof(drawing->temporary), "%s.XXXXXX", drawing->path);

    if (length < 0 || (size_t)length >= sizeof(drawing->temporary))
        return fail(drawing, -ENAMETOOLONG, "--plot: the path is too long");
    if (stat(drawing->path, &status) == 0 && !S_ISREG(status.st_mode))
        return fail(drawing, -EINVAL,
                    "--plot %.200s: that is no regular file; name a file to write", drawing->path);
    drawing->file = mkostemp(drawing->temporary, O_CLOEXEC);
    if (drawing->file < 0)
        return fail(drawing, -errno,
                    "--plot %.200s: %s; name a file in a directory that can be written",
                    drawing->path, strerror(errno));
    return 0;
}

static void close_temporary(const struct drawing *drawing)
{
    (void)close(drawing->file);
    (void)unlink(drawing->temporary);
}

static void start_drawing(struct drawing *drawing, const char *path, char *problem,
                          size_t problem_bytes)
{
    drawing->path = path;
    drawing->file = -1;
    drawing->problem = problem;
    drawing->problem_bytes = problem_bytes;
}

int gnuplot_check(const char *path, char *problem, size_t problem_bytes)
{
    struct drawing drawing;

    start_drawing(&drawing, path, problem, problem_bytes);

    if (!program_exists("gnuplot"))
        return fail(&drawing, -ENOENT,
                    "--plot needs gnuplot, which is not in PATH; install the package gnuplot-nox");
    int error = open_temporary(&drawing);

    if (error == 0)
        close_temporary(&drawing);
    return error;
}

/* --- running it --- */

/* gnuplot reads the script as its input and writes the picture to its output. */
static int spawn_gnuplot(const struct drawing *drawing, int script, pid_t *child)
{
    static char name[] = "gnuplot";
    static char *const arguments[] = {name, NULL};
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);

    if (error != 0)
        return -error;
    error = posix_spawn_file_actions_adddup2(&actions, script, STDIN_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, drawing->file, STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (error == 0)
        error = posix_spawnp(child, name, &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -error;
}

static bool child_succeeded(pid_t child)
{
    int status = -1;

    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int run_gnuplot(const struct drawing *drawing, gnuplot_script *write_script,
                       const void *context)
{
    FILE *script = tmpfile();
    struct stat status;
    pid_t child = 0;

    if (script == NULL)
        return fail(drawing, -errno, "--plot: no temporary file: %s", strerror(errno));
    write_script(script, context);
    int error = fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0 ? -errno : 0;

    if (error == 0)
        error = spawn_gnuplot(drawing, fileno(script), &child);
    (void)fclose(script);
    if (error != 0)
        return fail(drawing, error, "--plot: gnuplot could not be started: %s", strerror(-error));
    if (!child_succeeded(child))
        return fail(drawing, -EIO, "--plot: gnuplot failed; its svg terminal is needed");
    if (fstat(drawing->file, &status) != 0 || status.st_size == 0)
        return fail(drawing, -EIO, "--plot: gnuplot drew nothing; its svg terminal is needed");
    return 0;
}

/* A new file has the rights that any other would get. */
static int put_in_place(const struct drawing *drawing)
{
    mode_t mask = umask(0);

    (void)umask(mask);
    if (fchmod(drawing->file, 0666 & ~mask) != 0 || rename(drawing->temporary, drawing->path) != 0)
        return fail(drawing, -errno, "--plot %.200s: %s", drawing->path, strerror(errno));
    return 0;
}

int gnuplot_draw(const char *path, gnuplot_script *write_script, const void *context, char *problem,
                 size_t problem_bytes)
{
    struct drawing drawing;

    start_drawing(&drawing, path, problem, problem_bytes);
    int error = open_temporary(&drawing);

    if (error != 0)
        return error;
    error = run_gnuplot(&drawing, write_script, context);
    if (error == 0)
        error = put_in_place(&drawing);
    if (error == 0)
        (void)close(drawing.file);
    else
        close_temporary(&drawing);
    return error;
}
