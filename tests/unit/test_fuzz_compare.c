/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The comparison of two backends notices what it should: a liar, which is an emulated kernel but
 * for one thing that it gets wrong, is put beside an honest one. Each lie has to be found, in the
 * words that name it; without a lie nothing is.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "scenario/emulated.h"
#include "scenario/fuzz.h"
#include "scenario/reader.h"

enum lie {
    LIE_NONE,
    LIE_BYTE_READ,      /* a load brings a wrong byte */
    LIE_BYTE_AT_KERNEL, /* only the kernel's reads do: the scenario has none, but the end has */
    LIE_ERRNO,
    LIE_SIGNAL_CODE,
    LIE_HOLE, /* the last mapping is not told */
    LIE_RIGHTS,
    LIE_PIECES, /* the last mapping is told as two */
    LIE_RSS,
    LIE_DEAD,    /* a task is said to be dead */
    LIE_BROKEN,  /* the backend fails altogether */
    LIE_UNSOUND, /* an invariant does not hold */
    LIE_COUNT,
};

/* The liar's ops, and whose perform and snapshot it goes through. */
static struct backend_ops liar_ops;
static const struct backend_ops *honest_ops;
static enum lie current_lie;
static uint8_t wrong_data[PAGE_BYTES];

static void spoil_data(struct scenario_outcome *outcome)
{
    if (outcome->kind != OUTCOME_DATA || outcome->data_bytes == 0 ||
        outcome->data_bytes > sizeof(wrong_data))
        return;
    memcpy(wrong_data, outcome->data, outcome->data_bytes);
    wrong_data[outcome->data_bytes - 1] ^= 1;
    outcome->data = wrong_data;
}

static void perform(struct backend *backend, const struct scenario_operation *operation,
                    struct scenario_outcome *outcome)
{
    honest_ops->perform(backend, operation, outcome);
    if (current_lie == LIE_BYTE_READ && operation->verb == VERB_READ)
        spoil_data(outcome);
    if (current_lie == LIE_BYTE_AT_KERNEL && operation->verb == VERB_KREAD)
        spoil_data(outcome);
    if (current_lie == LIE_ERRNO && outcome->kind == OUTCOME_ERROR)
        outcome->error = EPERM;
    if (current_lie == LIE_SIGNAL_CODE && outcome->kind == OUTCOME_SIGNAL)
        outcome->code++;
    if (current_lie == LIE_BROKEN && operation->verb == VERB_MUNMAP)
        outcome->kind = OUTCOME_BROKEN;
}

/* The last mapping as two with the same rights. */
static void tell_in_pieces(struct scenario_snapshot *snapshot)
{
    struct scenario_vma *second = snapshot_add(snapshot);

    assert_non_null(second);
    struct scenario_vma *first = second - 1;

    *second = *first;
    first->end = first->start + (first->end - first->start) / 2;
    second->start = first->end;
}

static int snapshot(struct backend *backend, uint16_t task, bool with_usage,
                    struct scenario_snapshot *snapshot)
{
    int error = honest_ops->snapshot(backend, task, with_usage, snapshot);

    if (error == 0 && snapshot->count > 0 && current_lie == LIE_HOLE)
        snapshot->count--;
    if (error == 0 && snapshot->count > 0 && current_lie == LIE_RIGHTS)
        snapshot->vmas[0].rights[1] = '?';
    if (error == 0 && snapshot->count > 0 && current_lie == LIE_PIECES)
        tell_in_pieces(snapshot);
    if (error == 0 && snapshot->count > 0 && current_lie == LIE_RSS)
        snapshot->vmas[0].rss += PAGE_BYTES;
    return error;
}

static bool is_alive(struct backend *backend, uint16_t task)
{
    return honest_ops->is_alive(backend, task) && current_lie != LIE_DEAD;
}

static bool is_sound(struct backend *backend, char *why, size_t why_bytes)
{
    if (current_lie != LIE_UNSOUND)
        return honest_ops->is_sound(backend, why, why_bytes);
    snprintf(why, why_bytes, "a frame is missing");
    return false;
}

static struct backend *create(void)
{
    struct machine_options options = {
        .kernel = kernel_find("modern"), .mmu = MMU_SOFT, .ram_bytes = 1 << 22};
    char problem[SCENARIO_WHY_BYTES];
    struct backend *backend = NULL;

    assert_int_equal(emulated_create(&backend, &options, problem, sizeof(problem)), 0);
    return backend;
}

static struct backend *create_liar(enum lie lie)
{
    struct backend *backend = create();

    honest_ops = backend->ops;
    liar_ops = *honest_ops;
    liar_ops.perform = perform;
    liar_ops.snapshot = snapshot;
    liar_ops.is_alive = is_alive;
    liar_ops.is_sound = is_sound;
    backend->ops = &liar_ops;
    current_lie = lie;
    return backend;
}

