/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host's limit on mappings, and what is given up to stay below it.
 *
 * Given up first are free slots, the longest free first; then chunks of this machine's windows in
 * the order of their latest install. The last pages installed for each thread are never given up,
 * since one instruction may need several of them at once.
 */
#ifndef FORKLAB_PAGER_HOST_BUDGET_H
#define FORKLAB_PAGER_HOST_BUDGET_H

#include "pager/host_window.h"

/* The default budget: half of what the host allows a process. */
uint32_t host_budget_default(void);

/* Makes room for one more install, as far as anything can be given up. */
void host_budget_make_room(struct host_mmu *mmu);

/* Gives up everything of this machine that can be. */
void host_budget_drop_all(struct host_mmu *mmu);

#endif
