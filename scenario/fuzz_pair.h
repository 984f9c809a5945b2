/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two backends of a fuzzing run, made anew for every episode.
 */
#ifndef FORKLAB_SCENARIO_FUZZ_PAIR_H
#define FORKLAB_SCENARIO_FUZZ_PAIR_H

#include "scenario/fuzz.h"

struct fuzz_pair {
    struct backend *one;
    struct backend *other;  /* NULL: nothing to compare with */
    struct backend *oracle; /* of the two, the one that is believed; NULL as above */
    bool no_zero_page;      /* of the emulated machine, as the real kernel has none */
    struct fuzz_comparison comparison;
};

/* Makes them for a run: a negative errno and one line in `why`. */
int fuzz_pair_open(struct fuzz_pair *pair, const struct fuzz_options *options, char *why,
                   size_t why_bytes);

/*
 * All begins anew: a machine with the frames as they were left, which is what fresh ones never
 * show; everything else is made again. Negative errno as above; -EIO: something was lost.
 */
int fuzz_pair_renew(struct fuzz_pair *pair, const struct fuzz_options *options, char *why,
                    size_t why_bytes);

/* Ends them: false, and `why` says it, when something is lost. With `why` already said: NULL. */
bool fuzz_pair_close(struct fuzz_pair *pair, char *why, size_t why_bytes);

/*
 * Is there a kernel that the sharing one is the sister of, with tables copied? NULL: there is not.
 */
const struct kernel *fuzz_copying_sister(const struct kernel *kernel);

/* The mix for a run. */
struct fuzz_mix fuzz_mix_for(const struct fuzz_options *options);

#endif
