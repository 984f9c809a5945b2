/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host layer knows of RAM beyond mmu.h: the file behind it. Windows map pages of that file
 * at the offset pfn * page size.
 */
#ifndef FORKLAB_PAGER_HOST_RAM_H
#define FORKLAB_PAGER_HOST_RAM_H

#include "pager/mmu.h"

/* The descriptor of the file under this RAM; it stays RAM's. */
int host_ram_fd(const struct host_ram *ram);

#endif
