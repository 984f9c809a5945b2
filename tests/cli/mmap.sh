#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# mmap.sh: what `forklab mmap` gives out, and the counters that its words rest on. No time is judged.
set -euo pipefail
# shellcheck source=tests/support/cli.sh
. "$(dirname "$0")/../support/cli.sh"
command -v jq >/dev/null || skip 'jq is not installed'

accepts mmap --outer 64 --explain
[ "$(grep -cE 'real [0-9.]+s user [0-9.]+s sys [0-9.]+s$' "$scratch/out")" -eq 16 ] ||
  fail 'a line for each of four programs on three kernels and the host'
grep -q 'refused 64 munmaps and is left with 2 entries' "$scratch/out" ||
  fail 'the bug leaves a page each round, in one entry'
grep -q 'merge-refused-protection' "$scratch/out" || fail 'no reason for a refusal'

accepts mmap --outer 64 --json
holds 'the head' '.schema == "forklab-mmap-1" and .experiment == "mmap" and .rounds == 64'
holds 'every program on every kernel' '[.programs[] | .program + "/" + .kernel] | sort ==
  ([["posted", "corrected", "posted, guarded", "corrected, guarded"],
    ["netbsd-1-6", "netbsd-current", "modern", "host"]] | [combinations | join("/")] | sort)'
emulated='[.programs[] | select(.kernel != "host")'
holds 'as posted nothing is touched' "$emulated | select(.program | startswith(\"posted\"))
  | .faults_a_round] | unique == [0]"
holds 'corrected, each mapping is' "$emulated | select(.program | startswith(\"corrected\"))
  | .faults_a_round] | unique == [15]"
holds 'UVM places upwards and merges with the entry below' "$emulated
  | select(.kernel | startswith(\"netbsd\")) | select(.program == \"posted\")
  | [.merged_previous_a_round, .merged_next_a_round, .entries]] | unique == [[15, 0, 2]]"
holds 'the last kernel places downwards' "$emulated | select(.kernel == \"modern\")
  | .merged_previous_a_round] | unique == [0]"
pieces="$emulated | select(.kernel == \"netbsd-1-6\") | {(.program): .amap_pieces_a_round}] | add"
holds 'amaps are walked where an entry has one' "$pieces | .posted > .corrected
  and .corrected > 0 and .[\"posted, guarded\"] == 0"
holds 'both systems count their amaps alike' "$emulated
  | select(.kernel | startswith(\"netbsd\")) | {program, pieces: .amap_pieces_a_round}]
  | group_by(.program) | map(map(.pieces) | unique | length) | unique == [1]"
holds 'with the guard both systems count alike' "$emulated
  | select(.kernel | startswith(\"netbsd\")) | select(.program | endswith(\"guarded\"))
  | {program, kernel: .kernel, steps: .index_steps_a_round, pieces: .amap_pieces_a_round}]
  | group_by(.program) | map(map([.steps, .pieces]) | unique | length) == [1, 1]"

few=$(jq "$pieces" "$scratch/out")
accepts mmap --outer 512 --json --no-host --kernels netbsd-1-6
holds 'a page that stays makes more pieces with each round, and nothing else does' "$pieces as \$many
  | $few as \$few | \$many.posted > 3 * \$few.posted and \$many.corrected < 1.1 * \$few.corrected"

accepts mmap --outer 64 --csv --no-host --kernels netbsd-1-6
[ "$(wc -l <"$scratch/out")" -eq 5 ] || fail 'CSV has other lines'
if command -v gnuplot >/dev/null; then
  accepts mmap --outer 16 --no-host --plot "$scratch/mmap.svg"
  grep -q '</svg>' "$scratch/mmap.svg" || fail '--plot drew no picture'
fi
refuses 'outer 3: it must be a whole number from 8' mmap --outer 3
refuses 'no option --nonsense' mmap --nonsense
finish
