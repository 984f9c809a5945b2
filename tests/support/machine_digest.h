/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine's state as a number: two states with the same digest differ only in which frames they
 * happen to use, and in which values stand for which.
 *
 * Tables, frames and first bytes of frames are numbered in the order in which they are met, going
 * over the tasks in the order given; so a search can tell that it has been here before. What
 * counts: mappings, every entry with its flags, share counts, whether the entries above permit
 * writing, counts and pins of frames, and what the MMU lets through.
 */
#ifndef FORKLAB_TESTS_MACHINE_DIGEST_H
#define FORKLAB_TESTS_MACHINE_DIGEST_H

#include "pager/pin.h"
#include "pager/task.h"

/* Tasks that are not there are NULL; a pin that is not held is NULL. */
uint64_t machine_digest(struct machine *machine, struct task *const tasks[], unsigned count,
                        const struct pin *pin);

#endif
