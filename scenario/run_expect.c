/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quantities: what `expect` asks for, beside what there is.
 *
 * Those of smaps are sums over the VMAs that meet the range, whole VMAs, as smaps has nothing
 * finer; the text of `expect maps` is of the range alone, where neighbours with the same rights are
 * one.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "pt/event.h"
#include "scenario/run_private.h"

enum { MAPS_BYTES = 4096 };

/* The part of an address space that is asked about, and what lies there. */
struct range {
    va_t start;
    va_t end;
    struct scenario_snapshot snapshot;
};

static void note(char *what, size_t what_bytes, const char *problem)
{
    snprintf(what, what_bytes, "%s", problem);
}

static bool find_range(struct backend *backend, const struct scenario_operation *operation,
                       struct range *range, char *what, size_t what_bytes)
{
    if (!backend->ops->resolve(backend, operation->task, &operation->address, &range->start)) {
        note(what, what_bytes, "the task has no such region");
        return false;
    }
    bool fits = operation->bytes <= UINT64_MAX - range->start;

    range->end = fits ? range->start + operation->bytes : UINT64_MAX;
    bool with_usage = operation->quantity != QUANTITY_VMAS && operation->quantity != QUANTITY_MAPS;
    int error = backend->ops->snapshot(backend, operation->task, with_usage, &range->snapshot);

    if (error != 0)
        note(what, what_bytes, error == -ESRCH ? "the task has ended" : strerror(-error));
    return error == 0;
}

static bool meets_range(const struct scenario_vma *vma, const struct range *range)
{
    return vma->start < range->end && range->start < vma->end;
}

static uint64_t quantity_of(const struct scenario_vma *vma, enum scenario_quantity quantity)
{
    switch (quantity) {
    case QUANTITY_RSS:
        return vma->rss;
    case QUANTITY_PSS:
        return vma->pss;
    case QUANTITY_SHARED:
        return vma->shared;
    case QUANTITY_PRIVATE:
        return vma->private;
    case QUANTITY_ANONYMOUS:
        return vma->anonymous;
    case QUANTITY_LOCKED:
        return vma->locked;
    case QUANTITY_SWAP:
        return vma->swap;
    default:
        return 1; /* of VMAs */
    }
}

static uint64_t sum_of(const struct range *range, enum scenario_quantity quantity)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < range->snapshot.count; i++) {
        if (meets_range(&range->snapshot.vmas[i], range))
            sum += quantity_of(&range->snapshot.vmas[i], quantity);
    }
    return sum;
}

/* --- maps --- */

static void add_size(struct run_text *text, uint64_t bytes)
{
    static const char suffixes[] = {'G', 'M', 'K'};

    for (unsigned i = 0; i < sizeof(suffixes); i++) {
        unsigned shift = 30 - 10 * i;

        if (bytes >= (uint64_t)1 << shift && bytes % ((uint64_t)1 << shift) == 0) {
            run_text_add(text, "%" PRIu64 "%c", bytes >> shift, suffixes[i]);
            return;
        }
    }
    run_text_add(text, "%" PRIu64, bytes);
}

/* Pieces with the same rights, as they come. */
struct pieces {
    struct run_text *text;
    const char *rights; /* of the piece that is not written yet */
    uint64_t bytes;
};

static void write_piece(struct pieces *pieces)
{
    if (pieces->bytes == 0)
        return;
    run_text_add(pieces->text, "%s%s ", pieces->text->length > 0 ? ", " : "", pieces->rights);
    add_size(pieces->text, pieces->bytes);
}

static void add_piece(struct pieces *pieces, const char *rights, uint64_t bytes)
{
    if (bytes == 0)
        return;
    if (strcmp(rights, pieces->rights) != 0) {
        write_piece(pieces);
        pieces->bytes = 0;
        pieces->rights = rights;
    }
    pieces->bytes += bytes;
}

static void describe_range(const struct range *range, struct run_text *text)
{
    struct pieces pieces = {.text = text, .rights = "-"};
    va_t at = range->start;

    for (size_t i = 0; i < range->snapshot.count; i++) {
        const struct scenario_vma *vma = &range->snapshot.vmas[i];

        if (!meets_range(vma, range))
            continue;
        add_piece(&pieces, "-", max_u64(vma->start, at) - at);
        add_piece(&pieces, vma->rights, min_u64(vma->end, range->end) - max_u64(vma->start, at));
        at = min_u64(vma->end, range->end);
    }
    add_piece(&pieces, "-", range->end - at);
    write_piece(&pieces);
}

