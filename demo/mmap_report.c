/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The outputs of `forklab mmap`. */
#include "demo/mmap_report.h"

#include <stdio.h>
#include <string.h>

#include "demo/stats.h"

static const double ns_per_s = 1e9;

static const char *kernel_name(const struct mmap_row *row)
{
    return row->kernel != NULL ? row->kernel->name : "host";
}

static const char *program_name(const struct mmap_program *program)
{
    if (program->guarded)
        return program->corrected ? "corrected, guarded" : "posted, guarded";
    return program->corrected ? "corrected" : "posted";
}

void mmap_print_post(const struct mmap_results *results)
{
    printf("%llu rounds of the program (the post's has 40960):\n",
           (unsigned long long)results->options->outer);
    for (size_t i = 0; i < results->count; i++) {
        const struct mmap_row *row = &results->rows[i];
        double user_ns = row->kernel != NULL ? row->total_ns - row->kernel_ns : row->user_ns;

        printf("%-19s %-16s real %.3fs user %.3fs sys %.3fs\n", program_name(&row->program),
               kernel_name(row), row->total_ns / ns_per_s, user_ns / ns_per_s,
               row->kernel_ns / ns_per_s);
    }
    puts(
        "sys of an emulated kernel is its own work; user is the rest: the program's, and the real\n"
        "signals and system calls that emulate its faults.");
}

enum {
    COLUMN_PROGRAM,
    COLUMN_KERNEL,
    COLUMN_PAIR,
    COLUMN_FIRST,
    COLUMN_LAST,
    COLUMN_ENTRIES,
    COLUMN_FAULTS,
    COLUMN_PREVIOUS,
    COLUMN_NEXT,
    COLUMN_BOTH,
    COLUMN_REFUSED,
    COLUMN_STEPS,
    COLUMN_PIECES
};

static void add_columns(struct sheet *sheet)
{
    (void)sheet_column(sheet, "program", "program", SHEET_WORDS);
    (void)sheet_column(sheet, "kernel", "kernel", SHEET_WORDS);
    (void)sheet_column(sheet, "ns a pair", "kernel_ns_a_pair", 0);
    (void)sheet_column(sheet, "first", "first_turn_ns", 0);
    (void)sheet_column(sheet, "last", "last_turn_ns", 0);
    (void)sheet_column(sheet, "entries", "entries", 0);
    (void)sheet_column(sheet, "faults", "faults_a_round", 1);
    (void)sheet_column(sheet, "prev", "merged_previous_a_round", 1);
    (void)sheet_column(sheet, "next", "merged_next_a_round", 1);
    (void)sheet_column(sheet, "both", "merged_both_a_round", 1);
    (void)sheet_column(sheet, "refused", "merges_refused_a_round", 1);
    (void)sheet_column(sheet, "steps", "index_steps_a_round", 1);
    (void)sheet_column(sheet, "pieces", "amap_pieces_a_round", 1);
}

static uint64_t merges_refused(const struct mmap_row *row)
{
    uint64_t sum = 0;

    for (unsigned i = EVENT_MERGE_REFUSED_SIDE; i <= EVENT_MERGE_REFUSED_AMAP; i++)
        sum += row->counts[i];
    return sum;
}

static void add_counters(const struct mmap_row *row, struct sheet *sheet)
{
    double rounds = (double)row->rounds;

    sheet_number(sheet, COLUMN_FIRST, row->turn_ns[0]);
    sheet_number(sheet, COLUMN_LAST, row->turn_ns[row->turns - 1]);
    sheet_number(sheet, COLUMN_FAULTS, (double)row->counts[EVENT_FAULT] / rounds);
    sheet_number(sheet, COLUMN_PREVIOUS, (double)row->counts[EVENT_MERGED_PREVIOUS] / rounds);
    sheet_number(sheet, COLUMN_NEXT, (double)row->counts[EVENT_MERGED_NEXT] / rounds);
    sheet_number(sheet, COLUMN_BOTH, (double)row->counts[EVENT_MERGED_BOTH] / rounds);
    sheet_number(sheet, COLUMN_REFUSED, (double)merges_refused(row) / rounds);
    sheet_number(sheet, COLUMN_STEPS, (double)row->counts[EVENT_INDEX_STEP] / rounds);
    sheet_number(sheet, COLUMN_PIECES, (double)row->counts[EVENT_AMAP_PIECE] / rounds);
}

