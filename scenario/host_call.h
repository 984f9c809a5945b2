/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The side of a task: what serves its operations, by real calls.
 */
#ifndef FORKLAB_SCENARIO_HOST_CALL_H
#define FORKLAB_SCENARIO_HOST_CALL_H

#include "pager/abi_call.h"
#include "scenario/host_wire.h"

#define HOST_UNLIMITED UINT64_MAX

/* For functions that end on the stack of a vfork child: before a call that does not return, the
 * address sanitizer would look for its stack, and map memory when it finds another. */
#define HOST_ENDS_ANYWHERE __attribute__((no_sanitize("address")))

/* What a process of ours knows. A vfork child has a copy of its parent's. */
struct host_service {
    uint8_t *buffer;
    uint64_t own_bytes[LIMIT_COUNT]; /* of the program itself: address space, private writable */
    uint64_t limits[LIMIT_COUNT];    /* what the scenario may have beside, or HOST_UNLIMITED */
    unsigned vfork_depth;
};

/* Memory calls, the kernel's accesses, limits. `file` is what the request carried, or -1. */
void host_call_memory(struct host_service *service, const struct host_request *request, int file,
                      struct host_reply *reply);

/* Fills the reply: done with that value, or the error in errno when the result is -1. */
void host_call_answer(struct host_reply *reply, long result);

/* Measures what the program itself takes: false when that cannot be told. */
bool host_limits_measure(struct host_service *service);

/* Sets the limits of the process, or lifts them, which an exec needs. */
void host_limits_apply(const struct host_service *service);
void host_limits_lift(void);

/* Pins the page: the ring's descriptor in `value`, its parameters in the buffer. */
void host_call_pin(struct host_service *service, const struct host_request *request,
                   struct host_reply *reply);

/* Serves until the socket ends. */
_Noreturn void host_serve(struct host_service *service);

#endif
