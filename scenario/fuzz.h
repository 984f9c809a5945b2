/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random scenarios, compared on two backends, and shortened when they disagree.
 *
 * A run is cut into episodes: backends with no task, a thousand operations, the comparison of all
 * that can be seen, and the proof that nothing is lost. Each episode has a seed of its own, made
 * from the run's and its number, so that one alone can be repeated. A machine goes from episode to
 * episode: its free frames hold what they held, and cost the host nothing.
 */
#ifndef FORKLAB_SCENARIO_FUZZ_H
#define FORKLAB_SCENARIO_FUZZ_H

#include "pager/machine.h"
#include "pt/random.h"
#include "scenario/backend.h"

enum fuzz_against { AGAINST_NOTHING, AGAINST_MODEL, AGAINST_HOST, AGAINST_SOFT, AGAINST_COPIED };

struct fuzz_options {
    uint64_t operations;
    uint64_t seed;
    unsigned tasks;   /* most at once; 8 */
    unsigned episode; /* operations an episode; 1000 */
    enum fuzz_against against;
    bool checks;     /* every invariant after every operation */
    bool low_memory; /* little RAM: ENOMEM comes */
    struct machine_options machine;
    FILE *progress; /* or NULL */
};

struct fuzz_result {
    uint64_t operations; /* performed; what one side is unable to do is not counted */
    uint64_t episodes;
    bool diverged;
    uint64_t episode_seed;    /* of the one that diverged */
    bool no_zero_page;        /* the emulated machine had none, as the real kernel below has none */
    struct scenario scenario; /* that one, shortened: the caller's to free. Else empty */
    char why[SCENARIO_WHY_BYTES];
};

/* 0, or a negative errno when it cannot run at all: `result->why`. */
int fuzz_run(const struct fuzz_options *options, struct fuzz_result *result);

/*
 * Writes a scenario with the answers of what the run compares with, so that it fails where that was
 * right. Without answers where it cannot be asked.
 */
void fuzz_write(const struct fuzz_options *options, const struct scenario *scenario, FILE *stream);

/* Makes one episode as a scenario: -ENOMEM. The same for a seed on every machine. 0 means the
 * default. */
struct fuzz_mix {
    unsigned operations;
    unsigned tasks;
    bool for_host;   /* only what the real kernel can do, too */
    bool low_memory; /* larger ranges */
    va_t area_start; /* where the scenario places mappings: some spans */
    uint64_t area_bytes;
    uint64_t span_bytes; /* 2 MiB */
    bool has_no_heap;    /* the address space is too small for one */
};
int fuzz_make(struct scenario *scenario, uint64_t seed, const struct fuzz_mix *mix);

/*
 * Two backends side by side: true while they agree. At the first difference `why` says what, and
 * `*at` is how many operations were performed.
 *
 * `one` is asked first, and has to be the less able: what it says it is unable to do is not asked
 * of the other.
 */
bool fuzz_compare(const struct scenario *scenario, struct backend *one, struct backend *other,
                  bool checks, size_t *at, char *why, size_t why_bytes);

/* The same with a choice of what is compared. */
struct fuzz_comparison {
    const struct scenario *scenario;
    struct backend *one;
    struct backend *other; /* NULL: nothing to compare with; the operations are performed */
    bool checks;           /* every invariant after every operation */
    bool checks_at_end;    /* every invariant once */
    bool vmas;             /* the mappings VMA by VMA; else only which rights are where */
    bool usage;            /* Rss and its kin */
    bool usage_at_end;     /* only there, since it costs most of a look */
    bool residency;        /* what mincore tells */
    bool faults;           /* how many faults the accesses took */
    /* `one` has so little RAM that memory runs out. What it refuses for that reason is left out on
     * the other, where memory never ends; NULL: it has enough. */
    const struct machine *short_of_memory;
    /* The other may be unable to do what `one` has done; that ends the comparison. Else it is a
     * difference. */
    bool ends_when_unable;
    char *why;
    size_t why_bytes;
    /* What came of it. */
    size_t at;       /* operations gone through */
    size_t left_out; /* of these, what `one` was unable to do */
    /* What shows the difference, where a look at states found it: a load, or an `expect` of
     * mappings. */
    bool has_witness;
    struct scenario_operation witness;
    uint64_t first_difference; /* of two readings: the byte */
};
bool fuzz_compare_as(struct fuzz_comparison *comparison);

/* Leaves out what is not needed for `fails` to say true. */
typedef bool fuzz_fails(void *context, const struct scenario *scenario);
void fuzz_shrink(struct scenario *scenario, fuzz_fails *fails, void *context);

#endif
