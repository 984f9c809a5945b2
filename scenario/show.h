/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What students read: states of an emulated machine as text, a file a kind (show_*.c). All are
 * called with the machine's lock held; a task that is asked about is alive.
 */
#ifndef FORKLAB_SCENARIO_SHOW_H
#define FORKLAB_SCENARIO_SHOW_H

#include "scenario/emulated_private.h"

/* The formats of /proc/PID/maps and /proc/PID/smaps. */
void show_maps(struct emulated *emulated, unsigned slot, FILE *out);
void show_smaps(struct emulated *emulated, unsigned slot, FILE *out);

/* The tree of page tables, with who shares each leaf table. */
void show_tables(struct emulated *emulated, unsigned slot, FILE *out);

/* Frames with data: their kind and counts, and who maps them. */
void show_frames(struct emulated *emulated, FILE *out);

/* Fault steps and other events, as often as the scenario made them happen. */
void show_faults(const struct emulated *emulated, FILE *out);

/* "name value" lines, as in /proc/vmstat. */
void show_vmstat(const struct emulated *emulated, FILE *out);

/* What an object is called in maps: room for the longest name. */
enum { SHOW_NAME_BYTES = 256 };
void show_object_name(const struct emulated *emulated, const struct object *object,
                      char name[SHOW_NAME_BYTES]);

/* "7ffff67fc000", as wide as addresses of this address space are. */
enum { SHOW_ADDRESS_BYTES = 20 };
void show_address(const struct emulated *emulated, va_t va, char text[SHOW_ADDRESS_BYTES]);

/* "12", or "12-15". */
enum { SHOW_RUN_BYTES = 32 };
void show_pfn_run(pfn_t first, pfn_t last, char text[SHOW_RUN_BYTES]);

#endif
