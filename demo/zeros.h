/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of zeros, for mappings of a file whose size does not hang on what is installed. */
#ifndef FORKLAB_DEMO_ZEROS_H
#define FORKLAB_DEMO_ZEROS_H

#include "pager/object.h"

/*
 * Opens a file of that many bytes, made under TMPDIR (or /tmp), without a name from then on.
 * -errno, of the host's calls or of file_open().
 */
int zeros_open(struct machine *machine, uint64_t bytes, struct object **object);

#endif
