/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes: small programs on the real kernel, for the host column of the experiments on mappings.
 *
 * Each run is a process of its own, this program executed again, which holds no machine and no
 * window: it gets its numbers as arguments and answers with numbers.
 */
#ifndef FORKLAB_DEMO_HOST_PROBE_H
#define FORKLAB_DEMO_HOST_PROBE_H

#include <stddef.h>
#include <stdint.h>

enum { PROBE_MOST_NUMBERS = 8 };

struct probe_request {
    const char *name; /* of a probe */
    size_t count;
    uint64_t numbers[PROBE_MOST_NUMBERS];
};

/* Runs one to its end: so many answers, or -errno with one line in `problem`. */
int host_probe_run(const struct probe_request *request, double *answers, size_t count,
                   char *problem, size_t problem_bytes);

/* What a probe does: `count` numbers in, answers out; how many, or -errno. */
typedef int probe_function(const uint64_t *numbers, size_t count, double *answers);

/* Maps and variant in; ns and cycles of a fork, and ns of the first one, out. */
probe_function host_probe_tree;

/* Outer rounds, corrected, guarded in; ns in all, in user and in system mode, entries and refused
 * munmaps out. */
probe_function host_probe_mmap;

/* A test and the bytes of its mapping in; ns of an operation out. */
probe_function host_probe_lat;

/* In main(): if this process was started as a probe, it is one, and does not return. */
void host_probe_serve_if_probe(int argc, char **argv);

#endif
