/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory operations of the host backend: addresses are translated, arguments that would destroy the
 * program which serves are refused, and the rest goes to the real kernel as it is.
 *
 * A range may end where the scenario's part does (host_layout.h), or be such that the kernel
 * rejects it before it looks at what is mapped: begin in its half, wrap around, or, for some calls,
 * end there.
 */
#include <errno.h>
#include <string.h>

#include "scenario/emulated.h"
#include "scenario/host_layout.h"
#include "scenario/host_process.h"

#define MEMORY_PAGE_BYTES ((uint64_t)4096)

/* Advice that makes the machine take memory for broken, and flags that place mappings where there
 * is no room or need what is not there. */
enum { ADVICE_HWPOISON = 100, ADVICE_SOFT_OFFLINE = 101 };
#define FLAG_32BIT 0x40u
#define FLAG_HUGETLB 0x40000u

/* --- addresses --- */

bool host_resolve(struct host_backend *host, uint16_t task, const struct scenario_address *address,
                  va_t *va)
{
    const struct host_process *process = task < SCENARIO_MOST_TASKS ? &host->tasks[task] : NULL;

    *va = address->offset_bytes;
    switch (address->base) {
    case BASE_ABSOLUTE:
        return true;
    case BASE_HEAP:
        *va += SCENARIO_HEAP_START;
        return process != NULL;
    case BASE_REGION:
        break;
    case BASE_STACK:
        return false;
    }
    if (process == NULL || address->region >= SCENARIO_MOST_REGIONS ||
        !process->has_region[address->region])
        return false;
    *va += process->regions[address->region];
    return true;
}

bool host_place(struct host_backend *host, const struct scenario_operation *operation,
                const struct scenario_address *address, uint64_t *place,
                struct scenario_outcome *outcome)
{
    va_t va;

    if (!host_resolve(host, operation->task, address, &va)) {
        host_unable(outcome,
                    address->base == BASE_STACK ? "the stack of a real task is its program's"
                                                : "%s has no region of that name",
                    host_task_name(host, operation->task));
        return false;
    }
    *place = va < HOST_USER_TOP ? va + HOST_BIAS : va;
    if (*place < HOST_END || va >= HOST_USER_TOP || operation->verb == VERB_BRK)
        return true;
    host_unable(outcome, "the place of 0x%llx is the program's own on the host",
                (unsigned long long)va);
    return false;
}

static bool is_fixed(const struct host_request *request)
{
    return (request->flags & (ABI_MAP_FIXED | ABI_MAP_FIXED_NOREPLACE)) != 0;
}

/* A place near 0 that is only a wish is none. */
static bool place_wish(struct host_backend *host, const struct scenario_operation *operation,
                       bool is_wish, uint64_t *place, struct scenario_outcome *outcome)
{
    *place = is_wish ? 0 : HOST_BIAS;
    if (!operation->has_target)
        return true;
    if (!host_place(host, operation, &operation->target, place, outcome))
        return false;
    if (is_wish && *place >= HOST_BIAS && *place < HOST_BIAS + MEMORY_PAGE_BYTES)
        *place = 0;
    return true;
}

static bool place_operands(struct host_backend *host, const struct scenario_operation *operation,
                           struct host_request *request, struct scenario_outcome *outcome)
{
    if (operation->verb == VERB_LIMIT)
        return true;
    if (operation->verb == VERB_MMAP)
        return place_wish(host, operation, !is_fixed(request), &request->address, outcome);
    if (!host_place(host, operation, &operation->address, &request->address, outcome))
        return false;
    if (operation->verb == VERB_MREMAP)
        return place_wish(host, operation, (operation->flags & ABI_MREMAP_FIXED) == 0,
                          &request->target, outcome);
    return !operation->has_target ||
           host_place(host, operation, &operation->target, &request->target, outcome);
}

/* --- refusals --- */

/* The end of a range of pages as the kernel computes it: if the size wraps, it is the start; if the
 * sum does, it lies below. */
static uint64_t end_of(uint64_t start, uint64_t bytes)
{
    uint64_t offset = start % MEMORY_PAGE_BYTES;

    return start - offset + round_up(bytes + offset, MEMORY_PAGE_BYTES);
}

/* Is the range the scenario's, or one that is refused before anything is looked at? */
static bool is_harmless(uint64_t start, uint64_t bytes)
{
    uint64_t end = end_of(start, bytes);

    return start >= HOST_USER_TOP || end < start || end <= HOST_END || end > HOST_USER_TOP;
}

static bool is_harmless_call(const struct host_request *request)
{
    switch (request->verb) {
    case VERB_MMAP:
        return !is_fixed(request) || is_harmless(request->address, request->bytes);
    case VERB_MREMAP:
        return is_harmless(request->address, request->bytes) &&
               ((request->flags & ABI_MREMAP_FIXED) == 0 ||
                is_harmless(request->target, request->new_bytes));
    case VERB_MUNMAP:
        return is_harmless(request->address, request->bytes);
    default:
        return true;
    }
}

/*
 * Does mincore refuse the range at once, as the emulated addresses have it? The kernel may then be
 * asked: with the bias the range ends beyond what is the user's, too.
 */
static bool is_beyond_user(const struct host_request *request)
{
    uint64_t start = request->address - HOST_BIAS;

    return request->verb == VERB_MINCORE &&
           request->bytes > HOST_USER_TOP - MEMORY_PAGE_BYTES - start;
}

/*
 * Calls on what is mapped in a range that reaches beyond the scenario's part get no further than
 * its end: true if they were to. What lies behind is unmapped to the scenario, so that the answer
 * is ENOMEM, as the kernel gives it by itself for the gap before the end.
 */
