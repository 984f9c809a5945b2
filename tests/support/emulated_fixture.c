/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scenarios for tests; emulated_fixture.h says what for. */
#include "tests/support/emulated_fixture.h"

#include <stdio.h>
#include <string.h>

#include "scenario/reader.h"

#define RAM_BYTES ((uint64_t)8 << 20)

static void failed(void *context, const struct scenario_operation *operation, const char *what)
{
    struct told *told = context;

    (void)operation;
    if (told->length < sizeof(told->text))
        told->length += (size_t)snprintf(told->text + told->length,
                                         sizeof(told->text) - told->length, "%s\n", what);
}

void scenario_of_text(struct scenario *scenario, const char *text)
{
    char problem[SCENARIO_PROBLEM_BYTES];

    if (scenario_read_text(scenario, "t", text, strlen(text), problem, sizeof(problem)) != 0)
        fail_msg("%s", problem);
}

struct backend *backend_begin(const struct kernel *kernel, enum mmu_kind mmu)
{
    const struct machine_options options = {.kernel = kernel, .mmu = mmu, .ram_bytes = RAM_BYTES};
    char problem[SCENARIO_WHY_BYTES];
    struct backend *backend = NULL;

    if (emulated_create(&backend, &options, problem, sizeof(problem)) != 0)
        fail_msg("%s", problem);
    return backend;
}

void backend_end(struct backend *backend)
{
    char why[SCENARIO_WHY_BYTES] = "";

    if (!backend->ops->end(backend, why, sizeof(why)))
        fail_msg("%s", why);
}

void run_at(const struct kernel *kernel, enum mmu_kind mmu, const char *text, struct told *told,
            struct scenario_result *result)
{
    struct scenario_report report = {.failed = failed, .context = told, .checks = true};
    struct scenario scenario;
    struct backend *backend = backend_begin(kernel, mmu);

    *told = (struct told){0};
    scenario_of_text(&scenario, text);
    scenario_run(&scenario, backend, &report, result);
    backend_end(backend);
    scenario_free(&scenario);
}

void holds_everywhere(const char *text)
{
    for (size_t i = 0; i < kernel_count; i++) {
        for (unsigned mmu = MMU_HOST; mmu <= MMU_SOFT; mmu++) {
            struct scenario_result result;
            struct told told;

            run_at(&kernels[i], (enum mmu_kind)mmu, text, &told, &result);
            if (result.end != SCENARIO_HELD)
                fail_msg("%s, %s MMU: %s%s", kernels[i].name, mmu == MMU_HOST ? "host" : "soft",
                         told.text, result.why);
        }
    }
}
