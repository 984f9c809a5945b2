/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and shared memory of the host backend: files that live in memory alone, held by the
 * controlling side; a descriptor goes along with each call that uses it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenario/host_backend.h"

enum { COPY_BYTES = 64 << 10, MAGIC_BYTES = 4, PATH_BYTES = 40 };

static struct host_file *named_file(struct host_backend *host,
                                    const struct scenario_operation *operation,
                                    struct scenario_outcome *outcome)
{
    struct host_file *file =
        operation->file < SCENARIO_MOST_FILES ? &host->files[operation->file] : NULL;

    if (file != NULL && file->descriptor >= 0)
        return file;
    host_error(outcome, EBADF);
    return NULL;
}

static struct host_file *free_file(struct host_backend *host,
                                   const struct scenario_operation *operation,
                                   struct scenario_outcome *outcome)
{
    struct host_file *file =
        operation->file < SCENARIO_MOST_FILES ? &host->files[operation->file] : NULL;

    if (file != NULL && file->descriptor < 0)
        return file;
    host_unable(outcome, "there is a file of that name already");
    return NULL;
}

int host_descriptor(const struct host_backend *host, uint16_t file)
{
    return file < SCENARIO_MOST_FILES ? host->files[file].descriptor : -1;
}

/* The same file, opened once more with other rights. */
static int reopen(int file, int flags)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    return open(path, flags | O_CLOEXEC);
}

void host_release_file(struct host_file *file)
{
    if (file->descriptor >= 0)
        (void)close(file->descriptor);
    if (file->contents >= 0)
        (void)close(file->contents);
    *file = (struct host_file){.descriptor = -1, .contents = -1};
}

/* --- made --- */

/* The bytes written, as much at a time as the file takes; a negative errno where there are none. */
static int64_t write_data(int file, const struct scenario_data *data, uint64_t offset)
{
    uint8_t filled[COPY_BYTES];
    uint64_t done = 0;
    ssize_t bytes = 0;

    memset(filled, data->fill, sizeof(filled));
    while (done < data->bytes) {
        uint64_t left = data->bytes - done;
        bool is_fill = data->kind == DATA_FILL;
        size_t most = is_fill && left > COPY_BYTES ? COPY_BYTES : (size_t)left;

        bytes = pwrite(file, is_fill ? filled : data->content + done, most, (off_t)(offset + done));
        if (bytes <= 0)
            break;
        done += (uint64_t)bytes;
    }
    return done == 0 && bytes < 0 ? -errno : (int64_t)done;
}

/* As the text calls it: the real kernel's maps show it. */
static const char *name_of(const struct host_backend *host,
                           const struct scenario_operation *operation)
{
    const struct scenario_names *names = host->backend.file_names;

    return names != NULL && operation->file < names->count ? names->names[operation->file]
                                                           : "forklab-file";
}

static int make_file(const struct host_backend *host, const struct scenario_operation *operation,
                     struct host_file *file)
{
    file->contents = memfd_create(name_of(host, operation), MFD_CLOEXEC);
    if (file->contents < 0 || ftruncate(file->contents, (off_t)operation->bytes) != 0)
        return errno;
    int64_t written = write_data(file->contents, &operation->data, 0);

    if (written < 0)
        return (int)-written;
    int rights = operation->flags & SCENARIO_READ_ONLY    ? O_RDONLY
                 : operation->flags & SCENARIO_WRITE_ONLY ? O_WRONLY
                                                          : O_RDWR;

    file->descriptor = reopen(file->contents, rights);
    return file->descriptor < 0 ? errno : 0;
}

static void create(struct host_backend *host, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    struct host_file *file = free_file(host, operation, outcome);

    if (file == NULL)
        return;
    int error = make_file(host, operation, file);

    if (error == 0) {
        host_done(outcome, 0);
        return;
    }
    host_release_file(file);
    host_error(outcome, error);
}

void host_file(struct host_backend *host, const struct scenario_operation *operation,
               struct scenario_outcome *outcome)
{
    create(host, operation, outcome);
}

void host_shm(struct host_backend *host, const struct scenario_operation *operation,
              struct scenario_outcome *outcome)
{
    create(host, operation, outcome);
}

void host_directory(struct host_backend *host, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    struct host_file *file = free_file(host, operation, outcome);

    if (file == NULL)
        return;
    file->descriptor = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    file->contents = file->descriptor < 0 ? -1 : fcntl(file->descriptor, F_DUPFD_CLOEXEC, 0);
    if (file->contents >= 0) {
        host_done(outcome, 0);
        return;
    }
    host_error(outcome, errno);
    host_release_file(file);
}

void host_close(struct host_backend *host, const struct scenario_operation *operation,
                struct scenario_outcome *outcome)
{
    struct host_file *file = named_file(host, operation, outcome);

    if (file == NULL)
        return;
    host_release_file(file);
    host_done(outcome, 0);
}

/* --- read and written --- */

void host_truncate(struct host_backend *host, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    struct host_file *file = named_file(host, operation, outcome);

    if (file == NULL)
        return;
    if (ftruncate(file->contents, (off_t)operation->bytes) == 0)
        host_done(outcome, 0);
    else
        host_error(outcome, errno);
}

void host_fread(struct host_backend *host, const struct scenario_operation *operation,
                struct scenario_outcome *outcome)
{
    struct host_file *file = named_file(host, operation, outcome);

    if (file == NULL || !host_has_room(operation->bytes, outcome))
        return;
    ssize_t bytes = pread(file->contents, host->buffer, (size_t)operation->bytes,
                          (off_t)operation->offset_bytes);

    if (bytes >= 0)
        host_data(host, outcome, (uint64_t)bytes);
    else
        host_error(outcome, errno);
}

void host_fwrite(struct host_backend *host, const struct scenario_operation *operation,
                 struct scenario_outcome *outcome)
{
    struct host_file *file = named_file(host, operation, outcome);

    if (file == NULL)
        return;
    int64_t written = write_data(file->contents, &operation->data, operation->offset_bytes);

    if (written >= 0)
        host_done(outcome, (uint64_t)written);
    else
        host_error(outcome, (int)-written);
}

/* --- executed --- */

static bool copy_file(int from, int to)
{
    uint8_t part[COPY_BYTES];
    off_t done = 0;
    ssize_t bytes;

    while ((bytes = pread(from, part, sizeof(part), done)) > 0) {
        if (write(to, part, (size_t)bytes) != bytes)
            return false;
        done += bytes;
    }
    return bytes == 0;
}

static bool is_program(int file)
{
    char magic[MAGIC_BYTES] = "";
    ssize_t bytes = pread(file, magic, sizeof(magic), 0);

    return (bytes == MAGIC_BYTES && memcmp(magic, "\177ELF", MAGIC_BYTES) == 0) ||
           (bytes >= 2 && memcmp(magic, "#!", 2) == 0);
}

static bool is_directory(int file)
{
    struct stat status;

    return fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
}

int host_executable_copy(const struct host_file *file, bool *replaces)
{
    int copy = -1;
    int readable = -1;

    *replaces = is_program(file->contents);
    if (*replaces)
        return -1;
    if (is_directory(file->contents))
        return fcntl(file->contents, F_DUPFD_CLOEXEC, 0);
    copy = memfd_create("forklab-program", MFD_CLOEXEC);
    if (copy >= 0 && copy_file(file->contents, copy))
        readable = reopen(copy, O_RDONLY);
    if (copy >= 0)
        (void)close(copy);
    return readable;
}