static void end(struct backend *backend)
{
    char why[SCENARIO_WHY_BYTES];

    if (!backend->ops->end(backend, why, sizeof(why)))
        fail_msg("%s", why);
}

/* An answer of each kind. */
static const char example[] = "P mmap A 8K rw private anon\n"
                              "P write A \"abc\"\n"
                              "P munmap A+4K 4K\n"
                              "P read A 3 = \"abc\"\n"
                              "P mprotect A+1 4K r = EINVAL\n"
                              "P fork C\n"
                              "C read A+8K 1 = SIGSEGV maperr at A+8K\n";

/* Honest and liar, side by side; `why` is what differs. */
static bool agrees(enum lie lie, struct fuzz_comparison *comparison, char *why, size_t why_bytes)
{
    struct backend *honest = create();
    struct backend *liar = create_liar(lie);
    struct scenario scenario;

    if (scenario_read_text(&scenario, "t", example, strlen(example), why, why_bytes) != 0)
        fail_msg("%s", why);
    *comparison = (struct fuzz_comparison){.scenario = &scenario,
                                           .one = honest,
                                           .other = liar,
                                           .checks_at_end = true,
                                           .vmas = true,
                                           .usage = true,
                                           .why = why,
                                           .why_bytes = why_bytes};
    bool agree = fuzz_compare_as(comparison);

    current_lie = LIE_NONE;
    end(honest);
    end(liar);
    scenario_free(&scenario);
    return agree;
}

static void test_every_lie_is_found(void **state)
{
    static const char *const words[LIE_COUNT] = {
        [LIE_BYTE_READ] = "",
        [LIE_BYTE_AT_KERNEL] = "read by the kernel",
        [LIE_ERRNO] = "error 1",
        [LIE_SIGNAL_CODE] = "signal 11",
        [LIE_HOLE] = "none (file 0)",
        [LIE_RIGHTS] = "at 0x",
        [LIE_PIECES] = "a VMA is",
        [LIE_RSS] = "rss 4096, 8192",
        [LIE_DEAD] = "alive only",
        [LIE_BROKEN] = "broke",
        [LIE_UNSOUND] = "a frame is missing",
    };

    (void)state;
    for (enum lie lie = LIE_NONE + 1; lie < LIE_COUNT; lie++) {
        char why[SCENARIO_PROBLEM_BYTES] = "";
        struct fuzz_comparison comparison;

        assert_false(agrees(lie, &comparison, why, sizeof(why)));
        if (strstr(why, words[lie]) == NULL)
            fail_msg("lie %d: no \"%s\" in \"%s\"", (int)lie, words[lie], why);
    }
}

static void test_no_lie_no_difference(void **state)
{
    char why[SCENARIO_PROBLEM_BYTES] = "";
    struct fuzz_comparison comparison;

    (void)state;
    if (!agrees(LIE_NONE, &comparison, why, sizeof(why)))
        fail_msg("%s", why);
    assert_int_equal(comparison.at, 8); /* with the task that the reader adds */
    assert_int_equal(comparison.left_out, 0);
}

/* What only the look at all contents found can be seen by one load more. */
static void test_witness(void **state)
{
    char why[SCENARIO_PROBLEM_BYTES] = "";
    struct fuzz_comparison comparison;

    (void)state;
    assert_false(agrees(LIE_BYTE_AT_KERNEL, &comparison, why, sizeof(why)));
    assert_true(comparison.has_witness);
    assert_int_equal(comparison.witness.verb, VERB_KREAD);
    assert_int_equal(comparison.witness.bytes, 1);
}

/* What only the look at mappings found can be seen by an `expect`. */
static void test_witness_of_mappings(void **state)
{
    static const struct {
        enum lie lie;
        enum scenario_quantity quantity;
    } cases[] = {{LIE_HOLE, QUANTITY_MAPS},
                 {LIE_RIGHTS, QUANTITY_MAPS},
                 {LIE_PIECES, QUANTITY_VMAS},
                 {LIE_RSS, QUANTITY_RSS}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char why[SCENARIO_PROBLEM_BYTES] = "";
        struct fuzz_comparison comparison;

        assert_false(agrees(cases[i].lie, &comparison, why, sizeof(why)));
        assert_true(comparison.has_witness);
        assert_int_equal(comparison.witness.verb, VERB_EXPECT);
        assert_int_equal(comparison.witness.quantity, cases[i].quantity);
        assert_int_equal(comparison.witness.bytes, PAGE_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_lie_no_difference),
        cmocka_unit_test(test_every_lie_is_found),
        cmocka_unit_test(test_witness),
        cmocka_unit_test(test_witness_of_mappings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
