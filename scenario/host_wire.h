/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host backend and its processes say to each other: packets of a fixed size over pairs of
 * sockets, one pair a process, and one buffer of shared memory for all, since one operation is done
 * at a time. Addresses are the host's here.
 *
 * A process answers each request with a REPLY. Before a fork it hands over the child's SOCKET. A
 * child, and a program that was executed, says HELLO. A process of ours never outlives its socket.
 */
#ifndef FORKLAB_SCENARIO_HOST_WIRE_H
#define FORKLAB_SCENARIO_HOST_WIRE_H

#include <sys/types.h>

#include "scenario/backend.h"

/* The program's arguments when it serves: this, HOST_ROLE_*, and its limits by enum limit. */
#define HOST_ARGUMENT "--serve-host-backend"
#define HOST_ROLE_HELPER "helper"
#define HOST_ROLE_TASK "task"

/* Descriptors of every process of ours. */
enum { HOST_SOCKET = 3, HOST_BUFFER = 4 };

#define HOST_BUFFER_BYTES ((size_t)64 << 20)

enum { HOST_WHY_BYTES = 160 };

struct host_request {
    enum scenario_verb verb; /* VERB_COUNT: the helper's last: reap all and end */
    uint64_t address;
    uint64_t target;
    uint64_t bytes;
    uint64_t new_bytes;
    uint64_t offset_bytes;
    uint32_t protection;
    uint32_t flags;
    int32_t advice;
    uint64_t value; /* exit status; POKE's byte; which limit; UNPIN: the ring's descriptor */
    pid_t pid;      /* of KILL, WAIT */
    bool is_fill;   /* data is one byte over and over, else what the buffer holds */
    uint8_t fill;
    bool has_target; /* of MINCORE */
    bool has_path;   /* of EXEC: in the buffer */
};

enum host_message { MESSAGE_REPLY, MESSAGE_SOCKET, MESSAGE_HELLO };

struct host_reply {
    enum host_message message;
    enum outcome_kind kind;
    int error;
    int signal;
    int code;
    pid_t pid; /* of FORK, WAIT, HELLO */
    uint64_t address;
    uint64_t value; /* of the helper's HELLO: is there a zero page? */
    uint64_t faults;
    uint64_t data_bytes; /* in the buffer */
    char why[HOST_WHY_BYTES];
};

/* Sends a packet, with a descriptor unless `file` is negative: did it work? */
bool host_send(int socket, const void *packet, size_t bytes, int file);

/*
 * Receives a packet of just that size, and a descriptor, or -1, if `file` is given. Waits that many
 * milliseconds, -1: for ever. 0; -EPIPE: the other side has ended; -ETIMEDOUT; -EPROTO.
 */
int host_receive(int socket, void *packet, size_t bytes, int *file, int timeout_ms);

#endif
