/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the text of /proc/PID/maps and smaps, for the scenario's part of the address space alone
 * (host_layout.h) and with emulated addresses.
 */
#ifndef FORKLAB_SCENARIO_HOST_MAPS_H
#define FORKLAB_SCENARIO_HOST_MAPS_H

#include <stdio.h>

#include "scenario/backend.h"

/* Adds the mappings of the text, which is that of smaps if usage is wanted: 0; -ENOMEM; -EIO when
 * it does not look as it should. The snapshot is the caller's to free in any case. */
int host_maps_read(FILE *text, bool with_usage, struct scenario_snapshot *snapshot);

/* Prints those lines of the text, rebased: 0; -EIO. */
int host_maps_print(FILE *text, FILE *stream);

#endif
