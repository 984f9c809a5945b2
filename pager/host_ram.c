/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RAM from the host: one memory file and one map of all of it.
 *
 * The file is sized once, so that an access inside it never ends in SIGBUS, and is sparse: a frame
 * that was never touched costs the host nothing. A frame once touched stays with the file until
 * RAM ends. A process forked by the host does not get the map.
 */
#include "pager/host_ram.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct host_ram {
    int fd;
    uint64_t bytes;
    void *base;
};

static int map_all(struct host_ram *ram)
{
    ram->fd = memfd_create("forklab-ram", MFD_CLOEXEC);
    if (ram->fd < 0)
        return -errno;
    if (ftruncate(ram->fd, (off_t)ram->bytes) != 0)
        return -errno;
    ram->base = mmap(NULL, ram->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ram->fd, 0);
    if (ram->base == MAP_FAILED)
        return -errno;
    return madvise(ram->base, ram->bytes, MADV_DONTFORK) == 0 ? 0 : -errno;
}

int host_ram_create(struct host_ram **ram, uint64_t bytes)
{
    if (bytes == 0 || bytes % PAGE_BYTES != 0 || bytes > INT64_MAX)
        return -EINVAL;
    struct host_ram *made = malloc(sizeof(*made));

    if (made == NULL)
        return -ENOMEM;
    *made = (struct host_ram){.fd = -1, .bytes = bytes, .base = MAP_FAILED};
    int error = map_all(made);

    if (error != 0) {
        host_ram_destroy(made);
        return error;
    }
    *ram = made;
    return 0;
}

void host_ram_destroy(struct host_ram *ram)
{
    if (ram == NULL)
        return;
    /* Neither can fail on what map_all() made; there would be nobody to tell. */
    if (ram->base != MAP_FAILED)
        (void)munmap(ram->base, ram->bytes);
    if (ram->fd >= 0)
        (void)close(ram->fd);
    free(ram);
}

void *host_ram_base(const struct host_ram *ram)
{
    return ram->base;
}

int host_ram_fd(const struct host_ram *ram)
{
    return ram->fd;
}

uint64_t host_memory_available_bytes(void)
{
    static const char name[] = "MemAvailable:";
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    uint64_t bytes = UINT64_MAX;

    if (file == NULL)
        return bytes;
    while (bytes == UINT64_MAX && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, name, sizeof(name) - 1) == 0)
            bytes = strtoull(line + sizeof(name) - 1, NULL, 10) * 1024;
    (void)fclose(file);
    return bytes;
}
