/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets between the host backend and its processes; no malloc, since both sides use it. */
#include "scenario/host_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for one descriptor beside a packet. */
union passenger {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

bool host_send(int socket, const void *packet, size_t bytes, int file)
{
    struct iovec part = {.iov_base = (void *)(uintptr_t)packet, .iov_len = bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    union passenger passenger = {0};
    ssize_t sent;

    if (file >= 0) {
        message.msg_control = &passenger;
        message.msg_controllen = sizeof(passenger);
        passenger.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&passenger.header), &file, sizeof(file));
    }
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)bytes;
}

static int await(int socket, int timeout_ms)
{
    struct pollfd poll_socket = {.fd = socket, .events = POLLIN};
    int ready;

    do {
        ready = poll(&poll_socket, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready < 0)
        return -errno;
    return ready == 0 ? -ETIMEDOUT : 0;
}

static int descriptor_of(struct msghdr *message)
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    int file = -1;

    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(&file, CMSG_DATA(header), sizeof(file));
    return file;
}

int host_receive(int socket, void *packet, size_t bytes, int *file, int timeout_ms)
{
    struct iovec part = {.iov_base = packet, .iov_len = bytes};
    union passenger passenger = {0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &passenger,
                             .msg_controllen = sizeof(passenger)};
    int error = timeout_ms < 0 ? 0 : await(socket, timeout_ms);
    ssize_t received;

    if (error != 0)
        return error;
    do {
        received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    } while (received < 0 && errno == EINTR);
    int carried = received < 0 ? -1 : descriptor_of(&message);

    if (file != NULL)
        *file = carried;
    else if (carried >= 0)
        (void)close(carried);
    if (received <= 0)
        return -EPIPE;
    return received == (ssize_t)bytes ? 0 : -EPROTO;
}
