/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pins of the host backend: buffers registered with io_uring, one ring a pin.
 *
 * The task makes the ring and registers the page; then the controlling side takes the ring over by
 * a descriptor of its own, and the task closes its. So the task has no mapping of it, the pin
 * outlives the task, and the transfers, from and to the shared buffer, are made by who holds it.
 * io_uring pins every page for writing: what is mapped for reading alone cannot be pinned here.
 */
#include <errno.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scenario/host_layout.h"
#include "scenario/host_process.h"

#define PIN_PAGE_BYTES ((uint64_t)4096)

/* --- taken and given up --- */

void host_release_pin(struct host_pin *pin)
{
    if (pin->rings != NULL)
        (void)munmap(pin->rings, pin->rings_bytes);
    if (pin->entry != NULL)
        (void)munmap(pin->entry, sizeof(*pin->entry));
    if (pin->ring >= 0) {
        /* Closing alone would give the page up some time later. */
        (void)syscall(SYS_io_uring_register, pin->ring, IORING_UNREGISTER_BUFFERS, NULL, 0);
        (void)close(pin->ring);
    }
    *pin = (struct host_pin){.ring = -1};
}

/* Maps the ring's queues, which lie in one piece on every kernel that has pidfd_getfd(). */
static bool map_ring(struct host_pin *pin, const struct io_uring_params *parameters)
{
    size_t submissions = parameters->sq_off.array + parameters->sq_entries * sizeof(uint32_t);
    size_t completions =
        parameters->cq_off.cqes + parameters->cq_entries * sizeof(struct io_uring_cqe);
    const int protection = PROT_READ | PROT_WRITE;

    pin->rings_bytes = submissions > completions ? submissions : completions;
    void *rings =
        mmap(NULL, pin->rings_bytes, protection, MAP_SHARED, pin->ring, IORING_OFF_SQ_RING);
    void *entry =
        mmap(NULL, sizeof(*pin->entry), protection, MAP_SHARED, pin->ring, IORING_OFF_SQES);

    pin->rings = rings == MAP_FAILED ? NULL : rings;
    pin->entry = entry == MAP_FAILED ? NULL : entry;
    pin->sq_tail = parameters->sq_off.tail;
    pin->sq_array = parameters->sq_off.array;
    pin->cq_head = parameters->cq_off.head;
    pin->cq_entries = parameters->cq_off.cqes;
    return pin->rings != NULL && pin->entry != NULL;
}

static void take_ring(struct host_backend *host, const struct host_process *process,
                      const struct host_reply *reply, struct host_pin *pin,
                      struct scenario_outcome *outcome)
{
    struct io_uring_params parameters;

    memcpy(&parameters, host->buffer, sizeof(parameters));
    pin->ring = (int)syscall(SYS_pidfd_getfd, process->handle, (int)reply->value, 0);
    if (pin->ring >= 0 && map_ring(pin, &parameters)) {
        host_done(outcome, 0);
        return;
    }
    host_unable(outcome, "the pin cannot be taken over from its task: %s", strerror(errno));
    host_release_pin(pin);
}

/* Was the page refused only because io_uring would pin it for writing? */
static bool is_readable(struct host_backend *host, uint16_t task, va_t va)
{
    struct scenario_snapshot snapshot = {0};
    bool readable = false;

    if (host_snapshot(&host->backend, task, false, &snapshot) == 0) {
        for (size_t i = 0; i < snapshot.count; i++) {
            const struct scenario_vma *vma = &snapshot.vmas[i];

            if (va >= vma->start && va < vma->end)
                readable = vma->rights[0] == 'r' && vma->rights[1] != 'w';
        }
    }
    snapshot_free(&snapshot);
    return readable;
}

static void refuse(struct host_backend *host, const struct scenario_operation *operation,
                   const struct host_reply *reply, uint64_t page, struct scenario_outcome *outcome)
{
    host_outcome_of_reply(host, reply, outcome);
    if (reply->kind != OUTCOME_ERROR)
        return;
    if (reply->error == EFAULT && !operation->write &&
        is_readable(host, operation->task, page - HOST_BIAS))
        host_unable(outcome, "io_uring pins for writing, and the page is mapped for reading alone");
    else if (reply->error == EOPNOTSUPP || reply->error == EPERM)
        host_unable(outcome, "io_uring does not pin such a page: %s", strerror(reply->error));
}

