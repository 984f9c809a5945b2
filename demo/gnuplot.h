/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pictures, drawn by gnuplot where it is installed. A picture is drawn into a file beside the one
 * asked for, which then takes its name: so there is a whole picture or none.
 */
#ifndef FORKLAB_DEMO_GNUPLOT_H
#define FORKLAB_DEMO_GNUPLOT_H

#include <stddef.h>
#include <stdio.h>

/* Writes what gnuplot is to read; its output is the picture. */
typedef void gnuplot_script(FILE *script, const void *context);

/* Can a picture be drawn there? Asked before a long measurement. -errno with one line in
 * `problem`. */
int gnuplot_check(const char *path, char *problem, size_t problem_bytes);

/* Draws it. -errno with one line in `problem`. */
int gnuplot_draw(const char *path, gnuplot_script *write_script, const void *context, char *problem,
                 size_t problem_bytes);

#endif