/* --- judging --- */

static enum expect_verdict judge_maps(const struct scenario *scenario,
                                      const struct scenario_answer *answer,
                                      const struct range *range, char *what, size_t what_bytes)
{
    char found[MAPS_BYTES];
    struct run_text text = run_text_in(found, sizeof(found));
    const struct scenario_data *data = &answer->data;

    describe_range(range, &text);
    if (answer->kind == ANSWER_ANY ||
        (answer->kind == ANSWER_DATA && data->kind == DATA_BYTES && data->bytes == strlen(found) &&
         memcmp(data->content, found, strlen(found)) == 0))
        return EXPECT_HOLDS;
    struct run_text said = run_text_in(what, what_bytes);

    run_text_add(&said, "expected ");
    if (answer->kind == ANSWER_DATA && data->kind == DATA_BYTES)
        run_text_add(&said, "\"%.*s\"", (int)min_u64(data->bytes, MAPS_BYTES),
                     (const char *)data->content);
    else
        run_text_add_answer(&said, scenario, answer);
    run_text_add(&said, ", came \"%s\"", found);
    return EXPECT_FAILS;
}

static enum expect_verdict judge_number(const struct scenario *scenario,
                                        const struct scenario_answer *answer, uint64_t number,
                                        char *what, size_t what_bytes)
{
    if (answer->kind == ANSWER_ANY || (answer->kind == ANSWER_OK && number == 0) ||
        (answer->kind == ANSWER_NUMBER && number == answer->number))
        return EXPECT_HOLDS;
    struct run_text text = run_text_in(what, what_bytes);

    run_text_add(&text, "expected ");
    if (answer->kind == ANSWER_OK)
        run_text_add(&text, "0");
    else
        run_text_add_answer(&text, scenario, answer);
    run_text_add(&text, ", came %" PRIu64, number);
    return EXPECT_FAILS;
}

static enum expect_verdict judge_range(const struct scenario *scenario, struct backend *backend,
                                       const struct scenario_operation *operation, char *what,
                                       size_t what_bytes)
{
    const struct scenario_answer *answer = answer_that_holds(backend, operation);
    struct range range = {0};
    enum expect_verdict verdict = EXPECT_FAILS;

    if (find_range(backend, operation, &range, what, what_bytes)) {
        if (operation->quantity == QUANTITY_MAPS)
            verdict = judge_maps(scenario, answer, &range, what, what_bytes);
        else
            verdict = judge_number(scenario, answer, sum_of(&range, operation->quantity), what,
                                   what_bytes);
    }
    snapshot_free(&range.snapshot);
    return verdict;
}

enum expect_verdict expect_judge(const struct scenario *scenario, struct backend *backend,
                                 const struct scenario_operation *operation, char *what,
                                 size_t what_bytes)
{
    const struct scenario_answer *answer = answer_that_holds(backend, operation);
    uint64_t number;

    if (answer == NULL)
        return EXPECT_HOLDS;
    if (operation->quantity == QUANTITY_EVENT &&
        (operation->text == NULL || event_find(operation->text) == EVENT_COUNT)) {
        note(what, what_bytes, "there is no event of that name");
        return EXPECT_FAILS;
    }
    if (operation->quantity < QUANTITY_TABLES)
        return judge_range(scenario, backend, operation, what, what_bytes);
    if (!backend->ops->quantity(backend, operation, &number)) {
        note(what, what_bytes, "only an emulated kernel can tell that");
        return EXPECT_UNKNOWN;
    }
    return judge_number(scenario, answer, number, what, what_bytes);
}

/* --- as text --- */

static void write_range(const struct range *range, enum scenario_quantity quantity, FILE *stream)
{
    char found[MAPS_BYTES];
    struct run_text text = run_text_in(found, sizeof(found));

    if (quantity != QUANTITY_MAPS) {
        fprintf(stream, "%" PRIu64, sum_of(range, quantity));
        return;
    }
    describe_range(range, &text);
    fprintf(stream, "\"%s\"", found);
}

bool quantity_write(struct backend *backend, const struct scenario_operation *operation,
                    FILE *stream)
{
    char problem[SCENARIO_WHY_BYTES];
    struct range range = {0};
    bool found = find_range(backend, operation, &range, problem, sizeof(problem));

    if (found)
        write_range(&range, operation->quantity, stream);
    snapshot_free(&range.snapshot);
    return found;
}
