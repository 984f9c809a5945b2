/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host backend: made, asked, ended. host_layout.h has the addresses, host_serve.c the other
 * side.
 *
 * Known differences from an emulated machine that no scenario can make go away: how much memory may
 * be promised (vm.overcommit_memory), how many mappings a task may have (its program takes some of
 * vm.max_map_count), how far the topmost mapping can grow in place (1 MiB), and sizes in smaps,
 * which are whole kilobytes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "scenario/host.h"
#include "scenario/host_maps.h"
#include "scenario/host_process.h"

enum { PATH_BYTES = 40, MOST_PART = 999 };

/* --- performing --- */

static host_performer *const performers[VERB_COUNT] = {
    [VERB_MMAP] = host_memory_call,
    [VERB_MUNMAP] = host_memory_call,
    [VERB_MPROTECT] = host_memory_call,
    [VERB_MREMAP] = host_memory_call,
    [VERB_BRK] = host_memory_call,
    [VERB_MADVISE] = host_memory_call,
    [VERB_MLOCK] = host_memory_call,
    [VERB_MUNLOCK] = host_memory_call,
    [VERB_MSYNC] = host_memory_call,
    [VERB_MINCORE] = host_memory_call,
    [VERB_STRIPE] = host_memory_call,
    [VERB_LIMIT] = host_memory_call,
    [VERB_READ] = host_access_call,
    [VERB_WRITE] = host_access_call,
    [VERB_PEEK] = host_access_call,
    [VERB_POKE] = host_access_call,
    [VERB_KREAD] = host_kernel_access,
    [VERB_KWRITE] = host_kernel_access,
    [VERB_TASK] = host_new_task,
    [VERB_FORK] = host_fork,
    [VERB_VFORK] = host_vfork,
    [VERB_EXEC] = host_exec,
    [VERB_EXIT] = host_exit,
    [VERB_KILL] = host_kill,
    [VERB_WAIT] = host_wait,
    [VERB_PIN] = host_pin,
    [VERB_UNPIN] = host_unpin,
    [VERB_PINREAD] = host_pin_read,
    [VERB_PINWRITE] = host_pin_write,
    [VERB_FILE] = host_file,
    [VERB_SHM] = host_shm,
    [VERB_DIRECTORY] = host_directory,
    [VERB_CLOSE] = host_close,
    [VERB_TRUNCATE] = host_truncate,
    [VERB_FREAD] = host_fread,
    [VERB_FWRITE] = host_fwrite,
};

static bool is_alive(struct backend *backend, uint16_t task)
{
    return task < SCENARIO_MOST_TASKS && (host_of(backend)->tasks[task].state == HOST_ALIVE ||
                                          host_of(backend)->tasks[task].state == HOST_SUSPENDED);
}

/* Is the one there who is to do it? */
static bool is_free(struct host_backend *host, uint16_t task, struct scenario_outcome *outcome)
{
    if (!is_alive(&host->backend, task))
        host_unable(outcome, "%s is not there", host_task_name(host, task));
    else if (host->tasks[task].state == HOST_SUSPENDED)
        host_unable(outcome, "%s is suspended until its vfork child execs or ends",
                    host_task_name(host, task));
    return outcome->kind == OUTCOME_DONE;
}

static bool can_perform(struct host_backend *host, const struct scenario_operation *operation,
                        struct scenario_outcome *outcome)
{
    if (operation->verb >= VERB_COUNT || performers[operation->verb] == NULL)
        host_unable(outcome, "this is no operation");
    else if (operation->fail_after != 0)
        host_unable(outcome, "the real kernel cannot be told to run out of memory");
    else if (verb_descriptions[operation->verb].has_task)
        return is_free(host, operation->task, outcome);
    return outcome->kind == OUTCOME_DONE;
}

static void perform(struct backend *backend, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    struct host_backend *host = host_of(backend);

    *outcome = (struct scenario_outcome){.child = SCENARIO_NOBODY};
    if (!host->is_broken && can_perform(host, operation, outcome))
        performers[operation->verb](host, operation, outcome);
    if (!host->is_broken)
        return;
    outcome->kind = OUTCOME_BROKEN;
    memcpy(outcome->why, host->why, sizeof(outcome->why));
}

static bool resolve(struct backend *backend, uint16_t task, const struct scenario_address *address,
                    va_t *va)
{
    return host_resolve(host_of(backend), task, address, va);
}

/* --- what is there --- */

static FILE *open_maps(struct backend *backend, uint16_t task, bool with_usage)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)host_of(backend)->tasks[task].pid,
             with_usage ? "smaps" : "maps");
    return fopen(path, "re");
}

int host_snapshot(struct backend *backend, uint16_t task, bool with_usage,
                  struct scenario_snapshot *snapshot)
{
    FILE *text = is_alive(backend, task) ? open_maps(backend, task, with_usage) : NULL;

    if (text == NULL)
        return is_alive(backend, task) ? -EIO : -ESRCH;
    int error = host_maps_read(text, with_usage, snapshot);

    (void)fclose(text);
    return error;
}

static void show(struct backend *backend, enum scenario_show what, uint16_t task, FILE *stream)
{
    if (what != SHOW_MAPS && what != SHOW_SMAPS) {
        fprintf(stream, "the real kernel does not tell that\n");
        return;
    }
    FILE *text = is_alive(backend, task) ? open_maps(backend, task, what == SHOW_SMAPS) : NULL;

    if (text == NULL || host_maps_print(text, stream) != 0)
        fprintf(stream, "the mappings of %s cannot be read\n",
                host_task_name(host_of(backend), task));
    if (text != NULL)
        (void)fclose(text);
}

static bool quantity(struct backend *backend, const struct scenario_operation *operation,
                     uint64_t *value)
{
    (void)backend;
    (void)operation;
    *value = 0;
    return false;
}

