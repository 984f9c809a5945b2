/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of emulated kernels; column_kernel.h says what they share. */
#include "demo/column_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "pager/clock.h"

/* A machine and its parent, for as many columns as can take turns on it. */
struct stage {
    struct parent_options options;
    struct parent parent;
    double ticks_per_ns;
    double own_ticks[MODE_COUNT]; /* of the child's own instructions */
    unsigned columns;             /* that exist */
    unsigned prepared;            /* of them, those between prepare and finish */
};

struct kernel_column {
    struct column column; /* first */
    const struct kernel *kernel;
    struct stage *stage;
};

static struct kernel_column *kernel_column_of(struct column *column)
{
    return (struct kernel_column *)(void *)column;
}

static int set_up_stage(struct stage *stage, const struct column_setup *setup, char *problem,
                        size_t problem_bytes)
{
    int error = parent_create(&stage->parent, &stage->options, setup, problem, problem_bytes);

    for (unsigned mode = 0; error == 0 && mode < MODE_COUNT; mode++) {
        error = child_own_ticks(&stage->parent, (enum fork_mode)mode, &stage->own_ticks[mode]);
        if (error != 0) {
            snprintf(problem, problem_bytes, "the parent cannot run: %s",
                     stage->parent.machine->mmu->problem);
            parent_destroy(&stage->parent);
        }
    }
    return error;
}

static int kernel_prepare(struct column *column, const struct column_setup *setup, char *problem,
                          size_t problem_bytes)
{
    struct stage *stage = kernel_column_of(column)->stage;
    int error = 0;

    if (stage->prepared == 0)
        error = set_up_stage(stage, setup, problem, problem_bytes);
    if (error == 0)
        stage->prepared++;
    return error;
}

static void kernel_finish(struct column *column)
{
    struct stage *stage = kernel_column_of(column)->stage;

    if (--stage->prepared == 0)
        parent_destroy(&stage->parent);
}

static void kernel_destroy(struct column *column)
{
    struct stage *stage = kernel_column_of(column)->stage;

    if (--stage->columns == 0)
        free(stage);
    free(column);
}

/* Between rounds: the column's kernel takes over, and the parent rewrites its share. */
static int take_turn(struct column *column)
{
    struct kernel_column *own = kernel_column_of(column);
    int error = machine_set_kernel(own->stage->parent.machine, own->kernel);

    return error != 0 ? error : parent_rewrite(&own->stage->parent);
}

/* Clocks and host calls, read as quickly as can be. */
struct meter {
    uint64_t kernel_ticks;
    uint64_t host_calls;
    uint64_t ticks;
};

static uint64_t host_calls(const struct machine *machine)
{
    return machine->events.counts[EVENT_HOST_PROTECT] + machine->events.counts[EVENT_HOST_MAP];
}

static void fill_sample(const struct stage *stage, enum fork_mode mode, const struct meter *before,
                        const struct meter *after, struct round_sample *sample)
{
    double per_ns = stage->ticks_per_ns;

    sample->total_ns = (double)(after->ticks - before->ticks) / per_ns;
    sample->kernel_ns = (double)(after->kernel_ticks - before->kernel_ticks) / per_ns;
    sample->user_ns = stage->own_ticks[mode] / per_ns;
    sample->host_ns = sample->total_ns - sample->kernel_ns - sample->user_ns;
    if (sample->host_ns < 0)
        sample->host_ns = 0;
    sample->host_calls = after->host_calls - before->host_calls;
}

/* What is on the clock. In MODE_FORK a child is left over. */
static ALWAYS_INLINE int run_mode(struct parent *parent, enum fork_mode mode, struct task **child)
{
    if (mode == MODE_FORK)
        return sys_fork(parent->task, child);
    return child_live(parent, mode, NULL);
}

static void subtract_counts(const struct machine *machine, uint64_t *counters)
{
    event_subtract(counters, machine->events.counts, counters);
}

static int kernel_round(struct column *column, enum fork_mode mode, struct round_sample *sample,
                        uint64_t *counters)
{
    struct stage *stage = kernel_column_of(column)->stage;
    struct parent *parent = &stage->parent;
    const struct machine *machine = parent->machine;
    struct task *child = NULL;
    int error = take_turn(column);

    if (error != 0)
        return error;
    if (counters != NULL)
        memcpy(counters, machine->events.counts, sizeof(machine->events.counts));
    struct meter before = {.kernel_ticks = machine->kernel_ticks,
                           .host_calls = host_calls(machine),
                           .ticks = clock_ticks()};

    error = run_mode(parent, mode, &child);
    struct meter after = {.ticks = clock_ticks(),
                          .kernel_ticks = machine->kernel_ticks,
                          .host_calls = host_calls(machine)};

    if (counters != NULL)
        subtract_counts(machine, counters);
    fill_sample(stage, mode, &before, &after, sample);
    return child != NULL ? child_end(parent, child) : error;
}

