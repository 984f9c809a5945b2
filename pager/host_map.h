/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The host calls that change a window, with the records that tell what they did.
 *
 * Each function makes one change of the host over the pages [first, end) of a window and, when the
 * host agreed, notes it: frames, bits, sets, boundaries, the sum of the process's mappings, events
 * and time. `mmu` is the machine that pays: the window's own but where a free slot is flushed.
 *
 * The sum counts what the windows add to the host's mappings: one for each boundary. The slots'
 * last pages are reservation, so that slots do not concern each other.
 */
#ifndef FORKLAB_PAGER_HOST_MAP_H
#define FORKLAB_PAGER_HOST_MAP_H

#include "pager/host_window.h"

enum host_access { HOST_ACCESS_NONE, HOST_ACCESS_READ, HOST_ACCESS_WRITE };

/* Mappings of the host that all windows of the process take, beyond the reservation. */
int64_t host_mappings(void);

/* Does the host hold this page in another mapping than the page before it? */
bool host_map_is_boundary(const struct host_window *window, uint64_t page);

/*
 * The record of a chunk, made if need be, for pages that are about to be mapped; NULL: no memory.
 */
struct host_chunk *host_chunk_get(struct host_window *window, uint32_t index);

/* Frees the record if nothing is mapped there after all. */
void host_chunk_settle(struct host_window *window, struct host_chunk *chunk);

/* The chunk is the window's latest, and the window the machine's. */
void host_chunk_touch(struct host_window *window, struct host_chunk *chunk);

/* Other access to pages whose frames stay; all are mapped, or `access` is none. */
int host_map_protect(struct host_window *window, uint64_t first, uint64_t end,
                     enum host_access access);

/* Maps frames in a row, the first being `pfn`, into pages of one chunk that has a record. */
int host_map_frames(struct host_window *window, uint64_t first, uint64_t end, pfn_t pfn,
                    enum host_access access);

/* Puts the reservation back under these pages. */
int host_map_drop(struct host_mmu *mmu, struct host_window *window, uint64_t first, uint64_t end);

/* Puts the reservation back under the whole slot. Aborts when the host refuses. */
void host_map_flush(struct host_mmu *mmu, struct host_window *window);

/* Ends the process with a line on standard error, from anywhere. */
_Noreturn void host_die(const char *line);

#endif
