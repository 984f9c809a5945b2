/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of zeros: a hole on the host, so it costs no disk. */
#include "demo/zeros.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Makes a file that has its name for as long as it takes to open it: the descriptor, or -errno. */
static int make_temporary(char *path, size_t path_bytes)
{
    const char *directory = getenv("TMPDIR");
    int length = snprintf(path, path_bytes, "%s/forklab-XXXXXX",
                          directory != NULL && directory[0] != '\0' ? directory : "/tmp");

    if (length < 0 || (size_t)length >= path_bytes)
        return -ENAMETOOLONG;
    int file = mkostemp(path, O_CLOEXEC);

    return file < 0 ? -errno : file;
}

int zeros_open(struct machine *machine, uint64_t bytes, struct object **object)
{
    char path[PATH_MAX];
    int file = make_temporary(path, sizeof(path));

    if (file < 0)
        return file;
    int error = ftruncate(file, (off_t)bytes) == 0 ? file_open(machine, path, object) : -errno;

    (void)unlink(path);
    (void)close(file);
    return error;
}
