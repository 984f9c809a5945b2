/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many mappings refer to each page of an amap, as UVM counts it (ppref of sys/uvm/uvm_amap.c).
 *
 *   slot    a page of the amap; slot 0 is that of the mapping's first page when it was made
 *   piece   slots in a row with one count; it is noted at the first of them
 *
 * As long as nothing was cut, all slots count alike and there are no pieces. From the first cut on
 * each change walks the pieces from the amap's beginning to the place, and cuts pieces at both ends
 * of its range. The first piece of the range then joins the one before it if both count alike, as
 * amap_pp_adjref() has it; no other pieces are joined. So ranges that come and go in the same order
 * leave no pieces behind, but slots that are new at the end do: they are a piece of their own, and
 * stay one until a range begins there.
 *
 * The pages themselves are in the page tables here, so nothing depends on these counts but their
 * price. Where there is no memory for them, or a range that is not the amap's, they are given up,
 * which is what UVM does without memory, too.
 */
#ifndef FORKLAB_PAGER_AMAP_H
#define FORKLAB_PAGER_AMAP_H

#include "pt/event.h"

struct amap_piece {
    uint32_t references;
    uint32_t length; /* in slots; where no piece begins it means nothing */
};

struct amap {
    uint64_t first_page; /* the page number of slot 0 */
    uint64_t slots;
    struct amap_piece *pieces; /* one for each slot; NULL: all count alike */
    bool given_up;
};

/* So many pages of a mapping that had none written so far. */
void amap_begin(struct amap *amap, uint64_t first_page, uint64_t pages);
void amap_end(struct amap *amap);

/* Its mapping is cut in two: from now on slots are counted one by one. `references`: so far. */
void amap_cut(struct amap *amap, uint32_t references);

/* Pages that a mapping comes to have, or no longer has; they may lie beyond the last slot. */
void amap_add(struct amap *amap, uint64_t first_page, uint64_t pages, struct event_log *events);
void amap_drop(struct amap *amap, uint64_t first_page, uint64_t pages, struct event_log *events);

/* Do the pieces follow each other from the first slot to the last? */
bool amap_is_sound(const struct amap *amap);

#endif
