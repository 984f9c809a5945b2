/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the host backend's tasks have their memory.
 *
 * An emulated address X is the host address X + HOST_BIAS. HOST_MAP_TOP is where an emulated kernel
 * on the host MMU (windows of 32 GiB) begins to place mappings downwards; the line is its place
 * here. The host addresses [HOST_BIAS, HOST_END) are the scenario's. Everything else of a task's
 * address space is its program's, or filled with mappings that nobody can touch. The one right
 * above the part is of the kind that grows downwards, so that the kernel keeps a gap below it, the
 * one between the line and the end. So it has no choice but to place each new mapping below the
 * line; what lies above it is unmapped, as it is below an emulated stack. The heap is told to begin
 * at SCENARIO_HEAP_START.
 *
 * Addresses of the kernel's half and those that are not canonical are the same in both. What lies
 * between the end and 2^47 has no counterpart.
 *
 * The place is fixed, and below all that address space randomization may choose (32 bits of it) for
 * libraries, above all that it may choose for the program; sanitizers leave it free, too. So every
 * program that a task executes has the same one. The bias is a multiple of 2 MiB: what the kernel
 * aligns is aligned in both.
 */
#ifndef FORKLAB_SCENARIO_HOST_LAYOUT_H
#define FORKLAB_SCENARIO_HOST_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HOST_BIAS ((uint64_t)0x6a0000000000)
#define HOST_MAP_TOP (((uint64_t)32 << 30) - 4096 - ((uint64_t)8 << 20) - ((uint64_t)1 << 20))
#define HOST_LINE (HOST_BIAS + HOST_MAP_TOP)
#define HOST_GAP_BYTES ((uint64_t)1 << 20) /* the kernel's, of 256 pages */
#define HOST_END (HOST_LINE + HOST_GAP_BYTES)
#define HOST_USER_TOP ((uint64_t)1 << 47)

/* The most that a stack may grow to in a process with this layout. */
#define HOST_MOST_STACK_BYTES ((uint64_t)64 << 20)

/*
 * Gives this process that layout: nothing of it may lie in the scenario's part yet, and it maps
 * nothing itself from then on, malloc() included. On failure a negative errno and one line in
 * `problem`; -EOPNOTSUPP where the host works otherwise.
 */
int host_layout_prepare(char *problem, size_t problem_bytes);

/* A file of /proc as text, without malloc: false when it cannot be read or is longer. */
bool host_proc_read(const char *path, char *text, size_t text_bytes);

#endif
