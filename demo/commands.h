/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The subcommands of forklab. Each gets its own words, its name first, and returns the program's
 * exit status: 0; 1 when something failed; 2 when it was asked for what cannot be; 77 when a
 * scenario says that it cannot run here.
 */
#ifndef FORKLAB_DEMO_COMMANDS_H
#define FORKLAB_DEMO_COMMANDS_H

int cmd_fork(int argc, char **argv);
int cmd_fault(int argc, char **argv);
int cmd_tree(int argc, char **argv);
int cmd_mmap(int argc, char **argv);
int cmd_lat(int argc, char **argv);
int cmd_kernels(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_fuzz(int argc, char **argv);

#endif
