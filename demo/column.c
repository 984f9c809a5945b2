/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of modes and kinds of memory, as options take them and every output gives them. */
#include "demo/column.h"

const char *const fork_mode_names[MODE_COUNT] = {
    [MODE_FORK] = "fork",
    [MODE_FORK_EXIT] = "fork/exit",
    [MODE_FORK_EXEC_EXIT] = "fork/exec/exit",
};

const char *const fork_memory_names[MEMORY_COUNT] = {
    [MEMORY_SHM] = "shm",
    [MEMORY_ANON] = "anon",
    [MEMORY_FILE] = "file",
};
