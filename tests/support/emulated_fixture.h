/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scenarios from text, run on small emulated machines. What goes wrong fails the test. */
#ifndef FORKLAB_TESTS_EMULATED_FIXTURE_H
#define FORKLAB_TESTS_EMULATED_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>

#include "scenario/emulated.h"
#include "scenario/run.h"

#include <cmocka.h>

enum { TOLD_BYTES = 4096 };

/* What a run told: its failures, a line each. */
struct told {
    char text[TOLD_BYTES];
    size_t length;
};

/* The text is a scenario, named "t". */
void scenario_of_text(struct scenario *scenario, const char *text);

/* A backend on a small machine; its end, when nothing of it may be left. */
struct backend *backend_begin(const struct kernel *kernel, enum mmu_kind mmu);
void backend_end(struct backend *backend);

/* Runs the text in one place, all invariants after each operation, and ends the machine. */
void run_at(const struct kernel *kernel, enum mmu_kind mmu, const char *text, struct told *told,
            struct scenario_result *result);

/* It holds on every kernel and both MMUs. */
void holds_everywhere(const char *text);

#endif
