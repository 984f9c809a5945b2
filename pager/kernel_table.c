/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of kernels. It stands in a file of its own, so that a program with a policy that is not
 * the library's can have another one (docs/new-policy.md).
 */
#include "pager/kernel.h"

const struct kernel kernels[] = {
#include "pager/kernels.def"
};

const size_t kernel_count = sizeof(kernels) / sizeof(kernels[0]);