bool mmap_sheet(const struct mmap_results *results, struct sheet *sheet)
{
    add_columns(sheet);
    for (size_t i = 0; i < results->count; i++) {
        const struct mmap_row *row = &results->rows[i];

        sheet_row(sheet);
        sheet_words(sheet, COLUMN_PROGRAM, program_name(&row->program));
        sheet_words(sheet, COLUMN_KERNEL, kernel_name(row));
        sheet_number(sheet, COLUMN_PAIR, row->kernel_ns / (double)(row->rounds * MMAP_MAPPINGS));
        sheet_number(sheet, COLUMN_ENTRIES, row->entries);
        if (row->turns > 0)
            add_counters(row, sheet);
    }
    return sheet_is_whole(sheet);
}

void mmap_picture(const struct mmap_results *results, struct sheet *sheet)
{
    size_t columns = results->count / MMAP_PROGRAMS;

    (void)sheet_column(sheet, "program", "program", SHEET_WORDS);
    for (size_t i = 0; i < columns; i++)
        (void)sheet_column(sheet, kernel_name(&results->rows[i]), "kernel", 0);
    for (size_t i = 0; i < MMAP_PROGRAMS; i++) {
        const struct mmap_row *rows = &results->rows[i * columns];

        sheet_row(sheet);
        sheet_words(sheet, 0, program_name(&rows->program));
        for (size_t j = 0; j < columns; j++)
            sheet_number(sheet, j + 1,
                         rows[j].kernel_ns / (double)(rows[j].rounds * MMAP_MAPPINGS));
    }
}

void mmap_print_bug(const struct mmap_results *results)
{
    const struct mmap_row *row = &results->rows[0];

    puts("ns a pair: the kernel's time for one mmap and its munmap, page faults included; in the\n"
         "first and the last of eight turns. The other columns count for one round of fifteen.\n"
         "\n"
         "The bug: *((int *)ptr) = 0xdeadbeef stores into the array of pointers, not into the\n"
         "mapping. So no mapping is ever touched, and the low half of ptr[0] is no address of the\n"
         "program's: munmap refuses it (EINVAL), and the first page of each round stays mapped.");
    if (row->bench == NULL)
        return;
    printf("%s refused %llu munmaps and is left with %u entries:\n", kernel_name(row),
           (unsigned long long)row->refused, row->entries);
    mmap_bench_print_map(row->bench, 4);
    puts(
        "On LP64 half of the pointer is overwritten, on the post's i386 all of it: the same comes\n"
        "of both. MAP_ANON alone, as posted, is EINVAL on Linux; host maps with MAP_PRIVATE.");
}

/* --- in words --- */

static void print_reasons(const struct mmap_row *row)
{
    for (unsigned i = EVENT_MERGE_REFUSED_SIDE; i <= EVENT_MERGE_REFUSED_AMAP; i++) {
        if (row->counts[i] > 0)
            printf("    %-26s %10llu  %s\n", event_names[i], (unsigned long long)row->counts[i],
                   event_meanings[i]);
    }
}

void mmap_explain(const struct mmap_results *results)
{
    puts("\nMerges that were refused, and why:");
    for (size_t i = 0; i < results->count; i++) {
        const struct mmap_row *row = &results->rows[i];

        if (row->bench == NULL || merges_refused(row) == 0)
            continue;
        printf("  %s, %s\n", program_name(&row->program), kernel_name(row));
        print_reasons(row);
    }
    puts(
        "\n"
        "What makes the posted program slow without one page fault: its mappings merge with what\n"
        "is there already. That is anonymous memory with pages (a library's data), so its entry\n"
        "has an amap, and the amap grows with the entry (amap-slots). Every munmap then cuts the\n"
        "one entry, and drops its part of the amap, whose references are counted in pieces. The\n"
        "page that stays behind makes the amap a slot longer with each round, and a slot that\n"
        "is new at its end is a piece of its own. So the largest mapping walks over a piece more\n"
        "with each round, when it is made and when it goes (pieces; first and last turn), until\n"
        "it lies in such slots alone, 16384 rounds on. Both kernels count alike, and walk over as\n"
        "many.\n"
        "\n"
        "A guard page keeps the first mapping from that entry. What merges then was never touched\n"
        "and has no amap: there is nothing to walk, and both kernels do alike. The corrected\n"
        "program's mappings grow the library's amap, too, but all of them go at the end of a\n"
        "round: the next one finds the slots there, and no piece is left over.");
}
