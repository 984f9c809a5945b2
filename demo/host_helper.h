/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host column and its helper say to each other: one request, one reply, each a packet of a
 * fixed size over a pair of sockets. The helper's end is its descriptor HELPER_SOCKET.
 */
#ifndef FORKLAB_DEMO_HOST_HELPER_H
#define FORKLAB_DEMO_HOST_HELPER_H

#include "demo/column.h"

#define HELPER_ARGUMENT "--serve-host-column"

enum { HELPER_SOCKET = 3 };

enum helper_order { HELPER_PREPARE, HELPER_ROUND, HELPER_FINISH };

struct helper_request {
    enum helper_order order;
    struct column_setup setup; /* to prepare */
    enum fork_mode mode;       /* of a round */
};

struct helper_reply {
    int error; /* 0 or a negative errno */
    double total_ns;
    char problem[160];
};

#endif
