/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The picture, drawn by gnuplot: a row for each memory, a panel for each mode, a line for each
 * column. It is drawn into a file beside the one asked for, which then takes its name: so there is
 * a whole picture or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "demo/report.h"

enum { PANEL_WIDTH = 420, PANEL_HEIGHT = 400, PATH_BYTES = 4096 };

static const double ns_per_us = 1000;

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

int report_plot_check(const char *path, char *problem, size_t problem_bytes)
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

/* --- gnuplot's words --- */

/* The medians of one memory and mode: a line for each size, a field for each column. */
static void write_data(FILE *script, const struct experiment *experiment, size_t memory,
                       size_t mode)
{
    fprintf(script, "$panel_%zu_%zu << EOD\n", memory, mode);
    for (size_t size = 0; size < experiment->options->size_count; size++) {
        const struct cell *cell = experiment_cell(experiment, memory, mode, size);

        fprintf(script, "%llu", (unsigned long long)cell->size_bytes);
        for (size_t column = 0; column < experiment->column_count; column++)
            fprintf(script, " %.4f", cell->figures[column].median_ns / ns_per_us);
        fputc('\n', script);
    }
    fprintf(script, "EOD\n");
}

/* A curve is told from its neighbours by its line and point type too, not by colour alone. */
static void write_panel(FILE *script, const struct experiment *experiment, size_t memory,
                        size_t mode)
{
    const struct fork_options *options = experiment->options;

    fprintf(script, "set title '%s, region of %s' noenhanced\nplot",
            fork_mode_names[options->modes[mode]], fork_memory_names[options->memories[memory]]);
    for (size_t column = 0; column < experiment->column_count; column++)
        fprintf(script, "%s $panel_%zu_%zu using 1:%zu with linespoints dashtype %zu title '%s'",
                column > 0 ? "," : "", memory, mode, column + 2, column % 5 + 1,
                experiment->columns[column]->name);
    fputc('\n', script);
}

/* A single size would leave the axis without a range. */
static void write_axis(FILE *script, const struct fork_options *options)
{
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    char size[SIZE_TEXT_BYTES];

    fprintf(script, "set xtics (");
    for (size_t i = 0; i < options->size_count; i++) {
        least = min_u64(least, options->sizes[i]);
        most = max_u64(most, options->sizes[i]);
        size_text(size, options->sizes[i]);
        fprintf(script, "%s'%s' %llu", i > 0 ? ", " : "", size,
                (unsigned long long)options->sizes[i]);
    }
    fprintf(script, ")\nset xrange [%llu * 0.7 : %llu * 1.4]\n", (unsigned long long)least,
            (unsigned long long)most);
}

static void write_script(FILE *script, const struct experiment *experiment)
{
    const struct fork_options *options = experiment->options;

    for (size_t memory = 0; memory < options->memory_count; memory++) {
        for (size_t mode = 0; mode < options->mode_count; mode++)
            write_data(script, experiment, memory, mode);
    }
    fprintf(
        script,
        "set terminal svg size %zu,%zu noenhanced background 'white'\n"
        "set logscale xy\nset grid\nset key outside bottom center horizontal samplen 2 font ',9'\n"
        "set ylabel 'microseconds, median'\n",
        options->mode_count * PANEL_WIDTH, options->memory_count * PANEL_HEIGHT);
    write_axis(script, options);
    fprintf(script, "set multiplot layout %zu,%zu\n", options->memory_count, options->mode_count);
    for (size_t memory = 0; memory < options->memory_count; memory++) {
        for (size_t mode = 0; mode < options->mode_count; mode++)
            write_panel(script, experiment, memory, mode);
    }
    fprintf(script, "unset multiplot\n");
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

static int run_gnuplot(const struct drawing *drawing, const struct experiment *experiment)
{
    FILE *script = tmpfile();
    struct stat status;
    pid_t child = 0;

    if (script == NULL)
        return fail(drawing, -errno, "--plot: no temporary file: %s", strerror(errno));
    write_script(script, experiment);
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

int report_plot(const struct experiment *experiment, const char *path, char *problem,
                size_t problem_bytes)
{
    struct drawing drawing;

    start_drawing(&drawing, path, problem, problem_bytes);
    int error = open_temporary(&drawing);

    if (error != 0)
        return error;
    error = run_gnuplot(&drawing, experiment);
    if (error == 0)
        error = put_in_place(&drawing);
    if (error == 0)
        (void)close(drawing.file);
    else
        close_temporary(&drawing);
    return error;
}