static bool clip(struct host_request *request)
{
    uint64_t end = end_of(request->address, request->bytes);

    switch (request->verb) {
    case VERB_MPROTECT:
    case VERB_MADVISE:
    case VERB_MLOCK:
    case VERB_MUNLOCK:
    case VERB_MSYNC:
    case VERB_MINCORE:
    case VERB_STRIPE:
        break;
    default:
        return false;
    }
    if (request->address >= HOST_END || request->bytes <= HOST_END - request->address ||
        (end <= HOST_END && request->verb != VERB_STRIPE) || is_beyond_user(request))
        return false;
    request->bytes = HOST_END - request->address;
    return true;
}

static bool is_possible(const struct host_request *request, struct scenario_outcome *outcome)
{
    if (!is_harmless_call(request))
        host_unable(outcome,
                    "the range reaches into the program's own part of the host's addresses");
    else if (request->verb == VERB_MADVISE &&
             (request->advice == ADVICE_HWPOISON || request->advice == ADVICE_SOFT_OFFLINE))
        host_unable(outcome, "that advice would break memory of the real machine");
    else if (request->verb == VERB_MMAP && (request->flags & (FLAG_32BIT | FLAG_HUGETLB)) != 0)
        host_unable(outcome, "there is no such memory on the host");
    else
        return true;
    return false;
}

/* --- calls --- */

/* The address that was chosen: the scenario's, and the region's name stands for it. */
static void note_address(struct host_backend *host, const struct scenario_operation *operation,
                         struct scenario_outcome *outcome)
{
    struct host_process *process = &host->tasks[operation->task];

    if (outcome->value < HOST_BIAS || outcome->value >= HOST_END) {
        host_break(host, "the host has put a mapping at 0x%llx, where none of ours belongs",
                   (unsigned long long)outcome->value);
        return;
    }
    outcome->value -= HOST_BIAS;
    if (operation->verb == VERB_BRK || operation->region >= SCENARIO_MOST_REGIONS)
        return;
    process->has_region[operation->region] = true;
    process->regions[operation->region] = outcome->value;
}

void host_memory_call(struct host_backend *host, const struct scenario_operation *operation,
                      struct scenario_outcome *outcome)
{
    struct host_request request = {.verb = operation->verb,
                                   .bytes = operation->bytes,
                                   .new_bytes = operation->new_bytes,
                                   .offset_bytes = operation->offset_bytes,
                                   .protection = operation->protection,
                                   .flags = operation->flags,
                                   .advice = operation->advice,
                                   .value = operation->value,
                                   .has_target = operation->has_target};
    struct host_reply reply;
    int file = operation->verb == VERB_MMAP ? host_descriptor(host, operation->file) : -1;

    if (!place_operands(host, operation, &request, outcome) || !is_possible(&request, outcome))
        return;
    bool is_clipped = clip(&request);

    if (!host_ask_task(host, operation->task, &request, file, &reply))
        return;
    host_outcome_of_reply(host, &reply, outcome);
    if (is_clipped && (reply.kind == OUTCOME_DONE || reply.kind == OUTCOME_DATA))
        host_error(outcome, ENOMEM);
    if (reply.kind == OUTCOME_DONE &&
        (operation->verb == VERB_MMAP || operation->verb == VERB_MREMAP ||
         operation->verb == VERB_BRK))
        note_address(host, operation, outcome);
}

/* --- accesses --- */

bool host_has_room(uint64_t bytes, struct scenario_outcome *outcome)
{
    if (bytes <= HOST_BUFFER_BYTES)
        return true;
    host_unable(outcome, "more than %zuM at once", HOST_BUFFER_BYTES >> 20);
    return false;
}

bool host_put_data(struct host_backend *host, const struct scenario_data *data,
                   struct scenario_outcome *outcome)
{
    if (!host_has_room(data->bytes, outcome))
        return false;
    if (data->kind == DATA_FILL)
        memset(host->buffer, data->fill, (size_t)data->bytes);
    else if (data->bytes > 0)
        memcpy(host->buffer, data->content, (size_t)data->bytes);
    return true;
}

static void ask_access(struct host_backend *host, const struct scenario_operation *operation,
                       struct host_request *request, struct scenario_outcome *outcome)
{
    struct host_reply reply;

    if (host_place(host, operation, &operation->address, &request->address, outcome) &&
        host_ask_task(host, operation->task, request, -1, &reply))
        host_outcome_of_reply(host, &reply, outcome);
}

/* What lies above the scenario's part stops an access that runs on. */
void host_access_call(struct host_backend *host, const struct scenario_operation *operation,
                      struct scenario_outcome *outcome)
{
    struct host_request request = {.verb = operation->verb, .bytes = operation->bytes};

    if (operation->verb == VERB_WRITE) {
        request.bytes = operation->data.bytes;
        request.is_fill = operation->data.kind == DATA_FILL;
        request.fill = operation->data.fill;
        if (!request.is_fill && !host_put_data(host, &operation->data, outcome))
            return;
    } else if (operation->verb == VERB_POKE) {
        request.is_fill = true;
        request.fill = (uint8_t)operation->value;
    } else if (!host_has_room(operation->verb == VERB_READ
                                  ? operation->bytes
                                  : operation->bytes / MEMORY_PAGE_BYTES + 2,
                              outcome)) {
        return;
    }
    ask_access(host, operation, &request, outcome);
}

void host_kernel_access(struct host_backend *host, const struct scenario_operation *operation,
                        struct scenario_outcome *outcome)
{
    struct host_request request = {.verb = operation->verb, .bytes = operation->bytes};

    if (operation->verb == VERB_KWRITE) {
        request.bytes = operation->data.bytes;
        if (!host_put_data(host, &operation->data, outcome))
            return;
    } else if (!host_has_room(operation->bytes, outcome)) {
        return;
    }
    ask_access(host, operation, &request, outcome);
}
