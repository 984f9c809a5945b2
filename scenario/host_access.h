/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads and stores of a task on the real kernel, with the minor faults that they take.
 *
 * They go from low to high addresses, and each page is first touched at its lowest byte of the
 * range alone: so the first bad byte is what the signal tells. PEEK and POKE touch the first byte
 * of the range and of each page that begins in it.
 *
 * A task that makes a bad access says so on its socket, with the signal, and then dies of it.
 */
#ifndef FORKLAB_SCENARIO_HOST_ACCESS_H
#define FORKLAB_SCENARIO_HOST_ACCESS_H

#include "scenario/host_wire.h"

struct host_access {
    enum scenario_verb verb; /* READ, WRITE, PEEK, POKE */
    uint64_t address;
    uint64_t bytes;
    bool is_fill;
    uint8_t fill;
    uint8_t *buffer; /* where loaded bytes go; where stored ones are */
};

/* Catches the signals of this process's accesses: 0 or a negative errno. */
int host_access_prepare(void);

/* Makes the accesses; returns how many minor faults they took, if they were good. */
uint64_t host_access_make(const struct host_access *access);

/* How many bytes of the buffer it needs. */
uint64_t host_access_buffer_bytes(const struct host_access *access);

#endif
