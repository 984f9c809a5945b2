/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine that figures were measured on, for their readers. */
#ifndef FORKLAB_DEMO_DESCRIBE_H
#define FORKLAB_DEMO_DESCRIBE_H

#include <jansson.h>
#include <stddef.h>

/* An object: "processor", "processors", "memory_bytes", "kernel", "architecture". What the host
 * does not tell is null. A new reference, or NULL when memory ran out. */
json_t *describe_machine(void);

/* The same in one line, for a heading. */
void describe_machine_line(char *text, size_t text_bytes);

#endif