void host_pin(struct host_backend *host, const struct scenario_operation *operation,
              struct scenario_outcome *outcome)
{
    struct host_process *process = &host->tasks[operation->task];
    struct host_request request = {.verb = VERB_PIN};
    struct host_reply reply;

    if (operation->pin >= SCENARIO_MOST_PINS || host->pins[operation->pin].ring >= 0) {
        host_unable(outcome, "a page is pinned under that name already");
        return;
    }
    struct host_pin *pin = &host->pins[operation->pin];

    if (!host_place(host, operation, &operation->address, &request.address, outcome))
        return;
    request.address -= request.address % PIN_PAGE_BYTES;
    pin->page = request.address;
    if (!host_ask(host, process, &request, -1, &reply))
        return;
    if (reply.kind != OUTCOME_DONE) {
        refuse(host, operation, &reply, request.address, outcome);
        return;
    }
    take_ring(host, process, &reply, pin, outcome);
    const struct host_request close_ring = {.verb = VERB_UNPIN, .value = reply.value};

    (void)host_ask(host, process, &close_ring, -1, &reply);
}

static struct host_pin *named_pin(struct host_backend *host,
                                  const struct scenario_operation *operation,
                                  struct scenario_outcome *outcome)
{
    struct host_pin *pin = operation->pin < SCENARIO_MOST_PINS ? &host->pins[operation->pin] : NULL;

    if (pin != NULL && pin->ring >= 0)
        return pin;
    host_unable(outcome, "no page is pinned under that name");
    return NULL;
}

void host_unpin(struct host_backend *host, const struct scenario_operation *operation,
                struct scenario_outcome *outcome)
{
    struct host_pin *pin = named_pin(host, operation, outcome);

    if (pin == NULL)
        return;
    host_release_pin(pin);
    host_done(outcome, 0);
}

/* --- transfers --- */

/* Has the kernel read or write the page: the bytes done, or a negative errno. */
static int32_t transfer(const struct host_backend *host, struct host_pin *pin, uint8_t operation,
                        uint64_t offset, uint64_t bytes)
{
    _Atomic uint32_t *tail = (void *)(pin->rings + pin->sq_tail);
    _Atomic uint32_t *head = (void *)(pin->rings + pin->cq_head);
    uint32_t *array = (void *)(pin->rings + pin->sq_array);
    const struct io_uring_cqe *answers = (void *)(pin->rings + pin->cq_entries);
    long entered;

    *pin->entry = (struct io_uring_sqe){.opcode = operation,
                                        .fd = host->buffer_file,
                                        .addr = pin->page + offset,
                                        .len = (uint32_t)bytes};
    array[0] = 0;
    atomic_fetch_add(tail, 1);
    do {
        entered = syscall(SYS_io_uring_enter, pin->ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
    } while (entered < 0 && errno == EINTR);
    if (entered < 0)
        return -errno;
    /* The queue of answers has two places, the one of requests a single one. */
    int32_t result = answers[atomic_load(head) % 2].res;

    atomic_fetch_add(head, 1);
    return result;
}

/* A device is told of one page: what goes beyond it is refused, as io_uring does. */
static bool is_transferred(struct host_backend *host, const struct scenario_operation *operation,
                           uint8_t kind, uint64_t bytes, struct scenario_outcome *outcome)
{
    struct host_pin *pin = named_pin(host, operation, outcome);
    uint64_t offset = operation->offset_bytes;
    int32_t result = -EFAULT;

    if (pin == NULL)
        return false;
    if (offset <= PIN_PAGE_BYTES && bytes <= PIN_PAGE_BYTES - offset)
        result = bytes == 0 ? 0 : transfer(host, pin, kind, offset, bytes);
    if (result >= 0 && (uint64_t)result == bytes)
        return true;
    host_error(outcome, result < 0 ? -result : EIO);
    return false;
}

void host_pin_read(struct host_backend *host, const struct scenario_operation *operation,
                   struct scenario_outcome *outcome)
{
    if (is_transferred(host, operation, IORING_OP_WRITE_FIXED, operation->bytes, outcome))
        host_data(host, outcome, operation->bytes);
}

void host_pin_write(struct host_backend *host, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    if (host_put_data(host, &operation->data, outcome) &&
        is_transferred(host, operation, IORING_OP_READ_FIXED, operation->data.bytes, outcome))
        host_done(outcome, 0);
}
