/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What libFuzzer calls, and the driver of the corpus: bytes in; whatever is wrong aborts. */
#ifndef FORKLAB_TESTS_FUZZ_TARGET_H
#define FORKLAB_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* The name and the type are libFuzzer's. */
__attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