static uint32_t kernel_table_frames(struct column *column, enum fork_mode mode)
{
    if (take_turn(column) != 0)
        return 0;
    return child_table_frames(&kernel_column_of(column)->stage->parent, mode);
}

static const struct column_ops kernel_column_ops = {
    .prepare = kernel_prepare,
    .round = kernel_round,
    .table_frames = kernel_table_frames,
    .finish = kernel_finish,
    .destroy = kernel_destroy,
};

const struct kernel *kernel_of_column(const struct column *column)
{
    if (column->ops != &kernel_column_ops)
        return NULL;
    return ((const struct kernel_column *)(const void *)column)->kernel;
}

static void fill_phase(const struct stage *stage, const struct mark *start, const struct mark *end,
                       struct phase_sample *sample)
{
    sample->total_ns = (double)(end->ticks - start->ticks) / stage->ticks_per_ns;
    sample->kernel_ns = (double)(end->kernel_ticks - start->kernel_ticks) / stage->ticks_per_ns;
    event_subtract(sample->counts, end->counts, start->counts);
}

static int live_with_marks(struct parent *parent, enum fork_mode mode, struct marks *marks)
{
    struct task *child;

    mark_take(&marks->start, parent->machine);
    if (mode != MODE_FORK)
        return child_live(parent, mode, marks);
    int error = sys_fork(parent->task, &child);

    mark_take(&marks->ends[PHASE_FORK], parent->machine);
    return error != 0 ? error : child_end(parent, child);
}

int kernel_column_phases(struct column *column, enum fork_mode mode,
                         struct phase_sample samples[PHASE_COUNT])
{
    struct stage *stage = kernel_column_of(column)->stage;
    struct marks marks = {0};
    const struct mark *start = &marks.start;
    int error = take_turn(column);

    if (error == 0)
        error = live_with_marks(&stage->parent, mode, &marks);
    for (unsigned phase = 0; error == 0 && phase < PHASE_COUNT; phase++) {
        const struct mark *end = &marks.ends[phase];

        samples[phase] = (struct phase_sample){0};
        if (end->ticks == 0)
            continue;
        fill_phase(stage, start, end, &samples[phase]);
        start = end;
    }
    return error;
}

/* Which earlier kernel can this one share a machine with? Its own place if with none. */
static size_t first_compatible(const struct kernel *const chosen[], size_t place)
{
    size_t first = 0;

    while (first < place && !kernels_are_compatible(chosen[first], chosen[place]))
        first++;
    return first;
}

size_t kernel_machine_count(const struct kernel *const chosen[], size_t count)
{
    size_t machines = 0;

    for (size_t i = 0; i < count; i++)
        machines += first_compatible(chosen, i) == i;
    return machines;
}

static struct stage *create_stage(const struct parent_options *options, const struct kernel *kernel)
{
    struct stage *stage = calloc(1, sizeof(*stage));

    if (stage == NULL)
        return NULL;
    stage->options = *options;
    stage->options.kernel = kernel;
    stage->ticks_per_ns = clock_ticks_per_ns();
    return stage;
}

/* On the stage of another column, or on one of its own. */
static struct column *create_column(const struct parent_options *options,
                                    const struct kernel *kernel, struct column *other)
{
    struct kernel_column *made = malloc(sizeof(*made));

    if (made == NULL)
        return NULL;
    made->column = (struct column){.name = kernel->name, .ops = &kernel_column_ops};
    made->kernel = kernel;
    made->stage = other != NULL ? kernel_column_of(other)->stage : create_stage(options, kernel);
    if (made->stage == NULL) {
        free(made);
        return NULL;
    }
    made->stage->columns++;
    return &made->column;
}

size_t kernel_columns_create(const struct parent_options *options,
                             const struct kernel *const chosen[], size_t count,
                             struct column *columns[])
{
    size_t made = 0;

    for (; made < count; made++) {
        size_t first = first_compatible(chosen, made);

        columns[made] = create_column(options, chosen[made], first < made ? columns[first] : NULL);
        if (columns[made] == NULL)
            break;
    }
    return made;
}
