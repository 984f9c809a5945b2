/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The backend that is the real kernel below: one process a task, which makes real calls and real
 * loads and stores, catches its signals, reports and then dies of them.
 *
 * All of them descend from a helper, this program executed anew, that holds no machine. An emulated
 * address is a host address less a constant; the helper fills the gaps of its own address space
 * above a line, so that what the kernel chooses top-down lies where an emulated kernel puts it.
 */
#ifndef FORKLAB_SCENARIO_HOST_H
#define FORKLAB_SCENARIO_HOST_H

#include "scenario/backend.h"

/* An emulated address space must be as large as this for addresses to be the same: what a window
 * of 32 GiB holds. */
#define HOST_BACKEND_SPACE_BYTES (((uint64_t)32 << 30) - PAGE_BYTES)

/* Starts the helper: a negative errno and one line in `problem`. */
int host_backend_create(struct backend **backend, char *problem, size_t problem_bytes);

/*
 * Does this kernel serve the first read of anonymous memory by its one page of zeros, as Linux
 * does? Some virtual machines are told not to: there such a read takes a page of its own, a write
 * after it no fault, and Rss has it. `needs zero-page` asks the same.
 */
bool host_backend_has_zero_page(struct backend *backend);

/* Serves as the helper, and does not return, if that is what the arguments ask for: main()'s first
 * call, in every program that uses the backend. */
void host_backend_serve_if_helper(int argc, char **argv);

#endif