/* --- judging --- */

static bool selects(struct backend *backend, const struct scenario_selector *selector)
{
    uint32_t version = host_of(backend)->linux_version;

    switch (selector->kind) {
    case SELECT_HOST:
        return true;
    case SELECT_LINUX_FROM:
        return version >= selector->version;
    case SELECT_LINUX_BEFORE:
        return version < selector->version;
    case SELECT_KERNEL:
        break;
    }
    return false;
}

static bool selects_any(struct backend *backend, const struct scenario_operation *needs)
{
    for (unsigned i = 0; i < needs->answer_count; i++) {
        for (unsigned j = 0; j < needs->answers[i].selector_count; j++) {
            if (selects(backend, &needs->answers[i].selectors[j]))
                return true;
        }
    }
    return false;
}

static bool meets(struct backend *backend, const struct scenario_operation *needs, char *why,
                  size_t why_bytes)
{
    const char *text = needs->text != NULL ? needs->text : "";

    switch (needs->need) {
    case NEED_HOST:
        return true;
    case NEED_LINUX_FROM:
    case NEED_LINUX_BEFORE:
    case NEED_KERNEL:
        snprintf(why, why_bytes, "it is for other kernels than the real one here");
        return selects_any(backend, needs);
    case NEED_EMULATED:
    case NEED_SHARED_TABLES:
        snprintf(why, why_bytes, "it is for an emulated kernel");
        return false;
    case NEED_GEOMETRY:
        snprintf(why, why_bytes, "the real machine's geometry is not %s", text);
        return strcmp(text, "x86-64") == 0;
    case NEED_FEATURE:
        if (strcmp(text, "zero-page") == 0 && host_backend_has_zero_page(backend))
            return true;
        break;
    }
    snprintf(why, why_bytes, "it needs what is not there: %s", text);
    return false;
}

static bool is_sound(struct backend *backend, char *why, size_t why_bytes)
{
    (void)backend;
    if (why_bytes > 0)
        *why = '\0';
    return true;
}

/* --- made and ended --- */

static void release_all(struct host_backend *host)
{
    for (unsigned i = 0; i < SCENARIO_MOST_PINS; i++)
        host_release_pin(&host->pins[i]);
    for (unsigned i = 0; i < SCENARIO_MOST_FILES; i++)
        host_release_file(&host->files[i]);
    if (host->buffer != NULL)
        (void)munmap(host->buffer, HOST_BUFFER_BYTES);
    if (host->buffer_file >= 0)
        (void)close(host->buffer_file);
    free(host);
}

static bool end(struct backend *backend, char *why, size_t why_bytes)
{
    struct host_backend *host = host_of(backend);
    bool complete = host_end_processes(host, why, why_bytes);

    release_all(host);
    return complete;
}

/* The next number of a version such as 6.18.44-name. */
static uint32_t next_number(const char **text)
{
    char *after;
    unsigned long number = strtoul(*text, &after, 10);

    *text = *after == '.' ? after + 1 : "";
    return number < MOST_PART ? (uint32_t)number : MOST_PART;
}

static uint32_t version_of_host(void)
{
    struct utsname name;

    if (uname(&name) != 0)
        return 0;
    const char *text = name.release;
    uint32_t major = next_number(&text);
    uint32_t minor = next_number(&text);

    return major * 1000000 + minor * 1000 + next_number(&text);
}

static int make_buffer(struct host_backend *host)
{
    host->buffer_file = host_descriptor_raise(memfd_create("forklab-host", MFD_CLOEXEC));
    if (host->buffer_file < 0 || ftruncate(host->buffer_file, (off_t)HOST_BUFFER_BYTES) != 0)
        return -errno;
    void *buffer =
        mmap(NULL, HOST_BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, host->buffer_file, 0);

    if (buffer == MAP_FAILED)
        return -errno;
    host->buffer = buffer;
    return 0;
}

bool host_backend_has_zero_page(struct backend *backend)
{
    return host_of(backend)->has_zero_page;
}

static void init(struct host_backend *host)
{
    static const struct backend_ops ops = {.name = "host",
                                           .perform = perform,
                                           .resolve = resolve,
                                           .is_alive = is_alive,
                                           .snapshot = host_snapshot,
                                           .show = show,
                                           .quantity = quantity,
                                           .selects = selects,
                                           .meets = meets,
                                           .is_sound = is_sound,
                                           .end = end};

    host->backend.ops = &ops;
    host->buffer_file = -1;
    host->linux_version = version_of_host();
    host_process_init(&host->helper);
    for (unsigned i = 0; i < SCENARIO_MOST_TASKS; i++)
        host_process_init(&host->tasks[i]);
    for (unsigned i = 0; i < SCENARIO_MOST_FILES; i++)
        host->files[i] = (struct host_file){.descriptor = -1, .contents = -1};
    for (unsigned i = 0; i < SCENARIO_MOST_PINS; i++)
        host->pins[i] = (struct host_pin){.ring = -1};
}

int host_backend_create(struct backend **backend, char *problem, size_t problem_bytes)
{
    struct host_backend *host = calloc(1, sizeof(*host));
    char why[SCENARIO_WHY_BYTES];

    if (host == NULL) {
        snprintf(problem, problem_bytes, "memory ran out");
        return -ENOMEM;
    }
    init(host);
    int error = make_buffer(host);

    if (error != 0)
        snprintf(problem, problem_bytes, "the host gives no shared memory: %s", strerror(-error));
    else
        error = host_start_helper(host, problem, problem_bytes);
    if (error != 0) {
        (void)end(&host->backend, why, sizeof(why));
        return error;
    }
    *backend = &host->backend;
    return 0;
}
